/* bench_strategies.c -- kernel time of every strategy on the GPU, beside a device-to-device copy of the same bytes.
 *
 * Prints Markdown. Events around each launch, median of REPEATS after a warm-up, every result checked against the oracle
 * before it is timed; the copy is measured in the same run, the same way. Bytes are those read plus those written.
 */
#include <cuda_runtime.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "kernels/cuda/cuda_driver.h"
#include "transposed/transposed.h"

enum { REPEATS = 21, WARM_UP = 3 };

static const struct {
    uint64_t rows, cols;
    uint32_t itemsize;
} shapes[] = {
    {8192, 8192, 1},   {8192, 8192, 2}, {8192, 8192, 4},   {8192, 8192, 8},  {8192, 8192, 16},
    {16384, 16384, 1}, {8191, 8193, 4}, {1000000, 256, 4}, {3, 40000000, 4},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static cudaStream_t stream;
static cudaEvent_t from, to;
static unsigned char *device_in, *device_out, *host_in, *host_out, *expected;

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

/* Seconds, median; plan == NULL: a copy. */
static double measure(const struct tpd_plan *plan, uint64_t bytes) {
    float times[REPEATS];
    for (int i = -WARM_UP; i < REPEATS; i++) {
        must(cudaEventRecord(from, stream), "event");
        if (plan != NULL)
            must((cudaError_t)tpd_cuda_kernel_launch(plan, device_in, device_out, stream), "launch");
        else
            must(cudaMemcpyAsync(device_out, device_in, bytes, cudaMemcpyDeviceToDevice, stream), "copy");
        must(cudaEventRecord(to, stream), "event");
        must(cudaEventSynchronize(to), "run");
        if (i >= 0)
            must(cudaEventElapsedTime(&times[i], from, to), "time");
    }
    qsort(times, REPEATS, sizeof times[0], by_value);
    return (double)times[REPEATS / 2] * 1e-3;
}

static bool is_right(const struct tpd_plan *plan, uint64_t bytes) {
    must(cudaMemsetAsync(device_out, 0xa5, bytes, stream), "poison");
    must((cudaError_t)tpd_cuda_kernel_launch(plan, device_in, device_out, stream), "launch");
    must(cudaStreamSynchronize(stream), "run");
    must(cudaMemcpy(host_out, device_out, bytes, cudaMemcpyDeviceToHost), "copy out");
    return memcmp(host_out, expected, bytes) == 0;
}

static int bench_shape(int at, uint64_t shared_most_bytes) {
    struct tpd_matrix matrix = {
        .rows = shapes[at].rows, .cols = shapes[at].cols, .batch = 1, .itemsize = shapes[at].itemsize, .dtype = TPD_DTYPE_OPAQUE};
    uint64_t bytes = matrix.rows * matrix.cols * matrix.itemsize;
    int wrong = 0;
    tpd_transpose_ref(&matrix, host_in, expected);
    must(cudaMemcpy(device_in, host_in, bytes, cudaMemcpyHostToDevice), "copy in");
    double copy_s = measure(NULL, bytes);
    printf("| %" PRIu64 "×%" PRIu64 " | %u | copy | | %.1f | %.0f | 1.00 | |\n", matrix.rows, matrix.cols, matrix.itemsize,
           copy_s * 1e6, 2e-9 * (double)bytes / copy_s);
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++) {
        struct tpd_plan plan;
        struct tpd_tile tile = {0, 0};
        if (tpd_strategy_plan((enum tpd_strategy_id)id, &matrix, tile, shared_most_bytes, &plan, NULL) != TPD_OK)
            continue;
        bool right = is_right(&plan, bytes);
        wrong += !right;
        double s = measure(&plan, bytes);
        printf("| %" PRIu64 "×%" PRIu64 " | %u | %s%s | %ux%u | %.1f | %.0f | %.2f | %s |\n", matrix.rows, matrix.cols,
               matrix.itemsize, tpd_strategy_at((enum tpd_strategy_id)id)->name,
               tpd_strategy_choose(&matrix) == (enum tpd_strategy_id)id ? " (auto)" : "", plan.tile.rows, plan.tile.cols, s * 1e6,
               2e-9 * (double)bytes / s, copy_s / s, right ? "right" : "WRONG");
        (void)fflush(stdout);
    }
    return wrong;
}

int main(void) {
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
    uint64_t most = 0;
    for (int i = 0; i < SHAPES; i++) {
        uint64_t bytes = shapes[i].rows * shapes[i].cols * shapes[i].itemsize;
        most = bytes > most ? bytes : most;
    }
    must(cudaMalloc((void **)&device_in, most), "device memory");
    must(cudaMalloc((void **)&device_out, most), "device memory");
    must(cudaMallocHost((void **)&host_in, most), "host memory");
    must(cudaMallocHost((void **)&host_out, most), "host memory");
    expected = malloc(most);
    if (expected == NULL)
        return EXIT_FAILURE;
    tpd_random_fill(host_in, most, 8192);
    printf("%s; median of %d launches, events; bytes read + written; default tiles; random data.\n\n", properties.name, REPEATS);
    printf("| rows×cols | item bytes | strategy | tile | µs | GB/s | of copy | checked |\n|---|---|---|---|---|---|---|---|\n");
    int wrong = 0;
    for (int i = 0; i < SHAPES; i++)
        wrong += bench_shape(i, properties.shared_most_bytes);
    must(cudaFree(device_in), "free");
    must(cudaFree(device_out), "free");
    must(cudaFreeHost(host_in), "free");
    must(cudaFreeHost(host_out), "free");
    free(expected);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
