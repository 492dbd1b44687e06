/* delimited_write.c -- a table's cells as delimited text again. */
#include <inttypes.h>
#include <string.h>

#include "server/codec/cell_write.h"
#include "server/codec/codec_internal.h"
#include "server/codec/delimited.h"
#include "server/codec/number_rows.h"

bool tpd_table_takes(const struct tpd_payload *payload) {
    return payload->cells
               ? payload->form.table.delimiter != 0
               : !payload->big_endian && payload->matrix.batch == 1 && tpd_dtype_kind(payload->matrix.dtype) != TPD_KIND_OPAQUE;
}

/* Binary items: their numbers, a row a line. */
static enum tpd_status encode_items(struct tpd_payload *payload, unsigned char delimiter,
                                    const struct tpd_encode_options *options, struct tpd_encoded *encoded,
                                    struct tpd_error *error) {
    if (strchr("0123456789+-.()abcdefijlnrstu", delimiter) != NULL)
        return tpd_fail(error, TPD_BAD_PARAMETER, "delimiter is '%c', which numbers are written with: ask for another",
                        delimiter);
    uint64_t cols = payload->matrix.cols != 0 ? payload->matrix.cols : 1;
    struct tpd_number_rows rows = {TPD_SPELLING_PLAIN, options->nonfinite, cols, (char)delimiter, options->threads};
    enum tpd_status status =
        tpd_block_acquire(options->memory, (size_t)tpd_number_rows_guess(&rows, payload), &encoded->block, error);
    if (status != TPD_OK)
        return status;
    encoded->block.bytes = 0;
    status = tpd_number_rows_write(&rows, payload, &encoded->block, error);
    if (status != TPD_OK)
        tpd_block_release(&encoded->block);
    encoded->start = encoded->block.data;
    encoded->bytes = encoded->block.bytes;
    return status;
}

/* A cell without quotes of its own in which the new delimiter stands would fall in two. */
static bool wants_quotes(const unsigned char *cell, size_t bytes, const struct tpd_table_form *form, unsigned char delimiter) {
    bool quoted = form->quotes && bytes != 0 && cell[0] == '"';
    return !quoted && memchr(cell, delimiter, bytes) != NULL;
}

static size_t quoted_bytes(const unsigned char *cell, size_t bytes) {
    size_t sum = bytes + 2;
    for (size_t i = 0; i < bytes; i++)
        sum += cell[i] == '"';
    return sum;
}

/* Cells that need quotes under another delimiter get them: a new text behind the old one. */
static enum tpd_status add_quotes(struct tpd_payload *payload, unsigned char delimiter, struct tpd_error *error) {
    const struct tpd_table_form *form = &payload->form.table;
    struct tpd_cell *cells = (struct tpd_cell *)(void *)payload->items.data;
    uint64_t items = tpd_matrix_items(&payload->matrix), bytes = 0;
    for (uint64_t i = 0; i < items; i++) {
        const unsigned char *cell = payload->text.data + tpd_cell_offset(cells[i]);
        if (wants_quotes(cell, tpd_cell_bytes(cells[i]), form, delimiter))
            bytes += quoted_bytes(cell, tpd_cell_bytes(cells[i]));
    }
    if (bytes == 0)
        return TPD_OK;
    if (!form->quotes)
        return tpd_fail(
            error, TPD_UNSUPPORTED,
            "a cell holds the delimiter of the answer, and quotes=off leaves no way to write that: ask for the format "
            "that came in");
    size_t at = payload->text.bytes;
    enum tpd_status status = tpd_block_grow(&payload->text, at + (size_t)bytes + TPD_TEXT_PAD, error);
    if (status != TPD_OK)
        return status;
    unsigned char *text = payload->text.data;
    for (uint64_t i = 0; i < items; i++) {
        const unsigned char *cell = text + tpd_cell_offset(cells[i]);
        size_t length = tpd_cell_bytes(cells[i]), start = at;
        if (!wants_quotes(cell, length, form, delimiter))
            continue;
        if (quoted_bytes(cell, length) > TPD_CELL_BYTES_MOST)
            return tpd_fail(error, TPD_TOO_LARGE, "a cell has more than %d bytes with the quotes that it needs",
                            TPD_CELL_BYTES_MOST);
        text[at++] = '"';
        for (size_t j = 0; j < length; j++) {
            text[at++] = cell[j];
            if (cell[j] == '"')
                text[at++] = '"';
        }
        text[at++] = '"';
        cells[i] = tpd_cell_of(start, at - start);
    }
    memset(text + at, 0, TPD_TEXT_PAD);
    payload->text.bytes = at;
    return TPD_OK;
}

enum tpd_status tpd_table_encode(struct tpd_payload *payload, enum tpd_codec_id format, unsigned char delimiter,
                                 const struct tpd_encode_options *options, struct tpd_encoded *encoded, struct tpd_error *error) {
    struct tpd_table_form *form = &payload->form.table;
    const struct tpd_matrix *matrix = &payload->matrix;
    if (!payload->cells)
        return encode_items(payload, options->has_delimiter ? options->delimiter : delimiter, options, encoded, error);
    if (payload->format != format) {
        unsigned char other = options->has_delimiter && form->delimiter == 0 ? options->delimiter : delimiter;
        enum tpd_status status = other != form->delimiter ? add_quotes(payload, other, error) : TPD_OK;
        if (status != TPD_OK)
            return status;
        form->delimiter = other;
    }
    const struct tpd_cell *cells = (const struct tpd_cell *)(const void *)payload->items.data;
    struct tpd_cell_rows rows = {.text = payload->text.data,
                                 .cells = cells,
                                 .rows = matrix->cols != 0 ? matrix->rows : 0,
                                 .cols = matrix->cols,
                                 .separator = form->delimiter,
                                 .before = "",
                                 .behind = form->crlf ? "\r\n" : "\n"};
    size_t bom = form->bom ? 3 : 0;
    uint64_t bytes = bom + tpd_cell_rows_bytes(&rows);
    enum tpd_status status = tpd_block_acquire(options->memory, (size_t)bytes + 1, &encoded->block, error);
    if (status != TPD_OK)
        return status;
    memcpy(encoded->block.data, "\xef\xbb\xbf", bom);
    (void)tpd_cell_rows_write(&rows, encoded->block.data + bom);
    /* The last line keeps its end where the first text had one, and where the line would be nothing without it. */
    bool is_nothing = rows.rows != 0 && rows.cols == 1 && tpd_cell_bytes(cells[rows.rows - 1]) == 0;
    if (rows.rows != 0 && !form->final_newline && !is_nothing)
        bytes -= strlen(rows.behind);
    encoded->start = encoded->block.data;
    encoded->block.bytes = encoded->bytes = (size_t)bytes;
    return TPD_OK;
}
