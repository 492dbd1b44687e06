/* test_simt.c -- the lane-by-lane back end: the whole case list, its limits, and several runs at once. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "harness.h"
#include "transposed/clock.h"
#include "transposed/transposed.h"

static const struct tpd_backend *simt;

static struct tpd_device *open_with(struct tpd_device_options options) {
    struct tpd_device *device = NULL;
    struct tpd_error error;
    simt = tpd_backend_at(TPD_BACKEND_SIMT);
    ck_assert_ok(simt->open(0, &options, &device, &error), error);
    return device;
}

static struct tpd_device *open_default(void) {
    struct tpd_device_options options = {.lanes = 0};
    return open_with(options);
}

START_TEST(case_list) {
    struct tpd_device *device = open_default();
    struct tpd_cases cases = tpd_cases_begin(TPD_CASES_QUICK);
    struct tpd_case one;
    int count = 0;
    while (tpd_cases_next(&cases, &one)) {
        tpd_case_prove(simt, device, &one);
        count++;
    }
    ck_assert_int_gt(count, 3000); /* the list is there */
    simt->close(device);
}
END_TEST

START_TEST(says_what_it_is) {
    struct tpd_device *device = open_default();
    struct tpd_device_info info;
    simt->info(device, &info);
    ck_assert_str_eq(info.id, "simt");
    ck_assert_str_eq(info.kind, tpd_backend_name(TPD_BACKEND_SIMT));
    ck_assert_int_eq(info.state, TPD_STATE_READY);
    ck_assert_uint_eq(info.shared_most_bytes, 232448);
    ck_assert_uint_gt(info.lanes, 0);
    ck_assert_uint_eq(simt->count(NULL), 1);
    simt->close(device);
    simt->close(NULL);
    struct tpd_device_options options = {.lanes = 0};
    struct tpd_error error;
    ck_assert_int_eq(simt->open(1, &options, &device, &error), TPD_UNKNOWN_DEVICE);
    tpd_heap_begin(1);
    ck_assert_int_eq(simt->open(0, &options, &device, &error), TPD_NO_MEMORY);
    ck_assert_int_eq(tpd_heap_end(), 1);
}
END_TEST

START_TEST(outcome_tells_what_ran) {
    struct tpd_device_options options = {.tile = {64, 16}};
    struct tpd_device *device = open_with(options);
    unsigned char in[40 * 50], out[40 * 50];
    struct tpd_task task = {.matrix = {40, 50, 1, 1, TPD_DTYPE_UINT8}, .in = in, .out = out, .strategy = TPD_STRATEGY_AUTO};
    struct tpd_outcome outcome;
    struct tpd_error error;
    tpd_random_fill(in, sizeof in, 3);
    ck_assert_ok(simt->run(device, &task, &outcome, &error), error);
    ck_assert_str_eq(outcome.strategy, "padded");
    ck_assert(outcome.tile.rows == 64 && outcome.tile.cols == 16); /* the device's */
    ck_assert_uint_gt(outcome.kernel_ns, 0);
    ck_assert(outcome.h2d_ns == 0 && outcome.d2h_ns == 0);
    task.tile.rows = 16;
    task.tile.cols = 128;
    ck_assert_ok(simt->run(device, &task, &outcome, &error), error);
    ck_assert(outcome.tile.rows == 16 && outcome.tile.cols == 128); /* the task's own */
    tpd_heap_begin(1);
    ck_assert_int_eq(simt->run(device, &task, &outcome, &error), TPD_NO_MEMORY);
    ck_assert_int_eq(tpd_heap_end(), 1);
    simt->close(device);
}
END_TEST

START_TEST(limits_are_named) {
    struct tpd_device *device = open_default();
    struct tpd_task task = {.matrix = {8192, 8193, 1, 4, TPD_DTYPE_FLOAT32}, .strategy = TPD_STRATEGY_AUTO};
    struct tpd_outcome outcome;
    struct tpd_error error;
    ck_assert_int_eq(simt->check(device, &task, &error), TPD_TOO_LARGE);
    ck_assert_uint_eq(error.limit, 64 * 1024 * 1024);
    ck_assert_uint_eq(error.actual, 8192 * 8193);
    ck_assert_int_eq(simt->run(device, &task, &outcome, &error), TPD_TOO_LARGE); /* and touches no memory */
    task.matrix.cols = 8192;
    ck_assert_ok(simt->check(device, &task, &error), error);
    task.strategy = TPD_STRATEGY_SWIZZLED;
    task.matrix.itemsize = 16;
    task.tile.rows = task.tile.cols = 128;
    ck_assert_int_eq(simt->check(device, &task, &error), TPD_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "232448"));
    simt->close(device);
}
END_TEST

/* A lane held by a long run: others wait until their deadline, and run once it is free. */
struct run {
    struct tpd_device *device;
    uint64_t side;
    int failed;
};

static void *run_square(void *context) {
    struct run *run = context;
    size_t bytes = (size_t)(run->side * run->side * 4);
    unsigned char *in = malloc(bytes), *out = malloc(bytes), *expected = malloc(bytes);
    struct tpd_task task = {.matrix = {run->side, run->side, 1, 4, TPD_DTYPE_FLOAT32}, .in = in, .out = out};
    struct tpd_outcome outcome;
    struct tpd_error error;
    run->failed = 1;
    if (in != NULL && out != NULL && expected != NULL) {
        tpd_random_fill(in, bytes, run->side);
        task.strategy = TPD_STRATEGY_ROTATED;
        tpd_transpose_ref(&task.matrix, in, expected);
        run->failed = simt->run(run->device, &task, &outcome, &error) != TPD_OK || memcmp(out, expected, bytes) != 0;
    }
    free(in);
    free(out);
    free(expected);
    return NULL;
}

START_TEST(runs_overlap_and_wait) {
    enum { RUNS = 6 };
    struct tpd_device_options options = {.lanes = 2};
    struct run runs[RUNS];
    pthread_t threads[RUNS];
    struct tpd_device *device = open_with(options);
    for (int i = 0; i < RUNS; i++) {
        runs[i] = (struct run){device, 100 + (uint64_t)i, 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_square, &runs[i]), 0);
    }
    for (int i = 0; i < RUNS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_int_eq(runs[i].failed, 0);
    }
    simt->close(device);
}
END_TEST

START_TEST(deadline_is_kept) {
    struct tpd_device_options options = {.lanes = 1};
    struct tpd_device *device = open_with(options);
    struct run busy = {device, 2000, 0};
    pthread_t thread;
    unsigned char in[4] = {1, 2, 3, 4}, out[4];
    struct tpd_task task = {.matrix = {2, 2, 1, 1, TPD_DTYPE_UINT8}, .in = in, .out = out, .strategy = TPD_STRATEGY_NAIVE};
    struct tpd_outcome outcome;
    struct tpd_error error;
    ck_assert_int_eq(pthread_create(&thread, NULL, run_square, &busy), 0);
    enum tpd_status status = TPD_OK;
    uint64_t until_ns = tpd_clock_ns() + UINT64_C(30000000000);
    while (status == TPD_OK && tpd_clock_ns() < until_ns) { /* until the other run has the lane */
        task.deadline_ns = tpd_clock_ns() + 100000;
        status = simt->run(device, &task, &outcome, &error);
    }
    ck_assert_int_eq(status, TPD_DEADLINE);
    task.deadline_ns = 0;
    ck_assert_ok(simt->run(device, &task, &outcome, &error), error);
    ck_assert_int_eq(memcmp(out, (unsigned char[]){1, 3, 2, 4}, 4), 0);
    ck_assert_uint_gt(outcome.wait_ns, 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(busy.failed, 0);
    simt->close(device);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("simt");
    TCase *tests = tcase_create("simt");
    tcase_add_test(tests, case_list);
    tcase_add_test(tests, says_what_it_is);
    tcase_add_test(tests, outcome_tells_what_ran);
    tcase_add_test(tests, limits_are_named);
    tcase_add_test(tests, runs_overlap_and_wait);
    tcase_add_test(tests, deadline_is_kept);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return tpd_harness_main(suite());
}
