/* test_stats.c -- what /stats says against what was recorded: every field, its place, the ring. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/engine/stats_page.h"

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
         "multiprocessors instructions lanes mapped_most_bytes mapped_again_bytes panels_least_bytes driver_version "
         "runtime_version");
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
    tcase_add_test(c, ring_is_newest_first);
    tcase_add_test(c, ring_of_nothing_and_odd_rows);
    tcase_add_test(c, creation_survives_every_failed_allocation);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
