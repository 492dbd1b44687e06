/* test_cpu.c -- the CPU back end as a device: what it says of itself, what it refuses, threads and lanes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "harness.h"
#include "kernels/cpu/cpu.h"
#include "transposed/clock.h"
#include "transposed/transposed.h"

static const struct tpd_backend *cpu;
static struct tpd_error error;

static struct tpd_device *open_cpu(uint32_t threads, uint32_t lanes) {
    struct tpd_device_options options = {.cpu_threads = threads, .lanes = lanes};
    struct tpd_device *device;
    cpu = tpd_backend_at(TPD_BACKEND_CPU);
    ck_assert_ok(cpu->open(0, &options, &device, &error), error);
    return device;
}

START_TEST(cases_are_right) {
    struct tpd_device *device = open_cpu(3, 0);
    struct tpd_cases cases = tpd_cases_begin(TPD_CASES_QUICK | TPD_CASES_AUTO);
    for (struct tpd_case one; tpd_cases_next(&cases, &one);)
        tpd_case_prove(cpu, device, &one);
    cpu->close(device);
}
END_TEST

START_TEST(public_call) {
    struct tpd_matrix matrix = {.rows = 0, .cols = 5, .batch = 1, .itemsize = 4};
    ck_assert_ok(tpd_transpose(&matrix, NULL, NULL, &error), error);
    matrix.itemsize = 0;
    ck_assert_int_eq(tpd_transpose(&matrix, NULL, NULL, &error), TPD_UNSUPPORTED);
    matrix = (struct tpd_matrix){.rows = UINT64_MAX / 2, .cols = 3, .batch = 1, .itemsize = 4};
    ck_assert_int_eq(tpd_transpose(&matrix, NULL, NULL, NULL), TPD_SIZE_OVERFLOW);
    ck_assert_str_eq(tpd_version(), TPD_VERSION);
}
END_TEST

START_TEST(table_of_back_ends) {
    ck_assert_str_eq(tpd_backend_name(TPD_BACKEND_CPU), "cpu");
    ck_assert_str_eq(tpd_backend_at(TPD_BACKEND_CPU)->name, "cpu");
    ck_assert_str_eq(tpd_backend_at(TPD_BACKEND_SIMT)->name, "simt");
    ck_assert_int_eq(tpd_backend_at(TPD_BACKEND_CUDA) != NULL, TPD_HAVE_CUDA);
    ck_assert_ptr_null(tpd_backend_at(TPD_BACKEND_COUNT));
    for (int i = 0; i < TPD_BACKEND_COUNT; i++)
        ck_assert_uint_gt(strlen(tpd_backend_summary((enum tpd_backend_id)i)), 10);
    ck_assert_str_eq(tpd_device_state_name(TPD_STATE_READY), "ready");
    ck_assert_str_eq(tpd_device_state_name(TPD_STATE_LOST), "lost");
    ck_assert_str_eq(tpd_device_state_name(TPD_STATE_ABSENT), "absent");
}
END_TEST

START_TEST(describes_itself) {
    struct tpd_device *device = open_cpu(2, 5);
    struct tpd_device_info info;
    cpu->info(device, &info);
    ck_assert_uint_eq(cpu->count(&error), 1);
    ck_assert_str_eq(info.id, "cpu");
    ck_assert_str_eq(info.kind, "cpu");
    ck_assert_uint_gt(strlen(info.name), 0);
    ck_assert_str_eq(info.reason, "");
    ck_assert_str_eq(info.instructions, tpd_cpu_ops()->name);
    ck_assert_int_eq(info.state, TPD_STATE_READY);
    ck_assert_uint_gt(info.memory_total_bytes, 1u << 20);
    ck_assert_uint_eq(info.multiprocessors, 2);
    ck_assert_uint_eq(info.lanes, 5);
    cpu->close(device);
    device = open_cpu(0, 0);
    cpu->info(device, &info);
    ck_assert_uint_eq(info.multiprocessors, tpd_cpu_cores());
    cpu->close(device);
    cpu->close(NULL);
}
END_TEST

START_TEST(says_what_ran) {
    struct tpd_device *device = open_cpu(2, 0);
    static const struct {
        uint64_t rows;
        uint32_t itemsize;
        const char *strategy;
    } expected[] = {{1, 4, "copy"},      {20, 4, "blocked"},   {20, 16, "blocked"},
                    {20, 12, "generic"}, {20, 300, "generic"}, {900, 4, "blocked"}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct tpd_task task = {.matrix = {.rows = expected[i].rows, .cols = 500, .batch = 1, .itemsize = expected[i].itemsize},
                                .strategy = TPD_STRATEGY_AUTO};
        uint64_t bytes;
        ck_assert_ok(tpd_matrix_bytes(&task.matrix, &bytes, &error), error);
        struct tpd_guarded in = tpd_guarded_make(bytes, 0), out = tpd_guarded_make(bytes, 0);
        task.in = in.data;
        task.out = out.data;
        struct tpd_outcome outcome;
        ck_assert_ok(cpu->run(device, &task, &outcome, &error), error);
        ck_assert_str_eq(outcome.strategy, expected[i].strategy);
        ck_assert_uint_gt(outcome.kernel_ns, 0);
        ck_assert_uint_eq(outcome.tile.rows, 0);
        tpd_guarded_free(&in);
        tpd_guarded_free(&out);
    }
    cpu->close(device);
}
END_TEST

START_TEST(refusals) {
    struct tpd_device *device = open_cpu(1, 1), *none = device;
    struct tpd_task task = {.matrix = {.rows = 4, .cols = 4, .batch = 1, .itemsize = 4}, .strategy = TPD_STRATEGY_PADDED};
    struct tpd_outcome outcome;
    ck_assert_int_eq(cpu->check(device, &task, &error), TPD_UNSUPPORTED);
    ck_assert_msg(strstr(error.text, "'padded'") != NULL && strstr(error.text, "device=simt") != NULL, "%s", error.text);
    ck_assert_int_eq(cpu->run(device, &task, &outcome, &error), TPD_UNSUPPORTED);
    task.strategy = TPD_STRATEGY_AUTO;
    ck_assert_int_eq(cpu->check(device, &task, &error), TPD_OK);
    task.matrix.itemsize = TPD_ITEMSIZE_MOST + 1;
    ck_assert_int_eq(cpu->check(device, &task, &error), TPD_UNSUPPORTED);
    ck_assert_int_eq(cpu->run(device, &task, &outcome, &error), TPD_UNSUPPORTED);
    cpu->close(device);

    struct tpd_device_options options = {.cpu_threads = TPD_CPU_THREADS_MOST + 1};
    ck_assert_int_eq(cpu->open(0, &options, &none, &error), TPD_TOO_LARGE);
    ck_assert_ptr_null(none);
    ck_assert_uint_eq(error.limit, TPD_CPU_THREADS_MOST);
    options.cpu_threads = 1;
    ck_assert_int_eq(cpu->open(1, &options, &none, &error), TPD_UNKNOWN_DEVICE);
    tpd_heap_begin(1);
    ck_assert_int_eq(cpu->open(0, &options, &none, &error), TPD_NO_MEMORY);
    ck_assert_int_eq(tpd_heap_end(), 1);
}
END_TEST

struct runner {
    struct tpd_device *device;
    uint64_t seed;
    pthread_t thread;
};

static void *run_some(void *argument) {
    struct runner *runner = argument;
    for (int i = 0; i < 8; i++) {
        struct tpd_case one = {.strategy = TPD_STRATEGY_AUTO};
        one.matrix.rows = 200 + tpd_random(&runner->seed) % 400;
        one.matrix.cols = 200 + tpd_random(&runner->seed) % 400;
        one.matrix.batch = 1 + tpd_random(&runner->seed) % 2;
        one.matrix.itemsize = 1u << tpd_random(&runner->seed) % 5;
        if (i % 4 == 3)
            one.matrix.rows = 1 + tpd_random(&runner->seed) % 40;
        tpd_case_prove(cpu, runner->device, &one);
    }
    return NULL;
}

/* More callers than threads, fewer, and two devices on the one pool. */
START_TEST(concurrent_runs) {
    static const uint32_t counts[] = {1, 2, 4};
    for (int k = 0; k < 3; k++) {
        struct tpd_device *devices[2] = {open_cpu(counts[k], 3), open_cpu(2, 0)};
        struct runner runners[6];
        for (uint64_t i = 0; i < 6; i++) {
            runners[i] = (struct runner){.device = devices[i % 2], .seed = 1000u * (unsigned)k + i};
            ck_assert_int_eq(pthread_create(&runners[i].thread, NULL, run_some, &runners[i]), 0);
        }
        for (int i = 0; i < 6; i++)
            pthread_join(runners[i].thread, NULL);
        cpu->close(devices[0]);
        cpu->close(devices[1]);
    }
}
END_TEST

struct holder {
    struct tpd_device *device;
    struct tpd_task task;
    atomic_bool stop;
};

static void *hold_the_lane(void *argument) {
    struct holder *holder = argument;
    struct tpd_outcome outcome;
    while (!atomic_load(&holder->stop))
        if (cpu->run(holder->device, &holder->task, &outcome, NULL) != TPD_OK)
            abort();
    return NULL;
}

/* One lane that another thread takes again and again: a run with no time to wait is refused soon, one that waits has its turn,
 * and none is wrong. */
START_TEST(deadline) {
    enum { SIDE = 1500 };
    struct tpd_guarded in = tpd_guarded_make(SIDE * SIDE * 4, 0), out = tpd_guarded_make(SIDE * SIDE * 4, 0),
                       mine = tpd_guarded_make(SIDE * SIDE * 4, 0);
    struct holder holder = {.device = open_cpu(1, 1)};
    holder.task = (struct tpd_task){
        .matrix = {SIDE, SIDE, 1, 4, TPD_DTYPE_FLOAT32}, .in = in.data, .out = out.data, .strategy = TPD_STRATEGY_AUTO};
    tpd_random_fill(in.data, in.bytes, 5);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, hold_the_lane, &holder), 0);
    struct tpd_task task = holder.task;
    struct tpd_outcome outcome;
    enum tpd_status status = TPD_OK;
    task.out = mine.data;
    for (int i = 0; i < 100 && status == TPD_OK; i++) {
        task.deadline_ns = tpd_clock_ns() + 1;
        status = cpu->run(holder.device, &task, &outcome, &error);
    }
    ck_assert_int_eq(status, TPD_DEADLINE);
    task.deadline_ns = tpd_clock_ns() + 60000000000u;
    ck_assert_ok(cpu->run(holder.device, &task, &outcome, &error), error);
    atomic_store(&holder.stop, true);
    pthread_join(thread, NULL);
    tpd_transpose_ref(&task.matrix, in.data, out.data);
    ck_assert_int_eq(memcmp(mine.data, out.data, out.bytes), 0);
    cpu->close(holder.device);
    tpd_guarded_free(&in);
    tpd_guarded_free(&out);
    tpd_guarded_free(&mine);
}
END_TEST

static Suite *suite(void) {
    Suite *all = suite_create("cpu");
    TCase *device = tcase_create("device");
    tcase_add_test(device, cases_are_right);
    tcase_add_test(device, public_call);
    tcase_add_test(device, table_of_back_ends);
    tcase_add_test(device, describes_itself);
    tcase_add_test(device, says_what_ran);
    tcase_add_test(device, refusals);
    tcase_add_test(device, concurrent_runs);
    tcase_add_test(device, deadline);
    suite_add_tcase(all, device);
    return all;
}

int main(void) {
    return tpd_harness_main(suite());
}
