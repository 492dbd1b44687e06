/* cell_scan_avx2.c -- the scan in AVX2 registers. Compiled for that, called only where the processor has it. */
#include "server/codec/cell_scan.h"

#if defined(__x86_64__)

#include <immintrin.h>

struct masks {
    uint64_t delimiter, nl, quote, cr;
};

static inline uint64_t equal(__m256i low, __m256i high, char letter) {
    const __m256i all = _mm256_set1_epi8(letter);
    uint32_t first = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, all));
    uint32_t second = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, all));
    return (uint64_t)second << 32 | first;
}

static inline struct masks find(const unsigned char *at, unsigned char delimiter) {
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)at);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(at + 32));
    return (struct masks){equal(low, high, (char)delimiter), equal(low, high, '\n'), equal(low, high, '"'),
                          equal(low, high, '\r')};
}

static inline void emit(struct tpd_cell *cells, uint64_t ends, uint64_t offset, uint64_t start) {
    for (; ends != 0; ends &= ends - 1) {
        uint64_t end = offset + (uint64_t)__builtin_ctzll(ends);
        (cells++)->place = (start << TPD_CELL_LENGTH_BITS) + (end - start);
        start = end + 1;
    }
}

/* A product without carries by all ones adds up, in each bit, those below it. */
static inline uint64_t parity(uint64_t bits) {
    __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)bits), _mm_set1_epi8(-1), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

#define MASKS find
#define EMIT emit
#define XOR_BEFORE parity
#define NAME tpd_scan_avx2
#define LABEL "avx2"
#include "server/codec/cell_scan_loop.h"

#endif
