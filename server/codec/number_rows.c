/* number_rows.c -- see number_rows.h. */
#include "server/codec/number_rows.h"

#include <math.h>
#include <string.h>

#include "server/codec/number_text.h"
#include "transposed/crew.h"

enum {
    SAMPLES = 256,
    RUN_MOST = 256,        /* items between two looks at the room that is left */
    THREAD_LEAST = 1 << 17 /* items a thread: fewer are printed sooner than it starts */
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
    double guess = each * (double)items + TPD_NUMBER_TEXT_MOST * (RUN_MOST + 2) * (rows->threads + 1.0);
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

/* A run of one line of float64, the commonest, without the way through every dtype. */
static char *put_doubles(const struct tpd_number_rows *rows, uint64_t count, const unsigned char *item, char *to) {
    for (uint64_t i = 0; i < count; i++, item += sizeof(double)) {
        double value;
        memcpy(&value, item, sizeof value);
        to += isfinite(value) ? tpd_text_write_real_double(value, to)
                              : tpd_number_write(rows->spelling, TPD_DTYPE_FLOAT64, item, rows->nonfinite, to);
        *to++ = rows->between;
    }
    return to;
}

/* A run of one line. */
static char *put_run(const struct tpd_number_rows *rows, enum tpd_dtype dtype, uint32_t itemsize, uint64_t count,
                     const unsigned char *item, char *to) {
    if (dtype == TPD_DTYPE_FLOAT64)
        return put_doubles(rows, count, item, to);
    for (uint64_t i = 0; i < count; i++, item += itemsize) {
        to += tpd_number_write(rows->spelling, dtype, item, rows->nonfinite, to);
        *to++ = rows->between;
    }
    return to;
}

/* Of the items from `done` on, as many as end with `end`: as far as the block has room, or grows. */
static enum tpd_status put_items(const struct tpd_number_rows *rows, const struct tpd_payload *payload, uint64_t done,
                                 uint64_t end, struct tpd_block *block, struct tpd_error *error) {
    const struct tpd_matrix *matrix = &payload->matrix;
    uint64_t first = done, left = rows->each - done % rows->each;
    size_t start = block->bytes;
    const unsigned char *item = payload->items.data + done * matrix->itemsize;
    while (done < end) {
        uint64_t count = end - done < RUN_MOST ? end - done : RUN_MOST;
        enum tpd_status status = make_room(block, count, done - first, end - first, start, error);
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
                to[-1] = '\n';
                left = rows->each;
            }
        }
        block->bytes = (size_t)(to - (char *)block->data);
    }
    return TPD_OK;
}

/* A part of the items, and a part of the block for its text: most of what the guess said, and no more. */
struct part {
    uint64_t from, to;
    struct tpd_block text; /* not owned */
    bool fits;
};
struct parts {
    const struct tpd_number_rows *rows;
    const struct tpd_payload *payload;
    struct part part[TPD_CREW_MOST];
};

static enum tpd_status no_more(struct tpd_memory *self, size_t bytes, struct tpd_block *block, struct tpd_error *error) {
    (void)self;
    (void)block;
    return tpd_fail(error, TPD_NO_MEMORY, "a part of %zu bytes is more than was guessed", bytes);
}

static void put_part(void *self, uint32_t index) {
    struct parts *parts = self;
    struct part *part = &parts->part[index];
    part->fits = put_items(parts->rows, parts->payload, part->from, part->to, &part->text, NULL) == TPD_OK;
}

/* Side by side, then moved together. False: a part was longer than the guess, and nothing was written. */
static bool put_together(const struct tpd_number_rows *rows, const struct tpd_payload *payload, uint64_t items,
                         struct tpd_block *block) {
    struct tpd_memory fixed = {.acquire = no_more};
    struct parts parts = {.rows = rows, .payload = payload};
    uint32_t count = rows->threads < TPD_CREW_MOST ? rows->threads : TPD_CREW_MOST;
    size_t room = (block->capacity_bytes - block->bytes) / count;
    for (uint32_t i = 0; i < count; i++)
        parts.part[i] = (struct part){
            .from = items / count * i,
            .to = i + 1 < count ? items / count * (i + 1) : items,
            .text = {.data = block->data + block->bytes + i * room, .capacity_bytes = room, .memory = &fixed},
        };
    tpd_crew_share(count, count, put_part, &parts);
    for (uint32_t i = 0; i < count; i++)
        if (!parts.part[i].fits)
            return false;
    for (uint32_t i = 0; i < count; i++) {
        memmove(block->data + block->bytes, parts.part[i].text.data, parts.part[i].text.bytes);
        block->bytes += parts.part[i].text.bytes;
    }
    return true;
}

enum tpd_status tpd_number_rows_write(const struct tpd_number_rows *rows, const struct tpd_payload *payload,
                                      struct tpd_block *block, struct tpd_error *error) {
    uint64_t items = tpd_matrix_items(&payload->matrix);
    bool done = rows->threads > 1 && items >= THREAD_LEAST * (uint64_t)rows->threads && put_together(rows, payload, items, block);
    return done ? TPD_OK : put_items(rows, payload, 0, items, block, error);
}
