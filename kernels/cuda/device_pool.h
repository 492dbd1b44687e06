/* device_pool.h -- shares one stretch of device memory among runs; the bookkeeping is on the host.
 *
 * Knows offsets alone, never a pointer. First fit in the order of asking: who waits is served before who comes later,
 * so that a big matrix is not passed over for ever by small ones.
 * Threads: init and fini from one; the rest from any.
 * Ceiling: TPD_POOL_SPANS spans held at once; one more waits like one that does not fit.
 */
#ifndef TPD_DEVICE_POOL_H
#define TPD_DEVICE_POOL_H

#include <pthread.h>

#include "transposed/status.h"

enum {
    TPD_POOL_ALIGNMENT = 256, /* bytes: what cudaMalloc itself promises */
    TPD_POOL_SPANS = 64
};

struct tpd_pool_span {
    uint64_t offset, bytes;
};
struct tpd_pool_waiter;

struct tpd_device_pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t bytes, used_bytes;
    uint32_t count;
    bool stopped;
    struct tpd_pool_waiter *first, *last;
    struct tpd_pool_span span[TPD_POOL_SPANS]; /* held ones, by offset: the gaps between are what is free */
};

/* What a span of so many bytes takes; bytes < 2^63. */
static inline uint64_t tpd_pool_room(uint64_t bytes) {
    return (bytes + TPD_POOL_ALIGNMENT - 1) / TPD_POOL_ALIGNMENT * TPD_POOL_ALIGNMENT;
}

/* Condition variable on the monotonic clock. Fails with TPD_NO_MEMORY. */
enum tpd_status tpd_pool_condition_init(pthread_mutex_t *lock, pthread_cond_t *changed, struct tpd_error *error) TPD_CHECKED;
/* Waits until signalled or deadline_ns (0: no deadline); false: the deadline has passed. Spurious wake-ups happen. */
bool tpd_pool_condition_wait(pthread_mutex_t *lock, pthread_cond_t *changed, uint64_t deadline_ns);

enum tpd_status tpd_pool_init(struct tpd_device_pool *pool, uint64_t bytes, struct tpd_error *error) TPD_CHECKED;
void tpd_pool_fini(struct tpd_device_pool *pool);

/* bytes > 0, and takes tpd_pool_room() of them; waits until deadline_ns (tpd_clock_ns(); 0 = no deadline).
 * Fails with TPD_TOO_LARGE (more than the pool has), TPD_DEADLINE, TPD_DEVICE_LOST (stopped). */
enum tpd_status tpd_pool_acquire(struct tpd_device_pool *pool, uint64_t bytes, uint64_t deadline_ns, uint64_t *offset,
                                 struct tpd_error *error) TPD_CHECKED;
void tpd_pool_release(struct tpd_device_pool *pool, uint64_t offset);
/* For good: who waits and who asks later gets TPD_DEVICE_LOST. */
void tpd_pool_stop(struct tpd_device_pool *pool);
uint64_t tpd_pool_used_bytes(struct tpd_device_pool *pool);

#endif
