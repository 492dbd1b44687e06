/* transpose_gathered.c -- a piece of small items, whose output lines have many input rows in them: rows into the cache first.
 *
 * 64 rows side by side are more than the prefetcher follows, and 16 at a time visit a tile's every line four times. So the rows
 * of a block are copied into the cache as they are, 16 in turns in long runs; meanwhile the block before, which is there by
 * now, is transposed some columns at a time in a staging area that the nearest cache holds, and these leave for the output.
 */
#include <string.h>

#include "kernels/cpu/cpu.h"

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The rows of a block, as a worker copies them into its next tile. */
struct gather {
    const struct tpd_cpu_plan *plan;
    const unsigned char *src;
    unsigned char *dst;
    size_t rows, bytes;    /* bytes: of a row */
    size_t runs;           /* of a row */
    size_t chunks, copied; /* runs of all rows */
};

/* The first `chunks` of them are copied. They go down step_rows rows, then one run to the right. */
static void gather_to(struct gather *gather, size_t chunks) {
    const struct tpd_cpu_plan *plan = gather->plan;
    const size_t group = plan->step_rows * gather->runs, pitch_in = plan->cols * plan->itemsize;
    for (; gather->copied < chunks; gather->copied++) {
        const size_t first = gather->copied / group * plan->step_rows, high = least(plan->step_rows, gather->rows - first);
        const size_t place = gather->copied % group, r = first + place % high, at = place / high * plan->gather;
        const size_t bytes = least(plan->gather, gather->bytes - at), whole = bytes & ~(size_t)(TPD_CPU_LINE - 1);
        unsigned char *dst = gather->dst + r * plan->pitch + at;
        const unsigned char *src = gather->src + r * pitch_in + at;
        plan->ops->lines(dst, src, whole, false);
        if (whole != bytes)
            memcpy(dst + whole, src + whole, bytes - whole);
    }
}

/* The worker's gathered block leaves for the output, while the next one's rows come; gather: or NULL. */
static void turn(const struct tpd_cpu_plan *plan, struct tpd_cpu_worker *worker, struct gather *gather) {
    const struct tpd_cpu_gathered *now = &worker->gathered;
    const size_t size = plan->itemsize, pitch_out = plan->rows * size;
    unsigned char *staging = now->rows_at + plan->block_rows * plan->pitch;
    for (size_t c = 0; c < now->cols; c += plan->step_cols) {
        const size_t cols = least(plan->step_cols, now->cols - c);
        if (gather != NULL)
            gather_to(gather, gather->chunks * (c + cols) / now->cols);
        const struct tpd_cpu_block block = {.dst = staging,
                                            .dst_pitch = plan->stage_pitch,
                                            .src = now->rows_at + c * size,
                                            .src_end = staging,
                                            .src_pitch = plan->pitch,
                                            .rows = now->rows,
                                            .cols = cols,
                                            .itemsize = size};
        plan->fill(&block);
        struct tpd_cpu_waiting leaving = {.out = now->out + c * pitch_out,
                                          .staged = staging,
                                          .pitch_out = pitch_out,
                                          .pitch = plan->stage_pitch,
                                          .count = cols,
                                          .bytes = now->rows * size,
                                          .remain = (ptrdiff_t)(now->rows * size),
                                          .begins = SIZE_MAX,
                                          .ends = SIZE_MAX,
                                          .first = true,
                                          .last = true};
        plan->ops->leave(&leaving, SIZE_MAX);
    }
}

void tpd_cpu_piece_gathered(const struct tpd_cpu_plan *plan, size_t index, struct tpd_cpu_worker *worker) {
    const struct tpd_cpu_part part = tpd_cpu_part(plan, index);
    const size_t size = plan->itemsize, pitch_in = plan->cols * size;
    for (size_t matrix = part.first; matrix < part.end; matrix++)
        for (size_t r = 0; r < part.rows; r += plan->block_rows)
            for (size_t c = 0; c < part.cols; c += plan->block_cols) {
                const size_t rows = least(plan->block_rows, part.rows - r), cols = least(plan->block_cols, part.cols - c);
                const size_t runs = (cols * size - 1) / plan->gather + 1;
                const size_t row = part.r + r, col = part.c + c;
                struct gather gather = {.plan = plan,
                                        .src = plan->in + (matrix * plan->rows + row) * pitch_in + col * size,
                                        .dst = worker->tile[worker->next],
                                        .rows = rows,
                                        .bytes = cols * size,
                                        .runs = runs,
                                        .chunks = rows * runs};
                turn(plan, worker, &gather);
                gather_to(&gather, gather.chunks); /* all, where nothing waited */
                worker->gathered =
                    (struct tpd_cpu_gathered){.rows_at = gather.dst,
                                              .out = plan->out + ((matrix * plan->cols + col) * plan->rows + row) * size,
                                              .rows = rows,
                                              .cols = cols};
                worker->next ^= 1;
            }
}

void tpd_cpu_finish_gathered(const struct tpd_cpu_plan *plan, struct tpd_cpu_worker *worker) {
    turn(plan, worker, NULL);
    worker->gathered = (struct tpd_cpu_gathered){0};
}
