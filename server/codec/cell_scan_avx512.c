/* cell_scan_avx512.c -- the scan in AVX-512 registers (BW, VL, VBMI2): a block is one register, and eight cells are made in one
 * go. Called only where the processor has it. */
#include "server/codec/cell_scan.h"

#if defined(__x86_64__)

#include <immintrin.h>

struct masks {
    uint64_t delimiter, nl, quote, cr;
};

static inline struct masks find(const unsigned char *at, unsigned char delimiter) {
    __m512i block = _mm512_loadu_si512(at);
    return (struct masks){
        _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8((char)delimiter)), _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8('\n')),
        _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8('"')), _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8('\r'))};
}

/* The numbers of the set bits, side by side as bytes, become ends of cells eight at a time; a cell begins behind the end before
 * it. Writes up to seven cells too many: a batch has the room. */
static inline void emit(struct tpd_cell *cells, uint64_t ends, uint64_t offset, uint64_t start) {
    const __m512i numbers = _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43,
                                            42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22,
                                            21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i base = _mm512_set1_epi64((long long)offset), one = _mm512_set1_epi64(1);
    __m512i places = _mm512_maskz_compress_epi8(ends, numbers);
    __m512i before = _mm512_set1_epi64((long long)start - 1);
    int count = __builtin_popcountll(ends);
    __m128i eight = _mm512_castsi512_si128(places);
    for (int i = 0;;) {
        __m512i here = _mm512_add_epi64(_mm512_cvtepu8_epi64(eight), base);
        __m512i from = _mm512_add_epi64(_mm512_alignr_epi64(here, before, 7), one);
        _mm512_storeu_si512(cells + i,
                            _mm512_add_epi64(_mm512_slli_epi64(from, TPD_CELL_LENGTH_BITS), _mm512_sub_epi64(here, from)));
        i += 8;
        if (i >= count)
            return;
        before = here;
        places = _mm512_alignr_epi64(places, places, 1);
        eight = _mm512_castsi512_si128(places);
    }
}

static inline uint64_t parity(uint64_t bits) {
    __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)bits), _mm_set1_epi8(-1), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

#define MASKS find
#define EMIT emit
#define XOR_BEFORE parity
#define NAME tpd_scan_avx512
#define LABEL "avx512"
#include "server/codec/cell_scan_loop.h"

#endif
