/* condition.h -- a lock and a condition variable whose deadlines are tpd_clock_ns()'s. */
#ifndef TRANSPOSED_CONDITION_H
#define TRANSPOSED_CONDITION_H

#include <pthread.h>

#include "transposed/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fails with TPD_NO_MEMORY, and then neither is there. */
enum tpd_status tpd_condition_init(pthread_mutex_t *lock, pthread_cond_t *changed, struct tpd_error *error) TPD_CHECKED;
void tpd_condition_fini(pthread_mutex_t *lock, pthread_cond_t *changed);
/* Under the lock, until it is signalled, or wakes up for nothing. False: deadline_ns has come (0: there is none). */
bool tpd_condition_wait(pthread_mutex_t *lock, pthread_cond_t *changed, uint64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif
