/* fill_odd.h -- blocks of items of 3 to 15 bytes that are no register's item: spread to 4, 8 or 16 bytes, transposed as such,
 * and pressed together again. The part that all instruction sets share.
 *
 * The including file defines PART (a register of 16 bytes), load_part(src), store_part(dst, part), store_half(dst, part): its
 * first 8 bytes, and shuffle(part, places): the byte at each place, 0 for a place over 15; and has network_1(size, a) of
 * fill_network.h.
 *
 * A store is of 16 bytes, of which V items are fewer: the next rows' items overwrite the rest, and the block's last ones are
 * stored exactly.
 */

/* Where the bytes of V items of `size` bytes come from: side by side in memory, `word` apart in the register; or back. */
INLINE PART odd_places(size_t size, size_t word, bool spread) {
    unsigned char place[16];
    memset(place, 0x80, sizeof place);
    for (size_t item = 0; item < 16 / word; item++)
        for (size_t i = 0; i < size && i < word; i++) { /* size < word, which the compiler can't know */
            const size_t packed = item * size + i, apart = item * word + i;
            place[spread ? apart : packed & 15] = (unsigned char)(spread ? packed : apart);
        }
    return load_part(place);
}

/* The last 8 of so many bytes to the front. */
INLINE PART odd_tail(size_t bytes) {
    unsigned char place[16] = {0};
    for (size_t i = 0; i < 8; i++)
        place[i] = (unsigned char)(bytes - 8 + i);
    return load_part(place);
}

INLINE void fill_spread(const struct tpd_cpu_block *block, size_t word) {
    const size_t v = 16 / word, size = block->itemsize, bytes = v * size;
    const size_t rows = block->rows / v * v, there = (size_t)(block->src_end - block->src) - (block->rows - 1) * block->src_pitch;
    size_t cols = there < 16 ? 0 : ((there - 16) / size / v + 1) * v; /* that can be read 16 bytes at a time */
    cols = cols < block->cols / v * v ? cols : block->cols / v * v;
    const PART spread = odd_places(size, word, true), press = odd_places(size, word, false);
    const PART tail = odd_tail(bytes);
    PART a[16];
    for (size_t r = 0; r < rows; r += v) {
        const unsigned char *row = block->src + r * block->src_pitch;
        unsigned char *dst = block->dst + r * size;
        const bool last = r + v == rows;
        for (size_t c = 0; c < cols; c += v, row += bytes) {
#pragma GCC unroll 4
            for (size_t i = 0; i < v; i++)
                a[i] = word == 16 ? load_part(row) : shuffle(load_part(row + i * block->src_pitch), spread);
            network_1(word, a);
#pragma GCC unroll 4
            for (size_t i = 0; i < v; i++, dst += block->dst_pitch) {
                const PART items = word == 16 ? a[i] : shuffle(a[i], press);
                if (!last) {
                    store_part(dst, items);
                } else { /* 9 to 15 bytes: two halves that overlap */
                    store_half(dst, items);
                    store_half(dst + bytes - 8, shuffle(items, tail));
                }
            }
        }
    }
    struct tpd_cpu_block rest = *block;
    rest.cols = block->cols - cols;
    rest.src += cols * size;
    rest.dst += cols * block->dst_pitch;
    if (rest.cols != 0)
        tpd_cpu_fill_any(&rest);
    rest = *block;
    rest.rows = block->rows - rows;
    rest.cols = cols;
    rest.src += rows * block->src_pitch;
    rest.dst += rows * size;
    if (rest.rows != 0 && cols != 0)
        tpd_cpu_fill_any(&rest);
}

static void fill_odd(const struct tpd_cpu_block *block) {
    if (block->itemsize == 3)
        fill_spread(block, 4);
    else if (block->itemsize > 4 && block->itemsize < 8)
        fill_spread(block, 8);
    else if (block->itemsize > 8 && block->itemsize < 16)
        fill_spread(block, 16);
    else
        tpd_cpu_fill_any(block);
}
