/* condition.c -- see condition.h. */
#include "transposed/condition.h"

#include <time.h>

enum { SECOND_NS = 1000000000 };

static bool init_monotonic(pthread_cond_t *changed) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 && pthread_cond_init(changed, &attributes) == 0;
    (void)pthread_condattr_destroy(&attributes);
    return made;
}

enum tpd_status tpd_condition_init(pthread_mutex_t *lock, pthread_cond_t *changed, struct tpd_error *error) {
    if (pthread_mutex_init(lock, NULL) != 0)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no lock");
    if (init_monotonic(changed))
        return TPD_OK;
    (void)pthread_mutex_destroy(lock);
    return tpd_fail(error, TPD_NO_MEMORY, "the system gave no condition variable");
}

void tpd_condition_fini(pthread_mutex_t *lock, pthread_cond_t *changed) {
    (void)pthread_cond_destroy(changed);
    (void)pthread_mutex_destroy(lock);
}

bool tpd_condition_wait(pthread_mutex_t *lock, pthread_cond_t *changed, uint64_t deadline_ns) {
    if (deadline_ns == 0)
        return pthread_cond_wait(changed, lock) == 0;
    const struct timespec until = {.tv_sec = (time_t)(deadline_ns / SECOND_NS), .tv_nsec = (long)(deadline_ns % SECOND_NS)};
    return pthread_cond_timedwait(changed, lock, &until) == 0;
}
