/* json_scan.c -- JSON's tokens. Eight bytes at a time through digits and plain string text. */
#include "server/codec/json_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum tpd_status tpd_json_fail(const struct tpd_json_scan *scan, enum tpd_status status, const unsigned char *at,
                              const char *format, ...) {
    char text[sizeof scan->error->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bool ends = at >= scan->end && status == TPD_MALFORMED;
    if (ends)
        status = TPD_TRUNCATED;
    status = tpd_fail_at(scan->error, status, (uint64_t)(at - scan->text), "%s%s", ends ? "the body ends here: " : "", text);
    tpd_text_place(scan->error, scan->text, at);
    return status;
}

#define ONES 0x0101010101010101u
#define HIGHS 0x8080808080808080u

static inline uint64_t word_at(const unsigned char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline bool is_digit(unsigned char byte) {
    return (unsigned char)(byte - '0') < 10;
}

/* Behind a run of digits. A byte is a digit when its high half is 3 and stays 3 with 6 added. */
static inline const unsigned char *digits(const unsigned char *at) {
    for (uint64_t word; word = word_at(at), ((word & (0xf0 * ONES)) | (((word + 6 * ONES) & (0xf0 * ONES)) >> 4)) == 0x33 * ONES;)
        at += 8;
    while (is_digit(*at))
        at++;
    return at;
}

static const unsigned char *number(const struct tpd_json_scan *scan, const unsigned char *at) {
    const unsigned char *start = at;
    at += *at == '-';
    if (*at == '0') {
        at++;
        if (is_digit(*at))
            return tpd_json_fail(scan, TPD_MALFORMED, start, "a number has no leading zero"), NULL;
    } else if (is_digit(*at)) {
        at = digits(at + 1);
    } else {
        return tpd_json_fail(scan, TPD_MALFORMED, at, "a digit is expected behind '-'"), NULL;
    }
    if (*at == '.') {
        if (!is_digit(*++at))
            return tpd_json_fail(scan, TPD_MALFORMED, at, "a digit is expected behind the decimal point"), NULL;
        at = digits(at + 1);
    }
    if ((*at | 0x20) == 'e') {
        at++;
        at += *at == '+' || *at == '-';
        if (!is_digit(*at))
            return tpd_json_fail(scan, TPD_MALFORMED, at, "a digit is expected in the exponent"), NULL;
        at = digits(at + 1);
    }
    return at;
}

/* Length of the well-formed UTF-8 sequence of two bytes and more at `at`, 0 when there is none (Unicode 15, table 3-7). */
static size_t utf8(const unsigned char *at) {
    unsigned char lead = at[0], least = 0x80, most = 0xbf;
    size_t length = lead >= 0xc2 && lead <= 0xdf ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
    switch (lead) {
    case 0xe0:
        least = 0xa0;
        break;
    case 0xed:
        most = 0x9f;
        break;
    case 0xf0:
        least = 0x90;
        break;
    case 0xf4:
        most = 0x8f;
        break;
    default:
        break;
    }
    if (length == 0 || at[1] < least || at[1] > most)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

static bool is_hex(unsigned char byte) {
    return is_digit(byte) || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f');
}

/* Behind the escape at `at` (its backslash), or NULL. */
static const unsigned char *escape(const struct tpd_json_scan *scan, const unsigned char *at) {
    if (at[1] == 'u') {
        for (int i = 2; i < 6; i++)
            if (!is_hex(at[i]))
                return tpd_json_fail(scan, TPD_MALFORMED, at + i, "four hexadecimal digits are expected behind \\u"), NULL;
        return at + 6;
    }
    if (at[1] == '\0' || strchr("\"\\/bfnrt", at[1]) == NULL)
        return tpd_json_fail(scan, TPD_MALFORMED, at + 1, "no such escape in a string"), NULL;
    return at + 2;
}

const unsigned char *tpd_json_string(const struct tpd_json_scan *scan, const unsigned char *at) {
    at++;
    for (;;) {
        /* A word without quote, backslash, control or high byte: each test leaves its mark in a byte's high bit. A false
         * mark only sends the word to the loop below. */
        for (uint64_t word;
             word = word_at(at),
             ((word | (word - 0x20 * ONES) | ((word ^ (0x22 * ONES)) - ONES) | ((word ^ (0x5c * ONES)) - ONES)) & HIGHS) == 0;)
            at += 8;
        if (*at == '"')
            return at + 1;
        if (*at == '\\') {
            at = escape(scan, at);
            if (at == NULL)
                return NULL;
        } else if (*at >= 0x80) {
            size_t length = utf8(at);
            if (length == 0)
                return tpd_json_fail(scan, TPD_MALFORMED, at, "byte 0x%02x in a string is not UTF-8", *at), NULL;
            at += length;
        } else if (*at < 0x20) {
            return tpd_json_fail(scan, TPD_MALFORMED, at,
                                 at >= scan->end ? "a string is open" : "control byte 0x%02x in a string; write it as an escape",
                                 *at),
                   NULL;
        } else {
            at++;
        }
    }
}

/* A word of letters that is not part of a longer one. */
static const unsigned char *word(const struct tpd_json_scan *scan, const unsigned char *at, const char *name, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (at[i] != (unsigned char)name[i])
            return tpd_json_fail(scan, TPD_MALFORMED, at + i < scan->end ? at : at + i, "'%s' is expected", name), NULL;
    return at + length;
}

const unsigned char *tpd_json_scalar(const struct tpd_json_scan *scan, const unsigned char *at) {
    switch (*at) {
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return number(scan, at);
    case '"':
        return tpd_json_string(scan, at);
    case 't':
        return word(scan, at, "true", 4);
    case 'f':
        return word(scan, at, "false", 5);
    case 'n':
        return word(scan, at, "null", 4);
    case 'N':
    case 'I':
        return tpd_json_fail(scan, TPD_MALFORMED, at, "NaN and Infinity are no JSON; write them as strings, \"NaN\""), NULL;
    case ']':
        return tpd_json_fail(scan, TPD_MALFORMED, at, "a value is expected behind the comma"), NULL;
    case '{':
        return tpd_json_fail(scan, TPD_MALFORMED, at, "an object is no cell; cells are numbers, strings, true, false and null"),
               NULL;
    default:
        return tpd_json_fail(scan, TPD_MALFORMED, at, "a number, a string, true, false or null is expected"), NULL;
    }
}
