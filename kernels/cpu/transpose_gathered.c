/* transpose_gathered.c -- a piece of small items, whose output lines have many input rows in them: rows into the cache first.
 *
 * 64 rows side by side are more than the prefetcher follows, and 16 at a time visit a tile's every line four times. So the rows
 * of a block are copied into the cache as they are, some in turns, a page of each. Meanwhile the block before, which is there by
 * now, is transposed some columns at a time into one of two stages in the nearest cache, and the other stage leaves for the
 * output. The three go on in turns so short (1 KiB) that one's waiting is another's work.
 */
#include <string.h>

#include "kernels/cpu/cpu.h"

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The rows of a block, as a worker copies them into its next tile: a run of each of some rows, then their next runs. */
struct gather {
    const unsigned char *src;
    unsigned char *dst;
    size_t rows, bytes;  /* bytes: of a row */
    size_t first, r, at; /* the next run: of row first + r, at that byte */
    size_t every, due;   /* items turned for a run, and for the next one */
};

/* The prefetcher stays within a page. Where a row goes on in the next one, that one's first lines are asked for as the row
 * begins. */
static void ask_next_page(const unsigned char *row, size_t bytes) {
    enum { PAGE = 4096, LINES = 4 };
    const size_t left = PAGE - ((uintptr_t)row & (PAGE - 1));
    for (size_t i = left; i < bytes && i < left + LINES * TPD_CPU_LINE; i += TPD_CPU_LINE)
        __builtin_prefetch(row + i, 0, 2);
}

/* One run comes, while what waits in a stage leaves. */
static void gather_run(const struct tpd_cpu_plan *plan, struct gather *gather, struct tpd_cpu_leaving *leaving) {
    const size_t r = gather->first + gather->r, bytes = least(plan->gather, gather->bytes - gather->at);
    const size_t whole = bytes & ~(size_t)(TPD_CPU_LINE - 1);
    unsigned char *dst = gather->dst + r * plan->pitch + gather->at;
    const unsigned char *src = gather->src + r * plan->cols * plan->itemsize + gather->at;
    if (gather->at == 0)
        ask_next_page(src, gather->bytes);
    plan->ops->trade(dst, src, whole, leaving);
    if (whole != bytes)
        memcpy(dst + whole, src + whole, bytes - whole);
    if (++gather->r < plan->step_rows && r + 1 < gather->rows)
        return;
    gather->r = 0;
    gather->at += plan->gather;
    if (gather->at < gather->bytes)
        return;
    gather->at = 0;
    gather->first += plan->step_rows;
}

static bool is_gathered(const struct gather *gather) {
    return gather->first >= gather->rows;
}

static void send(const struct tpd_cpu_plan *plan, struct tpd_cpu_leaving *leaving) {
    for (; leaving->run < leaving->runs; leaving->run++)
        plan->ops->lines(leaving->out + leaving->run * leaving->pitch_out, leaving->staged + leaving->run * leaving->pitch,
                         leaving->bytes, true);
}

/* Columns c and on of the gathered block go into the free stage, while the other one leaves and rows come. */
static void turn_step(const struct tpd_cpu_plan *plan, struct tpd_cpu_worker *worker, size_t c, size_t cols,
                      struct gather *gather) {
    struct tpd_cpu_gathered *now = &worker->gathered;
    const size_t size = plan->itemsize, high = TPD_CPU_LINE / size, across = plan->unit_cols;
    unsigned char *stage = worker->tile[now->stage] + plan->block_rows * plan->pitch;
    struct tpd_cpu_block unit = {.dst_pitch = plan->stage_pitch,
                                 .src_end = now->rows_at + plan->block_rows * plan->pitch,
                                 .src_pitch = plan->pitch,
                                 .itemsize = size};
    for (size_t q = 0; q < cols; q += across)
        for (size_t r = 0; r < now->rows; r += high) {
            unit.rows = least(high, now->rows - r);
            unit.cols = least(across, cols - q);
            unit.src = now->rows_at + r * plan->pitch + (c + q) * size;
            unit.dst = stage + q * plan->stage_pitch + r * size;
            plan->fill(&unit);
            now->turned += unit.rows * unit.cols;
            if (gather == NULL)
                continue;
            for (; gather->due <= now->turned && !is_gathered(gather); gather->due += gather->every)
                gather_run(plan, gather, &now->leaving);
        }
    send(plan, &now->leaving);
    now->leaving = (struct tpd_cpu_leaving){.out = now->out + c * plan->rows * size,
                                            .staged = stage,
                                            .pitch_out = plan->rows * size,
                                            .pitch = plan->stage_pitch,
                                            .bytes = now->rows * size,
                                            .runs = cols};
    now->stage ^= 1;
}

/* The worker's gathered block, while the next one's rows come; gather: or NULL. */
static void turn(const struct tpd_cpu_plan *plan, struct tpd_cpu_worker *worker, struct gather *gather) {
    for (size_t c = 0; c < worker->gathered.cols; c += plan->step_cols)
        turn_step(plan, worker, c, least(plan->step_cols, worker->gathered.cols - c), gather);
}

void tpd_cpu_piece_gathered(const struct tpd_cpu_plan *plan, size_t index, struct tpd_cpu_worker *worker) {
    const struct tpd_cpu_part part = tpd_cpu_part(plan, index);
    const size_t size = plan->itemsize, pitch_in = plan->cols * size;
    struct tpd_cpu_gathered *now = &worker->gathered;
    for (size_t matrix = part.first; matrix < part.end; matrix++)
        for (size_t r = 0; r < part.rows; r += plan->block_rows)
            for (size_t c = 0; c < part.cols; c += plan->block_cols) {
                const size_t rows = least(plan->block_rows, part.rows - r), cols = least(plan->block_cols, part.cols - c);
                const size_t runs = (cols * size - 1) / plan->gather + 1, row = part.r + r, col = part.c + c;
                const size_t every = now->rows * now->cols / (rows * runs);
                struct gather gather = {.src = plan->in + (matrix * plan->rows + row) * pitch_in + col * size,
                                        .dst = worker->tile[worker->next],
                                        .rows = rows,
                                        .bytes = cols * size,
                                        .every = every,
                                        .due = every};
                turn(plan, worker, &gather);
                while (!is_gathered(&gather)) /* all, where nothing waited */
                    gather_run(plan, &gather, &now->leaving);
                now->rows_at = gather.dst;
                now->out = plan->out + ((matrix * plan->cols + col) * plan->rows + row) * size;
                now->rows = rows;
                now->cols = cols;
                now->turned = 0;
                worker->next ^= 1;
            }
}

void tpd_cpu_finish_gathered(const struct tpd_cpu_plan *plan, struct tpd_cpu_worker *worker) {
    turn(plan, worker, NULL);
    send(plan, &worker->gathered.leaving);
    worker->gathered = (struct tpd_cpu_gathered){0};
}
