/* device_pool.c -- see device_pool.h. Held spans in a sorted array: gaps need no list, so neighbours never need merging. */
#include "kernels/cuda/device_pool.h"

#include <inttypes.h>
#include <string.h>

#include "transposed/condition.h"

/* Lives on the waiting thread's stack. */
struct tpd_pool_waiter {
    struct tpd_pool_waiter *next;
};

enum tpd_status tpd_pool_condition_init(pthread_mutex_t *lock, pthread_cond_t *changed, struct tpd_error *error) {
    return tpd_condition_init(lock, changed, error);
}

bool tpd_pool_condition_wait(pthread_mutex_t *lock, pthread_cond_t *changed, uint64_t deadline_ns) {
    return tpd_condition_wait(lock, changed, deadline_ns);
}

enum tpd_status tpd_pool_init(struct tpd_device_pool *pool, uint64_t bytes, struct tpd_error *error) {
    memset(pool, 0, sizeof *pool);
    pool->bytes = bytes - bytes % TPD_POOL_ALIGNMENT;
    return tpd_pool_condition_init(&pool->lock, &pool->changed, error);
}

void tpd_pool_fini(struct tpd_device_pool *pool) {
    (void)pthread_cond_destroy(&pool->changed);
    (void)pthread_mutex_destroy(&pool->lock);
}

/* The first gap that is long enough: its place in the array and its offset. */
static bool find_gap(const struct tpd_device_pool *pool, uint64_t bytes, uint32_t *at, uint64_t *offset) {
    if (pool->count == TPD_POOL_SPANS)
        return false;
    uint64_t from = 0;
    for (uint32_t i = 0; i <= pool->count; i++) {
        uint64_t to = i < pool->count ? pool->span[i].offset : pool->bytes;
        if (to - from >= bytes) {
            *at = i;
            *offset = from;
            return true;
        }
        if (i < pool->count)
            from = pool->span[i].offset + pool->span[i].bytes;
    }
    return false;
}

static void leave_line(struct tpd_device_pool *pool, struct tpd_pool_waiter *me) {
    struct tpd_pool_waiter **link = &pool->first, *before = NULL;
    for (; *link != me; link = &(*link)->next)
        before = *link;
    *link = me->next;
    if (pool->last == me)
        pool->last = before;
}

enum tpd_status tpd_pool_acquire(struct tpd_device_pool *pool, uint64_t bytes, uint64_t deadline_ns, uint64_t *offset,
                                 struct tpd_error *error) {
    if (bytes > pool->bytes) /* a whole number of units, so rounding up below stays within it */
        return tpd_fail_limit(error, TPD_TOO_LARGE, pool->bytes, bytes,
                              "%" PRIu64 " bytes of device memory are needed and the pool has %" PRIu64
                              ": send a smaller matrix or raise device_memory_bytes",
                              bytes, pool->bytes);
    bytes = tpd_pool_room(bytes);

    struct tpd_pool_waiter me = {NULL};
    enum tpd_status status = TPD_OK;
    uint32_t at = 0;
    (void)pthread_mutex_lock(&pool->lock);
    if (pool->last != NULL)
        pool->last->next = &me;
    else
        pool->first = &me;
    pool->last = &me;
    bool in_time = true, ready;
    while (!(ready = pool->first == &me && find_gap(pool, bytes, &at, offset)) && !pool->stopped && in_time)
        in_time = tpd_pool_condition_wait(&pool->lock, &pool->changed, deadline_ns);
    if (pool->stopped) {
        status = tpd_fail(error, TPD_DEVICE_LOST, "the device was lost while this waited for its memory");
    } else if (!ready) {
        status = tpd_fail_limit(error, TPD_DEADLINE, pool->bytes, bytes,
                                "no %" PRIu64 " bytes of device memory came free in time (pool %" PRIu64 ", in use %" PRIu64
                                "): try again later",
                                bytes, pool->bytes, pool->used_bytes);
    } else {
        memmove(&pool->span[at + 1], &pool->span[at], (pool->count - at) * sizeof pool->span[0]);
        pool->span[at] = (struct tpd_pool_span){*offset, bytes};
        pool->count++;
        pool->used_bytes += bytes;
    }
    leave_line(pool, &me);
    (void)pthread_cond_broadcast(&pool->changed); /* the next in line may fit as well */
    (void)pthread_mutex_unlock(&pool->lock);
    return status;
}

void tpd_pool_release(struct tpd_device_pool *pool, uint64_t offset) {
    (void)pthread_mutex_lock(&pool->lock);
    uint32_t at = 0;
    while (at < pool->count && pool->span[at].offset != offset)
        at++;
    if (at < pool->count) {
        pool->used_bytes -= pool->span[at].bytes;
        pool->count--;
        memmove(&pool->span[at], &pool->span[at + 1], (pool->count - at) * sizeof pool->span[0]);
        (void)pthread_cond_broadcast(&pool->changed);
    }
    (void)pthread_mutex_unlock(&pool->lock);
}

void tpd_pool_stop(struct tpd_device_pool *pool) {
    (void)pthread_mutex_lock(&pool->lock);
    pool->stopped = true;
    (void)pthread_cond_broadcast(&pool->changed);
    (void)pthread_mutex_unlock(&pool->lock);
}

uint64_t tpd_pool_used_bytes(struct tpd_device_pool *pool) {
    (void)pthread_mutex_lock(&pool->lock);
    uint64_t used = pool->used_bytes;
    (void)pthread_mutex_unlock(&pool->lock);
    return used;
}
