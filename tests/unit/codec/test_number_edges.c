/* test_number_edges.c -- what a type holds and what it does not, cell by cell: every bit pattern of the narrow types, both ends
 * of the integers, words that are no numbers; and another locale. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/codec/number_float.h"
#include "tests/unit/codec/number_column.h"

/* The others are in test_number.c, spelled as JSON. */
START_TEST(test_narrow_everywhere) {
    static const enum tpd_dtype narrow[] = {TPD_DTYPE_FLOAT16, TPD_DTYPE_BFLOAT16, TPD_DTYPE_FLOAT8_E4M3, TPD_DTYPE_FLOAT8_E5M2};
    static const enum tpd_spelling spellings[] = {TPD_SPELLING_PLAIN, TPD_SPELLING_MARKET};
    for (int t = 0; t < 8; t++) {
        enum tpd_dtype dtype = narrow[t % 4];
        uint32_t itemsize = tpd_dtype_itemsize(dtype), patterns = 1u << (8 * itemsize);
        for (uint32_t from = 0; from < patterns; from += CELLS) {
            struct column c;
            static unsigned char items[CELLS * 2];
            uint64_t failed = 0;
            const char *why = NULL;
            column_open(&c);
            for (uint32_t bits = from; bits < from + CELLS && bits < patterns; bits++) {
                char text[TPD_NUMBER_TEXT_MOST + 1];
                text[tpd_number_write(spellings[t / 4], dtype, &bits, TPD_NONFINITE_ERROR, text)] = '\0';
                column_add(&c, text);
            }
            ck_assert_int_eq(
                tpd_number_read_cells(spellings[t / 4], dtype, (unsigned char *)c.text, c.cells, c.count, items, &failed, &why),
                TPD_OK);
            for (uint32_t i = 0; i < c.count; i++) {
                uint32_t got = 0, wanted = from + i;
                memcpy(&got, items + i * itemsize, itemsize);
                double value = tpd_float_widen(dtype, wanted);
                ck_assert_msg(isnan(value) ? isnan(tpd_float_widen(dtype, got)) : got == wanted, "%s %x: %x",
                              tpd_dtype_name(dtype), wanted, got);
            }
            free(c.text);
        }
    }
}
END_TEST

START_TEST(test_integer_edges) {
    static const struct {
        enum tpd_dtype dtype;
        const char *least, *below, *most, *above;
    } cases[] = {
        {TPD_DTYPE_INT8, "-128", "-129", "127", "128"},
        {TPD_DTYPE_UINT8, "0", "-1", "255", "256"},
        {TPD_DTYPE_INT16, "-32768", "-32769", "32767", "32768"},
        {TPD_DTYPE_UINT16, "0", "-1", "65535", "65536"},
        {TPD_DTYPE_INT32, "-2147483648", "-2147483649", "2147483647", "2147483648"},
        {TPD_DTYPE_UINT32, "0", "-1", "4294967295", "4294967296"},
        {TPD_DTYPE_INT64, "-9223372036854775808", "-9223372036854775809", "9223372036854775807", "9223372036854775808"},
        {TPD_DTYPE_UINT64, "0", "-1", "18446744073709551615", "18446744073709551616"},
        {TPD_DTYPE_BOOL, "0", "-1", "1", "2"},
    };
    static const char *const fronts[] = {"", "+", "\"", "00000000000000000000"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int side = 0; side < 4; side++)
            for (size_t f = 0; f < 4; f++) {
                const char *text = side == 0   ? cases[i].least
                                   : side == 1 ? cases[i].below
                                   : side == 2 ? cases[i].most
                                               : cases[i].above;
                char spelled[80];
                if (f != 0 && text[0] == '-')
                    continue;
                snprintf(spelled, sizeof spelled, "%s%s%s", fronts[f], text, f == 2 ? "\"" : "");
                struct column c;
                uint64_t item = 0xa5a5a5a5a5a5a5a5u, failed = 99;
                column_open(&c);
                column_add(&c, spelled);
                /* Behind others, so that the fast way may look at what lies before. */
                struct column d;
                uint64_t items[3] = {item, item, item};
                column_open(&d);
                column_add(&d, "1");
                column_add(&d, "000000000000001");
                column_add(&d, spelled);
                for (int way = 0; way < 2; way++) {
                    enum tpd_status status = column_read(way == 0 ? &c : &d, cases[i].dtype, way == 0 ? &item : items, &failed);
                    bool good = side % 2 == 0;
                    ck_assert_msg(status == (good ? TPD_OK : TPD_OUT_OF_RANGE), "%s '%s': %s", tpd_dtype_name(cases[i].dtype),
                                  spelled, tpd_status_slug(status));
                    ck_assert(good || failed == (way == 0 ? 0 : 2));
                }
                uint32_t itemsize = tpd_dtype_itemsize(cases[i].dtype);
                uint64_t wanted = side == 0 ? (uint64_t)strtoll(text, NULL, 10) : strtoull(text, NULL, 10);
                ck_assert(side % 2 != 0 || memcmp(&item, &wanted, itemsize) == 0);
                ck_assert(side % 2 != 0 || memcmp((unsigned char *)items + 2 * (size_t)itemsize, &wanted, itemsize) == 0);
                free(c.text);
                free(d.text);
            }
}
END_TEST

START_TEST(test_plain_words) {
    static const char *const bad[] = {"",
                                      " ",
                                      "abc",
                                      "1 2",
                                      "0x1",
                                      "1_0",
                                      "1,5",
                                      "--1",
                                      "+-1",
                                      "1-",
                                      "1e",
                                      "e5",
                                      ".",
                                      "-",
                                      "+",
                                      "1.2.3",
                                      "nanx",
                                      "1.5f",
                                      "\"1",
                                      "1\"",
                                      "1e5.5",
                                      "NA",
                                      "null",
                                      "true",
                                      "(1+2j)",
                                      "1..2",
                                      "12345678901234567890123x",
                                      ".e1",
                                      "-.",
                                      "\"\"",
                                      "1 2 3 4 5 6 7 8"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct column c;
        double items[3];
        uint64_t failed = 9;
        column_open(&c);
        column_add(&c, "1.5");
        column_add(&c, "22222222222222.5");
        column_add(&c, bad[i]);
        ck_assert_msg(column_read(&c, TPD_DTYPE_FLOAT64, items, &failed) == TPD_MALFORMED, "'%s' is read", bad[i]);
        ck_assert_uint_eq(failed, 2);
        free(c.text);
    }
}
END_TEST

/* A comma for the point would be seen in both directions. */
START_TEST(test_locale) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "ru_RU.UTF-8"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = setlocale(LC_ALL, names[i]) != NULL && localeconv()->decimal_point[0] == ',';
    if (!found)
        puts("test_locale: no locale with a decimal comma is installed; only C's is tested");
    char text[TPD_NUMBER_TEXT_MOST];
    double value = 1234.5, back = 0;
    size_t bytes = tpd_number_write(TPD_SPELLING_PLAIN, TPD_DTYPE_FLOAT64, &value, TPD_NONFINITE_ERROR, text);
    ck_assert_uint_eq(bytes, 6);
    ck_assert_mem_eq(text, "1234.5", 6);
    struct column c;
    uint64_t failed;
    column_open(&c);
    column_add(&c, "12345678.901234567890123");
    ck_assert_int_eq(column_read(&c, TPD_DTYPE_FLOAT64, &back, &failed), TPD_OK);
    setlocale(LC_ALL, "C");
    ck_assert(back == 12345678.901234567890123);
    free(c.text);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("number_edges");
    TCase *c = tcase_create("edges");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_narrow_everywhere);
    tcase_add_test(c, test_integer_edges);
    tcase_add_test(c, test_plain_words);
    tcase_add_test(c, test_locale);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
