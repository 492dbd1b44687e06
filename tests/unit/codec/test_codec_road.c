/* test_codec_road.c -- whole ways through the codecs: random matrices, every dtype, pieces, failing memory, limits. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "server/codec/number.h"
#include "tests/unit/codec/road_options.h"

static const size_t pieces[] = {0, 1, 7, 4096};
static const struct {
    uint64_t batch, rows, cols;
} shapes[] = {{1, 3, 5}, {1, 1, 7}, {1, 6, 1}, {2, 3, 4}, {1, 17, 33}, {3, 1, 1}};

/* raw -> npy -> JSON -> raw with a transpose each: three of them are one. NaN payloads do not pass through text, so no NaN. */
static void chain(enum tpd_dtype dtype, uint64_t batch, uint64_t rows, uint64_t cols, uint64_t seed) {
    struct tpd_matrix matrix = {rows, cols, batch, tpd_dtype_itemsize(dtype), dtype}, after;
    struct tpd_error error = {0};
    uint64_t bytes;
    ck_assert_ok(tpd_matrix_bytes(&matrix, &bytes, &error), error);
    struct tpd_guarded in = tpd_guarded_make((size_t)bytes, 1), wanted = tpd_guarded_make((size_t)bytes, 0);
    for (uint64_t at = 0; at < bytes; at += matrix.itemsize) {
        char text[TPD_NUMBER_TEXT_MOST];
        do
            tpd_random_fill(in.data + at, matrix.itemsize, seed++);
        while (tpd_number_write(TPD_SPELLING_JSON, dtype, in.data + at, TPD_NONFINITE_ERROR, text) == 0);
        if (dtype == TPD_DTYPE_BOOL)
            in.data[at] &= 1;
    }
    tpd_transpose_ref(&matrix, in.data, wanted.data);
    for (size_t p = 0; p < 4; p++) {
        struct tpd_decode_options decode = from_heap(), plain = from_heap();
        struct tpd_encode_options encode = to_heap(TPD_NONFINITE_STRING);
        struct tpd_encoded npy, json, raw;
        decode.has_rows = decode.has_cols = decode.has_batch = decode.has_dtype = true;
        decode.rows = rows;
        decode.cols = cols;
        decode.batch = batch;
        decode.dtype = dtype;
        ck_assert_ok(codec_road(TPD_CODEC_RAW, TPD_CODEC_NPY, &decode, &encode, in.data, bytes, pieces[p], &after, &npy, &error),
                     error);
        ck_assert_uint_eq(after.rows, cols);
        ck_assert_uint_eq(npy.bytes % 64, bytes % 64);
        ck_assert_mem_eq(npy.start + npy.bytes - bytes, wanted.data, bytes);
        plain.has_dtype = encode.has_dtype = true;
        plain.dtype = encode.dtype = dtype;
        ck_assert_ok(
            codec_road(TPD_CODEC_NPY, TPD_CODEC_JSON, &plain, &encode, npy.start, npy.bytes, pieces[p], &after, &json, &error),
            error);
        ck_assert_uint_eq(after.rows, rows);
        ck_assert_ok(
            codec_road(TPD_CODEC_JSON, TPD_CODEC_RAW, &plain, &encode, json.start, json.bytes, pieces[p], &after, &raw, &error),
            error);
        ck_assert_uint_eq(after.rows, cols);
        ck_assert_uint_eq(after.batch, batch);
        ck_assert_uint_eq(raw.bytes, bytes);
        ck_assert_mem_eq(raw.start, wanted.data, bytes);
        tpd_encoded_release(&npy);
        tpd_encoded_release(&json);
        tpd_encoded_release(&raw);
    }
    tpd_guarded_check(&in);
    tpd_guarded_free(&in);
    tpd_guarded_free(&wanted);
}

START_TEST(test_chain) {
    for (int dtype = 0; dtype < TPD_DTYPE_OPAQUE; dtype++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            chain((enum tpd_dtype)dtype, shapes[s].batch, shapes[s].rows, shapes[s].cols, (uint64_t)dtype * 1000003 + s);
}
END_TEST

/* Random cells of every kind, spread by random white space, against the same cells written plainly the other way round. */
START_TEST(test_json_random) {
    static const char *const kinds[] = {"0",
                                        "-0",
                                        "1.10",
                                        "12345678901234567890123",
                                        "1e400",
                                        "-2.5E-7",
                                        "true",
                                        "false",
                                        "null",
                                        "\"\"",
                                        "\"a,b]\"",
                                        "\"\\\"\\\\\\u00e9\"",
                                        "\"\xce\xb1\xe2\x82\xac\xf0\x9f\x98\x80\"",
                                        "\"a long string, longer than one word of sixteen\""};
    static const char *const spaces[] = {"", "", "", " ", "\n", "\r\n\t  "};
    uint64_t state = 3;
    for (int round = 0; round < 300; round++) {
        uint64_t rows = 1 + tpd_random(&state) % 9, cols = 1 + tpd_random(&state) % 9;
        char *text = malloc(100 * 81 + 1000), *wanted = malloc(100 * 81 + 1000), *at = text, *to = wanted;
        const char *cells[81];
#define SPACE() at = stpcpy(at, spaces[tpd_random(&state) % 6])
        for (uint64_t r = 0; r < rows; r++)
            for (uint64_t c = 0; c < cols; c++) {
                SPACE();
                at = stpcpy(at, c == 0 ? r == 0 ? "[[" : ",[" : ",");
                SPACE();
                cells[r * cols + c] = kinds[tpd_random(&state) % 14];
                at = stpcpy(at, cells[r * cols + c]);
                SPACE();
                if (c == cols - 1)
                    at = stpcpy(at, r == rows - 1 ? "]]" : "]");
            }
        SPACE();
        for (uint64_t c = 0; c < cols; c++)
            for (uint64_t r = 0; r < rows; r++) {
                to = stpcpy(to, r == 0 ? c == 0 ? "[[" : ",[" : ",");
                to = stpcpy(to, cells[r * cols + c]);
                if (r == rows - 1)
                    to = stpcpy(to, c == cols - 1 ? "]]" : "]");
            }
        struct tpd_decode_options decode = from_heap();
        struct tpd_encode_options encode = to_heap(TPD_NONFINITE_STRING);
        struct tpd_encoded answer;
        struct tpd_error error = {0};
        ck_assert_ok(codec_road(TPD_CODEC_JSON, TPD_CODEC_JSON, &decode, &encode, text, (size_t)(at - text), pieces[round % 4],
                                NULL, &answer, &error),
                     error);
        ck_assert_uint_eq(answer.bytes, (size_t)(to - wanted));
        ck_assert_mem_eq(answer.start, wanted, answer.bytes);
        tpd_encoded_release(&answer);
        /* Cut anywhere, it is refused. */
        size_t cut = tpd_random(&state) % (strrchr(text, ']') - text);
        ck_assert_int_ne(codec_road(TPD_CODEC_JSON, TPD_CODEC_JSON, &decode, &encode, text, cut, 0, NULL, &answer, &error),
                         TPD_OK);
        free(text);
        free(wanted);
    }
}
END_TEST

/* The nth allocation fails, n = 1, 2, ... until the way is passed: always TPD_NO_MEMORY, and nothing is held. */
static void starve(enum tpd_codec_id in, enum tpd_codec_id out, const struct tpd_decode_options *decode, const void *body,
                   size_t bytes) {
    struct tpd_encode_options encode = to_heap(TPD_NONFINITE_STRING);
    for (uint64_t nth = 1;; nth++) {
        struct tpd_encoded answer;
        struct tpd_error error = {0};
        ck_assert_uint_lt(nth, 100);
        tpd_heap_begin(nth);
        enum tpd_status status = codec_road(in, out, decode, &encode, body, bytes, 1000, NULL, &answer, &error);
        tpd_encoded_release(&answer);
        if (!tpd_heap_end()) {
            ck_assert_ok(status, error);
            ck_assert_uint_gt(nth, 3);
            return;
        }
        ck_assert_int_eq(status, TPD_NO_MEMORY);
        ck_assert_int_eq(error.status, TPD_NO_MEMORY);
    }
}

START_TEST(test_starve) {
    struct tpd_decode_options plain = from_heap(), shaped = from_heap();
    struct tpd_encode_options encode = to_heap(TPD_NONFINITE_STRING);
    struct tpd_encoded npy, json;
    struct tpd_error error = {0};
    shaped.has_rows = shaped.has_cols = true;
    shaped.rows = 211;
    shaped.cols = 97;
    static unsigned char raw[211 * 97 * 4];
    tpd_random_fill(raw, sizeof raw, 1);
    for (size_t i = 3; i < sizeof raw; i += 4)
        raw[i] &= 0x3f; /* finite */
    ck_assert_ok(codec_road(TPD_CODEC_RAW, TPD_CODEC_NPY, &shaped, &encode, raw, sizeof raw, 0, NULL, &npy, &error), error);
    ck_assert_ok(codec_road(TPD_CODEC_RAW, TPD_CODEC_JSON, &shaped, &encode, raw, sizeof raw, 0, NULL, &json, &error), error);
    for (int out = 0; out < TPD_CODEC_COUNT; out++) {
        starve(TPD_CODEC_RAW, (enum tpd_codec_id)out, &shaped, raw, sizeof raw);
        starve(TPD_CODEC_NPY, (enum tpd_codec_id)out, &plain, npy.start, npy.bytes);
        starve(TPD_CODEC_JSON, (enum tpd_codec_id)out, &plain, json.start, json.bytes);
    }
    tpd_encoded_release(&npy);
    tpd_encoded_release(&json);
}
END_TEST

START_TEST(test_limits) {
    struct tpd_decode_options decode = from_heap();
    struct tpd_encode_options encode = to_heap(TPD_NONFINITE_STRING);
    struct tpd_encoded answer;
    struct tpd_error error = {0};
    /* A cell of just the most text there may be, and one more. */
    size_t most = TPD_CELL_BYTES_MOST;
    char *text = malloc(most + 16);
    for (size_t more = 0; more < 2; more++) {
        memset(text, '1', most + more + 2);
        memcpy(text, "[[", 2);
        memcpy(text + 2 + most + more, "]]", 2);
        enum tpd_status status =
            codec_road(TPD_CODEC_JSON, TPD_CODEC_JSON, &decode, &encode, text, most + more + 4, 0, NULL, &answer, &error);
        ck_assert_int_eq(status, more == 0 ? TPD_OK : TPD_TOO_LARGE);
        if (status == TPD_OK)
            ck_assert_mem_eq(answer.start, text, answer.bytes);
        tpd_encoded_release(&answer);
    }
    /* Brackets alone: refused at the fifth, whatever follows. */
    memset(text, '[', most);
    ck_assert_int_eq(codec_road(TPD_CODEC_JSON, TPD_CODEC_JSON, &decode, &encode, text, most, 0, NULL, &answer, &error),
                     TPD_MALFORMED);
    ck_assert_uint_eq(error.offset, 4);
    free(text);
    /* Text beyond the offset of a cell: before its first byte. */
    for (enum tpd_codec_id id = 0; id < TPD_CODEC_COUNT; id++) {
        struct tpd_decode_options huge = from_heap();
        struct tpd_decoder *decoder;
        huge.body_most_bytes = (uint64_t)1 << 50;
        huge.has_content_bytes = true;
        huge.content_bytes = ((uint64_t)1 << 40) + 1;
        if (!tpd_codec_at(id)->text)
            continue;
        ck_assert_int_eq(tpd_codec_at(id)->open(&huge, &decoder, &error), TPD_TOO_LARGE);
        ck_assert_uint_eq(error.limit, (uint64_t)1 << 40);
        ck_assert_uint_eq(error.actual, huge.content_bytes);
        ck_assert_ptr_null(decoder);
    }
    /* Rows without items, more than any text could show. */
    decode.has_rows = decode.has_cols = true;
    decode.rows = 0;
    decode.cols = (uint64_t)1 << 62;
    ck_assert_int_eq(codec_road(TPD_CODEC_RAW, TPD_CODEC_JSON, &decode, &encode, "", 0, 0, NULL, &answer, &error), TPD_TOO_LARGE);
    struct tpd_matrix matrix;
    ck_assert_ok(codec_road(TPD_CODEC_RAW, TPD_CODEC_NPY, &decode, &encode, "", 0, 0, &matrix, &answer, &error), error);
    ck_assert_uint_eq(matrix.rows, (uint64_t)1 << 62);
    decode.has_rows = decode.has_cols = false;
    struct tpd_encoded again;
    ck_assert_ok(
        codec_road(TPD_CODEC_NPY, TPD_CODEC_NPY, &decode, &encode, answer.start, answer.bytes, 0, &matrix, &again, &error),
        error);
    ck_assert_uint_eq(matrix.rows, 0);
    tpd_encoded_release(&answer);
    tpd_encoded_release(&again);
}
END_TEST

/* The block that came is the block that leaves: no copy on the binary road. */
START_TEST(test_no_copy) {
    struct tpd_decode_options decode = from_heap();
    struct tpd_encode_options encode = to_heap(TPD_NONFINITE_STRING);
    struct tpd_payload payload;
    struct tpd_encoded answer;
    struct tpd_error error = {0};
    decode.has_rows = decode.has_cols = true;
    decode.rows = 3;
    decode.cols = 4;
    unsigned char body[48];
    tpd_random_fill(body, sizeof body, 2);
    ck_assert_ok(codec_road_decode(TPD_CODEC_RAW, &decode, body, sizeof body, 0, &payload, &error), error);
    const unsigned char *data = payload.items.data;
    ck_assert_ok(tpd_payload_convert(&payload, TPD_CODEC_NPY, &encode, &error), error);
    ck_assert_ok(tpd_codec_at(TPD_CODEC_NPY)->encode(&payload, &encode, &answer, &error), error);
    ck_assert_ptr_null(payload.items.data);
    ck_assert_ptr_eq(answer.block.data, data);
    ck_assert_ptr_eq(answer.start, data - 128);
    tpd_encoded_release(&answer);
    ck_assert_ptr_null(answer.start);
    tpd_payload_release(&payload);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("codec_road");
    TCase *c = tcase_create("road");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_chain);
    tcase_add_test(c, test_json_random);
    tcase_add_test(c, test_starve);
    tcase_add_test(c, test_limits);
    tcase_add_test(c, test_no_copy);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
