/* utf8.h -- where the next character of untrusted text ends, for whoever prints it. */
#ifndef TPD_UTF8_H
#define TPD_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length of the well-formed sequence at text (NUL-terminated) and its code point; 0 when the byte there begins none.
 * Overlong forms, surrogates and values past U+10FFFF are not well-formed. */
size_t tpd_utf8_next(const unsigned char *text, uint32_t *code);

#endif
