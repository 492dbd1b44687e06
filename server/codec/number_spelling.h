/* number_spelling.h -- the words and the pairs of a cell's text, in each format's spelling. Pure. */
#ifndef TPD_NUMBER_SPELLING_H
#define TPD_NUMBER_SPELLING_H

#include "server/codec/number.h"

/* PLAIN and MARKET: without the quotes and the blanks round a cell, and without the '+' before a number. */
void tpd_spelling_trim(const char **text, size_t *bytes);

enum tpd_word {
    TPD_WORD_NONE,
    TPD_WORD_NULL,
    TPD_WORD_TRUE,
    TPD_WORD_FALSE,
    TPD_WORD_NAN,
    TPD_WORD_INFINITY,
    TPD_WORD_MINUS_INFINITY
};
enum tpd_word tpd_spelling_word(enum tpd_spelling spelling, const char *text, size_t bytes);

/* The two parts of a complex cell, trimmed; NULL: a part that is not there, and is 0. */
struct tpd_pair {
    const char *re, *im;
    size_t re_bytes, im_bytes;
};
bool tpd_spelling_pair(enum tpd_spelling spelling, const char *text, size_t bytes, struct tpd_pair *pair);

#endif
