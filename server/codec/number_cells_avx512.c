/* number_cells_avx512.c -- eight short plain decimals at a time, to float64. Called only where the processor has AVX-512 F, BW,
 * CD, DQ and VBMI2.
 *
 * A cell's last sixteen bytes lie in two words, a lane of two registers: the point is taken out, digits become pairs, fours and
 * eights, and one division rounds once, as in number_cells.c.
 */
#include "server/codec/cell_scan.h"
#include "server/codec/number.h"

#if defined(__x86_64__)

#include <immintrin.h>

enum { LANES = 8, WINDOW = 16 };

/* Sixteen bytes a cell: the first eight of each, and the last. */
struct windows {
    __m512i first, last;
};

static inline struct windows load(const unsigned char *text, __m512i places) {
    uint64_t at[LANES];
    _mm512_storeu_si512(at, places);
    __m512i even = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)(text + at[0])));
    __m512i odd = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)(text + at[1])));
    even = _mm512_inserti64x2(even, _mm_loadu_si128((const __m128i *)(const void *)(text + at[2])), 1);
    odd = _mm512_inserti64x2(odd, _mm_loadu_si128((const __m128i *)(const void *)(text + at[3])), 1);
    even = _mm512_inserti64x2(even, _mm_loadu_si128((const __m128i *)(const void *)(text + at[4])), 2);
    odd = _mm512_inserti64x2(odd, _mm_loadu_si128((const __m128i *)(const void *)(text + at[5])), 2);
    even = _mm512_inserti64x2(even, _mm_loadu_si128((const __m128i *)(const void *)(text + at[6])), 3);
    odd = _mm512_inserti64x2(odd, _mm_loadu_si128((const __m128i *)(const void *)(text + at[7])), 3);
    return (struct windows){_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd)};
}

/* Of sixteen bytes the last bits / 8: ones there. A shift by 64 or more leaves nothing. */
static inline struct windows last_bits(__m512i bits) {
    const __m512i ones = _mm512_set1_epi64(-1), word = _mm512_set1_epi64(64), two = _mm512_set1_epi64(128);
    return (struct windows){_mm512_sllv_epi64(ones, _mm512_sub_epi64(two, bits)),
                            _mm512_sllv_epi64(ones, _mm512_sub_epi64(word, _mm512_min_epu64(bits, word)))};
}

/* Eight digits a lane, the first in the lowest byte, to their value. */
static inline __m512i value_of_eight(__m512i digits) {
    __m512i pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(1 << 8 | 10));
    __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(1 << 16 | 100));
    return _mm512_add_epi64(_mm512_mul_epu32(fours, _mm512_set1_epi64(10000)), _mm512_srli_epi64(fours, 32));
}

/* Where one of the eight is no short plain decimal: false. */
static inline bool read_eight(const unsigned char *text, const struct tpd_cell *cells, double *items) {
    const __m512i window = _mm512_set1_epi64(WINDOW), one_byte = _mm512_set1_epi64(8), letter = _mm512_set1_epi64(0xff);
    const __m512i zero = _mm512_setzero_si512(), nine = _mm512_set1_epi8(9);
    const __m512d low_powers = _mm512_setr_pd(1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7);
    const __m512d high_powers = _mm512_setr_pd(1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15);
    __m512i cell = _mm512_loadu_si512(cells);
    __m512i offset = _mm512_srli_epi64(cell, TPD_CELL_LENGTH_BITS);
    __m512i bytes = _mm512_and_si512(cell, _mm512_set1_epi64(TPD_CELL_BYTES_MOST));
    /* Too long, empty, or so near the text's start that a window would begin before it. */
    if ((_mm512_cmpgt_epu64_mask(_mm512_sub_epi64(bytes, _mm512_set1_epi64(1)), _mm512_set1_epi64(WINDOW - 1)) |
         _mm512_cmplt_epu64_mask(offset, window)) != 0)
        return false;
    struct windows w = load(text, _mm512_sub_epi64(_mm512_add_epi64(offset, bytes), window));
    __m512i bits = _mm512_slli_epi64(bytes, 3);
    /* The sign is the first of the cell's bytes; those of one word are all shifted out of the other. */
    __m512i word = _mm512_set1_epi64(64), two_words = _mm512_set1_epi64(128);
    __m512i first =
        _mm512_or_si512(_mm512_srlv_epi64(w.last, _mm512_sub_epi64(word, bits)),
                        _mm512_maskz_srlv_epi64(_mm512_cmpgt_epu64_mask(bits, word), w.first, _mm512_sub_epi64(two_words, bits)));
    __mmask8 negative = _mm512_cmpeq_epi64_mask(_mm512_and_si512(first, letter), _mm512_set1_epi64('-'));
    bits = _mm512_mask_sub_epi64(bits, negative, bits, one_byte);
    /* Bits behind the point; 128 without one. Of two, one is left, and is no digit. */
    struct windows own = last_bits(bits);
    const __m512i point = _mm512_set1_epi8('.');
    __m512i in_last = _mm512_and_si512(_mm512_movm_epi8(_mm512_cmpeq_epi8_mask(w.last, point)), own.last);
    __m512i in_first = _mm512_and_si512(_mm512_movm_epi8(_mm512_cmpeq_epi8_mask(w.first, point)), own.first);
    __m512i behind = _mm512_lzcnt_epi64(in_last);
    behind = _mm512_mask_add_epi64(behind, _mm512_testn_epi64_mask(in_last, in_last), word, _mm512_lzcnt_epi64(in_first));
    bits = _mm512_mask_sub_epi64(bits, _mm512_cmplt_epu64_mask(behind, two_words), bits, one_byte);
    /* What is before the point moves onto it. */
    struct windows stay = last_bits(behind), keep = last_bits(bits);
    const __m512i naught = _mm512_set1_epi8('0');
    enum { CHOOSE = 0xca }; /* a ? b : c, bit by bit */
    __m512i high = _mm512_ternarylogic_epi64(stay.first, w.first, _mm512_slli_epi64(w.first, 8), CHOOSE);
    __m512i low = _mm512_ternarylogic_epi64(stay.last, w.last, _mm512_shldi_epi64(w.last, w.first, 8), CHOOSE);
    high = _mm512_and_si512(_mm512_sub_epi8(high, naught), keep.first);
    low = _mm512_and_si512(_mm512_sub_epi8(low, naught), keep.last);
    if ((_mm512_cmpgt_epu8_mask(high, nine) | _mm512_cmpgt_epu8_mask(low, nine)) != 0 || _mm512_cmpeq_epi64_mask(bits, zero) != 0)
        return false;
    __m512i digits = _mm512_add_epi64(_mm512_mul_epu32(value_of_eight(high), _mm512_set1_epi64(100000000)), value_of_eight(low));
    if (_mm512_cmpgt_epu64_mask(digits, _mm512_set1_epi64((long long)1 << 53)) != 0)
        return false;
    /* The power's number is taken modulo 16: without a point it is 10^0. */
    __m512d power = _mm512_permutex2var_pd(low_powers, _mm512_srli_epi64(behind, 3), high_powers);
    __m512i value = _mm512_castpd_si512(_mm512_div_pd(_mm512_cvtepi64_pd(digits), power));
    value = _mm512_mask_or_epi64(value, negative, value, _mm512_set1_epi64((long long)((uint64_t)1 << 63)));
    _mm512_storeu_si512(items, value);
    return true;
}

uint64_t tpd_number_doubles_avx512(const unsigned char *text, const struct tpd_cell *cells, uint64_t count, double *items) {
    uint64_t done = 0;
    while (count - done >= LANES && read_eight(text, cells + done, items + done))
        done += LANES;
    return done;
}

#endif
