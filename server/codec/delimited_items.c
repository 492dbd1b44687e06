/* delimited_items.c -- a table of numbers straight to items: each batch of cells is read while it is in the cache, and no index
 * of them all is made. What is out of the ordinary goes the long way, which does it or says where it fails. */
#include "server/codec/delimited.h"
#include "server/codec/number.h"

/* What nobody names is float64 when a cell of the first batch wants that; whole numbers may yet turn out to want it, or more than
 * 64 bits, so all of them are looked at first: the long way. */
static bool find_dtype(const struct tpd_decode_options *options, const struct tpd_cell_scan *scan,
                       const struct tpd_cell_batch *batch, enum tpd_dtype *dtype) {
    *dtype = options->has_dtype ? options->dtype : TPD_DTYPE_FLOAT64;
    for (uint32_t i = 0; i < batch->count && !options->has_dtype; i++) {
        const char *cell = (const char *)scan->text + tpd_cell_offset(batch->cells[i]);
        enum tpd_number_class class = tpd_number_class(TPD_SPELLING_PLAIN, cell, tpd_cell_bytes(batch->cells[i]));
        if (class == TPD_NUMBER_REAL || class == TPD_NUMBER_COMPLEX)
            return class == TPD_NUMBER_REAL;
    }
    return options->has_dtype;
}

/* Room for the items of the next batch: of all of them, if they go on as they began. */
static enum tpd_status make_room(struct tpd_block *items, const struct tpd_decode_options *options,
                                 const struct tpd_cell_scan *scan, uint64_t cells, uint32_t itemsize, struct tpd_error *error) {
    double each = (double)(scan->at - scan->first) / (double)cells;
    double guess = ((double)cells + 1.02 * (double)(scan->end - scan->at) / each + TPD_BATCH_CELLS) * itemsize;
    if (cells * itemsize <= items->capacity_bytes)
        return TPD_OK;
    if (guess > (double)(SIZE_MAX / 2))
        return tpd_fail(error, TPD_SIZE_OVERFLOW, "the body may have more cells than any memory holds");
    return items->data != NULL ? tpd_block_grow(items, (size_t)guess, error)
                               : tpd_block_acquire(options->memory, (size_t)guess, items, error);
}

/* *done stays false where the table is not an ordinary one. */
static enum tpd_status read_batches(const struct tpd_decode_options *options, struct tpd_cell_scan *scan,
                                    struct tpd_cell_batch *batch, struct tpd_table_shape *shape, enum tpd_dtype *dtype,
                                    struct tpd_block *items, bool *done, struct tpd_error *error) {
    uint64_t cells = 0, failed;
    const unsigned char *bad;
    const char *why;
    shape->row = scan->at;
    while (!scan->is_done) {
        if (tpd_cell_scan(scan, batch, UINT32_MAX, &bad, NULL) != TPD_OK || !tpd_table_shape_add(shape, scan, batch))
            return TPD_OK;
        if (cells == 0 && !find_dtype(options, scan, batch, dtype))
            return TPD_OK;
        uint64_t after = cells + batch->count;
        if (after == 0 || (options->table.cells_most != 0 && after > options->table.cells_most))
            return TPD_OK;
        uint32_t itemsize = tpd_dtype_itemsize(*dtype);
        enum tpd_status status = make_room(items, options, scan, after, itemsize, error);
        if (status != TPD_OK)
            return status;
        items->bytes = (size_t)(after * itemsize);
        if (tpd_number_read_cells(TPD_SPELLING_PLAIN, *dtype, scan->text, batch->cells, batch->count,
                                  items->data + cells * itemsize, &failed, &why) != TPD_OK)
            return TPD_OK;
        cells = after;
    }
    *done = cells != 0 && shape->open == 0;
    return TPD_OK;
}

enum tpd_status tpd_table_read_items(const struct tpd_decode_options *options, unsigned char delimiter,
                                     const struct tpd_block *text, struct tpd_cell_batch *batch, struct tpd_payload *payload,
                                     bool *done, struct tpd_error *error) {
    struct tpd_cell_scan scan;
    struct tpd_table_shape shape = {0};
    enum tpd_dtype dtype = TPD_DTYPE_FLOAT64;
    bool as_cells = options->out == TPD_CODEC_JSON || options->out == TPD_CODEC_CSV || options->out == TPD_CODEC_TSV;
    *done = false;
    if (!options->has_out || as_cells || options->table.ragged == TPD_RAGGED_PAD)
        return TPD_OK;
    enum tpd_status status =
        tpd_table_open(&options->table, delimiter, text->data, text->bytes, &payload->form.table, &scan, error);
    if (status == TPD_OK)
        status = read_batches(options, &scan, batch, &shape, &dtype, &payload->items, done, error);
    payload->matrix = (struct tpd_matrix){
        .rows = shape.rows, .cols = shape.cols, .batch = 1, .itemsize = tpd_dtype_itemsize(dtype), .dtype = dtype};
    if (!*done)
        tpd_block_release(&payload->items);
    return status;
}
