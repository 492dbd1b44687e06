/* test_engine_life.c -- what goes wrong in a life: full queues and budgets, deadlines, draining, devices that die. */
#include "tests/unit/engine/engine_rig.h"

static struct tpd_error error;

/* n jobs of 64 x 64 float32, received. */
static void make_jobs_in(struct rig_job *rigs, int n, struct tpd_memory *memory) {
    for (int i = 0; i < n; i++) {
        rig_job_init(&rigs[i], 64, 64, 1, 4, (uint64_t)i + 1);
        ck_assert_ok(rig_job_receive(&rigs[i], memory, &error), error);
    }
}

static void make_jobs(struct rig_job *rigs, int n, struct tpd_engine *engine) {
    make_jobs_in(rigs, n, tpd_engine_memory(engine));
}

/* Those of the line where every job begins. */
static uint32_t cpu_workers(const struct tpd_engine *engine) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < engine->worker_count; i++)
        count += engine->workers[i].line == 0;
    return count;
}

/* Workers that hang in the device, so that what comes next stays queued. */
static uint32_t shut_workers(struct tpd_engine *engine, struct rig_job *rigs, struct tpd_memory *memory) {
    atomic_store(&rig_cpu.shut, true);
    make_jobs_in(rigs, (int)cpu_workers(engine), memory);
    for (uint32_t i = 0; i < cpu_workers(engine); i++)
        ck_assert_ok(tpd_engine_submit(engine, &rigs[i].job, &error), error);
    while ((uint32_t)atomic_load(&rig_cpu.inside) < cpu_workers(engine))
        rig_sleep(200000);
    return cpu_workers(engine);
}

START_TEST(queue_full) {
    struct tpd_config config = rig_config();
    config.queue_depth = 2;
    struct tpd_engine *engine = rig_engine(&config);
    struct rig_job busy[TPD_ENGINE_WORKERS_MOST], rigs[3];
    /* One at a time: the queue is shorter than the workers are many. */
    atomic_store(&rig_cpu.shut, true);
    make_jobs(busy, (int)cpu_workers(engine), engine);
    for (uint32_t i = 0; i < cpu_workers(engine); i++) {
        ck_assert_ok(tpd_engine_submit(engine, &busy[i].job, &error), error);
        while ((uint32_t)atomic_load(&rig_cpu.inside) <= i)
            rig_sleep(200000);
    }
    make_jobs(rigs, 3, engine);
    ck_assert_ok(tpd_engine_submit(engine, &rigs[0].job, &error), error);
    ck_assert_ok(tpd_engine_submit(engine, &rigs[1].job, &error), error);
    ck_assert_int_eq(tpd_engine_submit(engine, &rigs[2].job, &error), TPD_QUEUE_FULL);
    ck_assert_int_eq(atomic_load(&rigs[2].done), 0);
    struct tpd_engine_counts counts;
    tpd_engine_counts(engine, &counts);
    ck_assert_uint_eq(counts.queued, 2);
    ck_assert_uint_eq(counts.running, cpu_workers(engine));
    atomic_store(&rig_cpu.shut, false);
    rig_job_fini(&rigs[2]); /* still the caller's */
    for (int i = 0; i < 2; i++) {
        rig_job_wait(&rigs[i]);
        rig_job_good(&rigs[i], "cpu");
        rig_job_fini(&rigs[i]);
    }
    for (uint32_t i = 0; i < cpu_workers(engine); i++) {
        rig_job_wait(&busy[i]);
        rig_job_fini(&busy[i]);
    }
    rig_engine_end(engine);
}
END_TEST

/* With every worker busy a queued job still ends when its time is up; its blocks go back. */
START_TEST(deadline_while_all_are_busy) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine(&config);
    struct rig_job busy[TPD_ENGINE_WORKERS_MOST], rigs[2];
    uint32_t n = shut_workers(engine, busy, tpd_engine_memory(engine));
    make_jobs(rigs, 2, engine);
    rigs[0].job.deadline_ns = tpd_clock_ns() + 30000000;
    ck_assert_ok(tpd_engine_submit(engine, &rigs[0].job, &error), error);
    struct tpd_config shorter = config;
    shorter.queue_timeout = 40000000;
    tpd_engine_reconfigure(engine, &shorter);
    ck_assert_ok(tpd_engine_submit(engine, &rigs[1].job, &error), error);
    for (int i = 0; i < 2; i++) {
        rig_job_wait(&rigs[i]);
        ck_assert_int_eq(rigs[i].job.status, TPD_DEADLINE);
        ck_assert_ptr_nonnull(strstr(rigs[i].job.error.text, "queue_timeout"));
        ck_assert_uint_ge(rigs[i].job.stage_ns[TPD_STAGE_QUEUE], 30000000);
        rig_job_fini(&rigs[i]);
    }
    atomic_store(&rig_cpu.shut, false);
    for (uint32_t i = 0; i < n; i++) {
        rig_job_wait(&busy[i]);
        rig_job_good(&busy[i], "cpu");
        rig_job_fini(&busy[i]);
    }
    rig_engine_end(engine);
}
END_TEST

/* A device that is slow, with more jobs than it has lanes and the CPU has workers, keeps no other job waiting; what waits for
 * it still has its deadline, and gives back what it was decoded into. */
START_TEST(slow_device_is_in_nobodys_way) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine(&config);
    enum { SLOW = 24 };
    struct rig_job slow[SLOW], quick;
    atomic_store(&rig_simt.shut, true);
    make_jobs(slow, SLOW, engine);
    for (int i = 0; i < SLOW; i++) {
        memcpy(slow[i].job.device, "simt", 5);
        if (i == SLOW - 1)
            slow[i].job.deadline_ns = tpd_clock_ns() + 50000000;
        ck_assert_ok(tpd_engine_submit(engine, &slow[i].job, &error), error);
    }
    while (atomic_load(&rig_simt.inside) < 2) /* its lanes */
        rig_sleep(200000);
    make_jobs(&quick, 1, engine);
    ck_assert_ok(tpd_engine_submit(engine, &quick.job, &error), error);
    rig_job_wait(&quick);
    rig_job_good(&quick, "cpu");
    rig_job_fini(&quick);
    rig_job_wait(&slow[SLOW - 1]);
    ck_assert_int_eq(slow[SLOW - 1].job.status, TPD_DEADLINE);
    ck_assert_uint_ge(slow[SLOW - 1].job.stage_ns[TPD_STAGE_QUEUE], 40000000);
    rig_job_fini(&slow[SLOW - 1]);
    ck_assert_int_eq(atomic_load(&rig_simt.inside), 2);
    atomic_store(&rig_simt.shut, false);
    for (int i = 0; i < SLOW - 1; i++) {
        rig_job_wait(&slow[i]);
        rig_job_good(&slow[i], "simt");
        rig_job_fini(&slow[i]);
    }
    rig_engine_end(engine);
}
END_TEST

START_TEST(draining) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine(&config);
    struct rig_job busy[TPD_ENGINE_WORKERS_MOST], rigs[4];
    uint32_t n = shut_workers(engine, busy, tpd_engine_memory(engine));
    make_jobs(rigs, 4, engine);
    ck_assert_ok(tpd_engine_submit(engine, &rigs[0].job, &error), error);
    ck_assert_ok(tpd_engine_submit(engine, &rigs[1].job, &error), error);
    ck_assert(!tpd_engine_wait_idle(engine, 5000000));
    tpd_engine_refuse(engine);
    for (int i = 0; i < 2; i++) { /* queued: ended at once, though every worker hangs */
        rig_job_wait(&rigs[i]);
        ck_assert_int_eq(rigs[i].job.status, TPD_DRAINING);
    }
    ck_assert_int_eq(tpd_engine_submit(engine, &rigs[2].job, &error), TPD_DRAINING);
    tpd_engine_run(engine, &rigs[3].job);
    ck_assert_int_eq(atomic_load(&rigs[3].done), 1);
    ck_assert_int_eq(rigs[3].job.status, TPD_DRAINING);
    ck_assert(!tpd_engine_wait_idle(engine, 5000000));
    atomic_store(&rig_cpu.shut, false);
    ck_assert(tpd_engine_wait_idle(engine, 10000000000u));
    for (uint32_t i = 0; i < n; i++) { /* running: ended well */
        ck_assert_int_eq(atomic_load(&busy[i].done), 1);
        rig_job_good(&busy[i], "cpu");
        rig_job_fini(&busy[i]);
    }
    for (int i = 0; i < 4; i++)
        rig_job_fini(&rigs[i]);
    rig_engine_end(engine);
}
END_TEST

static void *destroy_main(void *engine) {
    tpd_engine_destroy(engine);
    return NULL;
}

/* destroy alone: running jobs end well, queued ones with "draining". */
START_TEST(destroy_with_jobs) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine(&config);
    struct rig_job busy[TPD_ENGINE_WORKERS_MOST], rig;
    pthread_t thread;
    uint32_t n = shut_workers(engine, busy, tpd_memory_heap()); /* answers outlive the engine */
    rig_job_init(&rig, 1, 1, 1, 4, 1);
    ck_assert_ok(rig_job_receive(&rig, tpd_memory_heap(), &error), error);
    ck_assert_ok(tpd_engine_submit(engine, &rig.job, &error), error);
    ck_assert_int_eq(pthread_create(&thread, NULL, destroy_main, engine), 0);
    rig_job_wait(&rig);
    ck_assert_int_eq(rig.job.status, TPD_DRAINING);
    rig_job_fini(&rig);
    atomic_store(&rig_cpu.shut, false);
    (void)pthread_join(thread, NULL);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_int_eq(atomic_load(&busy[i].done), 1);
        rig_job_good(&busy[i], "cpu");
        rig_job_fini(&busy[i]);
    }
}
END_TEST

START_TEST(budget_full_and_never) {
    struct tpd_config config = rig_config();
    config.host_memory_bytes = 40000;
    struct tpd_engine *engine = rig_engine(&config);
    struct rig_job rigs[2];
    make_jobs(rigs, 2, engine); /* 16 384 bytes each: a third block is one too many */
    tpd_engine_run(engine, &rigs[0].job);
    ck_assert_int_eq(rigs[0].job.status, TPD_MEMORY_FULL);
    ck_assert_ptr_nonnull(strstr(rigs[0].job.error.text, "host_memory_bytes=40000"));
    tpd_engine_run(engine, &rigs[1].job); /* the failed one gave its input back */
    rig_job_good(&rigs[1], "cpu");
    rig_job_fini(&rigs[0]);
    rig_job_fini(&rigs[1]);

    struct tpd_job job;
    tpd_job_init(&job);
    struct tpd_matrix matrix = {.rows = 100, .cols = 50, .batch = 1, .itemsize = 4, .dtype = TPD_DTYPE_FLOAT32};
    ck_assert_ok(tpd_engine_check(engine, &job, &matrix, &error), error); /* 2 x 20 000 bytes: just so */
    matrix.rows = 101;
    ck_assert_int_eq(tpd_engine_check(engine, &job, &matrix, &error), TPD_TOO_LARGE);
    ck_assert_uint_eq(error.limit, 40000);
    ck_assert_uint_eq(error.actual, 40400);
    matrix.cols = 1;
    matrix.rows = 10000; /* a relabel needs no second block */
    ck_assert_ok(tpd_engine_check(engine, &job, &matrix, &error), error);
    matrix.rows = 10001;
    ck_assert_int_eq(tpd_engine_check(engine, &job, &matrix, &error), TPD_TOO_LARGE);
    matrix = (struct tpd_matrix){UINT64_MAX, 2, 1, 4, TPD_DTYPE_FLOAT32};
    ck_assert_int_eq(tpd_engine_check(engine, &job, &matrix, &error), TPD_SIZE_OVERFLOW);
    matrix = (struct tpd_matrix){(uint64_t)1 << 60, 7, 1, 1, TPD_DTYPE_UINT8};
    ck_assert_int_eq(tpd_engine_check(engine, &job, &matrix, &error), TPD_TOO_LARGE);
    rig_engine_end(engine);
}
END_TEST

static struct rig_job lose(struct tpd_engine *engine, const char *device, bool explicit_strategy) {
    struct rig_job rig;
    rig_job_init(&rig, 40, 50, 1, 4, 9);
    (void)snprintf(rig.job.device, sizeof rig.job.device, "%s", device);
    rig.job.strategy_is_explicit = explicit_strategy;
    if (explicit_strategy)
        rig.job.strategy = TPD_STRATEGY_PADDED;
    ck_assert_ok(rig_job_receive(&rig, tpd_engine_memory(engine), &error), error);
    atomic_store(&rig_gpu.fail_with, TPD_DEVICE_LOST);
    atomic_store(&rig_gpu.fail_at, atomic_load(&rig_gpu.runs) + 1);
    tpd_engine_run(engine, &rig.job);
    return rig;
}

START_TEST(loss_is_redone_on_the_cpu) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine_gpu(&config, 1);
    struct rig_job rig = lose(engine, "auto", false);
    rig_job_good(&rig, "cpu");
    ck_assert_str_eq(rig.job.strategy_name, "blocked");
    ck_assert_str_eq(rig.job.error.text, "");
    rig_job_fini(&rig);
    ck_assert_int_eq(atomic_load(&rig_gpu.runs), 1);
    struct tpd_device_info info;
    tpd_engine_device_info(engine, 0, &info);
    ck_assert_int_eq(info.state, TPD_STATE_LOST);
    ck_assert_str_ne(info.reason, "");
    ck_assert(tpd_engine_is_fit(engine));
    /* From now on nothing goes there, and who insists is told. */
    rig_job_init(&rig, 40, 50, 1, 4, 9);
    ck_assert_ok(rig_job_receive(&rig, tpd_engine_memory(engine), &error), error);
    tpd_engine_run(engine, &rig.job);
    rig_job_good(&rig, "cpu");
    rig_job_fini(&rig);
    ck_assert_int_eq(atomic_load(&rig_gpu.runs), 1);
    struct tpd_job job;
    tpd_job_init(&job);
    (void)snprintf(job.device, sizeof job.device, "cuda:0");
    ck_assert_int_eq(tpd_engine_check(engine, &job, NULL, &error), TPD_DEVICE_LOST);
    struct tpd_engine_counts counts;
    tpd_engine_counts(engine, &counts);
    ck_assert_uint_eq(counts.crossover_bytes[2], 0);
    ck_assert_str_eq(tpd_engine_chosen(engine, 4, NULL), "blocked");
    rig_engine_end(engine);
}
END_TEST

START_TEST(loss_of_what_was_asked_for_fails) {
    struct tpd_config config = rig_config();
    for (int i = 0; i < 3; i++) {
        struct tpd_engine *engine = rig_engine_gpu(&config, 1);
        struct rig_job rig = i == 0   ? lose(engine, "cuda:0", false)
                             : i == 1 ? lose(engine, "cuda", false)
                                      : lose(engine, "auto", true);
        ck_assert_int_eq(rig.job.status, TPD_DEVICE_FAULT);
        ck_assert_int_eq(tpd_status_http(rig.job.status), 500);
        ck_assert_ptr_nonnull(strstr(rig.job.error.text, "cuda:0"));
        ck_assert_ptr_null(rig.job.answer.block.data);
        ck_assert_int_eq(atomic_load(&rig_cpu.runs), 0);
        rig_job_fini(&rig);
        ck_assert(tpd_engine_is_fit(engine));
        rig_engine_end(engine);
        rig_reset();
    }
}
END_TEST

START_TEST(loss_that_ends_the_daemon) {
    struct tpd_config config = rig_config();
    config.on_device_loss = TPD_LOSS_EXIT;
    struct tpd_engine *engine = rig_engine_gpu(&config, 1);
    ck_assert(tpd_engine_is_fit(engine));
    struct rig_job rig = lose(engine, "auto", false);
    ck_assert_int_eq(rig.job.status, TPD_DEVICE_FAULT);
    ck_assert(!tpd_engine_is_fit(engine));
    rig_job_fini(&rig);
    rig_engine_end(engine);
}
END_TEST

/* A run that fails on a sound device is a failure of that job alone. */
START_TEST(fault_is_not_loss) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine_gpu(&config, 1);
    atomic_store(&rig_gpu.fail_with, TPD_DEVICE_FAULT);
    atomic_store(&rig_gpu.fail_at, 1);
    struct rig_job rigs[2];
    make_jobs(rigs, 2, engine);
    tpd_engine_run(engine, &rigs[0].job);
    tpd_engine_run(engine, &rigs[1].job);
    ck_assert_int_eq(rigs[0].job.status, TPD_DEVICE_FAULT);
    rig_job_good(&rigs[1], "cuda:0");
    rig_job_fini(&rigs[0]);
    rig_job_fini(&rigs[1]);
    rig_engine_end(engine);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("engine_life");
    TCase *tests = tcase_create("engine_life");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, rig_reset, NULL);
    tcase_add_test(tests, queue_full);
    tcase_add_test(tests, deadline_while_all_are_busy);
    tcase_add_test(tests, slow_device_is_in_nobodys_way);
    tcase_add_test(tests, draining);
    tcase_add_test(tests, destroy_with_jobs);
    tcase_add_test(tests, budget_full_and_never);
    tcase_add_test(tests, loss_is_redone_on_the_cpu);
    tcase_add_test(tests, loss_of_what_was_asked_for_fails);
    tcase_add_test(tests, loss_that_ends_the_daemon);
    tcase_add_test(tests, fault_is_not_loss);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
