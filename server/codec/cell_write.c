/* cell_write.c -- a block of rows, a block of columns: see cell_write.h. */
#include "server/codec/cell_write.h"

enum {
    BLOCK_ROWS = 64,       /* output rows side by side: cells of one line of the input, some 600 bytes of it */
    BLOCK_COLS = 128,      /* of these rows, before the next row: what they read of the text stays in the first-level cache */
    INDEX_BYTES = 1 << 20, /* of a block of rows: it is read twice, once for the rows' lengths */
    LEAST_ROWS = 8         /* a line's worth of short cells */
};

uint64_t tpd_cells_bytes(const struct tpd_cell *cells, size_t count) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += tpd_cell_bytes(cells[i]);
    return bytes;
}

uint64_t tpd_cell_rows_bytes(const struct tpd_cell_rows *rows) {
    uint64_t marks = strlen(rows->before) + strlen(rows->behind) + (rows->cols != 0 ? rows->cols - 1 : 0);
    return tpd_cells_bytes(rows->cells, (size_t)(rows->rows * rows->cols)) + rows->rows * marks;
}

static unsigned char *put(unsigned char *to, const char *text) {
    while (*text != '\0')
        *to++ = (unsigned char)*text++;
    return to;
}

/* Rows first .. first + count: where each goes on stands in at[]. */
static unsigned char *block(const struct tpd_cell_rows *rows, uint64_t first, size_t count, unsigned char *to) {
    unsigned char *at[BLOCK_ROWS];
    const size_t cols = (size_t)rows->cols, marks = strlen(rows->before) + strlen(rows->behind) + cols - 1;
    const struct tpd_cell *cells = rows->cells + first * cols;
    for (size_t r = 0; r < count; r++) {
        at[r] = put(to, rows->before);
        to += tpd_cells_bytes(cells + r * cols, cols) + marks;
    }
    for (size_t c = 0; c < cols; c += BLOCK_COLS) {
        size_t width = cols - c < BLOCK_COLS ? cols - c : BLOCK_COLS;
        /* Where a row ends, nothing may be written behind it: the next row's start is there already. A cell and its separator
         * have a byte at least, so the last TPD_CELL_COPY of a row are written exactly. */
        size_t rest = cols - c - width, exact = rest < TPD_CELL_COPY ? TPD_CELL_COPY - rest : 0;
        size_t loose = width > exact ? width - exact : 0;
        for (size_t r = 0; r < count; r++) {
            const struct tpd_cell *run = cells + r * cols + c;
            at[r] = tpd_cells_copy(at[r], rows->text, run, loose, rows->separator);
            at[r] = tpd_cells_copy_exactly(at[r], rows->text, run + loose, width - loose, rows->separator);
        }
    }
    for (size_t r = 0; r < count; r++)
        (void)put(at[r] - 1, rows->behind);
    return to;
}

/* Short rows one after another: what is written behind one is the next one's place, but for the last few. */
static unsigned char *short_rows(const struct tpd_cell_rows *rows, unsigned char *to) {
    const size_t cols = (size_t)rows->cols;
    for (uint64_t r = 0; r < rows->rows; r++) {
        const struct tpd_cell *cells = rows->cells + r * cols;
        to = put(to, rows->before);
        to = rows->rows - r > TPD_CELL_COPY ? tpd_cells_copy(to, rows->text, cells, cols, rows->separator)
                                            : tpd_cells_copy_exactly(to, rows->text, cells, cols, rows->separator);
        to = put(to - (cols != 0), rows->behind);
    }
    return to;
}

unsigned char *tpd_cell_rows_write(const struct tpd_cell_rows *rows, unsigned char *to) {
    if (rows->cols <= BLOCK_COLS)
        return short_rows(rows, to);
    size_t fit = rows->cols < INDEX_BYTES ? INDEX_BYTES / sizeof(struct tpd_cell) / (size_t)rows->cols : 0;
    size_t most = fit < LEAST_ROWS ? LEAST_ROWS : fit < BLOCK_ROWS ? fit : BLOCK_ROWS;
    for (uint64_t first = 0; first < rows->rows; first += most)
        to = block(rows, first, rows->rows - first < most ? (size_t)(rows->rows - first) : most, to);
    return to;
}
