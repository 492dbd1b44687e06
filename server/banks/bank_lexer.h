/* bank_lexer.h -- what cJSON lets pass and a strict reader must not: looked for in the text before it is parsed. */
#ifndef TPD_BANK_LEXER_H
#define TPD_BANK_LEXER_H

#include "transposed/status.h"

enum { TPD_BANK_DEPTH_MOST = 4 }; /* of braces and brackets: the body has three */

/* Control bytes, numbers that RFC 8259 does not know, escaped NULs, depth, an end too early. Fails with the offset. */
enum tpd_status tpd_bank_lex(const char *body, size_t bytes, struct tpd_error *error) TPD_CHECKED;

#endif
