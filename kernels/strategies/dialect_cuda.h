/* dialect_cuda.h -- the strategies' words for nvcc: a PHASE is the thread itself.
 *
 * Gives `tpd_kernels` (kernel.h): host pointers for cudaLaunchKernel(), attributes and warming. Every kernel takes
 * (const word *in, word *out, struct tpd_geometry) and wants a grid of (blocks, 1, 1), plan->threads threads a block, and,
 * for all but the kind FIXED, plan->shared_bytes of dynamic shared memory. in and out lie on word boundaries, and for
 * strategies with tiles of their own on boundaries of 16 bytes.
 */
#ifndef TPD_DIALECT_CUDA_H
#define TPD_DIALECT_CUDA_H

#include "kernels/strategies/vectors.h"

#include "kernels/strategies/every_strategy.h" /* the layouts */

typedef const void *tpd_kernel_pointer;
#define KERNEL_POINTER(kernel) (const void *)(kernel)

/* A store with a predicate of its own. Of an `if` the compiler makes a branch, and moves the shared load that feeds the
 * store behind it: then lanes outside the matrix would skip that load, which dialect_c.h has them make, and a thread's
 * loads would wait for one another. No memory clobber: a kernel never reads what it stored there. */
#define STORE_IF(type, suffix, item_type, constraint)                                                                     \
    __device__ static inline void tpd_store_if(bool active, type *to, type item) {                                        \
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global." suffix " [%1], %2; }" ::"r"((uint32_t)active), \
                     "l"(to), constraint((item_type)item));                                                               \
    }
STORE_IF(uint8_t, "u8", uint32_t, "r")
STORE_IF(uint16_t, "u16", uint16_t, "h")
STORE_IF(uint32_t, "u32", uint32_t, "r")
STORE_IF(uint64_t, "u64", uint64_t, "l")
__device__ static inline void tpd_store_if(bool active, uint4 *to, uint4 item) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.v4.u32 [%1], {%2, %3, %4, %5}; }" ::"r"((uint32_t)active),
                 "l"(to), "r"(item.x), "r"(item.y), "r"(item.z), "r"(item.w));
}

#define ITEM16 uint4

/* Threads for which a kernel that waits for memory is to leave registers: as many as a multiprocessor holds (CUDA programming
 * guide, table of compute capabilities), and three in four or fewer where this compiler's code would spill. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 750 || __CUDA_ARCH__ >= 1200)
#define TPD_RESIDENT_THREADS 1024
#elif defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1000)
#define TPD_RESIDENT_THREADS 1536
#else
#define TPD_RESIDENT_THREADS 2048
#endif
/* How many eighths of them: two less where the kernel that turns most in registers, `narrow` with rows of bytes in, would spill.
 */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 800
#define TPD_RESIDENT_EIGHTHS 6
#else
#define TPD_RESIDENT_EIGHTHS 8
#endif

#define KERNEL(NAME)                                                                                       \
    static __global__ void __launch_bounds__(TPD_STRATEGY_THREADS) KERNEL_NAME(NAME, ITEMSIZE, TILE_KIND)( \
        const ITEM *__restrict__ in, ITEM *__restrict__ out, const struct tpd_geometry grid)
#define KERNEL_OWN(NAME)                                                                                                     \
    static __global__ void __launch_bounds__(THREADS_##NAME(ITEMSIZE, SHAPE), RESIDENT_##NAME(ITEMSIZE, SHAPE)) KERNEL_NAME( \
        NAME, ITEMSIZE, TILE_KIND)(const ITEM *__restrict__ in, ITEM *__restrict__ out, const struct tpd_geometry grid)
#define BLOCK (grid.first_block + blockIdx.x)

/* One turn with thread = threadIdx.x: the loop leaves no trace in the machine code. The whole warp ends it together (a no-op
 * on the machine): without that ptxas ends idle lanes before the last round's load, which then waits for the stores. */
#define PHASE(thread) for (uint32_t thread = threadIdx.x, once = 1; once != 0; once = 0, __syncwarp())
#define BARRIER() __syncthreads()
/* All rounds of the default tile: four loads of a thread are on their way before the first is stored. */
#define UNROLL _Pragma("unroll 4")

#define TILE_FIXED(pitch_)           \
    const uint32_t pitch = (pitch_); \
    __shared__ ITEM tile[TILE_ROWS * (pitch_)]
/* uint4: the alignment of the largest item. */
extern __shared__ uint4 tpd_dynamic_tile[];
#define TILE_ANY(pitch_)             \
    const uint32_t pitch = (pitch_); \
    ITEM *const tile = reinterpret_cast<ITEM *>(tpd_dynamic_tile)
#define TILE_VECTORS()                                    \
    uint4 *const vectors = tpd_dynamic_tile;              \
    ITEM *const tile = reinterpret_cast<ITEM *>(vectors); \
    (void)tile

#define GLOBAL_LOAD(active, index) ((active) ? in[index] : ITEM())
#define GLOBAL_STORE(active, index, item) tpd_store_if(active, out + (index), item)
#define SHARED_LOAD(index) (tile[index])
#define SHARED_STORE(index, item) ((void)(tile[index] = (item)))

__device__ static inline struct tpd_vector tpd_vector_of(uint4 words) {
    const struct tpd_vector vector = {{words.x, words.y, words.z, words.w}};
    return vector;
}
__device__ static inline uint4 tpd_words_of(struct tpd_vector vector) {
    return make_uint4(vector.word[0], vector.word[1], vector.word[2], vector.word[3]);
}
#define GLOBAL_LOAD16(active, index) tpd_vector_of((active) ? *reinterpret_cast<const uint4 *>(in + (index)) : uint4())
#define GLOBAL_STORE16(active, index, vector) tpd_store_if(active, reinterpret_cast<uint4 *>(out + (index)), tpd_words_of(vector))
#define GLOBAL_LOAD4(active, index) ((active) ? *reinterpret_cast<const uint32_t *>(in + (index)) : 0u)
#define GLOBAL_STORE4(active, index, unit) tpd_store_if(active, reinterpret_cast<uint32_t *>(out + (index)), unit)
#define GLOBAL_LOAD8(active, index) ((active) ? *reinterpret_cast<const uint64_t *>(in + (index)) : uint64_t())
#define SHARED_LOAD4(place) (reinterpret_cast<uint32_t *>(vectors)[place])
#define SHARED_STORE4(place, unit) ((void)(reinterpret_cast<uint32_t *>(vectors)[place] = (unit)))
#define SHARED_LOAD16(place) tpd_vector_of(vectors[place])
#define SHARED_STORE16(place, vector) ((void)(vectors[place] = tpd_words_of(vector)))
__device__ static inline struct tpd_vector tpd_half_of(const uint4 *place) {
    const uint2 words = *reinterpret_cast<const uint2 *>(place);
    const struct tpd_vector vector = {{words.x, words.y, 0, 0}};
    return vector;
}
#define SHARED_LOAD_HALF(place) tpd_half_of(vectors + (place))

#include "kernels/strategies/kernel.h"

#endif
