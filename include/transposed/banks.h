/* banks.h -- the bank model: from the addresses of a warp's request to the work it makes.
 *
 * Shared memory has 32 banks of bank_bytes; a request is served in phases (1 up to 4 bytes a lane, 2 of half-warps
 * at 8, 4 of quarter-warps at 16) and takes as many wavefronts as, phase by phase, the busiest bank has distinct
 * words. Loads of 8 and 16 bytes merge phases in pairs when every lane's address equals its neighbour's (lane^1) or
 * every lane's equals lane^2's; stores never do. ldmatrix and stmatrix have a phase a matrix, of its 8 rows of 16 bytes.
 * Global memory moves sectors of 32 bytes.
 * Measured on an H200 against Nsight Compute's counters: tests/gpu/RESULTS.md.
 * Pure: no allocation, no I/O.
 */
#ifndef TRANSPOSED_BANKS_H
#define TRANSPOSED_BANKS_H

#include "transposed/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TPD_WARP = 32, TPD_BANKS = 32, TPD_SECTOR_BYTES = 32 };
enum tpd_op { TPD_OP_LOAD, TPD_OP_STORE, TPD_OP_LDMATRIX, TPD_OP_STMATRIX, TPD_OP_COUNT };

/* One warp request. */
struct tpd_request {
    enum tpd_op op;
    uint32_t width;             /* bytes a lane: 1, 2, 4, 8, 16; not looked at for the matrix ops */
    uint32_t active;            /* bit n: lane n takes part */
    uint64_t address[TPD_WARP]; /* bytes; a lane that is not active is not looked at */
    uint32_t
        matrices; /* 1, 2 or 4 for the matrix ops: lanes 8m to 8m + 7 give the rows of matrix m, the others are not looked at */
};

struct tpd_bank_result {
    uint32_t phases; /* after merging */
    uint32_t wavefronts;
    uint32_t ideal;  /* wavefronts without a conflict: the phases that have an active lane */
    uint32_t excess; /* wavefronts - ideal: what the profiler calls bank conflicts */
    uint32_t degree; /* worst n-way: distinct words in the busiest bank of the busiest phase */
    uint32_t busiest_bank;
    uint32_t lanes; /* bit n: lane n meets others in that bank in that phase */
};

/* "load", "store", "ldmatrix", "stmatrix". */
const char *tpd_op_name(enum tpd_op op);
/* TPD_OP_COUNT when no op has that name. */
enum tpd_op tpd_op_find(const char *name);

/* bank_bytes: 4, or 8 for the mode that compute capability 3.x had.
 * Fails with TPD_UNSUPPORTED: a width that isn't one of the five, a number of matrices that isn't one of the three, a
 * misaligned address or a matrix row without one (names the lane). */
enum tpd_status tpd_banks_shared(const struct tpd_request *request, uint32_t bank_bytes, struct tpd_bank_result *result,
                                 struct tpd_error *error) TPD_CHECKED;

/* What a bank moves in one wavefront, drawn as if each served its words in the order of the lanes that ask first. How many
 * there are is measured; in which order hardware serves them is not known and costs the same. */
struct tpd_bank_wavefront {
    uint32_t phase;
    uint32_t lanes[TPD_BANKS]; /* bit n: lane n is served by this bank */
};
struct tpd_bank_schedule {
    struct tpd_bank_result result;
    struct tpd_bank_wavefront wavefront[TPD_WARP]; /* result.wavefronts of them: an active lane has one word a bank at most */
};
enum tpd_status tpd_banks_schedule(const struct tpd_request *request, uint32_t bank_bytes, struct tpd_bank_schedule *schedule,
                                   struct tpd_error *error) TPD_CHECKED;

/* Distinct 32-byte sectors, and the fewest that the active bytes could lie in. Refuses the matrix ops, which know shared memory
 * alone. */
enum tpd_status tpd_banks_global(const struct tpd_request *request, uint32_t *sectors, uint32_t *ideal,
                                 struct tpd_error *error) TPD_CHECKED;

/* Sums over warp requests. */
struct tpd_shared_sum {
    uint64_t requests, wavefronts, ideal, excess;
    uint32_t degree; /* the worst */
};
struct tpd_global_sum {
    uint64_t requests, sectors, ideal;
};
/* Adds one request, of load or store, to the sum of its op; one without an active lane is none. Fails as the models do. */
enum tpd_status tpd_banks_add_shared(const struct tpd_request *request, uint32_t bank_bytes, struct tpd_shared_sum sums[2],
                                     struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_banks_add_global(const struct tpd_request *request, struct tpd_global_sum sums[2],
                                     struct tpd_error *error) TPD_CHECKED;

enum {
    TPD_BANKS_BLOCKS_MOST = 256, /* half a second for the largest tile */
    /* First, last and two between: enough for averages where every block has a whole tile, as all blocks then do the same. A
     * tenth of a millisecond with the default tile. */
    TPD_BANKS_BLOCKS_FEW = 4
};
struct tpd_figures {
    struct tpd_plan plan;
    uint64_t blocks;                 /* that were run */
    struct tpd_shared_sum shared[2]; /* by enum tpd_op */
    struct tpd_global_sum global[2];
};

/* Runs the strategy's own kernel lane by lane over the blocks of that shape, addresses only, and adds up every request.
 * Shapes of more than TPD_BANKS_BLOCKS_MOST blocks are sampled evenly (first and last block included); sums are those of
 * the sample. Requests without an active lane are none.
 * Fails as tpd_strategy_plan() does; TPD_NO_MEMORY for the runner's scratch. */
enum tpd_status tpd_banks_of_plan(const struct tpd_plan *plan, struct tpd_figures *figures, struct tpd_error *error) TPD_CHECKED;
/* The same over at most `blocks_most` blocks, at least 1. */
enum tpd_status tpd_banks_of_sample(const struct tpd_plan *plan, uint64_t blocks_most, struct tpd_figures *figures,
                                    struct tpd_error *error) TPD_CHECKED;
/* The same with banks of 4 or 8 bytes. */
enum tpd_status tpd_banks_of_plan_with(const struct tpd_plan *plan, uint32_t bank_bytes, uint64_t blocks_most,
                                       struct tpd_figures *figures, struct tpd_error *error) TPD_CHECKED;

#ifdef __cplusplus
}
#endif

#endif
