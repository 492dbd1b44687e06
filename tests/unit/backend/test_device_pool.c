/* test_device_pool.c -- spans never overlap, nobody is passed over, every wait ends. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "harness.h"
#include "kernels/cuda/device_pool.h"
#include "transposed/clock.h"

static struct tpd_device_pool pool;
static struct tpd_error error;

static void make(uint64_t bytes) {
    ck_assert_ok(tpd_pool_init(&pool, bytes, &error), error);
}

static uint64_t take(uint64_t bytes) {
    uint64_t offset = UINT64_MAX;
    ck_assert_ok(tpd_pool_acquire(&pool, bytes, 1, &offset, &error), error);
    return offset;
}

START_TEST(first_fit_and_whole_units) {
    make(4 * 256 + 255); /* the rest of a unit is nobody's */
    ck_assert_uint_eq(pool.bytes, 1024);
    ck_assert_uint_eq(take(1), 0);
    ck_assert_uint_eq(take(257), 256);
    ck_assert_uint_eq(take(256), 768);
    ck_assert_uint_eq(tpd_pool_used_bytes(&pool), 1024);
    tpd_pool_release(&pool, 256);
    ck_assert_uint_eq(tpd_pool_used_bytes(&pool), 512);
    ck_assert_uint_eq(take(10), 256);
    ck_assert_uint_eq(take(10), 512);
    tpd_pool_release(&pool, 0);
    tpd_pool_release(&pool, 512);
    tpd_pool_release(&pool, 256); /* three neighbours, freed out of order, are one gap again */
    ck_assert_uint_eq(take(768), 0);
    tpd_pool_release(&pool, 12345); /* nobody's: ignored */
    ck_assert_uint_eq(tpd_pool_used_bytes(&pool), 1024);
    tpd_pool_fini(&pool);
}
END_TEST

START_TEST(too_large_names_both) {
    uint64_t offset;
    make(1024);
    ck_assert_int_eq(tpd_pool_acquire(&pool, 1025, 0, &offset, &error), TPD_TOO_LARGE);
    ck_assert_uint_eq(error.limit, 1024);
    ck_assert_uint_eq(error.actual, 1025);
    ck_assert_int_eq(tpd_pool_acquire(&pool, UINT64_MAX, 0, &offset, &error), TPD_TOO_LARGE);
    ck_assert_uint_eq(take(1024), 0);
    tpd_pool_fini(&pool);
}
END_TEST

START_TEST(a_deadline_ends_the_wait) {
    uint64_t offset;
    make(1024);
    (void)take(512);
    uint64_t before_ns = tpd_clock_ns();
    ck_assert_int_eq(tpd_pool_acquire(&pool, 1024, before_ns + 30000000, &offset, &error), TPD_DEADLINE);
    uint64_t waited_ns = tpd_clock_ns() - before_ns;
    ck_assert_uint_ge(waited_ns, 30000000);
    ck_assert_uint_lt(waited_ns, 2000000000);
    ck_assert_uint_eq(take(512), 512); /* who gave up stands in nobody's way */
    ck_assert_int_eq(tpd_pool_acquire(&pool, 1, 1, &offset, &error), TPD_DEADLINE);
    tpd_pool_fini(&pool);
}
END_TEST

START_TEST(the_ceiling_of_spans_waits_like_a_full_pool) {
    uint64_t offset;
    make(256 * (TPD_POOL_SPANS + 8));
    for (int i = 0; i < TPD_POOL_SPANS; i++)
        (void)take(1);
    ck_assert_int_eq(tpd_pool_acquire(&pool, 1, 1, &offset, &error), TPD_DEADLINE);
    tpd_pool_release(&pool, 256 * 5);
    ck_assert_uint_eq(take(1), 256 * 5);
    tpd_pool_fini(&pool);
}
END_TEST

/* Against a map of every unit. */
START_TEST(random_walk) {
    enum { UNITS = 300, HELD = 40 };
    unsigned char map[UNITS] = {0};
    struct tpd_pool_span held[HELD];
    uint32_t count = 0, taken = 0;
    uint64_t state = 11;
    make(256 * UNITS);
    for (int i = 0; i < 20000; i++) {
        if (count == HELD || (count != 0 && tpd_random(&state) % 5 < 2)) {
            uint32_t at = (uint32_t)(tpd_random(&state) % count);
            memset(map + held[at].offset / 256, 0, held[at].bytes / 256);
            tpd_pool_release(&pool, held[at].offset);
            held[at] = held[--count];
            continue;
        }
        uint64_t units = 1 + tpd_random(&state) % 25, offset, longest = 0, run = 0, first = UNITS;
        for (uint64_t u = 0; u < UNITS; u++) {
            run = map[u] != 0 ? 0 : run + 1;
            longest = run > longest ? run : longest;
            if (run == units && first == UNITS)
                first = u + 1 - units;
        }
        enum tpd_status status = tpd_pool_acquire(&pool, units * 256 - tpd_random(&state) % 256, 1, &offset, &error);
        ck_assert_int_eq(status, longest >= units ? TPD_OK : TPD_DEADLINE);
        if (status != TPD_OK)
            continue;
        ck_assert_uint_eq(offset, first * 256);
        memset(map + first, 1, units);
        held[count++] = (struct tpd_pool_span){offset, units * 256};
        taken++;
    }
    ck_assert_uint_gt(taken, 5000);
    tpd_pool_fini(&pool);
}
END_TEST

struct asker {
    uint64_t bytes, offset;
    enum tpd_status status;
    uint64_t done_ns;
};

static void *ask(void *argument) {
    struct asker *asker = argument;
    asker->status = tpd_pool_acquire(&pool, asker->bytes, 0, &asker->offset, NULL);
    asker->done_ns = tpd_clock_ns();
    return NULL;
}

/* Until `count` threads stand in line. */
static void await_line(int count) {
    for (int standing = -1; standing != count;) {
        struct timespec pause = {0, 1000000};
        (void)nanosleep(&pause, NULL);
        (void)pthread_mutex_lock(&pool.lock);
        standing = pool.first == NULL ? 0 : pool.first == pool.last ? 1 : 2;
        (void)pthread_mutex_unlock(&pool.lock);
    }
}

START_TEST(a_big_one_is_not_passed_over) {
    struct asker big = {.bytes = 1024}, small = {.bytes = 256};
    pthread_t threads[2];
    make(1024);
    (void)take(256);
    ck_assert_int_eq(pthread_create(&threads[0], NULL, ask, &big), 0);
    await_line(1);
    ck_assert_int_eq(pthread_create(&threads[1], NULL, ask, &small), 0); /* would fit at once */
    await_line(2);
    tpd_pool_release(&pool, 0);
    ck_assert_int_eq(pthread_join(threads[0], NULL), 0);
    ck_assert_int_eq(big.status, TPD_OK);
    tpd_pool_release(&pool, big.offset);
    ck_assert_int_eq(pthread_join(threads[1], NULL), 0);
    ck_assert_int_eq(small.status, TPD_OK);
    ck_assert_uint_le(big.done_ns, small.done_ns);
    tpd_pool_fini(&pool);
}
END_TEST

START_TEST(stop_wakes_everybody) {
    struct asker askers[2] = {{.bytes = 1024}, {.bytes = 512}};
    pthread_t threads[2];
    uint64_t offset;
    make(1024);
    (void)take(256);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
        await_line(i + 1);
    }
    tpd_pool_stop(&pool);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_int_eq(askers[i].status, TPD_DEVICE_LOST);
    }
    ck_assert_int_eq(tpd_pool_acquire(&pool, 1, 0, &offset, &error), TPD_DEVICE_LOST);
    tpd_pool_fini(&pool);
}
END_TEST

static void *churn(void *argument) {
    uint64_t state = *(uint64_t *)argument;
    static unsigned char owner[64]; /* by unit; touched only by who holds the unit: the sanitizers see an overlap */
    for (int i = 0; i < 2000; i++) {
        uint64_t offset, units = 1 + tpd_random(&state) % 20;
        if (tpd_pool_acquire(&pool, units * 256, 0, &offset, NULL) != TPD_OK)
            return argument;
        unsigned char mine = (unsigned char)tpd_random(&state);
        memset(owner + offset / 256, mine, units);
        for (uint64_t u = 0; u < units; u++)
            if (owner[offset / 256 + u] != mine)
                return argument;
        tpd_pool_release(&pool, offset);
    }
    return NULL;
}

START_TEST(many_threads) {
    pthread_t threads[6];
    uint64_t seeds[6];
    make(64 * 256);
    for (int i = 0; i < 6; i++) {
        seeds[i] = (uint64_t)i + 1;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, &seeds[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        void *failed;
        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
    ck_assert_uint_eq(tpd_pool_used_bytes(&pool), 0);
    tpd_pool_fini(&pool);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("device_pool");
    TCase *tests = tcase_create("pool");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, first_fit_and_whole_units);
    tcase_add_test(tests, too_large_names_both);
    tcase_add_test(tests, a_deadline_ends_the_wait);
    tcase_add_test(tests, the_ceiling_of_spans_waits_like_a_full_pool);
    tcase_add_test(tests, random_walk);
    tcase_add_test(tests, a_big_one_is_not_passed_over);
    tcase_add_test(tests, stop_wakes_everybody);
    tcase_add_test(tests, many_threads);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return tpd_harness_main(suite());
}
