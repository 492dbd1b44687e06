/* histogram.c -- where a value falls, in three kinds of bucket.
 *
 * Fine ones are log-linear (16 an octave), so that a percentile read from them is within 1/32 of the value in that place. The
 * coarse ones have the round bounds that a time series database wants to see unchanged for years.
 */
#include "server/stats/stats_internal.h"

static uint32_t fine_bucket(uint64_t value) {
    if (value < TPD_FINE_STEPS)
        return (uint32_t)value;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(value) - 4; /* 0 holds 16 .. 31 */
    uint32_t bucket = TPD_FINE_STEPS + octave * TPD_FINE_STEPS + (uint32_t)((value >> octave) & (TPD_FINE_STEPS - 1));
    return bucket < TPD_FINE_BUCKETS ? bucket : TPD_FINE_BUCKETS - 1;
}

/* The middle of a bucket. */
static uint64_t fine_value(uint32_t bucket) {
    if (bucket < TPD_FINE_STEPS)
        return bucket;
    uint32_t octave = bucket / TPD_FINE_STEPS - 1;
    uint64_t least = (uint64_t)(TPD_FINE_STEPS + bucket % TPD_FINE_STEPS) << octave;
    return least + (UINT64_C(1) << octave) / 2;
}

void tpd_fine_add(struct tpd_fine *fine, uint64_t nanoseconds) {
    tpd_count(&fine->bucket[fine_bucket(nanoseconds)], 1);
    tpd_count(&fine->sum, nanoseconds);
    uint64_t most = tpd_peek(&fine->most);
    while (most < nanoseconds &&
           !atomic_compare_exchange_weak_explicit(&fine->most, &most, nanoseconds, memory_order_relaxed, memory_order_relaxed))
        ;
}

void tpd_fine_read(struct tpd_stats *stats, enum tpd_stage stage, struct tpd_fine_sum *sum) {
    *sum = (struct tpd_fine_sum){.count = 0};
    for (int s = 0; s < TPD_STATS_SHARDS; s++) {
        struct tpd_fine *fine = &stats->shard[s].fine[stage];
        for (int i = 0; i < TPD_FINE_BUCKETS; i++) {
            uint64_t count = tpd_peek(&fine->bucket[i]);
            sum->bucket[i] += count;
            sum->count += count;
        }
        sum->sum += tpd_peek(&fine->sum);
        uint64_t most = tpd_peek(&fine->most);
        sum->most = most > sum->most ? most : sum->most;
    }
}

uint64_t tpd_fine_quantile(const struct tpd_fine_sum *sum, double quantile) {
    uint64_t rank = (uint64_t)(quantile * (double)sum->count), seen = 0;
    if (sum->count == 0)
        return 0;
    if ((double)rank < quantile * (double)sum->count || rank == 0)
        rank++; /* nearest rank: the least value that `quantile` of all are not above */
    uint32_t i = 0;
    while (i < TPD_FINE_BUCKETS - 1 && (seen += sum->bucket[i]) < rank)
        i++;
    uint64_t value = fine_value(i);
    return value < sum->most ? value : sum->most;
}

uint64_t tpd_duration_bound(uint64_t least_ns, uint32_t bucket) {
    for (uint32_t decades = bucket / 3; decades > 0; decades--)
        least_ns *= 10;
    return bucket % 3 == 0 ? least_ns : bucket % 3 == 1 ? least_ns * 5 / 2 : least_ns * 5;
}

uint32_t tpd_durations_add(struct tpd_durations *durations, uint64_t least_ns, uint64_t nanoseconds) {
    uint32_t bucket = 0;
    while (bucket < TPD_DURATION_BOUNDS && nanoseconds > tpd_duration_bound(least_ns, bucket))
        bucket++;
    tpd_count(&durations->bucket[bucket], 1);
    tpd_count(&durations->sum, nanoseconds);
    return bucket;
}

uint64_t tpd_size_bound(uint32_t bucket) {
    return UINT64_C(64) << (2 * bucket);
}

void tpd_sizes_add(struct tpd_sizes *sizes, uint64_t bytes) {
    uint32_t bucket = 0;
    while (bucket < TPD_SIZE_BOUNDS && bytes > tpd_size_bound(bucket))
        bucket++;
    tpd_count(&sizes->bucket[bucket], 1);
    tpd_count(&sizes->sum, bytes);
}
