/* test_stats.c -- what /stats says against what was recorded: every field, its place, the percentiles, the ring. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "tests/unit/engine/fake_engine.h"
#include "transposed/stats.h"

static struct tpd_config config;
static struct tpd_stats *stats;

static void make(const char *recent) {
    struct tpd_error error;
    tpd_config_defaults(&config);
    ck_assert_ok(tpd_config_set(&config, TPD_KNOB_recent, recent, TPD_SOURCE_FLAG, &error), error);
    ck_assert_ok(tpd_stats_create(&config, &stats, &error), error);
}

static void record(const struct tpd_record *entry) {
    tpd_stats_begin(stats);
    tpd_stats_end(stats, entry);
}

static cJSON *page(uint32_t recent, const char *id) {
    struct tpd_buf out;
    tpd_buf_init(&out, 1 << 24);
    ck_assert_int_eq(tpd_stats_json(stats, NULL, &config, recent, id, &out), TPD_OK);
    cJSON *json = cJSON_Parse(out.data);
    ck_assert_msg(json != NULL, "no JSON: %s", out.data);
    tpd_buf_fini(&out);
    return json;
}

static const cJSON *at(const cJSON *json, const char *path) {
    char copy[200], *rest = copy;
    (void)snprintf(copy, sizeof copy, "%s", path);
    for (char *key = strsep(&rest, "/"); key != NULL; key = strsep(&rest, "/")) {
        json = cJSON_IsArray(json) ? cJSON_GetArrayItem(json, atoi(key)) : cJSON_GetObjectItemCaseSensitive(json, key);
        ck_assert_msg(json != NULL, "%s: no %s", path, key);
    }
    return json;
}

static double number(const cJSON *json, const char *path) {
    ck_assert_msg(cJSON_IsNumber(at(json, path)), "%s is no number", path);
    return at(json, path)->valuedouble;
}

static const char *string(const cJSON *json, const char *path) {
    ck_assert_msg(cJSON_IsString(at(json, path)), "%s is no string", path);
    return at(json, path)->valuestring;
}

/* The keys of an object, in order, must be exactly these. */
static void keys(const cJSON *json, const char *path, const char *expected) {
    char found[1000] = "";
    for (const cJSON *item = (path[0] != '\0' ? at(json, path) : json)->child; item != NULL; item = item->next)
        (void)snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", found[0] != '\0' ? " " : "", item->string);
    ck_assert_str_eq(found, expected);
}

#define STAGE "count total_ns p50_ns p90_ns p99_ns max_ns"

START_TEST(every_field_in_its_order) {
    make("8");
    struct tpd_record entry = fake_record("a-1");
    record(&entry);
    cJSON *json = page(8, NULL);
    keys(json, "", "version build started_at uptime_seconds pid strategy devices requests bytes stages strategies memory recent");
    keys(json, "build", "compiler cuda");
    keys(json, "strategy", "configured tile chosen figures tuned_at crossover_bytes crossover_bytes_by_itemsize");
    keys(json, "strategy/chosen", "1 2 4 8 16");
    keys(json, "devices/0",
         "id kind name state reason memory_total_bytes memory_used_bytes memory_pool_bytes compute_capability "
         "multiprocessors instructions lanes mapped_most_bytes panels_least_bytes driver_version runtime_version");
    keys(json, "requests", "total ok client_errors server_errors rejected in_flight queued by_status by_format");
    keys(json, "bytes", "in out");
    keys(json, "stages", "receive decode queue h2d kernel d2h encode");
    keys(json, "stages/kernel", STAGE);
    keys(json, "strategies/0",
         "name itemsize count kernel_ns_total bytes_total achieved_bytes_per_second wavefronts sectors device");
    keys(json, "strategies/0/wavefronts", "store load ideal");
    keys(json, "strategies/0/sectors", "load store ideal");
    keys(json, "memory", "host_budget_bytes host_used_bytes host_cached_bytes pinned_bytes device_pool_bytes device_used_bytes");
    keys(json, "recent/0",
         "id at status rows cols batch itemsize dtype format_in format_out device strategy tile bytes receive_ns decode_ns "
         "queue_ns h2d_ns kernel_ns d2h_ns encode_ns total_ns");

    ck_assert_int_eq((int)number(json, "pid"), getpid());
    ck_assert_uint_eq(strlen(string(json, "started_at")), 24);
    ck_assert(number(json, "uptime_seconds") >= 0 && number(json, "uptime_seconds") < 100);
    ck_assert_str_eq(string(json, "strategy/configured"), "auto");
    ck_assert_str_eq(string(json, "strategy/tile"), "auto");
    ck_assert_str_eq(string(json, "strategy/chosen/1"), "direct");
    ck_assert_str_eq(string(json, "strategy/chosen/16"), "padded");
    ck_assert(cJSON_IsNull(at(json, "strategy/tuned_at")));
    ck_assert(number(json, "strategy/crossover_bytes") == 65536);
    keys(json, "strategy/figures", "");
    keys(json, "strategy/crossover_bytes_by_itemsize", "1 2 4 8 16 other");
    ck_assert(number(json, "strategy/crossover_bytes_by_itemsize/other") == 32);
    ck_assert_int_eq(cJSON_GetArraySize(at(json, "devices")), 4);
    ck_assert_str_eq(string(json, "devices/0/name"), "Name of \"cuda:0\"\n");
    ck_assert_str_eq(string(json, "devices/0/compute_capability"), "9.0");
    ck_assert_str_eq(string(json, "devices/0/driver_version"), "13.0");
    ck_assert_str_eq(string(json, "devices/0/runtime_version"), "12.4");
    ck_assert(cJSON_IsNull(at(json, "devices/0/reason")));
    ck_assert_str_eq(string(json, "devices/1/state"), "lost");
    ck_assert_str_eq(string(json, "devices/1/reason"), "why cuda:1");
    ck_assert_str_eq(string(json, "devices/2/state"), "absent");
    ck_assert(cJSON_IsNull(at(json, "devices/3/compute_capability")));
    ck_assert(cJSON_IsNull(at(json, "devices/3/driver_version")));
    ck_assert(number(json, "memory/host_budget_bytes") == 1000 && number(json, "memory/host_used_bytes") == 300);
    ck_assert(number(json, "memory/host_cached_bytes") == 200 && number(json, "memory/pinned_bytes") == 400);
    ck_assert(number(json, "memory/device_pool_bytes") == 3 * 4096 && number(json, "memory/device_used_bytes") == 3 * 1024);
    ck_assert(number(json, "requests/queued") == 5);
    ck_assert(number(json, "bytes/in") == 4928 && number(json, "bytes/out") == 5000);
    ck_assert(number(json, "stages/h2d/count") == 1 && number(json, "stages/h2d/total_ns") == 4000);

    ck_assert_str_eq(string(json, "recent/0/id"), "a-1");
    ck_assert_str_eq(string(json, "recent/0/at"), "2023-11-14T22:13:20.123Z");
    ck_assert(number(json, "recent/0/status") == 200 && number(json, "recent/0/rows") == 30);
    ck_assert(number(json, "recent/0/cols") == 20 && number(json, "recent/0/batch") == 2 &&
              number(json, "recent/0/itemsize") == 4);
    ck_assert_str_eq(string(json, "recent/0/dtype"), "float32");
    ck_assert_str_eq(string(json, "recent/0/format_in"), "npy");
    ck_assert_str_eq(string(json, "recent/0/format_out"), "json");
    ck_assert_str_eq(string(json, "recent/0/device"), "cuda:0");
    ck_assert_str_eq(string(json, "recent/0/strategy"), "padded");
    ck_assert_str_eq(string(json, "recent/0/tile"), "32x32");
    ck_assert(number(json, "recent/0/bytes") == 4800 && number(json, "recent/0/encode_ns") == 7000);
    ck_assert(number(json, "recent/0/total_ns") == 30000);
    cJSON_Delete(json);

    fake_crossover_bytes = 0;
    json = page(0, NULL);
    ck_assert(cJSON_IsNull(at(json, "strategy/crossover_bytes")));
    ck_assert(cJSON_IsNull(at(json, "strategy/crossover_bytes_by_itemsize/4")));
    ck_assert_int_eq(cJSON_GetArraySize(at(json, "recent")), 0);
    cJSON_Delete(json);
    tpd_stats_destroy(stats);
}
END_TEST

/* What was measured, and what it beat: 64 MiB in 32 us are 4.19 TB/s in and out. */
START_TEST(measured_choices) {
    make("8");
    fake_tuning.cells = 2;
    fake_tuning.at_unix_s = 1700000000;
    fake_tuning.cell[2][1][TPD_SHAPE_LARGE] = (struct tpd_tuning_cell){.bytes = 64 << 20,
                                                                       .best = {TPD_STRATEGY_VECTOR, 2, 32000},
                                                                       .next = {TPD_STRATEGY_SHIFTED, 0, 40000},
                                                                       .rule = {TPD_STRATEGY_VECTOR, 0, 33000}};
    fake_tuning.cell[5][0][TPD_SHAPE_TINY] =
        (struct tpd_tuning_cell){.bytes = 65536, .best = {TPD_STRATEGY_DIRECT, 0, 2000}, .rule = {TPD_STRATEGY_DIRECT, 0, 2000}};
    cJSON *json = page(0, NULL);
    keys(json, "strategy/figures", "4");
    keys(json, "strategy/figures/4", "chosen beat rule");
    ck_assert_str_eq(string(json, "strategy/tuned_at"), "2023-11-14T22:13:20.000Z");
    ck_assert_str_eq(string(json, "strategy/figures/4/chosen/strategy"), "vector");
    ck_assert(number(json, "strategy/figures/4/chosen/seconds") == 32e-6);
    ck_assert(number(json, "strategy/figures/4/chosen/bytes_per_second") == 4194304e6);
    ck_assert_str_eq(string(json, "strategy/figures/4/beat/strategy"), "shifted");
    ck_assert(number(json, "strategy/figures/4/rule/seconds") == 33e-6);
    cJSON_Delete(json);
    struct tpd_buf text;
    tpd_buf_init(&text, 1 << 20);
    tpd_stats_tuning(&fake_tuning, &text);
    json = cJSON_Parse(text.data);
    keys(json, "", "tuned_at cells");
    ck_assert_int_eq(cJSON_GetArraySize(at(json, "cells")), 2);
    keys(json, "cells/0", "itemsize shape meaning aligned rows cols batch tile blocks chosen beat rule");
    ck_assert_str_eq(string(json, "cells/0/shape"), "large");
    ck_assert_str_eq(string(json, "cells/0/blocks"), "across");
    ck_assert(number(json, "cells/0/rows") == 4096 && number(json, "cells/1/itemsize") == 12);
    ck_assert(cJSON_IsNull(at(json, "cells/1/beat")));
    cJSON_Delete(json);
    tpd_buf_fini(&text);
    fake_tuning.cells = 0;
    tpd_stats_destroy(stats);
}
END_TEST

START_TEST(counts_by_status_and_format) {
    make("4");
    static const struct {
        int http;
        enum tpd_status status;
        enum tpd_codec_id format;
        bool transpose;
    } cases[] = {
        {200, TPD_OK, TPD_CODEC_NPY, true},
        {200, TPD_OK, TPD_CODEC_NPY, true},
        {200, TPD_OK, TPD_CODEC_RAW, true},
        {400, TPD_RAGGED, TPD_CODEC_JSON, true},
        {415, TPD_UNSUPPORTED_TYPE, TPD_CODEC_COUNT, true},
        {500, TPD_INTERNAL, TPD_CODEC_RAW, true},
        {503, TPD_QUEUE_FULL, TPD_CODEC_RAW, true},
        {429, TPD_CLIENT_LIMIT, TPD_CODEC_COUNT, true},
        {404, TPD_NOT_FOUND, TPD_CODEC_COUNT, false},
        {503, TPD_OK, TPD_CODEC_COUNT, false},
        {200, TPD_OK, TPD_CODEC_NPY, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tpd_record entry = fake_record("x");
        entry.http_status = cases[i].http;
        entry.status = cases[i].status;
        entry.format_in = cases[i].format;
        entry.is_transpose = cases[i].transpose;
        record(&entry);
    }
    tpd_stats_rejected(stats, "connections-full");
    tpd_stats_begin(stats);
    tpd_stats_begin(stats);
    cJSON *json = page(10, NULL);
    ck_assert(number(json, "requests/total") == 11);
    ck_assert(number(json, "requests/ok") == 4);
    ck_assert(number(json, "requests/client_errors") == 4);
    ck_assert(number(json, "requests/server_errors") == 3);
    ck_assert(number(json, "requests/rejected") == 3);
    ck_assert(number(json, "requests/in_flight") == 2);
    keys(json, "requests/by_status", "200 400 415 500 503 429 404");
    ck_assert(number(json, "requests/by_status/200") == 4 && number(json, "requests/by_status/503") == 2);
    keys(json, "requests/by_format", "npy json raw none");
    ck_assert(number(json, "requests/by_format/npy") == 2 && number(json, "requests/by_format/raw") == 3);
    ck_assert(number(json, "requests/by_format/none") == 2);
    ck_assert(number(json, "strategies/0/count") == 3); /* those that were answered 200 */
    ck_assert_int_eq(cJSON_GetArraySize(at(json, "recent")), 4);
    cJSON_Delete(json);
    tpd_stats_destroy(stats);
}
END_TEST

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

START_TEST(percentiles_are_within_five_percent) {
    enum { COUNT = 4000 };
    static uint64_t values[COUNT];
    uint64_t seed = 11;
    for (int shape = 0; shape < 6; shape++) {
        make("0");
        uint64_t sum = 0;
        for (int i = 0; i < COUNT; i++) {
            uint64_t random = tpd_random(&seed);
            values[i] = shape == 0   ? 1 + random % 1000                     /* flat and small */
                        : shape == 1 ? 1 + (random >> (20 + random % 40))    /* many magnitudes */
                        : shape == 2 ? 131072                                /* all the same */
                        : shape == 3 ? (i % 100 == 0 ? 5000000000u : 20000u) /* a long tail */
                        : shape == 4 ? 1 + random % 40                       /* around the first octaves */
                                     : 1000000 + random % 1000000;
            struct tpd_record entry = fake_record("x");
            entry.stage_ns[TPD_STAGE_KERNEL] = values[i];
            sum += values[i];
            record(&entry);
        }
        qsort(values, COUNT, sizeof values[0], by_value);
        cJSON *json = page(0, NULL);
        static const struct {
            const char *path;
            int percent;
        } ranks[] = {{"stages/kernel/p50_ns", 50}, {"stages/kernel/p90_ns", 90}, {"stages/kernel/p99_ns", 99}};
        for (size_t i = 0; i < 3; i++) {
            double truth = (double)values[COUNT * ranks[i].percent / 100 - 1], said = number(json, ranks[i].path);
            ck_assert_msg(said >= truth * 0.95 && said <= truth * 1.05, "shape %d, p%d: %g, not %g", shape, ranks[i].percent,
                          said, truth);
        }
        ck_assert(number(json, "stages/kernel/max_ns") == (double)values[COUNT - 1]);
        ck_assert(number(json, "stages/kernel/total_ns") == (double)sum);
        ck_assert(number(json, "stages/kernel/count") == COUNT);
        cJSON_Delete(json);
        tpd_stats_destroy(stats);
    }
}
END_TEST

START_TEST(stages_that_did_not_happen_are_not_counted) {
    make("1");
    struct tpd_record entry = fake_record("x");
    entry.stage_ns[TPD_STAGE_H2D] = entry.stage_ns[TPD_STAGE_D2H] = 0;
    entry.stage_ns[TPD_STAGE_RECEIVE] = UINT64_MAX / 4;
    record(&entry);
    cJSON *json = page(1, NULL);
    ck_assert(number(json, "stages/h2d/count") == 0 && number(json, "stages/h2d/p99_ns") == 0 &&
              number(json, "stages/h2d/max_ns") == 0);
    ck_assert(number(json, "stages/queue/count") == 1);
    ck_assert(number(json, "stages/receive/count") == 1);
    cJSON_Delete(json);
    tpd_stats_destroy(stats);
}
END_TEST

START_TEST(strategy_rows) {
    make("4");
    static const struct {
        const char *strategy, *device;
        uint32_t itemsize;
    } cases[] = {{"padded", "cuda:0", 4}, {"padded", "cuda:0", 4},  {"padded", "cuda:1", 4},    {"naive", "cuda:0", 4},
                 {"blocked", "cpu", 8},   {"direct", "cuda:0", 12}, {"direct", "cuda:0", 4096}, {"direct", "cuda:0", 4},
                 {"relabel", "", 4},      {NULL, "cpu", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tpd_record entry = fake_record("x");
        char device[16];
        (void)snprintf(device, sizeof device, "%s", cases[i].device);
        entry.device = device; /* copied */
        entry.strategy = cases[i].strategy;
        entry.matrix.itemsize = cases[i].itemsize;
        record(&entry);
        memset(device, 'z', sizeof device - 1);
    }
    cJSON *json = page(4, NULL);
    ck_assert_int_eq(cJSON_GetArraySize(at(json, "strategies")), 6);
    ck_assert_str_eq(string(json, "strategies/0/name"), "padded");
    ck_assert_str_eq(string(json, "strategies/0/device"), "cuda:0");
    ck_assert(number(json, "strategies/0/count") == 2);
    ck_assert(number(json, "strategies/0/kernel_ns_total") == 10000);
    ck_assert(number(json, "strategies/0/bytes_total") == 2 * 2 * 4800);
    ck_assert(number(json, "strategies/0/achieved_bytes_per_second") == 19200.0 * 1e9 / 10000);
    ck_assert(number(json, "strategies/0/wavefronts/store") == 1 && number(json, "strategies/0/wavefronts/load") == 1);
    ck_assert(number(json, "strategies/0/wavefronts/ideal") == 1);
    ck_assert(number(json, "strategies/0/sectors/load") == 4 && number(json, "strategies/0/sectors/store") == 4);
    ck_assert(number(json, "strategies/0/sectors/ideal") == 4);
    ck_assert_str_eq(string(json, "strategies/1/device"), "cuda:1");
    ck_assert_str_eq(string(json, "strategies/2/name"), "naive");
    ck_assert(number(json, "strategies/2/wavefronts/load") == 32 && number(json, "strategies/2/wavefronts/store") == 1);
    ck_assert_str_eq(string(json, "strategies/3/name"), "blocked");
    ck_assert_str_eq(string(json, "strategies/3/device"), "cpu");
    ck_assert(cJSON_IsNull(at(json, "strategies/3/wavefronts")) && cJSON_IsNull(at(json, "strategies/3/sectors")));
    ck_assert(cJSON_IsNull(at(json, "strategies/4/itemsize")));
    ck_assert(number(json, "strategies/4/count") == 2);
    ck_assert(cJSON_IsNull(at(json, "strategies/5/wavefronts")));
    ck_assert(number(json, "strategies/5/sectors/load") > number(json, "strategies/5/sectors/ideal"));
    cJSON_Delete(json);
    tpd_stats_destroy(stats);
}
END_TEST

START_TEST(ring_is_newest_first) {
    char id[32];
    make("5");
    for (int i = 0; i < 23; i++) {
        (void)snprintf(id, sizeof id, "id-%d", i % 20);
        struct tpd_record entry = fake_record(id);
        entry.total_ns = (uint64_t)i;
        record(&entry);
        cJSON *json = page(3, NULL);
        int shown = cJSON_GetArraySize(at(json, "recent"));
        ck_assert_int_eq(shown, i < 2 ? i + 1 : 3);
        for (int j = 0; j < shown; j++) {
            char path[40];
            (void)snprintf(path, sizeof path, "recent/%d/total_ns", j);
            ck_assert_int_eq((int)number(json, path), i - j);
        }
        cJSON_Delete(json);
    }
    cJSON *json = page(1000, NULL);
    ck_assert_int_eq(cJSON_GetArraySize(at(json, "recent")), 5);
    cJSON_Delete(json);
    json = page(0, "id-1");
    ck_assert_int_eq(cJSON_GetArraySize(at(json, "recent")), 1);
    ck_assert(number(json, "recent/0/total_ns") == 21);
    cJSON_Delete(json);
    json = page(5, "id-7");
    ck_assert_int_eq(cJSON_GetArraySize(at(json, "recent")), 0);
    cJSON_Delete(json);
    tpd_stats_destroy(stats);
}
END_TEST

START_TEST(ring_of_nothing_and_odd_rows) {
    make("0");
    struct tpd_record entry = fake_record("x");
    record(&entry);
    cJSON *json = page(10, NULL);
    ck_assert_int_eq(cJSON_GetArraySize(at(json, "recent")), 0);
    cJSON_Delete(json);
    json = page(10, "x");
    ck_assert_int_eq(cJSON_GetArraySize(at(json, "recent")), 0);
    cJSON_Delete(json);
    tpd_stats_destroy(stats);

    make("2"); /* refused before anything was known */
    memset(&entry, 0, sizeof entry);
    memset(entry.id, 'i', sizeof entry.id - 1);
    entry.is_transpose = true;
    entry.http_status = 415;
    entry.status = TPD_UNSUPPORTED_TYPE;
    entry.format_in = entry.format_out = TPD_CODEC_COUNT;
    record(&entry);
    entry = fake_record("cells");
    entry.cells = true;
    entry.tile = (struct tpd_tile){0, 0};
    entry.matrix = (struct tpd_matrix){UINT64_MAX, 2, 1, 8, TPD_DTYPE_OPAQUE};
    record(&entry);
    json = page(10, NULL);
    ck_assert_str_eq(string(json, "recent/0/dtype"), "text");
    ck_assert(cJSON_IsNull(at(json, "recent/0/tile")) && number(json, "recent/0/bytes") == 0);
    ck_assert_uint_eq(strlen(string(json, "recent/1/id")), 64);
    static const char *const nulls[] = {"dtype", "format_in", "format_out", "device", "strategy", "tile"};
    for (size_t i = 0; i < sizeof nulls / sizeof nulls[0]; i++)
        ck_assert_msg(cJSON_IsNull(cJSON_GetObjectItem(at(json, "recent/1"), nulls[i])), "%s is not null", nulls[i]);
    cJSON_Delete(json);
    tpd_stats_destroy(stats);
}
END_TEST

/* More names, codes and devices than there is room for: counted as `other`, none lost, none out of bounds. */
START_TEST(tables_that_fill_up) {
    static char names[400][16];
    make("0");
    for (int i = 0; i < 400; i++) {
        struct tpd_record entry = fake_record("x");
        (void)snprintf(names[i], sizeof names[i], "n%d", i);
        entry.endpoint = entry.strategy = entry.device = names[i];
        record(&entry);
        entry.is_transpose = false;
        entry.http_status = 200 + i;
        record(&entry);
        tpd_stats_rejected(stats, names[i]);
    }
    cJSON *json = page(0, NULL);
    ck_assert(number(json, "requests/total") == 800);
    ck_assert(number(json, "requests/rejected") == 400);
    ck_assert(number(json, "requests/by_status/other") > 0);
    double rows = 0;
    for (const cJSON *row = at(json, "strategies")->child; row != NULL; row = row->next)
        rows += number(row, "count");
    ck_assert(rows == 400);
    cJSON_Delete(json);
    tpd_stats_destroy(stats);
}
END_TEST

START_TEST(creation_survives_every_failed_allocation) {
    int failed = 1;
    tpd_config_defaults(&config);
    for (uint64_t nth = 1; failed; nth++) {
        struct tpd_error error;
        struct tpd_buf out;
        tpd_heap_begin(nth);
        enum tpd_status status = tpd_stats_create(&config, &stats, &error);
        if (status == TPD_OK) {
            struct tpd_record entry = fake_record("x");
            record(&entry);
            tpd_buf_init(&out, 1 << 20);
            enum tpd_status json = tpd_stats_json(stats, NULL, &config, 5, NULL, &out);
            enum tpd_status text = tpd_stats_prometheus(stats, NULL, &config, true, &out);
            tpd_buf_fini(&out);
            tpd_stats_destroy(stats);
            status = json != TPD_OK ? json : text;
        }
        failed = tpd_heap_end();
        ck_assert_msg(status == TPD_OK || (failed && status == TPD_NO_MEMORY), "allocation %d: %s", (int)nth,
                      tpd_status_slug(status));
    }
    tpd_stats_destroy(NULL);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("stats");
    TCase *c = tcase_create("page");
    tcase_add_test(c, every_field_in_its_order);
    tcase_add_test(c, measured_choices);
    tcase_add_test(c, counts_by_status_and_format);
    tcase_add_test(c, percentiles_are_within_five_percent);
    tcase_add_test(c, stages_that_did_not_happen_are_not_counted);
    tcase_add_test(c, strategy_rows);
    tcase_add_test(c, ring_is_newest_first);
    tcase_add_test(c, ring_of_nothing_and_odd_rows);
    tcase_add_test(c, tables_that_fill_up);
    tcase_add_test(c, creation_survives_every_failed_allocation);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
