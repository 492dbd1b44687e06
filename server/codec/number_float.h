/* number_float.h -- the narrow floats by bit pattern, and decimals compared exactly. Pure. */
#ifndef TPD_NUMBER_FLOAT_H
#define TPD_NUMBER_FLOAT_H

#include "transposed/matrix.h"

/* A decimal as its digits without zeros at either end, and where the point lies: 0.DDDD x 10^point. */
struct tpd_decimal {
    const char *text, *end; /* of the significand */
    const char *first;      /* first digit that isn't 0; NULL when the value is zero */
    uint64_t digits;        /* significant ones, up to the last that isn't 0 */
    int64_t point;
    bool negative;
};
/* The text is a JSON number. */
void tpd_decimal_read(const char *text, size_t bytes, struct tpd_decimal *decimal);
/* Its nth significant digit, 0 .. 9; decimal is walked: *at starts as decimal->first. */
int tpd_decimal_next(const struct tpd_decimal *decimal, const char **at);
/* |a| against |b|: -1, 0, 1. */
int tpd_decimal_compare(const struct tpd_decimal *a, const struct tpd_decimal *b);

/* Is the dtype one of the four that C has no type for? */
bool tpd_float_is_narrow(enum tpd_dtype dtype);
/* Every narrow value is a double. */
double tpd_float_widen(enum tpd_dtype dtype, uint32_t bits);
/* The nearest value to the text, whose nearest double is `value`. False when it is past the largest finite one. */
bool tpd_float_narrow(enum tpd_dtype dtype, double value, const char *text, size_t bytes, uint32_t *bits);
uint32_t tpd_float_nan(enum tpd_dtype dtype);
/* False when the type has no infinity. */
bool tpd_float_infinity(enum tpd_dtype dtype, bool negative, uint32_t *bits);

#endif
