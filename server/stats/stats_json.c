/* stats_json.c -- /stats: every field in the order that the contract names.
 *
 * A failed add sticks to the buffer, so the status is looked at once, at the end.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "server/base/compiler.h"
#include "server/base/iso_time.h"
#include "server/stats/stats_internal.h"
#include "transposed/clock.h"

static void add_string(struct tpd_buf *out, const char *key, const char *value) {
    (void)tpd_buf_format(out, "\"%s\":", key);
    if (value != NULL)
        (void)tpd_buf_json_string(out, value);
    else
        (void)tpd_buf_text(out, "null");
}

static void add_uint(struct tpd_buf *out, const char *key, uint64_t value) {
    (void)tpd_buf_format(out, "\"%s\":%" PRIu64, key, value);
}

static void add_text(struct tpd_buf *out, const char *text) {
    (void)tpd_buf_text(out, text);
}

static void add_head(struct tpd_stats *stats, struct tpd_buf *out) {
    char started[TPD_ISO_TIME_BYTES];
    tpd_iso_time(stats->started_unix_ns, started);
    add_text(out, "{");
    add_string(out, "version", TPD_VERSION);
    add_text(out, ",\"build\":{");
    add_string(out, "compiler", TPD_COMPILER);
    add_text(out, TPD_HAVE_CUDA ? ",\"cuda\":true}," : ",\"cuda\":false},");
    add_string(out, "started_at", started);
    uint64_t up_ms = (tpd_clock_ns() - stats->started_ns) / 1000000u;
    (void)tpd_buf_format(out, ",\"uptime_seconds\":%" PRIu64 ".%03u,\"pid\":%ld", up_ms / 1000, (unsigned)(up_ms % 1000),
                         (long)getpid());
}

static void add_known(struct tpd_buf *out, const char *key, bool is_known, uint64_t number) {
    if (is_known)
        add_uint(out, key, number);
    else
        add_string(out, key, NULL);
}

/* Of the device that the engine prefers among those that were tuned. */
static void add_tuned_at(struct tpd_engine *engine, struct tpd_buf *out) {
    char tuned_at[TPD_ISO_TIME_BYTES];
    const struct tpd_tuning *tuning = NULL;
    for (uint32_t i = 0; i < tpd_engine_device_count(engine) && (tuning == NULL || tuning->at_unix_s == 0); i++)
        tuning = tpd_engine_tuning(engine, i);
    if (tuning != NULL)
        tpd_iso_time(tuning->at_unix_s * 1000000000u, tuned_at);
    add_string(out, "tuned_at", tuning != NULL && tuning->at_unix_s != 0 ? tuned_at : NULL);
}

static void add_strategy(struct tpd_engine *engine, const struct tpd_config *config, struct tpd_buf *out) {
    char tile[TPD_CONFIG_TEXT_BYTES];
    struct tpd_engine_counts counts;
    tpd_config_print(config, TPD_KNOB_tile, tile, sizeof tile);
    tpd_engine_counts(engine, &counts);
    add_text(out, ",\"strategy\":{");
    add_string(out, "configured", config->strategy);
    add_text(out, ",");
    add_string(out, "tile", tile);
    add_text(out, ",\"chosen\":{");
    const struct tpd_tuning_cell *cell[TPD_ITEM_CLASSES - 1];
    for (uint32_t i = 0; i < TPD_ITEM_CLASSES - 1; i++) {
        uint32_t itemsize = tpd_item_class_size(i);
        (void)tpd_buf_format(out, "%s\"%" PRIu32 "\":", i == 0 ? "" : ",", itemsize);
        (void)tpd_buf_json_string(out, tpd_engine_chosen(engine, itemsize, &cell[i]));
    }
    add_text(out, "},\"figures\":{");
    bool is_first = true;
    for (uint32_t i = 0; i < TPD_ITEM_CLASSES - 1; i++) {
        if (cell[i] == NULL)
            continue;
        (void)tpd_buf_format(out, "%s\"%" PRIu32 "\":{", is_first ? "" : ",", tpd_item_class_size(i));
        tpd_stats_tuning_ways(cell[i], out);
        add_text(out, "}");
        is_first = false;
    }
    add_text(out, "},");
    add_tuned_at(engine, out);
    add_text(out, ",");
    const uint64_t *crossover_bytes = counts.crossover_bytes, of_words = crossover_bytes[tpd_tuning_size(4)];
    add_known(out, "crossover_bytes", of_words != 0, of_words);
    add_text(out, ",\"crossover_bytes_by_itemsize\":{");
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++) {
        add_text(out, size == 0 ? "" : ",");
        add_known(out, tpd_tuning_size_name(size), crossover_bytes[size] != 0, crossover_bytes[size]);
    }
    add_text(out, "}}");
}

static void add_devices(struct tpd_engine *engine, struct tpd_buf *out) {
    add_text(out, ",\"devices\":[");
    for (uint32_t i = 0; i < tpd_engine_device_count(engine); i++) {
        struct tpd_device_info info;
        tpd_engine_device_info(engine, i, &info);
        add_text(out, i == 0 ? "{" : ",{");
        add_string(out, "id", info.id);
        add_text(out, ",");
        add_string(out, "kind", info.kind);
        add_text(out, ",");
        add_string(out, "name", info.name);
        add_text(out, ",");
        add_string(out, "state", tpd_device_state_name(info.state));
        add_text(out, ",");
        add_string(out, "reason", info.reason[0] != '\0' ? info.reason : NULL);
        (void)tpd_buf_format(
            out, ",\"memory_total_bytes\":%" PRIu64 ",\"memory_used_bytes\":%" PRIu64 ",\"memory_pool_bytes\":%" PRIu64,
            info.memory_total_bytes, info.memory_used_bytes, info.memory_pool_bytes);
        if (info.compute_capability != 0)
            (void)tpd_buf_format(out, ",\"compute_capability\":\"%u.%u\"", info.compute_capability / 10,
                                 info.compute_capability % 10);
        else
            add_text(out, ",\"compute_capability\":null");
        (void)tpd_buf_format(out, ",\"multiprocessors\":%" PRIu32 ",", info.multiprocessors);
        add_string(out, "instructions", info.instructions);
        (void)tpd_buf_format(out, ",\"lanes\":%" PRIu32 ",", info.lanes);
        const bool has_ways = info.driver_version != 0;
        add_known(out, "mapped_most_bytes", has_ways, info.mapped_most_bytes);
        add_text(out, ",");
        add_known(out, "mapped_again_bytes", has_ways && info.mapped_again_bytes != UINT64_MAX, info.mapped_again_bytes);
        add_text(out, ",");
        add_known(out, "panels_least_bytes", has_ways && info.panels_least_bytes != UINT64_MAX, info.panels_least_bytes);
        const uint32_t versions[2] = {info.driver_version, info.runtime_version};
        for (int v = 0; v < 2; v++) { /* CUDA numbers 13.0 as 13000 */
            (void)tpd_buf_format(out, ",\"%s\":", v == 0 ? "driver_version" : "runtime_version");
            if (versions[v] != 0)
                (void)tpd_buf_format(out, "\"%u.%u\"", versions[v] / 1000, versions[v] % 1000 / 10);
            else
                add_text(out, "null");
        }
        add_text(out, "}");
    }
    add_text(out, "]");
}

/* Requests of one HTTP status, over all routes and formats. */
static uint64_t with_code(struct tpd_stats *stats, uint32_t code) {
    uint64_t sum = 0;
    for (int endpoint = 0; endpoint < TPD_NAMES_MOST; endpoint++)
        for (int format = 0; format < TPD_FORMATS; format++)
            sum += tpd_sum(stats, requests[endpoint][format][code]);
    return sum;
}

static void add_requests(struct tpd_stats *stats, struct tpd_engine *engine, struct tpd_buf *out) {
    uint64_t by_code[TPD_CODES_MOST], total = 0, ok = 0, client = 0, server = 0;
    struct tpd_engine_counts counts;
    tpd_engine_counts(engine, &counts);
    for (uint32_t i = 0; i < TPD_CODES_MOST; i++) {
        int code = tpd_codes_number(stats, i);
        by_code[i] = with_code(stats, i);
        total += by_code[i];
        *(code >= 500 ? &server : code >= 400 || code == 0 ? &client : &ok) += by_code[i];
    }
    (void)tpd_buf_format(out,
                         ",\"requests\":{\"total\":%" PRIu64 ",\"ok\":%" PRIu64 ",\"client_errors\":%" PRIu64
                         ",\"server_errors\":%" PRIu64 ",\"rejected\":%" PRIu64 ",\"in_flight\":%" PRIu64 ",\"queued\":%" PRIu64
                         ",\"by_status\":{",
                         total, ok, client, server, tpd_stats_rejections(stats), tpd_stats_in_flight(stats), counts.queued);
    const char *comma = "";
    for (uint32_t i = 0; i < TPD_CODES_MOST; i++) {
        char text[16];
        if (by_code[i] == 0)
            continue;
        (void)tpd_buf_format(out, "%s\"%s\":%" PRIu64, comma, tpd_codes_text(stats, i, text), by_code[i]);
        comma = ",";
    }
    add_text(out, "},\"by_format\":{");
    comma = "";
    for (uint32_t i = 0; i < TPD_FORMATS; i++) {
        uint64_t count = tpd_sum(stats, transposes[i]);
        if (count == 0)
            continue;
        (void)tpd_buf_format(out, "%s\"%s\":%" PRIu64, comma, tpd_format_name(i), count);
        comma = ",";
    }
    (void)tpd_buf_format(out, "}},\"bytes\":{\"in\":%" PRIu64 ",\"out\":%" PRIu64 "}", tpd_sum(stats, bytes_in),
                         tpd_sum(stats, bytes_out));
}

static void add_stages(struct tpd_stats *stats, struct tpd_buf *out) {
    for (int i = 0; i < TPD_STAGE_COUNT; i++) {
        struct tpd_fine_sum sum;
        tpd_fine_read(stats, (enum tpd_stage)i, &sum);
        (void)tpd_buf_format(out,
                             "%s\"%s\":{\"count\":%" PRIu64 ",\"total_ns\":%" PRIu64 ",\"p50_ns\":%" PRIu64 ",\"p90_ns\":%" PRIu64
                             ",\"p99_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64 "}",
                             i == 0 ? ",\"stages\":{" : ",", tpd_stage_name((enum tpd_stage)i), sum.count, sum.sum,
                             tpd_fine_quantile(&sum, 0.5), tpd_fine_quantile(&sum, 0.9), tpd_fine_quantile(&sum, 0.99), sum.most);
    }
    add_text(out, "}");
}

static void add_rows(struct tpd_stats *stats, struct tpd_buf *out) {
    const char *comma = "";
    add_text(out, ",\"strategies\":[");
    for (uint32_t i = 0; i < TPD_ROWS_MOST; i++) {
        struct tpd_row_name name;
        uint64_t count = 0, kernel_ns = tpd_sum(stats, row[i].kernel.sum), bytes = tpd_sum(stats, row[i].bytes);
        for (int b = 0; b <= TPD_DURATION_BOUNDS; b++)
            count += tpd_sum(stats, row[i].kernel.bucket[b]);
        if (count == 0)
            continue;
        tpd_rows_name(stats, i, &name);
        (void)tpd_buf_format(out, "%s{", comma);
        comma = ",";
        add_string(out, "name", name.strategy);
        if (tpd_item_class_size(name.item_class) != 0)
            (void)tpd_buf_format(out, ",\"itemsize\":%" PRIu32, tpd_item_class_size(name.item_class));
        else
            add_text(out,
                     ",\"itemsize\":null"); /* all other sizes together: clients choose them, so they get no rows of their own */
        (void)tpd_buf_format(out, ",\"count\":%" PRIu64 ",\"kernel_ns_total\":%" PRIu64 ",\"bytes_total\":%" PRIu64, count,
                             kernel_ns, bytes);
        if (kernel_ns != 0)
            (void)tpd_buf_format(out, ",\"achieved_bytes_per_second\":%.0f", (double)bytes * 1e9 / (double)kernel_ns);
        else
            add_text(out, ",\"achieved_bytes_per_second\":null");
        struct tpd_model model = tpd_stats_model(stats, name.strategy, name.item_class);
        if (model.has_shared)
            (void)tpd_buf_format(out, ",\"wavefronts\":{\"store\":%.6g,\"load\":%.6g,\"ideal\":%.6g}",
                                 model.wavefronts[TPD_OP_STORE], model.wavefronts[TPD_OP_LOAD], model.wavefronts_ideal);
        else
            add_text(out, ",\"wavefronts\":null");
        if (model.has_global)
            (void)tpd_buf_format(out, ",\"sectors\":{\"load\":%.6g,\"store\":%.6g,\"ideal\":%.6g}", model.sectors[TPD_OP_LOAD],
                                 model.sectors[TPD_OP_STORE], model.sectors_ideal);
        else
            add_text(out, ",\"sectors\":null");
        add_text(out, ",");
        add_string(out, "device", name.device);
        add_text(out, "}");
    }
    add_text(out, "]");
}

static void add_memory(struct tpd_engine *engine, struct tpd_buf *out) {
    struct tpd_engine_counts counts;
    uint64_t pool = 0, used = 0;
    tpd_engine_counts(engine, &counts);
    for (uint32_t i = 0; i < tpd_engine_device_count(engine); i++) {
        struct tpd_device_info info;
        tpd_engine_device_info(engine, i, &info);
        pool += info.memory_pool_bytes;
        used += info.memory_pool_bytes != 0 ? info.memory_used_bytes : 0;
    }
    (void)tpd_buf_format(
        out,
        ",\"memory\":{\"host_budget_bytes\":%" PRIu64 ",\"host_used_bytes\":%" PRIu64 ",\"host_cached_bytes\":%" PRIu64
        ",\"pinned_bytes\":%" PRIu64 ",\"device_pool_bytes\":%" PRIu64 ",\"device_used_bytes\":%" PRIu64 "}",
        counts.host_budget_bytes, counts.host_used_bytes, counts.host_cached_bytes, counts.pinned_bytes, pool, used);
}

static void add_recent(const struct tpd_recent *recent, struct tpd_buf *out) {
    char at[TPD_ISO_TIME_BYTES];
    bool has_shape = recent->matrix.itemsize != 0; /* else it was refused before its shape was known */
    tpd_iso_time(recent->at_unix_ns, at);
    add_text(out, "{");
    add_string(out, "id", recent->id);
    (void)tpd_buf_format(
        out,
        ",\"at\":\"%s\",\"status\":%d,\"rows\":%" PRIu64 ",\"cols\":%" PRIu64 ",\"batch\":%" PRIu64 ",\"itemsize\":%" PRIu32 ",",
        at, recent->http_status, recent->matrix.rows, recent->matrix.cols, recent->matrix.batch, recent->matrix.itemsize);
    add_string(out, "dtype", !has_shape ? NULL : recent->cells ? "text" : tpd_dtype_name(recent->matrix.dtype));
    add_text(out, ",");
    add_string(out, "format_in", recent->format_in < TPD_CODEC_COUNT ? tpd_format_name(recent->format_in) : NULL);
    add_text(out, ",");
    add_string(out, "format_out", recent->format_out < TPD_CODEC_COUNT ? tpd_format_name(recent->format_out) : NULL);
    add_text(out, ",");
    add_string(out, "device", recent->device[0] != '\0' ? recent->device : NULL);
    add_text(out, ",");
    add_string(out, "strategy", recent->strategy);
    if (recent->tile.rows != 0)
        (void)tpd_buf_format(out, ",\"tile\":\"%" PRIu32 "x%" PRIu32 "\"", recent->tile.rows, recent->tile.cols);
    else
        add_text(out, ",\"tile\":null");
    (void)tpd_buf_format(out, ",\"bytes\":%" PRIu64, recent->bytes);
    for (int i = 0; i < TPD_STAGE_COUNT; i++)
        (void)tpd_buf_format(out, ",\"%s_ns\":%" PRIu64, tpd_stage_name((enum tpd_stage)i), recent->stage_ns[i]);
    (void)tpd_buf_format(out, ",\"total_ns\":%" PRIu64 "}", recent->total_ns);
}

static void add_ring(struct tpd_stats *stats, uint32_t most, const char *only_id, struct tpd_buf *out) {
    struct tpd_ring *ring = &stats->ring;
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t there = head < ring->slots ? head : ring->slots;
    uint32_t shown = 0;
    add_text(out, ",\"recent\":[");
    if (only_id != NULL)
        most = 1; /* an id that came twice: the newest */
    for (uint64_t i = 1; i <= there && shown < most; i++) {
        struct tpd_recent recent;
        if (!tpd_ring_read(ring, head - i, &recent) || (only_id != NULL && strcmp(only_id, recent.id) != 0))
            continue;
        if (shown++ != 0)
            add_text(out, ",");
        add_recent(&recent, out);
    }
    add_text(out, "]");
}

enum tpd_status tpd_stats_json(struct tpd_stats *stats, struct tpd_engine *engine, const struct tpd_config *config,
                               uint32_t recent_most, const char *only_id, struct tpd_buf *out) {
    add_head(stats, out);
    add_strategy(engine, config, out);
    add_devices(engine, out);
    add_requests(stats, engine, out);
    add_stages(stats, out);
    add_rows(stats, out);
    add_memory(engine, out);
    add_ring(stats, recent_most, only_id, out);
    return tpd_buf_text(out, "}\n");
}
