/* launch.cu -- every strategy's kernel, compiled for the device, and how one is launched. */
#include <cuda_runtime.h>

#include "kernels/cuda/cuda_driver.h"
#include "kernels/strategies/dialect_cuda.h"

/* What grid.x may have (CUDA, every architecture since 3.0); a larger batch takes several launches. */
static const uint64_t blocks_most = 2147483647;

enum { TILE_FIXED_KIND = 0, TILE_ANY_KIND = 1 };

static int kind_of(const struct tpd_plan *plan) {
    return plan->tile_is_default || plan->shared_bytes == 0 ? TILE_FIXED_KIND : TILE_ANY_KIND;
}

static const void *kernel_of(const struct tpd_plan *plan, int kind) {
    const uint32_t word = plan->word_bytes;
    const int log2 = word == 16 ? 4 : word == 8 ? 3 : word == 4 ? 2 : word == 2 ? 1 : 0;
    return tpd_kernels[plan->strategy][log2][kind];
}

extern "C" int tpd_cuda_kernels_prepare(uint64_t shared_most_bytes) {
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++) {
        for (int log2 = 0; log2 < 5; log2++) {
            cudaError_t code =
                cudaFuncSetAttribute(tpd_kernels[id][log2][TILE_ANY_KIND], cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared_most_bytes));
            if (code != cudaSuccess)
                return code;
        }
    }
    return 0;
}

extern "C" int tpd_cuda_kernel_launch(const struct tpd_plan *plan, const void *in, void *out, void *stream) {
    const int kind = kind_of(plan);
    const size_t dynamic_bytes = kind == TILE_ANY_KIND ? static_cast<size_t>(plan->shared_bytes) : 0;
    struct tpd_geometry grid = tpd_geometry_of(plan);
    void *arguments[] = {&in, &out, &grid};
    for (uint64_t first = 0; first < plan->blocks; first += blocks_most) {
        const uint64_t left = plan->blocks - first;
        grid.first_block = first;
        cudaError_t code =
            cudaLaunchKernel(kernel_of(plan, kind), dim3(static_cast<unsigned>(left < blocks_most ? left : blocks_most)),
                             dim3(TPD_STRATEGY_THREADS), arguments, dynamic_bytes, static_cast<cudaStream_t>(stream));
        if (code != cudaSuccess)
            return code;
    }
    return 0;
}

extern "C" int tpd_cuda_kernel_occupancy(const struct tpd_plan *plan, uint32_t *registers, uint32_t *blocks) {
    const int kind = kind_of(plan);
    struct cudaFuncAttributes attributes;
    int resident = 0;
    cudaError_t code = cudaFuncGetAttributes(&attributes, kernel_of(plan, kind));
    if (code == cudaSuccess)
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel_of(plan, kind), TPD_STRATEGY_THREADS,
                                                             kind == TILE_ANY_KIND ? static_cast<size_t>(plan->shared_bytes) : 0);
    if (code != cudaSuccess)
        return code;
    *registers = static_cast<uint32_t>(attributes.numRegs);
    *blocks = static_cast<uint32_t>(resident);
    return 0;
}
