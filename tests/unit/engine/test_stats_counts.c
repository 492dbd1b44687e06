/* test_stats_counts.c -- what /stats counts: requests by status and format, stages and their percentiles, rows of strategies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/engine/stats_page.h"

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

static Suite *suite(void) {
    Suite *s = suite_create("stats_counts");
    TCase *c = tcase_create("counts");
    tcase_add_test(c, counts_by_status_and_format);
    tcase_add_test(c, percentiles_are_within_five_percent);
    tcase_add_test(c, stages_that_did_not_happen_are_not_counted);
    tcase_add_test(c, strategy_rows);
    tcase_add_test(c, tables_that_fill_up);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
