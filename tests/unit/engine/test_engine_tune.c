/* test_engine_tune.c -- what the engine measures at its start and what it remembers: never a failed start, never a wrong answer.
 */
#include "engine_rig.h"

#include <fcntl.h>
#include <unistd.h>

#include "server/engine/tuning_file.h"

static char folder[64];
static struct tpd_config config;
static struct tpd_error error;

/* The GPU's tuner: fills every cell that is not there with `rotated`. */
static struct {
    enum tpd_status status; /* not TPD_OK: it fails with that */
    uint64_t budget_ns;
    uint32_t calls, measured;
} tuner;

static enum tpd_status rig_tune(struct tpd_device *device, uint64_t budget_ns, struct tpd_tuning *table,
                                struct tpd_error *words) {
    (void)device;
    tuner.calls++;
    tuner.budget_ns = budget_ns;
    tuner.measured = 0;
    for (uint32_t size = 0; size < TPD_TUNING_SIZES && budget_ns != 0; size++)
        for (int shape = 0; shape < TPD_SHAPE_COUNT; shape++) {
            struct tpd_tuning_cell *cell = &table->cell[size][1][shape];
            if (cell->bytes != 0)
                continue;
            *cell = (struct tpd_tuning_cell){
                .bytes = 64, .best = {TPD_STRATEGY_ROTATED, 0, 10}, .next = {TPD_STRATEGY_VECTOR, 0, 20}, .rule = {0, 0, 30}};
            table->cells++;
            tuner.measured++;
        }
    return tuner.status == TPD_OK ? TPD_OK : tpd_fail(words, tuner.status, "the test failed the tuner");
}

static void begin(void) {
    rig_reset();
    memset(&tuner, 0, sizeof tuner);
    (void)snprintf(folder, sizeof folder, "/tmp/tpd-tune-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    config = rig_config();
    (void)snprintf(config.tune_file, sizeof config.tune_file, "%s/tuning", folder);
    rig_gpu.devices = 1;
    atomic_store(&rig_gpu.is_idle, true);
    atomic_store(&rig_cpu.is_idle, true);
    rig_cpu.base_ns = 200000;
}

static void end(void) {
    char command[160];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* An engine, and what it logged. */
static char logged[8192];

static struct tpd_engine *start(void) {
    struct tpd_backend gpu = rig_gpu_table;
    gpu.tune = rig_tune;
    const struct tpd_backend *backends[TPD_BACKEND_COUNT] = {
        [TPD_BACKEND_CUDA] = &gpu, [TPD_BACKEND_CPU] = &rig_cpu_table, [TPD_BACKEND_SIMT] = &rig_simt_table};
    static struct tpd_backend kept;
    struct tpd_engine *engine = NULL;
    char name[96];
    kept = gpu;
    backends[TPD_BACKEND_CUDA] = &kept;
    atomic_store(&rig_gpu.runs, 0);
    (void)snprintf(name, sizeof name, "%s/log", folder);
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600), was = dup(STDERR_FILENO);
    ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
    enum tpd_status status = tpd_engine_create_with(&config, backends, &engine, &error);
    ck_assert_int_ge(dup2(was, STDERR_FILENO), 0);
    ssize_t count = pread(fd, logged, sizeof logged - 1, 0);
    logged[count > 0 ? count : 0] = '\0';
    (void)close(fd);
    (void)close(was);
    ck_assert_ok(status, error);
    return engine;
}

static bool has_logged(const char *text) {
    return strstr(logged, text) != NULL;
}

START_TEST(is_measured_once) {
    struct tpd_engine *engine = start();
    const struct tpd_tuning_cell *cell;
    ck_assert_uint_eq(tuner.calls, 1);
    ck_assert_uint_eq(tuner.measured, TPD_TUNING_SIZES * TPD_SHAPE_COUNT);
    ck_assert_uint_gt(tuner.budget_ns, 900000000);
    ck_assert_uint_le(tuner.budget_ns, config.tune_budget);
    ck_assert(has_logged("strategies tuned") && !has_logged("ignored"));
    ck_assert_str_eq(tpd_engine_chosen(engine, 4, &cell), "rotated");
    ck_assert_uint_eq(cell->best.ns, 10);
    const struct tpd_tuning *tuning = tpd_engine_tuning(engine, 0);
    ck_assert_uint_gt(tuning->at_unix_s, 1700000000);
    ck_assert_ptr_null(tpd_engine_tuning(engine, 1));
    ck_assert_int_gt(atomic_load(&rig_gpu.runs), 0); /* the crossover */
    struct tpd_engine_counts before, after;
    tpd_engine_counts(engine, &before);
    rig_engine_end(engine);

    engine = start();
    ck_assert_uint_eq(tuner.measured, 0);
    ck_assert_int_eq(atomic_load(&rig_gpu.runs), 0);
    tpd_engine_counts(engine, &after);
    ck_assert_mem_eq(before.crossover_bytes, after.crossover_bytes, sizeof before.crossover_bytes);
    ck_assert_uint_ne(after.crossover_bytes[2], 0);
    ck_assert_str_eq(tpd_engine_chosen(engine, 8, &cell), "rotated");
    ck_assert(has_logged("measured=0"));
    /* What is configured, or named, is not changed by it. */
    (void)snprintf(config.strategy, sizeof config.strategy, "swapped");
    tpd_engine_reconfigure(engine, &config);
    ck_assert_str_eq(tpd_engine_chosen(engine, 4, &cell), "swapped");
    ck_assert_ptr_null(cell);
    rig_engine_end(engine);
}
END_TEST

START_TEST(off_and_read) {
    config.tune = TPD_TUNE_OFF;
    struct tpd_engine *engine = start();
    ck_assert_uint_eq(tuner.calls, 0);
    ck_assert_ptr_null(tpd_engine_tuning(engine, 0));
    ck_assert_str_eq(tpd_engine_chosen(engine, 4, NULL), "vector");
    ck_assert_uint_ne(engine->crossover_bytes[2], 0); /* no rule could know it */
    rig_engine_end(engine);
    ck_assert_int_ne(access(config.tune_file, F_OK), 0);
    config.tune = TPD_TUNE_READ;
    engine = start();
    ck_assert_uint_eq(tuner.calls, 1);
    ck_assert_uint_eq(tuner.budget_ns, 0);
    ck_assert_str_eq(tpd_engine_chosen(engine, 4, NULL), "vector");
    rig_engine_end(engine);
    ck_assert_int_ne(access(config.tune_file, F_OK), 0);
    config.tune = TPD_TUNE_ON;
    rig_engine_end(start());
    config.tune = TPD_TUNE_READ;
    engine = start();
    ck_assert_str_eq(tpd_engine_chosen(engine, 4, NULL), "rotated");
    rig_engine_end(engine);
    config.tune = TPD_TUNE_OFF;
    engine = start();
    ck_assert_str_eq(tpd_engine_chosen(engine, 4, NULL), "vector");
    rig_engine_end(engine);
}
END_TEST

/* Each file with what the warning has to say; afterwards the file is sound, or was nobody's of ours. */
START_TEST(a_bad_file_is_ignored_with_a_warning) {
    static const struct {
        const char *text, *reason;
        bool is_ours;
    } files[] = {
        {"", "ends in its first line", true},
        {"transposed-tuning 1\n", "holds no measurement yet", true},
        {"transposed-tuning 1\ndevice x\nhost\nat 1\n", "within a section", true},
        {"transposed-tuning 1\ndevice x\nend 0000000000000000\n", "not those that were written", true},
        {"transposed-tuning 2\n", "another version", false},
        {"\x7f"
         "ELF",
         "no tuning file", false},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        FILE *file = fopen(config.tune_file, "w");
        ck_assert_int_ge(fputs(files[i].text, file), 0);
        (void)fclose(file);
        struct tpd_engine *engine = start();
        ck_assert_msg(has_logged("level=warn") && has_logged("tuning file ignored") && has_logged(files[i].reason), "%s", logged);
        ck_assert_uint_gt(tuner.measured, 0);
        ck_assert_str_eq(tpd_engine_chosen(engine, 4, NULL), "rotated");
        ck_assert_int_eq(has_logged("tuning not kept"), !files[i].is_ours);
        rig_engine_end(engine);
        engine = start();
        ck_assert_int_eq(has_logged("ignored"), !files[i].is_ours);
        rig_engine_end(engine);
    }
}
END_TEST

/* Another driver, build or CPU: the figures are of yesterday. */
START_TEST(age) {
    struct tpd_buf text;
    rig_engine_end(start());
    tpd_buf_init(&text, TPD_TUNING_TEXT_MOST);
    ck_assert_ok(tpd_tuning_file_read(config.tune_file, &text, &error), error);
    struct tpd_tuning table = {.cells = 0};
    char *device = strstr(text.data, "device ") + 7, *line_end = strchr(device, '\n');
    (void)snprintf(table.device, sizeof table.device, "%.*s", (int)(line_end - device), device);
    ck_assert_ok(tpd_tuning_read(text.data, text.bytes, &table, &error), error);
    tpd_buf_fini(&text);
    /* The CPU's: its crossover alone is measured anew. */
    (void)snprintf(table.host, sizeof table.host, "another; threads 64");
    ck_assert_ok(tpd_tuning_file_write(config.tune_file, &table, &error), error);
    rig_engine_end(start());
    ck_assert_uint_eq(tuner.measured, 0);
    ck_assert_int_gt(atomic_load(&rig_gpu.runs), 0);
    rig_engine_end(start());
    ck_assert_int_eq(atomic_load(&rig_gpu.runs), 0);
    /* The driver's. */
    ck_assert_int_eq(unlink(config.tune_file), 0);
    char *driver = strstr(table.device, "driver 0");
    ck_assert_ptr_nonnull(driver);
    driver[7] = '7';
    ck_assert_ok(tpd_tuning_file_write(config.tune_file, &table, &error), error);
    rig_engine_end(start());
    ck_assert_msg(has_logged("measured for 'driver 7', and this is 'driver 0'"), "%s", logged);
    ck_assert_uint_gt(tuner.measured, 0);
}
END_TEST

/* A tuner that fails leaves the rules, and nothing in the file. */
START_TEST(a_tuner_that_fails) {
    static const enum tpd_status statuses[] = {TPD_DEVICE_FAULT, TPD_NO_MEMORY, TPD_DEVICE_LOST};
    for (int i = 0; i < 3; i++) {
        tuner.status = statuses[i];
        struct tpd_engine *engine = start();
        ck_assert_msg(has_logged("strategies not tuned") && has_logged("the test failed the tuner"), "%s", logged);
        ck_assert_ptr_null(tpd_engine_tuning(engine, 0));
        ck_assert_int_eq(tpd_engine_first(engine, TPD_ROLE_ACCELERATOR) != NULL, i != 2);
        struct rig_job rig;
        atomic_store(&rig_gpu.is_idle, false);
        atomic_store(&rig_cpu.is_idle, false);
        rig_job_init(&rig, 64, 64, 1, 4, 5);
        ck_assert_ok(rig_job_receive(&rig, tpd_engine_memory(engine), &error), error);
        tpd_engine_run(engine, &rig.job);
        rig_job_good(&rig, i != 2 ? "cuda:0" : "cpu");
        rig_job_fini(&rig);
        rig_engine_end(engine);
        ck_assert_int_ne(access(config.tune_file, F_OK), 0);
        atomic_store(&rig_gpu.is_idle, true);
        atomic_store(&rig_cpu.is_idle, true);
    }
}
END_TEST

/* A folder that can't be written: a warning, at each start. */
START_TEST(a_file_that_can_not_be_kept) {
    (void)snprintf(config.tune_file, sizeof config.tune_file, "/proc/no/tuning");
    struct tpd_engine *engine = start();
    ck_assert_msg(has_logged("tuning not kept") && has_logged("can't be made"), "%s", logged);
    ck_assert_str_eq(tpd_engine_chosen(engine, 4, NULL), "rotated");
    rig_engine_end(engine);
}
END_TEST

/* 16 bytes an item take the CPU 8 times as long: the GPU wins far earlier, and a job goes by its own item size. */
START_TEST(the_crossover_is_by_item_size) {
    config.tune = TPD_TUNE_OFF;
    config.tune_budget = 30000000000;
    rig_gpu.base_ns = 4000000;
    rig_cpu.base_ns = 0;
    rig_cpu.ns_per_64kib = 800000;
    rig_cpu.slow_itemsize = 16;
    struct tpd_engine *engine = start();
    const uint64_t *bytes = engine->crossover_bytes;
    ck_assert_uint_gt(bytes[2], 128 << 10); /* even at 320 KiB */
    ck_assert_uint_lt(bytes[2], 1 << 20);
    ck_assert_uint_gt(bytes[4], 4 << 10); /* at 40 KiB */
    ck_assert_uint_lt(bytes[4], 120 << 10);
    ck_assert_uint_eq(tpd_engine_crossover_least(engine), bytes[4]);
    rig_gpu.base_ns = rig_cpu.ns_per_64kib = 0;
    atomic_store(&rig_gpu.is_idle, false);
    atomic_store(&rig_cpu.is_idle, false);
    for (int i = 0; i < 2; i++) {
        struct rig_job rig;
        rig_job_init(&rig, 100, 1000, 1, i == 0 ? 1 : 16, 5);
        rig.job.deadline_ns = 0;
        ck_assert_ok(rig_job_receive(&rig, tpd_engine_memory(engine), &error), error);
        ck_assert_int_eq(tpd_engine_is_small(engine, &rig.job, 30 << 10), bytes[4] > 30 << 10);
        tpd_engine_run(engine, &rig.job);
        rig_job_good(&rig, i == 0 ? "cpu" : "cuda:0"); /* 100 KB and 1.6 MB */
        rig_job_fini(&rig);
    }
    rig_engine_end(engine);
}
END_TEST

START_TEST(the_crossover_keeps_its_budget) {
    config.tune = TPD_TUNE_OFF;
    config.tune_budget = 90000000;
    rig_gpu.base_ns = 30000000;
    rig_cpu.base_ns = 10000000;
    uint64_t started_ns = tpd_clock_ns();
    struct tpd_engine *engine = start();
    ck_assert_uint_lt(tpd_clock_ns() - started_ns, 2000000000);
    ck_assert_uint_eq(engine->crossover_bytes[2], 0);
    ck_assert_msg(has_logged("crossover not measured to its end") && has_logged("tune_budget"), "%s", logged);
    rig_engine_end(engine);
    /* What the time was too short for is measured by the next start. */
    config.tune = TPD_TUNE_ON;
    config.tune_budget = 0;
    engine = start();
    ck_assert_uint_eq(tpd_engine_crossover_least(engine), 0);
    rig_engine_end(engine);
    config.tune_budget = 900000000;
    rig_gpu.base_ns = 0;
    engine = start();
    ck_assert_uint_eq(engine->crossover_bytes[2], 4096);
    rig_engine_end(engine);
    config.tune = TPD_TUNE_OFF;
    /* A GPU that fails meanwhile is named alone. */
    rig_reset();
    rig_gpu.devices = 1;
    atomic_store(&rig_gpu.fail_at, 3);
    atomic_store(&rig_gpu.fail_with, TPD_DEVICE_FAULT);
    config.tune_budget = 1500000000;
    engine = start();
    ck_assert_msg(has_logged("crossover not measured"), "%s", logged);
    for (int size = 0; size < TPD_TUNING_SIZES; size++)
        ck_assert_uint_eq(engine->crossover_bytes[size], 0);
    rig_engine_end(engine);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("engine_tune");
    TCase *tests = tcase_create("engine_tune");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, is_measured_once);
    tcase_add_test(tests, off_and_read);
    tcase_add_test(tests, a_bad_file_is_ignored_with_a_warning);
    tcase_add_test(tests, age);
    tcase_add_test(tests, a_tuner_that_fails);
    tcase_add_test(tests, a_file_that_can_not_be_kept);
    tcase_add_test(tests, the_crossover_is_by_item_size);
    tcase_add_test(tests, the_crossover_keeps_its_budget);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
