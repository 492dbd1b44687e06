/* rows.cu -- copies rows between device memory and mapped host memory with the multiprocessors: a copy engine slows down by half
 * and more where rows are some KiB long and the other direction of the bus is busy as well (tests/gpu/RESULTS.md). */
#include <cuda_runtime.h>
#include <stdint.h>

#include "kernels/cuda/cuda_driver.h"

namespace {

enum {
    THREADS = 256, /* a block */
    WARPS = THREADS / 32,
    BLOCKS = 64, /* as many as keep the bus busy: the rest of the device is for the kernels of other panels */
    AT_ONCE = 4  /* words of a thread on their way: the bus answers after microseconds */
};

/* A warp a row, and the next one a grid further on. */
template <typename Word>
__global__ void __launch_bounds__(THREADS)
    copy_rows(char *to, const char *from, uint64_t to_pitch, uint64_t from_pitch, uint64_t row_words, uint64_t rows) {
    const uint64_t lane = threadIdx.x % 32, warps = (uint64_t)gridDim.x * WARPS;
    for (uint64_t row = (uint64_t)blockIdx.x * WARPS + threadIdx.x / 32; row < rows; row += warps) {
        Word *const out = reinterpret_cast<Word *>(to + row * to_pitch);
        const Word *const in = reinterpret_cast<const Word *>(from + row * from_pitch);
        uint64_t i = lane;
        for (; i + 32 * (AT_ONCE - 1) < row_words; i += 32 * AT_ONCE) {
            Word word[AT_ONCE];
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++)
                word[j] = in[i + 32 * j];
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++)
                out[i + 32 * j] = word[j];
        }
        for (; i < row_words; i += 32)
            out[i] = in[i];
    }
}

template <typename Word> cudaError_t launch(const struct tpd_cuda_rows *rows, cudaStream_t stream) {
    const uint64_t wanted = (rows->rows + WARPS - 1) / WARPS;
    const dim3 blocks(wanted < BLOCKS ? static_cast<unsigned>(wanted) : static_cast<unsigned>(BLOCKS));
    copy_rows<Word><<<blocks, THREADS, 0, stream>>>(static_cast<char *>(rows->to), static_cast<const char *>(rows->from),
                                                    rows->to_pitch, rows->from_pitch, rows->row_bytes / sizeof(Word), rows->rows);
    return cudaGetLastError();
}

} // namespace

/* In the largest words of which everything is a multiple. */
extern "C" int tpd_cuda_rows_launch(const struct tpd_cuda_rows *rows, void *stream) {
    const uint64_t all = reinterpret_cast<uintptr_t>(rows->to) | reinterpret_cast<uintptr_t>(rows->from) | rows->to_pitch |
                         rows->from_pitch | rows->row_bytes;
    cudaStream_t on = static_cast<cudaStream_t>(stream);
    if (all % 16 == 0)
        return launch<uint4>(rows, on);
    if (all % 8 == 0)
        return launch<uint2>(rows, on);
    if (all % 4 == 0)
        return launch<uint32_t>(rows, on);
    if (all % 2 == 0)
        return launch<uint16_t>(rows, on);
    return launch<unsigned char>(rows, on);
}
