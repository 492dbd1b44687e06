/* test_codecs.c -- the table's lookups, sniffing, and Accept. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "transposed/codec.h"

START_TEST(test_lookups) {
    for (int i = 0; i < TPD_CODEC_COUNT; i++) {
        enum tpd_codec_id id = (enum tpd_codec_id)i;
        ck_assert_ptr_nonnull(tpd_codec_at(id));
        ck_assert_int_eq(tpd_codec_by_name(tpd_codec_name(id)), i);
        ck_assert_int_eq(tpd_codec_by_type(tpd_codec_type(id)), i);
    }
    ck_assert_ptr_null(tpd_codec_at(TPD_CODEC_COUNT));
    ck_assert_int_eq(tpd_codec_by_name("NPY"), TPD_CODEC_COUNT);
    ck_assert_int_eq(tpd_codec_by_name(""), TPD_CODEC_COUNT);
    ck_assert_int_eq(tpd_codec_by_type(" Application/JSON ; charset=utf-8"), TPD_CODEC_JSON);
    ck_assert_int_eq(tpd_codec_by_type("application/json;"), TPD_CODEC_JSON);
    ck_assert_int_eq(tpd_codec_by_type("application/jsonx"), TPD_CODEC_COUNT);
    ck_assert_int_eq(tpd_codec_by_type("application/jso"), TPD_CODEC_COUNT);
    ck_assert_int_eq(tpd_codec_by_type("application/json x"), TPD_CODEC_COUNT);
    ck_assert_int_eq(tpd_codec_by_type(""), TPD_CODEC_COUNT);
    ck_assert_int_eq(tpd_codec_by_path("/a.b/c.NPY"), TPD_CODEC_NPY);
    ck_assert_int_eq(tpd_codec_by_path("x.bin"), TPD_CODEC_RAW);
    ck_assert_int_eq(tpd_codec_by_path("x.raw"), TPD_CODEC_RAW);
    ck_assert_int_eq(tpd_codec_by_path("x.json/y"), TPD_CODEC_COUNT);
    ck_assert_int_eq(tpd_codec_by_path("x.raw .bin"), TPD_CODEC_RAW);
    ck_assert_int_eq(tpd_codec_by_path("x."), TPD_CODEC_COUNT);
    ck_assert_int_eq(tpd_codec_by_path("x.js"), TPD_CODEC_COUNT);
    ck_assert_int_eq(tpd_codec_by_path(""), TPD_CODEC_COUNT);
}
END_TEST

static enum tpd_codec_id sniff(const char *head, size_t bytes, const struct tpd_decode_options *options) {
    return tpd_codec_sniff((const unsigned char *)head, bytes, options);
}

START_TEST(test_sniff) {
    struct tpd_decode_options none = {0}, shape = {.has_rows = true, .has_cols = true, .rows = 2, .cols = 3};
    ck_assert_int_eq(sniff("\x93NUMPY\x01", 7, &none), TPD_CODEC_NPY);
    ck_assert_int_eq(sniff("\x93NUMPY\x01", 7, &shape), TPD_CODEC_NPY);
    ck_assert_int_eq(sniff("\x93NUMP", 5, &none), TPD_CODEC_COUNT);
    ck_assert_int_eq(sniff("[1]", 3, &none), TPD_CODEC_JSON);
    ck_assert_int_eq(sniff("[1]", 3, &shape), TPD_CODEC_JSON);
    ck_assert_int_eq(sniff(" \r\n\t{", 5, &none), TPD_CODEC_JSON);
    ck_assert_int_eq(sniff("    ", 4, &none), TPD_CODEC_COUNT);
    ck_assert_int_eq(sniff("", 0, &none), TPD_CODEC_COUNT);
    ck_assert_int_eq(sniff("", 0, &shape), TPD_CODEC_RAW);
    ck_assert_int_eq(sniff("[\x01\x02\x03", 4, &shape), TPD_CODEC_RAW);
    ck_assert_int_eq(sniff("1,2", 3, &none), TPD_CODEC_COUNT);
    /* Half a shape: raw then says which half is missing. */
    struct tpd_decode_options half = {.has_rows = true, .rows = 2}, item = {.has_itemsize = true, .itemsize = 4};
    ck_assert_int_eq(sniff("\x01\x02", 2, &half), TPD_CODEC_RAW);
    ck_assert_int_eq(sniff("\x01\x02", 2, &item), TPD_CODEC_RAW);
    ck_assert_int_eq(sniff("[1]", 3, &half), TPD_CODEC_JSON);
    /* Text of just the size that the shape asks for: the items happen to look like it. */
    shape.has_content_bytes = true;
    shape.content_bytes = 24;
    ck_assert_int_eq(sniff("[1,2,3,4,5,6,7,8,9,1,2,3]", 24, &shape), TPD_CODEC_RAW);
    shape.content_bytes = 25;
    ck_assert_int_eq(sniff("[1,2,3,4,5,6,7,8,9,1,2,3]", 25, &shape), TPD_CODEC_JSON);
}
END_TEST

START_TEST(test_guess) {
    static const struct {
        const char *head, *word;
    } cases[] = {{"", "empty"},
                 {" \n", "space"},
                 {"PK\x03\x04 and more", "numpy.savez"},
                 {"123", "[[1,2],[3,4]]"},
                 {" \"abc\"", "bare"},
                 {"null", "bare"},
                 {"-1", "bare"},
                 {"false", "bare"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *guess = tpd_codec_guess((const unsigned char *)cases[i].head, strlen(cases[i].head));
        ck_assert_msg(strstr(guess, cases[i].word) != NULL, "'%s': %s", cases[i].head, guess);
    }
    /* Nothing is said of what nobody knows, and a head that ends early is not read past its end. */
    ck_assert_str_eq(tpd_codec_guess((const unsigned char *)"what is this", 12), "");
    ck_assert_str_eq(tpd_codec_guess((const unsigned char *)"nul", 3), "");
    ck_assert_str_eq(tpd_codec_guess((const unsigned char *)"PK", 2), "");
    ck_assert_str_eq(tpd_codec_guess((const unsigned char *)"\0\0", 2), "");
}
END_TEST

START_TEST(test_accept) {
    static const struct {
        const char *accept;
        enum tpd_codec_id same, wanted;
    } cases[] = {
        {NULL, TPD_CODEC_RAW, TPD_CODEC_RAW},
        {"", TPD_CODEC_JSON, TPD_CODEC_JSON},
        {" , ,", TPD_CODEC_JSON, TPD_CODEC_JSON},
        {"*/*", TPD_CODEC_RAW, TPD_CODEC_RAW},
        {"application/*", TPD_CODEC_JSON, TPD_CODEC_JSON},
        {"application/json", TPD_CODEC_RAW, TPD_CODEC_JSON},
        {"APPLICATION/Json", TPD_CODEC_RAW, TPD_CODEC_JSON},
        {"text/html, application/json;q=0.9, */*;q=0.8", TPD_CODEC_RAW, TPD_CODEC_JSON},
        {"text/html, */*;q=0.8", TPD_CODEC_RAW, TPD_CODEC_RAW},
        {"application/json;q=0.5, application/x-npy;q=0.6", TPD_CODEC_JSON, TPD_CODEC_NPY},
        {"application/json, application/x-npy", TPD_CODEC_JSON, TPD_CODEC_JSON},
        {"application/json, application/x-npy", TPD_CODEC_RAW, TPD_CODEC_NPY},
        {"*/*, application/json;q=0", TPD_CODEC_JSON, TPD_CODEC_NPY},
        {"application/*;q=0, */*", TPD_CODEC_JSON, TPD_CODEC_CSV},
        {"application/*;q=0, text/*;q=0, */*", TPD_CODEC_JSON, TPD_CODEC_COUNT},
        {"application/json;q=0", TPD_CODEC_JSON, TPD_CODEC_COUNT},
        {"application/json; Q=0.001", TPD_CODEC_RAW, TPD_CODEC_JSON},
        {"application/json;q=1.000", TPD_CODEC_RAW, TPD_CODEC_JSON},
        {"application/json;q=1.001", TPD_CODEC_RAW, TPD_CODEC_COUNT},
        {"application/json;q=0.0001", TPD_CODEC_RAW, TPD_CODEC_COUNT},
        {"application/json;q=", TPD_CODEC_RAW, TPD_CODEC_COUNT},
        {"application/json;q=-1", TPD_CODEC_RAW, TPD_CODEC_COUNT},
        {"application/json;q=nan", TPD_CODEC_RAW, TPD_CODEC_COUNT},
        {"application/json;charset=utf-8;q=0.3, application/x-npy;q=0.2", TPD_CODEC_RAW, TPD_CODEC_JSON},
        {"application/json;profile=\"a,b;q=0\\\"\";q=0.3", TPD_CODEC_RAW, TPD_CODEC_JSON},
        {"application/json;profile=\"open, application/x-npy", TPD_CODEC_RAW, TPD_CODEC_COUNT},
        {"application/json;;q=0.3", TPD_CODEC_RAW, TPD_CODEC_JSON},
        {"text/csv", TPD_CODEC_RAW, TPD_CODEC_CSV},
        {"text/html", TPD_CODEC_RAW, TPD_CODEC_COUNT},
        {"*", TPD_CODEC_RAW, TPD_CODEC_COUNT},
        {"*/json", TPD_CODEC_RAW, TPD_CODEC_COUNT},
        {"/", TPD_CODEC_RAW, TPD_CODEC_COUNT},
        {"application/json/x, application/x-npy", TPD_CODEC_RAW, TPD_CODEC_NPY},
        {"application json, application/x-npy", TPD_CODEC_RAW, TPD_CODEC_NPY},
        {"\x80\xff, application/octet-stream", TPD_CODEC_JSON, TPD_CODEC_RAW},
        {"application/json;q=0.2, application/json;q=0.4, application/x-npy;q=0.3", TPD_CODEC_RAW, TPD_CODEC_JSON},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(tpd_codec_accept(cases[i].accept, cases[i].same) == cases[i].wanted, "case %zu: '%s' gives %s", i,
                      cases[i].accept, tpd_codec_name(tpd_codec_accept(cases[i].accept, cases[i].same)));
}
END_TEST

/* Any bytes at all end, and never name a format that is none. */
START_TEST(test_accept_hostile) {
    static const char alphabet[] = "application/json,x-npy;q=01.*\"\\ \t\x80";
    uint64_t state = 11;
    for (int i = 0; i < 20000; i++) {
        char text[65] = {0};
        size_t length = tpd_random(&state) % 64;
        for (size_t j = 0; j < length; j++)
            text[j] = alphabet[tpd_random(&state) % (sizeof alphabet - 1)];
        ck_assert_int_le(tpd_codec_accept(text, TPD_CODEC_JSON), TPD_CODEC_COUNT);
        ck_assert_int_le(tpd_codec_by_type(text), TPD_CODEC_COUNT);
        ck_assert_int_le(tpd_codec_by_path(text), TPD_CODEC_COUNT);
    }
    size_t bytes = 1 << 16;
    char *commas = malloc(bytes);
    ck_assert_ptr_nonnull(commas);
    memset(commas, ',', bytes - 1);
    commas[bytes - 1] = '\0';
    memcpy(commas + bytes - 17, "application/json", 16);
    ck_assert_int_eq(tpd_codec_accept(commas, TPD_CODEC_RAW), TPD_CODEC_COUNT); /* past the elements that are looked at */
    free(commas);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("codecs");
    TCase *c = tcase_create("table");
    tcase_add_test(c, test_lookups);
    tcase_add_test(c, test_sniff);
    tcase_add_test(c, test_guess);
    tcase_add_test(c, test_accept);
    tcase_add_test(c, test_accept_hostile);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
