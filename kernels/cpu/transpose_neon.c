/* transpose_neon.c -- the inner loops in NEON registers, which every arm64 processor has. */
#include "kernels/cpu/cpu.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define PART uint8x16_t

INLINE uint8x16_t unpack_low_1(size_t size, uint8x16_t a, uint8x16_t b) {
    switch (size) {
    case 1:
        return vzip1q_u8(a, b);
    case 2:
        return vreinterpretq_u8_u16(vzip1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
    case 4:
        return vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
    default:
        return vreinterpretq_u8_u64(vzip1q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
    }
}

INLINE uint8x16_t unpack_high_1(size_t size, uint8x16_t a, uint8x16_t b) {
    switch (size) {
    case 1:
        return vzip2q_u8(a, b);
    case 2:
        return vreinterpretq_u8_u16(vzip2q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
    case 4:
        return vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
    default:
        return vreinterpretq_u8_u64(vzip2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
    }
}

INLINE uint8x16_t load_part(const unsigned char *src) {
    return vld1q_u8(src);
}

INLINE void store_part(unsigned char *dst, uint8x16_t part) {
    vst1q_u8(dst, part);
}

INLINE void store_half(unsigned char *dst, uint8x16_t part) {
    vst1_u8(dst, vget_low_u8(part));
}

INLINE uint8x16_t shuffle(uint8x16_t part, uint8x16_t places) {
    return vqtbl1q_u8(part, places);
}

#include "kernels/cpu/fill_one_lane.h"

#include "kernels/cpu/fill_narrow.h"

INLINE void fill(const struct tpd_cpu_block *block, size_t size) {
    if (size > 4 || !fill_narrow(block, size))
        fill_1(block, size);
}

#include "kernels/cpu/fill_sizes.h"

#include "kernels/cpu/fill_odd.h"

/* Pairs stored with a hint that nobody reads them soon. Compilers have no common name for it; order among threads is that of
 * any other store, so there is nothing to publish. */
INLINE void line_out(unsigned char *dst, const unsigned char *src, bool stream) {
    for (size_t i = 0; i < TPD_CPU_LINE; i += 32) {
        uint8x16_t low = vld1q_u8(src + i), high = vld1q_u8(src + i + 16);
        if (stream) {
            __asm__ volatile("stnp %q0, %q1, [%2]" : : "w"(low), "w"(high), "r"(dst + i) : "memory");
        } else {
            vst1q_u8(dst + i, low);
            vst1q_u8(dst + i + 16, high);
        }
    }
}

#include "kernels/cpu/leave.h"

static void publish(void) {}

const struct tpd_cpu_ops tpd_cpu_neon = {"neon", 16, FILL_SIZES, fill_odd, leave, copy_lines, trade, publish};

#endif
