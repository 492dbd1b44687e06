/* test_number_cells.c -- many cells at once, the fast way, against the C library's strtod and strtof, which are exact. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/codec/number_column.h"

static const char *cell_text(const struct column *c, uint64_t i, char *text) {
    size_t bytes = c->cells[i].place & TPD_CELL_BYTES_MOST;
    memcpy(text, c->text + (c->cells[i].place >> 24), bytes);
    text[bytes] = '\0';
    return text;
}

static void agrees(struct column *c) {
    static double wide[CELLS];
    static float single[CELLS];
    static char text[CELL_MOST * 64];
    uint64_t failed = 0;
    for (int fast = 0; fast < 2; fast++) {
        memset(wide, 0xa5, sizeof wide);
        tpd_number_doubles_use(fast != 0);
        ck_assert_msg(column_read(c, TPD_DTYPE_FLOAT64, wide, &failed) == TPD_OK, "'%s' is refused", cell_text(c, failed, text));
        for (uint64_t i = 0; i < c->count; i++) {
            double wanted = strtod(cell_text(c, i, text), NULL);
            ck_assert_msg(memcmp(&wanted, &wide[i], sizeof wanted) == 0, "'%s': %.17g, not %.17g", text, wide[i], wanted);
        }
    }
    /* As float, where it has one. */
    for (uint64_t i = 0; i < c->count; i++) {
        float wanted = strtof(cell_text(c, i, text), NULL);
        struct column one = {.text = c->text, .bytes = c->bytes, .count = 1};
        one.cells[0] = c->cells[i];
        enum tpd_status status = column_read(&one, TPD_DTYPE_FLOAT32, single, &failed);
        ck_assert_msg(status == (isinf(wanted) ? TPD_OUT_OF_RANGE : TPD_OK), "'%s' as float: %s", text, tpd_status_slug(status));
        ck_assert_msg(status != TPD_OK || memcmp(&wanted, single, sizeof wanted) == 0, "'%s': %.9g, not %.9g", text,
                      (double)single[0], (double)wanted);
    }
}

START_TEST(test_random_texts) {
    static const int decimals[] = {0, 1, 3, 6, 9, 12, 15, 17, 20, 30};
    uint64_t state = 11;
    struct column c;
    for (int round = 0; round < 40; round++) {
        column_open(&c);
        while (c.count < CELLS / 4) {
            uint64_t bits = tpd_random(&state);
            double value;
            memcpy(&value, &bits, sizeof value);
            if (round % 2 == 0) /* of a size that tables have */
                value = (double)(int64_t)bits * pow(2, -(double)(40 + bits % 23)) * pow(10, -(double)(bits >> 60));
            if (!isfinite(value))
                continue;
            char text[CELL_MOST];
            int places = decimals[tpd_random(&state) % 10];
            if (round % 3 == 0)
                snprintf(text, sizeof text, "%.*f", places, value);
            else if (round % 3 == 1)
                snprintf(text, sizeof text, "%.*g", places, value);
            else
                snprintf(text, sizeof text, "%.*e", places, value);
            column_add(&c, text);
        }
        agrees(&c);
        free(c.text);
    }
}
END_TEST

/* Digits at random, with a point anywhere: as many as the fast way takes, and a few more. */
START_TEST(test_random_digits) {
    uint64_t state = 5;
    struct column c;
    for (int round = 0; round < 40; round++) {
        column_open(&c);
        while (c.count < CELLS / 4) {
            char text[32];
            unsigned digits = 1 + tpd_random(&state) % (round % 2 == 0 ? 20 : 14), point = tpd_random(&state) % 24, at = 0;
            if (tpd_random(&state) % 2 == 0)
                text[at++] = '-';
            for (unsigned i = 0; i < digits; i++) {
                if (i == point)
                    text[at++] = '.';
                text[at++] = (char)('0' + tpd_random(&state) % 10);
            }
            if (point == digits)
                text[at++] = '.';
            text[at] = '\0';
            column_add(&c, text);
        }
        agrees(&c);
        free(c.text);
    }
}
END_TEST

/* One odd cell among plain ones, in every place of a group that is read at once: the answer does not depend on it. */
START_TEST(test_each_place) {
    enum { AROUND = 27 };
    /* Each with a bar behind it. */
    static const char odd[] = "1e5|-1E-3|nan|x||-|.|-.|1.2.3|1..2|--1|1-|+1| 7|/|:|12:4|0x1|-0|-.5|"
                              "5.|000000000000000|0000000000000001|9007199254740992|9007199254740993|-900719925474099|-"
                              "9007199254740993|.000000000000001|-.00000000000001|12345678901234567|";
    uint64_t state = 3;
    for (const char *at = odd, *bar; (bar = strchr(at, '|')) != NULL; at = bar + 1) {
        char word[CELL_MOST];
        (void)snprintf(word, sizeof word, "%.*s", (int)(bar - at), at);
        for (uint64_t place = 0; place < AROUND; place++) {
            static double items[2][CELLS];
            enum tpd_status status[2];
            uint64_t failed[2] = {0, 0};
            struct column c;
            column_open(&c);
            for (uint64_t i = 0; i < AROUND; i++) {
                char text[CELL_MOST];
                (void)snprintf(text, sizeof text, "%.*f", (int)(tpd_random(&state) % 9),
                               (double)(int64_t)tpd_random(&state) / 1e15);
                column_add(&c, i == place ? word : text);
            }
            for (int fast = 0; fast < 2; fast++) {
                memset(items[fast], 0xa5, sizeof items[fast]);
                tpd_number_doubles_use(fast != 0);
                status[fast] = column_read(&c, TPD_DTYPE_FLOAT64, items[fast], &failed[fast]);
            }
            ck_assert_msg(status[0] == status[1] && failed[0] == failed[1], "'%s' at %d", word, (int)place);
            ck_assert_msg(status[0] != TPD_OK || memcmp(items[0], items[1], sizeof items[0]) == 0, "'%s' at %d", word,
                          (int)place);
            free(c.text);
        }
    }
}
END_TEST

START_TEST(test_hard_texts) {
    static const char *const texts[] = {"9007199254740993",
                                        "9007199254740992.9999",
                                        "-9007199254740991",
                                        "1.7976931348623157e308",
                                        "1.7976931348623158e308",
                                        "2.2250738585072014e-308",
                                        "2.2250738585072011e-308",
                                        "2.2250738585072012e-308",
                                        "4.9406564584124654e-324",
                                        "2.4703282292062327e-324",
                                        "2.4703282292062328e-324",
                                        "2.4703282292062329e-324",
                                        "1e-400",
                                        "-1e-400",
                                        "0e999999999",
                                        "1e23",
                                        "8.5e22",
                                        "6.02214076e23",
                                        "1e22",
                                        "1e-22",
                                        "123456789012345678901234567890",
                                        "0.000000000000000000000000000001",
                                        "179769313486231570000000000000000000000",
                                        "3.4028234663852886e38",
                                        "3.40282356e38",
                                        "16777217",
                                        "16777217.0000001",
                                        "1.00000005960464477539062500",
                                        "1.00000005960464477539062501",
                                        "1.00000005960464477539062499",
                                        "7.0064923216240854e-46",
                                        "7.0064923216240861e-46",
                                        "1.1754943508222875e-38",
                                        "5e-45",
                                        "0.1",
                                        "0.3",
                                        "2.5",
                                        "-0",
                                        "-0.0",
                                        "0",
                                        "00",
                                        "007.50",
                                        ".5",
                                        "5.",
                                        "-.5e1",
                                        "1E5",
                                        "1e+05",
                                        "999999999999999.9",
                                        "9999999999999999",
                                        "99999999999999999",
                                        "0.9999999999999999",
                                        "1234567890123456",
                                        "123456789012345.6",
                                        "-123456789012345.6",
                                        "-1234567890123456",
                                        "12345678.12345678",
                                        "1.5e-5",
                                        "1e0",
                                        "0.0000000000000001"};
    struct column c;
    column_open(&c);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (isfinite(strtod(texts[i], NULL)))
            column_add(&c, texts[i]);
    }
    /* The middle of two doubles, all of its 768 digits and a hair to both sides; 5000 digits. */
    static char middle[6000];
    for (int i = 0; i < 3; i++) {
        snprintf(middle, sizeof middle, "%.1074f", 4.9406564584124654e-324);
        size_t bytes = strlen(middle);
        memcpy(middle + bytes, i == 0 ? "5" : i == 1 ? "4" : "6", 2);
        c.cells[c.count].place = (uint64_t)c.bytes << 24 | (bytes + 1);
        memcpy(c.text + c.bytes, middle, bytes + 1);
        c.bytes += bytes + 2;
        c.text[c.bytes - 1] = ',';
        c.count++;
    }
    memset(middle, '3', 5000);
    middle[1] = '.';
    memcpy(c.text + c.bytes, middle, 5000);
    c.cells[c.count++].place = (uint64_t)c.bytes << 24 | 5000;
    c.bytes += 5000;
    agrees(&c);
    free(c.text);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("number_cells");
    TCase *c = tcase_create("cells");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_random_texts);
    tcase_add_test(c, test_random_digits);
    tcase_add_test(c, test_each_place);
    tcase_add_test(c, test_hard_texts);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
