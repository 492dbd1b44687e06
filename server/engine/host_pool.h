/* host_pool.h -- the blocks that hold matrices: one budget, recycled by size class.
 *
 * Owns: every block it ever gave, used or idle. All blocks must be back before destroy.
 * Threads: any; the lock is never held while memory is mapped, pinned or freed.
 * Ceiling: the bytes asked for by held blocks and those set aside stay within the budget, and so do held blocks together with
 *   the idle ones.
 *   Size classes are 8 a doubling, so a block's unused tail is at most 1/8 of it (and, when mapped, never touched).
 */
#ifndef TPD_ENGINE_HOST_POOL_H
#define TPD_ENGINE_HOST_POOL_H

#include "transposed/backend.h"
#include "transposed/block.h"

struct tpd_host_pool;

struct tpd_host_pool_counts {
    uint64_t budget_bytes;
    uint64_t used_bytes; /* charged: in blocks or set aside */
    uint64_t cached_bytes, pinned_bytes;
};

/* pinning: the back end whose host_alloc() gives page-locked memory, or NULL. Fails with TPD_NO_MEMORY. */
enum tpd_status tpd_host_pool_create(uint64_t budget_bytes, const struct tpd_backend *pinning, struct tpd_host_pool **pool,
                                     struct tpd_error *error) TPD_CHECKED;
/* Whether mapped blocks ask for huge pages (they do unless told), from the next one made on. Before the first thread. */
void tpd_host_pool_huge_pages(struct tpd_host_pool *pool, bool wanted);
void tpd_host_pool_destroy(struct tpd_host_pool *pool); /* NULL is ignored */
struct tpd_memory *tpd_host_pool_memory(struct tpd_host_pool *pool);
uint64_t tpd_host_pool_budget(const struct tpd_host_pool *pool);
/* The books of one who sets bytes aside (own_bytes: those that it has already). take gives a block for a charge of charge_bytes:
 * 0 when all of it is set aside, more than the block's when more is to be. put takes it back, leaves it charged and answers what
 * it was charged with; unreserve ends the charge. Fails with TPD_TOO_LARGE when own_bytes and the new charge pass the budget,
 * TPD_MEMORY_FULL when only others' stand in the way. */
void tpd_host_pool_unreserve(struct tpd_host_pool *pool, uint64_t charge_bytes);
enum tpd_status tpd_host_pool_take(struct tpd_host_pool *pool, size_t bytes, uint64_t charge_bytes, uint64_t own_bytes,
                                   struct tpd_block *block, struct tpd_error *error) TPD_CHECKED;
size_t tpd_host_pool_put(struct tpd_host_pool *pool, struct tpd_block *block);
void tpd_host_pool_counts(struct tpd_host_pool *pool, struct tpd_host_pool_counts *counts);

/* Half of the machine's memory, or of what this process's control group may use when that is less. */
uint64_t tpd_host_memory_default(void);

#endif
