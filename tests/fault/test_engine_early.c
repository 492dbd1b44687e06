/* test_engine_early.c -- bodies that are worked on while they arrive, through the engine and the CUDA back end on the fake GPU:
 * the oracle's bytes however the body comes, and nothing kept whatever breaks off when. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_rig.h"
#include "server/engine/engine_internal.h"
#include "transposed/clock.h"

enum { CODE_INVALID = 1, CODE_ADDRESS = 700 };

static struct tpd_config config;
static uint64_t state = 5;

static uint64_t below(uint64_t most) {
    return tpd_random(&state) % most;
}

static struct tpd_engine *open_engine(enum tpd_on_device_loss loss) {
    struct tpd_engine *engine = NULL;
    struct tpd_error error;
    fake_cuda_reset(UINT64_C(8) << 20, 0, 0);
    tpd_config_defaults(&config);
    config.host_memory_bytes = UINT64_C(64) << 20;
    config.on_device_loss = loss;
    config.tune = TPD_TUNE_OFF; /* and nothing is written to the cache of who runs the tests */
    const struct tpd_backend *backends[TPD_BACKEND_COUNT] = {
        [TPD_BACKEND_CUDA] = &tpd_backend_cuda, [TPD_BACKEND_CPU] = tpd_backend_at(TPD_BACKEND_CPU)};
    ck_assert_ok(tpd_engine_create_with(&config, backends, &engine, &error), error);
    for (int size = 0; size < TPD_TUNING_SIZES; size++)
        engine->crossover_bytes[size] = 1; /* `auto` takes the GPU from the first byte on */
    return engine;
}

static void close_engine(struct tpd_engine *engine) {
    struct tpd_engine_counts counts;
    ck_assert(tpd_engine_wait_idle(engine, 20000000000u));
    for (int i = 0; i < 5000; i++) { /* what was abandoned goes back when the device has done with it */
        tpd_engine_counts(engine, &counts);
        if (counts.host_used_bytes == 0)
            break;
        (void)nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    ck_assert_uint_eq(counts.host_used_bytes, 0);
    tpd_engine_destroy(engine);
    ck_assert_msg(fake_cuda_mistakes() == 0, "%s", fake_cuda_mistake());
    ck_assert_uint_eq(fake_cuda_held(), 0);
}

struct body {
    struct tpd_job job; /* first */
    struct tpd_engine *engine;
    struct tpd_matrix matrix;
    size_t bytes, sent;
    unsigned char *in, *expected;
    atomic_int done;
};

static void body_done(struct tpd_job *job) {
    (void)atomic_fetch_add(&((struct body *)(void *)job)->done, 1);
}

static void body_begin(struct body *body, struct tpd_engine *engine, struct tpd_matrix matrix) {
    struct tpd_error error;
    memset(body, 0, sizeof *body);
    body->engine = engine;
    body->matrix = matrix;
    body->bytes = (size_t)(matrix.rows * matrix.cols * matrix.batch * matrix.itemsize);
    body->in = malloc(body->bytes);
    body->expected = malloc(body->bytes);
    if (body->in == NULL || body->expected == NULL)
        abort();
    tpd_random_fill(body->in, body->bytes, below(1000));
    tpd_transpose_ref(&matrix, body->in, body->expected);
    tpd_job_init(&body->job);
    body->job.format_in = body->job.format_out = TPD_CODEC_RAW;
    body->job.done = body_done;
    struct tpd_memory *memory = tpd_engine_job_memory(engine, &body->job);
    struct tpd_decode_options options = {.has_rows = true,
                                         .has_cols = true,
                                         .has_batch = true,
                                         .has_itemsize = true,
                                         .rows = matrix.rows,
                                         .cols = matrix.cols,
                                         .batch = matrix.batch,
                                         .itemsize = matrix.itemsize,
                                         .has_content_bytes = true,
                                         .content_bytes = body->bytes,
                                         .body_most_bytes = (uint64_t)1 << 40,
                                         .memory = memory};
    body->job.encode.memory = memory;
    ck_assert_ok(tpd_codec_at(TPD_CODEC_RAW)->open(&options, &body->job.decoder, &error), error);
}

/* Pieces of up to most bytes, until that many were sent in all. */
static void body_send(struct body *body, size_t upto, size_t most) {
    struct tpd_error error;
    while (body->sent < upto) {
        size_t count = 1 + (size_t)below(most);
        count = count < upto - body->sent ? count : upto - body->sent;
        ck_assert_ok(tpd_codec_at(TPD_CODEC_RAW)->push(body->job.decoder, body->in + body->sent, count, &error), error);
        body->sent += count;
        tpd_engine_arrive(body->engine, &body->job);
    }
}

static void body_submit(struct body *body) {
    struct tpd_error error;
    ck_assert_ok(tpd_engine_submit(body->engine, &body->job, &error), error);
    for (int i = 0; i < 100000 && atomic_load(&body->done) == 0; i++)
        (void)nanosleep(&(struct timespec){0, 200000}, NULL);
    ck_assert_int_eq(atomic_load(&body->done), 1);
}

static void body_good(struct body *body, const char *device) {
    ck_assert_msg(body->job.status == TPD_OK, "%s: %s", tpd_status_slug(body->job.status), body->job.error.text);
    ck_assert_str_eq(body->job.device_id, device);
    ck_assert_uint_eq(body->job.answer.bytes, body->bytes);
    ck_assert(memcmp(body->job.answer.start, body->expected, body->bytes) == 0);
}

static void body_end(struct body *body) {
    tpd_job_fini(&body->job);
    free(body->in);
    free(body->expected);
}

static const struct tpd_matrix large = {1024, 1100, 1, 4, TPD_DTYPE_OPAQUE};

START_TEST(bodies_that_arrive_in_pieces) {
    static const struct tpd_matrix matrices[] = {{1024, 1100, 1, 4, TPD_DTYPE_OPAQUE},
                                                 {1500, 1001, 1, 3, TPD_DTYPE_OPAQUE},
                                                 {20, 30, 2000, 4, TPD_DTYPE_OPAQUE},
                                                 {450, 500, 3, 8, TPD_DTYPE_OPAQUE},
                                                 {600000, 3, 1, 4, TPD_DTYPE_OPAQUE}};
    struct tpd_engine *engine = open_engine(TPD_LOSS_CPU);
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++) {
        struct body body;
        body_begin(&body, engine, matrices[i]);
        body_send(&body, body.bytes, 300000);
        ck_assert_ptr_nonnull(body.job.early);
        body_submit(&body);
        ck_assert_ptr_null(body.job.early);
        body_good(&body, "cuda:0");
        ck_assert_uint_gt(body.job.stage_ns[TPD_STAGE_H2D], 250000); /* of more than one panel */
        ck_assert_uint_gt(body.job.stage_ns[TPD_STAGE_KERNEL], 250000);
        body_end(&body);
    }
    close_engine(engine);
}
END_TEST

/* Small ones, few long rows, a wish for the CPU: nothing begins, and all is as it was. */
START_TEST(what_does_not_begin_early) {
    static const struct tpd_matrix matrices[] = {
        {100, 100, 1, 4, TPD_DTYPE_OPAQUE}, {3, 600000, 1, 4, TPD_DTYPE_OPAQUE}, {1, 3000000, 1, 4, TPD_DTYPE_OPAQUE}};
    struct tpd_engine *engine = open_engine(TPD_LOSS_CPU);
    for (size_t i = 0; i <= sizeof matrices / sizeof matrices[0]; i++) {
        const bool by_cpu = i == sizeof matrices / sizeof matrices[0];
        struct body body;
        body_begin(&body, engine, by_cpu ? large : matrices[i]);
        if (by_cpu)
            memcpy(body.job.device, "cpu", sizeof "cpu");
        body_send(&body, body.bytes, 300000);
        ck_assert_ptr_null(body.job.early);
        body_submit(&body);
        body_good(&body, by_cpu ? "cpu" : i == 2 ? "" : "cuda:0");
        body_end(&body);
    }
    close_engine(engine);
}
END_TEST

START_TEST(clients_that_leave) {
    struct tpd_engine *engine = open_engine(TPD_LOSS_CPU);
    for (int i = 0; i < 15; i++) {
        struct body body;
        body_begin(&body, engine, large);
        body_send(&body, 1 + (size_t)below(body.bytes), 500000);
        body_end(&body);
    }
    /* The seat is free again. */
    struct body body;
    (void)nanosleep(&(struct timespec){0, 200000000}, NULL);
    body_begin(&body, engine, large);
    body_send(&body, body.bytes, 300000);
    ck_assert_ptr_nonnull(body.job.early);
    body_submit(&body);
    body_good(&body, "cuda:0");
    body_end(&body);
    close_engine(engine);
}
END_TEST

START_TEST(a_slow_client) {
    struct tpd_engine *engine = open_engine(TPD_LOSS_CPU);
    struct body slow, quick;
    body_begin(&slow, engine, large);
    body_send(&slow, slow.bytes / 2, 300000);
    ck_assert_ptr_nonnull(slow.job.early);
    (void)nanosleep(&(struct timespec){0, 400000000}, NULL);
    /* Its seat was given up meanwhile. */
    body_begin(&quick, engine, large);
    body_send(&quick, quick.bytes, 300000);
    ck_assert_ptr_nonnull(quick.job.early);
    body_submit(&quick);
    body_good(&quick, "cuda:0");
    body_send(&slow, slow.bytes, 300000);
    body_submit(&slow);
    body_good(&slow, "cuda:0");
    body_end(&slow);
    body_end(&quick);
    close_engine(engine);
}
END_TEST

START_TEST(two_at_once) {
    struct tpd_engine *engine = open_engine(TPD_LOSS_CPU);
    struct body first, second;
    body_begin(&first, engine, large);
    body_begin(&second, engine, large);
    body_send(&first, 1000000, 300000);
    body_send(&second, 1000000, 300000);
    ck_assert_ptr_nonnull(first.job.early);
    ck_assert_ptr_null(second.job.early);
    body_send(&second, second.bytes, 300000);
    body_submit(&second);
    body_good(&second, "cuda:0");
    body_send(&first, first.bytes, 300000);
    body_submit(&first);
    body_good(&first, "cuda:0");
    body_end(&first);
    body_end(&second);
    close_engine(engine);
}
END_TEST

/* The nth call from the body's beginning on fails: a fault is made good by doing it anew, a loss by the CPU or not at all. */
static bool one_fault(uint64_t nth, int code, enum tpd_on_device_loss loss) {
    struct tpd_engine *engine = open_engine(loss);
    struct body body;
    fake_cuda_fail(nth, code);
    body_begin(&body, engine, (struct tpd_matrix){1024, 1024, 1, 4, TPD_DTYPE_OPAQUE});
    body_send(&body, body.bytes, 200000);
    body_submit(&body);
    bool failed = fake_cuda_failed();
    if (failed && body.job.status != TPD_OK) {
        ck_assert_int_eq(body.job.status, TPD_DEVICE_FAULT);
        ck_assert(code == CODE_INVALID ? body.job.error.text[0] != '\0' : loss == TPD_LOSS_EXIT);
    } else {
        body_good(&body, failed && code == CODE_ADDRESS ? "cpu" : "cuda:0");
    }
    ck_assert(tpd_engine_is_fit(engine) || (failed && loss == TPD_LOSS_EXIT));
    body_end(&body);
    close_engine(engine);
    return failed;
}

START_TEST(calls_that_fail) {
    const int code = _i == 0 ? CODE_INVALID : CODE_ADDRESS;
    uint64_t nth = 1;
    while (one_fault(nth, code, _i == 2 ? TPD_LOSS_EXIT : TPD_LOSS_CPU)) {
        nth += 47; /* an engine is opened each time */
        ck_assert_uint_lt(nth, 1000);
    }
    ck_assert_uint_gt(nth, 30);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("engine_early");
    TCase *tests = tcase_create("fake device");
    tcase_add_checked_fixture(tests, use_fake, NULL);
    tcase_set_timeout(tests, 180);
    tcase_add_test(tests, bodies_that_arrive_in_pieces);
    tcase_add_test(tests, what_does_not_begin_early);
    tcase_add_test(tests, clients_that_leave);
    tcase_add_test(tests, a_slow_client);
    tcase_add_test(tests, two_at_once);
    tcase_add_loop_test(tests, calls_that_fail, 0, 3);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return tpd_harness_main(suite());
}
