/* strategy_vector.h -- 16 bytes an access on every side: squares of items are transposed in registers on their way to the tile.
 *
 * V = 16 / item size. A thread loads V vectors from V neighbouring rows, transposes that square of V x V items in registers,
 * and stores V vectors into V rows of the transposed tile; the second phase reads the tile's rows as they are. Few instructions
 * and many bytes on their way are what the speed comes from. The tile lies transposed and unpadded, where tpd_place_vector()
 * (vectors.h) says: free of conflicts on both sides for every item size and shape.
 *
 * Rows of the input and of the output have to be whole vectors: cols and rows times the item size multiples of 16.
 * Shapes: 0 large; 1 small, several tiles a block, for matrices that would leave most of a large one empty or most of the GPU
 * idle; 2 tall and 3 wide, for matrices of few columns and of few rows.
 */
#ifndef KERNEL
#define SHAPES_VECTOR 4
#define LARGE_ROWS_VECTOR_(itemsize) \
    ((itemsize) == 1 ? 256u : (itemsize) == 2 || (itemsize) == 8 ? 128u : (itemsize) == 4 ? 64u : 32u)
#define LARGE_COLS_VECTOR_(itemsize) \
    ((itemsize) == 1 ? 256u : (itemsize) == 2 ? 128u : (itemsize) == 4 ? 64u : (itemsize) == 8 ? 32u : 16u)
#define SMALL_VECTOR_(itemsize) ((itemsize) == 1 ? 64u : (itemsize) <= 8 ? 32u : 16u)
#define LONG_VECTOR_(itemsize) (1024u / (itemsize))
#define TILE_ROWS_VECTOR(itemsize, shape)          \
    ((shape) == 0   ? LARGE_ROWS_VECTOR_(itemsize) \
     : (shape) == 1 ? SMALL_VECTOR_(itemsize)      \
     : (shape) == 2 ? LONG_VECTOR_(itemsize)       \
                    : 16u)
#define TILE_COLS_VECTOR(itemsize, shape)          \
    ((shape) == 0   ? LARGE_COLS_VECTOR_(itemsize) \
     : (shape) == 1 ? SMALL_VECTOR_(itemsize)      \
     : (shape) == 2 ? 16u                          \
                    : LONG_VECTOR_(itemsize))
/* Tiles a block. */
#define TILES_VECTOR(itemsize, shape) ((shape) != 1 || (itemsize) == 8 ? 1u : (itemsize) == 2 ? 4u : 2u)
#define THREADS_VECTOR(itemsize, shape)                   \
    ((shape) == 0      ? ((itemsize) == 16 ? 128u : 256u) \
     : (shape) == 1    ? ((itemsize) == 1   ? 32u         \
                          : (itemsize) == 2 ? 64u         \
                                            : 128u)       \
     : (itemsize) == 1 ? 64u                              \
     : (itemsize) == 2 ? 128u                             \
                       : 256u)
#define RESIDENT_VECTOR(itemsize, shape) ((itemsize) == 1 && (shape) == 0 ? 2 : 1)
#elif TILE_IS_OWN && SHAPE < SHAPES_VECTOR

KERNEL_OWN(VECTOR) {
    enum {
        TILES = TILES_VECTOR(ITEMSIZE, SHAPE),
        HANDS = THREADS_VECTOR(ITEMSIZE, SHAPE) / TILES, /* threads a tile */
        ROWS = TILE_ROWS_VECTOR(ITEMSIZE, SHAPE),
        COLS = TILE_COLS_VECTOR(ITEMSIZE, SHAPE),
        V = TPD_VECTOR_ITEMS(ITEMSIZE),
        ACROSS = COLS / V,                 /* squares in a row of the tile */
        CHUNKS = ROWS / V,                 /* vectors in a row of the transposed tile */
        SQUARES = ACROSS * CHUNKS / HANDS, /* a thread */
        VECTORS = SQUARES * V
    };
    TILE_VECTORS();
    const struct tpd_spot first = tpd_spot_of(grid, BLOCK * TILES, ROWS, COLS);
    PHASE(thread) {
        const uint32_t part = TILES == 1 ? 0 : thread / HANDS, hand = TILES == 1 ? thread : thread % HANDS;
        const struct tpd_spot spot = TILES == 1 ? first : tpd_spot_among(grid, BLOCK * TILES + part, ROWS, COLS);
        const bool whole = spot.rows == ROWS && spot.cols == COLS;
        struct tpd_vector square[SQUARES][V];
        TPD_UNROLL_ALL for (uint32_t s = 0; s < SQUARES; s++) {
            const uint32_t k = s * HANDS + hand, row = k / ACROSS * V, col = k % ACROSS * V;
            const bool inside = whole || (row < spot.rows && col < spot.cols);
            uint64_t at = spot.in + row * grid.cols + col;
            TPD_UNROLL_ALL for (uint32_t n = 0; n < V; n++) {
                square[s][n] = GLOBAL_LOAD16(inside, at);
                at += grid.cols;
            }
        }
        TPD_UNROLL_ALL for (uint32_t s = 0; s < SQUARES; s++) {
            const uint32_t k = s * HANDS + hand, chunk = k / ACROSS, col = k % ACROSS * V;
            tpd_transpose_block(square[s], ITEMSIZE);
            TPD_UNROLL_ALL for (uint32_t n = 0; n < V; n++)
                SHARED_STORE16(part * COLS * CHUNKS + tpd_place_vector(col + n, chunk, CHUNKS, ACROSS, ITEMSIZE), square[s][n]);
        }
    }
    BARRIER();
    PHASE(thread) {
        const uint32_t part = TILES == 1 ? 0 : thread / HANDS, hand = TILES == 1 ? thread : thread % HANDS;
        const struct tpd_spot spot = TILES == 1 ? first : tpd_spot_among(grid, BLOCK * TILES + part, ROWS, COLS);
        const bool whole = spot.rows == ROWS && spot.cols == COLS;
        TPD_UNROLL_ALL for (uint32_t n = 0; n < VECTORS; n++) {
            const uint32_t k = n * HANDS + hand, chunk = k % CHUNKS, col = k / CHUNKS;
            const bool inside = whole || (chunk * V < spot.rows && col < spot.cols);
            const uint32_t place = part * COLS * CHUNKS + tpd_place_vector(col, chunk, CHUNKS, ACROSS, ITEMSIZE);
            GLOBAL_STORE16(inside, spot.out + col * grid.rows + chunk * V, SHARED_LOAD16(place));
        }
    }
}

#endif
