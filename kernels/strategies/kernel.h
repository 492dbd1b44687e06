/* kernel.h -- from the strategies' headers to kernels: every strategy x item size x kind of tile, and the table of them.
 *
 * A strategy's header is text in the words of a dialect (dialect_c.h, dialect_cuda.h), which includes this file at its end:
 *   KERNEL(NAME) { }            a kernel; `grid` is its struct tpd_geometry, BLOCK the number of the block
 *   PHASE(thread) { }           what each of THREADS threads does between two barriers; nothing but the tile outlives it
 *   BARRIER();                  between two phases
 *   TILE(NAME);                 the block's shared memory, and `pitch`: items from one of its rows to the next
 *   UNROLL                      before a `for` over ROUNDS, of which there are 1, 4 or more: no round waits for the one before
 *   GLOBAL_LOAD(active, index), GLOBAL_STORE(active, index, item), SHARED_LOAD(index), SHARED_STORE(index, item)
 *                               the only ways to memory. The n-th access of every lane is the same instruction: a lane
 *                               that sits one out says so in `active`, and never by an `if` around the access
 *   ITEM, ITEMSIZE, ITEM16      the item's type, its bytes (a literal), and a type of 16 bytes
 * and, from here, TILE_ROWS and TILE_COLS: constants in kernels of kind FIXED, which have the default tile compiled in,
 * powers of two known at run time in those of kind ANY; ROUNDS: how often a block's threads pass over its tile. The count is
 * the loop's condition, and not the item's number, so that a compiler needs no exit between rounds. A strategy without a tile
 * needs the first kind alone (TILE_IS_FIXED).
 *
 * Outside a dialect (KERNEL undefined) a header gives its layout alone: PITCH_<NAME>(cols, itemsize) and PLACE_<NAME>(row, col).
 */
#define THREADS ((uint32_t)TPD_STRATEGY_THREADS)
#define ROUNDS (TILE_ROWS * TILE_COLS / THREADS)
#define KERNEL_NAME_(NAME, size, kind) tpd_kernel_##NAME##_##size##_##kind
#define KERNEL_NAME(NAME, size, kind) KERNEL_NAME_(NAME, size, kind)

#define TILE_KIND FIXED
#define TILE_IS_FIXED 1
#define TILE_ROWS ((uint32_t)TPD_TILE_DEFAULT)
#define TILE_COLS ((uint32_t)TPD_TILE_DEFAULT)
#define TILE(NAME) TILE_FIXED(PITCH_##NAME(TILE_COLS, ITEMSIZE))
#include "kernels/strategies/every_itemsize.h"
#undef TILE_KIND
#undef TILE_IS_FIXED
#undef TILE_ROWS
#undef TILE_COLS
#undef TILE

#define TILE_KIND ANY
#define TILE_IS_FIXED 0
#define TILE_ROWS (1u << grid.tile_rows_log2)
#define TILE_COLS (1u << grid.tile_cols_log2)
#define TILE(NAME) TILE_ANY(grid.pitch)
#include "kernels/strategies/every_itemsize.h"
#undef TILE_KIND
#undef TILE_IS_FIXED
#undef TILE_ROWS
#undef TILE_COLS
#undef TILE

/* [strategy][log2 of the word][0: the default tile, 1: any tile]; a strategy without tiles has one kernel for both. */
#define KERNELS_0(NAME, size) \
    { KERNEL_POINTER(KERNEL_NAME(NAME, size, FIXED)), KERNEL_POINTER(KERNEL_NAME(NAME, size, FIXED)) }
#define KERNELS_1(NAME, size) \
    { KERNEL_POINTER(KERNEL_NAME(NAME, size, FIXED)), KERNEL_POINTER(KERNEL_NAME(NAME, size, ANY)) }
#define X(NAME, name, TILED, ITEMSIZES, summary)                                                             \
    {KERNELS_##TILED(NAME, 1), KERNELS_##TILED(NAME, 2), KERNELS_##TILED(NAME, 4), KERNELS_##TILED(NAME, 8), \
     KERNELS_##TILED(NAME, 16)},
static const tpd_kernel_pointer tpd_kernels[TPD_STRATEGY_COUNT][5][2] = {
#include "transposed/tbl/strategies.def"
};
#undef X
