/* number_rows.c -- see number_rows.h. */
#include "server/codec/number_rows.h"

#include <string.h>

enum {
    SAMPLES = 256,
    RUN_MOST = 256 /* items between two looks at the room that is left */
};

uint64_t tpd_number_rows_guess(const struct tpd_number_rows *rows, const struct tpd_payload *payload) {
    uint64_t items = tpd_matrix_items(&payload->matrix), samples = items < SAMPLES ? items : SAMPLES, bytes = 0;
    for (uint64_t i = 0; i < samples; i++) {
        char text[TPD_NUMBER_TEXT_MOST];
        uint64_t at = items / samples * i + i % (items / samples); /* not always the same column */
        bytes += tpd_number_write(rows->spelling, payload->matrix.dtype, payload->items.data + at * payload->matrix.itemsize,
                                  rows->nonfinite, text);
    }
    double each = samples != 0 ? (double)bytes / (double)samples * 1.03 + 1 : 0;
    double lines = (double)items / (double)rows->each * (double)(strlen(rows->line_end) - 1);
    double guess = each * (double)items + lines + TPD_NUMBER_TEXT_MOST * (RUN_MOST + 1);
    return guess < (double)(SIZE_MAX / 4) ? (uint64_t)guess : SIZE_MAX / 4;
}

/* Room for so many more items; what was guessed was too little, so the rest is guessed anew from what the first ones took. */
static enum tpd_status make_room(struct tpd_block *block, uint64_t count, uint64_t done, uint64_t items, size_t start,
                                 struct tpd_error *error) {
    size_t need = block->bytes + (size_t)count * TPD_NUMBER_TEXT_MOST + TPD_NUMBER_TEXT_MOST;
    if (need <= block->capacity_bytes)
        return TPD_OK;
    double each = done != 0 ? (double)(block->bytes - start) / (double)done : TPD_NUMBER_TEXT_MOST;
    double guess = (double)need + each * 1.1 * (double)(items - done);
    if (guess > (double)(SIZE_MAX / 2))
        return tpd_fail(error, TPD_TOO_LARGE, "the text is larger than any memory; ask for a binary format");
    return tpd_block_grow(block, (size_t)guess, error);
}

/* A run of one line. */
static char *put_run(const struct tpd_number_rows *rows, enum tpd_dtype dtype, uint32_t itemsize, uint64_t count,
                     const unsigned char *item, char *to) {
    for (uint64_t i = 0; i < count; i++, item += itemsize) {
        to += tpd_number_write(rows->spelling, dtype, item, rows->nonfinite, to);
        *to++ = rows->between;
    }
    return to;
}

enum tpd_status tpd_number_rows_write(const struct tpd_number_rows *rows, const struct tpd_payload *payload,
                                      struct tpd_block *block, struct tpd_error *error) {
    const struct tpd_matrix *matrix = &payload->matrix;
    uint64_t items = tpd_matrix_items(matrix), left = rows->each;
    size_t start = block->bytes, line_end = strlen(rows->line_end);
    const unsigned char *item = payload->items.data;
    for (uint64_t done = 0; done < items;) {
        uint64_t count = items - done < RUN_MOST ? items - done : RUN_MOST;
        enum tpd_status status = make_room(block, count, done, items, start, error);
        if (status != TPD_OK)
            return status;
        done += count;
        char *to = (char *)block->data + block->bytes;
        while (count != 0) {
            uint64_t run = left < count ? left : count;
            to = put_run(rows, matrix->dtype, matrix->itemsize, run, item, to);
            item += run * matrix->itemsize;
            count -= run;
            left -= run;
            if (left == 0) { /* the line's last mark becomes its end */
                memcpy(to - 1, rows->line_end, line_end);
                to += line_end - 1;
                left = rows->each;
            }
        }
        block->bytes = (size_t)(to - (char *)block->data);
    }
    if (items != 0 && !rows->final_end)
        block->bytes -= line_end;
    return TPD_OK;
}
