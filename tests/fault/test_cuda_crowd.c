/* test_cuda_crowd.c -- many threads on one GPU, on the fake one: they share its lanes and its memory, wait no longer than their
 * deadlines, and get no wrong bytes, even when the device dies under them. */
#include <pthread.h>
#include <string.h>

#include "cuda_work.h"
#include "kernels/cuda/cuda_device.h"
#include "transposed/clock.h"

struct crowd {
    struct tpd_device *device;
    uint64_t seed;
    uint32_t wrong, failed, ran;
};

static void *crowd_main(void *argument) {
    struct crowd *crowd = argument;
    for (uint64_t i = 0; i < 40; i++) {
        struct work work =
            make_work(1 + (crowd->seed * 31 + i * 17) % 90, 1 + (i * 13) % 70, 1u << (i % 5), crowd->seed * 1000 + i);
        struct tpd_outcome outcome;
        if (cuda->run(crowd->device, &work.task, &outcome, NULL) != TPD_OK)
            crowd->failed++;
        else if (!is_right(&work))
            crowd->wrong++;
        else
            crowd->ran++;
        end_work(&work);
    }
    return NULL;
}

static void run_crowd(struct tpd_device *device, struct crowd crowd[8]) {
    pthread_t thread[8];
    for (uint64_t i = 0; i < 8; i++) {
        crowd[i] = (struct crowd){.device = device, .seed = i + 1};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, crowd_main, &crowd[i]), 0);
    }
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
}

START_TEST(eight_threads_on_three_lanes) {
    struct crowd crowd[8];
    fake_cuda_reset(MEMORY, 0, 0);
    struct tpd_device *device = open_device(3);
    fake_cuda_slow(1);
    run_crowd(device, crowd);
    for (int i = 0; i < 8; i++) {
        ck_assert_uint_eq(crowd[i].wrong, 0);
        ck_assert_uint_eq(crowd[i].failed, 0);
    }
    ck_assert_uint_ge(fake_cuda_most_streams(), 2);
    ck_assert_uint_le(fake_cuda_most_streams(), 3);
    close_clean(device);
}
END_TEST

/* The device dies in the middle: who waits is woken, who ran fails, nobody gets wrong bytes. */
START_TEST(eight_threads_lose_the_device) {
    struct crowd crowd[8];
    uint32_t ran = 0, failed = 0;
    fake_cuda_reset(MEMORY, 0, 0);
    struct tpd_device *device = open_device(3);
    fake_cuda_fail(700, CODE_ADDRESS);
    run_crowd(device, crowd);
    for (int i = 0; i < 8; i++) {
        ck_assert_uint_eq(crowd[i].wrong, 0);
        ran += crowd[i].ran;
        failed += crowd[i].failed;
    }
    ck_assert_uint_gt(ran, 0);
    ck_assert_uint_gt(failed, 0);
    close_clean(device);
}
END_TEST

static void *long_run(void *argument) {
    struct crowd *crowd = argument;
    struct work work = make_work(256, 256, 4, 3); /* in and out fill the pool */
    struct tpd_outcome outcome;
    crowd->failed = cuda->run(crowd->device, &work.task, &outcome, NULL) != TPD_OK || !is_right(&work);
    end_work(&work);
    return NULL;
}

static void run_beside_a_long_one(uint32_t lanes, const char *expected_text) {
    pthread_t thread;
    fake_cuda_reset(MEMORY, 0, 0);
    struct tpd_device *device = open_device(lanes);
    /* Every run takes memory, whatever was measured. */
    device->mapped = device->mapped_uneven = (struct tpd_cuda_sizes){0, UINT64_MAX};
    device->panels_least_bytes = UINT64_MAX;
    struct crowd crowd = {.device = device};
    struct tpd_device_info info;
    fake_cuda_slow(400);
    ck_assert_int_eq(pthread_create(&thread, NULL, long_run, &crowd), 0);
    do
        cuda->info(device, &info);
    while (info.memory_used_bytes == 0);

    struct work work = make_work(16, 16, 4, 9);
    struct tpd_error error = {0};
    uint64_t before_ns = tpd_clock_ns();
    work.task.deadline_ns = before_ns + 50000000;
    ck_assert_int_eq(run_once(device, &work, &error), TPD_DEADLINE);
    uint64_t waited_ns = tpd_clock_ns() - before_ns;
    ck_assert_uint_ge(waited_ns, 50000000);
    ck_assert_uint_lt(waited_ns, 300000000);
    ck_assert_msg(strstr(error.text, expected_text) != NULL, "%s", error.text);

    struct tpd_outcome outcome;
    work.task.deadline_ns = 0;
    ck_assert_ok(cuda->run(device, &work.task, &outcome, &error), error);
    ck_assert(is_right(&work));
    ck_assert_uint_gt(outcome.wait_ns, 10000000);
    ck_assert_uint_eq(outcome.kernel_ns, 250000);
    ck_assert_uint_eq(outcome.h2d_ns, 250000);
    ck_assert_uint_eq(outcome.d2h_ns, 250000);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(crowd.failed, 0);
    end_work(&work);
    close_clean(device);
}

/* Half of 1 MiB is the pool, and half of that holds a matrix of 256 KiB: the long run takes all of it. */
START_TEST(no_memory_until_the_deadline) {
    run_beside_a_long_one(2, "device memory");
}
END_TEST

START_TEST(no_lane_until_the_deadline) {
    run_beside_a_long_one(1, "lanes");
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("cuda_crowd");
    TCase *tests = tcase_create("fake device");
    tcase_add_checked_fixture(tests, use_fake, NULL);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, eight_threads_on_three_lanes);
    tcase_add_test(tests, eight_threads_lose_the_device);
    tcase_add_test(tests, no_memory_until_the_deadline);
    tcase_add_test(tests, no_lane_until_the_deadline);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return tpd_harness_main(suite());
}
