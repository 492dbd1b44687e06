/* strategy_padded.h -- a tile whose rows are a little longer than they need to be.
 *
 * The pitch is an odd number of bank words, so that each row of a column lies one odd step further round the 32 banks and
 * 32 steps meet them all. Up to 4 bytes that takes a pitch of 4 x odd bytes, not of one more item: 33 bytes are no whole
 * number of words, and 33 halves put neighbouring rows into one bank. Above 4 bytes one more item is right, and keeps
 * rows aligned to the item.
 * Free of conflicts on both sides for every tile and item size but one: items of 4 bytes in a tile with a side of 16, where
 * a warp takes two rows (to store) or two columns (to load) at once and meets some banks twice.
 */
#ifndef KERNEL
#define PITCH_PADDED(cols, itemsize) ((cols) + ((itemsize) < 4 ? 4 / (itemsize) : 1))
#define PLACE_PADDED(row, col) ((row)*pitch + (col))
#elif TILE_IS_KNOB

KERNEL(PADDED) {
    const struct tpd_spot spot = tpd_spot_of(grid, BLOCK, TILE_ROWS, TILE_COLS);
    TILE(PADDED);
    PHASE(thread) {
        UNROLL for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint32_t k = round * THREADS + thread, row = k / TILE_COLS, col = k % TILE_COLS;
            const bool inside = row < spot.rows && col < spot.cols;
            SHARED_STORE(PLACE_PADDED(row, col), GLOBAL_LOAD(inside, spot.in + row * grid.cols + col));
        }
    }
    BARRIER();
    PHASE(thread) {
        UNROLL for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint32_t k = round * THREADS + thread, row = k % TILE_ROWS, col = k / TILE_ROWS;
            const bool inside = row < spot.rows && col < spot.cols;
            GLOBAL_STORE(inside, spot.out + col * grid.rows + row, SHARED_LOAD(PLACE_PADDED(row, col)));
        }
    }
}

#endif
