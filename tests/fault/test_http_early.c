/* test_http_early.c -- bodies that are worked on while they arrive, over a socket: raw and NumPy, whole, cut short and one after
 * the other on a connection, with the CUDA back end on the fake GPU. */
#include "fake_cuda.h"
#include "server/engine/engine_internal.h"
#include "tests/unit/http/http_fixture.h"

extern const struct tpd_backend tpd_backend_cuda;

enum { ROWS = 1100, COLS = 1021, ITEMSIZE = 4, BYTES = ROWS * COLS * ITEMSIZE };
static const char npy[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (1100, 1021), }";
enum { NPY_HEAD_BYTES = 128 };

static unsigned char in[BYTES], expected[BYTES];

static void setup(void) {
    struct tpd_error error;
    const struct tpd_matrix matrix = {ROWS, COLS, 1, ITEMSIZE, TPD_DTYPE_FLOAT32};
    tpd_cuda_use(&fake_cuda);
    fake_cuda_reset(8 << 20, 0, 0);
    fixture_init(&fixture);
    fixture_set(&fixture, "devices", "auto");
    fixture_set(&fixture, "tune", "off");
    fixture_set(&fixture, "host_memory_bytes", "64MiB");
    const struct tpd_backend *backends[TPD_BACKEND_COUNT] = {
        [TPD_BACKEND_CUDA] = &tpd_backend_cuda, [TPD_BACKEND_CPU] = tpd_backend_at(TPD_BACKEND_CPU)};
    atomic_init(&fixture.world.config, &fixture.config);
    atomic_init(&fixture.world.phase, TPD_PHASE_READY);
    ck_assert_ok(tpd_engine_create_with(&fixture.config, backends, &fixture.world.engine, &error), error);
    fixture.world.engine->crossover_bytes[tpd_tuning_size(ITEMSIZE)] = 1;
    ck_assert_ok(tpd_stats_create(&fixture.config, &fixture.world.stats, &error), error);
    ck_assert_ok(tpd_http_create(&fixture.world, &fixture.http, &error), error);
    tpd_random_fill(in, BYTES, 3);
    tpd_transpose_ref(&matrix, in, expected);
}

static void teardown(void) {
    FIXTURE_WAIT_FOR(fixture_host_used(&fixture) == 0);
    fixture_stop(&fixture);
    ck_assert_msg(fake_cuda_mistakes() == 0, "%s", fake_cuda_mistake());
    ck_assert_uint_eq(fake_cuda_held(), 0);
}

static void send_head(int fd, bool is_npy, size_t bytes) {
    unsigned char head[NPY_HEAD_BYTES];
    ck_assert(
        client_text(fd, "POST /v1/transpose%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/%s\r\nContent-Length: %zu\r\n\r\n",
                    is_npy ? "" : "?rows=1100&cols=1021", is_npy ? "x-npy" : "octet-stream", bytes));
    if (!is_npy)
        return;
    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(head + 10, npy, sizeof npy - 1);
    head[NPY_HEAD_BYTES - 1] = '\n';
    ck_assert(client_send(fd, head, sizeof head));
}

static void expect_answer(int fd, size_t head_bytes) {
    struct reply reply;
    ck_assert(reply_read(fd, false, &reply));
    ck_assert_msg(reply.status == 200, "%d: %s", reply.status, (char *)reply.body);
    ck_assert_str_eq(reply_field(&reply, "Transposed-Device"), "cuda:0");
    ck_assert_uint_eq(reply.bytes, BYTES + head_bytes);
    ck_assert(memcmp(reply.body + head_bytes, expected, BYTES) == 0);
    reply_free(&reply);
}

/* In pieces with pauses, so that the device has to wait for the client and not the other way round. */
START_TEST(whole_bodies) {
    int fd = client_open(&fixture);
    for (int i = 0; i < 4; i++) {
        const bool is_npy = i % 2 != 0;
        send_head(fd, is_npy, BYTES + (is_npy ? NPY_HEAD_BYTES : 0));
        for (size_t at = 0; at < BYTES; at += 500001) {
            ck_assert(client_send(fd, in + at, at + 500001 < BYTES ? 500001 : BYTES - at));
            usleep(3000);
        }
        expect_answer(fd, is_npy ? NPY_HEAD_BYTES : 0);
    }
    close(fd);
}
END_TEST

START_TEST(bodies_cut_short) {
    for (size_t upto = 100000; upto < BYTES; upto += 700000) {
        int fd = client_open(&fixture);
        send_head(fd, false, BYTES);
        ck_assert(client_send(fd, in, upto));
        if (upto % 200000 == 0)
            shutdown(fd, SHUT_WR);
        close(fd);
    }
    FIXTURE_WAIT_FOR(fixture_host_used(&fixture) == 0);
    int fd = client_open(&fixture);
    send_head(fd, false, BYTES);
    ck_assert(client_send(fd, in, BYTES));
    expect_answer(fd, 0);
    close(fd);
}
END_TEST

/* A body with a digest that is not its own: refused at its end, when the device has most of it. */
START_TEST(a_body_that_is_refused) {
    static const char wrong[] = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:";
    int fd = client_open(&fixture);
    ck_assert(
        client_text(fd,
                    "POST /v1/transpose?rows=1100&cols=1021 HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n"
                    "Content-Digest: %s\r\nContent-Length: %d\r\n\r\n",
                    wrong, BYTES));
    ck_assert(client_send(fd, in, BYTES));
    expect_reply(fd, 400, "Content-Digest");
    send_head(fd, false, BYTES);
    ck_assert(client_send(fd, in, BYTES));
    expect_answer(fd, 0);
    close(fd);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("http_early");
    TCase *tests = tcase_create("fake device");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 180);
    tcase_add_test(tests, whole_bodies);
    tcase_add_test(tests, bodies_cut_short);
    tcase_add_test(tests, a_body_that_is_refused);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return tpd_harness_main(suite());
}
