/* test_stats_threads.c -- many threads record while others read: no row is torn, and at the end no count is missing. */
#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "server/stats/stats_internal.h"
#include "tests/unit/engine/fake_engine.h"

enum { WRITERS = 8, READERS = 2, EACH = 3000 };

static struct tpd_config config;
static struct tpd_stats *stats;
static _Atomic int running, torn, shown;

/* Every field of a row is made from one number, so that a mixture of two rows is seen. */
static void *write_rows(void *argument) {
    uint64_t first = (uint64_t)(uintptr_t)argument * EACH;
    for (uint64_t n = first + 1; n <= first + EACH; n++) {
        char id[32];
        (void)snprintf(id, sizeof id, "%llu", (unsigned long long)n);
        struct tpd_record entry = fake_record(id);
        (void)snprintf(entry.trace_id, sizeof entry.trace_id, "%032llx", (unsigned long long)n);
        entry.matrix.rows = n;
        entry.total_ns = n;
        for (int i = 0; i < TPD_STAGE_COUNT; i++)
            entry.stage_ns[i] = n;
        entry.strategy = n % 2 != 0 ? "padded" : "naive";
        tpd_stats_begin(stats);
        if (n % 10 == 0)
            tpd_stats_rejected(stats, "connections-full");
        tpd_stats_end(stats, &entry);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void check_row(const cJSON *row) {
    double n = cJSON_GetObjectItem(row, "total_ns")->valuedouble;
    char id[32];
    (void)snprintf(id, sizeof id, "%.0f", n);
    bool whole = strcmp(cJSON_GetObjectItem(row, "id")->valuestring, id) == 0 &&
                 cJSON_GetObjectItem(row, "rows")->valuedouble == n && cJSON_GetObjectItem(row, "receive_ns")->valuedouble == n &&
                 cJSON_GetObjectItem(row, "encode_ns")->valuedouble == n &&
                 strcmp(cJSON_GetObjectItem(row, "strategy")->valuestring, (uint64_t)n % 2 != 0 ? "padded" : "naive") == 0;
    if (!whole)
        atomic_fetch_add(&torn, 1);
    atomic_fetch_add(&shown, 1);
}

/* Each exemplar names the request that its value came from. */
static void check_exemplars(const char *text) {
    for (const char *at = strstr(text, " # {trace_id=\""); at != NULL; at = strstr(at + 1, " # {trace_id=\"")) {
        unsigned long long n;
        double seconds;
        if (sscanf(at, " # {trace_id=\"%llx\"} %lf", &n, &seconds) != 2 || (unsigned long long)(seconds * 1e9 + 0.5) != n)
            atomic_fetch_add(&torn, 1);
    }
}

static void *read_pages(void *argument) {
    (void)argument;
    do {
        struct tpd_buf out;
        tpd_buf_init(&out, 1 << 24);
        if (tpd_stats_json(stats, NULL, &config, 64, NULL, &out) != TPD_OK)
            atomic_fetch_add(&torn, 1);
        cJSON *json = cJSON_Parse(out.data);
        const cJSON *row;
        cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "recent")) check_row(row);
        if (json == NULL || cJSON_GetObjectItem(cJSON_GetObjectItem(json, "requests"), "in_flight")->valuedouble > WRITERS)
            atomic_fetch_add(&torn, 1);
        cJSON_Delete(json);
        tpd_buf_clear(&out);
        if (tpd_stats_prometheus(stats, NULL, &config, true, &out) != TPD_OK)
            atomic_fetch_add(&torn, 1);
        check_exemplars(out.data);
        tpd_buf_fini(&out);
    } while (atomic_load(&running) != 0);
    return NULL;
}

START_TEST(nothing_torn_nothing_lost) {
    struct tpd_error error;
    pthread_t threads[WRITERS + READERS];
    tpd_config_defaults(&config);
    ck_assert_ok(tpd_config_set(&config, TPD_KNOB_recent, "16", TPD_SOURCE_FLAG, &error), error);
    ck_assert_ok(tpd_stats_create(&config, &stats, &error), error);
    atomic_store(&running, WRITERS);
    atomic_store(&torn, 0);
    atomic_store(&shown, 0);
    for (uintptr_t i = 0; i < WRITERS + READERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, i < WRITERS ? write_rows : read_pages, (void *)i), 0);
    for (int i = 0; i < WRITERS + READERS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(atomic_load(&torn), 0);
    ck_assert_int_gt(atomic_load(&shown), 0);

    struct tpd_buf out;
    tpd_buf_init(&out, 1 << 24);
    ck_assert_int_eq(tpd_stats_json(stats, NULL, &config, 64, NULL, &out), TPD_OK);
    cJSON *json = cJSON_Parse(out.data);
    const cJSON *requests = cJSON_GetObjectItem(json, "requests"), *row;
    ck_assert(cJSON_GetObjectItem(requests, "total")->valuedouble == WRITERS * EACH);
    ck_assert(cJSON_GetObjectItem(requests, "in_flight")->valuedouble == 0);
    ck_assert(cJSON_GetObjectItem(requests, "rejected")->valuedouble == WRITERS * EACH / 10);
    const cJSON *kernel = cJSON_GetObjectItem(cJSON_GetObjectItem(json, "stages"), "kernel");
    ck_assert(cJSON_GetObjectItem(kernel, "count")->valuedouble == WRITERS * EACH);
    ck_assert(cJSON_GetObjectItem(kernel, "total_ns")->valuedouble == (double)WRITERS * EACH * (WRITERS * EACH + 1) / 2);
    ck_assert(cJSON_GetObjectItem(kernel, "max_ns")->valuedouble == WRITERS * EACH);
    double count = 0;
    int rows = 0;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "strategies")) {
        count += cJSON_GetObjectItem(row, "count")->valuedouble;
        rows++;
    }
    ck_assert(count == WRITERS * EACH && rows == 2);
    cJSON_Delete(json);
    tpd_buf_fini(&out);
    tpd_stats_destroy(stats);
}
END_TEST

/* The words alone, as fast as they go: one row, written over and over, so that a read meets a write many times. */
enum { WORDS = 32, ROUNDS = 200000 };
static tpd_counter version, words[WORDS];

static void *write_words(void *argument) {
    uint64_t copy[WORDS];
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++)
            copy[i] = round * WRITERS + (uintptr_t)argument;
        (void)tpd_words_write(&version, words, tpd_peek(&version) | 1, copy, sizeof copy);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void *read_words(void *argument) {
    (void)argument;
    /* Once more after the last writer has ended: that read can't miss, however the threads were scheduled before. */
    for (bool last = false; !last;) {
        uint64_t copy[WORDS];
        last = atomic_load(&running) == 0;
        if (tpd_words_read(&version, words, copy, sizeof copy) == 0)
            continue;
        atomic_fetch_add(&shown, 1);
        for (int i = 1; i < WORDS; i++)
            if (copy[i] != copy[0]) {
                atomic_fetch_add(&torn, 1);
                break;
            }
    }
    return NULL;
}

START_TEST(words_are_never_mixed) {
    pthread_t threads[3 + READERS];
    atomic_store(&running, 3);
    for (uintptr_t i = 0; i < 3 + READERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, i < 3 ? write_words : read_words, (void *)i), 0);
    for (int i = 0; i < 3 + READERS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_gt(atomic_load(&shown), 0);
    ck_assert_int_eq(atomic_load(&torn), 0);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("stats threads");
    TCase *c = tcase_create("threads");
    tcase_set_timeout(c, 240);
    tcase_add_test(c, words_are_never_mixed);
    tcase_add_test(c, nothing_torn_nothing_lost);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
