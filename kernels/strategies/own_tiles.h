/* own_tiles.h -- the planners of the strategies with tiles of their own, one a row with OWN in strategies.def.
 *
 * The plan comes with strategy, variant, matrix, word_bytes and words filled in; the planner fills in the rest. Shared memory is
 * at most TPD_SHARED_OWN_MOST: no device refuses it. Fails with TPD_UNSUPPORTED: a shape that the strategy does not take; says
 * what it would take.
 */
#ifndef TPD_OWN_TILES_H
#define TPD_OWN_TILES_H

#include "kernels/strategies/geometry.h"

enum { TPD_FEW_MOST = 31 }; /* rows or columns that `narrow` takes */

typedef enum tpd_status tpd_own_tiles(struct tpd_plan *plan, struct tpd_error *error);

static inline uint64_t tpd_divide_up(uint64_t number, uint64_t by) {
    return number / by + (number % by != 0);
}

/* tpd_strategy_variants() of a strategy with tiles of its own. */
uint32_t tpd_own_tiles_variants(enum tpd_strategy_id id);

/* Are the rows of the input, and those of the output, whole vectors of 16 bytes? */
bool tpd_is_in_vectors(const struct tpd_matrix *matrix);

#define OWN_TILES_NONE(NAME)
#define OWN_TILES_KNOB(NAME)
#define OWN_TILES_OWN(NAME) tpd_own_tiles tpd_own_tiles_##NAME;
#define X(NAME, name, TILES, ITEMSIZES, summary) OWN_TILES_##TILES(NAME)
#include "transposed/tbl/strategies.def"
#undef X

#endif
