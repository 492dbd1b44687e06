/* stats_page.h -- what the tests of /stats share: statistics to record into, the page that they make, and its fields by path. */
#ifndef TPD_STATS_PAGE_H
#define TPD_STATS_PAGE_H

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "tests/unit/engine/fake_engine.h"
#include "transposed/stats.h"

static struct tpd_config config;
static struct tpd_stats *stats;

static inline void make(const char *recent) {
    struct tpd_error error;
    tpd_config_defaults(&config);
    ck_assert_ok(tpd_config_set(&config, TPD_KNOB_recent, recent, TPD_SOURCE_FLAG, &error), error);
    ck_assert_ok(tpd_stats_create(&config, &stats, &error), error);
}

static inline void record(const struct tpd_record *entry) {
    tpd_stats_begin(stats);
    tpd_stats_end(stats, entry);
}

static inline cJSON *page(uint32_t recent, const char *id) {
    struct tpd_buf out;
    tpd_buf_init(&out, 1 << 24);
    ck_assert_int_eq(tpd_stats_json(stats, NULL, &config, recent, id, &out), TPD_OK);
    cJSON *json = cJSON_Parse(out.data);
    ck_assert_msg(json != NULL, "no JSON: %s", out.data);
    tpd_buf_fini(&out);
    return json;
}

static inline const cJSON *at(const cJSON *json, const char *path) {
    char copy[200], *rest = copy;
    (void)snprintf(copy, sizeof copy, "%s", path);
    for (char *key = strsep(&rest, "/"); key != NULL; key = strsep(&rest, "/")) {
        json = cJSON_IsArray(json) ? cJSON_GetArrayItem(json, atoi(key)) : cJSON_GetObjectItemCaseSensitive(json, key);
        ck_assert_msg(json != NULL, "%s: no %s", path, key);
    }
    return json;
}

static inline double number(const cJSON *json, const char *path) {
    ck_assert_msg(cJSON_IsNumber(at(json, path)), "%s is no number", path);
    return at(json, path)->valuedouble;
}

static inline const char *string(const cJSON *json, const char *path) {
    ck_assert_msg(cJSON_IsString(at(json, path)), "%s is no string", path);
    return at(json, path)->valuestring;
}

/* The keys of an object, in order, must be exactly these. */
static inline void keys(const cJSON *json, const char *path, const char *expected) {
    char found[1000] = "";
    for (const cJSON *item = (path[0] != '\0' ? at(json, path) : json)->child; item != NULL; item = item->next)
        (void)snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", found[0] != '\0' ? " " : "", item->string);
    ck_assert_str_eq(found, expected);
}

#endif
