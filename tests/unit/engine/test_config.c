/* test_config.c -- the knob table against itself, values one by one, and what is printed against what is read. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "server/config/knob.h"
#include "transposed/buf.h"
#include "transposed/config.h"

START_TEST(every_default_is_within_its_bounds) {
    struct tpd_config config;
    struct tpd_error error;
    static const struct {
        const char *name, *default_text;
    } rows[] = {
#define X(TYPE, name, least, most, default_text, RELOAD, SECTION, help) {#name, default_text},
#include "transposed/tbl/config.def"
#undef X
    };
    memset(&config, 0x5a, sizeof config);
    for (int i = 0; i < TPD_KNOB_COUNT; i++) {
        ck_assert_ok(tpd_config_set(&config, (enum tpd_knob)i, rows[i].default_text, TPD_SOURCE_DEFAULT, &error), error);
        ck_assert_int_eq(tpd_knob_find(rows[i].name), i);
        ck_assert_str_eq(tpd_knob_name((enum tpd_knob)i), rows[i].name);
    }
    tpd_config_defaults(&config);
    enum tpd_config_source from;
    ck_assert_ok(tpd_config_check(&config, &from, &error), error);
    ck_assert_str_eq(config.listen, "127.0.0.1:7070");
    ck_assert_uint_eq(config.max_body_bytes, UINT64_C(4) << 30);
    ck_assert_uint_eq(config.receive_timeout, UINT64_C(300000000000));
    ck_assert_uint_eq(config.on_device_loss, TPD_LOSS_CPU);
    ck_assert_uint_eq(config.log_level, 2);
    ck_assert_uint_eq(config.tile.rows, 0);
}
END_TEST

/* A bound that the field can't hold would be an overrun. */
START_TEST(table_is_sound) {
#define LEAST_TEXT(least, most) ck_assert_uint_lt(most, TPD_CONFIG_TEXT_BYTES);
#define LEAST_UINT(least, most) ck_assert_uint_le(least, most);
#define LEAST_BYTES(least, most) ck_assert_uint_le(least, most);
#define LEAST_TIME(least, most) ck_assert_uint_le(least, most);
#define LEAST_CHOICE(least, most) ck_assert_ptr_nonnull(strchr(least, '|'));
#define LEAST_TILE(least, most)
#define X(TYPE, name, least, most, default_text, RELOAD, SECTION, help) \
    LEAST_##TYPE(least, most) ck_assert_uint_gt(strlen(help), 20);      \
    ck_assert_uint_eq(strspn(#name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(#name));
#include "transposed/tbl/config.def"
#undef X
    /* uint32_t slots of the ring */
    struct tpd_config config;
    tpd_config_defaults(&config);
    ck_assert_int_ne(tpd_config_set(&config, TPD_KNOB_recent, "4294967296", TPD_SOURCE_FLAG, NULL), TPD_OK);
    ck_assert_int_eq(tpd_knob_find("max-body-bytes"), TPD_KNOB_max_body_bytes);
    ck_assert_int_eq(tpd_knob_find("max_body"), TPD_KNOB_COUNT);
    ck_assert_int_eq(tpd_knob_find("max_body_bytes_"), TPD_KNOB_COUNT);
    ck_assert_int_eq(tpd_knob_find(""), TPD_KNOB_COUNT);
    ck_assert(tpd_knob_is_reloadable(TPD_KNOB_log_level));
    ck_assert(!tpd_knob_is_reloadable(TPD_KNOB_listen));
}
END_TEST

START_TEST(good_values) {
    static const struct {
        enum tpd_knob knob;
        const char *text, *printed;
    } cases[] = {
        {TPD_KNOB_max_body_bytes, "1", "1B"},
        {TPD_KNOB_max_body_bytes, "1000", "1000B"},
        {TPD_KNOB_max_body_bytes, "1024B", "1KiB"},
        {TPD_KNOB_max_body_bytes, "1536KiB", "1536KiB"},
        {TPD_KNOB_max_body_bytes, "2048KiB", "2MiB"},
        {TPD_KNOB_max_body_bytes, "1TiB", "1TiB"},
        {TPD_KNOB_host_memory_bytes, "1024TiB", "1024TiB"},
        {TPD_KNOB_min_receive_rate, "0", "0"},
        {TPD_KNOB_receive_timeout, "100000000ns", "100ms"},
        {TPD_KNOB_receive_timeout, "100000us", "100ms"},
        {TPD_KNOB_receive_timeout, "1500ms", "1500ms"},
        {TPD_KNOB_receive_timeout, "90s", "90s"},
        {TPD_KNOB_receive_timeout, "120s", "2m"},
        {TPD_KNOB_receive_timeout, "24h", "24h"},
        {TPD_KNOB_drain_delay, "0", "0s"},
        {TPD_KNOB_drain_delay, "0ms", "0s"},
        {TPD_KNOB_queue_depth, "1000000", "1000000"},
        {TPD_KNOB_strategy, "swizzled", "swizzled"},
        {TPD_KNOB_tile, "64x32", "64x32"},
        {TPD_KNOB_tile, "auto", "auto"},
        {TPD_KNOB_log_level, "debug", "debug"},
        {TPD_KNOB_log_format, "json", "json"},
        {TPD_KNOB_listen, "unix:/tmp/a b.sock", "unix:/tmp/a b.sock"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tpd_config config, again;
        struct tpd_error error;
        char text[TPD_CONFIG_TEXT_BYTES];
        tpd_config_defaults(&config);
        ck_assert_ok(tpd_config_set(&config, cases[i].knob, cases[i].text, TPD_SOURCE_FLAG, &error), error);
        ck_assert_int_eq(config.source[cases[i].knob], TPD_SOURCE_FLAG);
        tpd_config_print(&config, cases[i].knob, text, sizeof text);
        ck_assert_str_eq(text, cases[i].printed);
        tpd_config_defaults(&again);
        ck_assert_ok(tpd_config_set(&again, cases[i].knob, text, TPD_SOURCE_FLAG, &error), error);
        ck_assert_mem_eq(&config, &again, sizeof config);
    }
}
END_TEST

START_TEST(bad_values_name_key_value_and_range) {
    static const struct {
        enum tpd_knob knob;
        const char *text, *range;
    } cases[] = {
        {TPD_KNOB_max_body_bytes, "", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "0", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "2TiB", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "4GB", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "4 GiB", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "4GiB ", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, " 4GiB", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "4gib", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "1.5GiB", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "-1", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "+1", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "0x10", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "18446744073709551616", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "18446744073709551617", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "16777216TiB", "1B to 1TiB"},
        {TPD_KNOB_max_body_bytes, "GiB", "1B to 1TiB"},
        {TPD_KNOB_max_header_bytes, "1023", "1KiB to 1MiB"},
        {TPD_KNOB_receive_timeout, "300", "100ms to 24h"},
        {TPD_KNOB_receive_timeout, "0", "100ms to 24h"},
        {TPD_KNOB_receive_timeout, "99ms", "100ms to 24h"},
        {TPD_KNOB_receive_timeout, "25h", "100ms to 24h"},
        {TPD_KNOB_receive_timeout, "5d", "100ms to 24h"},
        {TPD_KNOB_receive_timeout, "1m30s", "100ms to 24h"},
        {TPD_KNOB_receive_timeout, "5124095576030431h", "100ms to 24h"},
        {TPD_KNOB_queue_depth, "0", "1 to 1000000"},
        {TPD_KNOB_queue_depth, "1000001", "1 to 1000000"},
        {TPD_KNOB_queue_depth, "256KiB", "1 to 1000000"},
        {TPD_KNOB_queue_depth, "many", "1 to 1000000"},
        {TPD_KNOB_log_level, "INFO", "error, warn, info, debug"},
        {TPD_KNOB_log_level, "inf", "error, warn, info, debug"},
        {TPD_KNOB_log_level, "", "error, warn, info, debug"},
        {TPD_KNOB_log_level, "warn|info", "error, warn, info, debug"},
        {TPD_KNOB_tile, "33x32", "from 16 to 128"},
        {TPD_KNOB_tile, "256x32", "from 16 to 128"},
        {TPD_KNOB_tile, "32", "from 16 to 128"},
        {TPD_KNOB_tile, "32x32x32", "from 16 to 128"},
        {TPD_KNOB_strategy, "magic", "swizzled"},
        {TPD_KNOB_listen, "", "1 to 255 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tpd_config config, before;
        struct tpd_error error;
        char quoted[80];
        tpd_config_defaults(&config);
        before = config;
        ck_assert_int_eq(tpd_config_set(&config, cases[i].knob, cases[i].text, TPD_SOURCE_ENVIRONMENT, &error), TPD_CONFIG);
        (void)snprintf(quoted, sizeof quoted, "'%s'", cases[i].text);
        ck_assert_msg(strstr(error.text, tpd_knob_name(cases[i].knob)) == error.text, "no key: %s", error.text);
        ck_assert_msg(strstr(error.text, quoted) != NULL, "no value %s: %s", quoted, error.text);
        ck_assert_msg(strstr(error.text, cases[i].range) != NULL, "no range %s: %s", cases[i].range, error.text);
        ck_assert_msg(strstr(error.text, "environment") != NULL, "no source: %s", error.text);
        ck_assert_mem_eq(&config, &before, sizeof config);
    }
}
END_TEST

START_TEST(hostile_texts) {
    struct tpd_config config;
    char text[400];
    tpd_config_defaults(&config);
    memset(text, 'a', sizeof text);
    text[256] = '\0';
    ck_assert_int_eq(tpd_config_set(&config, TPD_KNOB_listen, text, TPD_SOURCE_FLAG, NULL), TPD_CONFIG);
    text[255] = '\0';
    ck_assert_int_eq(tpd_config_set(&config, TPD_KNOB_listen, text, TPD_SOURCE_FLAG, NULL), TPD_OK);
    ck_assert_str_eq(config.listen, text);
    ck_assert_str_eq(config.admin_listen, "127.0.0.1:7071");
    ck_assert_int_eq(tpd_config_set(&config, TPD_KNOB_listen, "a\nb", TPD_SOURCE_FLAG, NULL), TPD_CONFIG);
    ck_assert_int_eq(tpd_config_set(&config, TPD_KNOB_listen, "a\x1b[2J", TPD_SOURCE_FLAG, NULL), TPD_CONFIG);
    ck_assert_int_eq(tpd_config_set(&config, TPD_KNOB_listen, "a\xff", TPD_SOURCE_FLAG, NULL), TPD_CONFIG);
    ck_assert_int_eq(tpd_config_set(&config, TPD_KNOB_listen, "unix:/\xc3\xa4", TPD_SOURCE_FLAG, NULL), TPD_OK);
}
END_TEST

static void check(const char *knobs, const char *words) {
    struct tpd_config config;
    struct tpd_error error = {.text = ""};
    char copy[200], *rest = copy;
    tpd_config_defaults(&config);
    (void)snprintf(copy, sizeof copy, "%s", knobs);
    for (char *pair = strsep(&rest, ";"); pair != NULL; pair = strsep(&rest, ";")) {
        char *value = strchr(pair, '=');
        *value++ = '\0';
        ck_assert_ok(tpd_config_set(&config, tpd_knob_find(pair), value, TPD_SOURCE_FLAG, &error), error);
    }
    enum tpd_config_source from;
    enum tpd_status status = tpd_config_check(&config, &from, &error);
    ck_assert_int_eq(status, words == NULL ? TPD_OK : TPD_CONFIG);
    ck_assert(words == NULL || from == TPD_SOURCE_FLAG);
    ck_assert_msg(words == NULL || strstr(error.text, words) != NULL, "%s: %s", knobs, error.text);
}

START_TEST(what_knobs_say_together) {
    check("listen=127.0.0.1:7071", "listen and admin_listen are both '127.0.0.1:7071'");
    check("listen=unix:/a;admin_listen=unix:/a", "both 'unix:/a'");
    check("listen=fd:3;admin_listen=fd:3", "both 'fd:3'");
    check("listen=unix:/a:0;admin_listen=unix:/a:0", "both");
    check("listen=127.0.0.1:0;admin_listen=127.0.0.1:0", NULL);
    check("admin_listen=off", NULL);
    check("listen=off", "only admin_listen");
    check("max_connections=10;max_connections_per_ip=11", "max_connections_per_ip = 11");
    check("max_connections=10;max_connections_per_ip=10", NULL);
    check("devices=none", NULL);
    check("devices=cuda:0", NULL);
    check("devices=cuda:0,cuda:31", NULL);
    check("devices=cuda:32", "'cuda:32'");
    check("devices=cuda:0,", "''");
    check("devices=cuda:0,cuda:0", "twice");
    check("devices=cuda:0,none", "'none'");
    check("devices=gpu", "'gpu'");
    check("devices=cuda:", "'cuda:'");
    check("devices=cuda:1x", "'cuda:1x'");
    check("devices=cuda:99999999999999999999999", "is no GPU");
}
END_TEST

START_TEST(addresses) {
    static const char *const good[] = {"0.0.0.0:0", "localhost:65535", "[::1]:7070", "[::]:0", "unix:/x",
                                       "fd:0",      "fd:2147483647"};
    static const char *const bad[] = {"nowhere",
                                      "nowhere:1",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:99999999999",
                                      "127.0.0.1: 1",
                                      "127.0.0.1:1x",
                                      ":1",
                                      "::1:7070",
                                      "[::1]",
                                      "[::1]:",
                                      "[127.0.0.1]:1",
                                      "[]:1",
                                      "[:1",
                                      "]:1",
                                      "unix:",
                                      "unix:x",
                                      "fd:",
                                      "fd:x",
                                      "fd:2147483648",
                                      "http://127.0.0.1:1"};
    char text[160];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        (void)snprintf(text, sizeof text, "listen=%s", good[i]);
        check(text, NULL);
        (void)snprintf(text, sizeof text, "admin_listen=%s", good[i]);
        check(text, NULL);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(text, sizeof text, "listen=%s", bad[i]);
        check(text, "from the command line can't be read: it takes ADDRESS:PORT");
        (void)snprintf(text, sizeof text, "admin_listen=%s", bad[i]);
        check(text, "fd:N or off");
    }
    memcpy(text, "listen=unix:/", 13);
    memset(text + 13, 'x', 106);
    text[13 + 106] = '\0'; /* with the slash 107 bytes, the most that a socket's address holds beside its end */
    check(text, NULL);
    memcpy(text + 13 + 106, "x", 2);
    check(text, "can't be read");
}
END_TEST

START_TEST(defaults_are_written_as_they_are_printed) {
    struct tpd_config config;
    char text[TPD_CONFIG_TEXT_BYTES];
    tpd_config_defaults(&config);
    for (int i = 0; i < TPD_KNOB_COUNT; i++) {
        tpd_config_print(&config, (enum tpd_knob)i, text, sizeof text);
        ck_assert_str_eq(text, tpd_knob_row((enum tpd_knob)i)->default_text);
    }
}
END_TEST

START_TEST(effective_configuration_as_json) {
    struct tpd_config config;
    struct tpd_error error;
    struct tpd_buf out;
    tpd_config_defaults(&config);
    ck_assert_ok(tpd_config_set(&config, TPD_KNOB_listen, "unix:/tmp/\"q\"", TPD_SOURCE_ENVIRONMENT, &error), error);
    ck_assert_ok(tpd_config_set(&config, TPD_KNOB_queue_depth, "7", TPD_SOURCE_FILE, &error), error);
    tpd_buf_init(&out, 1 << 20);
    ck_assert_int_eq(tpd_config_json(&config, &out), TPD_OK);
    cJSON *json = cJSON_Parse(out.data);
    ck_assert_ptr_nonnull(json);
    ck_assert_int_eq(cJSON_GetArraySize(json), TPD_KNOB_COUNT);
    const cJSON *listen = cJSON_GetObjectItem(json, "listen"), *depth = cJSON_GetObjectItem(json, "queue_depth");
    ck_assert_str_eq(cJSON_GetObjectItem(listen, "value")->valuestring, "unix:/tmp/\"q\"");
    ck_assert_str_eq(cJSON_GetObjectItem(listen, "source")->valuestring, "environment");
    ck_assert_str_eq(cJSON_GetObjectItem(listen, "default")->valuestring, "127.0.0.1:7070");
    ck_assert(cJSON_IsFalse(cJSON_GetObjectItem(listen, "reloadable")));
    ck_assert_int_eq(cJSON_GetObjectItem(depth, "value")->valueint, 7);
    ck_assert_int_eq(cJSON_GetObjectItem(depth, "default")->valueint, 256);
    ck_assert_str_eq(cJSON_GetObjectItem(depth, "source")->valuestring, "file");
    for (const cJSON *knob = json->child; knob != NULL; knob = knob->next) {
        ck_assert(cJSON_IsString(cJSON_GetObjectItem(knob, "unit")));
        ck_assert(cJSON_IsString(cJSON_GetObjectItem(knob, "range")));
        ck_assert_uint_gt(strlen(cJSON_GetObjectItem(knob, "help")->valuestring), 20);
    }
    cJSON_Delete(json);
    tpd_buf_fini(&out);
}
END_TEST

START_TEST(writers_survive_every_failed_allocation) {
    struct tpd_config config;
    int failed = 1;
    tpd_config_defaults(&config);
    for (uint64_t nth = 1; failed; nth++) {
        struct tpd_buf out;
        tpd_heap_begin(nth);
        tpd_buf_init(&out, 1 << 20);
        enum tpd_status statuses[3];
        statuses[0] = tpd_config_json(&config, &out);
        statuses[1] = tpd_config_file_text(&config, &out);
        statuses[2] = tpd_config_reference(&out);
        tpd_buf_fini(&out);
        failed = tpd_heap_end();
        ck_assert_int_eq(statuses[2], failed ? TPD_NO_MEMORY : TPD_OK);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("config");
    TCase *c = tcase_create("knobs");
    tcase_add_test(c, every_default_is_within_its_bounds);
    tcase_add_test(c, table_is_sound);
    tcase_add_test(c, good_values);
    tcase_add_test(c, bad_values_name_key_value_and_range);
    tcase_add_test(c, hostile_texts);
    tcase_add_test(c, what_knobs_say_together);
    tcase_add_test(c, addresses);
    tcase_add_test(c, defaults_are_written_as_they_are_printed);
    tcase_add_test(c, effective_configuration_as_json);
    tcase_add_test(c, writers_survive_every_failed_allocation);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
