/* test_http_banks.c -- GET and POST /v1/banks: what is negotiated, bounded and refused on the wire. */
#include "http_fixture.h"
#include "transposed/bank_report.h"

static void get(int fd, const char *path, const char *headers, int status, const char *type, const char *has) {
    struct reply reply;
    ck_assert(client_text(fd, "GET %s HTTP/1.1\r\nHost: t\r\n%s\r\n", path, headers));
    ck_assert(reply_read(fd, false, &reply));
    ck_assert_msg(reply.status == status, "%s: %d %s", path, reply.status, (char *)reply.body);
    ck_assert_msg(strcmp(reply_field(&reply, "Content-Type"), type) == 0, "%s %s: %s", path, headers,
                  reply_field(&reply, "Content-Type"));
    ck_assert_msg(strstr((char *)reply.body, has) != NULL, "%s: no %s in %.400s", path, has, (char *)reply.body);
    reply_free(&reply);
}

static const char json[] = "application/json", svg[] = "image/svg+xml", problem[] = "application/problem+json";

START_TEST(questions) {
    int fd = client_open(&fixture);
    get(fd, "/v1/banks", "", 200, json, "\"strategy\":\"vector\"");
    get(fd, "/v1/banks?strategy=naive&itemsize=4", "", 200, json, "\"degree\":32");
    get(fd, "/v1/banks?strategy=naive&itemsize=4&tile=64x32&rows=100&cols=50", "", 200, json,
        "\"tile\":\"64x32\",\"pitch\":32,\"rows\":100,\"cols\":50");
    get(fd, "/v1/banks?tile=32x32&pitch=34&itemsize=4", "", 200, json, "\"strategy\":null");
    get(fd, "/v1/banks?stride=5&itemsize=4", "", 200, json, "\"stride\":5");
    get(fd, "/v1/banks?stride=1..64&itemsize=1", "", 200, json, "{\"rows\":[");
    get(fd, "/v1/banks?rows=1000000000000&cols=1000000&strategy=rotated&itemsize=16&tile=128x128", "", 422, problem,
        "size-overflow");
    get(fd, "/v1/banks?rows=1000000000&cols=1000000000&strategy=rotated&itemsize=4&tile=128x128", "", 200, json, "\"blocks\":8,");
    get(fd, "/v1/banks?strategy=nope", "", 422, problem, "unknown-strategy");
    get(fd, "/v1/banks?itemsize=5", "", 422, problem, "itemsize=5");
    for (int i = 0; i < TPD_BANKS_PARAMETERS; i++) /* the list is whole */
        get(fd, "/v1/banks?strid=5", "", 400, problem, tpd_banks_parameter_name((enum tpd_banks_parameter)i));
    get(fd, "/v1/banks?strid=5", "", 400, problem, "request and side are taken here");
    get(fd, "/v1/banks?a-name-as-long-as-one-that-is-told-of-this-may-be-and-some-letters=5", "", 400, problem,
        "request and side are taken here");
    static const char *const widths[] = {"bank_bytes", "bank-bytes", "bank_width", "bank-width"};
    for (int i = 0; i < 4; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/v1/banks?stride=2&%s=8", widths[i]);
        get(fd, path, "", 200, json, "\"bank_bytes\":8");
    }
    get(fd, "/v1/banks?bank_bytes=8&bank_width=8", "", 400, problem, "two names");
    get(fd, "/v1/banks?bank_bytes=8&bank-bytes=8", "", 400, problem, "twice");
    get(fd, "/v1/banks?tile=8x8&planes=2&plane-pitch=65", "", 200, json, "\"pitch\":8");
    get(fd, "/v1/banks?arch=91", "", 422, problem, "75|80|86|89|90|100|120");
    get(fd, "/v1/banks?strategy=vector&tile=64x64", "", 422, problem, "leave tile out");
    get(fd, "/v1/banks?stride=5&stride=6", "", 400, problem, "twice");
    get(fd, "/v1/banks?stride", "", 400, problem, "no value");
    get(fd, "/v1/banks?stride=5&tile=32x32", "", 400, problem, "tile says nothing");
    get(fd, "/v1/banks?record=10", "", 422, problem, "lane 1");
    close(fd);
}
END_TEST

START_TEST(pictures_are_negotiated) {
    int fd = client_open(&fixture);
    static const struct {
        const char *accept;
        bool picture;
    } cases[] = {{"Accept: image/svg+xml\r\n", true},
                 {"Accept: */*\r\n", false},
                 {"Accept: image/*\r\n", true},
                 {"Accept: IMAGE/SVG+XML\r\n", true},
                 {"Accept: text/html,application/xhtml+xml,image/svg+xml,*/*;q=0.8\r\n", true},
                 {"Accept: application/json, image/svg+xml;q=0.9\r\n", false},
                 {"Accept: application/json;q=0.1, image/svg+xml;q=0.9\r\n", true},
                 {"Accept: image/svg+xml;q=0, */*\r\n", false},
                 {"Accept: application/*;q=0.5, image/*;q=0.4\r\n", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        get(fd, "/v1/banks?strategy=swizzled&itemsize=4", cases[i].accept, 200, cases[i].picture ? svg : json,
            cases[i].picture ? "<title" : "swizzled");
    get(fd, "/v1/banks", "Accept: text/html\r\n", 406, problem, "image/svg+xml");
    get(fd, "/v1/banks", "Accept: image/svg+xml;q=0\r\n", 406, problem, "not-acceptable");
    get(fd, "/v1/banks?stride=1..4", "Accept: image/svg+xml\r\n", 422, problem, "one stride");
    close(fd);
}
END_TEST

static void post(int fd, const char *headers, const char *body) {
    ck_assert(client_text(fd, "POST /v1/banks HTTP/1.1\r\nHost: t\r\n%sContent-Length: %zu\r\n\r\n", headers, strlen(body)));
    ck_assert(client_send(fd, body, strlen(body)));
}

#define NULLS "null,null,null,null,null,null,null"
#define LOAD "{\"op\":\"load\",\"width\":4,\"addresses\":[0,128,256,384," NULLS "," NULLS "," NULLS "," NULLS "]}"

START_TEST(addresses) {
    int fd = client_open(&fixture);
    post(fd, "", "{\"requests\":[" LOAD "]}");
    expect_reply(fd, 200,
                 "{\"requests\":[{\"wavefronts\":4,\"ideal\":1,\"excess\":3,\"degree\":4,\"phases\":1,\"busiest_bank\":0,"
                 "\"lanes\":[0,1,2,3]}]}\n");
    post(fd, "Content-Type: application/json\r\nAccept: application/json\r\n", "{\"requests\":[" LOAD "," LOAD "]}");
    expect_reply(fd, 200, "},\n{");
    /* In pieces, a chunk each, and the connection goes on. */
    static const char head[] = "{\"requests\":[", tail[] = "]}";
    ck_assert(client_text(fd, "POST /v1/banks HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n",
                          strlen(head), head));
    for (size_t at = 0; at < strlen(LOAD); at++)
        ck_assert(client_text(fd, "1\r\n%c\r\n", LOAD[at]));
    ck_assert(client_text(fd, "2\r\n%s\r\n0\r\n\r\n", tail));
    expect_reply(fd, 200, "\"wavefronts\":4");
    post(fd, "", "{\"requests\":[" LOAD "]");
    expect_reply(fd, 400, "truncated");
    post(fd, "", "");
    expect_reply(fd, 400, "the body is empty");
    post(fd, "",
         "{\"requests\":[{\"op\":\"load\",\"width\":4,\"addresses\":[2,128,256,384," NULLS "," NULLS "," NULLS "," NULLS "]}]}");
    expect_reply(fd, 422, "request 0: lane 0: address 2");
    post(fd, "Content-Encoding: gzip\r\n", "{}");
    expect_reply(fd, 415, "gzip");
    post(fd, "Accept: image/svg+xml\r\n", "{}");
    expect_reply(fd, 406, "GET");
    ck_assert(client_text(fd, "POST /v1/banks?strategy=naive HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}"));
    expect_reply(fd, 400, "strategy");
    post(fd, "", "{\"requests\":[]}");
    expect_reply(fd, 200, "{\"requests\":[]}\n");
    close(fd);
}
END_TEST

/* Too large: by its length, and by what came; either way the client hears it and goes on. */
START_TEST(bodies_have_a_ceiling) {
    int fd = client_open(&fixture);
    enum { MOST = 1 << 20 };
    char *body = malloc(MOST + 1);
    memset(body, ' ', MOST + 1);
    memcpy(body, "{\"requests\":[]}", 15);
    ck_assert(client_text(fd, "POST /v1/banks HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n", MOST));
    ck_assert(client_send(fd, body, MOST));
    expect_reply(fd, 200, "{\"requests\":[]}");
    ck_assert(client_text(fd, "POST /v1/banks HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n", MOST + 1));
    ck_assert(client_send(fd, body, MOST + 1));
    expect_reply(fd, 413, "\"limit\":1048576,\"actual\":1048577");
    ck_assert(client_text(fd, "POST /v1/banks HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n", MOST + 1));
    ck_assert(client_send(fd, body, MOST + 1));
    ck_assert(client_text(fd, "\r\n0\r\n\r\n"));
    expect_reply(fd, 413, "\"limit\":1048576");
    post(fd, "", "{\"requests\":[]}");
    expect_reply(fd, 200, "requests");
    ck_assert(
        client_text(fd, "POST /v1/banks HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", MOST + 1));
    expect_reply(fd, 413, "too-large");
    close(fd);
    free(body);
}
END_TEST

/* A client that leaves in mid-body takes nothing with it: the sanitizer sees what stays. */
START_TEST(clients_may_leave) {
    for (int i = 0; i < 20; i++) {
        int fd = client_open(&fixture);
        ck_assert(client_text(fd, "POST /v1/banks HTTP/1.1\r\nHost: t\r\nContent-Length: 5000\r\n\r\n{\"requests\":[" LOAD));
        close(fd);
    }
    int fd = client_open(&fixture);
    post(fd, "", "{\"requests\":[" LOAD "]}");
    expect_reply(fd, 200, "\"wavefronts\":4");
    close(fd);
}
END_TEST

int main(void) {
    TCase *tests;
    Suite *suite = fixture_suite("http_banks", fixture_up, &tests);
    tcase_add_test(tests, questions);
    tcase_add_test(tests, pictures_are_negotiated);
    tcase_add_test(tests, addresses);
    tcase_add_test(tests, bodies_have_a_ceiling);
    tcase_add_test(tests, clients_may_leave);
    return tpd_harness_main(suite);
}
