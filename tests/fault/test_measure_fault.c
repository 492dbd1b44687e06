/* test_measure_fault.c -- measurements on a GPU that fails on purpose: no time of a wrong transpose, nothing kept, no crash. */
#include <stdlib.h>
#include <string.h>

#include "cuda_rig.h"
#include "transposed/measure.h"

enum { MEMORY = 1 << 20, TURNS = 5 };

static struct tpd_measurement *result;
static struct tpd_error error;

static struct tpd_measure ask_of(uint64_t rows, uint64_t cols, uint32_t itemsize) {
    return (struct tpd_measure){.matrix = {rows, cols, 1, itemsize, TPD_DTYPE_OPAQUE},
                                .strategy = TPD_STRATEGY_AUTO,
                                .turns = TURNS,
                                .budget_ns = UINT64_MAX / 4};
}

static struct tpd_device *open_device(uint64_t nth, int code) {
    fake_cuda_reset(MEMORY, 0, 0);
    struct tpd_device *device = open_with((struct tpd_device_options){0});
    if (nth != 0)
        fake_cuda_fail(nth, code);
    return device;
}

static void setup(void) {
    use_fake();
    result = calloc(1, sizeof *result);
    if (result == NULL)
        abort();
}

static void teardown(void) {
    free(result);
    tpd_cuda_use(NULL);
}

START_TEST(times_of_each_turn) {
    static const uint32_t sizes[] = {1, 2, 4, 8, 16, 12};
    struct tpd_device *device = open_device(0, 0);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct tpd_measure ask = ask_of(37, 21, sizes[i]);
        ck_assert_ok(cuda->measure(device, &ask, result, &error), error);
        ck_assert_uint_eq(result->wrong_items, 0);
        ck_assert_uint_eq(result->turns, TURNS);
        ck_assert_ptr_nonnull(result->strategy);
        ck_assert_uint_eq(result->cache_most_bytes, 4096);
        for (int what = 0; what < TPD_MEASURED_COUNT; what++)
            for (int turn = 0; turn < TURNS; turn++) /* the fake's launches take a quarter of a millisecond a burst */
                ck_assert_double_eq_tol(result->seconds[what][turn], 0.25e-3 / tpd_measure_burst(37 * 21 * sizes[i]), 1e-9);
    }
    close_clean(device);
}
END_TEST

START_TEST(a_wrong_item_is_counted_and_nothing_is_timed) {
    struct tpd_device *device = open_device(0, 0);
    struct tpd_measure ask = ask_of(64, 48, 4);
    fake_cuda_lose_item();
    ck_assert_ok(cuda->measure(device, &ask, result, &error), error);
    ck_assert_uint_eq(result->wrong_items, 1);
    ck_assert_uint_eq(result->turns, 0);
    close_clean(device);
}
END_TEST

START_TEST(refusals_name_the_limit) {
    struct tpd_device *device = open_device(0, 0);
    struct tpd_measure ask = ask_of(1024, 1024, 16);
    ck_assert_int_eq(cuda->measure(device, &ask, result, &error), TPD_TOO_LARGE);
    ck_assert_uint_eq(error.actual, 16u << 20);
    ck_assert_ptr_nonnull(strstr(error.text, "pool"));
    ask = ask_of(64, 48, 3);
    ask.strategy = TPD_STRATEGY_PADDED;
    ck_assert_int_eq(cuda->measure(device, &ask, result, &error), TPD_UNSUPPORTED);
    close_clean(device);
}
END_TEST

static void fail_everywhere(int code, enum tpd_status expected) {
    bool came = true;
    for (uint64_t nth = 1; came; nth += nth < 40 ? 1 : 97) { /* all before the turns, then a few of each turn */
        struct tpd_device *device = open_device(nth, code);
        struct tpd_measure ask = ask_of(37, 21, 4);
        ask.turns = TPD_MEASURE_TURNS_LEAST;
        enum tpd_status status = cuda->measure(device, &ask, result, &error);
        came = fake_cuda_failed();
        if (status != TPD_OK) {
            ck_assert(came);
            ck_assert_int_eq(status, expected);
            ck_assert_str_ne(error.text, "");
        } else if (came) {
            ck_assert_uint_eq(result->turns, TPD_MEASURE_TURNS_LEAST); /* it was a handle's end that failed */
        }
        close_clean(device);
        ck_assert_uint_lt(nth, 5000);
    }
}

START_TEST(every_call_fails_once) {
    fail_everywhere(1, TPD_DEVICE_FAULT);
    fail_everywhere(700, TPD_DEVICE_LOST);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("measure_fault");
    TCase *tests = tcase_create("measure");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, times_of_each_turn);
    tcase_add_test(tests, a_wrong_item_is_counted_and_nothing_is_timed);
    tcase_add_test(tests, refusals_name_the_limit);
    tcase_add_test(tests, every_call_fails_once);
    suite_add_tcase(suite, tests);
    return tpd_harness_main(suite);
}
