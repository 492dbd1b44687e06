/* registers_x86.h -- 128-bit and 256-bit registers for fill_network.h and fill_narrow.h, as every x86 with AVX2 has them. */
#ifndef TPD_REGISTERS_X86_H
#define TPD_REGISTERS_X86_H

#include <immintrin.h>
#include <string.h>

#include "kernels/cpu/cpu.h"

#define INLINE static inline __attribute__((always_inline))
#define PART __m128i

/* Unpack by item size, of the register that BITS and PREFIX name. */
#define UNPACK(NAME, VECTOR, PREFIX, HALF)                \
    INLINE VECTOR NAME(size_t size, VECTOR a, VECTOR b) { \
        switch (size) {                                   \
        case 1:                                           \
            return PREFIX##_unpack##HALF##_epi8(a, b);    \
        case 2:                                           \
            return PREFIX##_unpack##HALF##_epi16(a, b);   \
        case 4:                                           \
            return PREFIX##_unpack##HALF##_epi32(a, b);   \
        default:                                          \
            return PREFIX##_unpack##HALF##_epi64(a, b);   \
        }                                                 \
    }
UNPACK(unpack_low_1, __m128i, _mm, lo)
UNPACK(unpack_high_1, __m128i, _mm, hi)
UNPACK(unpack_low_2, __m256i, _mm256, lo)
UNPACK(unpack_high_2, __m256i, _mm256, hi)

INLINE __m128i load_part(const unsigned char *src) {
    return _mm_loadu_si128((const __m128i *)(const void *)src);
}

INLINE void store_part(unsigned char *dst, __m128i part) {
    _mm_storeu_si128((__m128i *)(void *)dst, part);
}

INLINE void store_half(unsigned char *dst, __m128i part) {
    _mm_storel_epi64((__m128i *)(void *)dst, part);
}

INLINE __m128i shuffle(__m128i part, __m128i places) {
    return _mm_shuffle_epi8(part, places);
}

INLINE __m256i with_lane_2(__m256i vector, size_t lane, __m128i part) {
    return lane == 0 ? _mm256_castsi128_si256(part) : _mm256_inserti128_si256(vector, part, 1);
}

INLINE void store_2(unsigned char *dst, __m256i vector, size_t bytes) {
    (void)bytes;
    _mm256_storeu_si256((__m256i *)(void *)dst, vector);
}

#include "kernels/cpu/fill_one_lane.h"

#define LANES 2
#define VECTOR __m256i
#define NET(name) name##_2
#include "kernels/cpu/fill_network.h"

#include "kernels/cpu/fill_narrow.h"

#endif
