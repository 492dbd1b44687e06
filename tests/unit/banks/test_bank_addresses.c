/* test_bank_addresses.c -- anybody's addresses: what is answered, word for word, and everything that is refused. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "transposed/bank_report.h"

static struct tpd_error error;

/* 32 addresses `step` apart, with lane `odd` (32: none) saying something else. */
static const char *addresses(unsigned step, int odd, const char *says) {
    static char text[1024];
    size_t at = 0;
    for (int lane = 0; lane < 32; lane++) {
        char number[16];
        (void)snprintf(number, sizeof number, "%u", step * (unsigned)lane);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", lane == 0 ? "" : ",", lane == odd ? says : number);
    }
    return text;
}

static enum tpd_status ask(const char *body, size_t bytes, struct tpd_buf *out) {
    char *exact = malloc(bytes + (bytes == 0)); /* so that a sanitizer sees one byte too far */
    memcpy(exact, body, bytes);
    tpd_buf_init(out, TPD_BANKS_REPORT_BYTES_MOST);
    memset(&error, 0, sizeof error);
    enum tpd_status status = tpd_banks_addresses_json(exact, bytes, out, &error);
    if (status == TPD_OK) {
        struct tpd_buf table;
        tpd_buf_init(&table, TPD_BANKS_REPORT_BYTES_MOST);
        ck_assert_ok(tpd_banks_addresses_table(exact, bytes, true, &table, &error), error);
        ck_assert_ptr_nonnull(strstr(table.data, "WAVEFRONTS"));
        tpd_buf_fini(&table);
    }
    free(exact);
    return status;
}

START_TEST(answers) {
    static const struct {
        const char *head;
        unsigned step;
        const char *answer;
    } cases[] = {
        {"\"op\":\"load\",\"width\":4", 4,
         "{\"wavefronts\":1,\"ideal\":1,\"excess\":0,\"degree\":1,\"phases\":1,\"busiest_bank\":0,\"lanes\":[]}"},
        {"\"op\":\"store\",\"width\":8", 8,
         "{\"wavefronts\":2,\"ideal\":2,\"excess\":0,\"degree\":1,\"phases\":2,\"busiest_bank\":0,\"lanes\":[]}"},
        {"\"op\":\"load\",\"width\":4", 64,
         "{\"wavefronts\":16,\"ideal\":1,\"excess\":15,\"degree\":16,\"phases\":1,\"busiest_bank\":0,\"lanes\":[0,2,4,6,8,10,12,"
         "14,16,18,20,22,24,26,28,30]}"},
        {"\"op\":\"ldmatrix\",\"matrices\":4", 32,
         "{\"wavefronts\":8,\"ideal\":4,\"excess\":4,\"degree\":2,\"phases\":4,\"busiest_bank\":0,\"lanes\":[0,4]}"},
        {"\"op\":\"stmatrix\",\"matrices\":1", 16,
         "{\"wavefronts\":1,\"ideal\":1,\"excess\":0,\"degree\":1,\"phases\":1,\"busiest_bank\":0,\"lanes\":[]}"},
    };
    char body[8192], expected[4096];
    size_t at = (size_t)snprintf(body, sizeof body, "{\"requests\": ["),
           said = (size_t)snprintf(expected, sizeof expected, "{\"requests\":[");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        at += (size_t)snprintf(body + at, sizeof body - at, "%s{%s, \"addresses\": [%s]}", i == 0 ? "" : ",\n", cases[i].head,
                               addresses(cases[i].step, 32, ""));
        said += (size_t)snprintf(expected + said, sizeof expected - said, "%s%s", i == 0 ? "" : ",\n", cases[i].answer);
    }
    (void)snprintf(body + at, sizeof body - at, "], \"bank_bytes\": 4}\r\n\t ");
    (void)snprintf(expected + said, sizeof expected - said, "]}\n");
    struct tpd_buf out;
    ck_assert_ok(ask(body, strlen(body), &out), error);
    ck_assert_str_eq(out.data, expected);
    tpd_buf_fini(&out);
    ck_assert_ok(ask("{\"requests\":[]}", 15, &out), error);
    ck_assert_str_eq(out.data, "{\"requests\":[]}\n");
    tpd_buf_fini(&out);
}
END_TEST

START_TEST(inactive_lanes_and_bank_width) {
    char body[2048];
    struct tpd_buf out;
    (void)snprintf(body, sizeof body, "{\"bank_bytes\":8,\"requests\":[{\"op\":\"load\",\"width\":4,\"addresses\":[%s]}]}",
                   addresses(256, 5, "null"));
    ck_assert_ok(ask(body, strlen(body), &out), error);
    ck_assert_ptr_nonnull(strstr(out.data, "\"wavefronts\":31,"));
    ck_assert_ptr_nonnull(strstr(out.data, "\"lanes\":[0,1,2,3,4,6,7"));
    tpd_buf_fini(&out);
    char *at = body + sprintf(body, "{\"requests\":[{\"op\":\"store\",\"width\":16,\"addresses\":[null");
    for (int lane = 1; lane < 32; lane++)
        at += sprintf(at, ",null");
    (void)sprintf(at, "]}]}");
    ck_assert_ok(ask(body, strlen(body), &out), error);
    ck_assert_ptr_nonnull(strstr(
        out.data, "{\"wavefronts\":0,\"ideal\":0,\"excess\":0,\"degree\":0,\"phases\":4,\"busiest_bank\":null,\"lanes\":[]}"));
    tpd_buf_fini(&out);
}
END_TEST

START_TEST(bodies_that_are_refused) {
    static const struct {
        const char *body;
        enum tpd_status status;
        const char *words;
    } cases[] = {
        {"", TPD_TRUNCATED, "empty"},
        {" ", TPD_MALFORMED, "no JSON"},
        {"{", TPD_TRUNCATED, "ends before"},
        {"{\"requests\":[", TPD_TRUNCATED, "ends before"},
        {"{\"requests", TPD_TRUNCATED, "ends before"},
        {"[]", TPD_MALFORMED, "no object"},
        {"7", TPD_MALFORMED, "no object"},
        {"{}", TPD_MALFORMED, "\"requests\""},
        {"{\"requests\":{}}", TPD_MALFORMED, "\"requests\""},
        {"{\"Requests\":[]}", TPD_MALFORMED, "\"Requests\" is unknown"},
        {"{\"requests\":[],\"requests\":[]}", TPD_MALFORMED, "twice"},
        {"{\"requests\":[]} {}", TPD_TRAILING, "behind"},
        {"{\"requests\":[]}]", TPD_TRAILING, "behind"},
        {"{\"requests\":[],}", TPD_MALFORMED, "no JSON"},
        {"{\"requests\":[01]}", TPD_MALFORMED, "number"},
        {"{\"requests\":[1.]}", TPD_MALFORMED, "number"},
        {"{\"requests\":[-]}", TPD_MALFORMED, "number"},
        {"{\"requests\":[1e]}", TPD_MALFORMED, "number"},
        {"{\"requests\":[[[[]]]]}", TPD_MALFORMED, "deeper"},
        {"{\"requests\":\v[]}", TPD_MALFORMED, "a byte"},
        {"\xef\xbb\xbf{\"requests\":[]}", TPD_MALFORMED, "a byte"},
        {"{\"re\\u0000quests\":[]}", TPD_MALFORMED, "u0000"},
        {"{\"a\nb\":[]}", TPD_MALFORMED, "control"},
        {"{\"requests\":[7]}", TPD_MALFORMED, "request 0 is no object"},
        {"{\"requests\":[{}]}", TPD_MALFORMED, "\"op\""},
        {"{\"requests\":[],\"bank_bytes\":\"4\"}", TPD_MALFORMED, "bank_bytes"},
        {"{\"requests\":[],\"bank_bytes\":5}", TPD_UNSUPPORTED, "neither"},
        {"{\"requests\":[],\"bank_bytes\":4.5}", TPD_UNSUPPORTED, "4.5"},
        {"{\"requests\":[{\"op\":\"load\"}]}", TPD_MALFORMED, "\"width\""},
        {"{\"requests\":[{\"op\":\"jump\",\"width\":4}]}", TPD_UNSUPPORTED, "jump"},
        {"{\"requests\":[{\"op\":4}]}", TPD_MALFORMED, "\"op\""},
        {"{\"requests\":[{\"op\":\"load\",\"width\":\"4\"}]}", TPD_MALFORMED, "\"width\""},
        {"{\"requests\":[{\"op\":\"load\",\"width\":1e99}]}", TPD_UNSUPPORTED, "1, 2, 4, 8 and 16"},
        {"{\"requests\":[{\"op\":\"ldmatrix\",\"width\":4}]}", TPD_MALFORMED, "\"matrices\" in place of \"width\""},
        {"{\"requests\":[{\"op\":\"load\",\"matrices\":4}]}", TPD_MALFORMED, "\"width\" in place of \"matrices\""},
        {"{\"requests\":[{\"op\":\"load\",\"width\":4}]}", TPD_MALFORMED, "\"addresses\""},
        {"{\"requests\":[{\"op\":\"load\",\"width\":4,\"lanes\":[]}]}", TPD_MALFORMED, "request 0: the key \"lanes\""},
        {"{\"requests\":[{\"op\":\"load\",\"width\":4,\"addresses\":[1,2]}]}", TPD_SHAPE_MISMATCH, "has 2 entries"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_buf out;
        enum tpd_status status = ask(cases[i].body, strlen(cases[i].body), &out);
        ck_assert_msg(status == cases[i].status && error.status == status, "%s: %s: %s", cases[i].body, tpd_status_slug(status),
                      error.text);
        ck_assert_msg(strstr(error.text, cases[i].words) != NULL, "%s: %s", cases[i].body, error.text);
        tpd_buf_fini(&out);
    }
    struct tpd_buf out;
    ck_assert_int_eq(ask("{\"requests\":[]\0}", 16, &out), TPD_MALFORMED);
    tpd_buf_fini(&out);
}
END_TEST

/* The second request is the wrong one: its number is named, and the lane's. */
START_TEST(requests_and_lanes_are_named) {
    static const struct {
        const char *head;
        unsigned step;
        int lane;
        const char *says;
        enum tpd_status status;
        const char *words;
    } cases[] = {
        {"\"op\":\"load\",\"width\":4", 4, 13, "54", TPD_UNSUPPORTED, "request 1: lane 13: address 54"},
        {"\"op\":\"load\",\"width\":4", 4, 13, "-4", TPD_OUT_OF_RANGE, "request 1: lane 13: address -4"},
        {"\"op\":\"load\",\"width\":4", 4, 0, "0.5", TPD_OUT_OF_RANGE, "request 1: lane 0: address 0.5"},
        {"\"op\":\"load\",\"width\":4", 4, 31, "9007199254740996", TPD_OUT_OF_RANGE,
         "request 1: lane 31: address 9007199254740996"},
        {"\"op\":\"load\",\"width\":4", 4, 7, "\"8\"", TPD_MALFORMED, "request 1: lane 7"},
        {"\"op\":\"load\",\"width\":4", 4, 7, "true", TPD_MALFORMED, "request 1: lane 7"},
        {"\"op\":\"load\",\"width\":4", 4, 7, "1,2", TPD_SHAPE_MISMATCH, "request 1: \"addresses\" has 33 entries"},
        {"\"op\":\"load\",\"width\":3", 3, 32, "", TPD_UNSUPPORTED, "request 1: width 3"},
        {"\"op\":\"load\",\"width\":32", 32, 32, "", TPD_UNSUPPORTED, "request 1: width 32"},
        {"\"op\":\"ldmatrix\",\"matrices\":3", 16, 32, "", TPD_UNSUPPORTED, "request 1: ldmatrix of 3"},
        {"\"op\":\"ldmatrix\",\"matrices\":4", 16, 30, "null", TPD_UNSUPPORTED, "request 1: lane 30 has no address"},
        {"\"op\":\"stmatrix\",\"matrices\":2", 16, 9, "8", TPD_UNSUPPORTED, "request 1: lane 9: address 8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[4096];
        struct tpd_buf out;
        int at =
            snprintf(body, sizeof body, "{\"requests\":[{\"op\":\"load\",\"width\":1,\"addresses\":[%s]},", addresses(1, 32, ""));
        (void)snprintf(body + at, sizeof body - (size_t)at, "{%s,\"addresses\":[%s]}]}", cases[i].head,
                       addresses(cases[i].step, cases[i].lane, cases[i].says));
        enum tpd_status status = ask(body, strlen(body), &out);
        ck_assert_msg(status == cases[i].status, "%s: %s: %s", cases[i].words, tpd_status_slug(status), error.text);
        ck_assert_msg(strstr(error.text, cases[i].words) != NULL, "%s is not in: %s", cases[i].words, error.text);
        tpd_buf_fini(&out);
    }
}
END_TEST

START_TEST(ceilings) {
    static char body[TPD_BANKS_BODY_BYTES_MOST + 2];
    struct tpd_buf out;
    size_t at = (size_t)sprintf(body, "{\"requests\":[");
    for (int i = 0; i <= TPD_BANKS_REQUESTS_MOST; i++) {
        at += (size_t)sprintf(body + at, "%s{\"op\":\"load\",\"width\":4,\"addresses\":[%s]}", i == 0 ? "" : ",",
                              addresses(4, 32, ""));
        if (i == TPD_BANKS_REQUESTS_MOST - 1) { /* as many as there may be */
            (void)sprintf(body + at, "]}");
            ck_assert_ok(ask(body, at + 2, &out), error);
            tpd_buf_fini(&out);
        }
    }
    at += (size_t)sprintf(body + at, "]}");
    ck_assert_int_eq(ask(body, at, &out), TPD_TOO_LARGE);
    ck_assert_uint_eq(error.limit, TPD_BANKS_REQUESTS_MOST);
    tpd_buf_fini(&out);
    memset(body, ' ', sizeof body);
    memcpy(body, "{\"requests\":[]}", 15);
    ck_assert_ok(ask(body, TPD_BANKS_BODY_BYTES_MOST, &out), error);
    tpd_buf_fini(&out);
    ck_assert_int_eq(ask(body, TPD_BANKS_BODY_BYTES_MOST + 1, &out), TPD_TOO_LARGE);
    ck_assert_uint_eq(error.actual, TPD_BANKS_BODY_BYTES_MOST + 1);
    tpd_buf_fini(&out);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("bank_addresses");
    TCase *tests = tcase_create("addresses");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, answers);
    tcase_add_test(tests, inactive_lanes_and_bank_width);
    tcase_add_test(tests, bodies_that_are_refused);
    tcase_add_test(tests, requests_and_lanes_are_named);
    tcase_add_test(tests, ceilings);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
