/* cell_scan_base.c -- the scan without vector instructions: eight bytes in one register, on any processor. */
#include <string.h>

#include "server/codec/cell_scan.h"

struct masks {
    uint64_t delimiter, nl, quote, cr;
};

#define ONES 0x0101010101010101u
#define LOWS 0x7f7f7f7f7f7f7f7fu

/* Bit i: byte i of the word is zero. The addition carries into no neighbour, so each mark is exact; the product gathers the
 * marks in the top byte. */
static inline uint64_t zero_bytes(uint64_t word) {
    uint64_t marks = ~(((word & LOWS) + LOWS) | word | LOWS);
    return (marks >> 7) * 0x0102040810204080u >> 56;
}

static inline struct masks find(const unsigned char *at, unsigned char delimiter) {
    struct masks m = {0, 0, 0, 0};
    for (unsigned i = 0; i < TPD_SCAN_BLOCK; i += 8) {
        uint64_t word = 0;
        memcpy(&word, at + i, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        m.delimiter |= zero_bytes(word ^ delimiter * ONES) << i;
        m.nl |= zero_bytes(word ^ '\n' * ONES) << i;
        m.quote |= zero_bytes(word ^ '"' * ONES) << i;
        m.cr |= zero_bytes(word ^ '\r' * ONES) << i;
    }
    return m;
}

static inline void emit(struct tpd_cell *cells, uint64_t ends, uint64_t offset, uint64_t start) {
    for (; ends != 0; ends &= ends - 1) {
        uint64_t end = offset + (uint64_t)__builtin_ctzll(ends);
        (cells++)->place = (start << TPD_CELL_LENGTH_BITS) + (end - start);
        start = end + 1;
    }
}

static inline uint64_t parity(uint64_t bits) {
    for (unsigned shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

#define MASKS find
#define EMIT emit
#define XOR_BEFORE parity
#define NAME tpd_scan_base
#define LABEL "base"
#include "server/codec/cell_scan_loop.h"
