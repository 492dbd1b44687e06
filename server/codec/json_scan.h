/* json_scan.h -- strict JSON (RFC 8259) one token at a time, without a copy and without a tree.
 *
 * The text lies in a block with TPD_TEXT_PAD zero bytes behind it: a zero byte is legal nowhere in JSON, so every loop
 * ends there by itself and nothing looks at a length.
 */
#ifndef TPD_JSON_SCAN_H
#define TPD_JSON_SCAN_H

#include "server/codec/codec_internal.h"

struct tpd_json_scan {
    const unsigned char *text, *end; /* *end is the first pad byte */
    struct tpd_error *error;         /* never NULL */
};

/* Behind the white space at `at`. */
static inline const unsigned char *tpd_json_space(const unsigned char *at) {
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    return at;
}

/* Behind the number, string, true, false or null at `at`; NULL when there is none, with error filled. */
const unsigned char *tpd_json_scalar(const struct tpd_json_scan *scan, const unsigned char *at);
const unsigned char *tpd_json_string(const struct tpd_json_scan *scan, const unsigned char *at);

/* Fails with the place, its line and column; with TPD_TRUNCATED in place of TPD_MALFORMED when the text ends there. */
enum tpd_status tpd_json_fail(const struct tpd_json_scan *scan, enum tpd_status status, const unsigned char *at,
                              const char *format, ...) TPD_PRINTF(4, 5);

#endif
