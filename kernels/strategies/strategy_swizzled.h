/* strategy_swizzled.h -- an unpadded tile whose columns are XORed with a key of their row.
 *
 * Column c of row r lies in place c ^ key: no byte is spent, a row stays a permutation of itself, and a column meets every
 * bank once. tpd_key() in geometry.h says what the key is and why. Free of conflicts on both sides for every tile and item size.
 */
#ifndef KERNEL
#define PITCH_SWIZZLED(cols, itemsize) (cols)
#define PLACE_SWIZZLED(row, col) ((row)*pitch + ((col) ^ (tpd_key(row, TILE_ROWS, TILE_COLS, ITEMSIZE) & (TILE_COLS - 1))))
#elif TILE_IS_KNOB

KERNEL(SWIZZLED) {
    const struct tpd_spot spot = tpd_spot_of(grid, BLOCK, TILE_ROWS, TILE_COLS);
    TILE(SWIZZLED);
    PHASE(thread) {
        UNROLL for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint32_t k = round * THREADS + thread, row = k / TILE_COLS, col = k % TILE_COLS;
            const bool inside = row < spot.rows && col < spot.cols;
            SHARED_STORE(PLACE_SWIZZLED(row, col), GLOBAL_LOAD(inside, spot.in + row * grid.cols + col));
        }
    }
    BARRIER();
    PHASE(thread) {
        UNROLL for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint32_t k = round * THREADS + thread, row = k % TILE_ROWS, col = k / TILE_ROWS;
            const bool inside = row < spot.rows && col < spot.cols;
            GLOBAL_STORE(inside, spot.out + col * grid.rows + row, SHARED_LOAD(PLACE_SWIZZLED(row, col)));
        }
    }
}

#endif
