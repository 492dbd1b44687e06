/* number.h -- one cell's text to one item of any dtype, and back: exact both ways.
 *
 * Reading rounds once, to nearest, ties to even, whatever the width. Writing gives text that reads back as the same bits.
 * Items are little-endian, aligned or not. Opaque items have no text. Pure: no allocation.
 */
#ifndef TPD_NUMBER_H
#define TPD_NUMBER_H

#include "transposed/codec.h"

enum { TPD_NUMBER_TEXT_MOST = 64 }; /* bytes: two parts of at most 26, brackets and a comma; see number.c */

/* The text is JSON's: a number, true, false, null, "NaN", "Infinity", "-Infinity", or [re, im].
 * Fails with TPD_MALFORMED (no number), TPD_OUT_OF_RANGE; *why is then half a sentence, static. */
enum tpd_status tpd_number_read(enum tpd_dtype dtype, const char *text, size_t bytes, void *item, const char **why) TPD_CHECKED;

/* Answers the length, without a NUL; 0 when the value is not finite and nonfinite is TPD_NONFINITE_ERROR. */
size_t tpd_number_write(enum tpd_dtype dtype, const void *item, enum tpd_nonfinite nonfinite, char *text);

/* What a cell's text needs at least, for a client that named no dtype. */
enum tpd_number_class {
    TPD_NUMBER_BOOL = 1,   /* true, false */
    TPD_NUMBER_SIGNED = 2, /* negative, in int64 */
    TPD_NUMBER_SMALL = 4,  /* not negative, in int64 and uint64 */
    TPD_NUMBER_LARGE = 8,  /* in uint64 alone */
    TPD_NUMBER_REAL = 16,  /* anything else that float64 may hold */
};
enum tpd_number_class tpd_number_class(const char *text, size_t bytes);

#endif
