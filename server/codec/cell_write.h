/* cell_write.h -- cells to text: each cell's letters from where they lie, a separator behind each.
 *
 * Threads: no state.
 */
#ifndef TPD_CELL_WRITE_H
#define TPD_CELL_WRITE_H

#include <string.h>

#include "server/codec/cell_scan.h"

/* A short cell is copied whole, with what follows it: so many bytes are read from where it begins, and written. */
enum { TPD_CELL_COPY = 16 };

/* Writes count cells and their separators to `to`, and up to TPD_CELL_COPY bytes of nothing behind them. */
static inline unsigned char *tpd_cells_copy(unsigned char *to, const unsigned char *text, const struct tpd_cell *cells,
                                            size_t count, unsigned char separator) {
    for (size_t i = 0; i < count; i++) {
        const unsigned char *from = text + tpd_cell_offset(cells[i]);
        size_t bytes = tpd_cell_bytes(cells[i]);
        memcpy(to, from, TPD_CELL_COPY);
        if (bytes > TPD_CELL_COPY)
            memcpy(to, from, bytes);
        to += bytes;
        *to++ = separator;
    }
    return to;
}

/* The same, without a byte more. */
static inline unsigned char *tpd_cells_copy_exactly(unsigned char *to, const unsigned char *text, const struct tpd_cell *cells,
                                                    size_t count, unsigned char separator) {
    for (size_t i = 0; i < count; i++) {
        size_t bytes = tpd_cell_bytes(cells[i]);
        memcpy(to, text + tpd_cell_offset(cells[i]), bytes);
        to += bytes;
        *to++ = separator;
    }
    return to;
}

uint64_t tpd_cells_bytes(const struct tpd_cell *cells, size_t count);

/* Rows of cells as they are written: before[0 ..), the cells with separators between them, behind[0 ..). */
struct tpd_cell_rows {
    const unsigned char *text; /* TPD_CELL_COPY bytes can be read from the start of every cell */
    const struct tpd_cell *cells;
    uint64_t rows, cols; /* as written: cells lie row by row, each row's one behind another */
    unsigned char separator;
    const char *before, *behind; /* behind has a byte at least */
};
uint64_t tpd_cell_rows_bytes(const struct tpd_cell_rows *rows);
/* Into exactly that many bytes. A block of rows at a time, a block of columns of that at a time: of the text, where neighbours in
 * a column lie far apart and neighbours in a row close together, no line is fetched twice. */
unsigned char *tpd_cell_rows_write(const struct tpd_cell_rows *rows, unsigned char *to);

#endif
