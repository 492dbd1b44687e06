/* codec_accept.c -- Accept (RFC 9110, 12.5.1): which format the answer has.
 *
 * One pass over the header for each format; what can't be read is passed over, as a hostile or sloppy list must not
 * hide the part of it that is fine.
 */
#include <string.h>
#include <strings.h>

#include "server/codec/codec_internal.h"

enum { RANGES_MOST = 256 }; /* elements looked at; no honest client names more types */

struct range {
    const char *type;
    size_t type_bytes;
    int q;           /* thousandths */
    bool parameters; /* besides q: a closer match than the bare type */
};

static bool token_byte(unsigned char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte != '\0' && strchr("!#$%&'*+-.^_`|~", byte) != NULL);
}

static const char *skip_space(const char *at) {
    return at + strspn(at, " \t");
}

/* Behind the element: the comma, or the end. Commas in quoted strings do not count. */
static const char *skip_element(const char *at) {
    bool quoted = false;
    for (; *at != '\0' && (quoted || *at != ','); at++) {
        if (*at == '"')
            quoted = !quoted;
        else if (*at == '\\' && quoted && at[1] != '\0')
            at++;
    }
    return at;
}

/* 0, 1, 0.5, 1.000: at most three decimals. -1 when it is none of these. */
static int read_q(const char *at, size_t bytes) {
    if (bytes < 1 || bytes > 5 || (at[0] != '0' && at[0] != '1') || (bytes > 1 && at[1] != '.'))
        return -1;
    int q = (at[0] - '0') * 1000;
    for (size_t i = 2, weight = 100; i < bytes; i++, weight /= 10) {
        if (at[i] < '0' || at[i] > '9')
            return -1;
        q += (at[i] - '0') * (int)weight;
    }
    return q <= 1000 ? q : -1;
}

/* One parameter at *at, which stands behind its semicolon. False when it is no parameter. */
static bool read_parameter(const char **at, struct range *range) {
    const char *name = skip_space(*at), *end = name;
    if (*name == ';' || *name == ',' || *name == '\0') { /* an empty one is allowed */
        *at = name;
        return true;
    }
    while (token_byte((unsigned char)*end))
        end++;
    if (end == name || *end != '=')
        return false;
    const char *value = end + 1, *stop = value;
    if (*value == '"') {
        for (stop++; *stop != '"'; stop++)
            if (*stop == '\0' || (*stop == '\\' && *++stop == '\0'))
                return false;
        stop++;
    } else {
        while (token_byte((unsigned char)*stop))
            stop++;
        if (stop == value)
            return false;
    }
    if (end - name == 1 && (*name == 'q' || *name == 'Q')) {
        range->q = read_q(value, (size_t)(stop - value));
        if (range->q < 0)
            return false;
    } else {
        range->parameters = true;
    }
    *at = skip_space(stop);
    return true;
}

/* The element at `at`, which ends at `end`. False when it is no media range. */
static bool read_range(const char *at, const char *end, struct range *range) {
    range->type = at = skip_space(at);
    range->q = 1000;
    range->parameters = false;
    int slashes = 0;
    while (at < end && (token_byte((unsigned char)*at) || *at == '/'))
        slashes += *at++ == '/';
    range->type_bytes = (size_t)(at - range->type);
    if (slashes != 1 || *range->type == '/' || at[-1] == '/')
        return false;
    at = skip_space(at);
    while (at < end && *at == ';') {
        at++;
        if (!read_parameter(&at, range))
            return false;
    }
    return at == end;
}

/* How closely the range names the type: 0 not at all, 1 any, 2 any of its family, 3 itself, 4 itself with parameters. */
static int closeness(const struct range *range, const char *type) {
    size_t family = strcspn(type, "/") + 1;
    if (range->type_bytes == 3 && memcmp(range->type, "*/*", 3) == 0)
        return 1;
    if (range->type_bytes == family + 1 && range->type[family] == '*' && strncasecmp(range->type, type, family) == 0)
        return 2;
    if (range->type_bytes == strlen(type) && strncasecmp(range->type, type, range->type_bytes) == 0)
        return range->parameters ? 4 : 3;
    return 0;
}

/* What the header gives that type, in thousandths; the closest range decides. */
static int quality(const char *accept, const char *type) {
    int best = 0, q = 0;
    const char *at = accept;
    for (int seen = 0; seen < RANGES_MOST; seen++) {
        const char *end = skip_element(at);
        struct range range;
        if (read_range(at, end, &range)) {
            int close = closeness(&range, type);
            if (close > best || (close == best && close != 0 && range.q > q)) {
                best = close;
                q = range.q;
            }
        }
        if (*end == '\0')
            break;
        at = end + 1;
    }
    return q;
}

enum tpd_codec_id tpd_codec_accept(const char *accept, enum tpd_codec_id same) {
    /* A list of nothing is no list (RFC 9110, 5.6.1): anything is welcome. */
    if (accept == NULL || accept[strspn(accept, " \t,")] == '\0')
        return same;
    enum tpd_codec_id best = TPD_CODEC_COUNT;
    int best_q = 0;
    for (int i = 0; i < TPD_CODEC_COUNT; i++) {
        int q = quality(accept, tpd_codec_type((enum tpd_codec_id)i));
        if (q > best_q || (q == best_q && q != 0 && i == (int)same)) {
            best = (enum tpd_codec_id)i;
            best_q = q;
        }
    }
    return best;
}
