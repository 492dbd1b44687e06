/* dialect_cuda.h -- the strategies' words for nvcc: a PHASE is the thread itself.
 *
 * Gives `tpd_kernels` (kernel.h): host pointers for cudaLaunchKernel(), attributes and warming. Every kernel takes
 * (const word *in, word *out, struct tpd_geometry) and wants a grid of (blocks, 1, 1), TPD_STRATEGY_THREADS threads a
 * block, and, for kernels of kind ANY, plan->shared_bytes of dynamic shared memory. in and out lie on word boundaries.
 */
#ifndef TPD_DIALECT_CUDA_H
#define TPD_DIALECT_CUDA_H

#include "kernels/strategies/geometry.h"

#include "kernels/strategies/every_strategy.h" /* the layouts */

typedef const void *tpd_kernel_pointer;
#define KERNEL_POINTER(kernel) (const void *)(kernel)

#define ITEM16 uint4

#define KERNEL(NAME)                                                                                       \
    static __global__ void __launch_bounds__(TPD_STRATEGY_THREADS) KERNEL_NAME(NAME, ITEMSIZE, TILE_KIND)( \
        const ITEM *__restrict__ in, ITEM *__restrict__ out, const struct tpd_geometry grid)
#define BLOCK (grid.first_block + blockIdx.x)

/* One turn with thread = threadIdx.x: the loop leaves no trace in the machine code. */
#define PHASE(thread) for (uint32_t thread = threadIdx.x, once = 1; once != 0; once = 0)
#define BARRIER() __syncthreads()
#define UNROLL _Pragma("unroll")

#define TILE_FIXED(pitch_)           \
    const uint32_t pitch = (pitch_); \
    __shared__ ITEM tile[TILE_ROWS * (pitch_)]
/* uint4: the alignment of the largest item. */
extern __shared__ uint4 tpd_dynamic_tile[];
#define TILE_ANY(pitch_)             \
    const uint32_t pitch = (pitch_); \
    ITEM *const tile = reinterpret_cast<ITEM *>(tpd_dynamic_tile)

#define GLOBAL_LOAD(active, index) ((active) ? in[index] : ITEM())
#define GLOBAL_STORE(active, index, item) \
    do {                                  \
        const ITEM moved = (item);        \
        if (active)                       \
            out[index] = moved;           \
    } while (0)
#define SHARED_LOAD(index) (tile[index])
#define SHARED_STORE(index, item) ((void)(tile[index] = (item)))

#include "kernels/strategies/kernel.h"

#endif
