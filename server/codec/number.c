/* number.c -- text to items and back, one case a kind of dtype. */
#include "server/codec/number.h"

#include <math.h>
#include <string.h>

#include "server/codec/number_float.h"
#include "server/codec/number_spelling.h"
#include "server/codec/number_text.h"

static const char WHY_WORD[] = "is no number";
static const char WHY_NULL[] = "has no value of this dtype";
static const char WHY_RANGE[] = "is out of range";
static const char WHY_WHOLE[] = "is no whole number";
static const char WHY_PAIR[] = "is no [re, im]";
static const char WHY_INFINITE[] = "has no value of this dtype, which has no infinity";

/* Begins like one; the readers look at the rest. ".5" is none in JSON, whose cells were looked at before. */
static bool is_number(const char *text, size_t bytes) {
    size_t at = bytes > 0 && text[0] == '-';
    at += bytes > at && text[at] == '.';
    return bytes > at && text[at] >= '0' && text[at] <= '9';
}

/* A number with a point or an exponent may still be whole: 1.0, 1e3, 25e-1 is not. */
static enum tpd_status read_whole(const char *text, size_t bytes, bool *negative, uint64_t *magnitude, const char **why) {
    struct tpd_decimal d;
    double nearest;
    *why = WHY_WORD;
    if (tpd_text_read_double(text, bytes, &nearest) == TPD_TEXT_BAD) /* the decimal is read only where it is one */
        return TPD_MALFORMED;
    tpd_decimal_read(text, bytes, &d);
    *negative = d.negative;
    *magnitude = 0;
    if (d.first == NULL)
        return TPD_OK;
    if (d.point < 0 || d.digits > (uint64_t)d.point) {
        *why = WHY_WHOLE;
        return TPD_OUT_OF_RANGE;
    }
    *why = WHY_RANGE;
    if (d.point > 20)
        return TPD_OUT_OF_RANGE;
    const char *at = d.first;
    for (int64_t i = 0; i < d.point; i++)
        if (__builtin_mul_overflow(*magnitude, 10u, magnitude) ||
            __builtin_add_overflow(*magnitude, (uint64_t)tpd_decimal_next(&d, &at), magnitude))
            return TPD_OUT_OF_RANGE;
    return TPD_OK;
}

static enum tpd_status read_signed(uint32_t itemsize, const char *text, size_t bytes, void *item, const char **why) {
    int64_t value;
    if (tpd_text_read_int64(text, bytes, &value) != TPD_TEXT_OK) {
        bool negative;
        uint64_t magnitude;
        enum tpd_status status = read_whole(text, bytes, &negative, &magnitude, why);
        if (status != TPD_OK)
            return status;
        *why = WHY_RANGE;
        if (magnitude > (uint64_t)INT64_MAX + negative)
            return TPD_OUT_OF_RANGE;
        value = (int64_t)(negative ? 0 - magnitude : magnitude);
    }
    int64_t most = (int64_t)(UINT64_MAX >> (65 - 8 * itemsize));
    *why = WHY_RANGE;
    if (value > most || value < -most - 1)
        return TPD_OUT_OF_RANGE;
    memcpy(item, &value, itemsize); /* little-endian: the low bytes come first */
    return TPD_OK;
}

static enum tpd_status read_unsigned(uint64_t most, uint32_t itemsize, const char *text, size_t bytes, void *item,
                                     const char **why) {
    uint64_t value;
    if (tpd_text_read_uint64(text, bytes, &value) != TPD_TEXT_OK) {
        bool negative;
        enum tpd_status status = read_whole(text, bytes, &negative, &value, why);
        if (status != TPD_OK)
            return status;
        *why = WHY_RANGE;
        if (negative && value != 0)
            return TPD_OUT_OF_RANGE;
    }
    *why = WHY_RANGE;
    if (value > most)
        return TPD_OUT_OF_RANGE;
    memcpy(item, &value, itemsize);
    return TPD_OK;
}

/* Out of a double's or float's range: too large, or so small that the nearest is zero. */
static bool is_tiny(const char *text, size_t bytes) {
    struct tpd_decimal d;
    tpd_decimal_read(text, bytes, &d);
    return d.first == NULL || d.point < 0;
}

static enum tpd_status read_special(enum tpd_spelling spelling, enum tpd_dtype dtype, const char *text, size_t bytes, void *item,
                                    const char **why) {
    enum tpd_word word = tpd_spelling_word(spelling, text, bytes);
    bool nan = word == TPD_WORD_NAN || word == TPD_WORD_NULL, negative = word == TPD_WORD_MINUS_INFINITY;
    if (!nan && !negative && word != TPD_WORD_INFINITY) {
        *why = WHY_WORD;
        return TPD_MALFORMED;
    }
    if (tpd_float_is_narrow(dtype)) {
        uint32_t bits;
        if (nan) {
            bits = tpd_float_nan(dtype);
        } else if (!tpd_float_infinity(dtype, negative, &bits)) {
            *why = WHY_INFINITE;
            return TPD_OUT_OF_RANGE;
        }
        memcpy(item, &bits, tpd_dtype_itemsize(dtype));
        return TPD_OK;
    }
    float single = nan ? NAN : negative ? -INFINITY : INFINITY;
    double wide = (double)single;
    memcpy(item, dtype == TPD_DTYPE_FLOAT32 ? (const void *)&single : (const void *)&wide, tpd_dtype_itemsize(dtype));
    return TPD_OK;
}

static enum tpd_status read_float(enum tpd_spelling spelling, enum tpd_dtype dtype, const char *text, size_t bytes, void *item,
                                  const char **why) {
    if (!is_number(text, bytes))
        return read_special(spelling, dtype, text, bytes, item, why);
    float single = 0;
    double wide = 0;
    bool is_single = dtype == TPD_DTYPE_FLOAT32;
    enum tpd_text got = is_single ? tpd_text_read_float(text, bytes, &single) : tpd_text_read_double(text, bytes, &wide);
    if (got == TPD_TEXT_BAD) {
        *why = WHY_WORD;
        return TPD_MALFORMED;
    }
    if (got == TPD_TEXT_RANGE && is_tiny(text, bytes)) {
        single = text[0] == '-' ? -0.0f : 0.0f;
        wide = (double)single;
        got = TPD_TEXT_OK;
    }
    *why = WHY_RANGE;
    if (got != TPD_TEXT_OK || isinf(is_single ? (double)single : wide))
        return TPD_OUT_OF_RANGE;
    if (tpd_float_is_narrow(dtype)) {
        uint32_t bits;
        if (!tpd_float_narrow(dtype, wide, text, bytes, &bits))
            return TPD_OUT_OF_RANGE;
        memcpy(item, &bits, tpd_dtype_itemsize(dtype));
    } else {
        memcpy(item, is_single ? (const void *)&single : (const void *)&wide, tpd_dtype_itemsize(dtype));
    }
    return TPD_OK;
}

static enum tpd_status read_complex(enum tpd_spelling spelling, enum tpd_dtype dtype, const char *text, size_t bytes, void *item,
                                    const char **why) {
    enum tpd_dtype part = dtype == TPD_DTYPE_COMPLEX64 ? TPD_DTYPE_FLOAT32 : TPD_DTYPE_FLOAT64;
    uint32_t part_bytes = tpd_dtype_itemsize(part);
    struct tpd_pair pair;
    if (!tpd_spelling_pair(spelling, text, bytes, &pair)) {
        *why = spelling == TPD_SPELLING_JSON ? WHY_PAIR : WHY_WORD;
        return TPD_MALFORMED;
    }
    memset(item, 0, 2 * part_bytes);
    enum tpd_status status = TPD_OK;
    if (pair.re != NULL)
        status = read_float(spelling, part, pair.re, pair.re_bytes, item, why);
    if (status == TPD_OK && pair.im != NULL)
        status = read_float(spelling, part, pair.im, pair.im_bytes, (unsigned char *)item + part_bytes, why);
    return status;
}

enum tpd_status tpd_number_read(enum tpd_spelling spelling, enum tpd_dtype dtype, const char *text, size_t bytes, void *item,
                                const char **why) {
    uint32_t itemsize = tpd_dtype_itemsize(dtype);
    enum tpd_dtype_kind kind = tpd_dtype_kind(dtype);
    if (spelling != TPD_SPELLING_JSON)
        tpd_spelling_trim(&text, &bytes);
    if (kind == TPD_KIND_FLOAT)
        return read_float(spelling, dtype, text, bytes, item, why);
    if (kind == TPD_KIND_COMPLEX)
        return read_complex(spelling, dtype, text, bytes, item, why);
    if (!is_number(text, bytes)) {
        enum tpd_word word = tpd_spelling_word(spelling, text, bytes);
        if (kind == TPD_KIND_BOOL && (word == TPD_WORD_TRUE || word == TPD_WORD_FALSE)) {
            *(unsigned char *)item = word == TPD_WORD_TRUE;
            return TPD_OK;
        }
        bool is_value =
            word == TPD_WORD_NULL || word == TPD_WORD_NAN || word == TPD_WORD_INFINITY || word == TPD_WORD_MINUS_INFINITY;
        *why = is_value ? WHY_NULL : WHY_WORD;
        return is_value ? TPD_OUT_OF_RANGE : TPD_MALFORMED;
    }
    if (kind == TPD_KIND_SIGNED)
        return read_signed(itemsize, text, bytes, item, why);
    return read_unsigned(kind == TPD_KIND_BOOL ? 1 : UINT64_MAX >> (64 - 8 * itemsize), itemsize, text, bytes, item, why);
}

enum tpd_number_class tpd_number_class(enum tpd_spelling spelling, const char *text, size_t bytes) {
    int64_t small;
    uint64_t large;
    if (spelling != TPD_SPELLING_JSON)
        tpd_spelling_trim(&text, &bytes);
    if (tpd_text_read_int64(text, bytes, &small) == TPD_TEXT_OK)
        return small < 0 ? TPD_NUMBER_SIGNED : TPD_NUMBER_SMALL;
    if (tpd_text_read_uint64(text, bytes, &large) == TPD_TEXT_OK)
        return TPD_NUMBER_LARGE;
    if (is_number(text, bytes) && text[bytes - 1] >= '0' && text[bytes - 1] <= '9')
        return TPD_NUMBER_REAL;
    enum tpd_word word = tpd_spelling_word(spelling, text, bytes);
    if (word == TPD_WORD_TRUE || word == TPD_WORD_FALSE)
        return TPD_NUMBER_BOOL;
    double item[2];
    const char *why;
    struct tpd_pair pair;
    bool is_pair = word == TPD_WORD_NONE && spelling == TPD_SPELLING_PLAIN && tpd_spelling_pair(spelling, text, bytes, &pair) &&
                   pair.im != NULL && read_complex(spelling, TPD_DTYPE_COMPLEX128, text, bytes, item, &why) == TPD_OK;
    return is_pair ? TPD_NUMBER_COMPLEX : TPD_NUMBER_REAL;
}

static size_t write_nonfinite(enum tpd_spelling spelling, double value, enum tpd_nonfinite nonfinite, char *text) {
    static const char *const json[] = {"\"NaN\"", "\"Infinity\"", "\"-Infinity\""}, *const plain[] = {"nan", "inf", "-inf"};
    int which = isnan(value) ? 0 : value > 0 ? 1 : 2;
    const char *word = spelling == TPD_SPELLING_JSON ? json[which] : plain[which];
    if (spelling == TPD_SPELLING_JSON && nonfinite == TPD_NONFINITE_NULL)
        word = "null";
    if (nonfinite == (spelling == TPD_SPELLING_JSON ? TPD_NONFINITE_ERROR : TPD_NONFINITE_NULL) &&
        spelling != TPD_SPELLING_MARKET)
        return 0;
    memcpy(text, word, strlen(word));
    return strlen(word);
}

/* Fewest digits whose nearest narrow value is this one: at most 5, as float16 asks for. */
static double shortest_narrow(enum tpd_dtype dtype, uint32_t bits, double value) {
    double shortest = value;
    for (int decimals = 0; decimals < 5; decimals++) {
        char digits[16];
        size_t bytes = tpd_text_write_digits(value, decimals, digits);
        uint32_t back;
        if (tpd_text_read_double(digits, bytes, &shortest) == TPD_TEXT_OK &&
            tpd_float_narrow(dtype, shortest, digits, bytes, &back) && back == bits)
            return shortest;
    }
    return value;
}

static double widen(enum tpd_dtype dtype, const void *item, uint32_t *bits) {
    float single;
    double wide;
    *bits = 0;
    if (dtype == TPD_DTYPE_FLOAT64) {
        memcpy(&wide, item, sizeof wide);
        return wide;
    }
    if (dtype == TPD_DTYPE_FLOAT32) {
        memcpy(&single, item, sizeof single);
        return (double)single;
    }
    memcpy(bits, item, tpd_dtype_itemsize(dtype));
    return tpd_float_widen(dtype, *bits);
}

static size_t write_float(enum tpd_spelling spelling, enum tpd_dtype dtype, const void *item, enum tpd_nonfinite nonfinite,
                          char *text) {
    uint32_t bits;
    double wide = widen(dtype, item, &bits);
    if (!isfinite(wide))
        return write_nonfinite(spelling, wide, nonfinite, text);
    /* Text that says "float": a whole number gets its ".0". */
    if (dtype == TPD_DTYPE_FLOAT32)
        return tpd_text_write_real_float((float)wide, text);
    if (dtype != TPD_DTYPE_FLOAT64)
        wide = shortest_narrow(dtype, bits, wide);
    return tpd_text_write_real_double(wide, text);
}

/* PLAIN is as numpy prints it: (1+2j), (-0-1.5j), (nan+infj). */
static size_t write_complex(enum tpd_spelling spelling, enum tpd_dtype dtype, const void *item, enum tpd_nonfinite nonfinite,
                            char *text) {
    enum tpd_dtype part = dtype == TPD_DTYPE_COMPLEX64 ? TPD_DTYPE_FLOAT32 : TPD_DTYPE_FLOAT64;
    const void *parts[2] = {item, (const char *)item + tpd_dtype_itemsize(part)};
    char *at = text;
    if (spelling != TPD_SPELLING_MARKET)
        *at++ = spelling == TPD_SPELLING_JSON ? '[' : '(';
    for (int i = 0; i < 2; i++) {
        uint32_t bits;
        double wide = widen(part, parts[i], &bits);
        if (i == 1 && spelling == TPD_SPELLING_PLAIN) {
            if (!signbit(wide) || isnan(wide))
                *at++ = '+';
        } else if (i == 1) {
            *at++ = spelling == TPD_SPELLING_JSON ? ',' : ' ';
        }
        size_t bytes;
        if (spelling == TPD_SPELLING_PLAIN)
            bytes = !isfinite(wide)             ? write_nonfinite(spelling, wide, TPD_NONFINITE_STRING, at)
                    : part == TPD_DTYPE_FLOAT32 ? tpd_text_write_float((float)wide, at)
                                                : tpd_text_write_double(wide, at);
        else
            bytes = write_float(spelling, part, parts[i], nonfinite, at);
        if (bytes == 0)
            return 0;
        at += bytes;
    }
    if (spelling == TPD_SPELLING_PLAIN)
        *at++ = 'j';
    if (spelling != TPD_SPELLING_MARKET)
        *at++ = spelling == TPD_SPELLING_JSON ? ']' : ')';
    return (size_t)(at - text);
}

size_t tpd_number_write(enum tpd_spelling spelling, enum tpd_dtype dtype, const void *item, enum tpd_nonfinite nonfinite,
                        char *text) {
    uint32_t itemsize = tpd_dtype_itemsize(dtype);
    uint64_t value = 0;
    switch (tpd_dtype_kind(dtype)) {
    case TPD_KIND_FLOAT:
        return write_float(spelling, dtype, item, nonfinite, text);
    case TPD_KIND_COMPLEX:
        return write_complex(spelling, dtype, item, nonfinite, text);
    case TPD_KIND_BOOL: {
        bool is_true = *(const unsigned char *)item != 0;
        const char *word = spelling == TPD_SPELLING_MARKET ? (is_true ? "1" : "0") : (is_true ? "true" : "false");
        memcpy(text, word, strlen(word));
        return strlen(word);
    }
    case TPD_KIND_SIGNED:
        memcpy(&value, item, itemsize);
        return tpd_text_write_int64((int64_t)(value << (64 - 8 * itemsize)) >> (64 - 8 * itemsize), text);
    default:
        memcpy(&value, item, itemsize);
        return tpd_text_write_uint64(value, text);
    }
}
