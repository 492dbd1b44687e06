/* test_log.c -- a line is one line, whatever is put in it. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "transposed/log.h"

static int saved_stderr, capture_file;
static char captured[65536];

static void capture_begin(void) {
    capture_file = memfd_create("log", 0);
    saved_stderr = dup(STDERR_FILENO);
    ck_assert_int_ge(capture_file, 0);
    ck_assert_int_ge(dup2(capture_file, STDERR_FILENO), 0);
}

static const char *capture_end(void) {
    ck_assert_int_ge(dup2(saved_stderr, STDERR_FILENO), 0);
    ssize_t bytes = pread(capture_file, captured, sizeof captured - 1, 0);
    ck_assert_int_ge(bytes, 0);
    captured[bytes] = '\0';
    (void)close(capture_file);
    (void)close(saved_stderr);
    return captured;
}

static const char *one_line(enum tpd_log_format format, const char *message, const char *value) {
    struct tpd_log_line line;
    tpd_log_configure(TPD_LOG_INFO, format);
    capture_begin();
    tpd_log_begin(&line, TPD_LOG_WARN, message);
    tpd_log_str(&line, "value", value);
    tpd_log_uint(&line, "count", UINT64_MAX);
    tpd_log_ms(&line, "took_ms", 131499);
    tpd_log_end(&line);
    return capture_end();
}

START_TEST(logfmt_quotes_only_what_must_be) {
    static const struct {
        const char *value, *printed;
    } cases[] = {
        {"plain", "value=plain "},
        {"", "value=\"\" "},
        {"two words", "value=\"two words\" "},
        {"a=b", "value=\"a=b\" "},
        {"say \"hi\"", "value=\"say \\\"hi\\\"\" "},
        {"back\\slash", "value=\"back\\\\slash\" "},
        {"x\nlevel=error msg=forged", "value=\"x\\nlevel=error msg=forged\" "},
        {"\r\t\x1b[31m\x7f", "value=\"\\r\\t\\u001b[31m\\u007f\" "},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "value=\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 "},
        {"\xc2\x9b"
         "31m",
         "value=\"\\u009b31m\" "},
        {"a\xe2\x80\xa8", "value=\"a\\u2028\" "},
        {"\xff\xc0\xaf", "value=\"\\ufffd\\ufffd\\ufffd\" "},
        {"\xed\xa0\x80", "value=\"\\ufffd\\ufffd\\ufffd\" "},
        {"cut\xe2\x82", "value=\"cut\\ufffd\\ufffd\" "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = one_line(TPD_LOG_LOGFMT, "it went", cases[i].value);
        ck_assert_msg(strstr(text, cases[i].printed) != NULL, "case %zu: %s", i, text);
        ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
        ck_assert_ptr_nonnull(strstr(text, " level=warn msg=\"it went\" value="));
        ck_assert_ptr_nonnull(strstr(text, " count=18446744073709551615 took_ms=0.131\n"));
        int year, month, day, hour, minute, second, ms, end = 0;
        ck_assert_int_eq(
            sscanf(text, "ts=%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &year, &month, &day, &hour, &minute, &second, &ms, &end), 7);
        ck_assert_int_eq(end, 27);
    }
}
END_TEST

START_TEST(json_lines_parse_for_any_bytes) {
    uint64_t seed = 7;
    for (int round = 0; round < 300; round++) {
        char value[200];
        size_t bytes = tpd_random(&seed) % (sizeof value - 1);
        tpd_random_fill(value, bytes, tpd_random(&seed));
        value[bytes] = '\0';
        const char *text = one_line(TPD_LOG_JSON, value, value);
        ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
        for (const char *at = text; *at != '\n'; at++)
            ck_assert_msg((unsigned char)*at >= 0x20 && *at != 0x7f, "a control character in %s", text);
        cJSON *json = cJSON_Parse(text);
        ck_assert_msg(json != NULL, "no JSON: %s", text);
        ck_assert_str_eq(cJSON_GetObjectItem(json, "level")->valuestring, "warn");
        ck_assert(cJSON_GetObjectItem(json, "took_ms")->valuedouble == 0.131);
        ck_assert_str_eq(cJSON_GetObjectItem(json, "msg")->valuestring, cJSON_GetObjectItem(json, "value")->valuestring);
        cJSON_Delete(json);
    }
}
END_TEST

/* Every length around the ceiling, so that each way of not fitting is met. */
START_TEST(long_lines_are_cut_and_stay_whole) {
    static char value[8000];
    for (size_t bytes = 3900; bytes < 4120; bytes++)
        for (int kind = 0; kind < 4; kind++) {
            memset(value, kind < 2 ? 'x' : kind == 2 ? '\n' : '\xff', bytes);
            value[bytes] = '\0';
            const char *text = one_line(kind == 0 ? TPD_LOG_LOGFMT : TPD_LOG_JSON, "m", value);
            size_t length = strlen(text);
            ck_assert_uint_le(length, 4096);
            ck_assert_ptr_eq(strchr(text, '\n'), text + length - 1);
            if (kind == 0)
                continue;
            cJSON *json = cJSON_Parse(text);
            ck_assert_msg(json != NULL, "no JSON at %zu: ...%s", bytes, text + length - 40);
            cJSON_Delete(json);
        }
}
END_TEST

START_TEST(levels_and_errno) {
    capture_begin();
    tpd_log_configure(TPD_LOG_WARN, TPD_LOG_LOGFMT);
    errno = ENOENT;
    tpd_log(TPD_LOG_INFO, "not this %d", 1);
    tpd_log(TPD_LOG_ERROR, "this %s", "one");
    ck_assert_int_eq(errno, ENOENT);
    struct tpd_log_line line;
    tpd_log_begin(&line, TPD_LOG_DEBUG, "nor this");
    tpd_log_str(&line, "key", "value");
    tpd_log_uint(&line, "n", 1);
    tpd_log_ms(&line, "t", 1);
    tpd_log_end(&line);
    const char *text = capture_end();
    ck_assert_ptr_nonnull(strstr(text, "level=error msg=\"this one\"\n"));
    ck_assert_ptr_null(strstr(text, "not this"));
    ck_assert_ptr_null(strstr(text, "nor this"));
    ck_assert(tpd_log_enabled(TPD_LOG_WARN));
    ck_assert(!tpd_log_enabled(TPD_LOG_INFO));
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("log");
    TCase *c = tcase_create("lines");
    tcase_add_test(c, logfmt_quotes_only_what_must_be);
    tcase_add_test(c, json_lines_parse_for_any_bytes);
    tcase_add_test(c, long_lines_are_cut_and_stay_whole);
    tcase_add_test(c, levels_and_errno);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
