/* shards.c -- the recording side: a thread's own counters, added to without a lock, an allocation or a wait. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/base/iso_time.h"
#include "server/stats/stats_internal.h"
#include "transposed/alloc.h"
#include "transposed/clock.h"

/* When the process began, from the kernel's own count since boot; now, where /proc can't say. */
static double process_start(void) {
    char text[1024];
    unsigned long long ticks;
    double now = (double)tpd_unix_ns() / 1e9;
    struct timespec boot;
    FILE *file = fopen("/proc/self/stat", "re");
    if (file == NULL)
        return now;
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[bytes] = '\0';
    const char *at = strrchr(text, ')'); /* the name before it may hold anything */
    if (at == NULL || clock_gettime(CLOCK_BOOTTIME, &boot) != 0 ||
        sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &ticks) != 1)
        return now;
    double age = (double)boot.tv_sec + (double)boot.tv_nsec / 1e9 - (double)ticks / (double)sysconf(_SC_CLK_TCK);
    return now - age;
}

enum tpd_status tpd_stats_create(const struct tpd_config *config, struct tpd_stats **stats, struct tpd_error *error) {
    struct tpd_stats *made = tpd_alloc_zero(1, sizeof *made);
    void *origin = tpd_alloc_zero(1, TPD_STATS_SHARDS * sizeof(struct tpd_shard) + _Alignof(struct tpd_shard));
    if (made == NULL || origin == NULL || tpd_ring_init(&made->ring, (uint32_t)config->recent) != TPD_OK ||
        pthread_mutex_init(&made->model_lock, NULL) != 0) {
        if (made != NULL)
            tpd_ring_fini(&made->ring);
        tpd_free(made);
        tpd_free(origin);
        return tpd_fail(error, TPD_NO_MEMORY, "no memory for the statistics of recent = %u requests: lower it",
                        (unsigned)config->recent);
    }
    uintptr_t mask = _Alignof(struct tpd_shard) - 1;
    made->shard_origin = origin;
    made->shard = (struct tpd_shard *)(((uintptr_t)origin + mask) & ~mask);
    made->started_unix_ns = tpd_unix_ns();
    made->started_ns = tpd_clock_ns();
    made->process_start_seconds = process_start();
    made->tile = config->tile;
    *stats = made;
    return TPD_OK;
}

void tpd_stats_destroy(struct tpd_stats *stats) {
    if (stats == NULL)
        return;
    (void)pthread_mutex_destroy(&stats->model_lock);
    tpd_ring_fini(&stats->ring);
    tpd_free(stats->shard_origin);
    tpd_free(stats);
}

static struct tpd_shard *own_shard(struct tpd_stats *stats) {
    static _Atomic uint32_t threads;
    static _Thread_local uint32_t mine; /* 0: none yet */
    if (mine == 0)
        mine = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % TPD_STATS_SHARDS;
    return &stats->shard[mine - 1];
}

void tpd_stats_begin(struct tpd_stats *stats) {
    tpd_count(&own_shard(stats)->begun, 1);
}

void tpd_stats_rejected(struct tpd_stats *stats, const char *reason) {
    tpd_count(&own_shard(stats)->rejected[tpd_names_place(&stats->reasons, reason)], 1);
}

static bool is_trace_id(const char *text) {
    return strspn(text, "0123456789abcdef") == 32 && text[32] == '\0';
}

static void keep_exemplar(struct tpd_stats *stats, uint32_t bucket, const struct tpd_record *record) {
    struct tpd_exemplar exemplar = {.value_ns = record->total_ns, .at_unix_ns = record->at_unix_ns + record->total_ns};
    struct tpd_exemplar_slot *slot = &stats->exemplar[bucket];
    memcpy(exemplar.trace_id, record->trace_id, sizeof record->trace_id);
    (void)tpd_words_write(&slot->version, slot->word, tpd_peek(&slot->version) | 1, &exemplar, sizeof exemplar);
}

static void count_transpose(struct tpd_stats *stats, struct tpd_shard *shard, const struct tpd_record *record, uint32_t format) {
    uint64_t bytes;
    tpd_count(&shard->transposes[format], 1);
    tpd_count(&shard->bytes_in, record->bytes_in);
    tpd_count(&shard->bytes_out, record->bytes_out);
    for (int i = 0; i < TPD_STAGE_COUNT; i++)
        if (record->stage_ns[i] != 0) { /* 0: the request did not go through it */
            tpd_fine_add(&shard->fine[i], record->stage_ns[i]);
            (void)tpd_durations_add(&shard->stage[i], TPD_STAGE_LEAST_NS, record->stage_ns[i]);
        }
    uint32_t bucket = tpd_durations_add(&shard->request, TPD_REQUEST_LEAST_NS, record->total_ns);
    if (is_trace_id(record->trace_id))
        keep_exemplar(stats, bucket, record);
    tpd_ring_add(&stats->ring, record);
    if (record->http_status != 200)
        return;
    tpd_sizes_add(&shard->size[0], record->bytes_in);
    tpd_sizes_add(&shard->size[1], record->bytes_out);
    if (record->strategy == NULL || record->device == NULL || record->device[0] == '\0')
        return; /* a relabel: nothing ran */
    struct tpd_row_counts *row = &shard->row[tpd_rows_place(stats, record->strategy, record->matrix.itemsize, record->device)];
    if (tpd_matrix_bytes(&record->matrix, &bytes, NULL) == TPD_OK)
        tpd_count(&row->bytes, 2 * bytes);
    (void)tpd_durations_add(&row->kernel, TPD_KERNEL_LEAST_NS, record->stage_ns[TPD_STAGE_KERNEL]);
}

void tpd_stats_end(struct tpd_stats *stats, const struct tpd_record *record) {
    struct tpd_shard *shard = own_shard(stats);
    uint32_t format =
        (uint32_t)record->format_in < TPD_CODEC_COUNT && record->is_transpose ? (uint32_t)record->format_in : TPD_CODEC_COUNT;
    uint32_t endpoint = tpd_names_place(&stats->endpoints, record->endpoint);
    tpd_count(&shard->requests[endpoint][format][tpd_codes_place(stats, record->http_status)], 1);
    /* A 503 with TPD_OK is /readyz saying no: an answer, not a rejection. */
    if ((record->http_status == 429 || record->http_status == 503) && record->status != TPD_OK)
        tpd_count(&shard->rejected[tpd_names_place(&stats->reasons, tpd_status_slug(record->status))], 1);
    if (record->is_transpose)
        count_transpose(stats, shard, record, format);
    tpd_count(&shard->ended, 1);
}

uint64_t tpd_stats_in_flight(struct tpd_stats *stats) {
    uint64_t ended = tpd_sum(stats, ended),
             begun = tpd_sum(stats, begun); /* in this order: what began later can't make it negative */
    return begun > ended ? begun - ended : 0;
}

uint64_t tpd_stats_rejections(struct tpd_stats *stats) {
    uint64_t sum = 0;
    for (int i = 0; i < TPD_NAMES_MOST; i++)
        sum += tpd_sum(stats, rejected[i]);
    return sum;
}
