/* test_codec_refusals.c -- what a refused body is told: the place, the sizes, the limit, and what to do instead. */
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "tests/unit/codec/road_options.h"

/* Errors name the place: byte, line and column; sizes of both sides; the limit. */
START_TEST(test_places) {
    struct tpd_decode_options decode = from_heap();
    struct tpd_encode_options encode = to_heap(TPD_NONFINITE_STRING);
    struct tpd_encoded answer;
    struct tpd_error error = {0};
    static const struct {
        const char *text;
        enum tpd_status status;
        uint64_t offset, line, column;
    } cases[] = {
        {"[[1,2],\n [3]]", TPD_RAGGED, 11, 2, 4},  {"[[1,2],\n [03,4]]", TPD_MALFORMED, 10, 2, 3},
        {"[[1]\n", TPD_TRUNCATED, 5, 2, 1},        {"[[1]]\n\n x", TPD_TRAILING, 8, 3, 2},
        {"[[1.x]]", TPD_MALFORMED, 4, 1, 5},       {"", TPD_TRUNCATED, 0, 1, 1},
        {"[[\"a\xff\"]]", TPD_MALFORMED, 4, 1, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(codec_road(TPD_CODEC_JSON, TPD_CODEC_JSON, &decode, &encode, cases[i].text, strlen(cases[i].text), 1,
                                    NULL, &answer, &error),
                         cases[i].status);
        ck_assert_uint_eq(error.has, TPD_ERROR_HAS_OFFSET | TPD_ERROR_HAS_LINE);
        ck_assert_msg(error.offset == cases[i].offset && error.line == cases[i].line && error.column == cases[i].column,
                      "case %zu: byte %d, line %d, column %d", i, (int)error.offset, (int)error.line, (int)error.column);
        /* Without anybody to tell, the status is the same. */
        ck_assert_int_eq(codec_road(TPD_CODEC_JSON, TPD_CODEC_JSON, &decode, &encode, cases[i].text, strlen(cases[i].text), 1,
                                    NULL, &answer, NULL),
                         cases[i].status);
    }
    encode.has_dtype = true;
    encode.dtype = TPD_DTYPE_INT8;
    const char *text = "[[1,2],\n [3,400]]";
    ck_assert_int_eq(codec_road(TPD_CODEC_JSON, TPD_CODEC_NPY, &decode, &encode, text, strlen(text), 0, NULL, &answer, &error),
                     TPD_OUT_OF_RANGE);
    ck_assert_ptr_nonnull(strstr(error.text, "row 1, column 1"));
    ck_assert_ptr_nonnull(strstr(error.text, "'400'"));
    ck_assert_uint_eq(error.offset, 12);
    ck_assert_uint_eq(error.line, 2);
    decode.has_rows = decode.has_cols = decode.has_content_bytes = true;
    decode.rows = decode.cols = 2;
    decode.content_bytes = 17;
    struct tpd_decoder *decoder;
    const struct tpd_codec_ops *raw = tpd_codec_at(TPD_CODEC_RAW);
    ck_assert_int_eq(raw->open(&decode, &decoder, &error), TPD_TRAILING); /* before the first byte */
    ck_assert_ptr_null(decoder);
    ck_assert_uint_eq(error.offset, 16);
    ck_assert_ptr_nonnull(strstr(error.text, "17"));
    decode.content_bytes = 15;
    ck_assert_int_eq(raw->open(&decode, &decoder, &error), TPD_TRUNCATED);
    ck_assert_uint_eq(error.offset, 15);
    decode.content_bytes = 16;
    decode.body_most_bytes = 15;
    ck_assert_int_eq(raw->open(&decode, &decoder, &error), TPD_TOO_LARGE);
    ck_assert_uint_eq(error.limit, 15);
    ck_assert_uint_eq(error.actual, 16);
    raw->close(NULL);
}
END_TEST

/* What is refused says what to do instead, and that this would help. */
START_TEST(test_advice) {
    static const struct {
        enum tpd_codec_id in, out;
        const char *body;
        size_t bytes;
        enum tpd_dtype dtype; /* TPD_DTYPE_OPAQUE: none */
        enum tpd_status status;
        const char *words[3];
    } cases[] = {
        {TPD_CODEC_JSON,
         TPD_CODEC_NPY,
         "[[1,\"a b\"]]",
         0,
         TPD_DTYPE_OPAQUE,
         TPD_OUT_OF_RANGE,
         {"row 0, column 1", "'\"a b\"' is no number", "ask for json"}},
        {TPD_CODEC_JSON, TPD_CODEC_RAW, "[[true]]", 0, TPD_DTYPE_INT8, TPD_OUT_OF_RANGE, {"'true'", "ask for json", "int8"}},
        {TPD_CODEC_JSON,
         TPD_CODEC_RAW,
         "[[300]]",
         0,
         TPD_DTYPE_INT8,
         TPD_OUT_OF_RANGE,
         {"'300'", "ask for another dtype", "int8"}},
        {TPD_CODEC_JSON,
         TPD_CODEC_JSON,
         "[[3]]",
         0,
         TPD_DTYPE_INT8,
         TPD_BAD_PARAMETER,
         {"dtype is int8", "leave dtype out", "json"}},
        {TPD_CODEC_JSON,
         TPD_CODEC_JSON,
         "{ }",
         0,
         TPD_DTYPE_OPAQUE,
         TPD_MALFORMED,
         {"key 'data' is missing", "[[1,2],[3,4]]", ""}},
        {TPD_CODEC_JSON,
         TPD_CODEC_NPY,
         "[[0,1],[1,0]]",
         0,
         TPD_DTYPE_COMPLEX128,
         TPD_MALFORMED,
         {"an item of complex128 is a pair [re, im]", "rows of pairs, [[[1,0],[2,0]],[[3,0],[4,0]]]", "data and shape"}},
        {TPD_CODEC_JSON,
         TPD_CODEC_NPY,
         "{\"data\":[[0,1],[1,0]]}",
         0,
         TPD_DTYPE_COMPLEX64,
         TPD_SHAPE_MISMATCH,
         {"data is a flat array of pairs [re, im]", "rows is not given", "add rows and cols"}},
        {TPD_CODEC_JSON,
         TPD_CODEC_NPY,
         "{\"data\":[[[0,1],[1,0]]],\"batch\":1}",
         0,
         TPD_DTYPE_COMPLEX64,
         TPD_SHAPE_MISMATCH,
         {"batch is said, but data has 3 levels", "", ""}},
        {TPD_CODEC_JSON, TPD_CODEC_NPY, "[1,0]", 0, TPD_DTYPE_INT8, TPD_MALFORMED, {"the array is flat", "[[1,2],[3,4]]", ""}},
        {TPD_CODEC_JSON, TPD_CODEC_JSON, "{\"data\":[[1]],}", 0, TPD_DTYPE_OPAQUE, TPD_MALFORMED, {"a key", "", ""}},
        {TPD_CODEC_NPY, TPD_CODEC_NPY, "\x93NUMPY\x01\x61", 8, TPD_DTYPE_OPAQUE, TPD_UNSUPPORTED, {"1.97", "--data-binary", ""}},
        {TPD_CODEC_NPY, TPD_CODEC_NPY, "\x93NUMPY\x01", 7, TPD_DTYPE_OPAQUE, TPD_TRUNCATED, {"7 bytes", "--data-binary", ""}},
        {TPD_CODEC_RAW,
         TPD_CODEC_RAW,
         "",
         0,
         TPD_DTYPE_OPAQUE,
         TPD_BAD_PARAMETER,
         {"rows and cols are missing", "rows=R&cols=C", "--rows R --cols C"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_decode_options decode = from_heap();
        struct tpd_encode_options encode = to_heap(TPD_NONFINITE_STRING);
        struct tpd_encoded answer;
        struct tpd_error error = {0};
        decode.has_dtype = encode.has_dtype = cases[i].dtype != TPD_DTYPE_OPAQUE;
        decode.dtype = encode.dtype = cases[i].dtype;
        size_t bytes = cases[i].bytes != 0 ? cases[i].bytes : strlen(cases[i].body);
        enum tpd_status status =
            codec_road(cases[i].in, cases[i].out, &decode, &encode, cases[i].body, bytes, 0, NULL, &answer, &error);
        ck_assert_msg(status == cases[i].status, "case %zu: %s: %s", i, tpd_status_slug(status), error.text);
        for (int w = 0; w < 3; w++)
            ck_assert_msg(strstr(error.text, cases[i].words[w]) != NULL, "case %zu: no '%s' in: %s", i, cases[i].words[w],
                          error.text);
    }
}
END_TEST

/* What an array of too few or too many dimensions is told keeps its matrices whole. */
START_TEST(test_ranks) {
    static const struct {
        const char *shape, *advice;
    } cases[] = {{"()", "a.reshape(1, 1)"}, {"(6,)", "a.reshape(1, -1)"}, {"(1, 1, 2, 3)", "a.reshape(-1, *a.shape[-2:])"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_decode_options decode = from_heap();
        struct tpd_encode_options encode = to_heap(TPD_NONFINITE_STRING);
        struct tpd_encoded answer;
        struct tpd_error error = {0};
        char body[256] = "\x93NUMPY\x01";
        int length =
            snprintf(body + 10, sizeof body - 10, "{'descr': '|u1', 'fortran_order': False, 'shape': %s, }\n", cases[i].shape);
        body[8] = (char)length;
        ck_assert_int_eq(
            codec_road(TPD_CODEC_NPY, TPD_CODEC_NPY, &decode, &encode, body, 10 + (size_t)length, 0, NULL, &answer, &error),
            TPD_UNSUPPORTED);
        ck_assert_msg(strstr(error.text, cases[i].advice) != NULL, "%s: %s", cases[i].shape, error.text);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("codec_refusals");
    TCase *c = tcase_create("refusals");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_places);
    tcase_add_test(c, test_advice);
    tcase_add_test(c, test_ranks);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
