/* convert.c -- a payload of one kind becomes one that another format can write. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/codec/cell_respell.h"
#include "server/codec/codec_internal.h"
#include "server/codec/number.h"

static enum tpd_spelling spelling_of(enum tpd_codec_id format) {
    return format == TPD_CODEC_JSON ? TPD_SPELLING_JSON : format == TPD_CODEC_MTX ? TPD_SPELLING_MARKET : TPD_SPELLING_PLAIN;
}

enum tpd_status tpd_cell_fail(const struct tpd_payload *payload, uint64_t index, enum tpd_status status, const char *what,
                              struct tpd_error *error) {
    const struct tpd_cell *cells = (const struct tpd_cell *)(const void *)payload->items.data;
    const struct tpd_matrix *m = &payload->matrix;
    uint64_t offset = cells[index].place >> 24, bytes = cells[index].place & TPD_CELL_BYTES_MOST;
    uint64_t row = payload->column_major ? index % m->rows : index / m->cols % m->rows;
    uint64_t column = payload->column_major ? index / m->rows : index % m->cols;
    int shown = bytes > 40 ? 40 : (int)bytes;
    status = tpd_fail_at(error, status, offset, "row %" PRIu64 ", column %" PRIu64 " (from 0): '%.*s%s' %s", row, column, shown,
                         (const char *)payload->text.data + offset, bytes > 40 ? "..." : "", what);
    if (error != NULL)
        tpd_text_place(error, payload->text.data, payload->text.data + offset);
    return status;
}

/* An empty cell of a table, or R's NA: somebody's missing value, which is never taken for NaN in silence. */
static bool is_missing(const struct tpd_payload *payload, uint64_t index) {
    const struct tpd_cell *cells = (const struct tpd_cell *)(const void *)payload->items.data;
    uint64_t bytes = cells[index].place & TPD_CELL_BYTES_MOST;
    return bytes == 0 || (bytes == 2 && memcmp(payload->text.data + (cells[index].place >> 24), "NA", 2) == 0);
}

/* A cell that is well-formed text, but no value of the dtype. is_word: it is no number at all, so that another dtype would help
 * as little. */
static enum tpd_status fail_cell(const struct tpd_payload *payload, uint64_t index, bool is_word, enum tpd_dtype dtype,
                                 const char *why, struct tpd_error *error) {
    char what[192], advice[96] = "ask for another dtype";
    enum tpd_dtype_kind kind = tpd_dtype_kind(dtype);
    if (is_word)
        (void)snprintf(advice, sizeof advice, "%sask for %s, where cells stay as they are",
                       (kind == TPD_KIND_FLOAT || kind == TPD_KIND_COMPLEX) && is_missing(payload, index)
                           ? "write nan if it is a missing value, or "
                           : "",
                       tpd_codec_name(payload->format));
    (void)snprintf(what, sizeof what, "%s for %s; correct it, or %s", why, tpd_dtype_name(dtype), advice);
    return tpd_cell_fail(payload, index, TPD_OUT_OF_RANGE, what, error);
}

/* bool, int64, uint64, float64 or complex128: the first that holds every cell. The first cell with a fraction settles it, and
 * what is complex further on is found when it is read. */
static enum tpd_dtype least_dtype(const struct tpd_payload *payload, uint64_t items) {
    const struct tpd_cell *cells = (const struct tpd_cell *)(const void *)payload->items.data;
    enum tpd_spelling spelling = spelling_of(payload->format);
    unsigned seen = 0;
    for (uint64_t i = 0; i < items && (seen & (TPD_NUMBER_REAL | TPD_NUMBER_COMPLEX)) == 0; i++)
        seen |= tpd_number_class(spelling, (const char *)payload->text.data + (cells[i].place >> 24),
                                 cells[i].place & TPD_CELL_BYTES_MOST);
    if ((seen & TPD_NUMBER_COMPLEX) != 0)
        return TPD_DTYPE_COMPLEX128;
    if (seen == TPD_NUMBER_BOOL)
        return TPD_DTYPE_BOOL;
    if (seen == 0 || (seen & TPD_NUMBER_REAL) != 0)
        return TPD_DTYPE_FLOAT64;
    if ((seen & TPD_NUMBER_LARGE) == 0)
        return TPD_DTYPE_INT64;
    return (seen & TPD_NUMBER_SIGNED) == 0 ? TPD_DTYPE_UINT64 : TPD_DTYPE_FLOAT64;
}

/* Every cell as an item of that dtype, into a block of their own. *complex: a cell is none only because it is complex. */
static enum tpd_status read_items(const struct tpd_payload *payload, struct tpd_memory *memory, struct tpd_matrix *matrix,
                                  struct tpd_block *block, bool *is_complex, struct tpd_error *error) {
    const struct tpd_cell *cells = (const struct tpd_cell *)(const void *)payload->items.data;
    enum tpd_spelling spelling = spelling_of(payload->format);
    uint64_t bytes, failed = 0;
    const char *why = "";
    matrix->itemsize = tpd_dtype_itemsize(matrix->dtype);
    enum tpd_status status = tpd_matrix_bytes(matrix, &bytes, error);
    if (status == TPD_OK)
        status = tpd_block_acquire(memory, (size_t)bytes, block, error);
    if (status != TPD_OK)
        return status;
    status = tpd_number_read_cells(spelling, matrix->dtype, payload->text.data, cells, tpd_matrix_items(matrix), block->data,
                                   &failed, &why);
    if (status == TPD_OK)
        return TPD_OK;
    tpd_block_release(block);
    *is_complex = tpd_number_class(spelling, (const char *)payload->text.data + (cells[failed].place >> 24),
                                   cells[failed].place & TPD_CELL_BYTES_MOST) == TPD_NUMBER_COMPLEX;
    return fail_cell(payload, failed, status == TPD_MALFORMED, matrix->dtype, why, error);
}

static enum tpd_status cells_to_items(struct tpd_payload *payload, const struct tpd_encode_options *options,
                                      struct tpd_error *error) {
    struct tpd_matrix matrix = payload->matrix;
    struct tpd_block block;
    bool is_guess = !options->has_dtype && matrix.dtype == TPD_DTYPE_OPAQUE, is_complex = false;
    if (options->has_dtype)
        matrix.dtype = options->dtype;
    else if (is_guess)
        matrix.dtype = least_dtype(payload, tpd_matrix_items(&matrix));
    enum tpd_status status = read_items(payload, options->memory, &matrix, &block, &is_complex, error);
    if (is_complex && is_guess && matrix.dtype != TPD_DTYPE_COMPLEX128) {
        matrix.dtype = TPD_DTYPE_COMPLEX128;
        status = read_items(payload, options->memory, &matrix, &block, &is_complex, error);
    }
    if (status != TPD_OK)
        return status;
    tpd_payload_release(payload);
    payload->items = block;
    payload->matrix = matrix;
    payload->cells = false;
    return TPD_OK;
}

/* In place: an item, or each half of a complex one, is turned round. */
static void swap_bytes(struct tpd_payload *payload, uint64_t items) {
    bool complex_item = tpd_dtype_kind(payload->matrix.dtype) == TPD_KIND_COMPLEX;
    uint32_t width = payload->matrix.itemsize / (complex_item ? 2 : 1);
    uint64_t count = items * (complex_item ? 2 : 1);
    unsigned char *at = payload->items.data;
    for (uint64_t i = 0; i < count; i++, at += width)
        for (uint32_t j = 0; j < width / 2; j++) {
            unsigned char byte = at[j];
            at[j] = at[width - 1 - j];
            at[width - 1 - j] = byte;
        }
    payload->big_endian = false;
    payload->form.npy_descr[0] = '\0';
}

/* Cells go out as they came, so a dtype would be ignored, and ignored in silence: but for the one that the body names itself,
 * and a complex one, which says that a cell is a pair. */
static bool dtype_is_idle(const struct tpd_payload *payload, const struct tpd_encode_options *options) {
    bool is_pair = payload->format == TPD_CODEC_JSON && tpd_dtype_kind(options->dtype) == TPD_KIND_COMPLEX;
    return options->has_dtype && !is_pair && strcmp(payload->form.json_dtype, tpd_dtype_name(options->dtype)) != 0;
}

/* "npy or raw": the formats that can write that payload as it is. */
static const char *takers(const struct tpd_payload *payload, char *text, size_t text_bytes) {
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < TPD_CODEC_COUNT; i++) {
        const struct tpd_codec_ops *ops = tpd_codec_at((enum tpd_codec_id)i);
        if (!ops->takes(payload))
            continue;
        int length = snprintf(text + at, text_bytes - at, "%s%s", at == 0 ? "" : " or ", tpd_codec_name((enum tpd_codec_id)i));
        if (length < 0 || (size_t)length >= text_bytes - at)
            break;
        at += (size_t)length;
    }
    return text;
}

enum tpd_status tpd_payload_convert(struct tpd_payload *payload, enum tpd_codec_id out, const struct tpd_encode_options *options,
                                    struct tpd_error *error) {
    const struct tpd_codec_ops *ops = tpd_codec_at(out);
    if (ops == NULL)
        return tpd_fail(error, TPD_INTERNAL, "there is no format %d", (int)out);
    if (!payload->cells && options->has_dtype && options->dtype != payload->matrix.dtype)
        return tpd_fail(error, TPD_UNSUPPORTED,
                        "the items are %s and dtype asks for %s: binary items are moved, never converted; leave dtype out",
                        tpd_dtype_name(payload->matrix.dtype), tpd_dtype_name(options->dtype));
    if (ops->one_matrix && payload->matrix.batch != 1)
        return tpd_fail(error, TPD_UNSUPPORTED,
                        "the body is a batch of %" PRIu64
                        " matrices and a %s file holds one; ask for npy or json, or send them one "
                        "by one",
                        payload->matrix.batch, tpd_codec_name(out));
    char formats[128];
    bool fits = ops->takes(payload);
    if (fits && payload->cells && dtype_is_idle(payload, options))
        return tpd_fail(error, TPD_BAD_PARAMETER,
                        "dtype is %s, but from %s to %s cells stay the text they are; leave dtype out, or ask for a format of "
                        "binary items",
                        tpd_dtype_name(options->dtype), tpd_codec_name(payload->format), tpd_codec_name(out));
    if (fits)
        return TPD_OK;
    if (payload->cells && tpd_cells_can_respell(payload, out, options))
        return tpd_cells_respell(payload, out, options, error);
    if (payload->cells) {
        enum tpd_status status = cells_to_items(payload, options, error);
        if (status != TPD_OK || ops->takes(payload))
            return status;
    }
    if (payload->big_endian && payload->matrix.dtype != TPD_DTYPE_OPAQUE)
        swap_bytes(payload, tpd_matrix_items(&payload->matrix));
    if (ops->takes(payload))
        return TPD_OK;
    if (payload->big_endian)
        return tpd_fail(
            error, TPD_UNSUPPORTED,
            "items of numpy type '%s' can't be turned into little-endian ones here; ask for %s, or send them little-endian",
            payload->form.npy_descr, takers(payload, formats, sizeof formats));
    if (payload->matrix.dtype != TPD_DTYPE_OPAQUE)
        return tpd_fail(error, TPD_UNSUPPORTED, "%s has no items of dtype %s; ask for %s", tpd_codec_name(out),
                        tpd_dtype_name(payload->matrix.dtype), takers(payload, formats, sizeof formats));
    return tpd_fail(error, TPD_UNSUPPORTED,
                    "opaque items of %" PRIu32 " bytes can't be written as %s; name their dtype, or ask for %s",
                    payload->matrix.itemsize, tpd_codec_name(out), takers(payload, formats, sizeof formats));
}
