/* test_config_file.c -- files and environments: what is taken, what is refused and in which words, and that a refusal changes
 * nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "transposed/buf.h"
#include "transposed/config.h"

static char path[64];

static void write_file(const char *text, size_t bytes) {
    (void)snprintf(path, sizeof path, "/tmp/tpd-config-XXXXXX");
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, bytes), (ssize_t)bytes);
    (void)close(file);
}

static enum tpd_status read_text(struct tpd_config *config, const char *text, size_t bytes, struct tpd_error *error) {
    write_file(text, bytes);
    enum tpd_status status = tpd_config_read_file(config, path, error);
    (void)unlink(path);
    return status;
}

START_TEST(numbers_and_strings) {
    static const char text[] =
        "\xef\xbb\xbf{\n \"queue_depth\": 12, \"max-body-bytes\": 65536, \"host_memory_bytes\": \"3GiB\",\n"
        " \"drain_delay\": 0, \"tile\": \"64x64\", \"recent\": 0, \"log_level\": \"error\", \"http_threads\": \"3\"}\n";
    struct tpd_config config;
    struct tpd_error error;
    tpd_config_defaults(&config);
    ck_assert_ok(read_text(&config, text, sizeof text - 1, &error), error);
    ck_assert_uint_eq(config.queue_depth, 12);
    ck_assert_uint_eq(config.max_body_bytes, 65536);
    ck_assert_uint_eq(config.host_memory_bytes, UINT64_C(3) << 30);
    ck_assert_uint_eq(config.tile.cols, 64);
    ck_assert_uint_eq(config.recent, 0);
    ck_assert_uint_eq(config.http_threads, 3);
    ck_assert_int_eq(config.source[TPD_KNOB_queue_depth], TPD_SOURCE_FILE);
    ck_assert_int_eq(config.source[TPD_KNOB_listen], TPD_SOURCE_DEFAULT);
    ck_assert_ok(read_text(&config, "{}", 2, &error), error);
}
END_TEST

START_TEST(refusals) {
#define TEXT(text) text, sizeof text - 1
    static const struct {
        const char *text;
        size_t bytes;
        const char *words;
    } cases[] = {
        {TEXT(""), "line 1, column 1"},
        {TEXT("[]"), "no JSON object"},
        {TEXT("3"), "no JSON object"},
        {TEXT("{\"queue_depth\": 12} x"), "line 1, column 21 is behind the object's end"},
        {TEXT("{\"queue_depth\": 12}\n{}"), "line 2, column 1"},
        {TEXT("{\"queue_depth\": 12,\n  \"recent\" 3}"), "line 2"},
        {TEXT("{\"queue_depth\": 12\n \"recent\": 3}"), "is a comma"},
        {TEXT("{\"queue_depth\": 12"), "is no JSON"},
        {TEXT("{\"queue_dept\": 12}"), "'queue_dept' is no knob: did you mean queue_depth?"},
        {TEXT("{\"Listen\": \"x\"}"), "did you mean listen?"},
        {TEXT("{\"max_body_byte\": 1}"), "did you mean max_body_bytes?"},
        {TEXT("{\"completely_else\": 1}"), "'completely_else' is no knob: `transposed serve --help`"},
        {TEXT("{\"\": 1}"), "'' is no knob"},
        {TEXT("{\"recent\": 1, \"recent\": 1}"), "recent is there twice"},
        {TEXT("{\"queue_depth\": 1, \"recent\": 1, \"queue-depth\": 2}"), "queue_depth is there twice"},
        {TEXT("{\"recent\": true}"), "recent is true: it takes a number from 0 to 65536"},
        {TEXT("{\"recent\": false}"), "recent is false"},
        {TEXT("{\"recent\": null}"), "recent is null"},
        {TEXT("{\"recent\": [1]}"), "recent is an array"},
        {TEXT("{\"recent\": {}}"), "recent is an object"},
        {TEXT("{\"listen\": 7070}"), "listen is a number: it takes a text of 1 to 255 bytes"},
        {TEXT("{\"log_level\": 1}"), "log_level is a number: it takes one of error, warn, info, debug"},
        {TEXT("{\"tile\": 32}"), "tile is a number"},
        {TEXT("{\"recent\": 1.5}"), "recent = 1.5 is no whole number"},
        {TEXT("{\"recent\": -1}"), "recent = -1 is no whole number"},
        {TEXT("{\"recent\": 1e300}"), "is no whole number"},
        {TEXT("{\"recent\": 65537}"), "'65537' from the file is out of range: it takes a number from 0 to 65536"},
        {TEXT("{\"receive_timeout\": 300}"), "it takes a duration from 100ms to 24h"},
        {TEXT("{\"listen\": \"127.0.0.1:1\\u0000x\"}"), "NUL"},
        {TEXT("{\"listen\": \"127.0.0.1:1\0x\"}"), "NUL"},
        {TEXT("{\"queue_depth\": 9, \"listen\": \"a\\nb\"}"), "control character"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tpd_config config, before;
        struct tpd_error error = {.text = ""};
        tpd_config_defaults(&config);
        before = config;
        enum tpd_status status = read_text(&config, cases[i].text, cases[i].bytes, &error);
        ck_assert_msg(status == TPD_CONFIG, "case %zu: %s: %s", i, cases[i].text, tpd_status_slug(status));
        ck_assert_int_eq(error.status, TPD_CONFIG);
        ck_assert_msg(strstr(error.text, cases[i].words) != NULL, "case %zu: no \"%s\" in: %s", i, cases[i].words, error.text);
        ck_assert_msg(strncmp(error.text, path, strlen(path)) == 0, "no path: %s", error.text);
        ck_assert_mem_eq(&config, &before, sizeof config);
    }
}
END_TEST

START_TEST(files_that_are_none) {
    struct tpd_config config;
    struct tpd_error error;
    tpd_config_defaults(&config);
    ck_assert_int_eq(tpd_config_read_file(&config, "/nowhere/transposed.json", &error), TPD_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "/nowhere/transposed.json: can't be opened: No such file"));
    ck_assert_int_eq(tpd_config_read_file(&config, "/tmp", &error), TPD_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "/tmp: is no regular file"));
    enum { BIG = 1048577 };
    char *big = malloc(BIG);
    ck_assert_ptr_nonnull(big);
    memset(big, ' ', BIG);
    memcpy(big, "{}", 2);
    ck_assert_int_eq(read_text(&config, big, BIG, &error), TPD_CONFIG);
    ck_assert_ptr_nonnull(strstr(error.text, "more than 1MiB"));
    ck_assert_uint_eq(error.limit, 1048576);
    ck_assert_ok(read_text(&config, big, BIG - 1, &error), error);
    memset(big, '[', BIG); /* nesting without end */
    ck_assert_int_eq(read_text(&config, big, BIG - 1, &error), TPD_CONFIG);
    free(big);
    char long_path[600];
    memset(long_path, 'a', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    ck_assert_int_eq(tpd_config_read_file(&config, long_path, &error), TPD_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "can't be opened: File name too long"));
}
END_TEST

START_TEST(what_is_printed_reads_back) {
    static const char *const values[][2] = {
        {"listen", "unix:/tmp/\\ \"x\".sock"},
        {"admin_listen", "off"},
        {"max_body_bytes", "1000001"},
        {"receive_timeout", "1234567891ns"},
        {"host_memory_bytes", "1023TiB"},
        {"tile", "16x128"},
        {"strategy", "rotated"},
        {"on_device_loss", "exit"},
        {"log_format", "json"},
        {"queue_depth", "999"},
        {"drain_deadline", "1h"},
        {"devices", "cuda:0,cuda:3"},
    };
    struct tpd_config config, again;
    struct tpd_error error;
    struct tpd_buf out;
    tpd_config_defaults(&config);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        ck_assert_ok(tpd_config_set(&config, tpd_knob_find(values[i][0]), values[i][1], TPD_SOURCE_FLAG, &error), error);
    tpd_buf_init(&out, 65536);
    ck_assert_int_eq(tpd_config_file_text(&config, &out), TPD_OK);
    tpd_config_defaults(&again);
    ck_assert_ok(read_text(&again, out.data, out.bytes, &error), error);
    for (int i = 0; i < TPD_KNOB_COUNT; i++)
        ck_assert_int_eq(again.source[i], TPD_SOURCE_FILE);
    memcpy(again.source, config.source, sizeof config.source);
    ck_assert_mem_eq(&config, &again, sizeof config);
    tpd_buf_fini(&out);
}
END_TEST

static enum tpd_status environment(struct tpd_config *config, const char *first, const char *second, struct tpd_error *error) {
    char a[200], b[200], *list[] = {a, b, NULL};
    (void)snprintf(a, sizeof a, "%s", first);
    (void)snprintf(b, sizeof b, "%s", second);
    return tpd_config_read_environment(config, list, error);
}

START_TEST(variables) {
    static const char *const passed[] = {"TRANSPOSED_CONFIG=/x",
                                         "TRANSPOSED_SERVICE_HOST=10.0.0.1",
                                         "TRANSPOSED_SERVICE_PORT_HTTP=7070",
                                         "TRANSPOSED_PORT=tcp://10.0.0.1:7070",
                                         "TRANSPOSED_PORT_7070_TCP_ADDR=10.0.0.1",
                                         "TRANSPOSED_ADMIN_PORT_7071_TCP=tcp://10.0.0.1:7071",
                                         "TRANSPOSE=1",
                                         "PATH=/bin",
                                         "transposed_listen=x",
                                         "TRANSPOSED_"};
    static const char *const refused[][2] = {
        {"TRANSPOSED_LISTN=x", "TRANSPOSED_LISTN is no knob: did you mean LISTEN?"},
        {"TRANSPOSED_listen=x", "TRANSPOSED_listen is no knob: did you mean LISTEN?"},
        {"TRANSPOSED_MAX-BODY-BYTES=1", "did you mean MAX_BODY_BYTES?"},
        {"TRANSPOSED_=1", "is no knob"},
        {"TRANSPOSED_RECENT=", "recent = '' from the environment can't be read: it takes a number from 0 to 65536"},
        {"TRANSPOSED_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=1", "is no knob"},
    };
    struct tpd_config config, before;
    struct tpd_error error;
    tpd_config_defaults(&config);
    before = config;
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
        ck_assert_ok(environment(&config, passed[i], "HOME=/", &error), error);
        ck_assert_mem_eq(&config, &before, sizeof config);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ck_assert_int_eq(environment(&config, "TRANSPOSED_QUEUE_DEPTH=3", refused[i][0], &error), TPD_CONFIG);
        ck_assert_msg(strstr(error.text, refused[i][1]) != NULL, "%s: %s", refused[i][0], error.text);
        ck_assert_mem_eq(&config, &before, sizeof config);
    }
    ck_assert_ok(environment(&config, "TRANSPOSED_QUEUE_DEPTH=3", "TRANSPOSED_LISTEN=[::1]:7=0", &error), error);
    ck_assert_uint_eq(config.queue_depth, 3);
    ck_assert_str_eq(config.listen, "[::1]:7=0");
    ck_assert_int_eq(config.source[TPD_KNOB_queue_depth], TPD_SOURCE_ENVIRONMENT);
}
END_TEST

/* Whatever is in the file: an answer, never a crash, and the old configuration when it is no. */
START_TEST(random_damage) {
    static const char good[] = "{\"queue_depth\": 12, \"listen\": \"127.0.0.1:1\", \"tile\": \"64x64\", \"drain_delay\": \"3s\"}";
    uint64_t seed = 99;
    for (int round = 0; round < 400; round++) {
        char text[sizeof good];
        struct tpd_config config, before;
        struct tpd_error error;
        memcpy(text, good, sizeof good);
        for (int hits = 0; hits < 1 + round % 3; hits++)
            text[tpd_random(&seed) % (sizeof good - 1)] = (char)tpd_random(&seed);
        tpd_config_defaults(&config);
        before = config;
        if (read_text(&config, text, sizeof good - 1, &error) != TPD_OK)
            ck_assert_mem_eq(&config, &before, sizeof config);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("config file");
    TCase *c = tcase_create("sources");
    tcase_add_test(c, numbers_and_strings);
    tcase_add_test(c, refusals);
    tcase_add_test(c, files_that_are_none);
    tcase_add_test(c, what_is_printed_reads_back);
    tcase_add_test(c, variables);
    tcase_add_test(c, random_damage);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
