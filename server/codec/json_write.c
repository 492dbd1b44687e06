/* json_write.c -- brackets and commas round the items. Cells: the exact size first, then one block and no check a cell. */
#include "server/codec/json_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/codec/cell_write.h"
#include "server/codec/number.h"

struct writer {
    const struct tpd_payload *payload;
    const struct tpd_encode_options *options;
    struct tpd_error *error;
    struct tpd_block block;
    uint64_t written, items; /* so far, and in all */
    bool nested, has_batch;
};

static size_t open_object(const struct writer *w, char *text, size_t room) {
    const struct tpd_form *form = &w->payload->form;
    const struct tpd_matrix *m = &w->payload->matrix;
    int length = snprintf(text, room, "{");
#define ADD(...) length += snprintf(text + length, room - (size_t)length, __VA_ARGS__)
    if (form->json_has_size && form->json_has_shape && w->has_batch)
        ADD("\"shape\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "],", m->batch, m->rows, m->cols);
    else if (form->json_has_size && form->json_has_shape)
        ADD("\"shape\":[%" PRIu64 ",%" PRIu64 "],", m->rows, m->cols);
    else if (form->json_has_size && w->has_batch)
        ADD("\"batch\":%" PRIu64 ",\"rows\":%" PRIu64 ",\"cols\":%" PRIu64 ",", m->batch, m->rows, m->cols);
    else if (form->json_has_size)
        ADD("\"rows\":%" PRIu64 ",\"cols\":%" PRIu64 ",", m->rows, m->cols);
    if (form->json_dtype[0] != '\0')
        ADD("\"dtype\":\"%s\",", form->json_dtype);
    ADD("\"data\":");
#undef ADD
    return (size_t)length;
}

/* Brackets, and commas between arrays and items, of `lines` x `length` items in `nested` levels. Closed, as rows without items
 * may be more than any memory holds. */
static bool punctuation(const struct writer *w, uint64_t *bytes) {
    const struct tpd_matrix *m = &w->payload->matrix;
    *bytes = 2;
    if (!w->nested)
        return !__builtin_add_overflow(*bytes, w->items, bytes);
    uint64_t lines, each;
    if (__builtin_mul_overflow(m->rows, m->batch, &lines) || __builtin_mul_overflow(lines, 3u, &each) ||
        __builtin_add_overflow(*bytes, each, bytes) || __builtin_add_overflow(*bytes, w->items, bytes))
        return false;
    return !w->has_batch || (!__builtin_mul_overflow(m->batch, 3u, &each) && !__builtin_add_overflow(*bytes, each, bytes));
}

static enum tpd_status add(struct writer *w, const char *text, size_t bytes) {
    if (w->block.bytes + bytes > w->block.capacity_bytes)
        return tpd_fail(w->error, TPD_INTERNAL, "the JSON text is longer than was counted");
    memcpy(w->block.data + w->block.bytes, text, bytes);
    w->block.bytes += bytes;
    return TPD_OK;
}

/* The rows of one matrix, each in brackets, with commas between them. Their size was counted. */
static enum tpd_status add_cells(struct writer *w, uint64_t lines, uint64_t length) {
    const struct tpd_cell_rows rows = {.text = w->payload->text.data,
                                       .cells = (const struct tpd_cell *)(const void *)w->payload->items.data + w->written,
                                       .rows = lines,
                                       .cols = length,
                                       .separator = ',',
                                       .before = "[",
                                       .behind = "],"};
    if (lines == 0)
        return TPD_OK;
    unsigned char *end = tpd_cell_rows_write(&rows, w->block.data + w->block.bytes);
    w->block.bytes = (size_t)(end - w->block.data) - 1; /* the last comma */
    w->written += lines * length;
    return TPD_OK;
}

/* Room for one more number, and for the punctuation that is still to come. Grows to what the numbers so far let expect. */
static enum tpd_status make_room(struct writer *w, uint64_t tail) {
    size_t need = w->block.bytes + TPD_NUMBER_TEXT_MOST + (size_t)tail;
    if (need <= w->block.capacity_bytes)
        return TPD_OK;
    double each = w->written != 0 ? (double)w->block.bytes / (double)w->written : TPD_NUMBER_TEXT_MOST;
    double guess = (double)need + each * 1.05 * (double)(w->items - w->written);
    if (guess > (double)(SIZE_MAX / 2))
        return tpd_fail(w->error, TPD_TOO_LARGE, "the JSON text is larger than any memory; ask for a binary format");
    return tpd_block_grow(&w->block, (size_t)guess, w->error);
}

static enum tpd_status add_numbers(struct writer *w, uint64_t count, uint64_t tail) {
    const struct tpd_matrix *m = &w->payload->matrix;
    const unsigned char *item = w->payload->items.data + w->written * m->itemsize;
    for (uint64_t i = 0; i < count; i++, item += m->itemsize) {
        enum tpd_status status = make_room(w, tail);
        if (status != TPD_OK)
            return status;
        char *to = (char *)w->block.data + w->block.bytes;
        size_t bytes = tpd_number_write(TPD_SPELLING_JSON, m->dtype, item, w->options->nonfinite, to);
        if (bytes == 0)
            return tpd_fail(w->error, TPD_NONFINITE,
                            "row %" PRIu64 ", column %" PRIu64
                            " (from 0) of the answer is NaN or infinite, for which JSON has no word; "
                            "ask for nonfinite=null or nonfinite=string, or for a binary format",
                            w->written / m->cols % m->rows, w->written % m->cols);
        w->written++;
        to[bytes] = ',';
        w->block.bytes += bytes + 1;
    }
    w->block.bytes--;
    return TPD_OK;
}

/* One array of count items. */
static enum tpd_status add_line(struct writer *w, uint64_t count, uint64_t tail) {
    enum tpd_status status = add(w, "[", 1);
    if (status == TPD_OK && count != 0)
        status = add_numbers(w, count, tail);
    return status == TPD_OK ? add(w, "]", 1) : status;
}

/* The arrays of one matrix. */
static enum tpd_status add_lines(struct writer *w, uint64_t lines, uint64_t length, uint64_t tail) {
    if (w->payload->cells)
        return add_cells(w, lines, length);
    enum tpd_status status = TPD_OK;
    for (uint64_t r = 0; r < lines && status == TPD_OK; r++) {
        if (r != 0)
            status = add(w, ",", 1);
        if (status == TPD_OK)
            status = add_line(w, length, tail);
    }
    return status;
}

static enum tpd_status add_data(struct writer *w, uint64_t tail) {
    const struct tpd_matrix *m = &w->payload->matrix;
    if (!w->nested)
        return add_lines(w, 1, w->items, tail);
    enum tpd_status status = w->has_batch ? add(w, "[", 1) : TPD_OK;
    for (uint64_t b = 0; b < m->batch && status == TPD_OK; b++) {
        status = add(w, b != 0 ? ",[" : "[", b != 0 ? 2 : 1);
        if (status == TPD_OK)
            status = add_lines(w, m->rows, m->cols, tail);
        if (status == TPD_OK)
            status = add(w, "]", 1);
    }
    return status == TPD_OK && w->has_batch ? add(w, "]", 1) : status;
}

enum tpd_status tpd_json_write(struct tpd_payload *payload, const struct tpd_encode_options *options, struct tpd_encoded *encoded,
                               struct tpd_error *error) {
    struct writer w = {.payload = payload, .options = options, .error = error, .items = tpd_matrix_items(&payload->matrix)};
    if (!payload->cells && tpd_dtype_kind(payload->matrix.dtype) == TPD_KIND_OPAQUE)
        return tpd_fail(error, TPD_UNSUPPORTED, "opaque items have no text; name their dtype, or ask for a binary format");
    w.nested = payload->form.json != TPD_JSON_OBJECT_FLAT;
    w.has_batch = payload->form.json_has_batch || payload->form.npy_has_batch || payload->matrix.batch != 1;
    bool object = payload->form.json != TPD_JSON_NESTED;
    char head[192]; /* three counts of 20 digits and a dtype */
    size_t head_bytes = object ? open_object(&w, head, sizeof head) : 0;
    uint64_t marks;
    if (!punctuation(&w, &marks) || marks > SIZE_MAX / 4)
        return tpd_fail(error, TPD_TOO_LARGE,
                        "%" PRIu64 " x %" PRIu64 " rows are more JSON text than any memory holds; ask for a binary format",
                        payload->matrix.batch, payload->matrix.rows);
    /* Cells: the exact size. Numbers: room for the marks now, the numbers' own as they come. */
    uint64_t bytes = head_bytes + marks + 2; /* a comma behind the last row, and the brace */
    if (payload->cells) {
        bytes += tpd_cells_bytes((const struct tpd_cell *)(const void *)payload->items.data, (size_t)w.items);
    } else if (w.items != 0) {
        bytes += TPD_NUMBER_TEXT_MOST + 6 * (w.items - 1); /* few numbers are shorter: it grows once, or not at all */
    }
    enum tpd_status status = tpd_block_acquire(options->memory, (size_t)bytes, &w.block, error);
    if (status != TPD_OK)
        return status;
    w.block.bytes = 0;
    status = add(&w, head, head_bytes);
    if (status == TPD_OK)
        status = add_data(&w, marks + 1);
    if (status == TPD_OK && object)
        status = add(&w, "}", 1);
    if (status != TPD_OK) {
        tpd_block_release(&w.block);
        return status;
    }
    encoded->block = w.block;
    encoded->start = w.block.data;
    encoded->bytes = w.block.bytes;
    return TPD_OK;
}
