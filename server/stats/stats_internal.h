/* stats_internal.h -- what the files of server/stats share: where counts live and how they are read.
 *
 * Every counter is a relaxed atomic of a shard. A thread keeps to one shard, so two threads rarely meet on a cache line; readers
 * add the shards up. Sums are of moments a little apart, never torn.
 */
#ifndef TPD_STATS_INTERNAL_H
#define TPD_STATS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "transposed/banks.h"
#include "transposed/stats.h"

enum {
    TPD_STATS_SHARDS = 16,
    TPD_NAMES_MOST = 32, /* endpoints, reasons, strategies: each of a fixed list in the source, the last place is `other` */
    TPD_CODES_MOST = 32, /* HTTP statuses seen; the last place is `other` */
    TPD_FORMATS = TPD_CODEC_COUNT + 1,
    TPD_ROWS_MOST = 128,      /* strategy x item size x device; the last is `other` */
    TPD_ITEM_CLASSES = 6,     /* 1 2 4 8 16 and all others, so that clients can't make rows */
    TPD_DURATION_BOUNDS = 19, /* 1, 2.5, 5 a decade, six decades and their end */
    TPD_SIZE_BOUNDS = 18,     /* 4^3 .. 4^20: 64 bytes to 1 TiB */
    /* Log-linear: exact below 16, then 16 buckets an octave up to 2^44 ns (4.9 hours); the last takes what is longer. */
    TPD_FINE_STEPS = 16,
    TPD_FINE_BUCKETS = TPD_FINE_STEPS + 40 * TPD_FINE_STEPS
};

typedef _Atomic uint64_t tpd_counter;

/* Static texts, a place claimed by the first who needs it. */
struct tpd_names {
    _Atomic(const char *) text[TPD_NAMES_MOST];
};

struct tpd_fine {
    tpd_counter bucket[TPD_FINE_BUCKETS], sum, most;
};
struct tpd_durations {
    tpd_counter bucket[TPD_DURATION_BOUNDS + 1], sum;
};
struct tpd_sizes {
    tpd_counter bucket[TPD_SIZE_BOUNDS + 1], sum;
};
struct tpd_row_counts {
    tpd_counter bytes; /* read and written */
    struct tpd_durations kernel;
};

struct tpd_shard {
    _Alignas(128) tpd_counter begun;
    tpd_counter ended;
    tpd_counter requests[TPD_NAMES_MOST][TPD_FORMATS][TPD_CODES_MOST];
    tpd_counter transposes[TPD_FORMATS]; /* by_format */
    tpd_counter rejected[TPD_NAMES_MOST];
    tpd_counter bytes_in, bytes_out;
    struct tpd_fine fine[TPD_STAGE_COUNT];
    struct tpd_durations request, stage[TPD_STAGE_COUNT];
    struct tpd_sizes size[2]; /* in, out */
    struct tpd_row_counts row[TPD_ROWS_MOST];
};

/* One request of the ring, as words so that each is an atomic. */
struct tpd_recent {
    uint64_t at_unix_ns, total_ns, bytes;
    struct tpd_matrix matrix;
    uint64_t stage_ns[TPD_STAGE_COUNT];
    const char *strategy;
    struct tpd_tile tile;
    int http_status;
    bool cells;
    unsigned char format_in, format_out;
    char device[16];
    char id[TPD_ID_BYTES];
};
enum { TPD_RECENT_WORDS = (sizeof(struct tpd_recent) + 7) / 8 };
struct tpd_slot {
    tpd_counter version; /* 2n + 1 while the nth request is written here, 2n + 2 once it is */
    tpd_counter word[TPD_RECENT_WORDS];
};
struct tpd_ring {
    tpd_counter head; /* requests so far */
    uint32_t slots;
    struct tpd_slot *slot; /* owned */
};

/* The last traced request of a bucket. */
struct tpd_exemplar {
    char trace_id[40];
    uint64_t value_ns, at_unix_ns;
};
enum { TPD_EXEMPLAR_WORDS = sizeof(struct tpd_exemplar) / 8 };
struct tpd_exemplar_slot {
    tpd_counter version;
    tpd_counter word[TPD_EXEMPLAR_WORDS];
};

/* Averages a warp request of a strategy's own kernel; what the bank model says. */
struct tpd_model {
    bool is_known, has_shared, has_global;
    double wavefronts[2], wavefronts_ideal, sectors[2], sectors_ideal; /* by enum tpd_op */
};

struct tpd_stats {
    struct tpd_shard *shard; /* owned, aligned; TPD_STATS_SHARDS of them */
    void *shard_origin;
    struct tpd_ring ring;
    struct tpd_names endpoints, reasons, strategies;
    _Atomic int codes[TPD_CODES_MOST];
    _Atomic uint32_t row_keys[TPD_ROWS_MOST];
    struct tpd_exemplar_slot exemplar[TPD_DURATION_BOUNDS + 1];
    uint64_t started_unix_ns, started_ns;
    double process_start_seconds;
    struct tpd_tile tile;
    pthread_mutex_t model_lock; /* readers of /stats only: a model run takes milliseconds, and one is enough */
    struct tpd_model model[TPD_STRATEGY_COUNT][TPD_ITEM_CLASSES];
};

/* --- names.c: small keys for things that have names --- */
uint32_t tpd_names_place(struct tpd_names *names, const char *text);
const char *tpd_names_text(struct tpd_names *names, uint32_t place); /* "other" when nothing is there */
uint32_t tpd_codes_place(struct tpd_stats *stats, int code);
int tpd_codes_number(struct tpd_stats *stats, uint32_t place); /* 0: none, or any other */
const char *tpd_codes_text(struct tpd_stats *stats, uint32_t place, char text[16]);
const char *tpd_format_name(uint32_t format);

struct tpd_row_name {
    const char *strategy;
    char device[24];
    uint32_t item_class; /* TPD_ITEM_CLASSES - 1: none of the five */
};
uint32_t tpd_rows_place(struct tpd_stats *stats, const char *strategy, uint32_t itemsize, const char *device);
void tpd_rows_name(struct tpd_stats *stats, uint32_t place, struct tpd_row_name *name);
uint32_t tpd_item_class(uint32_t itemsize);
uint32_t tpd_item_class_size(uint32_t item_class); /* 0: many */

/* --- histogram.c --- */
void tpd_fine_add(struct tpd_fine *fine, uint64_t nanoseconds);
/* Bounds from least_ns on: 1, 2.5, 5, 10 ... times it. Returns the bucket. */
uint32_t tpd_durations_add(struct tpd_durations *durations, uint64_t least_ns, uint64_t nanoseconds);
uint64_t tpd_duration_bound(uint64_t least_ns, uint32_t bucket);
void tpd_sizes_add(struct tpd_sizes *sizes, uint64_t bytes);
uint64_t tpd_size_bound(uint32_t bucket);
enum { TPD_REQUEST_LEAST_NS = 100000, TPD_STAGE_LEAST_NS = 10000, TPD_KERNEL_LEAST_NS = 1000 };

/* The sums over all shards. */
struct tpd_fine_sum {
    uint64_t bucket[TPD_FINE_BUCKETS], count, sum, most;
};
void tpd_fine_read(struct tpd_stats *stats, enum tpd_stage stage, struct tpd_fine_sum *sum);
uint64_t tpd_fine_quantile(const struct tpd_fine_sum *sum, double quantile); /* within 3.2 % of the value in that place */

/* --- seqlock.c: words that one writer at a time puts down and anybody reads, without a lock --- */
/* False when another writer has it, or a later version is there: then nothing was written. */
bool tpd_words_write(tpd_counter *version, tpd_counter *words, uint64_t during, const void *data, size_t bytes);
/* The version that was read whole; 0 when there was none or a writer was at it. */
uint64_t tpd_words_read(tpd_counter *version, tpd_counter *words, void *data, size_t bytes);

/* --- ring.c --- */
enum tpd_status tpd_ring_init(struct tpd_ring *ring, uint32_t slots) TPD_CHECKED;
void tpd_ring_fini(struct tpd_ring *ring);
void tpd_ring_add(struct tpd_ring *ring, const struct tpd_record *record);
/* The nth newest when it is still there whole. */
bool tpd_ring_read(struct tpd_ring *ring, uint64_t number, struct tpd_recent *recent);

/* --- model_cache.c --- */
/* Computes on the first call for that pair. */
struct tpd_model tpd_stats_model(struct tpd_stats *stats, const char *strategy, uint32_t item_class);

static inline void tpd_count(tpd_counter *counter, uint64_t by) {
    atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}
static inline uint64_t tpd_peek(tpd_counter *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* SUM over the shards of one counter, named as a member: tpd_sum(stats, bytes_in). */
#define tpd_sum(stats, member)                                    \
    __extension__({                                               \
        uint64_t sum_ = 0;                                        \
        for (int shard_ = 0; shard_ < TPD_STATS_SHARDS; shard_++) \
            sum_ += tpd_peek(&(stats)->shard[shard_].member);     \
        sum_;                                                     \
    })

uint64_t tpd_stats_in_flight(struct tpd_stats *stats);
uint64_t tpd_stats_rejections(struct tpd_stats *stats);

#endif
