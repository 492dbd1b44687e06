/* host_pool.h -- the blocks that hold matrices: one budget, recycled by size class.
 *
 * Owns: every block it ever gave, used or idle. All blocks must be back before destroy.
 * Threads: any; the lock is never held while memory is mapped, pinned or freed.
 * Ceiling: the bytes asked for by held blocks stay within the budget, and so do they together with the idle ones.
 *   Size classes are 8 a doubling, so a block's unused tail is at most 1/8 of it (and, when mapped, never touched).
 */
#ifndef TPD_ENGINE_HOST_POOL_H
#define TPD_ENGINE_HOST_POOL_H

#include "transposed/backend.h"
#include "transposed/block.h"

struct tpd_host_pool;

struct tpd_host_pool_counts {
    uint64_t budget_bytes, used_bytes, cached_bytes, pinned_bytes;
};

/* pinning: the back end whose host_alloc() gives page-locked memory, or NULL. Fails with TPD_NO_MEMORY. */
enum tpd_status tpd_host_pool_create(uint64_t budget_bytes, const struct tpd_backend *pinning, struct tpd_host_pool **pool,
                                     struct tpd_error *error) TPD_CHECKED;
void tpd_host_pool_destroy(struct tpd_host_pool *pool); /* NULL is ignored */
struct tpd_memory *tpd_host_pool_memory(struct tpd_host_pool *pool);
void tpd_host_pool_counts(struct tpd_host_pool *pool, struct tpd_host_pool_counts *counts);

/* Half of the machine's memory, or of what this process's control group may use when that is less. */
uint64_t tpd_host_memory_default(void);

#endif
