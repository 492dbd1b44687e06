/* value.h -- sizes, durations and words: text to number and back. Pure. */
#ifndef TPD_VALUE_H
#define TPD_VALUE_H

#include <stdbool.h>
#include <stdint.h>

enum { TPD_VALUE_BYTES = 32 }; /* room for any printed size or duration */

/* The whole text and nothing else: no sign, no space, no fraction, no overflow. False otherwise. */
bool tpd_value_parse_uint(const char *text, uint64_t *value);
bool tpd_value_parse_bytes(const char *text, uint64_t *value); /* digits, then nothing or B KiB MiB GiB TiB */
bool tpd_value_parse_time(const char *text, uint64_t *value);  /* digits and ns us ms s m h; a plain 0 needs no unit */
bool tpd_value_parse_word(const char *text, const char *words, uint32_t *index); /* words: "a|b|c" */

/* In the largest unit that says it exactly; reads back to the same number. */
void tpd_value_print_bytes(uint64_t value, char text[TPD_VALUE_BYTES]);
void tpd_value_print_time(uint64_t value, char text[TPD_VALUE_BYTES]);
/* Word number index of words; its length in *length. */
const char *tpd_value_word(const char *words, uint32_t index, int *length);

#endif
