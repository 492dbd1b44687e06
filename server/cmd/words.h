/* words.h -- which words a value can be: what completion offers, and what `run` checks a device against. */
#ifndef TPD_WORDS_H
#define TPD_WORDS_H

#include <stdbool.h>

enum { TPD_WORD_BYTES = 32 };

/* The index-th word of a kind of value, as an option's `value` names it: the words themselves ("a|b|c"), or FORMAT, DTYPE,
 * STRATEGY, DEVICE, DEVICES, COMMAND. False when there are no more, or when the kind is free text. */
bool tpd_word_at(const char *kind, unsigned index, char word[TPD_WORD_BYTES]);

/* "auto", a back end's name, or that with ":N". Whether it is here is the engine's to find out. */
bool tpd_word_is_device(const char *text);

#endif
