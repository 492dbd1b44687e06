/* transpose_blocked.c -- how a transpose is cut: pieces for threads, tiles for the cache, lines for the output. */
#include <string.h>

#include "kernels/cpu/cpu.h"

enum {
    PIECE_BYTES = 1024 * 1024, /* about; enough that taking a piece costs nothing beside doing it */
    NARROW_BYTES = 1024,       /* output rows up to here leave the tile as one run; longer ones row by row */
    RUN_BYTES = 512,           /* of an output row in a tile, where the input is wide */
    STAGED_MOST = 256          /* bytes of an item up to which the tile pays */
};

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t up(size_t value, size_t step) {
    return (value + step - 1) / step * step;
}

/* The line in the tile that holds the first byte of staged: bytes that did not fill a line wait there for the next block. */
static unsigned char *line_of(unsigned char *staged) {
    return staged - ((uintptr_t)staged & (TPD_CPU_LINE - 1));
}

/* Sends staged bytes to out; both have the same place within a line. Only whole lines go, except at the run's two ends. */
static void leave(const struct tpd_cpu_plan *plan, unsigned char *out, unsigned char *staged, size_t bytes, bool first,
                  bool last) {
    unsigned char *carry = line_of(staged);
    size_t head = (size_t)(staged - carry);
    if (head != 0 && first) {
        size_t part = least(TPD_CPU_LINE - head, bytes);
        memcpy(out, staged, part);
        out += part, staged += part, bytes -= part;
    } else {
        out -= head, staged -= head, bytes += head;
    }
    size_t whole = bytes & ~(size_t)(TPD_CPU_LINE - 1), rest = bytes - whole;
    plan->ops->lines(out, staged, whole, plan->stream);
    if (last)
        memcpy(out + whole, staged + whole, rest);
    else if (rest != 0)
        memcpy(carry, staged + whole, rest);
}

/* Long output rows: a strip of the input's columns, block by block downwards; every tile row feeds one output row. */
static void strip(const struct tpd_cpu_plan *plan, size_t matrix, size_t r, size_t rows, size_t c, size_t cols,
                  unsigned char *tile) {
    const size_t size = plan->itemsize, pitch_out = plan->rows * size, pitch_in = plan->cols * size;
    const unsigned char *in = plan->in + matrix * plan->rows * pitch_in + c * size;
    unsigned char *out = plan->out + (matrix * plan->cols + c) * pitch_out;
    /* The tile's pitch differs from the output's by whole lines, so that every tile row has its output row's place within
     * a line; and it is an odd number of lines (but for that), so that a tile column meets all cache sets. */
    size_t pitch = up(plan->block_rows * size + TPD_CPU_LINE + TPD_CPU_SLACK, TPD_CPU_LINE);
    pitch += (pitch & TPD_CPU_LINE) == 0 ? TPD_CPU_LINE : 0;
    pitch += pitch_out & (TPD_CPU_LINE - 1);
    const size_t end = r + rows;
    for (size_t at = r; at < end; at += plan->block_rows) {
        size_t height = least(plan->block_rows, end - at);
        unsigned char *staged = tile + ((uintptr_t)(out + at * size) & (TPD_CPU_LINE - 1));
        const struct tpd_cpu_block block = {.dst = staged,
                                            .dst_pitch = pitch,
                                            .src = in + at * pitch_in,
                                            .src_end = plan->in_end,
                                            .src_pitch = pitch_in,
                                            .rows = height,
                                            .cols = cols,
                                            .itemsize = size};
        plan->fill(&block);
        for (size_t i = 0; i < cols; i++)
            leave(plan, out + i * pitch_out + at * size, staged + i * pitch, height * size, at == r, at + height == end);
    }
}

/* Short output rows: all rows of some columns make one run of the output. */
static void panel(const struct tpd_cpu_plan *plan, size_t matrix, size_t c, size_t cols, unsigned char *tile) {
    const size_t size = plan->itemsize, pitch_out = plan->rows * size, pitch_in = plan->cols * size;
    const unsigned char *in = plan->in + matrix * plan->rows * pitch_in;
    unsigned char *out = plan->out + matrix * plan->cols * pitch_out;
    const size_t end = c + cols;
    for (size_t at = c; at < end; at += plan->block_cols) {
        size_t width = least(plan->block_cols, end - at);
        unsigned char *run = out + at * pitch_out;
        unsigned char *staged = tile + ((uintptr_t)run & (TPD_CPU_LINE - 1));
        const struct tpd_cpu_block block = {.dst = staged,
                                            .dst_pitch = pitch_out,
                                            .src = in + at * size,
                                            .src_end = plan->in_end,
                                            .src_pitch = pitch_in,
                                            .rows = plan->rows,
                                            .cols = width,
                                            .itemsize = size};
        plan->fill(&block);
        leave(plan, run, staged, width * pitch_out, at == c, at + width == end);
    }
}

/* Big items are lines by themselves. */
static void straight(const struct tpd_cpu_plan *plan, size_t matrix, size_t r, size_t rows, size_t c, size_t cols) {
    const size_t size = plan->itemsize;
    for (size_t i = 0; i < cols; i++)
        for (size_t j = 0; j < rows; j++)
            memcpy(plan->out + ((matrix * plan->cols + c + i) * plan->rows + r + j) * size,
                   plan->in + ((matrix * plan->rows + r + j) * plan->cols + c + i) * size, size);
}

static void piece_blocked(const struct tpd_cpu_plan *plan, size_t index, unsigned char *tile) {
    const size_t r = index % plan->row_pieces * plan->piece_rows;
    const size_t c = index / plan->row_pieces % plan->col_pieces * plan->piece_cols;
    const size_t first = index / plan->row_pieces / plan->col_pieces * plan->piece_batch;
    const size_t rows = least(plan->piece_rows, plan->rows - r), cols = least(plan->piece_cols, plan->cols - c);
    const size_t count = least(plan->piece_batch, plan->batch - first);
    for (size_t matrix = first; matrix < first + count; matrix++) {
        if (plan->itemsize > STAGED_MOST)
            straight(plan, matrix, r, rows, c, cols);
        else if (plan->panels)
            panel(plan, matrix, c, cols, tile);
        else
            for (size_t at = 0; at < cols; at += plan->block_cols)
                strip(plan, matrix, r, rows, c + at, least(plan->block_cols, cols - at), tile);
    }
}

static void piece_copy(const struct tpd_cpu_plan *plan, size_t index, unsigned char *tile) {
    (void)tile;
    const unsigned char *in = plan->in + index * PIECE_BYTES;
    unsigned char *out = plan->out + index * PIECE_BYTES;
    size_t bytes = least(PIECE_BYTES, plan->bytes - index * PIECE_BYTES);
    size_t head = least((size_t) - (uintptr_t)out & (TPD_CPU_LINE - 1), bytes),
           whole = (bytes - head) & ~(size_t)(TPD_CPU_LINE - 1);
    memcpy(out, in, head);
    plan->ops->lines(out + head, in + head, whole, plan->stream);
    memcpy(out + head + whole, in + head + whole, bytes - head - whole);
}

/* Tile rows and columns for the shape. Every block but a strip's last has to fill whole lines of each tile row. */
static void choose_block(struct tpd_cpu_plan *plan) {
    const size_t size = plan->itemsize, run = plan->rows * size;
    const size_t room = TPD_CPU_TILE_BYTES - TPD_CPU_LINE - TPD_CPU_SLACK;
    const size_t step = size < 16 ? 16 / size : 1; /* columns a vector takes; 5 bytes: 3, which is as good as any */
    plan->panels = run <= NARROW_BYTES || run <= room / plan->cols;
    if (plan->panels) {
        plan->block_rows = plan->rows;
        plan->block_cols = least(plan->cols, room / run);
    } else {
        const size_t gaps = 5 * TPD_CPU_LINE;                                  /* most that a tile row's pitch adds */
        const size_t grain = TPD_CPU_LINE / least(size & -size, TPD_CPU_LINE); /* the fewest items that are whole lines */
        size_t bytes = RUN_BYTES;
        if (plan->cols < room / (bytes + gaps))
            bytes = room / plan->cols - gaps;
        plan->block_rows = bytes / size < grain ? grain : bytes / size / grain * grain;
        plan->block_cols = least(plan->cols, room / (plan->block_rows * size + gaps));
    }
    if (plan->block_cols < plan->cols && plan->block_cols > step)
        plan->block_cols -= plan->block_cols % step;
}

static void choose_pieces(struct tpd_cpu_plan *plan) {
    const size_t size = plan->itemsize, one = plan->rows * plan->cols * size;
    plan->piece_rows = plan->rows;
    plan->piece_cols = plan->cols;
    plan->piece_batch = 1;
    if (one <= PIECE_BYTES / 2)
        plan->piece_batch = PIECE_BYTES / one;
    else if (plan->panels)
        plan->piece_cols = least(plan->cols, up(PIECE_BYTES / (plan->rows * size) + 1, plan->block_cols));
    else {
        plan->piece_cols = plan->block_cols;
        plan->piece_rows = least(plan->rows, up(PIECE_BYTES / (plan->block_cols * size) + 1, plan->block_rows));
    }
    plan->row_pieces = (plan->rows - 1) / plan->piece_rows + 1;
    plan->col_pieces = (plan->cols - 1) / plan->piece_cols + 1;
    plan->pieces = plan->row_pieces * plan->col_pieces * ((plan->batch - 1) / plan->piece_batch + 1);
}

void tpd_cpu_plan(struct tpd_cpu_plan *plan, const struct tpd_cpu_ops *ops, const struct tpd_matrix *matrix, const void *in,
                  void *out, size_t stream_from_bytes) {
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
    plan->stream = plan->bytes >= stream_from_bytes;
    if (tpd_matrix_is_relabel(matrix)) {
        plan->strategy = "copy";
        plan->piece = piece_copy;
        plan->pieces = (plan->bytes - 1) / PIECE_BYTES + 1;
        return;
    }
    bool word = size <= 16 && (size & (size - 1)) == 0;
    plan->strategy = word ? "blocked" : "generic";
    plan->fill = word ? plan->ops->fill[__builtin_ctzl(size)] : tpd_cpu_fill_any;
    plan->piece = piece_blocked;
    if (size <= STAGED_MOST) {
        choose_block(plan);
    } else {
        plan->block_rows = least(plan->rows, 16);
        plan->block_cols = least(plan->cols, 16);
    }
    choose_pieces(plan);
}

void tpd_cpu_run(const struct tpd_cpu_plan *plan) {
    _Alignas(TPD_CPU_LINE) unsigned char tile[TPD_CPU_TILE_BYTES];
    for (size_t i = 0; i < plan->pieces; i++)
        plan->piece(plan, i, tile);
    if (plan->stream)
        plan->ops->publish();
}
