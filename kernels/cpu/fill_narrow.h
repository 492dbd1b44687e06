/* fill_narrow.h -- blocks of few rows or few columns, in 128-bit registers: the part that all instruction sets share.
 *
 * The including file defines PART (the register), load_part(src), load_end(src, end), unpack_low_1(size, a, b),
 * unpack_high_1(size, a, b), store_part(dst, part) and shuffle(part, places): the byte at each place, 0 for a place over 15.
 *
 * P, a power of two, is the count of rows (or columns) rounded up. P rows of V = 16 / itemsize items are P registers, and their
 * items' numbers have log2(P) + log2(V) bits. A round of unpack rotates these by one bit; so log2(P) rounds put P items of one
 * column side by side, and log2(V) rounds undo it. What P has more than there are rows is shuffled out before the store, or
 * shuffled in after the load. At P = V this is the network for one lane, and there is nothing to shuffle.
 */

INLINE void rotate(size_t size, size_t p, size_t rounds, PART *a) {
    PART b[8];
#pragma GCC unroll 4
    for (size_t round = 0; round < rounds; round++) {
#pragma GCC unroll 4
        for (size_t i = 0; i < p / 2; i++) {
            b[2 * i] = unpack_low_1(size, a[i], a[i + p / 2]);
            b[2 * i + 1] = unpack_high_1(size, a[i], a[i + p / 2]);
        }
#pragma GCC unroll 8
        for (size_t i = 0; i < p; i++)
            a[i] = b[i];
    }
}

/* few of every p items, V / p times, side by side: whence each byte comes. out: from p apart to few apart; else back. */
INLINE PART places(size_t size, size_t p, size_t few, bool out) {
    unsigned char place[16];
    memset(place, 0x80, sizeof place);
    for (size_t group = 0; group < 16 / size / p; group++)
        for (size_t i = 0; i < few * size && i < p * size; i++) { /* few <= p, which the compiler can't know */
            if (out)
                place[group * few * size + i] = (unsigned char)(group * p * size + i);
            else
                place[group * p * size + i] = (unsigned char)(group * few * size + i);
        }
    return load_part(place);
}

/* rows <= p < V, tile rows back to back: V columns are p stores, each of V / p columns. */
INLINE void fill_rows(const struct tpd_cpu_block *block, size_t size, size_t p) {
    const size_t v = 16 / size, rows = block->rows, cols = block->cols, step = v / p * rows * size;
    const PART place = places(size, p, rows, true);
    PART a[8];
    for (size_t c = 0; c < cols; c += v) {
        const unsigned char *src = block->src + c * size;
        const bool whole = (size_t)(block->src_end - src) >= (rows - 1) * block->src_pitch + 16;
#pragma GCC unroll 8
        for (size_t i = 0; i < p; i++) {
            const unsigned char *row = src + (i < rows ? i : rows - 1) * block->src_pitch;
            a[i] = whole ? load_part(row) : load_end(row, block->src_end);
        }
        rotate(size, p, p == 2 ? 1 : p == 4 ? 2 : 3, a);
        unsigned char *dst = block->dst + c * rows * size;
#pragma GCC unroll 8
        for (size_t i = 0; i < p; i++)
            if (c + i * (v / p) < cols)
                store_part(dst + i * step, shuffle(a[i], place));
    }
}

/* cols <= p < V, and the rows back to back: V rows are p loads, each of V / p rows. Rows past the last land in the slack. */
INLINE void fill_cols(const struct tpd_cpu_block *block, size_t size, size_t p) {
    const size_t v = 16 / size, cols = block->cols, step = v / p * cols * size;
    const PART place = places(size, p, cols, false);
    PART a[8];
    const size_t groups = (block->rows + v - 1) / v;
    const bool apart = block->dst_pitch >= groups * 16; /* no group writes into the next tile row: read onwards */
    for (size_t turn = 0; turn < groups; turn++) {
        const size_t group = apart ? turn : groups - 1 - turn;
        const unsigned char *src = block->src + group * v * cols * size;
        const bool whole = (size_t)(block->src_end - src) >= (p - 1) * step + 16;
#pragma GCC unroll 8
        for (size_t i = 0; i < p; i++) {
            const unsigned char *from = src + i * step;
            if (whole)
                a[i] = shuffle(load_part(from), place);
            else
                a[i] = shuffle(load_end(from < block->src_end ? from : block->src_end, block->src_end), place);
        }
        rotate(size, p, size == 1 ? 4 : size == 2 ? 3 : 2, a);
#pragma GCC unroll 8
        for (size_t i = 0; i < p; i++)
            if (i < cols)
                store_part(block->dst + i * block->dst_pitch + group * 16, a[i]);
    }
}

/* True when it was one of these blocks, and is done. */
INLINE bool fill_narrow(const struct tpd_cpu_block *block, size_t size) {
    const size_t v = 16 / size, rows = block->rows, cols = block->cols;
    if (rows <= v / 2 && block->dst_pitch == rows * size) {
        if (rows <= 2)
            fill_rows(block, size, 2);
        else if (v >= 8 && rows <= 4)
            fill_rows(block, size, 4);
        else
            fill_rows(block, size, v >= 16 ? 8 : 4);
        return true;
    }
    if (cols <= v / 2 && block->src_pitch == cols * size) {
        if (cols <= 2)
            fill_cols(block, size, 2);
        else if (v >= 8 && cols <= 4)
            fill_cols(block, size, 4);
        else
            fill_cols(block, size, v >= 16 ? 8 : 4);
        return true;
    }
    return false;
}
