/* strategy_shifted.h -- `vector` for rows that begin anywhere: loads and stores are shifted to where memory begins a vector.
 *
 * Where the item size times rows or cols is no multiple of 16, every row of a matrix begins at another place of its vector.
 * A thread then loads the two whole vectors in which the 16 bytes it wants lie, and takes them from the middle (the second is
 * its neighbour's first: the L1 cache has it). From there on it is `vector`: squares transposed in registers, the same places.
 *
 * Output rows begin anywhere too. Each is cut where memory begins a sector of 32 bytes: a tile gives column c the rows that
 * begin `late` items before the tile's own first, with `late` what that output row begins after a sector. All stores but those
 * of a row's very ends are whole sectors, which no two blocks share. For this a tile loads LATE_MOST more rows than it gives
 * to any one column; its neighbour loads them again, from the L2 cache. Vectors are taken from the middle of two chunks again.
 *
 * The ends of output rows, and the input's last items where they are no whole vector, are moved item by item.
 */
#ifndef KERNEL
#define SHAPES_SHIFTED 1
/* Items that a tile loads a column, of which it gives that less LATE_SHIFTED. */
#define LOADED_ROWS_SHIFTED(itemsize) ((itemsize) == 1 ? 256u : (itemsize) <= 4 ? 128u : (itemsize) == 8 ? 64u : 32u)
#define LATE_SHIFTED(itemsize) (32u / (itemsize))
#define TILE_ROWS_SHIFTED(itemsize, shape) (LOADED_ROWS_SHIFTED(itemsize) - LATE_SHIFTED(itemsize))
#define TILE_COLS_SHIFTED(itemsize, shape) ((itemsize) == 1 ? 128u : (itemsize) <= 4 ? 64u : 32u)
#define THREADS_SHIFTED(itemsize, shape) ((itemsize) <= 2 ? 128u : 256u)
#elif TILE_IS_OWN && SHAPE < SHAPES_SHIFTED

KERNEL_OWN(SHIFTED) {
    enum {
        HANDS = THREADS_SHIFTED(ITEMSIZE, SHAPE),
        LOADED = LOADED_ROWS_SHIFTED(ITEMSIZE),
        LATE_MOST = LATE_SHIFTED(ITEMSIZE),
        ROWS = TILE_ROWS_SHIFTED(ITEMSIZE, SHAPE),
        COLS = TILE_COLS_SHIFTED(ITEMSIZE, SHAPE),
        V = TPD_VECTOR_ITEMS(ITEMSIZE),
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
    const uint64_t tail = grid.moves / V * V;
    TILE_VECTORS();
    PHASE(thread) {
        struct tpd_vector square[SQUARES][V];
        TPD_UNROLL_ALL for (uint32_t s = 0; s < SQUARES; s++) {
            TPD_UNROLL_ALL for (uint32_t n = 0; n < V; n++) {
                const uint32_t k = s * HANDS + thread, row = k / ACROSS * V + n, col = k % ACROSS * V;
                const bool inside = row >= first && row < end && col < cols;
                const uint64_t at = in_first + row * grid.cols + col;
                const uint32_t shift = (uint32_t)at % V;
                const uint64_t low = at - shift, high = low + V;
                square[s][n] =
                    tpd_vector_between(GLOBAL_LOAD16(inside && low < tail, low),
                                       GLOBAL_LOAD16(inside && shift != 0 && high < tail, high), shift * ITEMSIZE, ITEMSIZE);
            }
        }
        TPD_UNROLL_ALL for (uint32_t s = 0; s < SQUARES; s++) {
            const uint32_t k = s * HANDS + thread, chunk = k / ACROSS, col = k % ACROSS * V;
            tpd_transpose_block(square[s], ITEMSIZE);
            TPD_UNROLL_ALL for (uint32_t n = 0; n < V; n++)
                SHARED_STORE16(tpd_place_vector(col + n, chunk, CHUNKS, ACROSS, ITEMSIZE), square[s][n]);
        }
    }
    BARRIER();
    /* The input's last items, where they are no whole vector: one tile has them, or two. */
    if (tail != grid.moves && (matrix * grid.rows + above + end) * grid.cols > tail) {
        PHASE(thread) {
            const uint64_t item = tail + thread;
            uint64_t begins = (matrix * grid.rows + above + end - 1) * grid.cols;
            uint32_t row = end - 1;
            /* A row has a single item at least, so that fewer than a vector's lie in fewer rows. */
            for (uint32_t n = 1; n < V && item < begins; n++) {
                begins -= grid.cols;
                row--;
            }
            const uint64_t col = item - begins - left;
            const bool wanted = item < grid.moves && row >= first && row < end && col < cols;
            const uint32_t r = row % LOADED, c = (uint32_t)col % COLS;
            const uint32_t place = tpd_place_vector(c, r / V, CHUNKS, ACROSS, ITEMSIZE) * V + r % V;
            SHARED_STORE(wanted ? place : NOWHERE, GLOBAL_LOAD(wanted, item));
        }
        BARRIER();
    }
    PHASE(thread) {
        TPD_UNROLL_ALL for (uint32_t n = 0; n < VECTORS; n++) {
            const uint32_t k = n * HANDS + thread, j = k % CHUNKS * V, col = k / CHUNKS;
            const uint64_t out_row = (matrix * grid.cols + left + col) * grid.rows;
            const uint32_t row = j + LATE_MOST - (uint32_t)out_row % LATE_MOST, shift = row % V;
            const bool inside = j < ROWS && col < cols && row >= first && row + V <= end;
            const uint32_t low = row / V % CHUNKS, high = (row / V + (shift != 0)) % CHUNKS;
            GLOBAL_STORE16(inside, out_row + above + row,
                           tpd_vector_between(SHARED_LOAD16(tpd_place_vector(col, low, CHUNKS, ACROSS, ITEMSIZE)),
                                              SHARED_LOAD16(tpd_place_vector(col, high, CHUNKS, ACROSS, ITEMSIZE)),
                                              shift * ITEMSIZE, ITEMSIZE));
        }
        /* The vectors in which an output row begins and ends, where they are not whole. */
        if (V > 1 && (down == 0 || end < LOADED)) {
            for (uint32_t edge = 0; edge < 2; edge++) {
                for (uint32_t col = thread; col - thread < COLS; col += HANDS) {
                    const uint64_t out_row = (matrix * grid.cols + left + col) * grid.rows;
                    const uint32_t begins = LATE_MOST - (uint32_t)out_row % LATE_MOST, row = edge == 0 ? first : end - 1;
                    const uint32_t j = (row - begins) / V * V, at = begins + j;
                    const bool both = edge == 1 && down == 0 && (first - begins) / V * V == j;
                    const bool cut = col < cols && row >= begins && j < ROWS && !both && (at < first || at + V > end);
                    TPD_UNROLL_ALL for (uint32_t n = 0; n < V; n++) {
                        const uint32_t r = (at + n) % LOADED;
                        const uint32_t place = tpd_place_vector(col % COLS, r / V, CHUNKS, ACROSS, ITEMSIZE) * V + r % V;
                        GLOBAL_STORE(cut && at + n >= first && at + n < end, out_row + above + at + n, SHARED_LOAD(place));
                    }
                }
            }
        }
    }
}

#endif
