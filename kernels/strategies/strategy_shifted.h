/* strategy_shifted.h -- `vector` for rows that begin anywhere: loads and stores are shifted to where memory begins a vector.
 *
 * Where the item size times rows or cols is no multiple of 16, every row of a matrix begins at another place of its vector.
 * Below 8 bytes a thread then loads the three whole halves of vectors in which the 16 bytes it wants lie, and takes them from
 * the middle (most of the third is its neighbour's first: the L1 cache has it); larger items are loaded one by one, or begin a
 * vector. From there on it is `vector`: squares transposed in registers, the same places.
 *
 * Output rows begin anywhere too. Each is cut where memory begins a sector of 32 bytes: a tile gives column c the rows that
 * begin `late` items before the tile's own first, with `late` what that output row begins after a sector. All stores but those
 * of a row's very ends are whole sectors, which no two blocks share. For this a tile loads LATE_MOST more rows than it gives
 * to any one column; its neighbour loads them again, from the L2 cache. Vectors are taken from the middle of two chunks again.
 *
 * Shapes: 0 large; 1 small, for matrices of which a GPU would have few large tiles.
 *
 * The ends of output rows are moved in words and items, and the input's last items, where they are no whole half, item by item.
 * Tiles without either, which are nearly all, skip every question about it: the phases are in shifted_phases.h, once with and
 * once without.
 */
#ifndef KERNEL
#define SHAPES_SHIFTED 2
/* Items that a tile loads a column, of which it gives that less LATE_SHIFTED. */
#define LOADED_ROWS_SHIFTED(itemsize, shape)  \
    ((shape) == 0 ? ((itemsize) == 1   ? 256u \
                     : (itemsize) <= 4 ? 128u \
                     : (itemsize) == 8 ? 64u  \
                                       : 32u) \
                  : ((itemsize) == 1   ? 128u \
                     : (itemsize) <= 4 ? 64u  \
                                       : 32u))
#define LATE_SHIFTED(itemsize) (32u / (itemsize))
#define TILE_ROWS_SHIFTED(itemsize, shape) (LOADED_ROWS_SHIFTED(itemsize, shape) - LATE_SHIFTED(itemsize))
#define TILE_COLS_SHIFTED(itemsize, shape)    \
    ((shape) == 0 ? ((itemsize) <= 2   ? 128u \
                     : (itemsize) <= 8 ? 64u  \
                                       : 32u) \
                  : ((itemsize) <= 2   ? 64u  \
                     : (itemsize) <= 8 ? 32u  \
                                       : 16u))
#define THREADS_SHIFTED(itemsize, shape) \
    ((shape) == 0 ? ((itemsize) == 1 ? 128u : 256u) : ((itemsize) == 1 ? 32u : (itemsize) == 2 ? 64u : 128u))
/* Blocks, as measured on an H200: 3; elsewhere as many of its threads. */
#define RESIDENT_SHIFTED(itemsize, shape) ((itemsize) == 16 || (shape) != 0 ? 1 : TPD_RESIDENT_THREADS / 682)
#elif TILE_IS_OWN && SHAPE < SHAPES_SHIFTED

KERNEL_OWN(SHIFTED) {
    enum {
        HANDS = THREADS_SHIFTED(ITEMSIZE, SHAPE),
        LOADED = LOADED_ROWS_SHIFTED(ITEMSIZE, SHAPE),
        LATE_MOST = LATE_SHIFTED(ITEMSIZE),
        ROWS = TILE_ROWS_SHIFTED(ITEMSIZE, SHAPE),
        COLS = TILE_COLS_SHIFTED(ITEMSIZE, SHAPE),
        V = TPD_VECTOR_ITEMS(ITEMSIZE),
        HALF = TPD_HALF_ITEMS(ITEMSIZE),
        UNIT = TPD_UNIT_WORDS(ITEMSIZE),
        ACROSS = COLS / V,
        CHUNKS = LOADED / V,
        SQUARES = ACROSS * CHUNKS / HANDS,
        VECTORS = SQUARES * V,
        NOWHERE = COLS * LOADED /* a place for what is not wanted */
    };
    uint64_t across, down;
    const uint64_t matrix = tpd_tile_of(grid, BLOCK, &down, &across);
    /* The loaded rows are the matrix's from `above` on, which is before its first for the topmost tiles: unsigned numbers
     * come round again. Of these rows the matrix has those from `first` to before `end`. */
    const uint64_t left = across * COLS, above = down * ROWS - LATE_MOST, below = grid.rows - above;
    const uint32_t first = down == 0 ? LATE_MOST : 0, end = below < LOADED ? (uint32_t)below : LOADED;
    const uint32_t cols = grid.cols - left < COLS ? (uint32_t)(grid.cols - left) : COLS;
    const uint64_t in_first = (matrix * grid.rows + above) * grid.cols + left;
    const uint64_t out_first = (matrix * grid.cols + left) * grid.rows + above;
    TILE_VECTORS();
    /* A row more lies below: no load reaches past the matrix. */
    if (down > 0 && below > LOADED && cols == COLS) {
#define INSIDE(condition) true
#define IS_WHOLE 1
#include "kernels/strategies/shifted_phases.h"
#undef INSIDE
#undef IS_WHOLE
    } else {
#define INSIDE(condition) (condition)
#define IS_WHOLE 0
#include "kernels/strategies/shifted_phases.h"
#undef INSIDE
#undef IS_WHOLE
    }
}

#endif
