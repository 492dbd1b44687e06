/* test_cuda_fault.c -- the CUDA back end on a device that fails on purpose: no crash, no wrong bytes, nothing kept. */
#include <string.h>

#include "cuda_work.h"

static void check_after_failure(struct tpd_device *device, const struct work *again, bool sticky) {
    struct tpd_device_info info;
    struct tpd_error error = {0};
    cuda->info(device, &info);
    enum tpd_status status = run_once(device, again, &error);
    ck_assert_uint_eq(info.memory_used_bytes, 0);
    if (sticky) {
        ck_assert_int_eq(info.state, TPD_STATE_LOST);
        ck_assert_str_ne(info.reason, "");
        ck_assert_int_eq(status, TPD_DEVICE_LOST);
        ck_assert_str_eq(error.text, info.reason);
        ck_assert_ptr_null(cuda->host_alloc(64));
    } else {
        ck_assert_int_eq(info.state, TPD_STATE_READY);
        ck_assert_str_eq(info.reason, "");
        ck_assert_ok(status, error);
    }
}

/* One life of a device with its nth call failing; true when that call came. */
static bool one_life(uint64_t nth, int code, bool sticky) {
    struct work first = make_work(37, 21, 4, nth), second = make_work(5, 64, 16, nth + 1);
    struct tpd_device_options options = {.tile = {64, 64}};
    struct tpd_device *device = NULL;
    struct tpd_error error = {0};
    fake_cuda_reset(MEMORY, nth, code);
    if (cuda->count(&error) == 0) {
        ck_assert(fake_cuda_failed());
        ck_assert_str_ne(error.text, "");
    } else if (cuda->open(0, &options, &device, &error) != TPD_OK) {
        ck_assert(fake_cuda_failed());
        ck_assert_ptr_null(device);
        ck_assert_str_ne(error.text, "");
        if (sticky)
            ck_assert_int_eq(error.status, TPD_DEVICE_LOST);
    } else {
        bool failed_before = fake_cuda_failed();
        void *pinned = failed_before ? NULL : cuda->host_alloc(1000);
        bool pinned_failed = fake_cuda_failed() && !failed_before;
        ck_assert(pinned != NULL || fake_cuda_failed());
        enum tpd_status status = run_once(device, &first, &error);
        if (status == TPD_OK)
            status = run_once(device, &second, &error);
        if (status != TPD_OK) {
            ck_assert(fake_cuda_failed());
            ck_assert_str_ne(error.text, "");
            ck_assert_uint_eq(fake_cuda_queued(), 0); /* else the device still works on what the caller has back */
            ck_assert_int_eq(status, sticky ? TPD_DEVICE_LOST : code == CODE_MEMORY ? TPD_NO_MEMORY : TPD_DEVICE_FAULT);
            check_after_failure(device, &first, sticky);
        } else {
            ck_assert(!(sticky && pinned_failed));
        }
        if (pinned != NULL)
            cuda->host_free(pinned, 1000);
    }
    cuda->close(device);
    ck_assert_msg(fake_cuda_mistakes() == 0, "call %lu, code %d: %s", (unsigned long)nth, code, fake_cuda_mistake());
    ck_assert_msg(fake_cuda_held() == 0, "call %lu, code %d: %u handles kept", (unsigned long)nth, code, fake_cuda_held());
    end_work(&first);
    end_work(&second);
    return fake_cuda_failed();
}

static const struct {
    int code;
    bool sticky;
} faults[] = {{CODE_INVALID, false}, {CODE_MEMORY, false}, {CODE_ADDRESS, true}, {CODE_LAUNCH, true}};

START_TEST(every_call_fails_once) {
    uint64_t nth = 1;
    /* Of two codes alike the second is made at every third call. */
    while (one_life(nth, faults[_i].code, faults[_i].sticky)) {
        nth += _i % 2 == 0 ? 1 : 3;
        ck_assert_uint_lt(nth, 5000);
    }
    ck_assert_uint_gt(nth, 50); /* else the loop saw nothing of a run */
}
END_TEST

START_TEST(every_allocation_fails_once) {
    for (uint64_t nth = 1, failed = 1; failed != 0; nth++) {
        struct tpd_device_options options = {0};
        struct tpd_device *device = NULL;
        struct tpd_error error = {0};
        fake_cuda_reset(MEMORY, 0, 0);
        tpd_heap_begin(nth);
        enum tpd_status status = cuda->open(0, &options, &device, &error);
        cuda->close(device);
        failed = (uint64_t)tpd_heap_end();
        ck_assert_int_eq(status, failed != 0 ? TPD_NO_MEMORY : TPD_OK);
        ck_assert_uint_eq(fake_cuda_held(), 0);
    }
}
END_TEST

/* Counts live as long as the process, and each test is a process of its own: they start at nothing. */
START_TEST(errors_are_counted) {
    struct tpd_device_error list[64];
    struct tpd_device_options options = {0};
    struct tpd_device *device = NULL;
    struct tpd_error error = {0};
    ck_assert_uint_eq(cuda->errors(list, 64), 0);
    for (uint64_t i = 1; i <= 2; i++) {
        fake_cuda_reset(MEMORY, 2 + i, CODE_INVALID);
        ck_assert_int_eq(cuda->open(0, &options, &device, &error), TPD_DEVICE_FAULT);
        ck_assert_uint_eq(cuda->errors(list, 64), 1);
        ck_assert_int_eq(list[0].code, CODE_INVALID);
        ck_assert_str_eq(list[0].name, "cudaErrorFake");
        ck_assert_uint_eq(list[0].count, i);
    }
    fake_cuda_reset(MEMORY, 1, CODE_ADDRESS);
    ck_assert_int_eq(cuda->open(0, &options, &device, &error), TPD_DEVICE_LOST);
    ck_assert_uint_eq(cuda->errors(list, 64), 2);
    ck_assert_uint_eq(cuda->errors(list, 1), 1);
}
END_TEST

START_TEST(check_names_limits) {
    fake_cuda_reset(MEMORY, 0, 0);
    struct tpd_device *device = open_device(0);
    struct tpd_task task = {.strategy = TPD_STRATEGY_AUTO};
    struct tpd_error error = {0};
    task.matrix = (struct tpd_matrix){.rows = 256, .cols = 256, .batch = 1, .itemsize = 4, .dtype = TPD_DTYPE_FLOAT32};
    ck_assert_ok(cuda->check(device, &task, &error), error);
    task.matrix.rows = 1u << 30; /* past the pool: in panels */
    ck_assert_ok(cuda->check(device, &task, &error), error);
    task.matrix.rows = UINT64_MAX / 2;
    ck_assert_int_eq(cuda->check(device, &task, &error), TPD_SIZE_OVERFLOW);
    task.matrix = (struct tpd_matrix){.rows = 4, .cols = 4, .batch = 1, .itemsize = 16, .dtype = TPD_DTYPE_OPAQUE};
    task.strategy = TPD_STRATEGY_PADDED;
    task.tile = (struct tpd_tile){128, 128};
    ck_assert_int_eq(cuda->check(device, &task, &error), TPD_UNSUPPORTED);
    ck_assert_msg(strstr(error.text, "232448") != NULL, "names the device's limit: %s", error.text);
    task.strategy = TPD_STRATEGY_NAIVE;
    task.tile = (struct tpd_tile){0, 0};
    task.matrix.itemsize = 12;
    ck_assert_int_eq(cuda->check(device, &task, &error), TPD_UNSUPPORTED);
    close_clean(device);
}
END_TEST

START_TEST(occupancy_is_the_drivers) {
    struct tpd_matrix matrix = {.rows = 64, .cols = 64, .batch = 1, .itemsize = 16, .dtype = TPD_DTYPE_OPAQUE};
    struct tpd_error error = {0};
    struct tpd_plan plan;
    uint32_t registers = 0, blocks = 0;
    fake_cuda_reset(MEMORY, 0, 0);
    struct tpd_device *device = open_device(1);
    ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_PADDED, &matrix, (struct tpd_tile){0, 0}, UINT64_MAX, &plan, &error), error);
    ck_assert_ok(cuda->occupancy(device, &plan, &registers, &blocks, &error), error);
    ck_assert_uint_eq(registers, 40 + TPD_STRATEGY_PADDED);
    ck_assert_uint_eq(blocks, 5);
    ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_NAIVE, &matrix, (struct tpd_tile){128, 128}, UINT64_MAX, &plan, &error), error);
    ck_assert_int_eq(cuda->occupancy(device, &plan, &registers, &blocks, &error), TPD_UNSUPPORTED);
    ck_assert_msg(strstr(error.text, "262144") != NULL, "names the block's bytes: %s", error.text);
    close_clean(device);
}
END_TEST

START_TEST(open_names_the_memory_it_asked_for) {
    struct tpd_device_options options = {.device_memory_bytes = 2 * MEMORY};
    struct tpd_device *device = NULL;
    struct tpd_error error = {0};
    fake_cuda_reset(MEMORY, 0, 0);
    ck_assert_int_eq(cuda->open(0, &options, &device, &error), TPD_NO_MEMORY);
    ck_assert_msg(strstr(error.text, "1048576") != NULL && strstr(error.text, "2097152") != NULL, "%s", error.text);
    options.device_memory_bytes = 1;
    ck_assert_int_eq(cuda->open(0, &options, &device, &error), TPD_CONFIG);
    ck_assert_uint_eq(fake_cuda_held(), 0);
}
END_TEST

START_TEST(a_machine_without_a_gpu_says_why) {
    static const struct {
        int code, count, driver;
        const char *says;
    } machines[] = {{35, 0, 0, "no NVIDIA driver"}, {35, 0, 12020, "12.2"},     {100, 0, 13000, "no GPU"},
                    {0, 0, 13000, "no GPU"},        {803, 0, 13000, "restart"}, {999, 0, 13000, "999"}};
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        struct tpd_error error = {0};
        fake_cuda_reset(MEMORY, 0, 0);
        fake_cuda_machine(machines[i].code, machines[i].count, machines[i].driver);
        ck_assert_uint_eq(cuda->count(&error), 0);
        ck_assert_msg(strstr(error.text, machines[i].says) != NULL, "%s: %s", machines[i].says, error.text);
        ck_assert_ptr_null(cuda->host_alloc(16));
        ck_assert_uint_le(fake_cuda_calls(), 3);
    }
}
END_TEST

/* Odd items, one row, one column: nothing that a matrix may be is special on its way. */
START_TEST(unusual_matrices) {
    static const struct {
        uint64_t rows, cols;
        uint32_t itemsize;
    } cases[] = {{1, 1000, 4}, {1000, 1, 2}, {1, 1, 16}, {17, 9, 12}, {3, 5, 4096}, {33, 65, 3}};
    fake_cuda_reset(MEMORY, 0, 0);
    struct tpd_device *device = open_device(0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct work work = make_work(cases[i].rows, cases[i].cols, cases[i].itemsize, i + 1);
        struct tpd_error error = {0};
        ck_assert_ok(run_once(device, &work, &error), error);
        end_work(&work);
    }
    close_clean(device);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("cuda_fault");
    TCase *tests = tcase_create("fake device");
    tcase_add_checked_fixture(tests, use_fake, NULL);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, every_call_fails_once, 0, sizeof faults / sizeof faults[0]);
    tcase_add_test(tests, every_allocation_fails_once);
    tcase_add_test(tests, errors_are_counted);
    tcase_add_test(tests, check_names_limits);
    tcase_add_test(tests, occupancy_is_the_drivers);
    tcase_add_test(tests, open_names_the_memory_it_asked_for);
    tcase_add_test(tests, a_machine_without_a_gpu_says_why);
    tcase_add_test(tests, unusual_matrices);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return tpd_harness_main(suite());
}
