/* geometry.h -- which part of which matrix a block works on: the arithmetic that every kernel shares.
 *
 * Compiled by the C compiler and, for the device, by nvcc. 64 bits where a matrix is counted, 32 where a tile is.
 */
#ifndef TPD_GEOMETRY_H
#define TPD_GEOMETRY_H

#include "transposed/strategy.h"

#ifdef __CUDACC__
#define TPD_BOTH __host__ __device__ static inline
#else
#define TPD_BOTH static inline
#endif

/* What a kernel is told, by value. first_block is the launch's own: a grid has at most 2^31 - 1 blocks, so a larger
 * batch takes several launches. */
struct tpd_geometry {
    uint64_t rows, cols;               /* of one input matrix, in items */
    uint64_t tiles_down, tiles_across; /* of one input matrix */
    uint64_t tiles;                    /* in the whole batch */
    uint64_t first_block;
    uint64_t moves; /* accesses a side in the whole batch: items x words */
    uint32_t words; /* accesses an item */
    uint32_t tile_rows_log2, tile_cols_log2, pitch;
    bool goes_down;      /* blocks walk tiles from top to bottom first, and not from left to right */
    bool from_right;     /* then columns of tiles from right to left */
    uint32_t band;       /* in bands of so many columns of tiles, each row by row, from the left; 0: none */
    uint32_t hands;      /* threads a block */
    uint32_t chunk;      /* `narrow`: of each long row, in words, that a block has; `packed`: matrices */
    uint32_t turns_log2; /* how often its threads pass over one */
};

#ifdef __cplusplus
extern "C" {
#endif

struct tpd_geometry tpd_geometry_of(const struct tpd_plan *plan); /* first_block is 0 */

#ifdef __cplusplus
}
#endif

/* The whole log2 of a number below 4096; a constant where the number is one, for either compiler. */
#define TPD_LOG2(number)                                                                                                 \
    (0u + ((number) >= 2) + ((number) >= 4) + ((number) >= 8) + ((number) >= 16) + ((number) >= 32) + ((number) >= 64) + \
     ((number) >= 128) + ((number) >= 256) + ((number) >= 512) + ((number) >= 1024) + ((number) >= 2048))

/* Most quotients fit in 32 bits, where a GPU divides several times faster. */
TPD_BOTH uint64_t tpd_divide(uint64_t number, uint64_t by, uint64_t *rest) {
    uint64_t quotient;
    if (((number | by) >> 32) == 0)
        quotient = (uint32_t)number / (uint32_t)by;
    else
        quotient = number / by;
    *rest = number - quotient * by;
    return quotient;
}

TPD_BOTH uint32_t tpd_round_up(uint32_t number, uint32_t by) {
    return (number + by - 1) / by * by;
}

/* A factor with which tpd_multiply_high() divides by `by`, which is 2 or more, any number whose product with it is below 2^32. */
TPD_BOTH uint32_t tpd_reciprocal(uint32_t by) {
    return UINT32_MAX / by + 1;
}

TPD_BOTH uint32_t tpd_multiply_high(uint32_t a, uint32_t b) {
    return (uint32_t)((uint64_t)a * b >> 32);
}

/* Which tile a block has: the number of its matrix; which of its tile rows and columns. */
TPD_BOTH uint64_t tpd_tile_of(struct tpd_geometry grid, uint64_t block, uint64_t *down, uint64_t *across) {
    uint64_t inner, outer;
    if (grid.band != 0) {
        const uint64_t matrix = tpd_divide(block, grid.tiles_down * grid.tiles_across, &inner);
        const uint64_t first = tpd_divide(inner, grid.tiles_down * grid.band, &outer) * grid.band;
        const uint64_t wide = grid.tiles_across - first < grid.band ? grid.tiles_across - first : grid.band;
        *down = tpd_divide(outer, wide, &inner);
        *across = first + inner;
        return matrix;
    }
    const uint64_t inners = grid.goes_down ? grid.tiles_down : grid.tiles_across;
    const uint64_t outers = grid.goes_down ? grid.tiles_across : grid.tiles_down;
    const uint64_t matrix = tpd_divide(tpd_divide(block, inners, &inner), outers, &outer);
    *down = grid.goes_down ? inner : outer;
    *across = grid.from_right ? outers - 1 - outer : grid.goes_down ? outer : inner;
    return matrix;
}

/* Where a block's tile lies. */
struct tpd_spot {
    uint64_t in, out;    /* index of the tile's first item in the input, and in the output */
    uint32_t rows, cols; /* of the tile, that the matrix has */
};

TPD_BOTH struct tpd_spot tpd_spot_of(struct tpd_geometry grid, uint64_t block, uint32_t tile_rows, uint32_t tile_cols) {
    uint64_t across, down;
    uint64_t matrix = tpd_tile_of(grid, block, &down, &across);
    uint64_t row = down * tile_rows, col = across * tile_cols;
    uint64_t rows = grid.rows - row, cols = grid.cols - col;
    struct tpd_spot spot;
    spot.in = (matrix * grid.rows + row) * grid.cols + col;
    spot.out = (matrix * grid.cols + col) * grid.rows + row;
    spot.rows = rows < tile_rows ? (uint32_t)rows : tile_rows;
    spot.cols = cols < tile_cols ? (uint32_t)cols : tile_cols;
    return spot;
}

/* Of a tile that may come after the last, where a block has several: it then has no rows. */
TPD_BOTH struct tpd_spot tpd_spot_among(struct tpd_geometry grid, uint64_t tile, uint32_t tile_rows, uint32_t tile_cols) {
    struct tpd_spot spot = tpd_spot_of(grid, tile, tile_rows, tile_cols);
    if (tile >= grid.tiles)
        spot.rows = 0;
    return spot;
}

/* How far `rotated` and `swizzled` move a row's columns, so that the lanes of a phase, which read a column, meet every bank once.
 *
 * The banks hold a line of 128 bytes. Rows that share a line lie in different banks already and share a key; the next
 * line's key is one bank word further: `unit` items, of which several make a word below 4 bytes. Where a phase has more
 * lanes than the tile has rows it takes `scale` neighbouring columns as well, and keys keep that many apart.
 * Every factor is a power of two, hence the shifts. The caller masks the key to the tile's columns. */
TPD_BOTH uint32_t tpd_key(uint32_t row, uint32_t tile_rows, uint32_t tile_cols, uint32_t itemsize) {
    const uint32_t size = TPD_LOG2(itemsize), rows = TPD_LOG2(tile_rows), row_bytes = TPD_LOG2(tile_cols) + size;
    const uint32_t rows_per_line = row_bytes < 7 ? 7 - row_bytes : 0;
    const uint32_t unit = size < 2 ? 2 - size : 0;
    const uint32_t lanes = size < 2 ? 5 : 7 - size;
    const uint32_t scale = lanes > rows + unit ? lanes - rows - unit : 0;
    return row >> rows_per_line << (unit + scale);
}

#endif
