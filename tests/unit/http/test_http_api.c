/* test_http_api.c -- the GET routes: methods, health by phase, statistics, metrics types, strategies, configuration. */
#include <cjson/cJSON.h>

#include "http_fixture.h"
#include "transposed/banks.h"

static void get(int fd, const char *path, const char *headers, struct reply *reply) {
    ck_assert(client_text(fd, "GET %s HTTP/1.1\r\nHost: t\r\n%s\r\n", path, headers));
    ck_assert(reply_read(fd, false, reply));
}

static cJSON *get_json(int fd, const char *path, int status) {
    struct reply reply;
    get(fd, path, "", &reply);
    ck_assert_msg(reply.status == status, "%s: %d %s", path, reply.status, (char *)reply.body);
    const char *end;
    cJSON *json = cJSON_ParseWithOpts((char *)reply.body, &end, 0);
    ck_assert_msg(json != NULL, "%s: no JSON: %s", path, (char *)reply.body);
    while (*end == '\n')
        end++;
    ck_assert_msg(*end == '\0', "%s: more behind the JSON: %s", path, end);
    reply_free(&reply);
    return json;
}

static const struct {
    const char *path, *allow;
    bool admin;
} routes[] = {
#define TPD_GET 1
#define TPD_POST 2
#define X(NAME, path, methods, ADMIN, handler, summary) \
    {path, (methods) == TPD_GET ? "GET, HEAD" : (methods) == TPD_POST ? "POST" : "GET, HEAD, POST", ADMIN},
#include "transposed/tbl/routes.def"
#undef X
};

START_TEST(methods) {
    int fd = client_open(&fixture), admin = client_try(tpd_http_admin_address(fixture.http));
    struct reply reply;
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        bool is_get = strcmp(routes[i].allow, "POST") != 0;
        bool takes_post = strstr(routes[i].allow, "POST") != NULL;
        ck_assert(client_text(fd, "%s %s HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc", takes_post ? "PUT" : "POST",
                              routes[i].path));
        ck_assert(reply_read(fd, false, &reply));
        ck_assert_int_eq(reply.status, 405);
        ck_assert_str_eq(reply_field(&reply, "Allow"), routes[i].allow);
        reply_free(&reply);
        ck_assert(client_text(fd, "HEAD %s HTTP/1.1\r\nHost: t\r\n\r\n", routes[i].path));
        ck_assert(reply_read(fd, true, &reply));
        ck_assert_int_eq(reply.status, is_get ? 200 : 405);
        if (is_get)
            ck_assert_str_eq(reply_field(&reply, "Cache-Control"), "no-store");
        ck_assert_str_eq(reply_field(&reply, "X-Content-Type-Options"), "nosniff");
        reply_free(&reply);
        get(admin, routes[i].path, "", &reply);
        ck_assert_int_eq(reply.status, routes[i].admin ? 200 : 404);
        reply_free(&reply);
    }
    for (int at = 0; at < 2; at++) { /* each listener names its own paths */
        get(at == 0 ? fd : admin, "/", "", &reply);
        ck_assert_int_eq(reply.status, 404);
        for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
            char word[32];
            (void)snprintf(word, sizeof word, " %s", routes[i].path);
            const char *found = strstr((char *)reply.body, word);
            bool is_told = found != NULL && strchr(",;", found[strlen(word)]) != NULL;
            ck_assert_msg(is_told == (at == 0 || routes[i].admin), "%s in %s", word, (char *)reply.body);
        }
        reply_free(&reply);
    }
    get(fd, "/v1/transpose/", "", &reply);
    ck_assert_int_eq(reply.status, 404);
    ck_assert_str_eq(reply_field(&reply, "Content-Type"), "application/problem+json");
    reply_free(&reply);
    close(fd);
    close(admin);
}
END_TEST

START_TEST(health) {
    int fd = client_open(&fixture);
    static const struct {
        int phase, status;
        const char *word;
    } phases[] = {{TPD_PHASE_STARTING, 503, "starting"}, {TPD_PHASE_READY, 200, "ready"}, {TPD_PHASE_DRAINING, 503, "draining"}};
    for (int i = 0; i < 3; i++) {
        atomic_store(&fixture.world.phase, phases[i].phase);
        cJSON *json = get_json(fd, "/readyz", phases[i].status);
        ck_assert_str_eq(cJSON_GetObjectItem(json, "status")->valuestring, phases[i].word);
        cJSON_Delete(json);
        json = get_json(fd, "/livez", 200);
        cJSON_Delete(json);
        json = get_json(fd, "/healthz", phases[i].status);
        ck_assert_str_eq(cJSON_GetObjectItem(json, "status")->valuestring, phases[i].status == 200 ? "pass" : "fail");
        cJSON *cpu = cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "checks"), "cpu"), 0);
        ck_assert_str_eq(cJSON_GetObjectItem(cpu, "status")->valuestring, "pass");
        cJSON_Delete(json);
        round_trip(fd, 7, 2, "", ""); /* draining or not: what comes is answered as long as the listener listens */
    }
    struct reply reply;
    get(fd, "/healthz", "", &reply);
    ck_assert_str_eq(reply_field(&reply, "Content-Type"), "application/health+json");
    reply_free(&reply);
    close(fd);
}
END_TEST

START_TEST(statistics) {
    int fd = client_open(&fixture);
    round_trip(fd, 30, 20, "", "X-Request-Id: first\r\ntraceparent: 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01\r\n");
    round_trip(fd, 20, 30, "", "X-Request-Id: second\r\ntraceparent: nonsense\r\n");
    cJSON *json = get_json(fd, "/stats?recent=1", 200), *recent = cJSON_GetObjectItem(json, "recent");
    ck_assert_int_eq(cJSON_GetArraySize(recent), 1);
    ck_assert_str_eq(cJSON_GetObjectItem(cJSON_GetArrayItem(recent, 0), "id")->valuestring, "second");
    cJSON_Delete(json);
    json = get_json(fd, "/stats?id=first", 200);
    recent = cJSON_GetObjectItem(json, "recent");
    ck_assert_int_eq(cJSON_GetArraySize(recent), 1);
    cJSON *row = cJSON_GetArrayItem(recent, 0);
    ck_assert_int_eq(cJSON_GetObjectItem(row, "rows")->valueint, 30);
    ck_assert_int_eq(cJSON_GetObjectItem(row, "status")->valueint, 200);
    ck_assert_double_gt(cJSON_GetObjectItem(row, "receive_ns")->valuedouble, 0);
    ck_assert_double_ge(cJSON_GetObjectItem(row, "total_ns")->valuedouble, cJSON_GetObjectItem(row, "receive_ns")->valuedouble);
    cJSON_Delete(json);
    static const char *const bad[] = {
        "/stats?recent=-1",         "/stats?recent=257", "/stats?recent=x",     "/stats?id=",         "/stats?rows=1",
        "/stats?id=a&id=b",         "/stats?recent",     "/stats?recent=1&x=2", "/v1/strategies?a=1", "/v1/strategies?a",
        "/v1/config?strategy=naive"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json = get_json(fd, bad[i], 400);
        ck_assert_str_eq(cJSON_GetObjectItem(json, "code")->valuestring, "bad-parameter");
        cJSON_Delete(json);
    }
    close(fd);
}
END_TEST

/* Documents for people end their last line; only a transposed matrix is exactly that. */
START_TEST(last_lines) {
    static const char *const paths[] = {"/stats",         "/metrics",  "/livez",     "/readyz",  "/healthz",
                                        "/v1/strategies", "/v1/banks", "/v1/config", "/nowhere", "/v1/transpose"};
    int fd = client_open(&fixture);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct reply reply;
        get(fd, paths[i], "", &reply);
        ck_assert_msg(reply.bytes > 2 && reply.body[reply.bytes - 1] == '\n' && reply.body[reply.bytes - 2] != '\n', "%s: %s",
                      paths[i], (char *)reply.body);
        reply_free(&reply);
    }
    close(fd);
}
END_TEST

/* `instance` points to where the request can be seen, or, where none is kept, just names it. */
START_TEST(instances) {
    int fd = client_open(&fixture);
    static const char *const paths[] = {"/nowhere", "/v1/transpose", "/stats?x=1"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct reply reply;
        get(fd, paths[i], "X-Request-Id: one\r\n", &reply);
        ck_assert_ptr_nonnull(strstr((char *)reply.body, "\"instance\":\"#one\""));
        reply_free(&reply);
    }
    ck_assert(client_text(fd, "POST /v1/transpose HTTP/1.1\r\nHost: t\r\nX-Request-Id: two\r\nContent-Length: 2\r\n\r\n[["));
    expect_reply(fd, 400, "\"instance\":\"/stats?id=two\"");
    cJSON *json = get_json(fd, "/stats?id=two", 200);
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(json, "recent")), 1);
    cJSON_Delete(json);
    json = get_json(fd, "/stats?id=one", 200);
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(json, "recent")), 0);
    cJSON_Delete(json);
    close(fd);
}
END_TEST

START_TEST(metrics) {
    static const struct {
        const char *accept;
        bool open;
    } accepts[] = {
        {"", false},
        {"Accept: image/png\r\n", false},
        {"Accept: text/plain\r\n", false},
        {"Accept: application/openmetrics-text; version=1.0.0\r\n", true},
        {"Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1\r\n", true},
        {"Accept: application/openmetrics-text;q=0.2,text/plain;q=0.3\r\n", false},
        {"Accept: application/openmetrics-text;q=0\r\n", false}};
    int fd = client_open(&fixture);
    struct reply reply;
    for (size_t i = 0; i < sizeof accepts / sizeof accepts[0]; i++) {
        get(fd, "/metrics", accepts[i].accept, &reply);
        ck_assert_int_eq(reply.status, 200);
        const char *want = accepts[i].open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                           : "text/plain; version=0.0.4; charset=utf-8";
        ck_assert_msg(strcmp(reply_field(&reply, "Content-Type"), want) == 0, "%s gave %s", accepts[i].accept,
                      reply_field(&reply, "Content-Type"));
        ck_assert_int_eq(strstr((char *)reply.body, "# EOF\n") != NULL, accepts[i].open);
        ck_assert_ptr_nonnull(strstr((char *)reply.body, "transposed_inflight_requests"));
        reply_free(&reply);
    }
    close(fd);
}
END_TEST

START_TEST(strategies) {
    int fd = client_open(&fixture);
    cJSON *json = get_json(fd, "/v1/strategies", 200), *list = cJSON_GetObjectItem(json, "strategies"), *one;
    ck_assert_int_eq(cJSON_GetArraySize(list), TPD_STRATEGY_COUNT);
    cJSON_ArrayForEach(one, list) {
        const char *name = cJSON_GetObjectItem(one, "name")->valuestring;
        cJSON *four = cJSON_GetArrayItem(cJSON_GetObjectItem(one, "by_itemsize"), 2);
        ck_assert_int_eq(cJSON_GetObjectItem(four, "itemsize")->valueint, 4);
        cJSON *model = cJSON_GetObjectItem(four, "model"),
              *load = cJSON_GetObjectItem(cJSON_GetObjectItem(model, "shared"), "load");
        ck_assert_int_eq(cJSON_GetObjectItem(model, "blocks_summed")->valueint, TPD_BANKS_BLOCKS_FEW);
        ck_assert_int_gt(cJSON_GetObjectItem(model, "blocks")->valueint, TPD_BANKS_BLOCKS_FEW);
        if (strcmp(name, "naive") == 0)
            ck_assert_int_eq(cJSON_GetObjectItem(load, "degree")->valueint, 32);
        if (strcmp(name, "padded") == 0)
            ck_assert_int_eq(cJSON_GetObjectItem(load, "excess")->valueint, 0);
        cJSON *occupancy = cJSON_GetObjectItem(cJSON_GetObjectItem(four, "model"), "occupancy");
        ck_assert_int_gt(cJSON_GetObjectItem(occupancy, "registers")->valueint, 0);
        ck_assert_int_gt(cJSON_GetObjectItem(occupancy, "resident_blocks")->valueint, 0);
        cJSON *device;
        int can = 0;
        cJSON_ArrayForEach(device, cJSON_GetObjectItem(four, "runs_on")) {
            bool it_can = cJSON_IsTrue(cJSON_GetObjectItem(device, "can"));
            ck_assert_int_eq(cJSON_GetObjectItem(device, "why_not") != NULL, !it_can);
            can += it_can;
        }
        ck_assert_int_ge(can, 1); /* simt runs them all */
    }
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(json, "tuning")), 0); /* no GPU: nothing to measure */
    cJSON_Delete(json);
    close(fd);
}
END_TEST

START_TEST(configuration) {
    int fd = client_open(&fixture);
    cJSON *json = get_json(fd, "/v1/config", 200), *bound = cJSON_GetObjectItem(json, "bound");
    ck_assert_str_eq(cJSON_GetObjectItem(bound, "listen")->valuestring, tpd_http_data_address(fixture.http));
    ck_assert_str_eq(cJSON_GetObjectItem(bound, "admin_listen")->valuestring, tpd_http_admin_address(fixture.http));
    ck_assert_int_eq(cJSON_GetArraySize(json), TPD_KNOB_COUNT + 1);
    cJSON *threads = cJSON_GetObjectItem(json, "http_threads");
    ck_assert_str_eq(cJSON_GetObjectItem(threads, "source")->valuestring, "flag");
    cJSON_Delete(json);
    close(fd);
}
END_TEST

int main(void) {
    TCase *tests;
    Suite *suite = fixture_suite("http_api", fixture_up, &tests);
    tcase_add_test(tests, methods);
    tcase_add_test(tests, health);
    tcase_add_test(tests, statistics);
    tcase_add_test(tests, last_lines);
    tcase_add_test(tests, instances);
    tcase_add_test(tests, metrics);
    tcase_add_test(tests, strategies);
    tcase_add_test(tests, configuration);
    return tpd_harness_main(suite);
}
