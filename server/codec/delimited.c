/* delimited.c -- from a table's text to its cells and shape. See delimited.h. */
#include "server/codec/delimited.h"

#include <inttypes.h>
#include <string.h>

#include "server/codec/text_decoder.h"

enum { FEW_CELLS = 1024 }; /* a batch for one row, which may need several */

/* How the first row ends. What is wrong with it is said when it is read. */
static enum tpd_status read_line_end(struct tpd_cell_scan scan, bool *crlf, struct tpd_error *error) {
    struct tpd_cell_batch batch;
    const unsigned char *bad;
    enum tpd_status status = tpd_cell_batch_init(&batch, FEW_CELLS, error);
    *crlf = false;
    if (status != TPD_OK)
        return status;
    enum tpd_status found;
    do
        found = tpd_cell_scan(&scan, &batch, 1, &bad, NULL);
    while (found == TPD_OK && batch.rows == 0 && batch.count != 0);
    if (found == TPD_OK && batch.rows == 1) {
        const unsigned char *end =
            scan.text + tpd_cell_offset(batch.cells[batch.count - 1]) + tpd_cell_bytes(batch.cells[batch.count - 1]);
        *crlf = end < scan.end && *end == '\r';
    }
    tpd_cell_batch_fini(&batch);
    return TPD_OK;
}

enum tpd_status tpd_table_open(const struct tpd_table_options *options, unsigned char delimiter, const unsigned char *text,
                               size_t bytes, struct tpd_table_form *form, struct tpd_cell_scan *scan, struct tpd_error *error) {
    *form = (struct tpd_table_form){.delimiter = options->has_delimiter ? options->delimiter : delimiter,
                                    .quotes = !options->quotes_off};
    if (strchr(options->filler, form->delimiter) != NULL && options->filler[0] != '\0')
        return tpd_fail(error, TPD_BAD_PARAMETER, "filler \"%.40s\" holds the delimiter: take another", options->filler);
    if (bytes >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
        return tpd_fail_at(error, TPD_UNSUPPORTED, 0, "the text begins with UTF-16's byte-order mark: convert it to UTF-8 first");
    form->bom = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    *scan = (struct tpd_cell_scan){.text = text,
                                   .first = text + (form->bom ? 3 : 0),
                                   .end = text + bytes,
                                   .delimiter = form->delimiter,
                                   .quotes = form->quotes,
                                   .is_whole = true};
    scan->at = scan->first;
    form->final_newline = scan->end > scan->first && scan->end[-1] == '\n';
    return read_line_end(*scan, &form->crlf, error);
}

bool tpd_table_shape_add(struct tpd_table_shape *shape, const struct tpd_cell_scan *scan, const struct tpd_cell_batch *batch) {
    uint32_t from = 0;
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint64_t cols = shape->open + (batch->row_ends[i] - from);
        if (!shape->has_cols || (shape->pad && cols > shape->cols))
            shape->cols = cols;
        shape->has_cols = true;
        if (cols != shape->cols && !shape->pad)
            return false;
        shape->open = 0;
        shape->rows++;
        from = batch->row_ends[i];
        shape->row = from < batch->count ? scan->text + tpd_cell_offset(batch->cells[from]) : scan->at;
    }
    shape->open += batch->count - from;
    /* A row that never ends is refused before all of it is counted. */
    return shape->pad || !shape->has_cols || shape->open <= shape->cols;
}

enum tpd_status tpd_table_ragged(const struct tpd_cell_scan *scan, const struct tpd_table_shape *shape, const unsigned char **at,
                                 struct tpd_error *error) {
    struct tpd_cell_batch batch;
    struct tpd_cell_scan again = *scan;
    uint64_t cols = 0;
    enum tpd_status status = tpd_cell_batch_init(&batch, FEW_CELLS, error);
    if (status != TPD_OK)
        return status;
    again.at = *at = shape->row;
    again.is_whole = true;
    again.is_done = false;
    do {
        const unsigned char *bad;
        status = tpd_cell_scan(&again, &batch, 1, &bad, error);
        if (status != TPD_OK) { /* something else is wrong right behind: that is told in its place */
            *at = bad != NULL ? bad : *at;
            break;
        }
        if (cols <= shape->cols && batch.count > shape->cols - cols)
            *at = scan->text + tpd_cell_offset(batch.cells[shape->cols - cols]);
        cols += batch.count;
    } while (batch.rows == 0 && !again.is_done);
    if (status == TPD_OK && cols <= shape->cols && batch.count != 0)
        *at = scan->text + tpd_cell_offset(batch.cells[batch.count - 1]) + tpd_cell_bytes(batch.cells[batch.count - 1]);
    tpd_cell_batch_fini(&batch);
    if (status != TPD_OK)
        return status;
    return tpd_fail_at(error, TPD_RAGGED, (uint64_t)(*at - scan->text),
                       "row %" PRIu64 " has %" PRIu64 " cells, the first has %" PRIu64
                       "; every row needs the same number, or ask for ragged=pad",
                       shape->rows, cols, shape->cols);
}

/* Text that begins like nothing else may be anything: a table is read where something says that it is one. */
bool tpd_table_sniff(const unsigned char *head, size_t head_bytes, const struct tpd_decode_options *options) {
    (void)head;
    (void)head_bytes;
    (void)options;
    return false;
}

/* One reading of the text: its shape, and its cells where there is room for them (cells NULL: not even one). */
static enum tpd_status read_cells(struct tpd_cell_scan *scan, struct tpd_table_shape *shape, struct tpd_cell_batch *batch,
                                  struct tpd_cell *cells, struct tpd_error *error) {
    struct tpd_cell *own = batch->cells;
    const unsigned char *at = scan->at;
    enum tpd_status status = TPD_OK;
    shape->row = scan->at;
    while (status == TPD_OK && !scan->is_done) {
        if (cells != NULL)
            batch->cells = cells;
        status = tpd_cell_scan(scan, batch, UINT32_MAX, &at, error);
        if (status == TPD_OK && !tpd_table_shape_add(shape, scan, batch))
            status = tpd_table_ragged(scan, shape, &at, error);
        if (cells != NULL)
            cells += batch->count;
    }
    batch->cells = own;
    if (status != TPD_OK && at != NULL && error != NULL)
        tpd_text_place(error, scan->text, at);
    return status;
}

/* Rows into their places, the short ones filled up. */
static enum tpd_status place_rows(struct tpd_cell_scan *scan, struct tpd_cell_batch *batch, uint64_t cols, struct tpd_cell filler,
                                  struct tpd_cell *to, struct tpd_error *error) {
    const unsigned char *at;
    uint64_t open = 0;
    while (!scan->is_done) {
        enum tpd_status status = tpd_cell_scan(scan, batch, UINT32_MAX, &at, error);
        if (status != TPD_OK)
            return status;
        uint32_t from = 0;
        for (uint32_t i = 0; i <= batch->rows; i++) {
            uint32_t end = i < batch->rows ? batch->row_ends[i] : batch->count;
            memcpy(to, batch->cells + from, (end - from) * sizeof *to);
            to += end - from;
            open += end - from;
            from = end;
            for (; i < batch->rows && open < cols; open++)
                *to++ = filler;
            if (i < batch->rows)
                open = 0;
        }
    }
    return TPD_OK;
}

static enum tpd_status check_cells(uint64_t rows, uint64_t cols, const struct tpd_table_options *options,
                                   struct tpd_error *error) {
    uint64_t cells;
    if (__builtin_mul_overflow(rows, cols, &cells))
        cells = UINT64_MAX;
    if (options->cells_most != 0 && cells > options->cells_most)
        return tpd_fail_limit(error, TPD_TOO_LARGE, options->cells_most, cells,
                              "%" PRIu64 " rows of %" PRIu64 " cells are %" PRIu64 ", max_cells is %" PRIu64
                              ": send fewer or raise it",
                              rows, cols, cells, options->cells_most);
    return TPD_OK;
}

/* The filler's letters lie behind the text, so that a cell can point to them. */
static enum tpd_status add_filler(struct tpd_block *text, const char *filler, struct tpd_cell *cell, struct tpd_error *error) {
    size_t bytes = strlen(filler);
    uint64_t place = text->bytes;
    enum tpd_status status = tpd_block_grow(text, text->bytes + bytes + 2 * TPD_TEXT_PAD, error);
    if (status != TPD_OK)
        return status;
    memcpy(text->data + place, filler, bytes);
    memset(text->data + place + bytes, 0, TPD_TEXT_PAD);
    text->bytes += bytes; /* as it grows, the filler moves along */
    *cell = tpd_cell_of(place, bytes);
    return TPD_OK;
}

static enum tpd_status find_cells(struct tpd_decoder *decoder, unsigned char delimiter, struct tpd_payload *payload,
                                  struct tpd_cell_batch *batch, struct tpd_error *error) {
    struct tpd_block *text = &decoder->text;
    struct tpd_table_options *table = &decoder->options.table;
    struct tpd_cell_scan scan;
    struct tpd_table_shape shape = {.pad = table->ragged == TPD_RAGGED_PAD};
    struct tpd_cell filler = {0};
    enum tpd_status status = tpd_table_open(table, delimiter, text->data, text->bytes, &payload->form.table, &scan, error);
    uint64_t marks = status == TPD_OK ? tpd_cell_marks(scan.first, (size_t)(scan.end - scan.first), scan.delimiter) + 1 : 0;
    if (status == TPD_OK && shape.pad) {
        size_t bytes = text->bytes;
        status = read_cells(&scan, &shape, batch, NULL, error);
        if (status == TPD_OK)
            status = check_cells(shape.rows, shape.cols, table, error);
        if (status == TPD_OK)
            status = add_filler(text, table->filler, &filler, error);
        if (status == TPD_OK) /* the block may lie elsewhere now */
            status = tpd_table_open(table, delimiter, text->data, bytes, &payload->form.table, &scan, error);
        marks = shape.rows * shape.cols;
    }
    if (status == TPD_OK && marks > (SIZE_MAX / 2) / sizeof(struct tpd_cell))
        status = tpd_fail(error, TPD_SIZE_OVERFLOW, "the body may have %" PRIu64 " cells, which no memory holds", marks);
    if (status == TPD_OK)
        status = tpd_block_acquire(decoder->options.memory, ((size_t)marks + TPD_SCAN_SLACK) * sizeof(struct tpd_cell),
                                   &payload->items, error);
    if (status != TPD_OK)
        return status;
    struct tpd_cell *cells = (struct tpd_cell *)(void *)payload->items.data;
    status =
        shape.pad ? place_rows(&scan, batch, shape.cols, filler, cells, error) : read_cells(&scan, &shape, batch, cells, error);
    if (status == TPD_OK)
        status = check_cells(shape.rows, shape.cols, table, error);
    payload->items.bytes = (size_t)(shape.rows * shape.cols) * sizeof *cells;
    payload->matrix = (struct tpd_matrix){
        .rows = shape.rows, .cols = shape.cols, .batch = 1, .itemsize = sizeof *cells, .dtype = TPD_DTYPE_OPAQUE};
    return status;
}

enum tpd_status tpd_table_finish(struct tpd_decoder *decoder, enum tpd_codec_id format, unsigned char delimiter,
                                 struct tpd_payload *payload, struct tpd_error *error) {
    struct tpd_cell_batch batch;
    memset(payload, 0, sizeof *payload);
    payload->format = format;
    tpd_text_decoder_end(decoder);
    enum tpd_status status = tpd_cell_batch_init(&batch, TPD_BATCH_CELLS, error);
    if (status != TPD_OK)
        return status;
    bool is_read = false;
    status = tpd_table_read_items(&decoder->options, delimiter, &decoder->text, &batch, payload, &is_read, error);
    if (status == TPD_OK && !is_read)
        status = find_cells(decoder, delimiter, payload, &batch, error);
    tpd_cell_batch_fini(&batch);
    if (status == TPD_OK)
        status = tpd_codec_shape_agrees(&decoder->options, &payload->matrix, error);
    if (status != TPD_OK) {
        tpd_block_release(&payload->items);
        return status;
    }
    if (is_read)
        return TPD_OK;
    if (decoder->options.has_dtype)
        payload->matrix.dtype = decoder->options.dtype;
    payload->cells = true;
    tpd_text_decoder_give(decoder, payload);
    return TPD_OK;
}
