/* block.h -- one big piece of memory that a budget knows of: the input, the output, an index.
 *
 * A block has `headroom` bytes in front of `data`, so that a codec can put a file header before the items
 * and answer with one contiguous run. The source (struct tpd_memory) counts capacity against its budget
 * when it gives a block and takes it back when the block is released: nobody else counts. One that is a job's own (engine.h)
 * sets aside what the job will need once that is known, and belongs to one thread at a time as the job does.
 * Owns: who holds the struct owns the memory; move it by assigning and emptying the old one.
 * Threads: one at a time; a struct tpd_memory that is nobody's own is safe from any thread.
 */
#ifndef TRANSPOSED_BLOCK_H
#define TRANSPOSED_BLOCK_H

#include "transposed/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TPD_BLOCK_HEADROOM = 256, /* bytes before data; keeps data on a 256-byte boundary */
    TPD_BLOCK_ALIGNMENT = 256 /* bytes: a GPU's largest access, and four cache lines */
};

struct tpd_memory;

struct tpd_block {
    unsigned char *data;   /* NULL: no block */
    size_t bytes;          /* in use */
    size_t capacity_bytes; /* from data to the end */
    bool pinned;           /* page-locked: a device copies from it at full speed */
    struct tpd_memory *memory;
    void *origin; /* memory's own */
};

/* Where blocks come from. Fails with TPD_MEMORY_FULL (budget), TPD_TOO_LARGE (could never be given), TPD_NO_MEMORY. */
struct tpd_memory {
    enum tpd_status (*acquire)(struct tpd_memory *self, size_t bytes, struct tpd_block *block, struct tpd_error *error);
    void (*release)(struct tpd_memory *self, struct tpd_block *block);
    /* NULL: nothing is set aside. See tpd_block_expect(). */
    enum tpd_status (*expect)(struct tpd_memory *self, uint64_t bytes, const struct tpd_matrix *matrix, bool column_major,
                              struct tpd_error *error);
};

/* Says what is about to be acquired, so that the answer's memory is set aside together with the input's: the items of `matrix`,
 * or text of `bytes` of which no more is known (matrix NULL). A no-op for a memory that sets nothing aside.
 * The next acquire takes it all or fails. Fails with whatever makes that matrix impossible for the job (tpd_engine_check). */
enum tpd_status tpd_block_expect(struct tpd_memory *memory, uint64_t bytes, const struct tpd_matrix *matrix, bool column_major,
                                 struct tpd_error *error) TPD_CHECKED;

/* A block with capacity_bytes >= bytes and block->bytes == bytes; contents undefined. Returns owned. */
enum tpd_status tpd_block_acquire(struct tpd_memory *memory, size_t bytes, struct tpd_block *block,
                                  struct tpd_error *error) TPD_CHECKED;
/* Makes room for `bytes` and keeps what it holds: a no-op while it fits, else a new block, a copy and a release.
 * On failure the block is as it was. */
enum tpd_status tpd_block_grow(struct tpd_block *block, size_t bytes, struct tpd_error *error) TPD_CHECKED;
/* Gives it back and empties the struct; an empty one is ignored. */
void tpd_block_release(struct tpd_block *block);

/* Blocks straight from the heap, without a budget: for the command line and for tests. */
struct tpd_memory *tpd_memory_heap(void);

#ifdef __cplusplus
}
#endif

#endif
