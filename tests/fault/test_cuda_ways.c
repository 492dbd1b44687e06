/* test_cuda_ways.c -- the three ways through a GPU (mapped, whole, in panels), on the fake one: the oracle's bytes and nothing
 * beside them, whatever the shape, the order in which streams get to work, and the call that fails. */
#include <stdlib.h>
#include <string.h>

#include "cuda_rig.h"
#include "kernels/cuda/cuda_device.h"

enum { MEMORY = 1 << 20, CODE_INVALID = 1, CODE_ADDRESS = 700 };

static uint64_t state = 11;

static uint64_t below(uint64_t most) {
    return tpd_random(&state) % most;
}

static struct tpd_device *open_device(void) {
    return open_with((struct tpd_device_options){.lanes = 1});
}

/* What the measurements at the start would have said. */
static void go(struct tpd_device *device, enum tpd_cuda_way way, uint64_t panel_most_bytes) {
    device->mapped = (struct tpd_cuda_sizes){way == TPD_CUDA_MAPPED ? UINT64_MAX : 0, UINT64_MAX};
    device->mapped_uneven = device->mapped;
    device->panels_least_bytes = way == TPD_CUDA_PANELS ? 0 : UINT64_MAX;
    if (panel_most_bytes != 0)
        device->panel_most_bytes = panel_most_bytes;
}

/* Input that arrives a little later each time. */
struct stream {
    struct tpd_flow flow;
    const unsigned char *whole;
    unsigned char *in;
    uint64_t bytes, there, asked;
    uint64_t breaks_at; /* 0: never */
};

static enum tpd_status await(struct tpd_flow *flow, uint64_t bytes, struct tpd_error *error) {
    struct stream *stream = (struct stream *)(void *)flow;
    stream->asked++;
    ck_assert_uint_le(bytes, stream->bytes);
    if (stream->breaks_at != 0 && bytes >= stream->breaks_at)
        return tpd_fail(error, TPD_TRUNCATED, "the client is gone");
    if (bytes > stream->there) {
        memcpy(stream->in + stream->there, stream->whole + stream->there, bytes - stream->there);
        stream->there = bytes;
    }
    return TPD_OK;
}

struct work {
    struct tpd_task task;
    struct tpd_guarded in, out;
    unsigned char *whole, *expected;
    uint64_t bytes;
    struct stream stream;
};

static void make_work(struct work *work, struct tpd_matrix matrix) {
    memset(work, 0, sizeof *work);
    work->bytes = matrix.rows * matrix.cols * matrix.batch * matrix.itemsize;
    work->in = tpd_guarded_make(work->bytes, below(3));
    work->out = tpd_guarded_make(work->bytes, below(3));
    work->whole = malloc(work->bytes);
    work->expected = malloc(work->bytes);
    if (work->whole == NULL || work->expected == NULL)
        abort();
    tpd_random_fill(work->whole, work->bytes, below(1000));
    memcpy(work->in.data, work->whole, work->bytes);
    tpd_transpose_ref(&matrix, work->whole, work->expected);
    work->task = (struct tpd_task){
        .matrix = matrix, .in = work->in.data, .out = work->out.data, .pinned = true, .strategy = TPD_STRATEGY_AUTO};
    work->stream = (struct stream){.whole = work->whole, .in = work->in.data, .bytes = work->bytes};
}

static void let_arrive(struct work *work) {
    memset(work->in.data, 0xa5, work->bytes);
    work->stream.flow.await = await;
    work->task.flow = &work->stream.flow;
}

static enum tpd_status run(struct tpd_device *device, struct work *work, struct tpd_error *error) {
    struct tpd_outcome outcome;
    memset(work->out.data, 0xa5, work->bytes);
    enum tpd_status status = cuda->run(device, &work->task, &outcome, error);
    ck_assert_uint_eq(fake_cuda_queued(), 0);
    ck_assert(status != TPD_OK || memcmp(work->out.data, work->expected, work->bytes) == 0);
    return status;
}

static void end_work(struct work *work) {
    tpd_guarded_check(&work->in);
    tpd_guarded_check(&work->out);
    tpd_guarded_free(&work->in);
    tpd_guarded_free(&work->out);
    free(work->whole);
    free(work->expected);
}

static struct tpd_matrix random_matrix(void) {
    static const uint32_t itemsizes[] = {1, 2, 3, 4, 8, 12, 16, 24};
    struct tpd_matrix matrix = {1 + below(260), 1 + below(260), 1 + below(3), itemsizes[below(8)], TPD_DTYPE_OPAQUE};
    if (below(3) == 0)
        matrix.rows = 1 + below(5);
    if (below(3) == 0)
        matrix.cols = 1 + below(5);
    if (below(6) == 0)
        matrix.batch = 1 + below(40);
    return matrix;
}

START_TEST(random_shapes_in_panels) {
    fake_cuda_reset(MEMORY, 0, 0);
    struct tpd_device *device = open_device();
    const uint64_t share = device->panel_most_bytes;
    for (int i = 0; i < 400; i++) {
        struct work work;
        struct tpd_error error = {0};
        make_work(&work, random_matrix());
        go(device, TPD_CUDA_PANELS, 24 + below(below(2) ? 4000 : share - 24));
        const bool arrives = below(2) != 0;
        device->rows_by = (enum tpd_cuda_rows_by)below(TPD_CUDA_ROWS_BYS);
        if (arrives)
            let_arrive(&work);
        ck_assert_ok(run(device, &work, &error), error);
        ck_assert(!arrives || work.stream.there == work.bytes);
        end_work(&work);
    }
    close_clean(device);
}
END_TEST

START_TEST(every_strategy_in_panels) {
    fake_cuda_reset(MEMORY, 0, 0);
    struct tpd_device *device = open_device();
    go(device, TPD_CUDA_PANELS, 3000);
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        for (uint32_t itemsize = 1; itemsize <= 16; itemsize *= 2) {
            struct work work;
            struct tpd_error error = {0};
            struct tpd_matrix matrix = {97, 83, 2, itemsize, TPD_DTYPE_OPAQUE};
            make_work(&work, tpd_strategy_fit((enum tpd_strategy_id)id, matrix));
            work.task.strategy = (enum tpd_strategy_id)id;
            ck_assert_ok(run(device, &work, &error), error);
            end_work(&work);
        }
    close_clean(device);
}
END_TEST

/* Page-locked and aligned: where it lies. Else by way of the lane's own memory, as far as that goes. */
START_TEST(kernels_on_host_memory) {
    fake_cuda_reset(MEMORY, 0, 0);
    struct tpd_device *device = open_device();
    struct tpd_error error = {0};
    go(device, TPD_CUDA_MAPPED, 0);
    const struct tpd_matrix matrix = {300, 200, 1, 4, TPD_DTYPE_FLOAT32};
    struct work work;
    make_work(&work, matrix);
    unsigned char *pinned = cuda->host_alloc(2 * work.bytes);
    memcpy(pinned, work.whole, work.bytes);
    struct tpd_outcome outcome;
    work.task.in = pinned;
    work.task.out = pinned + work.bytes;
    uint64_t calls = fake_cuda_calls();
    ck_assert_ok(cuda->run(device, &work.task, &outcome, &error), error);
    ck_assert(memcmp(pinned + work.bytes, work.expected, work.bytes) == 0);
    ck_assert_uint_eq(outcome.h2d_ns, 0);
    ck_assert_uint_eq(outcome.kernel_ns, 250000);
    ck_assert_uint_eq(outcome.d2h_ns, 0);
    ck_assert_uint_le(fake_cuda_calls() - calls, 6); /* the device, two events, the kernel, its end, its time */
    end_work(&work);
    for (int i = 0; i < 100; i++) {
        make_work(&work, random_matrix());
        work.task.pinned = false;
        ck_assert_ok(run(device, &work, &error), error);
        end_work(&work);
    }
    cuda->host_free(pinned, 0);
    close_clean(device);
    fake_cuda_reset(MEMORY, 0, 0);
    fake_cuda_map(false);
    device = open_device();
    ck_assert_uint_eq(device->mapped.most_bytes, 0);
    ck_assert_uint_eq(device->mapped.again_bytes, UINT64_MAX);
    go(device, TPD_CUDA_MAPPED, 0);
    make_work(&work, matrix);
    ck_assert_ok(run(device, &work, &error), error);
    end_work(&work);
    close_clean(device);
}
END_TEST

/* In and out would not fit the pool side by side, nor would either alone. */
START_TEST(larger_than_the_device) {
    fake_cuda_reset(1 << 20, 0, 0);
    struct tpd_device *device = open_device();
    static const struct tpd_matrix matrices[] = {{1500, 700, 1, 4, TPD_DTYPE_FLOAT32},
                                                 {3, 400000, 1, 4, TPD_DTYPE_FLOAT32},
                                                 {400000, 3, 1, 2, TPD_DTYPE_FLOAT32},
                                                 {90000, 40, 1, 1, TPD_DTYPE_UINT8},
                                                 {5, 7, 20000, 8, TPD_DTYPE_FLOAT64}};
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++)
        for (int pinned = 0; pinned < 2; pinned++) {
            struct work work;
            struct tpd_error error = {0};
            make_work(&work, matrices[i]);
            work.task.pinned = pinned != 0;
            ck_assert_ok(cuda->check(device, &work.task, &error), error);
            ck_assert_ok(run(device, &work, &error), error);
            end_work(&work);
        }
    close_clean(device);
}
END_TEST

/* From a size on kernels work on the host's memory again: but not where panels are runs of bytes, nor on rows that begin within
 * vectors. */
START_TEST(large_ones_are_mapped_again) {
    static const struct {
        struct tpd_matrix matrix;
        bool is_mapped;
    } cases[] = {{{512, 512, 1, 4, TPD_DTYPE_FLOAT32}, true},      {{512, 508, 1, 4, TPD_DTYPE_FLOAT32}, false},
                 {{515, 513, 1, 4, TPD_DTYPE_FLOAT32}, false},     {{64, 64, 100, 4, TPD_DTYPE_FLOAT32}, false},
                 {{8, 1 << 17, 1, 4, TPD_DTYPE_FLOAT32}, true},    {{4, 1 << 20, 1, 4, TPD_DTYPE_FLOAT32}, false},
                 {{1024, 1024, 1, 16, TPD_DTYPE_COMPLEX128}, true}};
    fake_cuda_reset(64 << 20, 0, 0);
    struct tpd_device *device = open_device();
    go(device, TPD_CUDA_PANELS, 0);
    device->mapped.again_bytes = 1 << 20;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct work work;
        struct tpd_outcome outcome;
        struct tpd_error error = {0};
        make_work(&work, cases[i].matrix);
        unsigned char *pinned = cuda->host_alloc(2 * work.bytes);
        memcpy(pinned, work.whole, work.bytes);
        memset(pinned + work.bytes, 0xa5, work.bytes);
        work.task.in = pinned;
        work.task.out = pinned + work.bytes;
        ck_assert_ok(cuda->run(device, &work.task, &outcome, &error), error);
        ck_assert(memcmp(pinned + work.bytes, work.expected, work.bytes) == 0);
        ck_assert_msg((outcome.h2d_ns == 0) == cases[i].is_mapped, "case %zu was%s mapped", i, outcome.h2d_ns == 0 ? "" : " not");
        cuda->host_free(pinned, 0);
        end_work(&work);
    }
    close_clean(device);
}
END_TEST

START_TEST(what_the_start_measures) {
    fake_cuda_reset(64 << 20, 0, 0);
    struct tpd_device *device = open_device();
    struct tpd_device_info info;
    cuda->info(device, &info);
    ck_assert_uint_eq(info.mapped_most_bytes, device->mapped.most_bytes);
    ck_assert_uint_eq(info.mapped_again_bytes, device->mapped.again_bytes);
    ck_assert_uint_eq(info.panels_least_bytes, device->panels_least_bytes);
    ck_assert(info.mapped_most_bytes == 0 || (info.mapped_most_bytes & (info.mapped_most_bytes - 1)) == 0);
    ck_assert_uint_eq(info.memory_used_bytes, 0);
    close_clean(device);
}
END_TEST

/* The client goes away in mid-matrix: its own status comes back, nothing is under way any more, and the lane is free. */
START_TEST(a_flow_that_breaks_off) {
    fake_cuda_reset(MEMORY, 0, 0);
    struct tpd_device *device = open_device();
    go(device, TPD_CUDA_PANELS, 2048);
    for (uint64_t at = 1; at < 40000; at += 1111) {
        struct work work;
        struct tpd_device_info info;
        struct tpd_error error = {0};
        make_work(&work, (struct tpd_matrix){100, 100, 1, 4, TPD_DTYPE_FLOAT32});
        let_arrive(&work);
        work.stream.breaks_at = at;
        ck_assert_int_eq(run(device, &work, &error), TPD_TRUNCATED);
        ck_assert_str_eq(error.text, "the client is gone");
        cuda->info(device, &info);
        ck_assert_uint_eq(info.memory_used_bytes, 0);
        end_work(&work);
    }
    close_clean(device);
}
END_TEST

/* One run each way with the nth call of it failing; true when that call came. */
static bool one_run(enum tpd_cuda_way way, uint64_t nth, int code, uint64_t *made) {
    struct work work;
    struct tpd_error error = {0};
    make_work(&work, (struct tpd_matrix){90, 70, 1, 4, TPD_DTYPE_FLOAT32});
    work.task.pinned = way != TPD_CUDA_MAPPED;
    if (way == TPD_CUDA_PANELS && nth % 2 != 0)
        let_arrive(&work);
    fake_cuda_reset(MEMORY, 0, 0);
    struct tpd_device *device = open_device();
    go(device, way, 4000);
    device->rows_by = (enum tpd_cuda_rows_by)(nth % TPD_CUDA_ROWS_BYS);
    fake_cuda_fail(nth, code);
    enum tpd_status status = run(device, &work, &error);
    bool failed = fake_cuda_failed();
    ck_assert_int_eq(status, !failed ? TPD_OK : code == CODE_ADDRESS ? TPD_DEVICE_LOST : TPD_DEVICE_FAULT);
    if (failed && code != CODE_ADDRESS) {
        work.stream.there = 0;
        ck_assert_ok(run(device, &work, &error), error);
    } else if (failed) {
        ck_assert_int_eq(run(device, &work, &error), TPD_DEVICE_LOST);
    }
    *made = nth;
    close_clean(device);
    end_work(&work);
    return failed;
}

START_TEST(every_call_of_a_run_fails_once) {
    static const uint64_t least[TPD_CUDA_WAYS] = {6, 11, 60};
    for (int way = 0; way < TPD_CUDA_WAYS; way++) {
        uint64_t nth = 1, made = 0;
        while (one_run((enum tpd_cuda_way)way, nth, _i == 0 ? CODE_INVALID : CODE_ADDRESS, &made))
            ck_assert_uint_lt(nth++, 2000);
        ck_assert_uint_ge(made, least[way]);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("cuda_ways");
    TCase *tests = tcase_create("fake device");
    tcase_add_checked_fixture(tests, use_fake, NULL);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, random_shapes_in_panels);
    tcase_add_test(tests, every_strategy_in_panels);
    tcase_add_test(tests, kernels_on_host_memory);
    tcase_add_test(tests, larger_than_the_device);
    tcase_add_test(tests, large_ones_are_mapped_again);
    tcase_add_test(tests, what_the_start_measures);
    tcase_add_test(tests, a_flow_that_breaks_off);
    tcase_add_loop_test(tests, every_call_of_a_run_fails_once, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return tpd_harness_main(suite());
}
