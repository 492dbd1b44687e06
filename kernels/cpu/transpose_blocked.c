/* transpose_blocked.c -- a piece, block by block: into a tile, and out of the other one.
 *
 * Reading waits for memory, and so does writing past the caches; done in turns they take the sum of both. So a block is filled
 * in steps, and after each step a share of the block before it leaves: loads and stores are in flight together. What waits
 * stays with the worker from piece to piece, until tpd_cpu_finish().
 */
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "transposed/alloc.h"

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The blocks of a pass: what leaves, and how much of the new block is in the tile. */
struct pass {
    const struct tpd_cpu_plan *plan;
    struct tpd_cpu_worker *worker;
    size_t whole, done; /* bytes of the new block */
    size_t due, sent;   /* bytes of the one that waits */
};

static struct pass begin(const struct tpd_cpu_plan *plan, struct tpd_cpu_worker *worker, size_t bytes) {
    const struct tpd_cpu_waiting *waiting = &worker->waiting;
    return (struct pass){.plan = plan, .worker = worker, .whole = bytes, .due = waiting->count * waiting->bytes};
}

/* Input rows that follow each other are one stream, which the prefetcher loses while a share of the other tile leaves. So as
 * many lines as a step reads are asked for before it, some way ahead. */
static void ask_ahead(const struct tpd_cpu_plan *plan, const struct tpd_cpu_block *step) {
    const size_t there = (size_t)(step->src_end - step->src), end = least(plan->ahead + step->rows * step->src_pitch, there);
    for (size_t i = plan->ahead; i < end; i += TPD_CPU_LINE)
        __builtin_prefetch(step->src + i, 0, 2);
}

/* Fills a part of the worker's next tile step by step. Where tile rows lie back to back, the last rows go first: see
 * fill_network.h. */
static void fill(struct pass *pass, const struct tpd_cpu_block *part) {
    const struct tpd_cpu_plan *plan = pass->plan;
    const size_t size = plan->itemsize;
    struct tpd_cpu_block step = *part;
    const size_t groups = (part->rows - 1) / plan->step_rows + 1;
    for (size_t i = 0; i < groups; i++) {
        const size_t r = (plan->panels ? groups - 1 - i : i) * plan->step_rows;
        step.rows = least(plan->step_rows, part->rows - r);
        for (size_t c = 0; c < part->cols; c += plan->step_cols) {
            step.cols = least(plan->step_cols, part->cols - c);
            step.src = part->src + r * part->src_pitch + c * size;
            step.dst = part->dst + c * part->dst_pitch + r * size;
            if (plan->ahead != 0)
                ask_ahead(plan, &step);
            plan->fill(&step);
            pass->done += step.rows * step.cols * size;
            size_t share = (size_t)((double)pass->due * ((double)pass->done / (double)pass->whole));
            if (share > pass->sent)
                plan->ops->leave(&pass->worker->waiting, share - pass->sent);
            pass->sent = share;
        }
    }
}

/* The tile is full: the rest of what waited goes, and the new block waits. */
static void end(struct pass *pass, const struct tpd_cpu_waiting *filled) {
    struct tpd_cpu_worker *worker = pass->worker;
    pass->plan->ops->leave(&worker->waiting, SIZE_MAX);
    worker->waiting = *filled;
    worker->waiting.other = worker->tile[worker->next ^ 1] - worker->tile[worker->next];
    worker->next ^= 1;
}

static unsigned char *staging(const struct tpd_cpu_worker *worker) {
    return worker->tile[worker->next] + TPD_CPU_LINE;
}

/* Long output rows: a strip of the input's columns, block by block downwards; every tile row feeds one output row. An output
 * row's last line is completed by `overlap` rows more: below the strip, or, at the matrix's end, from the top of the next
 * column, which is where the output goes on. */
static void strip(const struct tpd_cpu_plan *plan, size_t matrix, size_t r, size_t rows, size_t c, size_t cols,
                  struct tpd_cpu_worker *worker) {
    const size_t size = plan->itemsize, pitch_out = plan->rows * size, pitch_in = plan->cols * size;
    const unsigned char *in = plan->in + matrix * plan->rows * pitch_in + c * size;
    unsigned char *out = plan->out + (matrix * plan->cols + c) * pitch_out;
    const bool top = r == 0, bottom = r + rows == plan->rows;
    const size_t last = r + rows + plan->overlap;
    for (size_t at = r, height; at < last; at += height) {
        const bool wraps = at >= plan->rows;
        height = least(plan->block_rows, (wraps || !bottom ? last : plan->rows) - at);
        struct pass pass = begin(plan, worker, height * cols * size);
        const struct tpd_cpu_block block = {.dst = staging(worker),
                                            .dst_pitch = plan->pitch,
                                            .src = wraps ? in + (at - plan->rows) * pitch_in + size : in + at * pitch_in,
                                            .src_end = plan->in_end,
                                            .src_pitch = pitch_in,
                                            .rows = height,
                                            .cols = wraps && c + cols == plan->cols ? cols - 1 : cols,
                                            .itemsize = size};
        if (block.cols != 0) /* after the last column comes nothing of this matrix */
            fill(&pass, &block);
        const struct tpd_cpu_waiting filled = {.out = out + at * size,
                                               .staged = staging(worker),
                                               .pitch_out = pitch_out,
                                               .pitch = plan->pitch,
                                               .count = cols,
                                               .bytes = height * size,
                                               .remain = (ptrdiff_t)((r + rows) * size) - (ptrdiff_t)(at * size),
                                               .begins = top && c == 0 ? 0 : SIZE_MAX,
                                               .ends = bottom && c + cols == plan->cols ? cols - 1 : SIZE_MAX,
                                               .first = at == r,
                                               .last = at + height == last};
        end(&pass, &filled);
    }
}

/* Short output rows: all rows of some columns, or some whole matrices, make one run of the output. */
static void panel(const struct tpd_cpu_plan *plan, const struct tpd_cpu_part *part, struct tpd_cpu_worker *worker) {
    const size_t size = plan->itemsize, pitch_out = plan->rows * size, pitch_in = plan->cols * size;
    const size_t one = plan->cols * pitch_out, whole = part->cols * pitch_out * (part->end - part->first);
    const size_t width = least(plan->block_cols, part->cols);
    unsigned char *const run = plan->out + part->first * one + part->c * pitch_out;
    size_t gone = 0;
    for (size_t first = part->first; first < part->end; first += plan->block_batch)
        for (size_t c = part->c; c < part->c + part->cols; c += width) {
            const size_t count = least(plan->block_batch, part->end - first), cols = least(width, part->c + part->cols - c);
            const size_t bytes = count * cols * pitch_out;
            struct pass pass = begin(plan, worker, bytes);
            for (size_t i = 0; i < count; i++) {
                const struct tpd_cpu_block block = {.dst = staging(worker) + i * cols * pitch_out,
                                                    .dst_pitch = pitch_out,
                                                    .src = plan->in + (first + i) * one + c * size,
                                                    .src_end = plan->in_end,
                                                    .src_pitch = pitch_in,
                                                    .rows = plan->rows,
                                                    .cols = cols,
                                                    .itemsize = size};
                fill(&pass, &block);
            }
            const struct tpd_cpu_waiting filled = {.out = run + gone,
                                                   .staged = staging(worker),
                                                   .count = 1,
                                                   .bytes = bytes,
                                                   .remain = (ptrdiff_t)(whole - gone),
                                                   .first = gone == 0,
                                                   .last = gone + bytes == whole};
            end(&pass, &filled);
            gone += bytes;
        }
}

struct tpd_cpu_part tpd_cpu_part(const struct tpd_cpu_plan *plan, size_t index) {
    struct tpd_cpu_part part;
    part.r = index % plan->row_pieces * plan->piece_rows;
    part.c = index / plan->row_pieces % plan->col_pieces * plan->piece_cols;
    part.first = index / plan->row_pieces / plan->col_pieces * plan->piece_batch;
    part.rows = least(plan->piece_rows, plan->rows - part.r);
    part.cols = least(plan->piece_cols, plan->cols - part.c);
    part.end = part.first + least(plan->piece_batch, plan->batch - part.first);
    return part;
}

void tpd_cpu_piece_staged(const struct tpd_cpu_plan *plan, size_t index, struct tpd_cpu_worker *worker) {
    const struct tpd_cpu_part part = tpd_cpu_part(plan, index);
    if (plan->panels) {
        panel(plan, &part, worker);
        return;
    }
    for (size_t matrix = part.first; matrix < part.end; matrix++)
        for (size_t at = 0; at < part.cols; at += plan->block_cols)
            strip(plan, matrix, part.r, part.rows, part.c + at, least(plan->block_cols, part.cols - at), worker);
}

/* Big items are lines by themselves. */
void tpd_cpu_piece_straight(const struct tpd_cpu_plan *plan, size_t index, struct tpd_cpu_worker *worker) {
    const struct tpd_cpu_part part = tpd_cpu_part(plan, index);
    const size_t size = plan->itemsize;
    (void)worker;
    for (size_t matrix = part.first; matrix < part.end; matrix++)
        for (size_t c = part.c; c < part.c + part.cols; c++)
            for (size_t r = part.r; r < part.r + part.rows; r++)
                memcpy(plan->out + ((matrix * plan->cols + c) * plan->rows + r) * size,
                       plan->in + ((matrix * plan->rows + r) * plan->cols + c) * size, size);
}

void tpd_cpu_piece_copy(const struct tpd_cpu_plan *plan, size_t index, struct tpd_cpu_worker *worker) {
    const unsigned char *in = plan->in + index * plan->piece_cols;
    unsigned char *out = plan->out + index * plan->piece_cols;
    size_t bytes = least(plan->piece_cols, plan->bytes - index * plan->piece_cols);
    size_t head = least((size_t) - (uintptr_t)out & (TPD_CPU_LINE - 1), bytes),
           whole = (bytes - head) & ~(size_t)(TPD_CPU_LINE - 1);
    (void)worker;
    memcpy(out, in, head);
    plan->ops->lines(out + head, in + head, whole, plan->stream);
    memcpy(out + head + whole, in + head + whole, bytes - head - whole);
}

void tpd_cpu_finish(const struct tpd_cpu_plan *plan, struct tpd_cpu_worker *worker) {
    plan->ops->leave(&worker->waiting, SIZE_MAX);
    worker->waiting = (struct tpd_cpu_waiting){0};
    if (plan->gather != 0)
        tpd_cpu_finish_gathered(plan, worker);
    if (plan->stream)
        plan->ops->publish();
}

void tpd_cpu_run(const struct tpd_cpu_plan *plan, struct tpd_cpu_worker *worker) {
    for (size_t i = 0; i < plan->pieces; i++)
        plan->piece(plan, i, worker);
    tpd_cpu_finish(plan, worker);
}

/* Both tiles and the slack between them, on a line. */
enum tpd_status tpd_cpu_worker_init(struct tpd_cpu_worker *worker, size_t tile_bytes, struct tpd_error *error) {
    memset(worker, 0, sizeof *worker);
    worker->origin = tpd_alloc(2 * tile_bytes + TPD_CPU_LINE);
    if (worker->origin == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for the CPU's tiles (%zu bytes)", 2 * tile_bytes);
    worker->tile[0] = worker->origin + ((size_t) - (uintptr_t)worker->origin & (TPD_CPU_LINE - 1));
    worker->tile[1] = worker->tile[0] + tile_bytes;
    return TPD_OK;
}

void tpd_cpu_worker_fini(struct tpd_cpu_worker *worker) {
    tpd_free(worker->origin);
    memset(worker, 0, sizeof *worker);
}
