/* cell_respell.c -- see cell_respell.h. A cell that is spelled alike in both formats stays where it is; the others are written
 * behind the text, in two readings: how long they are, then what they are. */
#include "server/codec/cell_respell.h"

#include <string.h>

#include "server/codec/cell_scan.h"
#include "server/codec/codec_internal.h"
#include "server/codec/json_scan.h"
#include "server/codec/number_spelling.h"

/* What a cell becomes: itself, or `bytes` written to `to` (counted alone where that is NULL). */
struct output {
    unsigned char *to;
    size_t bytes;
};

struct respelling {
    const struct tpd_encode_options *options;
    unsigned char delimiter; /* of the table that is made */
    bool quotes;             /* of the table that is read */
    const char *why;         /* what a cell that fails is or has */
    enum tpd_status status;
};

static void put(struct output *o, const void *bytes, size_t count) {
    if (o->to != NULL)
        memcpy(o->to + o->bytes, bytes, count);
    o->bytes += count;
}

static void put_byte(struct output *o, unsigned byte) {
    if (o->to != NULL)
        o->to[o->bytes] = (unsigned char)byte;
    o->bytes++;
}

static bool refuse(struct respelling *r, enum tpd_status status, const char *why) {
    r->status = status;
    r->why = why;
    return false;
}

static void put_utf8(struct output *o, unsigned code) {
    if (code < 0x80) {
        put_byte(o, code);
    } else if (code < 0x800) {
        put_byte(o, 0xc0 | code >> 6);
        put_byte(o, 0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        put_byte(o, 0xe0 | code >> 12);
        put_byte(o, 0x80 | (code >> 6 & 0x3f));
        put_byte(o, 0x80 | (code & 0x3f));
    } else {
        put_byte(o, 0xf0 | code >> 18);
        put_byte(o, 0x80 | (code >> 12 & 0x3f));
        put_byte(o, 0x80 | (code >> 6 & 0x3f));
        put_byte(o, 0x80 | (code & 0x3f));
    }
}

static unsigned hex(const unsigned char *at) {
    unsigned code = 0;
    for (int i = 0; i < 4; i++)
        code = code * 16 + (at[i] <= '9' ? at[i] - 48u : (at[i] | 0x20) - 87u) /* '0', and 'a' less 10 */;
    return code;
}

/* A JSON string's characters, each '"' twice where the cell has quotes. The scanner has looked at its escapes. */
static bool put_characters(struct respelling *r, const unsigned char *at, const unsigned char *end, struct output *o) {
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    while (at < end) {
        unsigned code = *at++;
        if (code != '\\') {
            put_byte(o, code);
            continue;
        }
        code = *at++;
        const char *letter = strchr(letters, (int)code);
        if (code == 'u') {
            code = hex(at);
            at += 4;
            bool is_pair = code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
                           hex(at + 2) >= 0xdc00 && hex(at + 2) < 0xe000;
            if (is_pair) {
                code = 0x10000 + ((code - 0xd800) << 10) + (hex(at + 2) - 0xdc00);
                at += 6;
            } else if (code >= 0xd800 && code < 0xe000) {
                return refuse(r, TPD_UNSUPPORTED, "has half of a surrogate pair, which is no character; correct it");
            }
        } else if (letter != NULL) {
            code = (unsigned char)meant[letter - letters];
        }
        if (code == '"')
            put_byte(o, '"');
        put_utf8(o, code);
    }
    return true;
}

/* JSON's number, or nearly: a '+' goes, a digit comes beside a bare point. NULL when it is none, as 007 is none: that is a name.
 */
static bool put_number(const unsigned char *at, size_t bytes, struct output *o, bool *stays) {
    const char *text = (const char *)at;
    size_t length = bytes;
    if (bytes == 0 || at[0] == '"')
        return false;
    tpd_spelling_trim(&text, &length);
    const unsigned char *c = (const unsigned char *)text, *end = c + length, *whole, *behind;
    bool negative = c < end && *c == '-';
    whole = behind = c + negative;
    while (behind < end && *behind >= '0' && *behind <= '9')
        behind++;
    const unsigned char *fraction = behind + (behind < end && *behind == '.'), *stop = fraction;
    while (fraction != behind && stop < end && *stop >= '0' && *stop <= '9')
        stop++;
    if ((behind == whole && stop == fraction) || (behind - whole > 1 && *whole == '0'))
        return false;
    const unsigned char *exponent = stop;
    if (exponent < end && (*exponent == 'e' || *exponent == 'E')) {
        const unsigned char *digits = exponent + 1;
        digits += digits < end && (*digits == '-' || *digits == '+');
        for (stop = digits; stop < end && *stop >= '0' && *stop <= '9';)
            stop++;
        if (stop == digits)
            return false;
    }
    if (stop != end)
        return false;
    /* ".5" and "5." are read by every program, and no JSON. */
    bool no_whole = behind == whole, no_fraction = fraction != behind && exponent == fraction;
    *stays = length == bytes && !no_whole && !no_fraction;
    if (*stays)
        return true;
    if (negative)
        put_byte(o, '-');
    if (no_whole)
        put_byte(o, '0');
    put(o, whole, (size_t)(fraction - whole));
    if (no_fraction)
        put_byte(o, '0');
    put(o, fraction, (size_t)(end - fraction));
    return true;
}

/* NaN and infinities as programs print them; "Nan" is a name. */
static enum tpd_word special_word(const unsigned char *at, size_t bytes) {
    static const char *const words[] = {"nan", "NaN", "inf", "-inf", "Inf", "-Inf", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == bytes && memcmp(words[i], at, bytes) == 0)
            return tpd_spelling_word(TPD_SPELLING_PLAIN, (const char *)at, bytes);
    return TPD_WORD_NONE;
}

static bool is_bool(const unsigned char *at, size_t bytes) {
    return (bytes == 4 && memcmp(at, "true", 4) == 0) || (bytes == 5 && memcmp(at, "false", 5) == 0);
}

/* Would the characters, bare, be another cell, or another kind of one? */
static bool wants_quotes(const struct respelling *r, const unsigned char *at, size_t bytes) {
    struct output ignored = {0};
    bool stays;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] == r->delimiter || at[i] == '"' || at[i] == '\n' || at[i] == '\r')
            return true;
    return bytes == 0 || put_number(at, bytes, &ignored, &stays) || is_bool(at, bytes) ||
           special_word(at, bytes) != TPD_WORD_NONE;
}

static bool from_json(struct respelling *r, const unsigned char *at, size_t bytes, struct output *o, bool *stays) {
    *stays = at[0] != '"' && at[0] != 'n';
    if (*stays || at[0] == 'n')
        return true;
    const unsigned char *end = at + bytes - 1;
    bool plain = memchr(at + 1, '\\', bytes - 2) == NULL && !wants_quotes(r, at + 1, bytes - 2);
    if (plain) {
        put(o, at + 1, bytes - 2);
        return true;
    }
    put_byte(o, '"');
    bool good = put_characters(r, at + 1, end, o);
    put_byte(o, '"');
    return good;
}

static bool put_special(struct respelling *r, enum tpd_word word, struct output *o) {
    const char *text = r->options->nonfinite == TPD_NONFINITE_NULL ? "null"
                       : word == TPD_WORD_NAN                      ? "\"NaN\""
                       : word == TPD_WORD_INFINITY                 ? "\"Infinity\""
                                                                   : "\"-Infinity\"";
    if (r->options->nonfinite == TPD_NONFINITE_ERROR)
        return refuse(r, TPD_NONFINITE, "is a value for which JSON has no word; ask for nonfinite=null or nonfinite=string");
    put(o, text, strlen(text));
    return true;
}

static void put_string(const unsigned char *at, const unsigned char *end, bool doubled, struct output *o) {
    static const char digits[] = "0123456789abcdef";
    put_byte(o, '"');
    for (; at < end; at++) {
        unsigned byte = *at;
        if (byte == '"' || byte == '\\') {
            put_byte(o, '\\');
            put_byte(o, byte);
            at += doubled && byte == '"'; /* its twin */
        } else if (byte < 0x20) {
            put(o, "\\u00", 4);
            put_byte(o, (unsigned char)digits[byte >> 4]);
            put_byte(o, (unsigned char)digits[byte & 15]);
        } else {
            put_byte(o, byte);
        }
    }
    put_byte(o, '"');
}

static bool is_utf8(const unsigned char *literal, const unsigned char *end) {
    struct tpd_error ignored;
    struct tpd_json_scan scan = {literal, end, &ignored};
    return tpd_json_string(&scan, literal) == end;
}

static bool from_table(struct respelling *r, const unsigned char *at, size_t bytes, struct output *o, bool *stays) {
    *stays = false;
    if (bytes == 0) {
        put(o, "null", 4);
        return true;
    }
    if (put_number(at, bytes, o, stays))
        return true;
    *stays = is_bool(at, bytes);
    if (*stays)
        return true;
    enum tpd_word word = special_word(at, bytes);
    if (word != TPD_WORD_NONE)
        return put_special(r, word, o);
    bool quoted = r->quotes && bytes > 1 && at[0] == '"';
    size_t start = o->bytes;
    put_string(at + quoted, at + bytes - quoted, quoted, o);
    if (o->to != NULL && !is_utf8(o->to + start, o->to + o->bytes))
        return refuse(r, TPD_UNSUPPORTED, "is not UTF-8, and JSON is nothing else; convert the text to UTF-8 first");
    return true;
}

bool tpd_cells_can_respell(const struct tpd_payload *payload, enum tpd_codec_id out, const struct tpd_encode_options *options) {
    bool from = payload->format == TPD_CODEC_JSON, to = out == TPD_CODEC_JSON;
    bool tables = payload->format == TPD_CODEC_CSV || payload->format == TPD_CODEC_TSV,
         table = out == TPD_CODEC_CSV || out == TPD_CODEC_TSV;
    return ((from && table) || (tables && to)) && !options->has_dtype && payload->matrix.dtype == TPD_DTYPE_OPAQUE;
}

/* Every cell once: into o, and into `cells` where those are not NULL. */
static enum tpd_status each(struct respelling *r, const struct tpd_payload *payload, bool to_json, struct output *o,
                            struct tpd_cell *cells, struct tpd_error *error) {
    const struct tpd_cell *from = (const struct tpd_cell *)(const void *)payload->items.data;
    uint64_t items = tpd_matrix_items(&payload->matrix);
    for (uint64_t i = 0; i < items; i++) {
        const unsigned char *at = payload->text.data + tpd_cell_offset(from[i]);
        size_t bytes = tpd_cell_bytes(from[i]), start = o->bytes;
        bool stays = false, good = to_json ? from_table(r, at, bytes, o, &stays) : from_json(r, at, bytes, o, &stays);
        if (good && o->bytes - start > TPD_CELL_BYTES_MOST)
            good = refuse(r, TPD_TOO_LARGE, "has more than 16777215 bytes in the other format");
        if (!good)
            return tpd_cell_fail(payload, i, r->status, r->why, error);
        if (!stays && cells != NULL)
            cells[i] = tpd_cell_of((uint64_t)(o->to - payload->text.data) + start, o->bytes - start);
    }
    return TPD_OK;
}

enum tpd_status tpd_cells_respell(struct tpd_payload *payload, enum tpd_codec_id out, const struct tpd_encode_options *options,
                                  struct tpd_error *error) {
    bool to_json = out == TPD_CODEC_JSON;
    struct respelling r = {.options = options, .quotes = payload->form.table.quotes};
    r.delimiter = options->has_delimiter ? options->delimiter : out == TPD_CODEC_TSV ? '\t' : ',';
    struct output measured = {0};
    enum tpd_status status = each(&r, payload, to_json, &measured, NULL, error);
    size_t start = payload->text.bytes;
    if (status == TPD_OK)
        status = tpd_block_grow(&payload->text, start + measured.bytes + TPD_TEXT_PAD, error);
    if (status != TPD_OK)
        return status;
    struct output written = {.to = payload->text.data + start};
    memset(written.to + measured.bytes, 0, TPD_TEXT_PAD);
    /* In their own places: a cell is read before it is replaced. */
    status = each(&r, payload, to_json, &written, (struct tpd_cell *)(void *)payload->items.data, error);
    if (status != TPD_OK)
        return status;
    payload->text.bytes = start + written.bytes;
    payload->format = out;
    memset(&payload->form, 0, sizeof payload->form);
    if (!to_json)
        payload->form.table = (struct tpd_table_form){.delimiter = r.delimiter, .quotes = true, .final_newline = true};
    return TPD_OK;
}
