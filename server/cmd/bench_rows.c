/* bench_rows.c -- see bench_rows.h. */
#include "server/cmd/bench_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL_BLOCKS = 64 };

static int by_value(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *times, uint32_t count) {
    qsort(times, count, sizeof times[0], by_value);
    return count % 2 != 0 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}

void tpd_bench_result_fill(struct tpd_bench_result *result, struct tpd_measurement *measurement) {
    result->strategy = measurement->strategy;
    result->tile = measurement->tile;
    result->verified = measurement->wrong_items == 0;
    result->turns = measurement->turns;
    result->cache_least_bytes = measurement->cache_least_bytes;
    result->cache_most_bytes = measurement->cache_most_bytes;
    if (measurement->turns == 0)
        return;
    for (int what = 0; what < TPD_MEASURED_COUNT; what++)
        result->median_s[what] = median(measurement->seconds[what], measurement->turns);
    result->least_s = measurement->seconds[TPD_MEASURED_TRANSPOSE][0]; /* they are sorted now */
}

static double average(uint64_t sum, uint64_t requests) {
    return requests != 0 ? (double)sum / (double)requests : 0;
}

void tpd_bench_result_model(struct tpd_bench_result *result) {
    const struct tpd_matrix matrix = {result->shape.rows, result->shape.cols, result->shape.batch, result->itemsize,
                                      TPD_DTYPE_OPAQUE};
    enum tpd_strategy_id id;
    struct tpd_plan plan;
    struct tpd_figures figures;
    if (tpd_strategy_find(result->strategy, &id, NULL) != TPD_OK || id == TPD_STRATEGY_AUTO ||
        tpd_strategy_plan(id, &matrix, tpd_strategy_at(id)->tiled ? result->tile : (struct tpd_tile){0, 0}, UINT64_MAX, &plan,
                          NULL) != TPD_OK ||
        tpd_banks_of_sample(&plan, MODEL_BLOCKS, &figures, NULL) != TPD_OK)
        return;
    const struct tpd_shared_sum *shared = figures.shared;
    const struct tpd_global_sum *global = figures.global;
    for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++) {
        result->wavefronts[op] = average(shared[op].wavefronts, shared[op].requests);
        result->sectors[op] = average(global[op].sectors, global[op].requests);
    }
    const uint64_t shared_requests = shared[TPD_OP_LOAD].requests + shared[TPD_OP_STORE].requests;
    const uint64_t global_requests = global[TPD_OP_LOAD].requests + global[TPD_OP_STORE].requests;
    result->wavefronts_ideal = average(shared[TPD_OP_LOAD].ideal + shared[TPD_OP_STORE].ideal, shared_requests);
    result->sectors_ideal = average(global[TPD_OP_LOAD].ideal + global[TPD_OP_STORE].ideal, global_requests);
    result->has_shared = shared_requests != 0;
    result->has_global = global_requests != 0;
}

double tpd_bench_share(const struct tpd_bench_result *result, enum tpd_measured of) {
    return result->turns != 0 ? result->median_s[of] / result->median_s[TPD_MEASURED_TRANSPOSE] : 0;
}

const char *tpd_bench_cache(const struct tpd_bench_result *result) {
    if (result->cache_most_bytes == 0)
        return "unknown";
    if (2 * result->bytes <= result->cache_least_bytes)
        return "warm";
    return result->bytes > result->cache_most_bytes ? "cold" : "mixed";
}

void tpd_bench_head(struct tpd_buf *out) {
    (void)tpd_buf_text(
        out, "| shape                | item | device   | time µs     | least µs    | turns | GB/s    | copy GB/s | of copy | of "
             "plain | bar            | strategy  | tile    | wavefronts load, store (ideal) | sectors load, store "
             "(ideal) | cache   | verified |\n"
             "|----------------------|------|----------|-------------|-------------|-------|---------|-----------|---------|----"
             "------|----------------|-----------|---------|--------------------------------|-----------------------"
             "------|---------|----------|\n");
}

static void model_cell(struct tpd_buf *out, int width, bool is_there, const double figure[2], double ideal) {
    char text[64] = "-";
    if (is_there)
        (void)snprintf(text, sizeof text, "%.4g, %.4g (%.4g)", figure[TPD_OP_LOAD], figure[TPD_OP_STORE], ideal);
    (void)tpd_buf_format(out, " %-*s |", width, text);
}

static void bar_text(const struct tpd_bench_result *result, char text[32]) {
    double share = tpd_bench_share(result, result->bar_is_of_plain ? TPD_MEASURED_PLAIN : TPD_MEASURED_COPY);
    text[0] = '\0';
    if (result->bar > 0)
        (void)snprintf(text, 32, "%.2f%s", result->bar, share < result->bar ? " **under**" : "");
}

static void tile_text(const struct tpd_tile *tile, char text[32]) {
    (void)snprintf(text, 32, "-");
    if (tile->rows != 0)
        (void)snprintf(text, 32, "%" PRIu32 "x%" PRIu32, tile->rows, tile->cols);
}

void tpd_bench_line(struct tpd_buf *out, const struct tpd_bench_result *result) {
    char shape[TPD_BENCH_SHAPE_BYTES], device[40], bar[32], tile[32];
    tpd_bench_shape_print(&result->shape, shape);
    (void)snprintf(device, sizeof device, result->threads != 0 ? "%s/%" PRIu32 : "%s", result->device, result->threads);
    bar_text(result, bar);
    tile_text(&result->tile, tile);
    (void)tpd_buf_format(out, "| %-20s | %4" PRIu32 " | %-8s |", shape, result->itemsize, device);
    if (result->verified) {
        const double *median_s = result->median_s, moved = 2e-9 * (double)result->bytes;
        (void)tpd_buf_format(out, " %11.2f | %11.2f | %5" PRIu32 " | %7.1f | %9.1f | %7.3f | %8.3f | %-14s |",
                             median_s[TPD_MEASURED_TRANSPOSE] * 1e6, result->least_s * 1e6, result->turns,
                             moved / median_s[TPD_MEASURED_TRANSPOSE], moved / median_s[TPD_MEASURED_COPY],
                             tpd_bench_share(result, TPD_MEASURED_COPY), tpd_bench_share(result, TPD_MEASURED_PLAIN), bar);
    } else {
        (void)tpd_buf_text(out,
                           "             |             |       |         |           |         |          |                |");
    }
    (void)tpd_buf_format(out, " %-9s | %-7s |", result->strategy, tile);
    model_cell(out, 30, result->has_shared, result->wavefronts, result->wavefronts_ideal);
    model_cell(out, 27, result->has_global, result->sectors, result->sectors_ideal);
    (void)tpd_buf_format(out, " %-7s | %-8s |\n", tpd_bench_cache(result), result->verified ? "yes" : "**WRONG**");
}

static void json_seconds(struct tpd_buf *out, const char *key, bool is_there, double value) {
    if (is_there)
        (void)tpd_buf_format(out, ",\"%s\":%.9g", key, value);
    else
        (void)tpd_buf_format(out, ",\"%s\":null", key);
}

void tpd_bench_json(struct tpd_buf *out, const struct tpd_bench_result *result) {
    const bool timed = result->turns != 0;
    const double *median_s = result->median_s;
    char tile[32], shape[TPD_BENCH_SHAPE_BYTES];
    tile_text(&result->tile, tile);
    (void)tpd_buf_format(out,
                         "{\"device\":\"%s\",\"itemsize\":%" PRIu32 ",\"rows\":%" PRIu64 ",\"cols\":%" PRIu64
                         ",\"batch\":%" PRIu64 ",\"strategy\":\"%s\"",
                         result->device, result->itemsize, result->shape.rows, result->shape.cols, result->shape.batch,
                         result->strategy);
    (void)tpd_buf_format(out, result->tile.rows != 0 ? ",\"tile\":\"%s\"" : ",\"tile\":null", tile);
    json_seconds(out, "seconds_median", timed, median_s[TPD_MEASURED_TRANSPOSE]);
    json_seconds(out, "seconds_min", timed, result->least_s);
    (void)tpd_buf_format(out, ",\"repeats\":%" PRIu32 ",\"bytes\":%" PRIu64, result->turns, result->bytes);
    json_seconds(out, "bytes_per_second", timed, 2 * (double)result->bytes / median_s[TPD_MEASURED_TRANSPOSE]);
    json_seconds(out, "copy_seconds_median", timed, median_s[TPD_MEASURED_COPY]);
    json_seconds(out, "share_of_copy", timed, tpd_bench_share(result, TPD_MEASURED_COPY));
    if (result->has_shared)
        (void)tpd_buf_format(out, ",\"wavefronts\":{\"store\":%.6g,\"load\":%.6g,\"ideal\":%.6g}",
                             result->wavefronts[TPD_OP_STORE], result->wavefronts[TPD_OP_LOAD], result->wavefronts_ideal);
    else
        (void)tpd_buf_text(out, ",\"wavefronts\":null");
    if (result->has_global)
        (void)tpd_buf_format(out, ",\"sectors\":{\"load\":%.6g,\"store\":%.6g,\"ideal\":%.6g}", result->sectors[TPD_OP_LOAD],
                             result->sectors[TPD_OP_STORE], result->sectors_ideal);
    else
        (void)tpd_buf_text(out, ",\"sectors\":null");
    (void)tpd_buf_format(out, ",\"verified\":%s", result->verified ? "true" : "false");
    (void)tpd_buf_format(out, result->threads != 0 ? ",\"threads\":%" PRIu32 : ",\"threads\":null", result->threads);
    (void)tpd_buf_format(out, ",\"auto\":%s", result->is_auto ? "true" : "false");
    json_seconds(out, "plain_seconds_median", timed, median_s[TPD_MEASURED_PLAIN]);
    json_seconds(out, "share_of_plain", timed, tpd_bench_share(result, TPD_MEASURED_PLAIN));
    (void)tpd_buf_format(out, ",\"cache\":\"%s\"", tpd_bench_cache(result));
    json_seconds(out, "bar", result->bar > 0, result->bar);
    (void)tpd_buf_format(out, ",\"bar_of\":\"%s\"", result->bar_is_of_plain ? "plain" : "copy");
    tpd_bench_shape_print(&result->asked_shape, shape);
    if (memcmp(&result->asked_shape, &result->shape, sizeof result->shape) != 0)
        (void)tpd_buf_format(out, ",\"scaled_from\":\"%s\"}", shape);
    else
        (void)tpd_buf_text(out, ",\"scaled_from\":null}");
}

static double cell_share(const struct tpd_bench_result *result) {
    return tpd_bench_share(result, result->bar_is_of_plain ? TPD_MEASURED_PLAIN : TPD_MEASURED_COPY);
}

void tpd_bench_cells_head(struct tpd_buf *out) {
    (void)tpd_buf_text(out, "| cell | device | copy µs | copy GB/s | plain copy | auto | share | bar | best |");
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        (void)tpd_buf_format(out, " %s |", tpd_strategy_at((enum tpd_strategy_id)id)->name);
    (void)tpd_buf_text(out, "\n|---|---|---|---|---|---|---|---|---|");
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        (void)tpd_buf_text(out, "---|");
    (void)tpd_buf_text(out, "\n");
}

static void strategy_cell(struct tpd_buf *out, const struct tpd_bench_result *results, unsigned count, const char *name) {
    for (unsigned i = 0; i < count; i++) {
        if (results[i].is_auto || strcmp(results[i].strategy, name) != 0)
            continue;
        if (results[i].verified)
            (void)tpd_buf_format(out, " %.2f |", cell_share(&results[i]));
        else
            (void)tpd_buf_text(out, " WRONG |");
        return;
    }
    (void)tpd_buf_text(out, " |");
}

void tpd_bench_cell_line(struct tpd_buf *out, const struct tpd_bench_result *results, unsigned count) {
    const struct tpd_bench_result *automatic = NULL, *best = NULL, *timed = NULL;
    char shape[TPD_BENCH_SHAPE_BYTES], bar[32];
    for (unsigned i = 0; i < count; i++) {
        if (results[i].is_auto)
            automatic = &results[i];
        else if (best == NULL || cell_share(&results[i]) > cell_share(best))
            best = &results[i];
        if (timed == NULL && results[i].turns != 0)
            timed = &results[i];
    }
    tpd_bench_shape_print(&results->shape, shape);
    (void)tpd_buf_format(out, "| %s:%" PRIu32 " | %s |", shape, results->itemsize, results->device);
    if (timed != NULL) {
        const double copy_s = timed->median_s[TPD_MEASURED_COPY];
        (void)tpd_buf_format(out, " %.1f | %.0f | %.2f |", copy_s * 1e6, 2e-9 * (double)timed->bytes / copy_s,
                             copy_s / timed->median_s[TPD_MEASURED_PLAIN]);
    } else {
        (void)tpd_buf_text(out, " | | |");
    }
    if (automatic != NULL) {
        bar_text(automatic, bar);
        (void)tpd_buf_format(out, " %s | %.3f | %s |", automatic->strategy, cell_share(automatic), bar);
    } else {
        (void)tpd_buf_text(out, " | | |");
    }
    if (best != NULL)
        (void)tpd_buf_format(out, " %s %.3f |", best->strategy, cell_share(best));
    else
        (void)tpd_buf_text(out, " |");
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        strategy_cell(out, results, count, tpd_strategy_at((enum tpd_strategy_id)id)->name);
    (void)tpd_buf_text(out, "\n");
}
