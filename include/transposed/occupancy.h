/* occupancy.h -- how many blocks of a plan a multiprocessor holds at once, by the limits of its architecture.
 *
 * The third of the three that a tile balances: coalescing, banks and this. A GPU need not be there: the limits are NVIDIA's
 * published ones and the registers are those that the compiler reported (kernels/banks/registers.def). Shared memory counts
 * with the largest carve-out, as the driver gives it to a kernel that gains by it.
 * Pure: no allocation, no I/O.
 */
#ifndef TRANSPOSED_OCCUPANCY_H
#define TRANSPOSED_OCCUPANCY_H

#include "transposed/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tpd_architecture {
    uint32_t capability;            /* compute capability, major * 10 + minor */
    uint32_t registers;             /* a multiprocessor, 32 bits each */
    uint32_t threads, blocks;       /* that a multiprocessor holds at most */
    uint32_t shared_bytes;          /* a multiprocessor */
    uint32_t shared_block_bytes;    /* a block at most, after opting in */
    uint32_t shared_reserved_bytes; /* that the driver takes beside each block's own */
    uint32_t shared_unit_bytes;     /* shared memory is handed out in these */
};
enum { TPD_ARCHITECTURE_DEFAULT = 90 };

/* NULL past the last; they come in rising order. */
const struct tpd_architecture *tpd_architecture_at(unsigned index);
/* Of exactly that capability, or of the closest one below it within its major number; NULL when there is none. */
const struct tpd_architecture *tpd_architecture_find(uint32_t capability);

struct tpd_occupancy {
    uint32_t registers; /* a thread; 0: not measured for this strategy, and then not counted as a limit */
    uint32_t blocks;    /* resident on one multiprocessor; 0: a block does not fit */
    uint32_t threads;   /* blocks x the plan's */
    const char *limit;  /* what allows no more: "threads", "blocks", "registers" or "shared memory" */
    bool by_device;     /* the driver of a GPU that is here said so, not the tables */
};
struct tpd_occupancy tpd_occupancy_of(const struct tpd_plan *plan, const struct tpd_architecture *architecture);
/* The same where a driver has told registers and blocks; the architecture then only says what the limit is. */
struct tpd_occupancy tpd_occupancy_told(const struct tpd_plan *plan, const struct tpd_architecture *architecture,
                                        uint32_t registers, uint32_t blocks);

#ifdef __cplusplus
}
#endif

#endif
