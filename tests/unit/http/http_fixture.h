/* http_fixture.h -- a whole daemon in this process on port 0, and a client that speaks raw bytes to it. */
#ifndef TPD_HTTP_FIXTURE_H
#define TPD_HTTP_FIXTURE_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "transposed/clock.h"
#include "transposed/http.h"
#include "transposed/log.h"
#include "transposed/transposed.h"

struct fixture {
    struct tpd_config config;
    struct tpd_world world;
    struct tpd_http *http;
};

/* One knob as a person would write it. */
static inline void fixture_set(struct fixture *fixture, const char *knob, const char *value) {
    struct tpd_error error;
    ck_assert_ok(tpd_config_set(&fixture->config, tpd_knob_find(knob), value, TPD_SOURCE_FLAG, &error), error);
}

static inline void fixture_init(struct fixture *fixture) {
    memset(fixture, 0, sizeof *fixture);
    tpd_config_defaults(&fixture->config);
    fixture_set(fixture, "listen", "127.0.0.1:0");
    fixture_set(fixture, "admin_listen", "127.0.0.1:0");
    fixture_set(fixture, "http_threads", "2");
    fixture_set(fixture, "devices", "none");
    tpd_log_configure(TPD_LOG_ERROR, TPD_LOG_LOGFMT);
}

static inline void fixture_start(struct fixture *fixture) {
    struct tpd_error error;
    atomic_init(&fixture->world.config, &fixture->config);
    atomic_init(&fixture->world.phase, TPD_PHASE_READY);
    ck_assert_ok(tpd_engine_create(&fixture->config, &fixture->world.engine, &error), error);
    ck_assert_ok(tpd_stats_create(&fixture->config, &fixture->world.stats, &error), error);
    ck_assert_ok(tpd_http_create(&fixture->world, &fixture->http, &error), error);
}

static inline uint64_t fixture_host_used(struct fixture *fixture) {
    struct tpd_engine_counts counts;
    tpd_engine_counts(fixture->world.engine, &counts);
    return counts.host_used_bytes;
}

/* Nothing may be held once everybody is gone. */
static inline void fixture_stop(struct fixture *fixture) {
    tpd_engine_refuse(fixture->world.engine);
    tpd_http_destroy(fixture->http);
    ck_assert(tpd_engine_wait_idle(fixture->world.engine, 100000000000u));
    ck_assert_uint_eq(fixture_host_used(fixture), 0);
    tpd_engine_destroy(fixture->world.engine);
    tpd_stats_destroy(fixture->world.stats);
}

/* True as soon as the condition holds, false after ten seconds. */
#define FIXTURE_WAIT_FOR(condition)                            \
    do {                                                       \
        uint64_t until_ = tpd_clock_ns() + 10000000000u;       \
        while (!(condition) && tpd_clock_ns() < until_)        \
            usleep(2000);                                      \
        ck_assert_msg(condition, "still not: %s", #condition); \
    } while (0)

/* A descriptor, or -1 with errno. */
static inline int client_try(const char *address) {
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *colon = strrchr(address, ':');
    ck_assert_ptr_nonnull(colon);
    to.sin_port = htons((uint16_t)atoi(colon + 1));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = 60};
    ck_assert_int_ge(fd, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        int reason = errno;
        close(fd);
        errno = reason;
        return -1;
    }
    return fd;
}

static inline int client_open(struct fixture *fixture) {
    int fd = client_try(tpd_http_data_address(fixture->http));
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* False when the peer is gone. */
static inline bool client_send(int fd, const void *bytes, size_t count) {
    const char *at = bytes;
    while (count != 0) {
        ssize_t sent = send(fd, at, count, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += sent;
        count -= (size_t)sent;
    }
    return true;
}

static inline bool client_text(int fd, const char *format, ...) TPD_PRINTF(2, 3);
static inline bool client_text(int fd, const char *format, ...) {
    char text[16384];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ck_assert_int_lt(length, (int)sizeof text);
    return client_send(fd, text, (size_t)length);
}

struct reply {
    int status;
    char head[8192];
    unsigned char *body; /* NUL behind it */
    size_t bytes;
};

/* The field's value, "" when it is absent. Overwritten by the next call. */
static inline const char *reply_field(const struct reply *reply, const char *name) {
    static char value[1024];
    size_t length = strlen(name);
    for (const char *at = strstr(reply->head, "\r\n"); at != NULL && at[2] != '\0'; at = strstr(at + 2, "\r\n"))
        if (strncasecmp(at + 2, name, length) == 0 && at[2 + length] == ':') {
            const char *from = at + 3 + length + strspn(at + 3 + length, " ");
            snprintf(value, sizeof value, "%.*s", (int)strcspn(from, "\r"), from);
            return value;
        }
    return "";
}

static inline void reply_free(struct reply *reply) {
    free(reply->body);
    reply->body = NULL;
}

/* False when the connection ended before a whole reply. "100 Continue" is passed over. */
static inline bool reply_read(int fd, bool is_head, struct reply *reply) {
    memset(reply, 0, sizeof *reply);
    do {
        size_t at = 0;
        while (at < 4 || memcmp(reply->head + at - 4, "\r\n\r\n", 4) != 0) {
            ck_assert_uint_lt(at, sizeof reply->head - 1);
            if (recv(fd, reply->head + at, 1, 0) != 1)
                return false;
            at++;
        }
        reply->head[at] = '\0';
        ck_assert_int_eq(sscanf(reply->head, "HTTP/1.%*d %d", &reply->status), 1);
    } while (reply->status == 100);
    size_t bytes = is_head ? 0 : strtoull(reply_field(reply, "Content-Length"), NULL, 10);
    reply->body = malloc(bytes + 1);
    while (reply->bytes < bytes) {
        ssize_t got = recv(fd, reply->body + reply->bytes, bytes - reply->bytes, 0);
        if (got <= 0) {
            reply_free(reply);
            return false;
        }
        reply->bytes += (size_t)got;
    }
    reply->body[bytes] = '\0';
    return true;
}

/* Reads a reply that must be there, with that status; `has` must be somewhere in its body (NULL: anything). */
static inline void expect_reply(int fd, int status, const char *has) {
    struct reply reply;
    ck_assert_msg(reply_read(fd, false, &reply), "no reply where %d was expected", status);
    ck_assert_msg(reply.status == status, "%d expected, got %d: %s", status, reply.status, (char *)reply.body);
    ck_assert_msg(has == NULL || strstr((char *)reply.body, has) != NULL, "no %s in %s", has, (char *)reply.body);
    if (status >= 400 && strstr(reply_field(&reply, "Content-Type"), "problem") != NULL)
        ck_assert(strstr((char *)reply.body, "\"instance\":\"/stats?id=") != NULL ||
                  strstr((char *)reply.body, "\"instance\":\"#") != NULL);
    reply_free(&reply);
}

static inline void expect_closed(int fd) {
    char rest[512];
    ssize_t got = recv(fd, rest, sizeof rest - 1, 0);
    rest[got > 0 ? got : 0] = '\0';
    ck_assert_msg(got == 0 || (got < 0 && errno == ECONNRESET), "more where the end was expected: %s", rest);
}

/* A float32 matrix of random bytes sent raw on fd, its answer checked against the oracle. */
static inline void round_trip(int fd, uint64_t rows, uint64_t cols, const char *parameters, const char *headers) {
    struct tpd_matrix matrix = {.rows = rows, .cols = cols, .batch = 1, .itemsize = 4, .dtype = TPD_DTYPE_FLOAT32};
    size_t bytes = (size_t)(rows * cols * 4);
    unsigned char *in = malloc(bytes + 1), *expected = malloc(bytes + 1);
    tpd_random_fill(in, bytes, rows * 31 + cols);
    tpd_transpose_ref(&matrix, in, expected);
    ck_assert(
        client_text(fd,
                    "POST /v1/transpose?rows=%llu&cols=%llu%s HTTP/1.1\r\nHost: t\r\nContent-Type: application/octet-stream\r\n"
                    "Content-Length: %zu\r\n%s\r\n",
                    (unsigned long long)rows, (unsigned long long)cols, parameters, bytes, headers));
    ck_assert(client_send(fd, in, bytes));
    struct reply reply;
    ck_assert(reply_read(fd, false, &reply));
    ck_assert_msg(reply.status == 200, "%d: %s", reply.status, (char *)reply.body);
    ck_assert_uint_eq(reply.bytes, bytes);
    ck_assert_int_eq(memcmp(reply.body, expected, bytes), 0);
    reply_free(&reply);
    free(in);
    free(expected);
}

/* A test program's one suite: each of its tests has the fixture for itself. */
static struct fixture fixture;

static inline void fixture_up(void) {
    fixture_init(&fixture);
    fixture_start(&fixture);
}

static inline void fixture_down(void) {
    fixture_stop(&fixture);
}

static inline Suite *fixture_suite(const char *name, void (*up)(void), TCase **tests) {
    Suite *suite = suite_create(name);
    *tests = tcase_create(name);
    tcase_set_timeout(*tests, 120);
    tcase_add_checked_fixture(*tests, up, fixture_down);
    suite_add_tcase(suite, *tests);
    return suite;
}

#endif
