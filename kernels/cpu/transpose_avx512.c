/* transpose_avx512.c -- the inner loops in AVX-512 registers: a store is a whole line. Compiled with -mavx512bw and called only
 * where the processor has it. */
#include "kernels/cpu/cpu.h"

#if defined(__x86_64__)

#include "kernels/cpu/registers_x86.h"

UNPACK(unpack_low_4, __m512i, _mm512, lo)
UNPACK(unpack_high_4, __m512i, _mm512, hi)

/* A masked broadcast from memory is a load and a blend; an insert would want the one port that shuffles. */
INLINE __m512i with_lane_4(__m512i vector, size_t lane, __m128i part) {
    switch (lane) {
    case 0:
        return _mm512_castsi128_si512(part);
    case 1:
        return _mm512_mask_broadcast_i32x4(vector, 0x00f0, part);
    case 2:
        return _mm512_mask_broadcast_i32x4(vector, 0x0f00, part);
    default:
        return _mm512_mask_broadcast_i32x4(vector, 0xf000, part);
    }
}

INLINE void store_4(unsigned char *dst, __m512i vector, size_t bytes) {
    if (bytes == 64)
        _mm512_storeu_si512(dst, vector);
    else
        _mm512_mask_storeu_epi8(dst, ~(__mmask64)0 >> (64 - bytes), vector);
}

#define LANES 4
#define VECTOR __m512i
#define NET(name) name##_4
#include "kernels/cpu/fill_network.h"

INLINE void fill(const struct tpd_cpu_block *block, size_t size) {
    if (size <= 4 && fill_narrow(block, size))
        return;
    if (block->rows <= 16 / size)
        fill_1(block, size);
    else if (block->rows <= 32 / size)
        fill_2(block, size);
    else
        fill_4(block, size);
}

#include "kernels/cpu/fill_sizes.h"

#include "kernels/cpu/fill_odd.h"

/* A line past the caches in two halves: a copy by whole lines was a sixth slower, and transposes no faster. */
INLINE void line_out(unsigned char *dst, const unsigned char *src, bool stream) {
    if (stream) {
        const __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)src);
        const __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(src + 32));
        _mm256_stream_si256((__m256i *)(void *)dst, low);
        _mm256_stream_si256((__m256i *)(void *)(dst + 32), high);
    } else {
        _mm512_store_si512(dst, _mm512_loadu_si512(src));
    }
}

#include "kernels/cpu/leave.h"

static void publish(void) {
    _mm_sfence();
}

const struct tpd_cpu_ops tpd_cpu_avx512 = {"avx512", 64, FILL_SIZES, fill_odd, leave, copy_lines, trade, publish};

#endif
