/* number_float.c -- float16, bfloat16 and both float8 types, rounded once.
 *
 * Text -> double -> narrow would round twice. The double decides unless it lies on a midpoint between two narrow values;
 * then the text is compared with that midpoint, digit by digit. Midpoints have few digits, so this is exact and rare.
 */
#include "server/codec/number_float.h"

#include <math.h>
#include <string.h>

#include "server/codec/number_text.h"

static const struct layout {
    int fraction_bits, exponent_bits, bias;
    bool infinite;    /* the top exponent is infinity and NaN; else only all ones is NaN */
    uint32_t largest; /* finite */
} layouts[TPD_DTYPE_COUNT] = {
    [TPD_DTYPE_FLOAT16] = {10, 5, 15, true, 0x7bff},
    [TPD_DTYPE_BFLOAT16] = {7, 8, 127, true, 0x7f7f},
    [TPD_DTYPE_FLOAT8_E4M3] = {3, 4, 7, false, 0x7e}, /* as OCP defines it: no infinity, NaN = 0x7f */
    [TPD_DTYPE_FLOAT8_E5M2] = {2, 5, 15, true, 0x7b},
};

bool tpd_float_is_narrow(enum tpd_dtype dtype) {
    return layouts[dtype].exponent_bits != 0;
}

static uint32_t sign_bit(const struct layout *l) {
    return 1u << (l->fraction_bits + l->exponent_bits);
}

uint32_t tpd_float_nan(enum tpd_dtype dtype) {
    const struct layout *l = &layouts[dtype];
    return l->infinite ? l->largest + 1 + (1u << (l->fraction_bits - 1)) : l->largest + 1;
}

bool tpd_float_infinity(enum tpd_dtype dtype, bool negative, uint32_t *bits) {
    const struct layout *l = &layouts[dtype];
    *bits = (l->largest + 1) | (negative ? sign_bit(l) : 0);
    return l->infinite;
}

double tpd_float_widen(enum tpd_dtype dtype, uint32_t bits) {
    const struct layout *l = &layouts[dtype];
    uint32_t magnitude = bits & (sign_bit(l) - 1), fraction = magnitude & ((1u << l->fraction_bits) - 1);
    int exponent = (int)(magnitude >> l->fraction_bits);
    double value;
    if (magnitude > l->largest)
        value = l->infinite && magnitude == l->largest + 1 ? (double)INFINITY : (double)NAN;
    else if (exponent == 0)
        value = ldexp(fraction, 1 - l->bias - l->fraction_bits);
    else
        value = ldexp(fraction + (1u << l->fraction_bits), exponent - l->bias - l->fraction_bits);
    return (bits & sign_bit(l)) != 0 ? -value : value;
}

enum { POINT_MOST = 1000000000 }; /* an exponent past this is as good as this; no text is as long */

void tpd_decimal_read(const char *text, size_t bytes, struct tpd_decimal *d) {
    const char *at = text, *end = text + bytes, *last = NULL;
    memset(d, 0, sizeof *d);
    d->negative = at < end && *at == '-';
    at += d->negative;
    d->text = at;
    int64_t whole = 0, leading = 0; /* digits before the point from the first that counts; zeros behind it before that */
    bool point = false;
    uint64_t digits = 0;
    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        if (d->first == NULL && *at != '0')
            d->first = at;
        if (d->first == NULL) {
            leading += point;
            continue;
        }
        whole += !point;
        digits++;
        if (*at != '0') {
            last = at;
            d->digits = digits;
        }
    }
    d->end = last != NULL ? last + 1 : at;
    int64_t exponent = 0;
    if (at < end) {
        bool negative = ++at < end && *at == '-';
        at += at < end && (*at == '-' || *at == '+');
        for (; at < end; at++)
            exponent = exponent < POINT_MOST ? exponent * 10 + (*at - '0') : POINT_MOST;
        exponent = negative ? -exponent : exponent;
    }
    d->point = (whole != 0 ? whole : -leading) + exponent;
}

int tpd_decimal_next(const struct tpd_decimal *d, const char **at) {
    if (*at < d->end && **at == '.')
        ++*at;
    return *at < d->end ? *(*at)++ - '0' : 0;
}

int tpd_decimal_compare(const struct tpd_decimal *a, const struct tpd_decimal *b) {
    if (a->first == NULL || b->first == NULL)
        return (a->first != NULL) - (b->first != NULL);
    if (a->point != b->point)
        return a->point < b->point ? -1 : 1;
    const char *at = a->first, *bt = b->first;
    uint64_t digits = a->digits > b->digits ? a->digits : b->digits;
    for (uint64_t i = 0; i < digits; i++) {
        int difference = tpd_decimal_next(a, &at) - tpd_decimal_next(b, &bt);
        if (difference != 0)
            return difference < 0 ? -1 : 1;
    }
    return 0;
}

/* Where the text lies against the double nearest to it. */
static int compare_with(double value, const char *text, size_t bytes) {
    enum { DECIMALS = 200 }; /* a midpoint of bfloat16 has up to 97 digits, the others fewer */
    char exact[DECIMALS + 10];
    struct tpd_decimal said, is;
    tpd_decimal_read(text, bytes, &said);
    tpd_decimal_read(exact, tpd_text_write_digits(value, DECIMALS, exact), &is);
    return tpd_decimal_compare(&said, &is);
}

bool tpd_float_narrow(enum tpd_dtype dtype, double value, const char *text, size_t bytes, uint32_t *bits) {
    const struct layout *l = &layouts[dtype];
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    uint32_t sign = word >> 63 != 0 ? sign_bit(l) : 0;
    int exponent = (int)(word >> 52 & 0x7ff) - 1023;
    *bits = sign;
    if (exponent < 1 - l->bias - l->fraction_bits - 2) /* under half of the least value; doubles' own subnormals too */
        return true;
    uint64_t significand = (word & 0xfffffffffffffu) | (uint64_t)1 << 52;
    int least = 1 - l->bias, scale = exponent < least ? least : exponent;
    int shift = 52 - l->fraction_bits + (scale - exponent); /* at most 52 + 2 */
    uint64_t kept = significand >> shift, rest = significand & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
    bool up = rest > half;
    if (rest == half) {
        int side = compare_with(fabs(value), text, bytes);
        up = side > 0 || (side == 0 && (kept & 1) != 0);
    }
    /* kept has the hidden bit, and a carry out of the fraction moves into the exponent: so this is right for subnormals too. */
    uint64_t magnitude = ((uint64_t)(scale + l->bias - 1) << l->fraction_bits) + kept + up;
    if (magnitude > l->largest)
        return false;
    *bits = sign | (uint32_t)magnitude;
    return true;
}
