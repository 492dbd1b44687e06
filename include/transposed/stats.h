/* stats.h -- what happened: counted on per-thread shards, read by anybody, no lock on a request's way.
 *
 * Owns: shards and the recent ring. Threads: any; record() never blocks (atomics only; a thread takes a shard once).
 * Ceiling: TPD_STATS_SHARDS shards (more threads share), the ring that config.recent sets.
 */
#ifndef TRANSPOSED_STATS_H
#define TRANSPOSED_STATS_H

#include "transposed/buf.h"
#include "transposed/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tpd_stats;

/* Endpoints as metrics label them: one row a family in tbl/routes.def. */
struct tpd_record {
    char id[TPD_ID_BYTES];
    char trace_id[33];    /* hex; "" without a traceparent */
    uint64_t at_unix_ns;  /* wall clock at arrival */
    const char *endpoint; /* static text: the route's name */
    int http_status;
    enum tpd_status status;
    bool is_transpose;                       /* then the rest means something and it enters the ring */
    enum tpd_codec_id format_in, format_out; /* TPD_CODEC_COUNT: none */
    struct tpd_matrix matrix;
    bool cells;
    const char *device;   /* copied, at most 15 bytes */
    const char *strategy; /* static text, or NULL */
    struct tpd_tile tile;
    uint64_t bytes_in, bytes_out;
    uint64_t stage_ns[TPD_STAGE_COUNT];
    uint64_t total_ns;
};

enum tpd_status tpd_stats_create(const struct tpd_config *config, struct tpd_stats **stats, struct tpd_error *error) TPD_CHECKED;
void tpd_stats_destroy(struct tpd_stats *stats);

void tpd_stats_begin(struct tpd_stats *stats);                                /* in_flight + 1 */
void tpd_stats_end(struct tpd_stats *stats, const struct tpd_record *record); /* in_flight - 1, everything counted */
void tpd_stats_rejected(struct tpd_stats *stats,
                        const char *reason); /* static text; before a request exists: a connection turned away */

/* /stats: recent_most rows of the ring at most; only_id != NULL: that request alone. */
enum tpd_status tpd_stats_json(struct tpd_stats *stats, struct tpd_engine *engine, const struct tpd_config *config,
                               uint32_t recent_most, const char *only_id, struct tpd_buf *out);
/* The ways of a cell, as members of an object: "chosen": {strategy, seconds, bytes_per_second}, "beat": the same or null, "rule".
 */
void tpd_stats_tuning_ways(const struct tpd_tuning_cell *cell, struct tpd_buf *out);
/* A table: {"tuned_at", "cells": [{itemsize, shape, aligned, rows, cols, batch, tile, blocks, chosen, beat, rule}, ...]}. */
void tpd_stats_tuning(const struct tpd_tuning *tuning, struct tpd_buf *out);
/* /metrics: Prometheus text 0.0.4, or OpenMetrics 1.0.0. */
enum tpd_status tpd_stats_prometheus(struct tpd_stats *stats, struct tpd_engine *engine, const struct tpd_config *config,
                                     bool openmetrics, struct tpd_buf *out);

#ifdef __cplusplus
}
#endif

#endif
