/* strategy_direct.h -- no tile: each thread fetches what its place of the output needs.
 *
 * Writes are coalesced, reads are a matrix row apart. The path for every item size: an item is `grid.words` words of ITEMSIZE
 * bytes, and a thread moves one word. Also the better one for matrices so narrow that a tile would be mostly empty: the
 * strided reads of neighbouring warps then share their sectors through the cache.
 */
#ifndef KERNEL
#define PITCH_DIRECT(cols, itemsize) 0
#elif TILE_IS_FIXED

KERNEL(DIRECT) {
    PHASE(thread) {
        const uint64_t move = BLOCK * THREADS + thread;
        uint64_t word, row, col;
        const uint64_t item = tpd_divide(move, grid.words, &word);
        const uint64_t matrix = tpd_divide(tpd_divide(item, grid.rows, &row), grid.cols, &col);
        const bool inside = move < grid.moves;
        GLOBAL_STORE(inside, move, GLOBAL_LOAD(inside, ((matrix * grid.rows + row) * grid.cols + col) * grid.words + word));
    }
}

#endif
