/* patterns.h -- requests that people ask about, made from a few numbers; what a pitch could do for a tile; a tile as it lies.
 *
 * Pure: no allocation but tpd_tile_map()'s scratch, no I/O.
 */
#ifndef TRANSPOSED_PATTERNS_H
#define TRANSPOSED_PATTERNS_H

#include "transposed/banks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One warp request along a line: `group` neighbouring lanes ask for one item (1: each for its own, 32: all for one), and
 * each next group for the one step_bytes on. A stride, the field of an array of records, a broadcast, a multicast. */
struct tpd_line {
    uint32_t width;
    uint64_t offset_bytes, step_bytes;
    uint32_t group; /* 1 to 32 */
};
struct tpd_request tpd_line_request(const struct tpd_line *line, enum tpd_op op);

/* Step `stride` of a tree reduction by `threads` threads, as its first warp sees it. Interleaved: thread t adds item
 * 2 * stride * t + stride to item 2 * stride * t. Sequential: thread t adds item t + stride to item t. The loads of both
 * items are the same request but for where it begins. */
struct tpd_request tpd_reduction_request(uint32_t threads, uint32_t stride, bool interleaved, uint32_t width);

/* A tile in shared memory: planes x rows x cols items, `pitch` items from row to row, plane_pitch from plane to plane.
 * Threads walk it without a gap: stores along columns, then rows, then planes, as the tile's source lies; loads the other
 * way round, as its transpose does. With one plane: written by rows, read by columns. */
enum { TPD_TILE_SIDE_MOST = 128, TPD_TILE_ITEMS_MOST = 16384 };
struct tpd_bare_tile {
    uint32_t planes, rows, cols; /* 1 to TPD_TILE_SIDE_MOST each, and TPD_TILE_ITEMS_MOST in all */
    uint32_t pitch, plane_pitch; /* plane_pitch is not looked at when there is one plane */
    uint32_t itemsize;
};
uint32_t tpd_bare_tile_requests(const struct tpd_bare_tile *tile); /* of either op */
struct tpd_request tpd_bare_tile_request(const struct tpd_bare_tile *tile, enum tpd_op op, uint32_t number);
/* Sums over all requests. Global: what the same addresses would cost there. Fails as the models do. */
enum tpd_status tpd_bare_tile_sums(const struct tpd_bare_tile *tile, uint32_t bank_bytes, struct tpd_shared_sum shared[2],
                                   struct tpd_global_sum global[2], struct tpd_error *error) TPD_CHECKED;
/* The least pitch, and plane pitch, from tile's sides on that has no excess on either side; false when there is none: the
 * banks repeat every 32 of them, and every pitch up to there was tried. */
bool tpd_bare_tile_pad(struct tpd_bare_tile *tile, uint32_t bank_bytes);

/* One sentence each, what to do about the figures: what pitch would be free of conflicts, or why none is and what is. */
enum { TPD_ADVICE_BYTES = 384 };
void tpd_advise_tile(const struct tpd_bare_tile *tile, uint32_t bank_bytes, const struct tpd_shared_sum shared[2],
                     char text[TPD_ADVICE_BYTES]);
void tpd_advise_plan(const struct tpd_figures *figures, uint32_t bank_bytes, char text[TPD_ADVICE_BYTES]);
void tpd_advise_line(const struct tpd_line *line, uint32_t bank_bytes, char text[TPD_ADVICE_BYTES]);

/* Where a strategy's own kernel puts each item of its first tile, and the number-th request of each kind in its first block:
 * found by sending numbered items through it. Global addresses count from the first item of input and output. */
struct tpd_tile_map {
    uint32_t *place;              /* rows x cols: byte address of the item; borrows, made by the caller */
    struct tpd_request shared[2]; /* by enum tpd_op; none are active where the kernel makes fewer */
    struct tpd_request global[2];
    uint32_t shared_requests, global_requests; /* of each op, in the block */
};
/* plan: of a matrix that has a whole tile, and that fits in memory. `place` is not looked at for a strategy without a tile.
 * Fails with TPD_NO_MEMORY. */
enum tpd_status tpd_tile_map(const struct tpd_plan *plan, uint32_t number, struct tpd_tile_map *map,
                             struct tpd_error *error) TPD_CHECKED;

#ifdef __cplusplus
}
#endif

#endif
