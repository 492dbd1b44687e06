/* fill_network.h -- a block transposed in registers: the part that all instruction sets share.
 *
 * Included once for every width of register, with
 *   LANES          128-bit lanes of one: 1, 2 or 4
 *   VECTOR, PART   the register and one lane of it
 *   NET(name)      name with the width's ending
 * and these, which the including file defines before: load_part(src), NET(with_lane)(vector, lane, part),
 * NET(unpack_low)(size, a, b), NET(unpack_high)(size, a, b), NET(store)(dst, vector, bytes): the first `bytes` of it, or all.
 *
 * One network for all five item sizes. V = 16 / itemsize items fill a lane. Lane j of register i takes V items of row i + jV;
 * log2(V) rounds of unpack transpose all lanes' V x V blocks at once, and each register then holds LANES * V items of one
 * output row. Integer moves only: every bit pattern survives.
 */

/* Interleaving register i with register i + V/2 moves one bit of the row number into the place within the lane;
 * after log2(V) rounds all of them are there. */
INLINE void NET(network)(size_t size, VECTOR *a) {
    const size_t v = 16 / size;
    VECTOR b[16];
#pragma GCC unroll 4
    for (size_t round = 1; round < v; round *= 2) {
#pragma GCC unroll 8
        for (size_t i = 0; i < v / 2; i++) {
            b[2 * i] = NET(unpack_low)(size, a[i], a[i + v / 2]);
            b[2 * i + 1] = NET(unpack_high)(size, a[i], a[i + v / 2]);
        }
#pragma GCC unroll 16
        for (size_t i = 0; i < v; i++)
            a[i] = b[i];
    }
}

/* LANES * V rows by V columns, less at the edges: rows past the last are read from the last one, columns past the last are
 * not stored. near_end, where a read of 16 bytes could leave the input, or NULL. */
INLINE void NET(micro)(size_t size, unsigned char *dst, size_t dst_pitch, const unsigned char *src, size_t src_pitch, size_t rows,
                       size_t cols, const unsigned char *near_end) {
    const size_t v = 16 / size;
    const unsigned char *row[LANES];
    VECTOR a[16];
    if (LANES * v > 16) /* or else the compiler keeps all the rows' places, in memory, from one block to the next */
        __asm__("" : "+r"(src_pitch));
#pragma GCC unroll 4
    for (size_t lane = 0; lane < LANES; lane++)
        row[lane] = src + (rows < LANES * v && lane * v >= rows ? rows - 1 : lane * v) * src_pitch;
#pragma GCC unroll 16
    for (size_t i = 0; i < v; i++) {
#pragma GCC unroll 4
        for (size_t lane = 0; lane < LANES; lane++) {
            a[i] = NET(with_lane)(a[i], lane, near_end != NULL ? load_end(row[lane], near_end) : load_part(row[lane]));
            if (rows >= LANES * v || i + lane * v + 1 < rows)
                row[lane] += src_pitch;
        }
    }
    NET(network)(size, a);
#pragma GCC unroll 16
    for (size_t i = 0; i < v; i++)
        if (i < cols)
            NET(store)(dst + i * dst_pitch, a[i], (rows < LANES * v ? rows : LANES * v) * size);
}

/* The last row group first: what it may write past its rows is then overwritten by the next tile row's own items,
 * or lies in the slack. */
INLINE void NET(fill)(const struct tpd_cpu_block *block, size_t size) {
    const size_t v = 16 / size, src_pitch = block->src_pitch, dst_pitch = block->dst_pitch, cols = block->cols;
    for (size_t group = (block->rows + LANES * v - 1) / (LANES * v); group-- > 0;) {
        const size_t r = group * LANES * v, rows = block->rows - r;
        const unsigned char *src = block->src + r * src_pitch;
        unsigned char *dst = block->dst + r * size;
        size_t c = 0;
        if (rows >= LANES * v)
            for (; c + v <= cols; c += v)
                NET(micro)(size, dst + c * dst_pitch, dst_pitch, src + c * size, src_pitch, LANES * v, v, NULL);
        else
            for (; c + v <= cols; c += v)
                NET(micro)(size, dst + c * dst_pitch, dst_pitch, src + c * size, src_pitch, rows, v, NULL);
        if (c == cols)
            continue;
        const size_t last = (rows < LANES * v ? rows : LANES * v) - 1;
        const bool near_end = (size_t)(block->src_end - (src + c * size)) < last * src_pitch + 16;
        if (near_end)
            NET(micro)(size, dst + c * dst_pitch, dst_pitch, src + c * size, src_pitch, rows, cols - c, block->src_end);
        else if (rows >= LANES * v)
            NET(micro)(size, dst + c * dst_pitch, dst_pitch, src + c * size, src_pitch, LANES * v, cols - c, NULL);
        else
            NET(micro)(size, dst + c * dst_pitch, dst_pitch, src + c * size, src_pitch, rows, cols - c, NULL);
    }
}

#undef LANES
#undef VECTOR
#undef NET
