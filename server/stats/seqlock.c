/* seqlock.c -- a few words that are written rarely and read rarely, by anybody, and nobody waits.
 *
 * A writer that finds another one at work gives up (what it had is lost: a row of a page, never a count). A reader that was
 * overtaken reads nothing. Words are atomics with acquire and release, so no fence is needed and a race detector agrees:
 * a reader that saw one word of a writer also sees that writer's odd version afterwards.
 */
#include <string.h>

#include "server/stats/stats_internal.h"

enum { WORDS_MOST = 64 };
_Static_assert(sizeof(struct tpd_recent) <= 8 * WORDS_MOST && sizeof(struct tpd_recent) % 8 == 0,
               "a row of the ring is whole words");
_Static_assert(sizeof(struct tpd_exemplar) <= 8 * WORDS_MOST && sizeof(struct tpd_exemplar) % 8 == 0,
               "an exemplar is whole words");

bool tpd_words_write(tpd_counter *version, tpd_counter *words, uint64_t during, const void *data, size_t bytes) {
    uint64_t copy[WORDS_MOST], before = tpd_peek(version);
    if (before % 2 != 0 || before >= during ||
        !atomic_compare_exchange_strong_explicit(version, &before, during, memory_order_acquire, memory_order_relaxed))
        return false;
    memcpy(copy, data, bytes);
    for (size_t i = 0; i < bytes / 8; i++)
        atomic_store_explicit(&words[i], copy[i], memory_order_release);
    atomic_store_explicit(version, during + 1, memory_order_release);
    return true;
}

uint64_t tpd_words_read(tpd_counter *version, tpd_counter *words, void *data, size_t bytes) {
    uint64_t copy[WORDS_MOST], before = atomic_load_explicit(version, memory_order_acquire);
    if (before % 2 != 0 || before == 0)
        return 0;
    for (size_t i = 0; i < bytes / 8; i++)
        copy[i] = atomic_load_explicit(&words[i], memory_order_acquire);
    if (atomic_load_explicit(version, memory_order_relaxed) != before)
        return 0;
    memcpy(data, copy, bytes);
    return before;
}
