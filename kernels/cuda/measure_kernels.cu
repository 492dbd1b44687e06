/* measure_kernels.cu -- see measure_kernels.h. */
#include "kernels/cuda/measure_kernels.h"

#include <cuda_runtime.h>

enum { THREADS = 256, COPIES = 4 };
static const uint64_t blocks_most = 132 * 64;

static __global__ void fill(uint64_t *memory, uint64_t words, uint64_t seed) {
    for (uint64_t i = blockIdx.x * static_cast<uint64_t>(THREADS) + threadIdx.x; i < words; i += gridDim.x * THREADS) {
        uint64_t z = (i + seed) * 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        memory[i] = z ^ z >> 31;
    }
}

static __global__ void copy(uint4 *__restrict__ to, const uint4 *__restrict__ from, uint64_t count) {
    const uint64_t first = blockIdx.x * static_cast<uint64_t>(THREADS * COPIES) + threadIdx.x;
    uint4 moved[COPIES];
#pragma unroll
    for (int n = 0; n < COPIES; n++)
        moved[n] = first + n * THREADS < count ? from[first + n * THREADS] : uint4();
#pragma unroll
    for (int n = 0; n < COPIES; n++)
        if (first + n * THREADS < count)
            to[first + n * THREADS] = moved[n];
}

static __device__ bool differ(uint4 a, uint4 b) {
    return a.x != b.x || a.y != b.y || a.z != b.z || a.w != b.w;
}
template <typename item> static __device__ bool differ(item a, item b) {
    return a != b;
}

template <typename item>
static __global__ void check(const item *in, const item *out, uint64_t rows, uint64_t cols, uint64_t items,
                             unsigned long long *wrong) {
    unsigned long long found = 0;
    for (uint64_t i = blockIdx.x * static_cast<uint64_t>(THREADS) + threadIdx.x; i < items; i += gridDim.x * THREADS) {
        const uint64_t row = i % rows, col = i / rows % cols, matrix = i / rows / cols;
        found += differ(out[i], in[(matrix * rows + row) * cols + col]);
    }
    if (found != 0)
        atomicAdd(wrong, found);
}

/* Items of any size, as bytes. */
static __global__ void check_bytes(const uint8_t *in, const uint8_t *out, uint64_t rows, uint64_t cols, uint64_t items,
                                   uint32_t itemsize, unsigned long long *wrong) {
    unsigned long long found = 0;
    for (uint64_t i = blockIdx.x * static_cast<uint64_t>(THREADS) + threadIdx.x; i < items; i += gridDim.x * THREADS) {
        const uint64_t row = i % rows, col = i / rows % cols, matrix = i / rows / cols;
        const uint64_t from = ((matrix * rows + row) * cols + col) * itemsize;
        bool same = true;
        for (uint32_t n = 0; n < itemsize; n++)
            same = same && out[i * itemsize + n] == in[from + n];
        found += !same;
    }
    if (found != 0)
        atomicAdd(wrong, found);
}

static unsigned blocks_of(uint64_t threads) {
    const uint64_t blocks = (threads + THREADS - 1) / THREADS;
    return static_cast<unsigned>(blocks < blocks_most ? blocks : blocks_most);
}

extern "C" int tpd_cuda_measure_fill(void *memory, uint64_t bytes, uint64_t seed, void *stream) {
    const uint64_t words = (bytes + 7) / 8;
    fill<<<blocks_of(words), THREADS, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<uint64_t *>(memory), words, seed);
    return cudaGetLastError();
}

extern "C" int tpd_cuda_measure_copy(void *to, const void *from, uint64_t bytes, void *stream) {
    const uint64_t count = bytes / sizeof(uint4), each = THREADS * COPIES;
    copy<<<static_cast<unsigned>((count + each - 1) / each), THREADS, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<uint4 *>(to), static_cast<const uint4 *>(from), count);
    return cudaGetLastError();
}

template <typename item>
static void launch_check(const struct tpd_matrix *matrix, const void *in, const void *out, unsigned long long *wrong,
                         cudaStream_t stream) {
    const uint64_t items = tpd_matrix_items(matrix);
    check<item><<<blocks_of(items), THREADS, 0, stream>>>(static_cast<const item *>(in), static_cast<const item *>(out),
                                                          matrix->rows, matrix->cols, items, wrong);
}

extern "C" int tpd_cuda_measure_check(const struct tpd_matrix *matrix, const void *in, const void *out, void *counter,
                                      void *stream) {
    cudaStream_t on = static_cast<cudaStream_t>(stream);
    unsigned long long *wrong = static_cast<unsigned long long *>(counter);
    switch (matrix->itemsize) {
    case 1:
        launch_check<uint8_t>(matrix, in, out, wrong, on);
        break;
    case 2:
        launch_check<uint16_t>(matrix, in, out, wrong, on);
        break;
    case 4:
        launch_check<uint32_t>(matrix, in, out, wrong, on);
        break;
    case 8:
        launch_check<uint64_t>(matrix, in, out, wrong, on);
        break;
    case 16:
        launch_check<uint4>(matrix, in, out, wrong, on);
        break;
    default:
        check_bytes<<<blocks_of(tpd_matrix_items(matrix)), THREADS, 0, on>>>(
            static_cast<const uint8_t *>(in), static_cast<const uint8_t *>(out), matrix->rows, matrix->cols,
            tpd_matrix_items(matrix), matrix->itemsize, wrong);
    }
    return cudaGetLastError();
}
