/* strategy_vector.h -- 16 bytes an access on every side: squares of items are transposed in registers on their way to the tile.
 *
 * V = 16 / item size. A thread loads V vectors from V neighbouring rows, transposes that square of V x V items in registers,
 * and stores V vectors into V rows of the transposed tile; the second phase reads the tile's rows as they are. Few instructions
 * and many bytes on their way are what the speed comes from.
 *
 * The tile lies transposed and unpadded: row c of it holds the items of column c. A quarter of a warp, which is a phase of a
 * 16-byte access, stores to the same chunk of 8 rows that are V apart, so the chunk is XORed with a key that counts those
 * rows, c / V: all 8 chunks of a line of 128 bytes are met once. (With c itself for a key, 16-way conflicts.) The second
 * phase reads 8 neighbouring chunks of a row, which any key keeps apart. Free of conflicts on both sides for every item size.
 *
 * Rows of the input and of the output have to be whole vectors: cols and rows times the item size multiples of 16.
 */
#ifndef KERNEL
#define SHAPES_VECTOR 1
#define TILE_ROWS_VECTOR(itemsize, shape) ((itemsize) <= 2 ? 128u : (itemsize) <= 8 ? 64u : 32u)
#define TILE_COLS_VECTOR(itemsize, shape) ((itemsize) <= 2 ? 128u : (itemsize) <= 8 ? 64u : 32u)
#define THREADS_VECTOR(itemsize, shape) ((itemsize) == 1 ? 64u : 256u)
/* Of chunk `chunk` of row `row` of the transposed tile, which has `chunks` a row: in vectors. */
#define PLACE_VECTOR(row, chunk, chunks, items) (((row) * (chunks) + (chunk)) ^ ((row) / (items)&7))
#elif TILE_IS_OWN && SHAPE < SHAPES_VECTOR

KERNEL_OWN(VECTOR) {
    enum {
        THREADS_HERE = THREADS_VECTOR(ITEMSIZE, SHAPE),
        ROWS = TILE_ROWS_VECTOR(ITEMSIZE, SHAPE),
        COLS = TILE_COLS_VECTOR(ITEMSIZE, SHAPE),
        V = TPD_VECTOR_ITEMS(ITEMSIZE),
        ACROSS = COLS / V,                        /* squares in a row of the tile */
        CHUNKS = ROWS / V,                        /* vectors in a row of the transposed tile */
        SQUARES = ACROSS * CHUNKS / THREADS_HERE, /* a thread */
        VECTORS = SQUARES * V
    };
    const struct tpd_spot spot = tpd_spot_of(grid, BLOCK, ROWS, COLS);
    TILE_VECTORS();
    PHASE(thread) {
        struct tpd_vector square[SQUARES][V];
        TPD_UNROLL_ALL for (uint32_t s = 0; s < SQUARES; s++) {
            const uint32_t k = s * THREADS_HERE + thread, row = k / ACROSS * V, col = k % ACROSS * V;
            const bool inside = row < spot.rows && col < spot.cols;
            TPD_UNROLL_ALL for (uint32_t n = 0; n < V; n++) square[s][n] =
                GLOBAL_LOAD16(inside, spot.in + (row + n) * grid.cols + col);
        }
        TPD_UNROLL_ALL for (uint32_t s = 0; s < SQUARES; s++) {
            const uint32_t k = s * THREADS_HERE + thread, chunk = k / ACROSS, col = k % ACROSS * V;
            tpd_transpose_block(square[s], ITEMSIZE);
            TPD_UNROLL_ALL for (uint32_t n = 0; n < V; n++) SHARED_STORE16(PLACE_VECTOR(col + n, chunk, CHUNKS, V), square[s][n]);
        }
    }
    BARRIER();
    PHASE(thread) {
        TPD_UNROLL_ALL for (uint32_t n = 0; n < VECTORS; n++) {
            const uint32_t k = n * THREADS_HERE + thread, chunk = k % CHUNKS, col = k / CHUNKS;
            const bool inside = chunk * V < spot.rows && col < spot.cols;
            GLOBAL_STORE16(inside, spot.out + col * grid.rows + chunk * V, SHARED_LOAD16(PLACE_VECTOR(col, chunk, CHUNKS, V)));
        }
    }
}

#endif
