/* json_scan.h -- strict JSON (RFC 8259) one token at a time, without a copy and without a tree.
 *
 * The text lies in a block with TPD_TEXT_PAD zero bytes behind it: a zero byte is legal nowhere in JSON, so every loop
 * ends there by itself and nothing looks at a length.
 */
#ifndef TPD_JSON_SCAN_H
#define TPD_JSON_SCAN_H

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "server/codec/codec_internal.h"

struct tpd_json_scan {
    const unsigned char *text, *end; /* *end is the first pad byte */
    struct tpd_error *error;         /* never NULL */
};

/* Behind the white space at `at`. */
static inline const unsigned char *tpd_json_space(const unsigned char *at) {
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    return at;
}

/* Behind the number, string, true, false or null at `at`; NULL when there is none, with error filled. */
const unsigned char *tpd_json_scalar(const struct tpd_json_scan *scan, const unsigned char *at);
const unsigned char *tpd_json_string(const struct tpd_json_scan *scan, const unsigned char *at);

/* Behind the number at `at` when it is one of fewer than 16 letters without an exponent; NULL: it may be anything, an error too.
 * Without a loop: 16 bytes are told apart in digits and others at once. */
static inline const unsigned char *tpd_json_short_number(const unsigned char *at) {
#if defined(__SSE2__)
    const __m128i bytes = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)at), _mm_set1_epi8('0'));
    /* Bit i: byte i is no digit. */
    unsigned others = ~(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(9)), bytes));
    unsigned from = *at == '-', end = from + (unsigned)__builtin_ctz(others >> from);
    if (end == from || end > 14 || (at[from] == '0' && end != from + 1))
        return NULL;
    if (at[end] == '.') {
        from = end + 1;
        end = from + (unsigned)__builtin_ctz(others >> from);
        if (end == from)
            return NULL;
    }
    return end < 16 && (at[end] | 0x20) != 'e' ? at + end : NULL;
#else
    (void)at;
    return NULL;
#endif
}

/* Fails with the place, its line and column; with TPD_TRUNCATED in place of TPD_MALFORMED when the text ends there. */
enum tpd_status tpd_json_fail(const struct tpd_json_scan *scan, enum tpd_status status, const unsigned char *at,
                              const char *format, ...) TPD_PRINTF(4, 5);

#endif
