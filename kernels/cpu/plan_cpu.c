/* plan_cpu.c -- how a transpose is cut: pieces for threads, blocks for the tile, steps within a block. */
#include <string.h>

#include "kernels/cpu/cpu.h"

enum {
    PIECE_LEAST_BYTES = 1024 * 1024, /* enough that taking a piece costs nothing beside doing it */
    PIECE_MOST_BYTES = 8 * 1024 * 1024,
    PIECES = 64,             /* about, of a large matrix: the threads end together, and few lines are shared at piece ends */
    NARROW_BYTES = 1024,     /* output rows up to here leave the tile as one run; longer ones row by row */
    SHORT_BYTES = 1024,      /* input rows up to here are read whole, one after the other */
    AHEAD_BYTES = 1536,      /* so many at a time, asked for that long before */
    PANEL_BYTES = 16 * 1024, /* a tile of short output rows, unless one block needs more */
    TALL_BYTES = 64 * 1024,  /* a tile of short input rows */
    GATHERED_BYTES = 128,    /* of an output row that leave at once, where rows are gathered */
    GATHERED_IN = 4096,      /* of an input row there: a page, which the prefetcher does not leave */
    GATHERED_ROWS = 8,       /* of them in turns */
    STAGE_BYTES = 4 * 1024,  /* transposed there before any of it leaves */
    UNIT_COLS = 16,          /* transposed there in one go, a line of each: 1 KiB */
    STAGED_MOST = 4096       /* bytes of whole lines of items up to which the tile pays */
};

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}
static size_t most(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t up(size_t value, size_t step) {
    return (value + step - 1) / step * step;
}

struct cut {
    size_t itemsize, in_bytes, out_bytes, step_rows, step_bytes, gather, vector;
};

static const struct cut *cut_of(size_t itemsize) {
    static const struct cut cuts[] = {
#define X(itemsize, in_bytes, out_bytes, step_rows, step_bytes, gather, vector) \
    {itemsize, in_bytes, out_bytes, step_rows, step_bytes, gather, vector},
#include "kernels/cpu/plan.def"
#undef X
    };
    const struct cut *cut = cuts;
    while (cut->itemsize < itemsize && cut->itemsize != 0)
        cut++;
    return cut;
}

/* The fewest items that are whole lines. */
static size_t grain_of(size_t size) {
    return TPD_CPU_LINE / least(size & -size, TPD_CPU_LINE);
}

/* Bytes from one tile row to the next: a line of lead, the row, and an odd number of lines, so that a tile column meets all
 * cache sets. */
static size_t pitch_of(size_t row_bytes) {
    return ((up(row_bytes, TPD_CPU_LINE) / TPD_CPU_LINE + 1) | 1) * TPD_CPU_LINE;
}

/* Short output rows: all rows of some columns in a tile, or some whole matrices. */
static void choose_panel(struct tpd_cpu_plan *plan, const struct cut *cut, size_t room) {
    const size_t size = plan->itemsize, run = plan->rows * size, one = run * plan->cols;
    plan->block_rows = plan->rows;
    plan->pitch = run;
    plan->block_cols = least(plan->cols, most(PANEL_BYTES, cut->in_bytes / size * run) / run);
    plan->block_cols = least(plan->block_cols, room / run);
    plan->block_batch = plan->block_cols < plan->cols ? 1 : most(least(room, PANEL_BYTES) / one, 1);
}

/* Long output rows: some of each of some columns. Every block but a strip's last has whole lines of each. */
static void choose_strip(struct tpd_cpu_plan *plan, const struct cut *cut, size_t room) {
    const size_t size = plan->itemsize, run = plan->rows * size, grain = grain_of(size);
    size_t bytes = cut->out_bytes;
    plan->block_cols = least(plan->cols, most(cut->in_bytes / size, 1));
    const size_t high = least(room, TALL_BYTES) / plan->block_cols; /* a narrow matrix has a higher block */
    if (plan->cols * size < cut->in_bytes && high > bytes + 3 * TPD_CPU_LINE)
        bytes = high - 3 * TPD_CPU_LINE;
    plan->block_rows = most(bytes / size / grain, 1) * grain;
    plan->pitch = pitch_of(plan->block_rows * size);
    plan->block_cols = least(plan->block_cols, room / plan->pitch);
    if (((run | (uintptr_t)plan->out) & (TPD_CPU_LINE - 1)) != 0)
        plan->overlap = grain;
}

/* Small items, where output rows begin on lines: rows are gathered, and a step's columns transposed in a staging area. */
static bool choose_gathered(struct tpd_cpu_plan *plan, size_t room) {
    const struct cut *cut = cut_of(plan->itemsize);
    const size_t size = plan->itemsize, run = plan->rows * size;
    if (cut->gather == 0 || plan->ops->vector_bytes < cut->vector || run <= NARROW_BYTES ||
        ((run | (uintptr_t)plan->out) & (TPD_CPU_LINE - 1)) != 0)
        return false;
    const size_t stage_pitch = pitch_of(GATHERED_BYTES), step_cols = STAGE_BYTES / GATHERED_BYTES;
    const size_t rows = GATHERED_BYTES / size, staging = stage_pitch * step_cols + TPD_CPU_SLACK;
    if (room < staging + rows * pitch_of(cut->gather) || plan->cols * size < cut->gather)
        return false;
    plan->gather = cut->gather;
    plan->stage_pitch = stage_pitch;
    plan->step_cols = step_cols;
    plan->unit_cols = UNIT_COLS;
    plan->step_rows = GATHERED_ROWS;
    plan->block_rows = rows;
    /* A page of each row; but where half a page or less were left over, as much in each block: a page is waited for even where
     * only a column of it is wanted. */
    const size_t row = plan->cols * size, rest = row % GATHERED_IN;
    size_t across = most((row + GATHERED_IN / 2 - 1) / GATHERED_IN, 1);
    plan->block_cols =
        rest == 0 || rest > GATHERED_IN / 2 ? least(plan->cols, GATHERED_IN / size) : (plan->cols - 1) / across + 1;
    while (rows * pitch_of(plan->block_cols * size) + staging > room)
        plan->block_cols = (plan->cols - 1) / ++across + 1;
    plan->pitch = pitch_of(plan->block_cols * size);
    return true;
}

static void choose_block(struct tpd_cpu_plan *plan, size_t room) {
    const size_t size = plan->itemsize, run = plan->rows * size;
    const size_t v = size == 3 ? 4 : size < 5 ? 16 / size : size < 9 ? 2 : 1; /* columns that a vector takes */
    const struct cut *cut = cut_of(size);
    plan->panels = run <= NARROW_BYTES || run <= room / plan->cols;
    if (plan->panels)
        choose_panel(plan, cut, room);
    else
        choose_strip(plan, cut, room);
    if (plan->block_cols < plan->cols && plan->block_cols > v)
        plan->block_cols -= plan->block_cols % v;
    const size_t row = plan->cols * size;
    plan->step_rows = cut->step_rows;
    plan->step_cols = most(cut->step_bytes / size / v, 1) * v;
    if (!plan->panels && row <= SHORT_BYTES && plan->block_cols == plan->cols) {
        plan->step_rows = up(AHEAD_BYTES / row, cut->step_rows);
        plan->step_cols = plan->cols;
        plan->ahead = AHEAD_BYTES;
    } else if (plan->panels && plan->rows < cut->step_rows) {
        plan->step_cols = most(cut->step_rows * cut->step_bytes / run / v, 1) * v;
    }
}

/* In the cache, whole input rows at a time; but where a store is a part of a line, the rest must come before a pitch of many
 * lines has pushed the line out of its set: then a line of each row. */
static size_t direct_cols(const struct tpd_cpu_plan *plan) {
    const bool crowded = plan->ops->vector_bytes < TPD_CPU_LINE && plan->rows * plan->itemsize % (8 * TPD_CPU_LINE) == 0;
    return crowded ? most(TPD_CPU_LINE / plan->itemsize, 1) : plan->cols;
}

static void choose_pieces(struct tpd_cpu_plan *plan, uint32_t threads) {
    const size_t one = plan->rows * plan->cols * plan->itemsize;
    const size_t bytes = least(most(plan->bytes / PIECES, PIECE_LEAST_BYTES), PIECE_MOST_BYTES);
    plan->piece_rows = plan->rows;
    plan->piece_cols = plan->cols;
    plan->piece_batch = 1;
    if (one <= bytes / 2) {
        plan->piece_batch = bytes / one;
    } else if (plan->piece == tpd_cpu_piece_direct && plan->block_cols == plan->cols && threads > 1) {
        size_t parts = 1; /* as many for each of 2, 4, 8 ... threads */
        while (parts * PIECE_LEAST_BYTES < one)
            parts *= 2;
        plan->piece_rows = up((plan->rows - 1) / parts + 1, TPD_CPU_LINE); /* whole vectors of any item size */
    } else if (plan->gather != 0) { /* to the right first: a strip ends within a page, where the next one goes on */
        plan->piece_cols = least(plan->cols, up(bytes / (plan->block_rows * plan->itemsize) + 1, plan->block_cols));
        plan->piece_rows =
            least(plan->rows, most(bytes / (plan->piece_cols * plan->itemsize) / plan->block_rows, 1) * plan->block_rows);
    } else if (plan->panels) {
        plan->piece_cols = least(plan->cols, up(bytes / (plan->rows * plan->itemsize) + 1, plan->block_cols));
    } else {
        plan->piece_cols = plan->block_cols;
        plan->piece_rows = least(plan->rows, up(bytes / (plan->block_cols * plan->itemsize) + 1, plan->block_rows));
        while (plan->overlap != 0 && plan->rows % plan->piece_rows != 0 && plan->rows % plan->piece_rows < plan->overlap)
            plan->piece_rows += plan->block_rows; /* the rows that complete the piece before have to be there */
    }
    plan->row_pieces = (plan->rows - 1) / plan->piece_rows + 1;
    plan->col_pieces = (plan->cols - 1) / plan->piece_cols + 1;
    plan->pieces = plan->row_pieces * plan->col_pieces * ((plan->batch - 1) / plan->piece_batch + 1);
}

void tpd_cpu_plan(struct tpd_cpu_plan *plan, const struct tpd_cpu_ops *ops, const struct tpd_matrix *matrix, const void *in,
                  void *out, const struct tpd_cpu_limits *limits) {
    const size_t size = matrix->itemsize;
    memset(plan, 0, sizeof *plan);
    plan->ops = ops;
    plan->in = in;
    plan->out = out;
    plan->rows = matrix->rows;
    plan->cols = matrix->cols;
    plan->batch = matrix->batch;
    plan->itemsize = size;
    plan->bytes = plan->rows * plan->cols * plan->batch * size;
    plan->in_end = plan->in + plan->bytes;
    plan->stream = plan->bytes >= limits->stream_from_bytes;
    if (tpd_matrix_is_relabel(matrix)) {
        plan->strategy = "copy";
        plan->piece = tpd_cpu_piece_copy;
        plan->piece_cols = PIECE_LEAST_BYTES;
        plan->pieces = (plan->bytes - 1) / PIECE_LEAST_BYTES + 1;
        return;
    }
    bool word = size <= 16 && (size & (size - 1)) == 0;
    plan->strategy = word ? "blocked" : "generic";
    plan->fill = word ? plan->ops->fill[__builtin_ctzl(size)] : plan->ops->fill_odd;
    if (size > TPD_CPU_LINE && grain_of(size) * size > STAGED_MOST) {
        plan->piece = tpd_cpu_piece_straight;
        plan->block_rows = least(plan->rows, 16);
        plan->block_cols = least(plan->cols, 16);
    } else if (!plan->stream) {
        plan->piece = tpd_cpu_piece_direct;
        plan->panels = true;
        plan->block_rows = plan->rows;
        plan->block_cols = least(plan->cols, direct_cols(plan));
    } else {
        plan->tile_bytes = limits->tile_bytes;
        if (choose_gathered(plan, plan->tile_bytes)) {
            plan->piece = tpd_cpu_piece_gathered;
        } else { /* what is read and transposed at once has more in flight: less of the cache is left */
            plan->tile_bytes = limits->tile_bytes / 3 * 2 & ~(size_t)(TPD_CPU_LINE - 1);
            plan->piece = tpd_cpu_piece_staged;
            choose_block(plan, plan->tile_bytes - TPD_CPU_LINE - TPD_CPU_SLACK);
        }
    }
    choose_pieces(plan, limits->threads);
}
