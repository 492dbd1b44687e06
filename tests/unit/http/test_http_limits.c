/* test_http_limits.c -- hostile framing, slow clients, dead clients, full listeners, and an end in the middle of everything. */
#include <pthread.h>

#include "http_fixture.h"

static void set_up(void) {
    fixture_init(&fixture);
    fixture_set(&fixture, "max_connections", "8");
    fixture_set(&fixture, "max_header_bytes", "4KiB");
}

static const struct {
    const char *request;
    int status;
    const char *has;
} framings[] = {
    {"POST /v1/transpose?rows=1&cols=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nTransfer-Encoding: "
     "chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n",
     400, "framing"},
    {"POST /v1/transpose?rows=1&cols=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", 400,
     "framing"},
    {"POST /v1/transpose?rows=1&cols=1 HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip\r\n\r\nabcd", 400, "framing"},
    {"POST /v1/transpose?rows=1&cols=1 HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400, "framing"},
    {"GET /livez HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: identity\r\n\r\n", 400, "framing"},
    /* What the library reads otherwise than a proxy before it would. */
    {"POST /v1/transpose?rows=1&cols=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nTransfer-Encoding:\r\n chunked\r\n\r\nabcd",
     400, "framing"},
    {"POST /v1/transpose?rows=1&cols=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nTransfer-Encoding : chunked\r\n\r\nabcd", 400,
     "framing"},
    {"POST /v1/transpose?rows=1&cols=1 HTTP/1.1\r\nHost: t\r\nX: a\rContent-Length: 4\r\n\r\nabcd", 400, "framing"},
    {"POST /v1/transpose?rows=1&cols=1 HTTP/1.1\r\nHost: t\r\nContent-Length:\r\n 4\r\n\r\nabcd", 400, "framing"},
    {"POST /v1/transpose?rows=1&cols=1 HTTP/1.1\r\nHost: t\r\nContent-Length : 4\r\n\r\nabcd", 400, "framing"},
    {"GET /livez HTTP/1.1\r\nHost: t\r\nContent-Length: 5000000000000\r\n\r\n", 413, "send less or raise max_body_bytes"},
    {"GET /livez HTTP/1.1\r\n\r\n", 400, "Host"},
    {"GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "Host"},
    {"GET /livez%00/x HTTP/1.1\r\nHost: t\r\n\r\n", 400, "%00"},
    {"GET /stats?recent=1%002 HTTP/1.1\r\nHost: t\r\n\r\n", 400, "%00"},
    {"GET /livez\x01 HTTP/1.1\r\nHost: t\r\n\r\n", 400, NULL},
};

START_TEST(ambiguous_framing) {
    fixture_start(&fixture);
    int fd = client_open(&fixture);
    ck_assert(client_send(fd, framings[_i].request, strlen(framings[_i].request)));
    expect_reply(fd, framings[_i].status, framings[_i].has);
    close(fd);
}
END_TEST

START_TEST(long_headers) {
    char filler[5000];
    memset(filler, 'x', sizeof filler - 1);
    filler[sizeof filler - 1] = '\0';
    fixture_start(&fixture);
    int fd = client_open(&fixture);
    ck_assert(client_text(fd, "GET /livez HTTP/1.1\r\nHost: t\r\nX-Filler: %s\r\n\r\n", filler));
    expect_reply(fd, 431, "headers-too-large");
    ck_assert(client_text(fd, "GET /livez HTTP/1.1\r\nHost: t\r\n\r\n"));
    expect_reply(fd, 200, "alive");
    close(fd);
}
END_TEST

START_TEST(stalled_body) {
    fixture_set(&fixture, "receive_timeout", "300ms");
    fixture_start(&fixture);
    int fd = client_open(&fixture);
    uint64_t begin = tpd_clock_ns();
    ck_assert(
        client_text(fd, "POST /v1/transpose?rows=1000&cols=1000 HTTP/1.1\r\nHost: t\r\nContent-Type: application/octet-stream\r\n"
                        "Content-Length: 4000000\r\n\r\nabc"));
    expect_reply(fd, 408, "receive_timeout");
    ck_assert_uint_ge(tpd_clock_ns() - begin, 300000000u);
    expect_closed(fd);
    close(fd);
    FIXTURE_WAIT_FOR(fixture_host_used(&fixture) == 0);
    ck_assert_uint_eq(tpd_http_in_flight(fixture.http), 0);
}
END_TEST

/* A drip that MHD's own timeout never notices. */
START_TEST(slow_body) {
    fixture_set(&fixture, "min_receive_rate", "1KiB");
    fixture_start(&fixture);
    int fd = client_open(&fixture);
    char byte;
    ck_assert(
        client_text(fd, "POST /v1/transpose?rows=1000&cols=1000 HTTP/1.1\r\nHost: t\r\nContent-Type: application/octet-stream\r\n"
                        "Content-Length: 4000000\r\n\r\n"));
    for (int i = 0; i < 300 && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0; i++) {
        ck_assert(client_send(fd, "x", 1));
        usleep(50000);
    }
    expect_reply(fd, 408, "min_receive_rate");
    close(fd);
}
END_TEST

START_TEST(dripped_headers) {
    fixture_set(&fixture, "idle_timeout", "1s");
    fixture_set(&fixture, "receive_timeout", "1s");
    fixture_start(&fixture);
    int fd = client_open(&fixture);
    uint64_t begin = tpd_clock_ns();
    char byte;
    ck_assert(client_text(fd, "GET /livez HTTP/1.1\r\nX-Long: "));
    for (int i = 0; i < 100 && recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN; i++) {
        if (!client_send(fd, "x", 1))
            break;
        usleep(100000);
    }
    uint64_t took = tpd_clock_ns() - begin;
    ck_assert_msg(took > 1900000000u && took < 6000000000u, "closed after %llu ns", (unsigned long long)took);
    close(fd);
}
END_TEST

/* A client that says all it has to say and then closes its sending side gets its reply, whatever the watcher saw meanwhile. */
START_TEST(half_closed) {
    fixture_start(&fixture);
    for (uint64_t side = 8; side <= 1024; side *= 128) { /* done in place, and by a worker */
        int fd = client_open(&fixture);
        char *zeros = calloc(side * side, 4);
        ck_assert(client_text(fd, "POST /v1/transpose?rows=%llu&cols=%llu HTTP/1.1\r\nHost: t\r\nContent-Length: %llu\r\n\r\n",
                              (unsigned long long)side, (unsigned long long)side, (unsigned long long)(side * side * 4)));
        ck_assert(client_send(fd, zeros, side * side * 4));
        ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
        expect_reply(fd, 200, NULL);
        expect_closed(fd);
        close(fd);
        free(zeros);
    }
}
END_TEST

/* Many of them, so that the watcher's look falls into every moment of a request; none may be lost, and none may keep its place
 * among the connections: each is closed by the daemon as soon as it is answered. */
START_TEST(half_closed_in_numbers) {
    fixture_start(&fixture); /* 8 connections at most */
    for (int i = 0; i < 1500; i++) {
        int fd = client_open(&fixture);
        ck_assert(
            client_text(fd, "POST /v1/transpose?rows=2&cols=2&dtype=uint8 HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\nabcd"));
        ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
        expect_reply(fd, 200, "acbd");
        expect_closed(fd);
        close(fd);
    }
}
END_TEST

/* A body that ends too soon is told so, though the client's sending side is closed. */
START_TEST(half_closed_in_mid_body) {
    fixture_start(&fixture);
    for (int pause = 0; pause < 2; pause++) {
        int fd = client_open(&fixture);
        ck_assert(
            client_text(fd, "POST /v1/transpose?rows=2&cols=2&dtype=uint8 HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\nab"));
        if (pause != 0)
            usleep(150000);
        ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
        expect_reply(fd, 400, "truncated");
        expect_closed(fd);
        close(fd);
    }
}
END_TEST

/* Slow on purpose: the lane-by-lane back end. */
static int start_slow_job(void) {
    size_t bytes = 7000 * 7000;
    char *body = calloc(1, bytes);
    int fd = client_open(&fixture);
    ck_assert(client_text(fd,
                          "POST /v1/transpose?rows=7000&cols=7000&device=simt&itemsize=1&strategy=padded HTTP/1.1\r\nHost: t\r\n"
                          "Content-Type: application/octet-stream\r\nContent-Length: %zu\r\n\r\n",
                          bytes));
    ck_assert(client_send(fd, body, bytes));
    free(body);
    return fd;
}

static uint64_t running(void) {
    struct tpd_engine_counts counts;
    tpd_engine_counts(fixture.world.engine, &counts);
    return counts.running + counts.queued;
}

static void reset(int fd) {
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd);
}

START_TEST(killed_in_upload) {
    fixture_start(&fixture);
    for (int hard = 0; hard < 2; hard++) {
        int fd = client_open(&fixture);
        char *zeros = calloc(1, 1 << 20);
        ck_assert(client_text(
            fd, "POST /v1/transpose?rows=1000&cols=1000 HTTP/1.1\r\nHost: t\r\nContent-Type: application/octet-stream\r\n"
                "Content-Length: 4000000\r\n\r\n"));
        ck_assert(client_send(fd, zeros, 1 << 20));
        free(zeros);
        FIXTURE_WAIT_FOR(fixture_host_used(&fixture) != 0);
        if (hard)
            reset(fd);
        else
            close(fd);
        FIXTURE_WAIT_FOR(fixture_host_used(&fixture) == 0 && tpd_http_in_flight(fixture.http) == 0);
    }
}
END_TEST

START_TEST(killed_in_job) {
    fixture_start(&fixture);
    int fd = start_slow_job();
    FIXTURE_WAIT_FOR(running() != 0);
    reset(fd);
    ck_assert(tpd_engine_wait_idle(fixture.world.engine, 100000000000u));
    FIXTURE_WAIT_FOR(fixture_host_used(&fixture) == 0 && tpd_http_in_flight(fixture.http) == 0);
}
END_TEST

/* 200 when the job was done in time, 503 when the client was told that it was not, 0 without an answer. */
static void *read_status(void *fd) {
    struct reply reply;
    int status = reply_read(*(int *)fd, false, &reply) ? reply.status : 0;
    reply_free(&reply);
    return (void *)(intptr_t)status;
}

START_TEST(destroyed_in_job) {
    fixture_set(&fixture, "min_receive_rate", "0"); /* the upload stalls on purpose */
    fixture_start(&fixture);
    int fd = start_slow_job(), upload = client_open(&fixture);
    ck_assert(client_text(
        upload, "POST /v1/transpose?rows=1000&cols=1000 HTTP/1.1\r\nHost: t\r\nContent-Type: application/octet-stream\r\n"
                "Content-Length: 4000000\r\n\r\nabc"));
    FIXTURE_WAIT_FOR(running() != 0 && tpd_http_in_flight(fixture.http) == 2);
    pthread_t reader;
    ck_assert_int_eq(pthread_create(&reader, NULL, read_status, &fd), 0);
    uint64_t begin = tpd_clock_ns();
    tpd_engine_refuse(fixture.world.engine);
    tpd_http_destroy(fixture.http);
    fixture.http = NULL;
    ck_assert_uint_lt(tpd_clock_ns() - begin, 8000000000u);
    void *status;
    ck_assert_int_eq(pthread_join(reader, &status), 0);
    ck_assert_msg((intptr_t)status == 200 || (intptr_t)status == 503, "%d", (int)(intptr_t)status);
    close(fd);
    expect_reply(upload, 503, "draining");
    expect_closed(upload);
    close(upload);
}
END_TEST

START_TEST(full_listener) {
    int fd[10];
    fixture_start(&fixture);
    for (int i = 0; i < 8; i++) {
        fd[i] = client_open(&fixture);
        ck_assert(client_text(fd[i], "GET /livez HTTP/1.1\r\nHost: t\r\n\r\n"));
        expect_reply(fd[i], 200, NULL);
    }
    struct reply reply;
    fd[8] = client_open(&fixture);
    ck_assert(client_text(fd[8], "POST /v1/transpose?rows=1&cols=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\nabcd"));
    ck_assert(reply_read(fd[8], false, &reply));
    ck_assert_int_eq(reply.status, 503);
    ck_assert_str_eq(reply_field(&reply, "Retry-After"), "1");
    ck_assert_str_eq(reply_field(&reply, "Connection"), "close");
    ck_assert_ptr_nonnull(strstr((char *)reply.body, "connections-full"));
    reply_free(&reply);
    expect_closed(fd[8]);
    fd[9] = client_try(tpd_http_admin_address(fixture.http)); /* healthy all the same */
    ck_assert(client_text(fd[9], "GET /readyz HTTP/1.1\r\nHost: t\r\n\r\nGET /stats HTTP/1.1\r\nHost: t\r\n\r\n"));
    expect_reply(fd[9], 200, "ready");
    expect_reply(fd[9], 200, "\"uptime_seconds\"");
    close(fd[0]);
    usleep(100000);
    close(fd[8]);
    fd[8] = client_open(&fixture);
    round_trip(fd[8], 4, 4, "", "");
    for (int i = 1; i < 10; i++)
        close(fd[i]);
}
END_TEST

enum { FLOOD = 120 };

static int count_refused(const int *fd) {
    char head[16];
    int refused = 0;
    for (int i = 0; i < FLOOD; i++)
        refused += recv(fd[i], head, 12, MSG_PEEK | MSG_DONTWAIT) == 12 && memcmp(head, "HTTP/1.1 503", 12) == 0;
    return refused;
}

/* More than can be told no politely: those hear it at once, before they say anything. */
START_TEST(flooded_listener) {
    int fd[FLOOD];
    fixture_start(&fixture);
    for (int i = 0; i < FLOOD; i++)
        fd[i] = client_open(&fixture);
    FIXTURE_WAIT_FOR(count_refused(fd) == FLOOD - 8 - 64);
    for (int i = 0; i < FLOOD; i++)
        close(fd[i]);
}
END_TEST

START_TEST(one_client_too_often) {
    fixture_set(&fixture, "max_connections_per_ip", "2");
    fixture_start(&fixture);
    int fd[3];
    for (int i = 0; i < 3; i++) {
        fd[i] = client_open(&fixture);
        ck_assert(client_text(fd[i], "GET /livez HTTP/1.1\r\nHost: t\r\n\r\n"));
        expect_reply(fd[i], i < 2 ? 200 : 429, i < 2 ? NULL : "\"limit\":2,\"actual\":3,\"retry_after\":1");
    }
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    usleep(100000);
    fd[0] = client_open(&fixture);
    ck_assert(client_text(fd[0], "GET /livez HTTP/1.1\r\nHost: t\r\n\r\n"));
    expect_reply(fd[0], 200, NULL);
    close(fd[0]);
}
END_TEST

START_TEST(stops_listening) {
    fixture_start(&fixture);
    int fd = client_open(&fixture);
    ck_assert(client_text(fd, "GET /livez HTTP/1.1\r\nHost: t\r\n\r\n"));
    expect_reply(fd, 200, NULL);
    tpd_http_stop_listening(fixture.http);
    ck_assert_int_eq(client_try(tpd_http_data_address(fixture.http)), -1);
    ck_assert_int_eq(errno, ECONNREFUSED);
    int admin = client_try(tpd_http_admin_address(fixture.http));
    ck_assert(client_text(admin, "GET /livez HTTP/1.1\r\nHost: t\r\n\r\n"));
    expect_reply(admin, 200, NULL);
    close(admin);
    ck_assert(client_text(fd, "POST /v1/transpose?rows=1&cols=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\nabcd"));
    expect_reply(fd, 503, "draining");
    expect_closed(fd);
    close(fd);
}
END_TEST

int main(void) {
    TCase *tests;
    Suite *suite = fixture_suite("http_limits", set_up, &tests);
    tcase_add_loop_test(tests, ambiguous_framing, 0, (int)(sizeof framings / sizeof framings[0]));
    tcase_add_test(tests, long_headers);
    tcase_add_test(tests, stalled_body);
    tcase_add_test(tests, slow_body);
    tcase_add_test(tests, dripped_headers);
    tcase_add_test(tests, half_closed);
    tcase_add_test(tests, half_closed_in_numbers);
    tcase_add_test(tests, half_closed_in_mid_body);
    tcase_add_test(tests, killed_in_upload);
    tcase_add_test(tests, killed_in_job);
    tcase_add_test(tests, destroyed_in_job);
    tcase_add_test(tests, full_listener);
    tcase_add_test(tests, flooded_listener);
    tcase_add_test(tests, one_client_too_often);
    tcase_add_test(tests, stops_listening);
    return tpd_harness_main(suite);
}
