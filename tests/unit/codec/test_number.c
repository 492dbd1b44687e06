/* test_number.c -- every bit pattern of the narrow types, random ones of the wide, and texts that sit on an edge. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "server/codec/number.h"
#include "server/codec/number_float.h"

static enum tpd_status read_text(enum tpd_dtype dtype, const char *text, void *item) {
    const char *why = NULL;
    enum tpd_status status = tpd_number_read(TPD_SPELLING_JSON, dtype, text, strlen(text), item, &why);
    ck_assert_msg(status == TPD_OK || why != NULL, "%s: no reason", text);
    return status;
}

static void there_and_back(enum tpd_dtype dtype, const void *item) {
    char text[TPD_NUMBER_TEXT_MOST];
    unsigned char back[16];
    const char *why = "";
    uint32_t itemsize = tpd_dtype_itemsize(dtype);
    size_t bytes = tpd_number_write(TPD_SPELLING_JSON, dtype, item, TPD_NONFINITE_ERROR, text);
    ck_assert_uint_ge(bytes, 1);
    ck_assert_uint_le(bytes, TPD_NUMBER_TEXT_MOST);
    memset(back, 0xa5, sizeof back);
    ck_assert_msg(tpd_number_read(TPD_SPELLING_JSON, dtype, text, bytes, back, &why) == TPD_OK, "%s '%.*s': %s",
                  tpd_dtype_name(dtype), (int)bytes, text, why);
    ck_assert_msg(memcmp(back, item, itemsize) == 0, "%s '%.*s' reads back as other bits", tpd_dtype_name(dtype), (int)bytes,
                  text);
    if (itemsize < 16)
        ck_assert_int_eq(back[itemsize], 0xa5);
}

static const enum tpd_dtype narrow[] = {TPD_DTYPE_FLOAT16, TPD_DTYPE_BFLOAT16, TPD_DTYPE_FLOAT8_E4M3, TPD_DTYPE_FLOAT8_E5M2};

START_TEST(test_narrow_all) {
    for (int t = 0; t < 4; t++) {
        uint32_t patterns = 1u << (8 * tpd_dtype_itemsize(narrow[t]));
        int finite = 0;
        for (uint32_t bits = 0; bits < patterns; bits++) {
            char text[TPD_NUMBER_TEXT_MOST];
            if (isfinite(tpd_float_widen(narrow[t], bits))) {
                there_and_back(narrow[t], &bits);
                finite++;
            } else {
                ck_assert_uint_eq(tpd_number_write(TPD_SPELLING_JSON, narrow[t], &bits, TPD_NONFINITE_ERROR, text), 0);
                ck_assert_uint_ne(tpd_number_write(TPD_SPELLING_JSON, narrow[t], &bits, TPD_NONFINITE_STRING, text), 0);
            }
        }
        static const int wanted[] = {65536 - 2048, 65536 - 256, 254, 248};
        ck_assert_int_eq(finite, wanted[t]);
    }
}
END_TEST

/* Between each two neighbours: the very middle goes to the even one, a hair beside it to its own side. The hair is far below
 * a double's last bit, so that a reader that rounds twice fails. */
START_TEST(test_narrow_midpoints) {
    for (int t = 0; t < 4; t++) {
        uint32_t largest = (1u << (8 * tpd_dtype_itemsize(narrow[t]) - 1)) - 1;
        while (!isfinite(tpd_float_widen(narrow[t], largest)))
            largest--;
        for (uint32_t bits = 0; bits < largest; bits += bits < 2000 ? 1 : 23) {
            double middle = (tpd_float_widen(narrow[t], bits) + tpd_float_widen(narrow[t], bits + 1)) / 2;
            char text[300], *e;
            uint32_t got = 0;
            snprintf(text, sizeof text, "%.150e", middle);
            ck_assert_int_eq(read_text(narrow[t], text, &got), TPD_OK);
            ck_assert_msg(got == bits + (bits & 1), "%s %s: %x, not %x", tpd_dtype_name(narrow[t]), text, got, bits + (bits & 1));
            e = strchr(text, 'e');
            e[-1] = '1'; /* the 150th decimal was 0 */
            ck_assert_int_eq(read_text(narrow[t], text, &got), TPD_OK);
            ck_assert_msg(got == bits + 1, "%s above: %s: %x", tpd_dtype_name(narrow[t]), text, got);
            e[-1] = '0';
            char below[300]; /* 1.25e5 -> 1.24999...9e5 */
            memcpy(below, text, sizeof below);
            for (char *c = below + (e - text) - 1;; c--) {
                if (*c == '.')
                    continue;
                if (*c != '0') {
                    --*c;
                    break;
                }
                *c = '9';
            }
            ck_assert_int_eq(read_text(narrow[t], below, &got), TPD_OK);
            ck_assert_msg(got == bits, "%s below: %s: %x", tpd_dtype_name(narrow[t]), below, got);
        }
    }
}
END_TEST

START_TEST(test_wide_random) {
    uint64_t state = 5;
    static const enum tpd_dtype dtypes[] = {TPD_DTYPE_FLOAT32, TPD_DTYPE_FLOAT64, TPD_DTYPE_COMPLEX64, TPD_DTYPE_COMPLEX128,
                                            TPD_DTYPE_INT8,    TPD_DTYPE_UINT8,   TPD_DTYPE_INT16,     TPD_DTYPE_UINT16,
                                            TPD_DTYPE_INT32,   TPD_DTYPE_UINT32,  TPD_DTYPE_INT64,     TPD_DTYPE_UINT64};
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
        for (int i = 0; i < 5000; i++) {
            uint64_t item[2] = {tpd_random(&state), tpd_random(&state)};
            double wide[2];
            float single[4];
            memcpy(wide, item, sizeof wide);
            memcpy(single, item, sizeof single);
            char text[TPD_NUMBER_TEXT_MOST];
            if (tpd_number_write(TPD_SPELLING_JSON, dtypes[t], item, TPD_NONFINITE_ERROR, text) != 0)
                there_and_back(dtypes[t], item);
            else
                ck_assert(!isfinite(wide[0]) || !isfinite(wide[1]) || !isfinite(single[0]) || !isfinite(single[1]));
        }
}
END_TEST

START_TEST(test_texts) {
    static const struct {
        enum tpd_dtype dtype;
        const char *text;
        enum tpd_status status;
        const char *written; /* NULL: as it was read */
    } cases[] = {
        {TPD_DTYPE_FLOAT64, "-0.0", TPD_OK, NULL},
        {TPD_DTYPE_FLOAT64, "-0", TPD_OK, "-0.0"},
        {TPD_DTYPE_FLOAT64, "1", TPD_OK, "1.0"},
        {TPD_DTYPE_FLOAT64, "1e22", TPD_OK, "1e+22"},
        {TPD_DTYPE_FLOAT64, "9007199254740993", TPD_OK, "9007199254740992.0"},
        {TPD_DTYPE_FLOAT64, "1e-400", TPD_OK, "0.0"},
        {TPD_DTYPE_FLOAT64, "-1e-400", TPD_OK, "-0.0"},
        {TPD_DTYPE_FLOAT64, "0e999999999999999999999", TPD_OK, "0.0"},
        {TPD_DTYPE_FLOAT64, "1e-999999999999999999999", TPD_OK, "0.0"},
        {TPD_DTYPE_FLOAT64, "1e999999999999999999999", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_FLOAT64, "1e309", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_FLOAT64, "5e-324", TPD_OK, NULL},
        {TPD_DTYPE_FLOAT64, "2e-324", TPD_OK, "0.0"},
        {TPD_DTYPE_FLOAT64, "1x", TPD_MALFORMED, NULL},
        {TPD_DTYPE_FLOAT64, "inf", TPD_MALFORMED, NULL},
        {TPD_DTYPE_FLOAT64, "nan", TPD_MALFORMED, NULL},
        {TPD_DTYPE_FLOAT64, "-inf", TPD_MALFORMED, NULL},
        {TPD_DTYPE_FLOAT64, "", TPD_MALFORMED, NULL},
        {TPD_DTYPE_FLOAT64, "true", TPD_MALFORMED, NULL},
        {TPD_DTYPE_FLOAT64, "\"1\"", TPD_MALFORMED, NULL},
        {TPD_DTYPE_FLOAT32, "3.4028235e38", TPD_OK, "3.4028235e+38"},
        {TPD_DTYPE_FLOAT32, "3.4028236e38", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_FLOAT32, "0.1", TPD_OK, NULL},
        {TPD_DTYPE_FLOAT32, "1e-46", TPD_OK, "0.0"},
        {TPD_DTYPE_FLOAT16, "65504", TPD_OK, "65500.0"},
        {TPD_DTYPE_FLOAT16, "65519.9999", TPD_OK, "65500.0"},
        {TPD_DTYPE_FLOAT16, "65520", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_FLOAT16, "0.1", TPD_OK, NULL},
        {TPD_DTYPE_FLOAT16, "6e-8", TPD_OK, "6e-08"},
        {TPD_DTYPE_FLOAT16, "1e-8", TPD_OK, "0.0"},
        {TPD_DTYPE_FLOAT8_E4M3, "448", TPD_OK, "450.0"},
        {TPD_DTYPE_FLOAT8_E4M3, "464", TPD_OK, "450.0"},
        {TPD_DTYPE_FLOAT8_E4M3, "464.00000000000000000000000001", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_FLOAT8_E5M2, "57344", TPD_OK, "60000.0"},
        {TPD_DTYPE_FLOAT8_E5M2, "61440", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_INT8, "-128", TPD_OK, NULL},
        {TPD_DTYPE_INT8, "-129", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_INT8, "128", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_INT8, "1e2", TPD_OK, "100"},
        {TPD_DTYPE_INT8, "1.50e1", TPD_OK, "15"},
        {TPD_DTYPE_INT8, "1.5", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_INT8, "1000e-1", TPD_OK, "100"},
        {TPD_DTYPE_INT8, "1e-1", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_INT8, "-0", TPD_OK, "0"},
        {TPD_DTYPE_INT8, "0.000e5", TPD_OK, "0"},
        {TPD_DTYPE_INT8, "true", TPD_MALFORMED, NULL},
        {TPD_DTYPE_INT8, "null", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_INT64, "-9223372036854775808", TPD_OK, NULL},
        {TPD_DTYPE_INT64, "-9223372036854775808.0", TPD_OK, "-9223372036854775808"},
        {TPD_DTYPE_INT64, "9223372036854775808", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_INT64, "-9223372036854775809", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_INT64, "1e18446744073709551616", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_UINT64, "18446744073709551615", TPD_OK, NULL},
        {TPD_DTYPE_UINT64, "18446744073709551616", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_UINT64, "1.8446744073709551615e19", TPD_OK, "18446744073709551615"},
        {TPD_DTYPE_UINT64, "-0.0", TPD_OK, "0"},
        {TPD_DTYPE_UINT8, "1e", TPD_MALFORMED, NULL},
        {TPD_DTYPE_INT64, "1.5.0", TPD_MALFORMED, NULL},
        {TPD_DTYPE_UINT8, "-1", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_UINT8, "256", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_BOOL, "true", TPD_OK, NULL},
        {TPD_DTYPE_BOOL, "false", TPD_OK, NULL},
        {TPD_DTYPE_BOOL, "1", TPD_OK, "true"},
        {TPD_DTYPE_BOOL, "2", TPD_OUT_OF_RANGE, NULL},
        {TPD_DTYPE_COMPLEX64, "[ 1.5 ,\n-0.0 ]", TPD_OK, "[1.5,-0.0]"},
        {TPD_DTYPE_COMPLEX64, "2", TPD_OK, "[2.0,0.0]"},
        {TPD_DTYPE_COMPLEX64, "[1]", TPD_MALFORMED, NULL},
        {TPD_DTYPE_COMPLEX64, "[", TPD_MALFORMED, NULL},
        {TPD_DTYPE_COMPLEX64, "[,]", TPD_MALFORMED, NULL},
        {TPD_DTYPE_COMPLEX64, "[1,2,3]", TPD_MALFORMED, NULL},
        {TPD_DTYPE_COMPLEX64, "[1e39,2]", TPD_OUT_OF_RANGE, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char item[16];
        char text[TPD_NUMBER_TEXT_MOST];
        enum tpd_status status = read_text(cases[i].dtype, cases[i].text, item);
        ck_assert_msg(status == cases[i].status, "%s '%s': %s", tpd_dtype_name(cases[i].dtype), cases[i].text,
                      tpd_status_slug(status));
        if (status != TPD_OK)
            continue;
        size_t bytes = tpd_number_write(TPD_SPELLING_JSON, cases[i].dtype, item, TPD_NONFINITE_ERROR, text);
        const char *wanted = cases[i].written != NULL ? cases[i].written : cases[i].text;
        bool same = bytes == strlen(wanted) && memcmp(text, wanted, bytes) == 0;
        bool with_point =
            bytes == strlen(wanted) + 2 && memcmp(text, wanted, bytes - 2) == 0 && memcmp(text + bytes - 2, ".0", 2) == 0;
        ck_assert_msg(same || (with_point && cases[i].written == NULL), "%s '%s': '%.*s'", tpd_dtype_name(cases[i].dtype),
                      cases[i].text, (int)bytes, text);
    }
}
END_TEST

START_TEST(test_nonfinite) {
    static const char *const words[] = {"\"NaN\"", "\"Infinity\"", "\"-Infinity\"", "null"};
    static const enum tpd_dtype dtypes[] = {TPD_DTYPE_FLOAT64, TPD_DTYPE_FLOAT32, TPD_DTYPE_FLOAT16, TPD_DTYPE_BFLOAT16,
                                            TPD_DTYPE_FLOAT8_E5M2};
    for (int t = 0; t < 5; t++)
        for (int w = 0; w < 4; w++) {
            unsigned char item[16];
            char text[TPD_NUMBER_TEXT_MOST];
            ck_assert_int_eq(read_text(dtypes[t], words[w], item), TPD_OK);
            ck_assert_uint_eq(tpd_number_write(TPD_SPELLING_JSON, dtypes[t], item, TPD_NONFINITE_ERROR, text), 0);
            size_t bytes = tpd_number_write(TPD_SPELLING_JSON, dtypes[t], item, TPD_NONFINITE_STRING, text);
            const char *wanted = words[w == 3 ? 0 : w];
            ck_assert_uint_eq(bytes, strlen(wanted));
            ck_assert_mem_eq(text, wanted, bytes);
            ck_assert_uint_eq(tpd_number_write(TPD_SPELLING_JSON, dtypes[t], item, TPD_NONFINITE_NULL, text), 4);
        }
    unsigned char item = 0;
    ck_assert_int_eq(read_text(TPD_DTYPE_FLOAT8_E4M3, "null", &item), TPD_OK);
    ck_assert_int_eq(item, 0x7f);
    ck_assert_int_eq(read_text(TPD_DTYPE_FLOAT8_E4M3, "\"-Infinity\"", &item), TPD_OUT_OF_RANGE);
}
END_TEST

START_TEST(test_decimals) {
    static const char *const same[] = {"1", "1.0", "1e0", "10e-1", "0.1e1", "0.0001e4", "1000.000e-3", "-1"};
    struct tpd_decimal a, b;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            tpd_decimal_read(same[i], strlen(same[i]), &a);
            tpd_decimal_read(same[j], strlen(same[j]), &b);
            ck_assert_int_eq(tpd_decimal_compare(&a, &b), 0);
        }
    static const char *const rising[] = {"0.000e9", "1e-30", "0.9999", "1.00000000000000000001",
                                         "1.1",     "9.99",  "10",     "1e1000000000000"};
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            tpd_decimal_read(rising[i], strlen(rising[i]), &a);
            tpd_decimal_read(rising[j], strlen(rising[j]), &b);
            ck_assert_int_eq(tpd_decimal_compare(&a, &b), (i > j) - (i < j));
        }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("number");
    TCase *c = tcase_create("number");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_narrow_all);
    tcase_add_test(c, test_narrow_midpoints);
    tcase_add_test(c, test_wide_random);
    tcase_add_test(c, test_texts);
    tcase_add_test(c, test_nonfinite);
    tcase_add_test(c, test_decimals);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
