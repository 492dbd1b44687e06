/* bench_ladder.cu -- what a bank conflict costs: one transpose through shared memory, 1 to 32-way on one side, all else equal.
 *
 * A tile of 32 x 32 items of 4 bytes; the column in a row's place is XORed with row / degree, so that `degree` rows share a
 * bank and nothing changes but that number: same instructions, bytes, shared memory, global requests. Prints Markdown:
 * the model's wavefronts a request, and time, beside a device-to-device copy of the same bytes in the same run: once bound by
 * HBM, once in the L2 cache, and once with shared memory alone at work. Every output is checked to the byte.
 */
#include <cuda_runtime.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/bench_cuda.h"
#include "transposed/banks.h"
#include "transposed/transposed.h"

enum { SIDE = 32, THREADS = 256, ROUNDS = SIDE * SIDE / THREADS, REPEATS = 21, WARM_UP = 3, TURNS_ALONE = 65 };

/* Where the item of a line (row or column) and a place in it lies in the tile. */
__host__ __device__ static inline uint32_t place_of(uint32_t line, uint32_t at, uint32_t degree_log2) {
    return line * SIDE + (at ^ (line >> degree_log2));
}

/* The tile is kept by rows, and read by columns; or, with BY_COLUMNS, written by columns, and read by rows. So the side with
 * the conflicts is the load or the store. TURNS times through shared memory, which is what the last table measures. */
template <bool BY_COLUMNS, int TURNS>
__global__ void __launch_bounds__(THREADS)
    ladder(const uint32_t *__restrict__ in, uint32_t *__restrict__ out, uint32_t side, uint32_t degree_log2) {
    __shared__ uint32_t tile[SIDE * SIDE];
    const uint32_t tiles = side / SIDE;
    const uint32_t row0 = blockIdx.x / tiles * SIDE, col0 = blockIdx.x % tiles * SIDE;
    const uint32_t lane = threadIdx.x % SIDE, warp = threadIdx.x / SIDE;
    uint32_t item[ROUNDS];
#pragma unroll
    for (uint32_t round = 0; round < ROUNDS; round++)
        item[round] = in[static_cast<uint64_t>(row0 + round * (THREADS / SIDE) + warp) * side + col0 + lane];
#pragma unroll 1
    for (int turn = 0; turn < TURNS; turn++) {
        if (turn > 0)
            __syncthreads();
#pragma unroll
        for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint32_t row = round * (THREADS / SIDE) + warp, col = lane;
            tile[BY_COLUMNS ? place_of(col, row, degree_log2) : place_of(row, col, degree_log2)] = item[round];
        }
        __syncthreads();
#pragma unroll
        for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint32_t row = lane, col = round * (THREADS / SIDE) + warp;
            item[round] = tile[BY_COLUMNS ? place_of(col, row, degree_log2) : place_of(row, col, degree_log2)];
        }
    }
#pragma unroll
    for (uint32_t round = 0; round < ROUNDS; round++)
        out[static_cast<uint64_t>(col0 + round * (THREADS / SIDE) + warp) * side + row0 + lane] = item[round];
}
typedef void ladder_kernel(const uint32_t *in, uint32_t *out, uint32_t side, uint32_t degree_log2);

/* `batch` runs follow each other between two events, where one is too short for a clock. */
static const struct {
    const char *name;
    uint32_t side;
    int turns, batch;
    ladder_kernel *kernel[2]; /* conflicts of the load, of the store */
} tables[] = {
    {"bound by HBM", 8192, 1, 1, {ladder<false, 1>, ladder<true, 1>}},
    {"in the L2 cache", 1024, 1, 20, {ladder<false, 1>, ladder<true, 1>}},
    /* An odd number of turns transposes. */
    {"shared memory alone", 1024, TURNS_ALONE, 4, {ladder<false, TURNS_ALONE>, ladder<true, TURNS_ALONE>}},
};

static cudaStream_t stream;
static cudaEvent_t from, to;
static uint32_t *device_in, *device_out, *host_in, *host_out;
static uint32_t *expected;

static void launch(ladder_kernel *kernel, uint32_t side, uint32_t degree_log2) {
    kernel<<<side / SIDE *(side / SIDE), THREADS, 0, stream>>>(device_in, device_out, side, degree_log2);
    must(cudaGetLastError(), "launch");
}

/* Seconds a run, median; kernel == NULL: a copy. */
static double measure(ladder_kernel *kernel, uint32_t side, uint32_t degree_log2, int batch) {
    const size_t bytes = static_cast<size_t>(side) * side * 4;
    float times[REPEATS];
    for (int i = -WARM_UP; i < REPEATS; i++) {
        must(cudaEventRecord(from, stream), "event");
        for (int run = 0; run < batch; run++) {
            if (kernel != NULL)
                launch(kernel, side, degree_log2);
            else
                must(cudaMemcpyAsync(device_out, device_in, bytes, cudaMemcpyDeviceToDevice, stream), "copy");
        }
        must(cudaEventRecord(to, stream), "event");
        must(cudaEventSynchronize(to), "run");
        if (i >= 0)
            must(cudaEventElapsedTime(&times[i], from, to), "time");
    }
    qsort(times, REPEATS, sizeof times[0], by_value);
    return static_cast<double>(times[REPEATS / 2]) * 1e-3 / batch;
}

static bool is_right(ladder_kernel *kernel, uint32_t side, uint32_t degree_log2) {
    const size_t bytes = static_cast<size_t>(side) * side * 4;
    must(cudaMemsetAsync(device_out, 0xa5, bytes, stream), "poison");
    launch(kernel, side, degree_log2);
    must(cudaStreamSynchronize(stream), "run");
    must(cudaMemcpy(host_out, device_out, bytes, cudaMemcpyDeviceToHost), "copy out");
    return memcmp(host_out, expected, bytes) == 0;
}

/* Mean wavefronts of the warp requests that walk across lines (the side with the conflicts) or along one. */
static double wavefronts_of(enum tpd_op op, bool across, uint32_t degree_log2) {
    uint64_t sum = 0;
    for (uint32_t n = 0; n < SIDE; n++) {
        struct tpd_request request = {};
        struct tpd_bank_result result;
        struct tpd_error error;
        request.op = op;
        request.width = 4;
        request.active = 0xffffffffu;
        for (uint32_t lane = 0; lane < TPD_WARP; lane++)
            request.address[lane] = 4u * (across ? place_of(lane, n, degree_log2) : place_of(n, lane, degree_log2));
        if (tpd_banks_shared(&request, 4, &result, &error) != TPD_OK) {
            printf("model: %s\n", error.text);
            exit(EXIT_FAILURE);
        }
        sum += result.wavefronts;
    }
    return static_cast<double>(sum) / SIDE;
}

static int bench_table(int at) {
    const uint32_t side = tables[at].side;
    const uint64_t bytes = static_cast<uint64_t>(side) * side * 4;
    const struct tpd_matrix matrix = {side, side, 1, 4, TPD_DTYPE_OPAQUE};
    int wrong = 0;
    tpd_transpose_ref(&matrix, host_in, expected);
    must(cudaMemcpy(device_in, host_in, bytes, cudaMemcpyHostToDevice), "copy in");
    const double copy_s = measure(NULL, side, 0, tables[at].batch);
    printf("| %s | %" PRIu32 "×%" PRIu32 " | 1 | copy | | | | %.2f | %.0f | 1.00 | | |\n", tables[at].name, side, side,
           copy_s * 1e6, 2e-9 * static_cast<double>(bytes) / copy_s);
    for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++) {
        double first_s = 0;
        for (uint32_t degree_log2 = 0; degree_log2 <= 5; degree_log2++) {
            ladder_kernel *kernel = tables[at].kernel[op];
            const bool right = is_right(kernel, side, degree_log2);
            const double s = measure(kernel, side, degree_log2, tables[at].batch);
            wrong += !right;
            first_s = degree_log2 == 0 ? s : first_s;
            printf("| %s | %" PRIu32 "×%" PRIu32 " | %d | %s | %u | %.4g | %.4g | %.2f | %.0f | %.2f | %.2f | %s |\n",
                   tables[at].name, side, side, tables[at].turns, op == TPD_OP_LOAD ? "load" : "store", 1u << degree_log2,
                   wavefronts_of(TPD_OP_LOAD, op == TPD_OP_LOAD, degree_log2),
                   wavefronts_of(TPD_OP_STORE, op == TPD_OP_STORE, degree_log2), s * 1e6, 2e-9 * static_cast<double>(bytes) / s,
                   copy_s / s, s / first_s, right ? "right" : "WRONG");
            (void)fflush(stdout);
        }
    }
    return wrong;
}

int main(void) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        printf("waived: no GPU here\n");
        return 77;
    }
    size_t most = 0;
    for (const auto &table : tables)
        most = static_cast<size_t>(table.side) * table.side * 4 > most ? static_cast<size_t>(table.side) * table.side * 4 : most;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    must(cudaEventCreate(&from), "event");
    must(cudaEventCreate(&to), "event");
    must(cudaMalloc(&device_in, most), "device memory");
    must(cudaMalloc(&device_out, most), "device memory");
    must(cudaMallocHost(&host_in, most), "host memory");
    must(cudaMallocHost(&host_out, most), "host memory");
    expected = static_cast<uint32_t *>(malloc(most));
    if (expected == NULL)
        return EXIT_FAILURE;
    /* An odd factor: no two items are equal, so one in the wrong place is seen. */
    for (size_t n = 0; n < most / 4; n++)
        host_in[n] = static_cast<uint32_t>(n) * 2654435761u;
    printf(
        "Items of 4 bytes, tile %dx%d, %d threads a block; median of %d after %d warm-ups, events; bytes read + written; turns: "
        "how often a tile goes in and out of shared memory.\n\n",
        SIDE, SIDE, THREADS, REPEATS, WARM_UP);
    printf(
        "| where | rows×cols | turns | conflicts on the | degree | wavefronts a load | wavefronts a store | µs | GB/s | of copy "
        "| time, of degree 1 | checked |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    int wrong = 0;
    for (int at = 0; at < static_cast<int>(sizeof tables / sizeof tables[0]); at++)
        wrong += bench_table(at);
    must(cudaFree(device_in), "free");
    must(cudaFree(device_out), "free");
    must(cudaFreeHost(host_in), "free");
    must(cudaFreeHost(host_out), "free");
    free(expected);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
