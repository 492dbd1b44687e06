/* tuning_json.c -- what was measured of the strategies, for /stats and /v1/strategies. */
#include <inttypes.h>

#include "server/base/iso_time.h"
#include "transposed/stats.h"

/* Each byte goes in and out once. */
static void add_way(struct tpd_buf *out, const char *key, const struct tpd_tuning_way *way, uint64_t bytes) {
    (void)tpd_buf_format(out, "\"%s\":", key);
    if (way->ns == 0)
        (void)tpd_buf_text(out, "null");
    else
        (void)tpd_buf_format(out, "{\"strategy\":\"%s\",\"seconds\":%.9f,\"bytes_per_second\":%.0f}",
                             tpd_strategy_at(way->strategy)->name, 1e-9 * (double)way->ns, 2e9 * (double)bytes / (double)way->ns);
}

void tpd_stats_tuning_ways(const struct tpd_tuning_cell *cell, struct tpd_buf *out) {
    add_way(out, "chosen", &cell->best, cell->bytes);
    (void)tpd_buf_text(out, ",");
    add_way(out, "beat", &cell->next, cell->bytes);
    (void)tpd_buf_text(out, ",");
    add_way(out, "rule", &cell->rule, cell->bytes);
}

static void add_cell(struct tpd_buf *out, const struct tpd_tuning *tuning, uint32_t size, uint32_t aligned, uint32_t shape) {
    const struct tpd_tuning_cell *cell = &tuning->cell[size][aligned][shape];
    const enum tpd_tuning_shape name = (enum tpd_tuning_shape)shape;
    struct tpd_matrix matrix;
    struct tpd_plan plan;
    if (!tpd_tuning_matrix(size, aligned != 0, name, &matrix))
        return;
    (void)tpd_buf_format(out,
                         "{\"itemsize\":%" PRIu32 ",\"shape\":\"%s\",\"meaning\":\"%s\",\"aligned\":%s,\"rows\":%" PRIu64
                         ",\"cols\":%" PRIu64 ",\"batch\":%" PRIu64 ",",
                         matrix.itemsize, tpd_tuning_shape_name(name), tpd_tuning_shape_meaning(name),
                         aligned != 0 ? "true" : "false", matrix.rows, matrix.cols, matrix.batch);
    if (tpd_strategy_plan_variant(cell->best.strategy, cell->best.variant, &matrix, UINT64_MAX, &plan, NULL) == TPD_OK)
        (void)tpd_buf_format(out, "\"tile\":\"%" PRIu32 "x%" PRIu32 "\",\"blocks\":\"%s\",", plan.tile.rows, plan.tile.cols,
                             plan.goes_down ? "down" : "across");
    tpd_stats_tuning_ways(cell, out);
    (void)tpd_buf_text(out, "}");
}

void tpd_stats_tuning(const struct tpd_tuning *tuning, struct tpd_buf *out) {
    char tuned_at[TPD_ISO_TIME_BYTES];
    tpd_iso_time(tuning->at_unix_s * 1000000000u, tuned_at);
    (void)tpd_buf_format(out, "{\"tuned_at\":%s%s%s,\"cells\":[", tuning->at_unix_s != 0 ? "\"" : "",
                         tuning->at_unix_s != 0 ? tuned_at : "null", tuning->at_unix_s != 0 ? "\"" : "");
    bool is_first = true;
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
        for (uint32_t aligned = 0; aligned < 2; aligned++)
            for (uint32_t shape = 0; shape < TPD_SHAPE_COUNT; shape++) {
                if (tuning->cell[size][aligned][shape].bytes == 0)
                    continue;
                (void)tpd_buf_text(out, is_first ? "" : ",");
                add_cell(out, tuning, size, aligned, shape);
                is_first = false;
            }
    (void)tpd_buf_text(out, "]}");
}
