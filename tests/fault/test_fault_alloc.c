/* test_fault_alloc.c -- decode, transpose, encode with the Nth allocation failing, N = 1, 2, 3 ... until none does:
 * every failure is told as such, leaks nothing, and no answer is ever wrong. */
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "transposed/config.h"
#include "transposed/engine.h"
#include "transposed/transposed.h"

enum { ROWS = 5, COLS = 7, BODY_MOST = 4096, NTH_MOST = 5000 };

/* What is sent, what is asked for, and the answer of a run without failures. */
struct exchange {
    enum tpd_codec_id in, out;
    unsigned char body[BODY_MOST], answer[BODY_MOST];
    size_t body_bytes, answer_bytes;
};

static void on_done(struct tpd_job *job) {
    *(int *)job->owner += 1;
}

static struct tpd_decode_options options_of(const struct exchange *exchange, struct tpd_engine *engine) {
    bool raw = exchange->in == TPD_CODEC_RAW;
    return (struct tpd_decode_options){.has_rows = raw,
                                       .has_cols = raw,
                                       .rows = ROWS,
                                       .cols = COLS,
                                       .has_content_bytes = true,
                                       .content_bytes = exchange->body_bytes,
                                       .body_most_bytes = BODY_MOST,
                                       .memory = tpd_engine_memory(engine)};
}

/* One life of an engine with one job in it, sent in two pieces. */
static enum tpd_status live(const struct tpd_config *config, const struct exchange *exchange, bool handed_over,
                            unsigned char *answer, size_t *answer_bytes) {
    struct tpd_engine *engine = NULL;
    struct tpd_error error;
    struct tpd_job job;
    int done = 0;
    enum tpd_status status = tpd_engine_create(config, &engine, &error);
    if (status != TPD_OK)
        return status;
    tpd_job_init(&job);
    job.format_in = exchange->in;
    job.format_out = exchange->out;
    job.encode.memory = tpd_engine_memory(engine);
    job.done = on_done;
    job.owner = &done;
    const struct tpd_codec_ops *codec = tpd_codec_at(exchange->in);
    struct tpd_decode_options options = options_of(exchange, engine);
    size_t half = exchange->body_bytes / 2;
    status = codec->open(&options, &job.decoder, &error);
    if (status == TPD_OK)
        status = codec->push(job.decoder, exchange->body, half, &error);
    if (status == TPD_OK)
        status = codec->push(job.decoder, exchange->body + half, exchange->body_bytes - half, &error);
    if (status == TPD_OK) {
        if (handed_over) {
            ck_assert_ok(tpd_engine_submit(engine, &job, &error), error);
            ck_assert(tpd_engine_wait_idle(engine, 20000000000u));
        } else
            tpd_engine_run(engine, &job);
        ck_assert_int_eq(done, 1);
        status = job.status;
        error = job.error;
    }
    ck_assert_msg(status == TPD_OK || error.text[0] != '\0', "%s without a word", tpd_status_slug(status));
    if (status == TPD_OK) {
        ck_assert_uint_le(job.answer.bytes, BODY_MOST);
        memcpy(answer, job.answer.start, job.answer.bytes);
        *answer_bytes = job.answer.bytes;
    }
    tpd_job_fini(&job);
    struct tpd_engine_counts counts;
    tpd_engine_counts(engine, &counts);
    ck_assert_uint_eq(counts.host_used_bytes, 0);
    tpd_engine_destroy(engine);
    return status;
}

static void loop(struct exchange *exchange, bool handed_over) {
    struct tpd_config config;
    tpd_config_defaults(&config);
    config.host_memory_bytes = 64 << 20;
    (void)snprintf(config.devices, sizeof config.devices, "none");
    tpd_heap_begin(0);
    ck_assert_int_eq(live(&config, exchange, handed_over, exchange->answer, &exchange->answer_bytes), TPD_OK);
    (void)tpd_heap_end();
    ck_assert_uint_gt(exchange->answer_bytes, 0);
    int failures = 0;
    for (uint64_t nth = 1;; nth++) {
        unsigned char answer[BODY_MOST];
        size_t answer_bytes = 0;
        ck_assert_uint_lt(nth, NTH_MOST);
        tpd_heap_begin(nth);
        enum tpd_status status = live(&config, exchange, handed_over, answer, &answer_bytes);
        bool failed = tpd_heap_end();
        ck_assert_msg(status == TPD_OK || (failed && status == TPD_NO_MEMORY), "allocation %llu failed and the job ended with %s",
                      (unsigned long long)nth, tpd_status_slug(status));
        if (status == TPD_OK) {
            ck_assert_uint_eq(answer_bytes, exchange->answer_bytes);
            ck_assert_int_eq(memcmp(answer, exchange->answer, answer_bytes), 0);
        }
        failures += status != TPD_OK;
        if (!failed)
            break;
    }
    ck_assert_int_gt(failures, 2); /* an engine, a decoder and a block at least */
}

static void fill_raw(struct exchange *exchange, uint64_t seed) {
    exchange->in = TPD_CODEC_RAW;
    exchange->body_bytes = ROWS * COLS * 4;
    uint64_t state = seed;
    for (int i = 0; i < ROWS * COLS; i++) { /* finite, so that JSON can say them */
        float item = (float)(int32_t)tpd_random(&state) / 1024.0f;
        memcpy(exchange->body + 4 * i, &item, 4);
    }
}

static void fill_npy(struct exchange *exchange, uint64_t seed) {
    unsigned char items[BODY_MOST];
    fill_raw(exchange, seed);
    memcpy(items, exchange->body, exchange->body_bytes);
    exchange->in = TPD_CODEC_NPY;
    memcpy(exchange->body, "\x93NUMPY\x01\x00\x76\x00", 10);
    int length =
        snprintf((char *)exchange->body + 10, 119, "%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 7), }");
    ck_assert_int_eq(length, 118);
    memcpy(exchange->body + 128, items, exchange->body_bytes);
    exchange->body_bytes += 128;
}

static void fill_json(struct exchange *exchange, uint64_t seed) {
    char *at = (char *)exchange->body;
    exchange->in = TPD_CODEC_JSON;
    at += sprintf(at, "{\"data\": [");
    for (int i = 0; i < ROWS; i++) {
        at += sprintf(at, "%s[", i == 0 ? "" : ",");
        for (int j = 0; j < COLS; j++)
            at += sprintf(at, "%s%lld.50", j == 0 ? "" : ", ", (long long)(tpd_random(&seed) % 100000));
        at += sprintf(at, "]");
    }
    at += sprintf(at, "]}");
    exchange->body_bytes = (size_t)(at - (char *)exchange->body);
}

static void (*const fills[])(struct exchange *, uint64_t) = {fill_raw, fill_npy, fill_json};
static const enum tpd_codec_id outs[] = {TPD_CODEC_RAW, TPD_CODEC_NPY, TPD_CODEC_JSON};

/* Every format into every format. */
START_TEST(here) {
    struct exchange exchange = {.out = outs[_i % 3]};
    fills[_i / 3](&exchange, (uint64_t)_i + 1);
    loop(&exchange, false);
    if (exchange.in == TPD_CODEC_RAW && exchange.out == TPD_CODEC_RAW) {
        struct tpd_matrix matrix = {.rows = ROWS, .cols = COLS, .batch = 1, .itemsize = 4, .dtype = TPD_DTYPE_FLOAT32};
        unsigned char expected[BODY_MOST];
        tpd_transpose_ref(&matrix, exchange.body, expected);
        ck_assert_int_eq(memcmp(exchange.answer, expected, exchange.body_bytes), 0);
    }
}
END_TEST

START_TEST(handed_over) {
    struct exchange exchange = {.out = TPD_CODEC_JSON};
    fill_json(&exchange, 42);
    loop(&exchange, true);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("fault_alloc");
    TCase *tests = tcase_create("fault_alloc");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, here, 0, 9);
    tcase_add_test(tests, handed_over);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
