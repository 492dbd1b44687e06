/* test_conversions.c -- every dtype from every format to every other: three transposes through two of them are one, bit for bit.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "server/codec/number.h"
#include "tests/unit/codec/road_options.h"

/* What a format has no word for. */
static bool has(enum tpd_codec_id codec, enum tpd_dtype dtype) {
    return codec != TPD_CODEC_SAFETENSORS || dtype != TPD_DTYPE_COMPLEX128;
}

/* Cells in both: then a dtype has no say. */
static bool stays_text(enum tpd_codec_id a, enum tpd_codec_id b) {
    bool tables = (a == TPD_CODEC_CSV || a == TPD_CODEC_TSV) && (b == TPD_CODEC_CSV || b == TPD_CODEC_TSV);
    return tables || (a == b && (a == TPD_CODEC_JSON || a == TPD_CODEC_MTX));
}

static void road(enum tpd_codec_id in, enum tpd_codec_id out, enum tpd_dtype dtype, const struct tpd_matrix *shape,
                 const void *body, size_t bytes, struct tpd_encoded *answer, struct tpd_matrix *after) {
    struct tpd_decode_options decode = from_heap();
    struct tpd_encode_options encode = to_heap(TPD_NONFINITE_ERROR);
    struct tpd_error error = {0};
    if (in == TPD_CODEC_RAW) {
        decode.has_rows = decode.has_cols = true;
        decode.rows = shape->rows;
        decode.cols = shape->cols;
    }
    bool is_pair = tpd_dtype_kind(dtype) == TPD_KIND_COMPLEX && in == TPD_CODEC_JSON;
    if (!stays_text(in, out) || is_pair) {
        decode.has_dtype = encode.has_dtype = true;
        decode.dtype = encode.dtype = dtype;
    }
    enum tpd_status status = codec_road(in, out, &decode, &encode, body, bytes, 0, after, answer, &error);
    ck_assert_msg(status == TPD_OK, "%s to %s, %s: %s", tpd_codec_name(in), tpd_codec_name(out), tpd_dtype_name(dtype),
                  error.text);
}

static void one_pair(enum tpd_codec_id a, enum tpd_codec_id b, enum tpd_dtype dtype, uint64_t rows, uint64_t cols,
                     uint64_t seed) {
    struct tpd_matrix matrix = {rows, cols, 1, tpd_dtype_itemsize(dtype), dtype}, turned = tpd_matrix_transposed(&matrix), after;
    size_t bytes = (size_t)(rows * cols * matrix.itemsize);
    struct tpd_guarded in = tpd_guarded_make(bytes, 1), wanted = tpd_guarded_make(bytes, 0);
    for (size_t at = 0; at < bytes; at += matrix.itemsize) {
        char text[TPD_NUMBER_TEXT_MOST];
        do
            tpd_random_fill(in.data + at, matrix.itemsize, seed++);
        while (tpd_number_write(TPD_SPELLING_JSON, dtype, in.data + at, TPD_NONFINITE_ERROR, text) == 0);
        if (dtype == TPD_DTYPE_BOOL)
            in.data[at] &= 1;
    }
    tpd_transpose_ref(&matrix, in.data, wanted.data);
    struct tpd_encoded first, second, third;
    road(TPD_CODEC_RAW, a, dtype, &matrix, in.data, bytes, &first, &after);
    ck_assert_uint_eq(after.rows, cols);
    road(a, b, dtype, &turned, first.start, first.bytes, &second, &after);
    ck_assert_uint_eq(after.rows, rows);
    ck_assert_uint_eq(after.cols, cols);
    road(b, TPD_CODEC_RAW, dtype, &matrix, second.start, second.bytes, &third, &after);
    ck_assert_uint_eq(third.bytes, bytes);
    ck_assert_msg(memcmp(third.start, wanted.data, bytes) == 0, "%s to %s, %s: other bits", tpd_codec_name(a), tpd_codec_name(b),
                  tpd_dtype_name(dtype));
    tpd_encoded_release(&first);
    tpd_encoded_release(&second);
    tpd_encoded_release(&third);
    tpd_guarded_check(&in);
    tpd_guarded_free(&in);
    tpd_guarded_free(&wanted);
}

START_TEST(test_every_pair) {
    static const uint64_t shapes[][2] = {{3, 5}, {1, 7}, {6, 1}, {17, 33}};
    for (int a = 0; a < TPD_CODEC_COUNT; a++)
        for (int b = 0; b < TPD_CODEC_COUNT; b++)
            for (int dtype = 0; dtype < TPD_DTYPE_OPAQUE; dtype++)
                for (int s = 0; s < 4; s++)
                    if (has((enum tpd_codec_id)a, (enum tpd_dtype)dtype) && has((enum tpd_codec_id)b, (enum tpd_dtype)dtype))
                        one_pair((enum tpd_codec_id)a, (enum tpd_codec_id)b, (enum tpd_dtype)dtype, shapes[s][0], shapes[s][1],
                                 (uint64_t)(a * 1000 + b * 100 + dtype));
}
END_TEST

/* The same numbers the fast way and by an index, in a table of several batches; what fails in the last cell is named. */
START_TEST(test_large_table) {
    enum { ROWS = 700, COLS = 300, CELLS = ROWS * COLS };
    uint64_t state = 9;
    char *text = malloc(CELLS * 12 + 16), *at = text;
    double *wanted = malloc(CELLS * sizeof *wanted);
    for (int i = 0; i < CELLS; i++) {
        int64_t digits = (int64_t)(tpd_random(&state) % 1000000) - 500000;
        at += sprintf(at, "%.4f%c", (double)digits / 1e4, i % COLS == COLS - 1 ? '\n' : ',');
        wanted[i % COLS * ROWS + i / COLS] = (double)digits / 1e4;
    }
    for (int way = 0; way < 3; way++) {
        struct tpd_decode_options decode = from_heap();
        struct tpd_encode_options encode = to_heap(TPD_NONFINITE_ERROR);
        struct tpd_encoded answer;
        struct tpd_error error = {0};
        if (way == 1)
            decode.table.ragged = TPD_RAGGED_PAD; /* never the fast way */
        if (way == 2)
            memcpy(at - 4, "x", 1);
        enum tpd_status status =
            codec_road(TPD_CODEC_CSV, TPD_CODEC_RAW, &decode, &encode, text, (size_t)(at - text), 4096, NULL, &answer, &error);
        if (way == 2) {
            ck_assert_int_eq(status, TPD_OUT_OF_RANGE);
            ck_assert_uint_eq(error.line, ROWS);
            ck_assert_ptr_nonnull(strstr(error.text, "row 699, column 299"));
            continue;
        }
        ck_assert_ok(status, error);
        ck_assert_uint_eq(answer.bytes, CELLS * sizeof *wanted);
        ck_assert_mem_eq(answer.start, wanted, answer.bytes);
        tpd_encoded_release(&answer);
    }
    free(text);
    free(wanted);
}
END_TEST

/* Printed by one thread and by several: the same text, with lines that end where a thread's part does not. */
START_TEST(test_threads) {
    enum { ROWS = 211, COLS = 2000, BYTES = ROWS * COLS * 8 };
    unsigned char *items = malloc(BYTES);
    static const enum tpd_codec_id outs[] = {TPD_CODEC_CSV, TPD_CODEC_TSV, TPD_CODEC_MTX};
    static const enum tpd_dtype dtypes[] = {TPD_DTYPE_FLOAT64, TPD_DTYPE_INT64, TPD_DTYPE_COMPLEX64};
    tpd_random_fill(items, BYTES, 4);
    /* The first half of the rows is short, so that the guess is wrong for a part. */
    for (int uneven = 0; uneven < 2; uneven++) {
        if (uneven != 0)
            memset(items, 0, BYTES / 2);
        for (int o = 0; o < 9; o++) {
            struct tpd_decode_options decode = from_heap();
            struct tpd_error error = {0};
            struct tpd_encoded answer[2];
            decode.has_rows = decode.has_cols = decode.has_dtype = true;
            decode.rows = COLS;
            decode.cols = ROWS;
            decode.dtype = dtypes[o / 3];
            for (uint32_t threads = 1; threads <= 3; threads += 2) {
                struct tpd_encode_options encode = to_heap(TPD_NONFINITE_ERROR);
                encode.threads = threads;
                ck_assert_ok(
                    codec_road(TPD_CODEC_RAW, outs[o % 3], &decode, &encode, items, BYTES, 0, NULL, &answer[threads / 2], &error),
                    error);
            }
            ck_assert_uint_eq(answer[0].bytes, answer[1].bytes);
            ck_assert_mem_eq(answer[0].start, answer[1].start, answer[0].bytes);
            tpd_encoded_release(&answer[0]);
            tpd_encoded_release(&answer[1]);
        }
    }
    free(items);
}
END_TEST

/* What it says when it can't: row and column, from 0, place in the text, the text, what to do. */
START_TEST(test_places) {
    static const struct {
        enum tpd_codec_id in, out;
        const char *body;
        enum tpd_status status;
        uint64_t line, column;
        const char *words;
    } cases[] = {
        {TPD_CODEC_CSV, TPD_CODEC_NPY, "1,2\n3,abc\n", TPD_OUT_OF_RANGE, 2, 3, "row 1, column 1 (from 0): 'abc' is no number"},
        {TPD_CODEC_CSV, TPD_CODEC_NPY, "1,\n", TPD_OUT_OF_RANGE, 1, 3,
         "'' is no number for float64; correct it, or write nan if it is a missing value, or ask for csv"},
        {TPD_CODEC_TSV, TPD_CODEC_NPY, "NA\t2\n", TPD_OUT_OF_RANGE, 1, 1,
         "'NA' is no number for float64; correct it, or write nan"},
        {TPD_CODEC_CSV, TPD_CODEC_NPY, "1,NaC\n", TPD_OUT_OF_RANGE, 1, 3, "float64; correct it, or ask for csv, where cells"},
        {TPD_CODEC_TSV, TPD_CODEC_SAFETENSORS, "1\t\"x\ny\"\n", TPD_OUT_OF_RANGE, 1, 3, "row 0, column 1"},
        {TPD_CODEC_MTX, TPD_CODEC_NPY, "%%MatrixMarket matrix array real general\n2 2\n1\n2\n1e400\n4\n", TPD_OUT_OF_RANGE, 5, 1,
         "row 0, column 1 (from 0): '1e400' is out of range for float64"},
        {TPD_CODEC_CSV, TPD_CODEC_JSON, "1\nnan\n", TPD_NONFINITE, 2, 1, "nonfinite=null"},
        {TPD_CODEC_MTX, TPD_CODEC_MTX, "%%MatrixMarket matrix array real general\n1 2\n1\nx\n", TPD_MALFORMED, 4, 1,
         "'x' is no number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_decode_options decode = from_heap();
        struct tpd_encode_options encode = to_heap(TPD_NONFINITE_ERROR);
        struct tpd_encoded answer;
        struct tpd_error error = {0};
        ck_assert_int_eq(codec_road(cases[i].in, cases[i].out, &decode, &encode, cases[i].body, strlen(cases[i].body), 0, NULL,
                                    &answer, &error),
                         cases[i].status);
        ck_assert_msg(strstr(error.text, cases[i].words) != NULL, "'%s'", error.text);
        ck_assert_uint_ne(error.has & TPD_ERROR_HAS_LINE, 0);
        ck_assert_uint_eq(error.line, cases[i].line);
        ck_assert_uint_eq(error.column, cases[i].column);
    }
}
END_TEST

/* The nth allocation fails, n = 1, 2, ... until the way is passed. */
START_TEST(test_starve) {
    static const struct {
        enum tpd_codec_id in;
        const char *body;
    } bodies[] = {{TPD_CODEC_CSV, "1.5,2\n3,4\n"},
                  {TPD_CODEC_TSV, "a\t\"b\"\n3\t\n"},
                  {TPD_CODEC_JSON, "[[1,\"a,\"],[null,3]]"},
                  {TPD_CODEC_MTX, "%%MatrixMarket matrix array real general\n% c\n2 2\n1\n2\n3\n4\n"},
                  {TPD_CODEC_SAFETENSORS,
                   "{\"__metadata__\":{\"k\":\"v\"},\"a\":{\"dtype\":\"U8\",\"shape\":[2,2],\"data_offsets\":[0,4]}}1234"}};
    for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++)
        for (int out = 0; out < TPD_CODEC_COUNT; out++) {
            unsigned char body[256] = {0};
            size_t bytes = strlen(bodies[b].body), front = bodies[b].in == TPD_CODEC_SAFETENSORS ? 8 : 0;
            memcpy(body + front, bodies[b].body, bytes);
            if (front != 0)
                body[0] = (unsigned char)(bytes - 4);
            for (uint64_t nth = 1;; nth++) {
                struct tpd_decode_options decode = from_heap();
                struct tpd_encode_options encode = to_heap(TPD_NONFINITE_ERROR);
                struct tpd_encoded answer;
                struct tpd_error error = {0};
                ck_assert_uint_lt(nth, 100);
                tpd_heap_begin(nth);
                enum tpd_status status = codec_road(bodies[b].in, (enum tpd_codec_id)out, &decode, &encode, body, bytes + front,
                                                    3, NULL, &answer, &error);
                tpd_encoded_release(&answer);
                if (!tpd_heap_end())
                    break;
                ck_assert_int_eq(status, TPD_NO_MEMORY);
            }
        }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("conversions");
    TCase *c = tcase_create("pairs");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_every_pair);
    tcase_add_test(c, test_large_table);
    tcase_add_test(c, test_threads);
    tcase_add_test(c, test_places);
    tcase_add_test(c, test_starve);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
