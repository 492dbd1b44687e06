/* strategy_naive.h -- a tile as it comes: rows in, columns out.
 *
 * What one would write first, and the measure of the others. The pitch is a power of two, so the items of a column share
 * few banks: with the default tile a column is read in 8, 16, 32, 32, 32 wavefronts where 1, 1, 1, 2, 4 would do.
 */
#ifndef KERNEL
#define PITCH_NAIVE(cols, itemsize) (cols)
#define PLACE_NAIVE(row, col) ((row)*pitch + (col))
#elif TILE_IS_KNOB

KERNEL(NAIVE) {
    const struct tpd_spot spot = tpd_spot_of(grid, BLOCK, TILE_ROWS, TILE_COLS);
    TILE(NAIVE);
    PHASE(thread) {
        UNROLL for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint32_t k = round * THREADS + thread, row = k / TILE_COLS, col = k % TILE_COLS;
            const bool inside = row < spot.rows && col < spot.cols;
            SHARED_STORE(PLACE_NAIVE(row, col), GLOBAL_LOAD(inside, spot.in + row * grid.cols + col));
        }
    }
    BARRIER();
    PHASE(thread) {
        UNROLL for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint32_t k = round * THREADS + thread, row = k % TILE_ROWS, col = k / TILE_ROWS;
            const bool inside = row < spot.rows && col < spot.cols;
            GLOBAL_STORE(inside, spot.out + col * grid.rows + row, SHARED_LOAD(PLACE_NAIVE(row, col)));
        }
    }
}

#endif
