/* bank_kernels.h -- one warp, one shared access a round and no other: the kernels of bank_probe.cu, for nvcc alone.
 *
 * An access is one instruction with a predicate of its own, so a lane that sits out is one that the hardware sees sit out.
 * `step` is 0, which the compiler can't know: to it no round's access is the one before.
 */
#ifndef TPD_BANK_KERNELS_H
#define TPD_BANK_KERNELS_H

#include "bank_patterns.h"

struct tpd_probe {
    uint32_t address[TPD_WARP];
    uint32_t active, repeats, step;
};
/* No name of a table of launches begins another's. */
typedef void tpd_probe_kernel(struct tpd_probe probe, uint32_t *sink);

extern __shared__ uint4 tpd_probe_arena[];

#define PRED "{ .reg .pred p; setp.ne.u32 p, %0, 0; @p "

/* Loads add to what the caller holds, so that none is for nothing; stores give what it holds. */
__device__ static inline void tpd_ld_1(uint32_t on, uint32_t at, uint4 *item) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.shared.u8 %0, [%2]; }" : "+r"(item->x) : "r"(on), "r"(at));
}
__device__ static inline void tpd_ld_2(uint32_t on, uint32_t at, uint4 *item) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.shared.u16 %0, [%2]; }" : "+r"(item->x) : "r"(on), "r"(at));
}
__device__ static inline void tpd_ld_4(uint32_t on, uint32_t at, uint4 *item) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.shared.u32 %0, [%2]; }" : "+r"(item->x) : "r"(on), "r"(at));
}
__device__ static inline void tpd_ld_8(uint32_t on, uint32_t at, uint4 *item) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.shared.v2.u32 {%0, %1}, [%3]; }"
                 : "+r"(item->x), "+r"(item->y)
                 : "r"(on), "r"(at));
}
__device__ static inline void tpd_ld_16(uint32_t on, uint32_t at, uint4 *item) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; @p ld.shared.v4.u32 {%0, %1, %2, %3}, [%5]; }"
                 : "+r"(item->x), "+r"(item->y), "+r"(item->z), "+r"(item->w)
                 : "r"(on), "r"(at));
}
__device__ static inline void tpd_st_1(uint32_t on, uint32_t at, uint4 *item) {
    asm volatile(PRED "st.shared.u8 [%1], %2; }" ::"r"(on), "r"(at), "r"(item->x));
}
__device__ static inline void tpd_st_2(uint32_t on, uint32_t at, uint4 *item) {
    asm volatile(PRED "st.shared.u16 [%1], %2; }" ::"r"(on), "r"(at), "h"(static_cast<uint16_t>(item->x)));
}
__device__ static inline void tpd_st_4(uint32_t on, uint32_t at, uint4 *item) {
    asm volatile(PRED "st.shared.u32 [%1], %2; }" ::"r"(on), "r"(at), "r"(item->x));
}
__device__ static inline void tpd_st_8(uint32_t on, uint32_t at, uint4 *item) {
    asm volatile(PRED "st.shared.v2.u32 [%1], {%2, %3}; }" ::"r"(on), "r"(at), "r"(item->x), "r"(item->y));
}
__device__ static inline void tpd_st_16(uint32_t on, uint32_t at, uint4 *item) {
    asm volatile(PRED "st.shared.v4.u32 [%1], {%2, %3, %4, %5}; }" ::"r"(on), "r"(at), "r"(item->x), "r"(item->y), "r"(item->z),
                 "r"(item->w));
}

/* Matrices know no predicate: the whole warp takes part, and lanes past the last row give addresses that nobody reads.
 * The instructions came with 7.5 and 9.0: below, a kernel makes none, and bank_probe says so instead of launching it. */
#if __CUDA_ARCH__ >= 750
#define LDMATRIX(text, ...) asm volatile("ldmatrix.sync.aligned.m8n8." text:__VA_ARGS__ : "r"(at))
#else
#define LDMATRIX(text, ...) (void)at, (void)item
#endif
#if __CUDA_ARCH__ >= 900
#define STMATRIX(text, ...) asm volatile("stmatrix.sync.aligned.m8n8." text ::"r"(at), __VA_ARGS__)
#else
#define STMATRIX(text, ...) (void)at, (void)item
#endif
__device__ static inline void tpd_ldmatrix_1(uint32_t, uint32_t at, uint4 *item) {
    LDMATRIX("x1.shared.b16 {%0}, [%1];", "=r"(item->x));
}
__device__ static inline void tpd_ldmatrix_2(uint32_t, uint32_t at, uint4 *item) {
    LDMATRIX("x2.shared.b16 {%0, %1}, [%2];", "=r"(item->x), "=r"(item->y));
}
__device__ static inline void tpd_ldmatrix_4(uint32_t, uint32_t at, uint4 *item) {
    LDMATRIX("x4.shared.b16 {%0, %1, %2, %3}, [%4];", "=r"(item->x), "=r"(item->y), "=r"(item->z), "=r"(item->w));
}
__device__ static inline void tpd_stmatrix_1(uint32_t, uint32_t at, uint4 *item) {
    STMATRIX("x1.shared.b16 [%0], {%1};", "r"(item->x));
}
__device__ static inline void tpd_stmatrix_2(uint32_t, uint32_t at, uint4 *item) {
    STMATRIX("x2.shared.b16 [%0], {%1, %2};", "r"(item->x), "r"(item->y));
}
__device__ static inline void tpd_stmatrix_4(uint32_t, uint32_t at, uint4 *item) {
    STMATRIX("x4.shared.b16 [%0], {%1, %2, %3, %4};", "r"(item->x), "r"(item->y), "r"(item->z), "r"(item->w));
}

#define PROBE_KERNEL(access)                                                                                             \
    extern "C" __global__ void __launch_bounds__(TPD_WARP) bank_##access(const struct tpd_probe probe, uint32_t *sink) { \
        const uint32_t lane = threadIdx.x, on = probe.active >> lane & 1;                                                \
        uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(tpd_probe_arena)) + probe.address[lane];            \
        uint4 item = make_uint4(0, 0, 0, 0), sum = item;                                                                 \
        _Pragma("unroll 1") for (uint32_t round = 0; round < probe.repeats; round++, at += probe.step) {                 \
            tpd_##access(on, at, &item);                                                                                 \
            sum.x += item.x, sum.y += item.y, sum.z += item.z, sum.w += item.w;                                          \
        }                                                                                                                \
        if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 0x9e3779b9u) /* so that a load is for something */                        \
            *sink = sum.x;                                                                                               \
    }
PROBE_KERNEL(ld_1)
PROBE_KERNEL(ld_2)
PROBE_KERNEL(ld_4)
PROBE_KERNEL(ld_8)
PROBE_KERNEL(ld_16)
PROBE_KERNEL(st_1)
PROBE_KERNEL(st_2)
PROBE_KERNEL(st_4)
PROBE_KERNEL(st_8)
PROBE_KERNEL(st_16)
PROBE_KERNEL(ldmatrix_1)
PROBE_KERNEL(ldmatrix_2)
PROBE_KERNEL(ldmatrix_4)
PROBE_KERNEL(stmatrix_1)
PROBE_KERNEL(stmatrix_2)
PROBE_KERNEL(stmatrix_4)

#endif
