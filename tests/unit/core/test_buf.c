/* test_buf.c -- bytes that grow to a ceiling and no further, and JSON strings that are always JSON. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "transposed/alloc.h"
#include "transposed/buf.h"

START_TEST(grows) {
    struct tpd_buf buf;
    char expected[20000] = "", piece[16];
    size_t length = 0, taken;
    tpd_buf_init(&buf, 1 << 20);
    ck_assert_ptr_null(buf.data);
    for (int i = 0; i < 3000; i++) {
        length += (size_t)sprintf(expected + length, "%d,", i);
        if (i % 2 == 0) {
            sprintf(piece, "%d", i);
            ck_assert_int_eq(tpd_buf_text(&buf, piece), TPD_OK);
            ck_assert_int_eq(tpd_buf_add(&buf, ",", 1), TPD_OK);
        } else {
            ck_assert_int_eq(tpd_buf_format(&buf, "%d,", i), TPD_OK);
        }
    }
    ck_assert_uint_eq(buf.bytes, length);
    ck_assert_str_eq(buf.data, expected);
    char *data = tpd_buf_take(&buf, &taken);
    ck_assert_str_eq(data, expected);
    ck_assert_uint_eq(taken, length);
    ck_assert_ptr_null(buf.data);
    tpd_free(data);
    tpd_buf_fini(&buf);
}
END_TEST

static enum tpd_status add_abc(struct tpd_buf *buf, int way) {
    if (way == 0)
        return tpd_buf_add(buf, "abc", 3);
    return way == 1 ? tpd_buf_text(buf, "abc") : tpd_buf_format(buf, "%s", "abc");
}

/* The ceiling is exact, for every way of adding. */
START_TEST(ceiling) {
    struct tpd_buf buf;
    for (size_t most = 0; most < 40; most++)
        for (int way = 0; way < 3; way++) {
            tpd_buf_init(&buf, most);
            for (size_t i = 0; i < most / 3; i++)
                ck_assert_int_eq(add_abc(&buf, way), TPD_OK);
            ck_assert_int_eq(add_abc(&buf, way), TPD_TOO_LARGE);
            ck_assert_uint_eq(buf.bytes, most / 3 * 3);
            ck_assert(buf.bytes == 0 || strlen(buf.data) == buf.bytes);
            /* It goes on failing, even where there is room. */
            ck_assert_int_eq(tpd_buf_add(&buf, "", 0), TPD_TOO_LARGE);
            tpd_buf_clear(&buf);
            ck_assert_int_eq(tpd_buf_add(&buf, "", 0), TPD_OK);
            tpd_buf_fini(&buf);
        }
    tpd_buf_init(&buf, 100);
    ck_assert_int_eq(tpd_buf_add(&buf, "x", SIZE_MAX), TPD_TOO_LARGE);
    tpd_buf_fini(&buf);
}
END_TEST

START_TEST(no_ceiling) {
    struct tpd_buf buf;
    tpd_buf_init(&buf, SIZE_MAX);
    ck_assert_int_eq(tpd_buf_text(&buf, "x"), TPD_OK);
    ck_assert_int_eq(tpd_buf_format(&buf, "%0500d", 1), TPD_OK);
    ck_assert_uint_eq(buf.bytes, 501);
    tpd_buf_fini(&buf);
}
END_TEST

START_TEST(no_memory) {
    struct tpd_buf buf;
    tpd_buf_init(&buf, 1 << 20);
    tpd_heap_begin(2);
    ck_assert_int_eq(tpd_buf_text(&buf, "kept"), TPD_OK);
    ck_assert_int_eq(tpd_buf_format(&buf, "%01000d", 1), TPD_NO_MEMORY);
    ck_assert_int_eq(tpd_buf_text(&buf, "y"), TPD_NO_MEMORY);
    ck_assert_str_eq(buf.data, "kept");
    ck_assert_ptr_null(tpd_buf_take(&buf, NULL)); /* half an answer is none */
    tpd_buf_fini(&buf);
    ck_assert_int_eq(tpd_heap_end(), 1);
}
END_TEST

START_TEST(take_of_nothing) {
    struct tpd_buf buf;
    size_t bytes = 9;
    tpd_buf_init(&buf, 10);
    ck_assert_ptr_null(tpd_buf_take(&buf, &bytes));
    ck_assert_uint_eq(bytes, 0);
    tpd_buf_clear(&buf);
    tpd_buf_fini(&buf);
}
END_TEST

#define FFFD "\xef\xbf\xbd"

START_TEST(json_strings) {
    static const struct {
        const char *in, *out;
    } cases[] = {{"", "\"\""},
                 {"plain", "\"plain\""},
                 {"\"\\", "\"\\\"\\\\\""},
                 {"\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\""},
                 {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82\""},
                 {"\xff", "\"" FFFD "\""},
                 {"\xc0\xaf", "\"" FFFD FFFD "\""},                   /* overlong */
                 {"\xed\xa0\x80", "\"" FFFD FFFD FFFD "\""},          /* a surrogate */
                 {"\xf4\x90\x80\x80", "\"" FFFD FFFD FFFD FFFD "\""}, /* past U+10FFFF */
                 {"\xe2\x82", "\"" FFFD FFFD "\""},                   /* cut short */
                 {"\xf0\x9f", "\"" FFFD FFFD "\""}};
    struct tpd_buf buf;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* On the heap, to the byte: a reader that looks past the NUL is seen. */
        char *text = malloc(strlen(cases[i].in) + 1);
        ck_assert_ptr_nonnull(text);
        strcpy(text, cases[i].in);
        tpd_buf_init(&buf, 1000);
        ck_assert_int_eq(tpd_buf_json_string(&buf, text), TPD_OK);
        ck_assert_str_eq(buf.data, cases[i].out);
        free(text);
        tpd_buf_fini(&buf);
    }
    tpd_buf_init(&buf, 6);
    ck_assert_int_eq(tpd_buf_json_string(&buf, "12345"), TPD_TOO_LARGE);
    tpd_buf_fini(&buf);
}
END_TEST

static Suite *suite(void) {
    Suite *all = suite_create("buf");
    TCase *core = tcase_create("core");
    tcase_add_test(core, grows);
    tcase_add_test(core, ceiling);
    tcase_add_test(core, no_ceiling);
    tcase_add_test(core, no_memory);
    tcase_add_test(core, take_of_nothing);
    tcase_add_test(core, json_strings);
    suite_add_tcase(all, core);
    return all;
}

int main(void) {
    return tpd_harness_main(suite());
}
