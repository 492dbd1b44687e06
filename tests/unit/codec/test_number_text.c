/* test_number_text.c -- a double's text is the shortest that reads back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "server/codec/number_text.h"

/* No text with a digit less is the same number, and it reads back. std::to_chars has the same letters. */
static void shortest(double value) {
    char text[TPD_TEXT_MOST + 8], shorter[40];
    memset(text, '#', sizeof text);
    size_t bytes = tpd_text_write_double(value, text);
    ck_assert_uint_le(bytes, TPD_TEXT_MOST);
    ck_assert_int_eq(text[TPD_TEXT_MOST], '#');
    text[bytes] = '\0';
    ck_assert_msg(strtod(text, NULL) == value, "%s is not %.17g", text, value);
    if (strpbrk(text, ".e") == NULL) /* a whole number has all of its digits */
        return;
    int digits = 0;
    bool leading = true;
    for (const char *at = text; *at != '\0' && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9' && !(leading && *at == '0')) {
            leading = false;
            digits++;
        }
    for (const char *at = text + strcspn(text, "e") - 1; digits > 1 && at >= text && (*at == '0' || *at == '.'); at--)
        digits -= *at == '0';
    if (digits > 1) {
        snprintf(shorter, sizeof shorter, "%.*e", digits - 2, value);
        ck_assert_msg(strtod(shorter, NULL) != value, "%s is as good as %s", shorter, text);
    }
}

START_TEST(test_shortest) {
    uint64_t state = 3;
    for (int i = 0; i < 60000; i++) {
        uint64_t bits = tpd_random(&state);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            shortest(value);
        shortest((double)(int64_t)bits);
        shortest((double)(int64_t)(bits >> (bits % 60)) / pow(10, (double)(i % 20)));
        shortest((double)(i % 1000) * pow(10, (double)(i % 23)));
    }
    const double edges[] = {0.0,  -0.0,  5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 9007199254740993, 1e21, 1e22,
                            1e23, 99999, 100000};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        shortest(edges[i]);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("number_text");
    TCase *c = tcase_create("text");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_shortest);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
