/* test_engine_run.c -- jobs come back right: many at once, of any shape, from the caller's thread and from workers. */
#include "tests/unit/engine/engine_rig.h"

static struct tpd_error error;

static void receive(struct rig_job *rig, struct tpd_engine *engine) {
    ck_assert_ok(rig_job_receive(rig, tpd_engine_memory(engine), &error), error);
}

START_TEST(inline_job) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine(&config);
    struct rig_job rig;
    rig_job_init(&rig, 33, 31, 2, 4, 1);
    receive(&rig, engine);
    tpd_engine_run(engine, &rig.job);
    ck_assert_int_eq(atomic_load(&rig.done), 1);
    rig_job_good(&rig, "cpu");
    ck_assert_str_eq(rig.job.strategy_name, "blocked");
    ck_assert_uint_eq(rig.job.matrix.rows, 33);
    ck_assert_uint_eq(rig.job.stage_ns[TPD_STAGE_H2D], 2);
    ck_assert_uint_eq(rig.job.stage_ns[TPD_STAGE_KERNEL], 3);
    ck_assert_uint_eq(rig.job.stage_ns[TPD_STAGE_D2H], 4);
    ck_assert_uint_eq(rig.job.stage_ns[TPD_STAGE_QUEUE], 1);
    ck_assert_uint_gt(rig.job.stage_ns[TPD_STAGE_DECODE], 0);
    struct tpd_engine_counts counts;
    tpd_engine_counts(engine, &counts);
    ck_assert_uint_eq(counts.host_used_bytes, rig.bytes); /* the answer alone: the input went back */
    rig_job_fini(&rig);
    rig_engine_end(engine);
}
END_TEST

START_TEST(nothing_to_move) {
    const uint64_t shapes[][3] = {{0, 7, 1}, {7, 0, 3}, {1, 1000, 1}, {1000, 1, 1},
                                  {1, 1, 1}, {5, 7, 0}, {1, 100, 8},  {100, 1, 8}};
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine(&config);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct rig_job rig;
        rig_job_init(&rig, shapes[i][0], shapes[i][1], shapes[i][2], 4, i);
        receive(&rig, engine);
        tpd_engine_run(engine, &rig.job);
        rig_job_good(&rig, "");
        ck_assert_str_eq(rig.job.strategy_name, "relabel");
        ck_assert_uint_eq(rig.job.matrix.rows, shapes[i][0]);
        rig_job_fini(&rig);
    }
    ck_assert_int_eq(atomic_load(&rig_cpu.runs), 0);
    rig_engine_end(engine);
}
END_TEST

struct client {
    struct tpd_engine *engine;
    uint64_t seed;
    int wrong;
};

/* Submits or runs jobs of mixed sizes, and compares every byte. */
static void *client_main(void *argument) {
    struct client *client = argument;
    const uint32_t itemsizes[] = {1, 2, 4, 8, 16, 12};
    for (int i = 0; i < 30; i++) {
        uint64_t rows = tpd_random(&client->seed) % 300, cols = tpd_random(&client->seed) % 300;
        struct rig_job rig;
        struct tpd_error reason;
        rig_job_init(&rig, rows, cols, 1 + tpd_random(&client->seed) % 2, itemsizes[tpd_random(&client->seed) % 6], client->seed);
        if (rig_job_receive(&rig, tpd_engine_memory(client->engine), &reason) != TPD_OK)
            client->wrong++;
        else if (tpd_engine_is_small(client->engine, &rig.job, rig.bytes))
            tpd_engine_run(client->engine, &rig.job);
        else if (tpd_engine_submit(client->engine, &rig.job, &reason) != TPD_OK)
            client->wrong++;
        while (client->wrong == 0 && atomic_load(&rig.done) == 0)
            rig_sleep(50000);
        if (rig.job.status != TPD_OK || rig.job.answer.bytes != rig.bytes ||
            (rig.bytes != 0 && memcmp(rig.job.answer.start, rig.expected, rig.bytes) != 0))
            client->wrong++;
        rig_job_fini(&rig);
    }
    return NULL;
}

static void clients(struct tpd_engine *engine) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    struct client list[THREADS];
    for (int i = 0; i < THREADS; i++) {
        list[i] = (struct client){engine, (uint64_t)i * 77 + 1, 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, client_main, &list[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        ck_assert_int_eq(list[i].wrong, 0);
    }
}

START_TEST(many_at_once) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine(&config);
    clients(engine);
    rig_engine_end(engine);
}
END_TEST

START_TEST(many_at_once_on_two_gpus) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine_gpu(&config, 2);
    rig_gpu.base_ns = 300000;
    clients(engine);
    ck_assert_int_gt(atomic_load(&rig_gpu.runs), 0);
    ck_assert_int_gt(atomic_load(&rig_gpu.peak), 1); /* runs overlap */
    rig_engine_end(engine);
}
END_TEST

/* The same work again takes the same blocks again. */
START_TEST(steady_state_allocates_nothing) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine(&config);
    struct tpd_engine_counts first = {.queued = 0}, now;
    const unsigned char *seen[2] = {NULL, NULL};
    for (int i = 0; i < 12; i++) {
        struct rig_job rig;
        rig_job_init(&rig, 1024, 700, 1, 4, (uint64_t)i);
        receive(&rig, engine);
        ck_assert_ok(tpd_engine_submit(engine, &rig.job, &error), error);
        rig_job_wait(&rig);
        rig_job_good(&rig, "cpu");
        const unsigned char *at = rig.job.answer.start;
        if (i < 2)
            seen[i] = at;
        else
            ck_assert(at == seen[0] || at == seen[1]);
        rig_job_fini(&rig);
        ck_assert(tpd_engine_wait_idle(engine, 1000000000));
        tpd_engine_counts(engine, &now);
        if (i == 0)
            first = now;
        ck_assert_uint_eq(now.host_cached_bytes, first.host_cached_bytes);
    }
    rig_engine_end(engine);
}
END_TEST

START_TEST(small_is_what_the_cpu_does) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine(&config);
    struct tpd_job job;
    tpd_job_init(&job);
    ck_assert(tpd_engine_is_small(engine, &job, 4096));
    ck_assert(!tpd_engine_is_small(engine, &job, (64 << 10) + 1));
    rig_crossover(engine, 2048);
    ck_assert(!tpd_engine_is_small(engine, &job, 4096));
    ck_assert(tpd_engine_is_small(engine, &job, 2047));
    (void)snprintf(job.device, sizeof job.device, "cpu");
    ck_assert(tpd_engine_is_small(engine, &job, 4096));
    (void)snprintf(job.device, sizeof job.device, "simt");
    ck_assert(!tpd_engine_is_small(engine, &job, 16));
    rig_engine_end(engine);
}
END_TEST

START_TEST(stages_have_names) {
    const char *names[] = {"receive", "decode", "queue", "h2d", "kernel", "d2h", "encode"};
    for (int i = 0; i < TPD_STAGE_COUNT; i++)
        ck_assert_str_eq(tpd_stage_name((enum tpd_stage)i), names[i]);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("engine_run");
    TCase *tests = tcase_create("engine_run");
    tcase_set_timeout(tests, 120); /* a debug build under a sanitizer, on a busy machine */
    tcase_add_checked_fixture(tests, rig_reset, NULL);
    tcase_add_test(tests, inline_job);
    tcase_add_test(tests, nothing_to_move);
    tcase_add_test(tests, many_at_once);
    tcase_add_test(tests, many_at_once_on_two_gpus);
    tcase_add_test(tests, steady_state_allocates_nothing);
    tcase_add_test(tests, small_is_what_the_cpu_does);
    tcase_add_test(tests, stages_have_names);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
