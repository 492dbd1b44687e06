/* clock.h -- the monotonic clock that every duration and deadline is measured with. */
#ifndef TRANSPOSED_CLOCK_H
#define TRANSPOSED_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tpd_clock_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail: the clock exists on every Linux */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
