/* bench_transfer.c -- page-locked host memory to page-locked host memory, each way there is, beside the bus itself.
 *
 *     bench_transfer             small matrices by each way; a GiB, whole, mapped, and in panels of several sizes
 *     bench_transfer --small     the first alone
 *
 * Prints Markdown. Times are the caller's, by a monotonic clock; medians. Random bytes; every answer is checked against the
 * oracle before it is timed, and after.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "kernels/cuda/cuda_device.h"
#include "transposed/clock.h"
#include "transposed/transposed.h"

enum { RUNS_MOST = 501, BIG_RUNS = 9 };
static const uint64_t gib = UINT64_C(1) << 30;

static const struct tpd_backend *cuda, *cpu;
static struct tpd_device *device, *host;
static struct tpd_device_info info;
static unsigned char *in, *out, *expected;
static struct tpd_cuda_sizes mapped, mapped_uneven; /* the device's, as measured */
static bool all_right = true;

static int by_size(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void must(int code, const char *what) {
    if (code != 0) {
        printf("%s: error %d\n", what, code);
        exit(EXIT_FAILURE);
    }
}

struct figures {
    double median, least; /* seconds */
    struct tpd_outcome outcome;
};

static void go(enum tpd_cuda_way way) {
    device->mapped = (struct tpd_cuda_sizes){way == TPD_CUDA_MAPPED ? UINT64_MAX : 0, UINT64_MAX};
    device->mapped_uneven = device->mapped;
    device->panels_least_bytes = way == TPD_CUDA_PANELS ? 0 : UINT64_MAX;
}

static struct figures measure(const struct tpd_backend *backend, struct tpd_device *where, const struct tpd_task *task,
                              uint64_t bytes, int runs) {
    static uint64_t taken[RUNS_MOST];
    struct figures figures;
    struct tpd_error error;
    for (int i = -2; i < runs; i++) {
        if (i == -2 || i == runs - 1)
            memset(task->out, 0xa5, bytes);
        uint64_t start_ns = tpd_clock_ns();
        if (backend->run(where, task, &figures.outcome, &error) != TPD_OK) {
            printf("run: %s\n", error.text);
            exit(EXIT_FAILURE);
        }
        uint64_t end_ns = tpd_clock_ns();
        if (i >= 0)
            taken[i] = end_ns - start_ns;
        if (i == -2 || i == runs - 1)
            all_right = all_right && memcmp(task->out, expected, bytes) == 0;
    }
    qsort(taken, (size_t)runs, sizeof taken[0], by_size);
    figures.median = (double)taken[runs / 2] * 1e-9;
    figures.least = (double)taken[0] * 1e-9;
    return figures;
}

static void fill(const struct tpd_matrix *matrix, uint64_t bytes) {
    tpd_random_fill(in, bytes, matrix->rows);
    if (tpd_transpose(matrix, in, expected, NULL) != TPD_OK)
        exit(EXIT_FAILURE);
}

static void small_ones(void) {
    static const uint64_t sides[] = {32, 64, 128, 256, 512, 1024, 2048};
    printf("Float32 squares, host to host, microseconds (median; least in brackets); the kernel's own time by events.\n\n"
           "| rows×cols | mapped | its kernel | by way of the lane's memory | copied whole | in panels | CPU | taken here |\n"
           "|---|---|---|---|---|---|---|---|\n");
    for (size_t s = 0; s < sizeof sides / sizeof sides[0]; s++) {
        const uint64_t side = sides[s], bytes = side * side * 4;
        const int runs = side <= 256 ? RUNS_MOST : 101;
        struct tpd_task task = {.matrix = {side, side, 1, 4, TPD_DTYPE_FLOAT32}, .in = in, .out = out, .pinned = true};
        task.strategy = TPD_STRATEGY_AUTO;
        fill(&task.matrix, bytes);
        struct figures way[TPD_CUDA_WAYS];
        for (int i = 0; i < TPD_CUDA_WAYS; i++) {
            go((enum tpd_cuda_way)i);
            way[i] = measure(cuda, device, &task, bytes, runs);
        }
        struct tpd_task unpinned = task;
        unpinned.pinned = false;
        go(TPD_CUDA_MAPPED);
        struct figures staged = measure(cuda, device, &unpinned, bytes, runs), by_cpu = measure(cpu, host, &task, bytes, runs);
        device->mapped = mapped;
        device->mapped_uneven = mapped_uneven;
        device->panels_least_bytes = info.panels_least_bytes;
        struct figures taken = measure(cuda, device, &task, bytes, runs);
        char staged_text[48] = "–";
        if (bytes <= TPD_CUDA_STAGE_BYTES)
            (void)snprintf(staged_text, sizeof staged_text, "%.1f (%.1f)", staged.median * 1e6, staged.least * 1e6);
        printf("| %" PRIu64 "² | %.1f (%.1f) | %.1f | %s | %.1f (%.1f) | %.1f (%.1f) | %.1f (%.1f) | %.1f |\n", side,
               way[TPD_CUDA_MAPPED].median * 1e6, way[TPD_CUDA_MAPPED].least * 1e6,
               (double)way[TPD_CUDA_MAPPED].outcome.kernel_ns * 1e-3, staged_text, way[TPD_CUDA_WHOLE].median * 1e6,
               way[TPD_CUDA_WHOLE].least * 1e6, way[TPD_CUDA_PANELS].median * 1e6, way[TPD_CUDA_PANELS].least * 1e6,
               by_cpu.median * 1e6, by_cpu.least * 1e6, taken.median * 1e6);
        (void)fflush(stdout);
    }
}

enum bus { BUS_IN = 1, BUS_OUT = 2 };

/* Seconds for a GiB in, out, or each at once. */
static double bus(int which) {
    const struct tpd_cuda_calls *calls = device->calls;
    void *const *stream = device->lane[0].stream;
    uint64_t taken[BIG_RUNS];
    must(calls->device_use(0), "device");
    for (int i = -1; i < BIG_RUNS; i++) {
        uint64_t start_ns = tpd_clock_ns();
        if (which & BUS_IN)
            must(calls->copy_in(device->memory, in, gib, stream[TPD_CUDA_STREAM_IN]), "copy in");
        if (which & BUS_OUT)
            must(calls->copy_out(out, device->memory + gib, gib, stream[TPD_CUDA_STREAM_OUT]), "copy out");
        must(calls->stream_wait(stream[TPD_CUDA_STREAM_IN]), "wait");
        must(calls->stream_wait(stream[TPD_CUDA_STREAM_OUT]), "wait");
        if (i >= 0)
            taken[i] = tpd_clock_ns() - start_ns;
    }
    qsort(taken, BIG_RUNS, sizeof taken[0], by_size);
    return (double)taken[BIG_RUNS / 2] * 1e-9;
}

static enum tpd_status all_is_there(struct tpd_flow *flow, uint64_t bytes, struct tpd_error *error) {
    (void)flow;
    (void)bytes;
    (void)error;
    return TPD_OK;
}

static void row(const struct tpd_task *task, const char *way, double both) {
    uint64_t bytes;
    if (tpd_matrix_bytes(&task->matrix, &bytes, NULL) != TPD_OK)
        exit(EXIT_FAILURE);
    struct figures figures = measure(cuda, device, task, bytes, BIG_RUNS);
    printf("| %" PRIu64 "×%" PRIu64 "×%" PRIu64 " | %s | %.2f (%.2f) | %.2f | %.1f + %.1f + %.1f |\n", task->matrix.rows,
           task->matrix.cols, task->matrix.batch, way, figures.median * 1e3, figures.least * 1e3, figures.median / both,
           (double)figures.outcome.h2d_ns * 1e-6, (double)figures.outcome.kernel_ns * 1e-6,
           (double)figures.outcome.d2h_ns * 1e-6);
    (void)fflush(stdout);
}

static void a_gibibyte(void) {
    static const struct tpd_matrix shapes[] = {{16384, 16384, 1, 4, TPD_DTYPE_FLOAT32}, {4096, 65536, 1, 4, TPD_DTYPE_FLOAT32},
                                               {65536, 4096, 1, 4, TPD_DTYPE_FLOAT32},  {16, 16777216, 1, 4, TPD_DTYPE_FLOAT32},
                                               {16383, 16385, 1, 4, TPD_DTYPE_FLOAT32}, {1024, 1024, 256, 4, TPD_DTYPE_FLOAT32}};
    const double in_alone = bus(BUS_IN), out_alone = bus(BUS_OUT), both = bus(BUS_IN | BUS_OUT);
    printf(
        "\nA GiB by the bus alone: in %.2f ms (%.1f GB/s), out %.2f ms (%.1f GB/s), both at once %.2f ms (%.1f GB/s in all).\n\n"
        "| float32 | way | ms (least) | of both at once | busy: in + kernel + out, ms |\n|---|---|---|---|---|\n",
        in_alone * 1e3, (double)gib / in_alone * 1e-9, out_alone * 1e3, (double)gib / out_alone * 1e-9, both * 1e3,
        2 * (double)gib / both * 1e-9);
    struct tpd_flow flow = {.await = all_is_there};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        struct tpd_task task = {.matrix = shapes[s], .in = in, .out = out, .pinned = true, .strategy = TPD_STRATEGY_AUTO};
        char text[96];
        uint64_t bytes;
        if (tpd_matrix_bytes(&task.matrix, &bytes, NULL) != TPD_OK || bytes > gib)
            exit(EXIT_FAILURE);
        fill(&task.matrix, bytes);
        go(TPD_CUDA_WHOLE);
        row(&task, "whole", both);
        go(TPD_CUDA_MAPPED);
        row(&task, "mapped", both);
        go(TPD_CUDA_PANELS);
        const enum tpd_cuda_rows_by measured = device->rows_by;
        static const char *const by[TPD_CUDA_ROWS_BYS] = {"panels, rows by the copy engine", "panels, input's rows by a kernel",
                                                          "panels, output's rows by a kernel"};
        for (int i = 0; i < TPD_CUDA_ROWS_BYS; i++) {
            device->rows_by = (enum tpd_cuda_rows_by)i;
            row(&task, by[i], both);
            task.flow = &flow;
            (void)snprintf(text, sizeof text, "%s, in order", by[i]);
            if (s == 0)
                row(&task, text, both);
            task.flow = NULL;
        }
        device->rows_by = measured;
        device->panels_least_bytes = info.panels_least_bytes;
        device->mapped = mapped;
        device->mapped_uneven = mapped_uneven;
        row(&task, "as measured at the start", both);
    }
}

int main(int argc, char **argv) {
    struct tpd_error error;
    const bool only_small = argc > 1 && strcmp(argv[1], "--small") == 0;
    cuda = tpd_backend_at(TPD_BACKEND_CUDA);
    cpu = tpd_backend_at(TPD_BACKEND_CPU);
    if (cuda == NULL || cuda->count(&error) == 0) {
        printf("waived: %s\n", cuda == NULL ? "built without CUDA" : error.text);
        return 77;
    }
    struct tpd_device_options options = {.device_memory_bytes = 16 * gib};
    uint64_t start_ns = tpd_clock_ns();
    if (cuda->open(0, &options, &device, &error) != TPD_OK || cpu->open(0, &options, &host, &error) != TPD_OK) {
        printf("open: %s\n", error.text);
        return EXIT_FAILURE;
    }
    double open_seconds = (double)(tpd_clock_ns() - start_ns) * 1e-9;
    cuda->info(device, &info);
    const uint64_t most = only_small ? gib / 64 : gib;
    in = cuda->host_alloc(most);
    out = cuda->host_alloc(most);
    expected = malloc(most);
    if (in == NULL || out == NULL || expected == NULL) {
        printf("no memory for 3 x %" PRIu64 " bytes\n", most);
        return EXIT_FAILURE;
    }
    mapped = device->mapped;
    mapped_uneven = device->mapped_uneven;
    printf("%s, opened in %.2f s. Measured then: mapped up to %" PRIu64 " KiB, ", info.name, open_seconds,
           mapped.most_bytes / 1024);
    if (mapped.again_bytes != UINT64_MAX)
        printf("and from %" PRIu64 " KiB on (unaligned rows %s), ", mapped.again_bytes / 1024,
               mapped_uneven.again_bytes == UINT64_MAX ? "never" : "too");
    if (info.panels_least_bytes == UINT64_MAX)
        printf("no panels.\n\n");
    else
        printf("panels from %" PRIu64 " KiB on, their rows by %s.\n\n", info.panels_least_bytes / 1024,
               device->rows_by == TPD_CUDA_ROWS_ENGINE ? "the copy engine"
               : device->rows_by == TPD_CUDA_ROWS_IN   ? "a kernel, the input's"
                                                       : "a kernel, the output's");
    small_ones();
    if (!only_small)
        a_gibibyte();
    printf("\n%s\n", all_right ? "Every answer was right." : "WRONG answers.");
    cuda->host_free(in, most);
    cuda->host_free(out, most);
    free(expected);
    cuda->close(device);
    cpu->close(host);
    return all_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
