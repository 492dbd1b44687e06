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
 * Strategies with tiles of their own (OWN in strategies.def) have a kernel for each of their shapes (TILE_IS_OWN, SHAPE), and:
 *   KERNEL_OWN(NAME) { }        as KERNEL, with THREADS_<NAME>(itemsize, shape) threads at most, and registers few enough for
 *                               RESIDENT_<NAME>(itemsize, shape) blocks on a multiprocessor
 *   TILE_VECTORS();             the block's shared memory, as vectors of 16 bytes and as items
 *   GLOBAL_LOAD16(active, index), GLOBAL_STORE16(active, index, vector), SHARED_LOAD16(place), SHARED_STORE16(place, vector)
 *                               a struct tpd_vector (vectors.h) from item `index` on, at a multiple of 16 bytes; `place` counts
 *                               vectors
 *   SHARED_LOAD_HALF(place)     the first 8 bytes of one, the rest of it zeros
 *   GLOBAL_LOAD4(active, index), GLOBAL_STORE4(active, index, unit), SHARED_LOAD4(place), SHARED_STORE4(place, unit)
 *                               the same with 4 bytes, a uint32_t, of items of 1, 2 or 4 bytes
 *   GLOBAL_LOAD8(active, index) the same with 8 bytes, a uint64_t, of items of 1, 2, 4 or 8 bytes
 *
 * Outside a dialect (KERNEL undefined) a header gives its layout alone: PITCH_<NAME>(cols, itemsize) and PLACE_<NAME>(row, col);
 * OWN ones SHAPES_<NAME> (how many, a literal), TILE_ROWS_<NAME>, TILE_COLS_<NAME> and THREADS_<NAME>(itemsize, shape), for the
 * planner in own_tiles.c, and RESIDENT_<NAME>.
 */
#define THREADS ((uint32_t)TPD_STRATEGY_THREADS)
#define ROUNDS (TILE_ROWS * TILE_COLS / THREADS)
#define KERNEL_NAME_(NAME, size, kind) tpd_kernel_##NAME##_##size##_##kind
#define KERNEL_NAME(NAME, size, kind) KERNEL_NAME_(NAME, size, kind)

#define TILE_IS_OWN 0
#define TILE_IS_KNOB 1
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
#undef TILE_ROWS
#undef TILE_COLS
#undef TILE
#undef TILE_IS_KNOB
#undef TILE_IS_OWN

#define TILE_IS_KNOB 0
#define TILE_IS_OWN 1
#define TILE_KIND OWN_0
#define SHAPE 0
#include "kernels/strategies/every_itemsize.h"
#undef TILE_KIND
#undef SHAPE
#define TILE_KIND OWN_1
#define SHAPE 1
#include "kernels/strategies/every_itemsize.h"
#undef TILE_KIND
#undef SHAPE
#define TILE_KIND OWN_2
#define SHAPE 2
#include "kernels/strategies/every_itemsize.h"
#undef TILE_KIND
#undef SHAPE
#define TILE_KIND OWN_3
#define SHAPE 3
#include "kernels/strategies/every_itemsize.h"
#undef TILE_KIND
#undef SHAPE

/* [strategy][log2 of the word][plan->kernel]. */
#define KERNEL_AT(NAME, size, kind) KERNEL_POINTER(KERNEL_NAME(NAME, size, kind))
#define KERNELS_NONE(NAME, size) \
    { KERNEL_AT(NAME, size, FIXED) }
#define KERNELS_KNOB(NAME, size) \
    { KERNEL_AT(NAME, size, FIXED), KERNEL_AT(NAME, size, ANY) }
#define KERNELS_OWN_2(NAME, size) \
    { KERNEL_AT(NAME, size, OWN_0), KERNEL_AT(NAME, size, OWN_1) }
#define KERNELS_OWN_4(NAME, size) \
    { KERNEL_AT(NAME, size, OWN_0), KERNEL_AT(NAME, size, OWN_1), KERNEL_AT(NAME, size, OWN_2), KERNEL_AT(NAME, size, OWN_3) }
#define KERNELS_OWN__(NAME, size, shapes) KERNELS_OWN_##shapes(NAME, size)
#define KERNELS_OWN_(NAME, size, shapes) KERNELS_OWN__(NAME, size, shapes)
#define KERNELS_OWN(NAME, size) KERNELS_OWN_(NAME, size, SHAPES_##NAME)
#define X(NAME, name, TILES, ITEMSIZES, summary)                                                             \
    {KERNELS_##TILES(NAME, 1), KERNELS_##TILES(NAME, 2), KERNELS_##TILES(NAME, 4), KERNELS_##TILES(NAME, 8), \
     KERNELS_##TILES(NAME, 16)},
static const tpd_kernel_pointer tpd_kernels[TPD_STRATEGY_COUNT][5][TPD_KERNELS_MOST] = {
#include "transposed/tbl/strategies.def"
};
#undef X
