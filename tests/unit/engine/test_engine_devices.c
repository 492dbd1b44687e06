/* test_engine_devices.c -- which devices there are, which one a job gets, and from which size on. */
#include "tests/unit/engine/engine_rig.h"

static struct tpd_error error;

static void expect_device(struct tpd_engine *engine, uint32_t index, const char *id, enum tpd_device_state state,
                          const char *reason) {
    struct tpd_device_info info;
    tpd_engine_device_info(engine, index, &info);
    ck_assert_str_eq(info.id, id);
    ck_assert_int_eq(info.state, state);
    ck_assert_msg(strstr(info.reason, reason) != NULL, "'%s' does not say '%s'", info.reason, reason);
}

START_TEST(without_a_gpu) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine(&config);
    ck_assert_uint_eq(tpd_engine_device_count(engine), 3);
    expect_device(engine, 0, "cuda", TPD_STATE_ABSENT, "no driver");
    expect_device(engine, 1, "cpu", TPD_STATE_READY, "");
    expect_device(engine, 2, "simt", TPD_STATE_READY, "");
    struct tpd_engine_counts counts;
    tpd_engine_counts(engine, &counts);
    ck_assert_uint_eq(counts.crossover_bytes[2], 0);
    ck_assert_str_eq(tpd_engine_chosen(engine, 4, NULL), "blocked");
    rig_engine_end(engine);
}
END_TEST

START_TEST(devices_knob) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine;
    rig_gpu.devices = 3;
    atomic_store(&rig_gpu.is_idle, true);
    atomic_store(&rig_cpu.is_idle, true);
    (void)snprintf(config.devices, sizeof config.devices, "none");
    engine = rig_engine(&config);
    ck_assert_uint_eq(tpd_engine_device_count(engine), 3);
    expect_device(engine, 0, "cuda", TPD_STATE_ABSENT, "devices=none");
    ck_assert_int_eq(atomic_load(&rig_gpu.runs), 0);
    rig_engine_end(engine);

    (void)snprintf(config.devices, sizeof config.devices, "cuda:2,cuda:0");
    engine = rig_engine(&config);
    ck_assert_uint_eq(tpd_engine_device_count(engine), 4);
    expect_device(engine, 0, "cuda:0", TPD_STATE_READY, "");
    expect_device(engine, 1, "cuda:2", TPD_STATE_READY, "");
    rig_engine_end(engine);

    const char *bad[] = {"cuda:3", "cuda:0,cuda:", "gpu", "cuda:0,cpu", "cuda:0 cuda:1", ","};
    for (int i = 0; i < 6; i++) {
        (void)snprintf(config.devices, sizeof config.devices, "%s", bad[i]);
        ck_assert_int_eq(rig_engine_try(&config, &engine, &error), TPD_CONFIG);
        ck_assert_ptr_nonnull(strstr(error.text, bad[i]));
    }
    rig_gpu.bad_index = 1;
    (void)snprintf(config.devices, sizeof config.devices, "cuda:0,cuda:1");
    ck_assert_int_eq(rig_engine_try(&config, &engine, &error), TPD_CONFIG);
    ck_assert_ptr_nonnull(strstr(error.text, "the test broke device 1"));
    (void)snprintf(config.devices, sizeof config.devices, "auto"); /* the same is no failure when nobody named it */
    engine = rig_engine(&config);
    ck_assert_uint_eq(tpd_engine_device_count(engine), 5);
    expect_device(engine, 1, "cuda:1", TPD_STATE_ABSENT, "the test broke device 1");
    rig_engine_end(engine);
    rig_gpu.devices = 0;
    (void)snprintf(config.devices, sizeof config.devices, "cuda:0");
    ck_assert_int_eq(rig_engine_try(&config, &engine, &error), TPD_CONFIG);
    ck_assert_ptr_nonnull(strstr(error.text, "no driver"));
    (void)snprintf(config.devices, sizeof config.devices, "auto");
    (void)snprintf(config.strategy, sizeof config.strategy, "fastest");
    ck_assert_int_eq(rig_engine_try(&config, &engine, &error), TPD_CONFIG);
    ck_assert_ptr_nonnull(strstr(error.text, "fastest"));
}
END_TEST

/* Where a 40 x 50 matrix of that item size goes; "" and *status when it is refused. */
static const char *place(struct tpd_engine *engine, const char *device, enum tpd_strategy_id strategy, bool is_explicit,
                         uint32_t itemsize, enum tpd_status *status) {
    static char id[16];
    struct tpd_job job;
    struct tpd_choice choice = {.slot = NULL};
    struct tpd_matrix matrix = {.rows = 40, .cols = 50, .batch = 1, .itemsize = itemsize, .dtype = TPD_DTYPE_OPAQUE};
    tpd_job_init(&job);
    (void)snprintf(job.device, sizeof job.device, "%s", device);
    job.strategy = strategy;
    job.strategy_is_explicit = is_explicit;
    *status = tpd_engine_choose(engine, &job, &matrix, &choice, &error);
    ck_assert_int_eq(tpd_engine_check(engine, &job, &matrix, &error), *status);
    (void)snprintf(id, sizeof id, "%s", *status == TPD_OK ? choice.slot->info.id : "");
    return id;
}

START_TEST(wishes_without_a_gpu) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine(&config);
    enum tpd_status status;
    ck_assert_str_eq(place(engine, "auto", TPD_STRATEGY_AUTO, false, 4, &status), "cpu");
    ck_assert_str_eq(place(engine, "cpu", TPD_STRATEGY_AUTO, false, 4, &status), "cpu");
    ck_assert_str_eq(place(engine, "simt", TPD_STRATEGY_SWIZZLED, true, 4, &status), "simt");
    ck_assert_str_eq(place(engine, "cpu", TPD_STRATEGY_PADDED, true, 4, &status), "");
    ck_assert_int_eq(status, TPD_UNSUPPORTED);
    struct tpd_job early; /* the same before the matrix is known */
    tpd_job_init(&early);
    (void)snprintf(early.device, sizeof early.device, "cpu");
    ck_assert_ok(tpd_engine_check(engine, &early, NULL, &error), error);
    early.strategy = TPD_STRATEGY_PADDED;
    early.strategy_is_explicit = true;
    ck_assert_int_eq(tpd_engine_check(engine, &early, NULL, &error), TPD_UNSUPPORTED);
    /* A tile named beside a strategy that takes none is no tile passed over; the configured one, or one beside auto, is. */
    early.strategy = TPD_STRATEGY_VECTOR;
    early.tile = (struct tpd_tile){64, 64};
    (void)snprintf(early.device, sizeof early.device, "simt");
    ck_assert_ok(tpd_engine_check(engine, &early, NULL, &error), error);
    early.tile_is_explicit = true;
    ck_assert_int_eq(tpd_engine_check(engine, &early, NULL, &error), TPD_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "tile=64x64 says nothing to strategy=vector, which cuts tiles of its own"));
    early.tile = (struct tpd_tile){0, 0};
    ck_assert_ok(tpd_engine_check(engine, &early, NULL, &error), error);
    early.tile = (struct tpd_tile){64, 64};
    early.strategy = TPD_STRATEGY_ROTATED;
    ck_assert_ok(tpd_engine_check(engine, &early, NULL, &error), error);
    early.strategy = TPD_STRATEGY_AUTO;
    early.strategy_is_explicit = false;
    ck_assert_ok(tpd_engine_check(engine, &early, NULL, &error), error);
    (void)place(engine, "auto", TPD_STRATEGY_PADDED, true, 4, &status);
    ck_assert_int_eq(status, TPD_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "padded"));
    ck_assert_ptr_nonnull(strstr(error.text, "no driver"));
    ck_assert_ptr_nonnull(strstr(error.text, "device=simt"));
    const char *unknown[] = {"cuda", "cuda:0", "gpu", "cpu:0", "CUDA", "sim", "cuda:", "cuda:x", "cuda0"};
    for (int i = 0; i < 9; i++) {
        (void)place(engine, unknown[i], TPD_STRATEGY_AUTO, false, 4, &status);
        ck_assert_int_eq(status, TPD_UNKNOWN_DEVICE);
        ck_assert_ptr_nonnull(strstr(error.text, unknown[i]));
        ck_assert_ptr_nonnull(strstr(error.text, "auto cpu simt"));
        ck_assert_int_eq(strstr(error.text, "no driver") != NULL, i < 2); /* of one GPU the same reason as of any */
    }
    rig_engine_end(engine);
}
END_TEST

START_TEST(wishes_with_gpus) {
    struct tpd_config config = rig_config();
    struct tpd_engine *engine = rig_engine_gpu(&config, 2);
    enum tpd_status status;
    ck_assert_str_eq(place(engine, "auto", TPD_STRATEGY_AUTO, false, 4, &status), "cuda:0");
    atomic_store(&engine->slots[0].running, 2);
    ck_assert_str_eq(place(engine, "auto", TPD_STRATEGY_AUTO, false, 4, &status), "cuda:1");
    ck_assert_str_eq(place(engine, "cuda", TPD_STRATEGY_AUTO, false, 4, &status), "cuda:1");
    ck_assert_str_eq(place(engine, "cuda:0", TPD_STRATEGY_AUTO, false, 4, &status), "cuda:0");
    atomic_store(&engine->slots[0].running, 0);
    rig_crossover(engine, 8001); /* one byte more than the matrix has */
    ck_assert_str_eq(place(engine, "auto", TPD_STRATEGY_AUTO, false, 4, &status), "cpu");
    ck_assert_str_eq(place(engine, "auto", TPD_STRATEGY_PADDED, true, 4, &status), "cuda:0");
    rig_crossover(engine, 8000);
    ck_assert_str_eq(place(engine, "auto", TPD_STRATEGY_AUTO, false, 4, &status), "cuda:0");
    rig_gpu.most_bytes = 7999; /* too large for the GPU: auto passes over it, a wish is refused */
    ck_assert_str_eq(place(engine, "auto", TPD_STRATEGY_AUTO, false, 4, &status), "cpu");
    ck_assert_str_eq(place(engine, "cuda", TPD_STRATEGY_AUTO, false, 4, &status), "");
    ck_assert_int_eq(status, TPD_TOO_LARGE);
    ck_assert_uint_eq(error.limit, 7999);
    atomic_store(&engine->slots[0].lost, true);
    rig_gpu.most_bytes = 0;
    ck_assert_str_eq(place(engine, "auto", TPD_STRATEGY_AUTO, false, 4, &status), "cuda:1");
    rig_engine_end(engine);
}
END_TEST

static int strategy_run(struct tpd_engine *engine, enum tpd_strategy_id strategy, uint32_t itemsize) {
    struct rig_job rig;
    rig_job_init(&rig, 40, 50, 1, itemsize, 5);
    rig.job.strategy = strategy;
    ck_assert_ok(rig_job_receive(&rig, tpd_engine_memory(engine), &error), error);
    tpd_engine_run(engine, &rig.job);
    rig_job_good(&rig, "cuda:0");
    rig_job_fini(&rig);
    return atomic_load(&rig_gpu.last_strategy);
}

/* The configured strategy is for requests that name none, and gives way where it can't be done. */
START_TEST(configured_strategy) {
    struct tpd_config config = rig_config(), changed;
    (void)snprintf(config.strategy, sizeof config.strategy, "swapped");
    struct tpd_engine *engine = rig_engine_gpu(&config, 1);
    ck_assert_int_eq(strategy_run(engine, TPD_STRATEGY_AUTO, 4), TPD_STRATEGY_SWAPPED);
    ck_assert_int_eq(strategy_run(engine, TPD_STRATEGY_ROTATED, 4), TPD_STRATEGY_ROTATED);
    ck_assert_int_eq(strategy_run(engine, TPD_STRATEGY_AUTO, 12), TPD_STRATEGY_AUTO);
    ck_assert_str_eq(tpd_engine_chosen(engine, 4, NULL), "swapped");
    changed = config;
    (void)snprintf(changed.strategy, sizeof changed.strategy, "naive");
    tpd_engine_reconfigure(engine, &changed);
    ck_assert_int_eq(strategy_run(engine, TPD_STRATEGY_AUTO, 4), TPD_STRATEGY_NAIVE);
    (void)snprintf(changed.strategy, sizeof changed.strategy, "auto");
    tpd_engine_reconfigure(engine, &changed);
    ck_assert_int_eq(strategy_run(engine, TPD_STRATEGY_AUTO, 4), TPD_STRATEGY_AUTO);
    ck_assert_str_eq(tpd_engine_chosen(engine, 4, NULL), "vector");
    rig_engine_end(engine);
}
END_TEST

/* A GPU whose round trip takes 1 ms against a CPU at 100 us for each 64 KiB: even at 640 KiB, so the GPU wins from 1 MiB on. */
START_TEST(crossover_is_measured) {
    struct tpd_config config = rig_config();
    rig_gpu.devices = 1;
    atomic_store(&rig_gpu.is_idle, true);
    atomic_store(&rig_cpu.is_idle, true);
    rig_gpu.base_ns = 1000000;
    rig_cpu.ns_per_64kib = 100000;
    struct tpd_engine *engine = rig_engine(&config);
    struct tpd_engine_counts counts;
    tpd_engine_counts(engine, &counts);
    ck_assert_uint_ge(counts.crossover_bytes[2], 256 << 10);
    ck_assert_uint_le(counts.crossover_bytes[2], 4 << 20);
    rig_engine_end(engine);
    rig_gpu.base_ns = 5000000; /* never within what is measured */
    rig_cpu.ns_per_64kib = 1000;
    engine = rig_engine(&config);
    tpd_engine_counts(engine, &counts);
    ck_assert_uint_eq(counts.crossover_bytes[2], 0);
    rig_engine_end(engine);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("engine_devices");
    TCase *tests = tcase_create("engine_devices");
    tcase_add_checked_fixture(tests, rig_reset, NULL);
    tcase_add_test(tests, without_a_gpu);
    tcase_add_test(tests, devices_knob);
    tcase_add_test(tests, wishes_without_a_gpu);
    tcase_add_test(tests, wishes_with_gpus);
    tcase_add_test(tests, configured_strategy);
    tcase_add_test(tests, crossover_is_measured);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
