/* test_condition.c -- a wait ends by the monotonic clock, neither before its deadline nor never, or by a signal. */
#include "harness.h"
#include "transposed/clock.h"
#include "transposed/condition.h"

enum { MS_NS = 1000000 };

struct door {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open;
};

static void *open_door(void *self) {
    struct door *door = self;
    pthread_mutex_lock(&door->lock);
    door->is_open = true;
    pthread_cond_signal(&door->changed);
    pthread_mutex_unlock(&door->lock);
    return NULL;
}

START_TEST(deadline_passes) {
    struct door door;
    struct tpd_error error;
    ck_assert_ok(tpd_condition_init(&door.lock, &door.changed, &error), error);
    pthread_mutex_lock(&door.lock);
    for (uint64_t wait_ns = 0; wait_ns <= 40 * MS_NS; wait_ns += 20 * MS_NS) {
        uint64_t deadline_ns = tpd_clock_ns() + wait_ns;
        while (tpd_condition_wait(&door.lock, &door.changed, deadline_ns))
            ck_assert_uint_lt(tpd_clock_ns(), deadline_ns + 10000ull * MS_NS);
        ck_assert_uint_ge(tpd_clock_ns(), deadline_ns);
    }
    pthread_mutex_unlock(&door.lock);
    tpd_condition_fini(&door.lock, &door.changed);
}
END_TEST

/* The lock is given away while it waits: else nobody could open. */
START_TEST(signal_ends_it) {
    for (int has_deadline = 0; has_deadline < 2; has_deadline++) {
        struct door door = {.is_open = false};
        struct tpd_error error;
        pthread_t opener;
        bool in_time = true;
        ck_assert_ok(tpd_condition_init(&door.lock, &door.changed, &error), error);
        pthread_mutex_lock(&door.lock);
        ck_assert_int_eq(pthread_create(&opener, NULL, open_door, &door), 0);
        uint64_t deadline_ns = has_deadline != 0 ? tpd_clock_ns() + 60000ull * MS_NS : 0;
        while (!door.is_open && in_time)
            in_time = tpd_condition_wait(&door.lock, &door.changed, deadline_ns);
        ck_assert(door.is_open && in_time);
        pthread_mutex_unlock(&door.lock);
        pthread_join(opener, NULL);
        tpd_condition_fini(&door.lock, &door.changed);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *all = suite_create("condition");
    TCase *core = tcase_create("core");
    tcase_add_test(core, deadline_passes);
    tcase_add_test(core, signal_ends_it);
    suite_add_tcase(all, core);
    return all;
}

int main(void) {
    return tpd_harness_main(suite());
}
