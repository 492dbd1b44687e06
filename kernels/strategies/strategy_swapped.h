/* strategy_swapped.h -- rows only in shared memory, indices swapped at the global side.
 *
 * Shared memory sees rows in and rows out, so no bank is ever asked twice; the price is the global write, where the lanes of
 * a warp fall into as many rows of the output, a sector each. It shows that conflicts are not the whole story.
 */
#ifndef KERNEL
#define PITCH_SWAPPED(cols, itemsize) (cols)
#define PLACE_SWAPPED(row, col) ((row)*pitch + (col))
#elif TILE_IS_KNOB

KERNEL(SWAPPED) {
    const struct tpd_spot spot = tpd_spot_of(grid, BLOCK, TILE_ROWS, TILE_COLS);
    TILE(SWAPPED);
    PHASE(thread) {
        UNROLL for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint32_t k = round * THREADS + thread, row = k / TILE_COLS, col = k % TILE_COLS;
            const bool inside = row < spot.rows && col < spot.cols;
            SHARED_STORE(PLACE_SWAPPED(row, col), GLOBAL_LOAD(inside, spot.in + row * grid.cols + col));
        }
    }
    BARRIER();
    PHASE(thread) {
        UNROLL for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint32_t k = round * THREADS + thread, row = k / TILE_COLS, col = k % TILE_COLS;
            const bool inside = row < spot.rows && col < spot.cols;
            GLOBAL_STORE(inside, spot.out + col * grid.rows + row, SHARED_LOAD(PLACE_SWAPPED(row, col)));
        }
    }
}

#endif
