/* mtx_parse.c -- %%MatrixMarket matrix array FIELD general; comments; rows and columns; entries, column by column.
 *
 * As in JSON the text ends in zero bytes, which are in no entry: loops end there and look at no length.
 */
#include "server/codec/mtx_parse.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "server/codec/codec_internal.h"

enum { ENTRY_BYTES_LEAST = 2 }; /* a digit and what parts it from the next */

static const char *const fields[] = {
    [TPD_MARKET_NONE] = "none", [TPD_MARKET_REAL] = "real", [TPD_MARKET_INTEGER] = "integer", [TPD_MARKET_COMPLEX] = "complex"};

const char *tpd_market_name(enum tpd_market_field field) {
    return fields[field];
}

static bool is_blank(unsigned char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\f' || byte == '\v';
}

static const unsigned char *skip_blanks(const unsigned char *at) {
    while (is_blank(*at))
        at++;
    return at;
}

static const unsigned char *skip_space(const unsigned char *at) {
    while (is_blank(*at) || *at == '\n')
        at++;
    return at;
}

static const unsigned char *word_end(const unsigned char *at) {
    while (*at > ' ')
        at++;
    return at;
}

static bool word_is(const unsigned char *at, const unsigned char *end, const char *word) {
    return (size_t)(end - at) == strlen(word) && strncasecmp((const char *)at, word, strlen(word)) == 0;
}

enum { OBJECT, FORMAT, FIELD, SYMMETRY, BANNER_WORDS };

/* Five words, the first of which is %%MatrixMarket. */
static enum tpd_status read_banner(const struct tpd_json_scan *scan, const unsigned char **at, enum tpd_market_field *field) {
    const unsigned char *word[BANNER_WORDS], *end[BANNER_WORDS], *start = *at, *stop = word_end(start);
    if (!word_is(start, stop, "%%MatrixMarket"))
        return tpd_json_fail(scan, TPD_MALFORMED, start,
                             "a Matrix Market file begins with %%%%MatrixMarket matrix array real general");
    for (int i = 0; i < BANNER_WORDS; i++) {
        word[i] = skip_blanks(stop);
        end[i] = stop = word_end(word[i]);
        if (word[i] == end[i])
            return tpd_json_fail(scan, TPD_MALFORMED, word[i],
                                 "the first line has five words, %%%%MatrixMarket matrix array real general");
    }
    *at = skip_blanks(stop);
    if (**at != '\n')
        return tpd_json_fail(scan, TPD_MALFORMED, *at, "the first line goes on after its five words");
    ++*at;
    if (!word_is(word[OBJECT], end[OBJECT], "matrix"))
        return tpd_json_fail(scan, TPD_UNSUPPORTED, word[OBJECT], "'%.*s' is no matrix: write %%%%MatrixMarket matrix array ...",
                             (int)(end[OBJECT] - word[OBJECT] < 40 ? end[OBJECT] - word[OBJECT] : 40),
                             (const char *)word[OBJECT]);
    if (!word_is(word[FORMAT], end[FORMAT], "array"))
        return tpd_json_fail(
            scan, TPD_UNSUPPORTED, word[FORMAT],
            "format '%.*s' is not read, array is: write the matrix dense, as scipy.io.mmwrite(f, a.toarray()) does",
            (int)(end[FORMAT] - word[FORMAT] < 40 ? end[FORMAT] - word[FORMAT] : 40), (const char *)word[FORMAT]);
    *field = word_is(word[FIELD], end[FIELD], "real") || word_is(word[FIELD], end[FIELD], "double") ? TPD_MARKET_REAL
             : word_is(word[FIELD], end[FIELD], "integer") || word_is(word[FIELD], end[FIELD], "unsigned-integer")
                 ? TPD_MARKET_INTEGER
             : word_is(word[FIELD], end[FIELD], "complex") ? TPD_MARKET_COMPLEX
                                                           : TPD_MARKET_NONE;
    if (*field == TPD_MARKET_NONE)
        return tpd_json_fail(scan, TPD_UNSUPPORTED, word[FIELD], "field '%.*s' is not read; real, integer and complex are",
                             (int)(end[FIELD] - word[FIELD] < 40 ? end[FIELD] - word[FIELD] : 40), (const char *)word[FIELD]);
    if (!word_is(word[SYMMETRY], end[SYMMETRY], "general"))
        return tpd_json_fail(
            scan, TPD_UNSUPPORTED, word[SYMMETRY],
            "'%.*s' is not read, general is: write every entry, as scipy.io.mmwrite(f, a, symmetry='general') does",
            (int)(end[SYMMETRY] - word[SYMMETRY] < 40 ? end[SYMMETRY] - word[SYMMETRY] : 40), (const char *)word[SYMMETRY]);
    return TPD_OK;
}

/* Lines of comment and empty ones, up to the line that says the shape. */
static void read_comments(const struct tpd_json_scan *scan, const unsigned char **at, struct tpd_payload *payload) {
    const unsigned char *start = *at, *stop = *at;
    for (;;) {
        const unsigned char *line = skip_blanks(*at);
        if (*line != '%' && *line != '\n')
            break;
        const unsigned char *end = memchr(line, '\n', (size_t)(scan->end - line));
        *at = end != NULL ? end + 1 : scan->end;
        if (*line == '%')
            stop = *at;
    }
    payload->comments_at = (uint64_t)(start - scan->text);
    payload->comments_bytes = (uint64_t)(stop - start);
}

static enum tpd_status read_dimension(const struct tpd_json_scan *scan, const unsigned char **at, uint64_t *value) {
    const unsigned char *start = *at = skip_blanks(*at);
    *value = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(*value, 10u, value) || __builtin_add_overflow(*value, (uint64_t)(**at - '0'), value))
            return tpd_json_fail(scan, TPD_SIZE_OVERFLOW, start, "a dimension is past 2^64 - 1");
    if (*at == start || **at > ' ')
        return tpd_json_fail(scan, TPD_MALFORMED, *at, "the line of the shape has two whole numbers, rows and columns");
    return TPD_OK;
}

static enum tpd_status read_shape(const struct tpd_json_scan *scan, const unsigned char **at, struct tpd_matrix *matrix) {
    enum tpd_status status = read_dimension(scan, at, &matrix->rows);
    if (status == TPD_OK)
        status = read_dimension(scan, at, &matrix->cols);
    if (status != TPD_OK)
        return status;
    *at = skip_blanks(*at);
    if (**at != '\n' && *at != scan->end)
        return tpd_json_fail(scan, TPD_MALFORMED, *at,
                             "the line of the shape goes on: an array has two numbers there, rows and columns");
    return TPD_OK;
}

static const unsigned char *skip_digits(const unsigned char *at) {
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

static bool is_name(const unsigned char *at, const unsigned char *end) {
    return word_is(at, end, "nan") || word_is(at, end, "inf") || word_is(at, end, "infinity");
}

/* Behind the number at `at`; NULL when there is none. */
static const unsigned char *number_end(enum tpd_market_field field, const unsigned char *at) {
    at += *at == '-' || *at == '+';
    const unsigned char *whole = skip_digits(at), *end = whole;
    if (field != TPD_MARKET_INTEGER) {
        const unsigned char *word = word_end(at);
        if (whole == at && is_name(at, word))
            return word;
        if (*end == '.')
            end = skip_digits(end + 1);
        if (end - at == (end != whole)) /* no digit, with or without a point */
            return NULL;
        if ((*end | 0x20) == 'e') {
            const unsigned char *digits = end + 1 + (end[1] == '-' || end[1] == '+');
            end = skip_digits(digits);
            at = end == digits ? end : at; /* an exponent without digits */
        }
    }
    return end != at && *end <= ' ' ? end : NULL;
}

static enum tpd_status read_entry(const struct tpd_json_scan *scan, enum tpd_market_field field, const unsigned char **at,
                                  struct tpd_cell *cell) {
    const unsigned char *start = *at, *end = number_end(field, start);
    const char *what = field == TPD_MARKET_INTEGER ? "whole number" : "number";
    if (end != NULL && field == TPD_MARKET_COMPLEX) {
        const unsigned char *second = skip_blanks(end);
        end = second != end ? number_end(field, second) : NULL;
        what = "pair of numbers with a blank between them";
    }
    if (end == NULL)
        return tpd_json_fail(scan, TPD_MALFORMED, start, "'%.*s' is no %s, and every entry is one",
                             (int)(word_end(start) - start < 40 ? word_end(start) - start : 40), (const char *)start, what);
    if (end - start > TPD_CELL_BYTES_MOST)
        return tpd_json_fail(scan, TPD_TOO_LARGE, start, "an entry has %zu bytes of text, the most is %d", (size_t)(end - start),
                             TPD_CELL_BYTES_MOST);
    cell->place = (uint64_t)(start - scan->text) << 24 | (uint64_t)(end - start);
    *at = end;
    return TPD_OK;
}

static enum tpd_status read_entries(const struct tpd_json_scan *scan, const unsigned char *at, uint64_t count,
                                    struct tpd_payload *payload) {
    struct tpd_cell *cells = (struct tpd_cell *)(void *)payload->items.data;
    for (uint64_t i = 0; i < count; i++) {
        at = skip_space(at);
        enum tpd_status status = at < scan->end
                                     ? read_entry(scan, payload->form.market, &at, &cells[i])
                                     : tpd_json_fail(scan, TPD_TRUNCATED, at,
                                                     "the body ends after %" PRIu64 " entries, its shape has %" PRIu64, i, count);
        if (status != TPD_OK)
            return status;
    }
    at = skip_space(at);
    return at == scan->end
               ? TPD_OK
               : tpd_json_fail(scan, TPD_TRAILING, at, "the body goes on after the %" PRIu64 " entries of its shape", count);
}

enum tpd_status tpd_mtx_parse(const struct tpd_json_scan *scan, const struct tpd_decode_options *options,
                              struct tpd_payload *payload) {
    const unsigned char *at = scan->text;
    struct tpd_matrix *matrix = &payload->matrix;
    *matrix = (struct tpd_matrix){.batch = 1, .itemsize = sizeof(struct tpd_cell), .dtype = TPD_DTYPE_OPAQUE};
    uint64_t bytes = 0;
    enum tpd_status status = read_banner(scan, &at, &payload->form.market);
    if (status == TPD_OK) {
        read_comments(scan, &at, payload);
        status = read_shape(scan, &at, matrix);
    }
    if (status == TPD_OK)
        status = tpd_matrix_bytes(matrix, &bytes, scan->error);
    if (status == TPD_OK)
        status = tpd_codec_shape_agrees(options, matrix, scan->error);
    if (status != TPD_OK)
        return status;
    uint64_t count = bytes / sizeof(struct tpd_cell), most = (uint64_t)(scan->end - at) / ENTRY_BYTES_LEAST + 1;
    if (count > most) /* before memory is asked for */
        return tpd_json_fail(scan, TPD_TRUNCATED, scan->end,
                             "the shape has %" PRIu64 " entries, and the body that follows can't hold more than %" PRIu64, count,
                             most);
    matrix->dtype = options->has_dtype                           ? options->dtype
                    : payload->form.market == TPD_MARKET_REAL    ? TPD_DTYPE_FLOAT64
                    : payload->form.market == TPD_MARKET_COMPLEX ? TPD_DTYPE_COMPLEX128
                                                                 : TPD_DTYPE_OPAQUE;
    status = tpd_block_acquire(options->memory, (size_t)bytes, &payload->items, scan->error);
    if (status == TPD_OK)
        status = read_entries(scan, at, count, payload);
    if (status != TPD_OK) {
        tpd_block_release(&payload->items);
        return status;
    }
    payload->format = TPD_CODEC_MTX;
    payload->cells = true;
    payload->column_major = true;
    return TPD_OK;
}
