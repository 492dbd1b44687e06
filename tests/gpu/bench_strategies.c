/* bench_strategies.c -- kernel time of every strategy on the GPU, as a share of a device-to-device copy of the same bytes.
 *
 *     bench_strategies                     every cell: shapes x item sizes, a minute at most
 *     bench_strategies 8191x8193:4 10000   cells whose names begin so
 *
 * Prints Markdown, a row a cell. Every result is checked item by item on the GPU before it is timed. A time is the median of
 * REPEATS after a warm-up, of launches between two events: as many as move BURST_BYTES, so that a small matrix is not timed
 * by its launch; what is far slower than the copy is timed fewer times. The copy is measured in the same run, the same way.
 */
#include <cuda_runtime.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda_driver.h"
#include "kernels/cuda/measure_kernels.h"
#include "transposed/transposed.h"

enum { REPEATS = 15, REPEATS_SLOW = 3, SLOW = 3, ITEMSIZES = 5, BURST_MOST = 50 };
static const uint64_t burst_bytes = UINT64_C(64) << 20;

/* bar: the share of the copy that `auto` is to reach, by item size, in per cent; 0: none. In the L2 cells a copy kernel's time
 * is the measure, as the driver's copy is not made for so few bytes. */
static const struct {
    uint64_t rows, cols, batch;
    unsigned char bar[ITEMSIZES];
    bool kernel;
} shapes[] = {
    {16384, 16384, 1, {95, 95, 96, 95, 95}, false}, {8192, 8192, 1, {0, 0, 96, 0, 0}, false},
    {8191, 8193, 1, {88, 92, 92, 92, 92}, false},   {16383, 16385, 1, {88, 92, 92, 92, 92}, false},
    {10000, 10000, 1, {94, 94, 94, 94, 94}, false}, {1000000, 256, 1, {94, 94, 94, 94, 94}, false},
    {256, 1000000, 1, {94, 94, 94, 94, 94}, false}, {4000000, 16, 1, {90, 95, 95, 95, 95}, false},
    {16, 4000000, 1, {90, 95, 95, 95, 95}, false},  {3, 40000000, 1, {88, 88, 94, 94, 94}, false},
    {40000000, 3, 1, {88, 88, 94, 94, 94}, false},  {7, 20000000, 1, {88, 88, 94, 94, 94}, false},
    {20000000, 7, 1, {88, 88, 94, 94, 94}, false},  {1024, 1024, 1, {92, 92, 92, 92, 92}, true},
    {2048, 2048, 1, {92, 92, 92, 92, 92}, true},    {3, 5, 70000, {0, 0, 88, 0, 0}, false},
    {32, 32, 10000, {0, 0, 88, 0, 0}, false},       {200, 100, 1000, {0, 0, 88, 0, 0}, false},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };
static const uint32_t itemsizes[ITEMSIZES] = {1, 2, 4, 8, 16};

static cudaStream_t stream;
static cudaEvent_t from, to;
static unsigned char *device_in, *device_out;
static unsigned long long *device_wrong;

static void must(cudaError_t code, const char *what) {
    if (code == cudaSuccess)
        return;
    printf("%s: %s\n", what, cudaGetErrorString(code));
    exit(EXIT_FAILURE);
}

static int by_value(const void *a, const void *b) {
    float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

enum what { STRATEGY, DRIVER_COPY, KERNEL_COPY };

static void launch(enum what what, const struct tpd_plan *plan, uint64_t bytes) {
    if (what == STRATEGY)
        must((cudaError_t)tpd_cuda_kernel_launch(plan, device_in, device_out, stream), "launch");
    else if (what == DRIVER_COPY)
        must(cudaMemcpyAsync(device_out, device_in, bytes, cudaMemcpyDeviceToDevice, stream), "copy");
    else
        must((cudaError_t)tpd_cuda_measure_copy(device_out, device_in, bytes, stream), "copy kernel");
}

/* Seconds of one launch among `burst`. */
static float time_once(enum what what, const struct tpd_plan *plan, uint64_t bytes, int burst) {
    float ms;
    must(cudaEventRecord(from, stream), "event");
    for (int i = 0; i < burst; i++)
        launch(what, plan, bytes);
    must(cudaEventRecord(to, stream), "event");
    must(cudaEventSynchronize(to), "run");
    must(cudaEventElapsedTime(&ms, from, to), "time");
    return ms * 1e-3F / (float)burst;
}

/* Median; slow_s: from here on it is not worth many repeats. */
static double measure(enum what what, const struct tpd_plan *plan, uint64_t bytes, double slow_s) {
    float times[REPEATS];
    int burst = bytes < burst_bytes ? (int)(burst_bytes / bytes < BURST_MOST ? burst_bytes / bytes : BURST_MOST) : 1;
    (void)time_once(what, plan, bytes, 1);
    int repeats = (double)time_once(what, plan, bytes, burst) > slow_s ? REPEATS_SLOW : REPEATS;
    for (int i = 0; i < repeats; i++)
        times[i] = time_once(what, plan, bytes, burst);
    qsort(times, (size_t)repeats, sizeof times[0], by_value);
    return (double)times[repeats / 2];
}

static bool is_right(const struct tpd_plan *plan, uint64_t bytes) {
    unsigned long long wrong = 0;
    must(cudaMemsetAsync(device_out, 0xa5, bytes, stream), "poison");
    must(cudaMemsetAsync(device_wrong, 0, sizeof wrong, stream), "count");
    launch(STRATEGY, plan, bytes);
    must((cudaError_t)tpd_cuda_measure_check(&plan->matrix, device_in, device_out, device_wrong, stream), "check");
    must(cudaMemcpyAsync(&wrong, device_wrong, sizeof wrong, cudaMemcpyDeviceToHost, stream), "count");
    must(cudaStreamSynchronize(stream), "run");
    return wrong == 0;
}

static int bench_cell(const char *name, int shape, int size, uint64_t shared_most_bytes) {
    const struct tpd_tile tile = {0, 0};
    struct tpd_matrix matrix = {.rows = shapes[shape].rows,
                                .cols = shapes[shape].cols,
                                .batch = shapes[shape].batch,
                                .itemsize = itemsizes[size],
                                .dtype = TPD_DTYPE_OPAQUE};
    struct tpd_plan plan;
    uint64_t bytes;
    struct tpd_error error;
    if (tpd_matrix_bytes(&matrix, &bytes, &error) != TPD_OK ||
        tpd_strategy_plan(TPD_STRATEGY_AUTO, &matrix, tile, shared_most_bytes, &plan, &error) != TPD_OK) {
        printf("%s: %s\n", name, error.text);
        exit(EXIT_FAILURE);
    }
    enum tpd_strategy_id chosen = plan.strategy;
    double copy_s = measure(DRIVER_COPY, NULL, bytes, 1), kernel_s = measure(KERNEL_COPY, NULL, bytes, 1);
    double measure_s = shapes[shape].kernel ? kernel_s : copy_s;
    double share[TPD_STRATEGY_COUNT];
    int best = 0, wrong = 0;
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++) {
        share[id] = 0;
        if (tpd_strategy_plan((enum tpd_strategy_id)id, &matrix, tile, shared_most_bytes, &plan, NULL) != TPD_OK)
            continue;
        if (!is_right(&plan, bytes)) {
            wrong++;
            share[id] = -1;
            continue;
        }
        share[id] = measure_s / measure(STRATEGY, &plan, bytes, SLOW * measure_s);
        if (share[id] > share[best])
            best = id;
    }
    double bar = shapes[shape].bar[size] / 100.0;
    printf("| %s | %.1f | %.0f | %.2f | %s | %.3f |", name, copy_s * 1e6, 2e-9 * (double)bytes / copy_s, copy_s / kernel_s,
           tpd_strategy_at(chosen)->name, share[chosen]);
    if (bar > 0)
        printf(" %.2f%s |", bar, share[chosen] < bar ? " **under**" : "");
    else
        printf(" |");
    printf(" %s %.3f |", tpd_strategy_at((enum tpd_strategy_id)best)->name, share[best]);
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        if (share[id] < 0)
            printf(" WRONG |");
        else if (share[id] == 0)
            printf(" |");
        else
            printf(" %.2f |", share[id]);
    printf("\n");
    (void)fflush(stdout);
    return wrong;
}

/* "8191x8193:4", "32x32x10000:4" */
static void name_cell(char *name, size_t room, int shape, int size) {
    if (shapes[shape].batch == 1)
        (void)snprintf(name, room, "%" PRIu64 "x%" PRIu64 ":%u", shapes[shape].rows, shapes[shape].cols, itemsizes[size]);
    else
        (void)snprintf(name, room, "%" PRIu64 "x%" PRIu64 "x%" PRIu64 ":%u", shapes[shape].rows, shapes[shape].cols,
                       shapes[shape].batch, itemsizes[size]);
}

static bool is_wanted(const char *name, int argc, char **argv) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; i++)
        wanted |= strncmp(name, argv[i], strlen(argv[i])) == 0;
    return wanted;
}

static uint64_t most_bytes(void) {
    uint64_t most = 0;
    for (int shape = 0; shape < SHAPES; shape++) {
        uint64_t bytes = shapes[shape].rows * shapes[shape].cols * shapes[shape].batch * itemsizes[ITEMSIZES - 1];
        most = bytes > most ? bytes : most;
    }
    return most;
}

int main(int argc, char **argv) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        printf("waived: no GPU here\n");
        return 77;
    }
    struct tpd_cuda_properties properties;
    must((cudaError_t)tpd_cuda_runtime.device_start(0), "context");
    must((cudaError_t)tpd_cuda_runtime.device_properties(0, &properties), "properties");
    must((cudaError_t)tpd_cuda_runtime.kernels_prepare(properties.shared_most_bytes), "kernels");
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    must(cudaEventCreate(&from), "event");
    must(cudaEventCreate(&to), "event");
    uint64_t most = most_bytes();
    must(cudaMalloc((void **)&device_in, most), "device memory");
    must(cudaMalloc((void **)&device_out, most), "device memory");
    must(cudaMalloc((void **)&device_wrong, sizeof *device_wrong), "device memory");
    must((cudaError_t)tpd_cuda_measure_fill(device_in, most, 8192, stream), "random bytes");
    printf("%s; median of %d after a warm-up, events; bytes read + written; random data; rows x cols (x batch) : item bytes.\n"
           "Shares are of the copy's time; in the cells of 1024 and 2048, which lie in the L2 cache, of the copy kernel's.\n\n",
           properties.name, REPEATS);
    printf("| cell | copy µs | copy GB/s | copy kernel | auto | share | bar | best |");
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        printf(" %s |", tpd_strategy_at((enum tpd_strategy_id)id)->name);
    printf("\n|---|---|---|---|---|---|---|---|");
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        printf("---|");
    printf("\n");
    int wrong = 0;
    for (int shape = 0; shape < SHAPES; shape++)
        for (int size = 0; size < ITEMSIZES; size++) {
            char name[96];
            name_cell(name, sizeof name, shape, size);
            if (is_wanted(name, argc, argv))
                wrong += bench_cell(name, shape, size, properties.shared_most_bytes);
        }
    must(cudaFree(device_in), "free");
    must(cudaFree(device_out), "free");
    must(cudaFree(device_wrong), "free");
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
