/* peer_gpu.cu -- see peer_gpu.h. */
#include "peer_gpu.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/measure_kernels.h"

extern "C" const char peer_gpu_reference[] = "cudaMemcpyAsync device to device of the same bytes, in turns, CUDA events";

static struct {
    struct peer_cell cell;
    unsigned char *in, *out;
    unsigned long long *wrong;
    cudaStream_t stream;
    cudaEvent_t from, to;
} gpu;

static void must(cudaError_t code, const char *what) {
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
    exit(1);
}

/* Leaves sign and fraction as they are and sets the exponent's first bits to 01, of halves, floats and doubles: no NaN, no
 * infinity, nothing subnormal, no zero. */
static __global__ void make_finite(uint32_t *words, uint64_t count, uint32_t first_bits) {
    for (uint64_t i = blockIdx.x * static_cast<uint64_t>(256) + threadIdx.x; i < count; i += gridDim.x * 256)
        words[i] = (words[i] & ~first_bits) | first_bits >> 1;
}

extern "C" const char *peer_gpu_open(char *device_name) {
    cudaDeviceProp properties;
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
        return "no GPU here";
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess)
        return "the GPU does not answer";
    snprintf(device_name, 128, "%.127s", properties.name);
    must(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking), "stream");
    must(cudaEventCreate(&gpu.from), "event");
    must(cudaEventCreate(&gpu.to), "event");
    must(cudaMalloc(&gpu.wrong, sizeof *gpu.wrong), "device memory");
    return nullptr;
}

extern "C" const char *peer_gpu_prepare(const struct peer_cell *cell, bool finite) {
    size_t free_bytes = 0, total_bytes = 0;
    must(cudaMemGetInfo(&free_bytes, &total_bytes), "free memory");
    if (2 * cell->bytes + (UINT64_C(256) << 20) > free_bytes)
        return "there is not enough GPU memory free";
    gpu.cell = *cell;
    must(cudaMalloc(&gpu.in, cell->bytes + 16), "device memory");
    must(cudaMalloc(&gpu.out, cell->bytes + 16), "device memory");
    must(static_cast<cudaError_t>(tpd_cuda_measure_fill(gpu.in, cell->bytes, cell->bytes, gpu.stream)), "random bytes");
    if (finite) {
        make_finite<<<1024, 256, 0, gpu.stream>>>(reinterpret_cast<uint32_t *>(gpu.in), cell->bytes / 4,
                                                  cell->itemsize == 2 ? 0x40004000u : 0x40000000u);
        must(cudaGetLastError(), "random numbers");
    }
    return nullptr;
}

extern "C" bool peer_gpu_is_right(peer_gpu_work *work) {
    const struct tpd_matrix matrix = {gpu.cell.rows, gpu.cell.cols, gpu.cell.batch, gpu.cell.itemsize, TPD_DTYPE_OPAQUE};
    unsigned long long wrong = 0;
    must(cudaMemsetAsync(gpu.out, 0xa5, gpu.cell.bytes, gpu.stream), "poison");
    must(cudaMemsetAsync(gpu.wrong, 0, sizeof wrong, gpu.stream), "count");
    if (!work(gpu.in, gpu.out, gpu.stream))
        return false;
    must(static_cast<cudaError_t>(tpd_cuda_measure_check(&matrix, gpu.in, gpu.out, gpu.wrong, gpu.stream)), "check");
    must(cudaMemcpyAsync(&wrong, gpu.wrong, sizeof wrong, cudaMemcpyDeviceToHost, gpu.stream), "count");
    must(cudaStreamSynchronize(gpu.stream), "run");
    return wrong == 0;
}

static bool copy_once(const void *in, void *out, void *stream) {
    return cudaMemcpyAsync(out, in, gpu.cell.bytes, cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream)) == cudaSuccess;
}

extern "C" double peer_gpu_time(peer_gpu_work *work) {
    float ms = 0;
    must(cudaEventRecord(gpu.from, gpu.stream), "event");
    for (uint32_t i = 0; i < gpu.cell.burst; i++)
        if (!work(gpu.in, gpu.out, gpu.stream))
            must(cudaErrorUnknown, "the peer's call");
    must(cudaEventRecord(gpu.to, gpu.stream), "event");
    must(cudaEventSynchronize(gpu.to), "run");
    must(cudaEventElapsedTime(&ms, gpu.from, gpu.to), "time");
    return static_cast<double>(ms) * 1e-3 / gpu.cell.burst;
}

extern "C" double peer_gpu_copy(void) {
    return peer_gpu_time(copy_once);
}

extern "C" void peer_gpu_release(void) {
    must(cudaFree(gpu.in), "free");
    must(cudaFree(gpu.out), "free");
    gpu.in = gpu.out = nullptr;
}
