/* bench_addresses.cu -- how much of a transpose's time is its addresses: a strategy beside a kernel that does nothing else.
 *
 * That kernel loads whole vectors where the rows of the strategy's tile lie and stores them, as they are, where the rows of the
 * transposed tile lie: as many threads, as many loads on their way, the same order of tiles, no shared memory and nothing
 * transposed. Rows that begin within a vector are loaded from where it begins, and stored from where a sector does. What it
 * takes longer than a copy is the memory's; what the strategy takes longer than it is the strategy's. Prints Markdown; the
 * strategy's answers are checked.
 */
#include <cuda_runtime.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/cuda_driver.h"
#include "kernels/cuda/measure_kernels.h"
#include "tests/gpu/bench_cuda.h"
#include "transposed/banks.h"

enum { REPEATS = 15, WARM_UP = 1, VECTOR = 16, BURST_BYTES = 1 << 30, BURST_MOST = 20 };

static const struct {
    uint64_t rows, cols;
    uint32_t itemsize;
} cells[] = {
    {16384, 16384, 1}, {16384, 16384, 2}, {16384, 16384, 4}, {16384, 16384, 8}, {10000, 10000, 1}, {10000, 10000, 2},
    {1000000, 256, 1}, {1000000, 256, 2}, {1000000, 256, 4}, {256, 1000000, 1}, {256, 1000000, 2}, {8191, 8193, 1},
    {8191, 8193, 2},   {8191, 8193, 4},   {8191, 8193, 8},   {16383, 16385, 1}, {16383, 16385, 2},
};

struct tiles {
    uint64_t rows, cols, down; /* of the matrix; tiles from top to bottom, which blocks walk first */
    uint32_t itemsize, tile_rows, tile_cols;
};

template <int VECTORS> static __global__ void move(const char *in, char *out, const struct tiles at) {
    const uint64_t row0 = blockIdx.x % at.down * at.tile_rows, col0 = blockIdx.x / at.down * at.tile_cols;
    const uint32_t across = at.tile_cols * at.itemsize / VECTOR, deep = at.tile_rows * at.itemsize / VECTOR;
    uint4 vector[VECTORS];
#pragma unroll
    for (uint32_t n = 0; n < VECTORS; n++) {
        const uint32_t k = n * blockDim.x + threadIdx.x;
        const uint64_t row = row0 + k / across, begins = col0 * at.itemsize + k % across * VECTOR;
        const uint64_t from = row * at.cols * at.itemsize + begins;
        const bool inside = row < at.rows && begins + VECTOR <= at.cols * at.itemsize;
        vector[n] = inside ? *reinterpret_cast<const uint4 *>(in + from / VECTOR * VECTOR) : uint4();
    }
#pragma unroll
    for (uint32_t n = 0; n < VECTORS; n++) {
        const uint32_t k = n * blockDim.x + threadIdx.x;
        const uint64_t col = col0 + k / deep, begins = row0 * at.itemsize + k % deep * VECTOR;
        const uint64_t first = (col * at.rows + row0) * at.itemsize / TPD_SECTOR_BYTES * TPD_SECTOR_BYTES;
        if (col < at.cols && begins + VECTOR <= at.rows * at.itemsize)
            *reinterpret_cast<uint4 *>(out + first + k % deep * VECTOR) = vector[n];
    }
}
typedef void move_kernel(const char *in, char *out, const struct tiles at);

static cudaStream_t stream;
static cudaEvent_t from, to;
static char *in, *out;
static unsigned long long *wrong;

enum { COPY, STRATEGY, ADDRESSES, KINDS };

struct work {
    struct tpd_plan plan;
    struct tiles tiles;
    move_kernel *kernel;
    uint64_t bytes;
};

static void launch(const struct work *work, int kind) {
    if (kind == COPY) {
        must(cudaMemcpyAsync(out, in, work->bytes, cudaMemcpyDeviceToDevice, stream), "copy");
    } else if (kind == STRATEGY) {
        must(static_cast<cudaError_t>(tpd_cuda_kernel_launch(&work->plan, in, out, stream)), "launch");
    } else {
        const uint64_t across = (work->tiles.cols + work->tiles.tile_cols - 1) / work->tiles.tile_cols;
        work->kernel<<<static_cast<unsigned>(work->tiles.down * across), work->plan.threads, 0, stream>>>(in, out, work->tiles);
        must(cudaGetLastError(), "launch");
    }
}

static move_kernel *kernel_of(uint64_t vectors) {
    switch (vectors) {
    case 2:
        return move<2>;
    case 4:
        return move<4>;
    case 8:
        return move<8>;
    case 16:
        return move<16>;
    default:
        return NULL;
    }
}

static bool bench_cell(uint64_t rows, uint64_t cols, uint32_t itemsize) {
    const struct tpd_matrix matrix = {rows, cols, 1, itemsize, TPD_DTYPE_OPAQUE};
    struct work work = {};
    struct tpd_error error;
    float times[KINDS][REPEATS];
    unsigned long long count = 0;
    if (tpd_strategy_plan(TPD_STRATEGY_AUTO, &matrix, {0, 0}, TPD_SHARED_OWN_MOST, &work.plan, &error) != TPD_OK) {
        printf("plan: %s\n", error.text);
        return false;
    }
    /* The pitch of a tile that lies transposed is how many rows it loads. */
    work.tiles = {rows, cols, (rows + work.plan.pitch - 1) / work.plan.pitch, itemsize, work.plan.pitch, work.plan.tile.cols};
    work.bytes = rows * cols * itemsize;
    work.kernel = kernel_of(static_cast<uint64_t>(work.plan.pitch) * work.plan.tile.cols * itemsize / VECTOR / work.plan.threads);
    if (work.kernel == NULL) {
        printf("a tile of %" PRIu32 "x%" PRIu32 " is not made for\n", work.plan.pitch, work.plan.tile.cols);
        return false;
    }
    must(static_cast<cudaError_t>(tpd_cuda_measure_fill(in, work.bytes, rows, stream)), "random bytes");
    must(cudaMemsetAsync(out, 0xa5, work.bytes, stream), "poison");
    must(cudaMemsetAsync(wrong, 0, sizeof *wrong, stream), "count");
    launch(&work, STRATEGY);
    must(static_cast<cudaError_t>(tpd_cuda_measure_check(&matrix, in, out, wrong, stream)), "check");
    must(cudaMemcpyAsync(&count, wrong, sizeof count, cudaMemcpyDeviceToHost, stream), "count");
    must(cudaStreamSynchronize(stream), "run");
    const uint64_t wanted = BURST_BYTES / work.bytes + 1;
    const int burst = wanted < BURST_MOST ? static_cast<int>(wanted) : BURST_MOST;
    for (int i = -WARM_UP; i < REPEATS; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            must(cudaEventRecord(from, stream), "event");
            for (int run = 0; run < burst; run++)
                launch(&work, kind);
            must(cudaEventRecord(to, stream), "event");
            must(cudaEventSynchronize(to), "run");
            if (i >= 0)
                must(cudaEventElapsedTime(&times[kind][i], from, to), "time");
        }
    double us[KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        qsort(times[kind], REPEATS, sizeof times[kind][0], by_value);
        us[kind] = static_cast<double>(times[kind][REPEATS / 2]) * 1e3 / burst;
    }
    printf("| %" PRIu64 "x%" PRIu64 ":%" PRIu32 " | %.2f | %s | %" PRIu32 "x%" PRIu32
           " | %.2f | %.3f | %.2f | %.3f | %.3f | %s |\n",
           rows, cols, itemsize, us[COPY], tpd_strategy_at(work.plan.strategy)->name, work.plan.pitch, work.plan.tile.cols,
           us[STRATEGY], us[COPY] / us[STRATEGY], us[ADDRESSES], us[COPY] / us[ADDRESSES], us[ADDRESSES] / us[STRATEGY],
           count == 0 ? "right" : "WRONG");
    (void)fflush(stdout);
    return count == 0;
}

int main(void) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        printf("waived: no GPU here\n");
        return 77;
    }
    uint64_t most = 0;
    for (const auto &cell : cells)
        most = cell.rows * cell.cols * cell.itemsize > most ? cell.rows * cell.cols * cell.itemsize : most;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    must(cudaEventCreate(&from), "event");
    must(cudaEventCreate(&to), "event");
    must(cudaMalloc(&in, most + TPD_SECTOR_BYTES), "device memory");
    must(cudaMalloc(&out, most + TPD_SECTOR_BYTES), "device memory");
    must(cudaMalloc(&wrong, sizeof *wrong), "device memory");
    must(static_cast<cudaError_t>(tpd_cuda_kernels_prepare(TPD_SHARED_OWN_MOST)), "kernels");
    printf("Median of %d turns of copy, strategy and addresses alone, bursts between events; tile: rows loaded x columns.\n\n",
           REPEATS);
    printf("| cell | copy µs | strategy | tile | µs | of copy | addresses alone µs | of copy | strategy, of its addresses | "
           "answer |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n");
    bool is_right = true;
    for (const auto &cell : cells)
        is_right = bench_cell(cell.rows, cell.cols, cell.itemsize) && is_right;
    must(cudaFree(in), "free");
    must(cudaFree(out), "free");
    must(cudaFree(wrong), "free");
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
