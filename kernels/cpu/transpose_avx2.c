/* transpose_avx2.c -- the inner loops in AVX2 registers. Compiled with -mavx2, called only where the processor has it.
 *
 * One network for all five item sizes. V = 16 / itemsize items fill a 128-bit lane. A register takes V items of row i in
 * its low lane and of row i + V in its high lane; log2(V) rounds of unpack transpose both lanes' V x V blocks at once,
 * and each register then holds 2V items, 32 bytes, of one output row. Integer moves only: every bit pattern survives.
 */
#include "kernels/cpu/cpu.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE __m256i unpack_low(size_t size, __m256i a, __m256i b) {
    switch (size) {
    case 1:
        return _mm256_unpacklo_epi8(a, b);
    case 2:
        return _mm256_unpacklo_epi16(a, b);
    case 4:
        return _mm256_unpacklo_epi32(a, b);
    default:
        return _mm256_unpacklo_epi64(a, b);
    }
}

INLINE __m256i unpack_high(size_t size, __m256i a, __m256i b) {
    switch (size) {
    case 1:
        return _mm256_unpackhi_epi8(a, b);
    case 2:
        return _mm256_unpackhi_epi16(a, b);
    case 4:
        return _mm256_unpackhi_epi32(a, b);
    default:
        return _mm256_unpackhi_epi64(a, b);
    }
}

/* Interleaving register i with register i + V/2 moves one bit of the row number into the place within the lane;
 * after log2(V) rounds all of them are there. */
INLINE void network(size_t size, __m256i *a) {
    const size_t v = 16 / size;
    __m256i b[16];
#pragma GCC unroll 4
    for (size_t round = 1; round < v; round *= 2) {
#pragma GCC unroll 8
        for (size_t i = 0; i < v / 2; i++) {
            b[2 * i] = unpack_low(size, a[i], a[i + v / 2]);
            b[2 * i + 1] = unpack_high(size, a[i], a[i + v / 2]);
        }
#pragma GCC unroll 16
        for (size_t i = 0; i < v; i++)
            a[i] = b[i];
    }
}

INLINE __m128i load(const unsigned char *src) {
    return _mm_loadu_si128((const __m128i *)(const void *)src);
}

/* The last bytes of the input, where 16 are no longer there. */
INLINE __m128i load_end(const unsigned char *src, const unsigned char *end) {
    unsigned char whole[16] = {0};
    memcpy(whole, src, (size_t)(end - src) < 16 ? (size_t)(end - src) : 16);
    return load(whole);
}

/* 2V x V items, less at the edges: rows past the last are read from the last one and land in the slack,
 * columns past the last are not stored. near_end: a read of 16 bytes could leave the input. */
INLINE void micro(size_t size, unsigned char *dst, size_t dst_pitch, const unsigned char *src, size_t src_pitch, size_t rows,
                  size_t cols, const unsigned char *near_end) {
    const size_t v = 16 / size;
    __m256i a[16];
#pragma GCC unroll 16
    for (size_t i = 0; i < v; i++) {
        const unsigned char *low = src + (rows < 2 * v && i >= rows ? rows - 1 : i) * src_pitch;
        const unsigned char *high = src + (rows < 2 * v && i + v >= rows ? rows - 1 : i + v) * src_pitch;
        if (near_end != NULL)
            a[i] = _mm256_set_m128i(load_end(high, near_end), load_end(low, near_end));
        else
            a[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(load(low)), load(high), 1);
    }
    network(size, a);
#pragma GCC unroll 16
    for (size_t i = 0; i < v; i++)
        if (i < cols)
            _mm256_storeu_si256((__m256i *)(void *)(dst + i * dst_pitch), a[i]);
}

/* The last row group first: what it writes past its rows is then overwritten by the next tile row's own items,
 * or lies in the slack. */
INLINE void fill(const struct tpd_cpu_block *block, size_t size) {
    const size_t v = 16 / size, src_pitch = block->src_pitch, dst_pitch = block->dst_pitch, cols = block->cols;
    for (size_t group = (block->rows + 2 * v - 1) / (2 * v); group-- > 0;) {
        const size_t r = group * 2 * v, rows = block->rows - r;
        const unsigned char *src = block->src + r * src_pitch;
        unsigned char *dst = block->dst + r * size;
        size_t c = 0;
        if (rows >= 2 * v)
            for (; c + v <= cols; c += v)
                micro(size, dst + c * dst_pitch, dst_pitch, src + c * size, src_pitch, 2 * v, v, NULL);
        else
            for (; c + v <= cols; c += v)
                micro(size, dst + c * dst_pitch, dst_pitch, src + c * size, src_pitch, rows, v, NULL);
        if (c == cols)
            continue;
        const size_t last = (rows < 2 * v ? rows : 2 * v) - 1;
        const bool near_end = (size_t)(block->src_end - (src + c * size)) < last * src_pitch + 16;
        if (near_end)
            micro(size, dst + c * dst_pitch, dst_pitch, src + c * size, src_pitch, rows, cols - c, block->src_end);
        else
            micro(size, dst + c * dst_pitch, dst_pitch, src + c * size, src_pitch, rows, cols - c, NULL);
    }
}

static void fill_1(const struct tpd_cpu_block *block) {
    fill(block, 1);
}
static void fill_2(const struct tpd_cpu_block *block) {
    fill(block, 2);
}
static void fill_4(const struct tpd_cpu_block *block) {
    fill(block, 4);
}
static void fill_8(const struct tpd_cpu_block *block) {
    fill(block, 8);
}
static void fill_16(const struct tpd_cpu_block *block) {
    fill(block, 16);
}

static void lines(unsigned char *dst, const unsigned char *src, size_t bytes, bool stream) {
    for (size_t i = 0; i < bytes; i += TPD_CPU_LINE) {
        __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)(src + i));
        __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(src + i + 32));
        if (stream) {
            _mm256_stream_si256((__m256i *)(void *)(dst + i), low);
            _mm256_stream_si256((__m256i *)(void *)(dst + i + 32), high);
        } else {
            _mm256_store_si256((__m256i *)(void *)(dst + i), low);
            _mm256_store_si256((__m256i *)(void *)(dst + i + 32), high);
        }
    }
}

static void publish(void) {
    _mm_sfence();
}

const struct tpd_cpu_ops tpd_cpu_avx2 = {"avx2", {fill_1, fill_2, fill_4, fill_8, fill_16}, lines, publish};

#endif
