/* number.h -- one cell's text to one item of any dtype, and back: exact both ways.
 *
 * Reading rounds once, to nearest, ties to even, whatever the width. Writing gives text that reads back as the same bits.
 * Items are little-endian, aligned or not. Opaque items have no text. Pure: no allocation, no locale.
 */
#ifndef TPD_NUMBER_H
#define TPD_NUMBER_H

#include "transposed/codec.h"

enum { TPD_NUMBER_TEXT_MOST = 64 }; /* bytes: two parts of at most 26, brackets and a comma; see number.c */

/* How a format spells what is more than digits. */
enum tpd_spelling {
    TPD_SPELLING_JSON,   /* true false null "NaN" "Infinity" "-Infinity" [re, im] */
    TPD_SPELLING_PLAIN,  /* as numpy and Python print and read it: true nan inf -inf (re+imj); any case, a '+', quotes, blanks */
    TPD_SPELLING_MARKET, /* Matrix Market: 1 nan inf -inf, and two numbers for a complex one */
};

/* Fails with TPD_MALFORMED (no number), TPD_OUT_OF_RANGE; *why is then half a sentence, static. */
enum tpd_status tpd_number_read(enum tpd_spelling spelling, enum tpd_dtype dtype, const char *text, size_t bytes, void *item,
                                const char **why) TPD_CHECKED;

/* Cells that lie in one text, until one fails: that one's number is then *failed. The fast way, for many. */
enum tpd_status tpd_number_read_cells(enum tpd_spelling spelling, enum tpd_dtype dtype, const unsigned char *text,
                                      const struct tpd_cell *cells, uint64_t count, void *items, uint64_t *failed,
                                      const char **why) TPD_CHECKED;

/* Its loop for one kind of processor: float64 as far as all cells are short plain decimals, and how many those were. Items need
 * no alignment. */
typedef uint64_t tpd_number_doubles(const unsigned char *text, const struct tpd_cell *cells, uint64_t count, double *items);
tpd_number_doubles tpd_number_doubles_avx512;
/* For tests: whether it is used, where the processor has one. */
void tpd_number_doubles_use(bool fast);

/* Answers the length, without a NUL, and may write as far as TPD_NUMBER_TEXT_MOST. 0 when the value is not finite and JSON's
 * nonfinite is TPD_NONFINITE_ERROR, or PLAIN's is TPD_NONFINITE_NULL: an empty cell. */
size_t tpd_number_write(enum tpd_spelling spelling, enum tpd_dtype dtype, const void *item, enum tpd_nonfinite nonfinite,
                        char *text);

/* What a cell's text needs at least, for a client that named no dtype. */
enum tpd_number_class {
    TPD_NUMBER_BOOL = 1,     /* true, false */
    TPD_NUMBER_SIGNED = 2,   /* negative, in int64 */
    TPD_NUMBER_SMALL = 4,    /* not negative, in int64 and uint64 */
    TPD_NUMBER_LARGE = 8,    /* in uint64 alone */
    TPD_NUMBER_REAL = 16,    /* anything else that float64 may hold */
    TPD_NUMBER_COMPLEX = 32, /* as PLAIN spells it; a JSON pair is known by its dtype */
};
enum tpd_number_class tpd_number_class(enum tpd_spelling spelling, const char *text, size_t bytes);

#endif
