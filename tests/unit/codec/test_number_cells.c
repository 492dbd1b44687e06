/* test_number_cells.c -- many cells at once, the fast way, against the C library's strtod and strtof, which are exact; shortest
 * text; every bit pattern of the narrow types; edges of the integers; spellings; another locale. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "server/codec/number.h"
#include "server/codec/number_float.h"
#include "server/codec/number_text.h"

enum { CELLS = 4096, CELL_MOST = 400 };

/* Cells one behind another with a byte between them, the first at offset 0, each in exactly the memory it has. */
struct column {
    char *text;
    size_t bytes;
    struct tpd_cell cells[CELLS];
    uint64_t count;
};

static void column_open(struct column *c) {
    c->text = malloc((size_t)CELLS * CELL_MOST);
    c->bytes = 0;
    c->count = 0;
}

static void column_add(struct column *c, const char *text) {
    size_t bytes = strlen(text);
    ck_assert_uint_lt(c->count, CELLS);
    c->cells[c->count++].place = (uint64_t)c->bytes << 24 | bytes;
    memcpy(c->text + c->bytes, text, bytes);
    c->text[c->bytes + bytes] = ',';
    c->bytes += bytes + 1;
}

static enum tpd_status column_read(struct column *c, enum tpd_dtype dtype, void *items, uint64_t *failed) {
    const char *why = NULL;
    unsigned char *exact = malloc(c->bytes);
    memcpy(exact, c->text, c->bytes);
    enum tpd_status status = tpd_number_read_cells(TPD_SPELLING_PLAIN, dtype, exact, c->cells, c->count, items, failed, &why);
    ck_assert(status == TPD_OK || why != NULL);
    free(exact);
    return status;
}

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
    Suite *s = suite_create("number_cells");
    TCase *c = tcase_create("cells");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_random_texts);
    tcase_add_test(c, test_random_digits);
    tcase_add_test(c, test_each_place);
    tcase_add_test(c, test_hard_texts);
    tcase_add_test(c, test_shortest);
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
