/* test_cuda_status.c -- CUDA's codes in our words. */
#include <string.h>

#include "harness.h"
#include "kernels/cuda/cuda_status.h"

/* As CUDA's: the code of the last failure, cleared by asking unless it is sticky. */
static int pending, cleared;
static bool clings;
static int driver;

static int last_error(void) {
    int code = pending;
    cleared++;
    if (!clings)
        pending = 0;
    return code;
}
static const char *error_name(int code) {
    return code == 700 ? "cudaErrorIllegalAddress" : "cudaErrorOther";
}
static const char *error_text(int code) {
    return code == 700 ? "an illegal memory access was encountered" : "other";
}
static int driver_version(int *version) {
    *version = driver;
    return 0;
}
static int runtime_version(int *version) {
    *version = 13000;
    return 0;
}

static const struct tpd_cuda_calls calls = {.last_error = last_error,
                                            .error_name = error_name,
                                            .error_text = error_text,
                                            .driver_version = driver_version,
                                            .runtime_version = runtime_version};
static struct tpd_error error;

START_TEST(sticky_codes) {
    static const int codes[] = {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911};
    int sticky = 0;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        ck_assert_int_eq(tpd_cuda_status(codes[i]), TPD_DEVICE_LOST);
    for (int code = 0; code < 1200; code++)
        sticky += tpd_cuda_is_sticky(code);
    ck_assert_uint_eq((size_t)sticky, sizeof codes / sizeof codes[0]);
    ck_assert_int_eq(tpd_cuda_status(0), TPD_OK);
    ck_assert_int_eq(tpd_cuda_status(2), TPD_NO_MEMORY);
    ck_assert_int_eq(tpd_cuda_status(1), TPD_DEVICE_FAULT);
    ck_assert_int_eq(tpd_cuda_status(9), TPD_DEVICE_FAULT);
}
END_TEST

START_TEST(a_code_is_worded_cleared_and_counted) {
    struct tpd_device_error list[8];
    pending = 9;
    ck_assert_int_eq(tpd_cuda_fail(&calls, 9, 3, "transposing", &error), TPD_DEVICE_FAULT);
    ck_assert_str_eq(error.text, "cuda:3: transposing: other (cudaErrorOther, code 9)");
    ck_assert_int_eq(pending, 0);
    ck_assert_int_gt(cleared, 0);

    cleared = 0;
    ck_assert_int_eq(tpd_cuda_fail(&calls, 700, 0, "transposing", NULL), TPD_DEVICE_LOST);
    ck_assert_int_eq(cleared, 0);
    ck_assert_int_eq(tpd_cuda_fail(&calls, 700, 0, "transposing", &error), TPD_DEVICE_LOST);
    ck_assert_ptr_nonnull(strstr(error.text, "illegal memory access"));
    ck_assert_ptr_nonnull(strstr(error.text, "restarted"));
    ck_assert_int_eq(tpd_cuda_fail(&calls, 2, 0, "taking memory", &error), TPD_NO_MEMORY);

    ck_assert_uint_eq(tpd_cuda_errors(list, 8), 3);
    ck_assert_int_eq(list[0].code, 9);
    ck_assert_uint_eq(list[0].count, 1);
    ck_assert_int_eq(list[1].code, 700);
    ck_assert_str_eq(list[1].name, "cudaErrorIllegalAddress");
    ck_assert_uint_eq(list[1].count, 2);
    ck_assert_uint_eq(tpd_cuda_errors(list, 0), 0);
}
END_TEST

/* A number this program has never heard of, which the runtime goes on answering. */
START_TEST(what_outlives_its_clearing_is_lost) {
    pending = 1234;
    clings = true;
    ck_assert_int_eq(tpd_cuda_fail(&calls, 1234, 0, "transposing", &error), TPD_DEVICE_LOST);
    clings = false;
    pending = 0;
}
END_TEST

START_TEST(missing_device_code_says_how_to_build) {
    (void)tpd_cuda_fail(&calls, 209, 0, "warming a kernel", &error);
    ck_assert_ptr_nonnull(strstr(error.text, "TRANSPOSED_CUDA_ARCHITECTURES"));
}
END_TEST

START_TEST(more_codes_than_rows_lose_no_count) {
    struct tpd_device_error list[200];
    uint64_t counted = 0;
    for (int code = 1000; code < 1100; code++)
        (void)tpd_cuda_fail(&calls, code, 0, "transposing", NULL);
    uint32_t rows = tpd_cuda_errors(list, 200);
    ck_assert_uint_eq(rows, 64);
    for (uint32_t i = 0; i < rows; i++)
        counted += list[i].count;
    ck_assert_uint_eq(counted, 100);
}
END_TEST

START_TEST(no_device_says_why) {
    struct tpd_device_error list[8];
    driver = 0;
    tpd_cuda_no_device(&calls, 35, &error);
    ck_assert_ptr_nonnull(strstr(error.text, "no NVIDIA driver is loaded"));
    driver = 11080;
    tpd_cuda_no_device(&calls, 35, &error);
    ck_assert_ptr_nonnull(strstr(error.text, "CUDA 11.8 and this program needs 13.0"));
    tpd_cuda_no_device(&calls, 100, &error);
    ck_assert_ptr_nonnull(strstr(error.text, "CUDA_VISIBLE_DEVICES"));
    ck_assert_uint_eq(tpd_cuda_errors(list, 8), 0);
    tpd_cuda_no_device(&calls, 100, NULL);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("cuda_status");
    TCase *tests = tcase_create("codes");
    tcase_add_test(tests, sticky_codes);
    tcase_add_test(tests, a_code_is_worded_cleared_and_counted);
    tcase_add_test(tests, what_outlives_its_clearing_is_lost);
    tcase_add_test(tests, missing_device_code_says_how_to_build);
    tcase_add_test(tests, more_codes_than_rows_lose_no_count);
    tcase_add_test(tests, no_device_says_why);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return tpd_harness_main(suite());
}
