/* test_http_transpose.c -- POST /v1/transpose over real sockets: bodies in every framing, parameters, refusals, digests. */
#include <nettle/base64.h>
#include <nettle/sha2.h>

#include "http_fixture.h"

static void set_up(void) {
    fixture_init(&fixture);
    fixture_set(&fixture, "max_body_bytes", "96MiB");
    fixture_start(&fixture);
}

START_TEST(shapes_and_sizes) {
    static const uint64_t shapes[][2] = {{1, 1}, {2, 3}, {1, 1000}, {1000, 1}, {32, 32}, {33, 31}, {512, 777}, {1500, 1300}};
    int fd = client_open(&fixture);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        round_trip(fd, shapes[i][0], shapes[i][1], "", "");
    close(fd);
}
END_TEST

START_TEST(answer_headers) {
    int fd = client_open(&fixture);
    struct reply reply;
    ck_assert(client_text(
        fd, "POST /v1/transpose?rows=2&cols=3&batch=2&dtype=uint8 HTTP/1.1\r\nHost: t\r\n"
            "Content-Type: application/octet-stream\r\nX-Request-Id: a.B_c-9\r\nContent-Length: 12\r\n\r\nabcdefghijkl"));
    ck_assert(reply_read(fd, false, &reply));
    ck_assert_int_eq(reply.status, 200);
    ck_assert_str_eq((char *)reply.body, "adbecfgjhkil");
    ck_assert_str_eq(reply_field(&reply, "Transposed-Shape"), "2x3x2");
    ck_assert_str_eq(reply_field(&reply, "Transposed-Dtype"), "uint8");
    ck_assert_str_eq(reply_field(&reply, "Transposed-Device"), "cpu");
    ck_assert_str_eq(reply_field(&reply, "X-Request-Id"), "a.B_c-9");
    ck_assert_str_eq(reply_field(&reply, "Content-Type"), "application/octet-stream");
    unsigned whole[7], thousandths[7];
    char kernel[64];
    ck_assert_int_eq(
        sscanf(
            reply_field(&reply, "Server-Timing"),
            "receive;dur=%u.%3u, decode;dur=%u.%3u, queue;dur=%u.%3u, h2d;dur=%u.%3u, kernel;dur=%u.%3u;desc=\"%60[a-z0-9_]\", "
            "d2h;dur=%u.%3u, encode;dur=%u.%3u",
            &whole[0], &thousandths[0], &whole[1], &thousandths[1], &whole[2], &thousandths[2], &whole[3], &thousandths[3],
            &whole[4], &thousandths[4], kernel, &whole[5], &thousandths[5], &whole[6], &thousandths[6]),
        15);
    ck_assert_str_eq(kernel, reply_field(&reply, "Transposed-Strategy"));
    reply_free(&reply);
    /* An id that is none is replaced by one that is. */
    ck_assert(client_text(fd, "GET /livez HTTP/1.1\r\nHost: t\r\nX-Request-Id: no spaces, please\r\n\r\n"));
    ck_assert(reply_read(fd, false, &reply));
    ck_assert_uint_eq(strspn(reply_field(&reply, "X-Request-Id"), "0123456789abcdef"), 16);
    reply_free(&reply);
    close(fd);
}
END_TEST

START_TEST(chunked_and_dribbled) {
    int fd = client_open(&fixture);
    ck_assert(client_text(fd, "POST /v1/transpose?rows=2&cols=3&itemsize=1 HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
                              "Content-Type: application/octet-stream\r\n\r\n2\r\nab\r\n"));
    usleep(20000);
    ck_assert(client_text(fd, "4;x=y\r\ncdef\r\n0\r\n\r\n"));
    expect_reply(fd, 200, "adbecf");
    static const char whole[] =
        "POST /v1/transpose?rows=3&cols=2&itemsize=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 6\r\n\r\nabcdef";
    for (size_t i = 0; i + 1 < sizeof whole; i++) {
        ck_assert(client_send(fd, whole + i, 1));
        usleep(300);
    }
    expect_reply(fd, 200, "acebdf");
    close(fd);
}
END_TEST

START_TEST(pipelined) {
    static const char one[] = "POST /v1/transpose?rows=2&cols=2&itemsize=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\nabcd";
    static const char bad[] = "POST /v1/transpose?rows=2&cols=2&itemsize=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nabcde";
    char both[1024];
    int fd = client_open(&fixture);
    snprintf(both, sizeof both, "%s%s%s", one, bad, one);
    ck_assert(client_send(fd, both, strlen(both)));
    expect_reply(fd, 200, "acbd");
    expect_reply(fd, 400, "\"code\":\"");
    expect_reply(fd, 200, "acbd");
    close(fd);
}
END_TEST

static const struct {
    const char *query, *headers;
    int status;
    const char *has;
} refusals[] = {
    {"rows=2&cols=2&itemsize=1&colour=red", "", 400, "colour"},
    {"rows=2&rows=2&cols=2&itemsize=1", "", 400, "rows is there twice"},
    {"rows=+2&cols=2&itemsize=1", "", 400, "rows="},
    {"rows=0x2&cols=2&itemsize=1", "", 400, "bad-parameter"},
    {"rows&cols=2&itemsize=1", "", 400, "rows has no value"},
    {"rows=2&cols=2&itemsize=1&dtype=uint8", "", 400, "dtype and itemsize"},
    {"rows=99999999999999999999&cols=2", "", 422, "size-overflow"},
    {"rows=9223372036854775807&cols=9223372036854775807", "", 422, "size-overflow"},
    {"rows=2&cols=2&itemsize=0", "", 422, "unsupported"},
    {"rows=2&cols=2&itemsize=4097", "", 422, "4096"},
    {"rows=2&cols=2&dtype=quaternion", "", 422, "unknown-dtype"},
    {"rows=2&cols=2&itemsize=1&strategy=magic", "", 422, "unknown-strategy"},
    {"rows=2&cols=2&itemsize=1&device=abacus", "", 422, "unknown-device"},
    {"rows=2&cols=2&itemsize=1&device=a-name-much-longer-than-any-device", "", 422, "unknown-device"},
    {"rows=2&cols=2&itemsize=1&nonfinite=maybe", "", 400, "nonfinite=maybe"},
    {"rows=2&cols=2&itemsize=1&tile=7", "", 400, "bad-parameter"},
    {"rows=2&cols=2&itemsize=1&tile=64x64&strategy=vector&device=simt", "", 422, "tile=64x64 says nothing to strategy=vector"},
    {"strategy=direct&tile=32x16", "", 422, "strategy=direct, which has none: leave tile out, or take padded"},
    {"row=2", "", 400,
     "the parameter \\\"row\\\" is unknown: rows, cols, batch, dtype, itemsize, strategy, tile, device, nonfinite, delimiter, "
     "quotes, ragged, filler and tensor are taken here"},
    {"rows=2&cols=2&itemsize=1", "Accept: image/png\r\n", 406, "not-acceptable"},
    {"rows=2&cols=2&itemsize=1", "Content-Type: image/png\r\n", 415, "application/x-npy"},
    {"", "", 415, "begins like no known format"},
    {"", "Content-Type: text/html\r\n", 415, "text/html is not read here, these are: application/x-npy"},
    {"", "Content-Type: text/html\r\n", 415, "curl -d '[[1,2],[3,4]]' http://t/v1/transpose"},
    {"", "Content-Type: multipart/form-data; boundary=a-boundary-that-is-as-long-as-they-are-now-and-then\r\n", 415,
     "multipart/form-data is not read here"},
    {"", "Content-Type: a-type/that-is-longer-than-any-type-there-is-and-has-to-be-cut-short-somewhere\r\n", 415,
     "//t/v1/transpose\""},
    {"", "Content-Type: application/gzip\r\n", 415, "send it with Content-Encoding: gzip, and the matrix's own type"},
    {"", "Content-Type: application/x-gzip; a=b\r\n", 415, "Content-Encoding: gzip"},
    {"", "Content-Type: application/zstd\r\n", 415, "Content-Encoding: zstd"},
    {"", "Content-Type: application/identity\r\n", 415, "application/identity is not read here"},
    {"", "Content-Type: application\r\n", 415, "application is not read here"},
    {"rows=2&dtype=uint8", "", 400, "cols is missing"},
    {"itemsize=1", "", 400, "rows and cols are missing"},
    {"", "Accept: image/png\r\n", 406, "application/x-npy"},
    {"rows=2&cols=2&itemsize=1", "Content-Encoding: br\r\n", 415, "gzip"},
    {"rows=2&cols=2&itemsize=1", "Content-Digest: sha-256=:AAAA:\r\n", 400, "bad-parameter"},
    {"rows=2&cols=2&itemsize=1", "Content-Digest: sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:\r\n", 400,
     "digest-mismatch"},
    {"rows=2&cols=3&itemsize=1", "Content-Type: application/octet-stream\r\n", 400, "\"code\""},
    {"rows=1&cols=3&itemsize=1", "Content-Type: application/octet-stream\r\n", 400, "\"code\""},
};

/* Each is answered, and the same connection then does a real request. */
START_TEST(refused_and_still_usable) {
    int fd = client_open(&fixture);
    ck_assert(client_text(fd, "POST /v1/transpose?%s HTTP/1.1\r\nHost: t\r\n%sContent-Length: 4\r\n\r\nwxyz", refusals[_i].query,
                          refusals[_i].headers));
    expect_reply(fd, refusals[_i].status, refusals[_i].has);
    round_trip(fd, 16, 5, "", "");
    close(fd);
}
END_TEST

START_TEST(sniffed) {
    static const char *const types[] = {"", "Content-Type: application/x-www-form-urlencoded\r\n"};
    int fd = client_open(&fixture);
    for (int i = 0; i < 2; i++) {
        ck_assert(client_text(
            fd, "POST /v1/transpose?rows=2&cols=2&itemsize=1 HTTP/1.1\r\nHost: t\r\n%sContent-Length: 4\r\n\r\nabcd", types[i]));
        expect_reply(fd, 200, "acbd");
        ck_assert(client_text(fd, "POST /v1/transpose HTTP/1.1\r\nHost: t\r\n%sContent-Length: 21\r\n\r\n[[1.10,2],[3,4],[5,6]",
                              types[i]));
        expect_reply(fd, 400, "\"code\"");
        ck_assert(client_text(fd, "POST /v1/transpose HTTP/1.1\r\nHost: t\r\n%sContent-Length: 22\r\n\r\n[[1.10,2],[3,4],[5,6]]",
                              types[i]));
        expect_reply(fd, 200, "1.10");
        static const struct {
            const char *body;
            int status;
            const char *has[2];
        } poor[] = {
            {"", 400, {"the body is empty", "\"offset\":0"}},
            {"123", 415, {"bare value", "[[1,2],[3,4]]"}},
            {"\"abc\"", 415, {"bare value", "curl"}},
            {"null", 415, {"bare value", "curl"}},
            {"PK\x03\x04", 415, {"numpy.savez", "curl"}},
            {"{}", 400, {"key 'data' is missing", "\"offset\":1"}},
            {"\x1f\x8b\x08", 415, {"packed with gzip", "with Content-Encoding: gzip"}},
            {"\x28\xb5\x2f\xfd", 415, {"packed with zstd", "with Content-Encoding: zstd"}},
        };
        for (size_t p = 0; p < sizeof poor / sizeof poor[0]; p++) {
            struct reply reply;
            ck_assert(client_text(fd, "POST /v1/transpose HTTP/1.1\r\nHost: t\r\n%sContent-Length: %zu\r\n\r\n%s", types[i],
                                  strlen(poor[p].body), poor[p].body));
            ck_assert(reply_read(fd, false, &reply));
            ck_assert_msg(reply.status == poor[p].status, "'%s': %d %s", poor[p].body, reply.status, (char *)reply.body);
            for (int w = 0; w < 2; w++)
                ck_assert_msg(strstr((char *)reply.body, poor[p].has[w]) != NULL, "'%s': no '%s' in %s", poor[p].body,
                              poor[p].has[w], (char *)reply.body);
            reply_free(&reply);
        }
    }
    close(fd);
}
END_TEST

/* The dtype is that of the bytes which are sent: of numbers where cells became numbers, "text" where they stayed cells. */
START_TEST(dtype_of_what_is_sent) {
    static const struct {
        const char *query, *accept, *dtype;
    } cases[] = {{"", "application/json", "text"},
                 {"", "application/octet-stream", "int64"},
                 {"", "application/x-npy", "int64"},
                 {"?dtype=int8", "application/octet-stream", "int8"}};
    int fd = client_open(&fixture);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reply reply;
        ck_assert(client_text(fd,
                              "POST /v1/transpose%s HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nAccept: %s\r\n"
                              "X-Request-Id: sent-%zu\r\nContent-Length: 13\r\n\r\n[[1,2],[3,4]]",
                              cases[i].query, cases[i].accept, i));
        ck_assert(reply_read(fd, false, &reply));
        ck_assert_int_eq(reply.status, 200);
        ck_assert_str_eq(reply_field(&reply, "Transposed-Dtype"), cases[i].dtype);
        if (i == 0) /* exactly the matrix */
            ck_assert_str_eq((char *)reply.body, "[[1,3],[2,4]]");
        reply_free(&reply);
        char wanted[32];
        snprintf(wanted, sizeof wanted, "\"dtype\":\"%s\"", cases[i].dtype);
        ck_assert(client_text(fd, "GET /stats?id=sent-%zu HTTP/1.1\r\nHost: t\r\n\r\n", i));
        expect_reply(fd, 200, wanted);
    }
    close(fd);
}
END_TEST

START_TEST(no_items) {
    int fd = client_open(&fixture);
    ck_assert(client_text(
        fd, "POST /v1/transpose?rows=0&cols=7 HTTP/1.1\r\nHost: t\r\nContent-Type: application/octet-stream\r\n\r\n"));
    struct reply reply;
    ck_assert(reply_read(fd, false, &reply));
    ck_assert_int_eq(reply.status, 200);
    ck_assert_uint_eq(reply.bytes, 0);
    ck_assert_str_eq(reply_field(&reply, "Transposed-Shape"), "7x0");
    reply_free(&reply);
    round_trip(fd, 3, 3, "", "");
    close(fd);
}
END_TEST

/* Over the limit and small enough to swallow: the client hears 413 after its body, and goes on. */
START_TEST(too_large_is_drained) {
    size_t bytes = (96u << 20) + 1, sent = 0;
    char *zeros = calloc(1, 1 << 20);
    int fd = client_open(&fixture);
    /* Chunked: the limit is met in mid-body. */
    ck_assert(client_text(fd, "POST /v1/transpose?rows=6144&cols=4096 HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
                              "Content-Type: application/octet-stream\r\n\r\n"));
    for (; sent < bytes; sent += 1 << 20)
        ck_assert(client_text(fd, "100000\r\n") && client_send(fd, zeros, 1 << 20) && client_text(fd, "\r\n"));
    ck_assert(client_text(fd, "0\r\n\r\n"));
    expect_reply(fd, 413, "\"limit\":100663296");
    round_trip(fd, 5, 5, "", "");
    close(fd);
    free(zeros);
}
END_TEST

/* With Expect the answer comes at once; without it and over the bound it comes at once as well, in mid-body. */
START_TEST(too_large_at_once) {
    int fd = client_open(&fixture);
    ck_assert(client_text(fd, "POST /v1/transpose?rows=1&cols=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 104857600\r\n"
                              "Expect: 100-continue\r\n\r\n"));
    expect_reply(fd, 413, "\"actual\":104857600");
    expect_closed(fd);
    close(fd);
    fd = client_open(&fixture);
    char *zeros = calloc(1, 1 << 20);
    ck_assert(client_text(fd, "POST /v1/transpose?rows=1&cols=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 104857600\r\n\r\n"));
    for (int i = 0; i < 40; i++)
        ck_assert(client_send(fd, zeros, 1 << 20));
    expect_reply(fd, 413, "too-large");
    expect_closed(fd);
    close(fd);
    free(zeros);
}
END_TEST

START_TEST(expect_continue) {
    int fd = client_open(&fixture);
    char head[64] = "";
    ck_assert(client_text(fd, "POST /v1/transpose?rows=2&cols=2&itemsize=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n"
                              "Expect: 100-continue\r\n\r\n"));
    ck_assert_int_eq(recv(fd, head, 25, MSG_WAITALL), 25);
    ck_assert_str_eq(head, "HTTP/1.1 100 Continue\r\n\r\n");
    ck_assert(client_text(fd, "abcd"));
    expect_reply(fd, 200, "acbd");
    close(fd);
}
END_TEST

static void digest_of(const char *text, size_t bytes, char *encoded) {
    struct sha256_ctx sha;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&sha);
    sha256_update(&sha, bytes, (const uint8_t *)text);
    sha256_digest(&sha, sizeof digest, digest);
    base64_encode_raw(encoded, sizeof digest, digest);
    encoded[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE)] = '\0';
}

START_TEST(digests) {
    char encoded[64], expected[96];
    struct reply reply;
    int fd = client_open(&fixture);
    digest_of("abcdef", 6, encoded);
    ck_assert(client_text(fd,
                          "POST /v1/transpose?rows=2&cols=3&itemsize=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 6\r\n"
                          "Content-Digest: md5=:AA==:, sha-256=:%s:\r\nWant-Content-Digest: sha-512=3, sha-256=10\r\n\r\nabcdef",
                          encoded));
    ck_assert(reply_read(fd, false, &reply));
    ck_assert_msg(reply.status == 200, "%s", (char *)reply.body);
    digest_of("adbecf", 6, encoded);
    snprintf(expected, sizeof expected, "sha-256=:%s:", encoded);
    ck_assert_str_eq(reply_field(&reply, "Content-Digest"), expected);
    reply_free(&reply);
    ck_assert(client_text(fd, "POST /v1/transpose?rows=2&cols=3&itemsize=1 HTTP/1.1\r\nHost: t\r\nContent-Length: 6\r\n"
                              "Want-Content-Digest: sha-256=0\r\n\r\nabcdef"));
    ck_assert(reply_read(fd, false, &reply));
    ck_assert_str_eq(reply_field(&reply, "Content-Digest"), "");
    reply_free(&reply);
    close(fd);
}
END_TEST

int main(void) {
    TCase *tests;
    Suite *suite = fixture_suite("http_transpose", set_up, &tests);
    tcase_add_test(tests, shapes_and_sizes);
    tcase_add_test(tests, answer_headers);
    tcase_add_test(tests, chunked_and_dribbled);
    tcase_add_test(tests, pipelined);
    tcase_add_loop_test(tests, refused_and_still_usable, 0, (int)(sizeof refusals / sizeof refusals[0]));
    tcase_add_test(tests, sniffed);
    tcase_add_test(tests, dtype_of_what_is_sent);
    tcase_add_test(tests, no_items);
    tcase_add_test(tests, too_large_is_drained);
    tcase_add_test(tests, too_large_at_once);
    tcase_add_test(tests, expect_continue);
    tcase_add_test(tests, digests);
    return tpd_harness_main(suite);
}
