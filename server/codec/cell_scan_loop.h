/* cell_scan_loop.h -- the loop over blocks, compiled once a kind of processor: the file that includes it has MASKS(), EMIT() and
 * XOR_BEFORE() defined, and NAME.
 *
 *   struct masks MASKS(at, delimiter)                bit i of each: byte i is that letter
 *   void EMIT(cells, ends, offset, start)            a cell a bit of `ends`: from `start`, then from behind the last
 *   uint64_t XOR_BEFORE(bits)                        bit i: the parity of bits 0 .. i
 */
#include "server/codec/cell_scan.h"

enum { AHEAD_BYTES = 2048, AHEAD_IN_ROW = 1024 };

/* What one block hands to the next. */
struct carry {
    uint64_t inside;   /* all ones: it begins within quotes */
    uint64_t may_open; /* bit 0: a quote at its start opens a cell, or is the second of two */
    uint64_t closed;   /* bit 0: the byte before it is a closing quote */
    uint64_t cr;       /* bit 0: the byte before it is a CR */
};

/* Takes what lies in quotes out of sep and nl. False: the block has quotes that are no simple pairs (or are letters), and only a
 * look at each byte tells. */
static inline bool take_quotes_out(const struct masks *m, struct carry *carry, uint64_t *sep, uint64_t *nl) {
    uint64_t inside = XOR_BEFORE(m->quote) ^ carry->inside, cr = m->cr & ~inside;
    *sep &= ~inside;
    *nl &= ~inside;
    uint64_t opens = m->quote & inside, closes = m->quote & ~inside;
    uint64_t behind = closes << 1 | carry->closed, lone = cr & behind;
    if ((opens & ~((*sep | closes) << 1 | carry->may_open)) != 0 || (behind & ~(*sep | opens | cr)) != 0)
        return false;
    if ((lone << 1 & ~*nl) != 0 || lone >> 63 != 0)
        return false;
    carry->inside = (uint64_t)((int64_t)inside >> 63);
    carry->closed = closes >> 63;
    carry->may_open = (*sep | closes) >> 63;
    return true;
}

static enum tpd_status blocks(struct tpd_scan_walk *walk) {
    struct tpd_cell_scan *scan = walk->scan;
    struct tpd_cell_batch *batch = walk->batch;
    const unsigned char *text = scan->text, *end = scan->end, *start = scan->at, *at = start;
    const struct carry fresh = {0, 1, 0, 0};
    struct carry carry = fresh;
    uint32_t count = batch->count;
    const ptrdiff_t ahead = walk->rows_most == 1 ? AHEAD_IN_ROW : AHEAD_BYTES;
    const uint32_t most = batch->most;
    while (end - at >= TPD_SCAN_BLOCK && count < most && batch->rows < walk->rows_most) {
        __builtin_prefetch(at + ahead); /* the processor's own stops at each page's end */
        const struct masks m = MASKS(at, scan->delimiter);
        uint64_t nl = m.nl, sep = m.delimiter | nl;
        bool is_plain = true;
        if (scan->quotes && (m.quote | carry.inside | carry.closed) != 0)
            is_plain = take_quotes_out(&m, &carry, &sep, &nl);
        else
            carry.may_open = sep >> 63;
        /* A CR before a delimiter, and a cell too long to be one: refused where they are looked at byte by byte. */
        if (((m.cr << 1 | carry.cr) & m.delimiter & sep) != 0 ||
            (sep != 0 && at + __builtin_ctzll(sep | (uint64_t)1 << 63) - start > TPD_CELL_BYTES_MOST))
            is_plain = false;
        carry.cr = m.cr >> 63;
        if (!is_plain) {
            scan->at = start;
            batch->count = count;
            enum tpd_status status = tpd_scan_slowly(walk, at + TPD_SCAN_BLOCK);
            if (status != TPD_OK)
                return status;
            count = batch->count;
            if (scan->at < at + TPD_SCAN_BLOCK)
                return TPD_OK; /* no room, or no end */
            start = at = scan->at;
            carry = fresh;
            continue;
        }
        if (sep != 0) {
            EMIT(batch->cells + count, sep, (uint64_t)(at - text), (uint64_t)(start - text));
            start = at + 64 - __builtin_clzll(sep);
            for (uint64_t rest = nl; rest != 0; rest &= rest - 1) {
                uint64_t before = sep & ((rest & -rest) - 1);
                enum tpd_status status = tpd_scan_row(walk, count + (uint32_t)__builtin_popcountll(before));
                if (status != TPD_OK)
                    return status;
            }
            count += (uint32_t)__builtin_popcountll(sep);
        }
        at += TPD_SCAN_BLOCK;
    }
    scan->at = start;
    batch->count = count;
    return TPD_OK;
}

static uint64_t marks(const unsigned char *text, size_t bytes, unsigned char delimiter) {
    uint64_t count = 0;
    size_t i = 0;
    for (; bytes - i >= TPD_SCAN_BLOCK; i += TPD_SCAN_BLOCK) {
        const struct masks m = MASKS(text + i, delimiter);
        count += (uint64_t)__builtin_popcountll(m.delimiter | m.nl);
    }
    for (; i < bytes; i++)
        count += text[i] == delimiter || text[i] == '\n';
    return count;
}

const struct tpd_scan_code NAME = {LABEL, blocks, marks};
