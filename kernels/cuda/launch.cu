/* launch.cu -- every strategy's kernel, compiled for the device, and how one is launched. */
#include <cuda_runtime.h>

#include "kernels/cuda/cuda_driver.h"
#include "kernels/strategies/dialect_cuda.h"

/* What grid.x may have (CUDA, every architecture since 3.0); a larger batch takes several launches. */
static const uint64_t blocks_most = 2147483647;

/* What a launch sets aside: kernels with the tile compiled in take no dynamic memory. */
static size_t dynamic_bytes_of(const struct tpd_plan *plan) {
    return plan->tile_is_default ? 0 : static_cast<size_t>(plan->shared_bytes);
}

static const void *kernel_of(const struct tpd_plan *plan) {
    const uint32_t word = plan->word_bytes;
    const int log2 = word == 16 ? 4 : word == 8 ? 3 : word == 4 ? 2 : word == 2 ? 1 : 0;
    return tpd_kernels[plan->strategy][log2][plan->kernel];
}

extern "C" int tpd_cuda_kernels_prepare(uint64_t shared_most_bytes) {
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++) {
        for (int log2 = 0; log2 < 5; log2++) {
            for (int kind = 0; kind < TPD_KERNELS_MOST; kind++) {
                const void *kernel = tpd_kernels[id][log2][kind];
                cudaFuncAttributes has;
                if (kernel == nullptr)
                    continue;
                cudaError_t code = cudaFuncGetAttributes(&has, kernel);
                /* One that has its tile compiled in takes no dynamic memory. */
                if (code == cudaSuccess && has.sharedSizeBytes == 0)
                    code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                static_cast<int>(shared_most_bytes));
                if (code != cudaSuccess)
                    return code;
            }
        }
    }
    return 0;
}

extern "C" int tpd_cuda_kernel_launch(const struct tpd_plan *plan, const void *in, void *out, void *stream) {
    struct tpd_geometry grid = tpd_geometry_of(plan);
    void *arguments[] = {&in, &out, &grid};
    for (uint64_t first = 0; first < plan->blocks; first += blocks_most) {
        const uint64_t left = plan->blocks - first;
        grid.first_block = first;
        cudaError_t code =
            cudaLaunchKernel(kernel_of(plan), dim3(static_cast<unsigned>(left < blocks_most ? left : blocks_most)),
                             dim3(plan->threads), arguments, dynamic_bytes_of(plan), static_cast<cudaStream_t>(stream));
        if (code != cudaSuccess)
            return code;
    }
    return 0;
}

extern "C" int tpd_cuda_kernel_occupancy(const struct tpd_plan *plan, uint32_t *registers, uint32_t *blocks) {
    struct cudaFuncAttributes attributes;
    int resident = 0;
    cudaError_t code = cudaFuncGetAttributes(&attributes, kernel_of(plan));
    if (code == cudaSuccess)
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel_of(plan), static_cast<int>(plan->threads),
                                                             dynamic_bytes_of(plan));
    if (code != cudaSuccess)
        return code;
    *registers = static_cast<uint32_t>(attributes.numRegs);
    *blocks = static_cast<uint32_t>(resident);
    return 0;
}
