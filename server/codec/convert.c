/* convert.c -- a payload of one kind becomes one that another format can write. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/codec/codec_internal.h"
#include "server/codec/number.h"

/* A cell that is well-formed text, but no value of the dtype. Names it, and where it lies in the body. is_word: it is no number
 * at all, so that another dtype would help as little. */
static enum tpd_status fail_cell(const struct tpd_payload *payload, uint64_t index, bool is_word, enum tpd_dtype dtype,
                                 const char *why, struct tpd_error *error) {
    const struct tpd_cell *cells = (const struct tpd_cell *)(const void *)payload->items.data;
    const struct tpd_matrix *m = &payload->matrix;
    uint64_t offset = cells[index].place >> 24, bytes = cells[index].place & TPD_CELL_BYTES_MOST;
    int shown = bytes > 40 ? 40 : (int)bytes;
    char advice[64] = "ask for another dtype";
    if (is_word)
        (void)snprintf(advice, sizeof advice, "ask for %s, where cells stay as they are", tpd_codec_name(payload->format));
    enum tpd_status status = tpd_fail_at(
        error, TPD_OUT_OF_RANGE, offset, "row %" PRIu64 ", column %" PRIu64 " (from 0): '%.*s%s' %s for %s; correct it, or %s",
        index / m->cols % m->rows, index % m->cols, shown, (const char *)payload->text.data + offset, bytes > 40 ? "..." : "",
        why, tpd_dtype_name(dtype), advice);
    if (error != NULL)
        tpd_text_place(error, payload->text.data, payload->text.data + offset);
    return status;
}

/* bool, int64, uint64 or float64: the first that holds every cell. */
static enum tpd_dtype least_dtype(const struct tpd_payload *payload, uint64_t items) {
    const struct tpd_cell *cells = (const struct tpd_cell *)(const void *)payload->items.data;
    unsigned seen = 0;
    for (uint64_t i = 0; i < items && seen != TPD_NUMBER_REAL; i++)
        seen |= tpd_number_class((const char *)payload->text.data + (cells[i].place >> 24), cells[i].place & TPD_CELL_BYTES_MOST);
    if (seen == TPD_NUMBER_BOOL)
        return TPD_DTYPE_BOOL;
    if (seen == 0 || (seen & TPD_NUMBER_REAL) != 0)
        return TPD_DTYPE_FLOAT64;
    if ((seen & TPD_NUMBER_LARGE) == 0)
        return TPD_DTYPE_INT64;
    return (seen & TPD_NUMBER_SIGNED) == 0 ? TPD_DTYPE_UINT64 : TPD_DTYPE_FLOAT64;
}

static enum tpd_status cells_to_items(struct tpd_payload *payload, const struct tpd_encode_options *options,
                                      struct tpd_error *error) {
    uint64_t items = tpd_matrix_items(&payload->matrix), bytes;
    struct tpd_matrix matrix = payload->matrix;
    matrix.dtype = options->has_dtype                          ? options->dtype
                   : payload->matrix.dtype != TPD_DTYPE_OPAQUE ? payload->matrix.dtype
                                                               : least_dtype(payload, items);
    matrix.itemsize = tpd_dtype_itemsize(matrix.dtype);
    enum tpd_status status = tpd_matrix_bytes(&matrix, &bytes, error);
    struct tpd_block block;
    if (status == TPD_OK)
        status = tpd_block_acquire(options->memory, (size_t)bytes, &block, error);
    if (status != TPD_OK)
        return status;
    const struct tpd_cell *cells = (const struct tpd_cell *)(const void *)payload->items.data;
    unsigned char *out = block.data;
    for (uint64_t i = 0; i < items; i++, out += matrix.itemsize) {
        const char *why = "";
        const char *text = (const char *)payload->text.data + (cells[i].place >> 24);
        status = tpd_number_read(matrix.dtype, text, cells[i].place & TPD_CELL_BYTES_MOST, out, &why);
        if (status != TPD_OK) {
            status = fail_cell(payload, i, status == TPD_MALFORMED, matrix.dtype, why, error);
            tpd_block_release(&block);
            return status;
        }
    }
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
    return options->has_dtype && tpd_dtype_kind(options->dtype) != TPD_KIND_COMPLEX &&
           strcmp(payload->form.json_dtype, tpd_dtype_name(options->dtype)) != 0;
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
    char formats[64];
    bool fits = ops->takes(payload);
    if (fits && payload->cells && dtype_is_idle(payload, options))
        return tpd_fail(error, TPD_BAD_PARAMETER,
                        "dtype is %s, but from %s to %s cells stay the text they are; leave dtype out, or ask for a format of "
                        "binary items",
                        tpd_dtype_name(options->dtype), tpd_codec_name(payload->format), tpd_codec_name(out));
    if (fits)
        return TPD_OK;
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
    return tpd_fail(error, TPD_UNSUPPORTED,
                    "opaque items of %" PRIu32 " bytes can't be written as %s; name their dtype, or ask for %s",
                    payload->matrix.itemsize, tpd_codec_name(out), takers(payload, formats, sizeof formats));
}
