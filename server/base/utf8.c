/* utf8.c -- decodes one character, and refuses everything that Unicode does not call well-formed. */
#include "server/base/utf8.h"

size_t tpd_utf8_next(const unsigned char *text, uint32_t *code) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80 ? 1 : text[0] >> 5 == 6 ? 2 : text[0] >> 4 == 14 ? 3 : text[0] >> 3 == 30 ? 4 : 0;
    if (length <= 1) {
        *code = text[0];
        return length;
    }
    uint32_t value = text[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) { /* the final NUL is no continuation, so this stops in time */
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (text[i] & 0x3fu);
    }
    if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code = value;
    return length;
}
