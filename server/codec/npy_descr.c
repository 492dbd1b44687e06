/* npy_descr.c -- numpy's type strings: a byte-order mark, a kind, a size. */
#include <inttypes.h>
#include <string.h>

#include "server/codec/npy_header.h"

/* The size behind the kind: decimal digits, then nothing but a unit in brackets where the kind has one. 0 = none. */
static uint64_t size_of(const char *digits, bool unit) {
    uint64_t size = 0;
    const char *at = digits;
    for (; *at >= '0' && *at <= '9' && size < 100000; at++)
        size = size * 10 + (uint64_t)(*at - '0');
    if (unit && *at == '[') {
        at += 1 + strspn(at + 1, "0123456789YMWDhmsunpfa/");
        if (at[0] == ']' && at[1] == '\0')
            at++;
    }
    return *at == '\0' && *digits != '0' ? size : 0;
}

enum tpd_status tpd_npy_descr(const char *descr, enum tpd_dtype *dtype, uint32_t *itemsize, bool *big_endian,
                              struct tpd_error *error) {
    const char *kind = descr;
    char mark = '|';
    if (*kind != '\0' && strchr("<>|=", *kind) != NULL)
        mark = *kind++;
    if (*kind == 'O')
        return tpd_fail(error, TPD_UNSUPPORTED, "descr '%s': Python objects can't be moved as bytes; save with a numeric dtype",
                        descr);
    *big_endian = false;
    /* V1 stays opaque: both float8 types are written so, and only the client knows which it has. */
    for (int i = 0; i < TPD_DTYPE_OPAQUE; i++)
        if (strcmp(tpd_dtype_npy((enum tpd_dtype)i), kind) == 0 && strcmp(kind, "V1") != 0) {
            *dtype = (enum tpd_dtype)i;
            *itemsize = tpd_dtype_itemsize(*dtype);
            *big_endian = mark == '>' && *itemsize > 1 && *kind != 'V';
            return TPD_OK;
        }
    uint64_t size = 0;
    bool swaps = true;
    switch (*kind) {
    case 'V':
    case 'S':
        size = size_of(kind + 1, false);
        swaps = false;
        break;
    case 'U': /* UCS-4 */
        size = 4 * size_of(kind + 1, false);
        break;
    case 'm':
    case 'M':
        size = size_of(kind + 1, true) == 8 ? 8 : 0;
        break;
    case 'f': /* long double, as the machine that wrote it has it */
        size = size_of(kind + 1, false);
        size = size == 12 || size == 16 ? size : 0;
        break;
    case 'c':
        size = size_of(kind + 1, false);
        size = size == 24 || size == 32 ? size : 0;
        break;
    default:
        break;
    }
    if (size > TPD_ITEMSIZE_MOST)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, TPD_ITEMSIZE_MOST, size,
                              "descr '%s' has %" PRIu64 " bytes an item, the most is %d", descr, size, TPD_ITEMSIZE_MOST);
    if (size == 0)
        return tpd_fail(error, TPD_UNKNOWN_DTYPE,
                        "descr '%s' is no item type that is known here; use one such as '<f4', '<i8', '|b1', '<c16' or '|V12'",
                        descr);
    *dtype = TPD_DTYPE_OPAQUE;
    *itemsize = (uint32_t)size;
    *big_endian = swaps && mark == '>';
    return TPD_OK;
}
