/* block.c -- what every source of blocks shares, and the source without a budget. */
#include "transposed/block.h"

#include <inttypes.h>
#include <string.h>

#include "transposed/alloc.h"

enum tpd_status tpd_block_expect(struct tpd_memory *memory, uint64_t bytes, const struct tpd_matrix *matrix, bool column_major,
                                 struct tpd_error *error) {
    return memory->expect != NULL ? memory->expect(memory, bytes, matrix, column_major, error) : TPD_OK;
}

enum tpd_status tpd_block_acquire(struct tpd_memory *memory, size_t bytes, struct tpd_block *block, struct tpd_error *error) {
    memset(block, 0, sizeof *block);
    return memory->acquire(memory, bytes, block, error);
}

enum tpd_status tpd_block_grow(struct tpd_block *block, size_t bytes, struct tpd_error *error) {
    if (bytes <= block->capacity_bytes)
        return TPD_OK;
    struct tpd_block larger;
    enum tpd_status status = tpd_block_acquire(block->memory, bytes, &larger, error);
    if (status != TPD_OK)
        return status;
    memcpy(larger.data - TPD_BLOCK_HEADROOM, block->data - TPD_BLOCK_HEADROOM, TPD_BLOCK_HEADROOM + block->bytes);
    larger.bytes = block->bytes;
    tpd_block_release(block);
    *block = larger;
    return TPD_OK;
}

void tpd_block_release(struct tpd_block *block) {
    if (block->data != NULL)
        block->memory->release(block->memory, block);
    memset(block, 0, sizeof *block);
}

static enum tpd_status heap_acquire(struct tpd_memory *self, size_t bytes, struct tpd_block *block, struct tpd_error *error) {
    size_t whole;
    unsigned char *origin = NULL;
    if (!__builtin_add_overflow(bytes, (size_t)(TPD_BLOCK_HEADROOM + TPD_BLOCK_ALIGNMENT), &whole))
        origin = tpd_alloc(whole);
    if (origin == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for %zu bytes of matrix", bytes);
    uintptr_t data = ((uintptr_t)origin + TPD_BLOCK_HEADROOM + TPD_BLOCK_ALIGNMENT - 1) & ~(uintptr_t)(TPD_BLOCK_ALIGNMENT - 1);
    block->data = origin + (data - (uintptr_t)origin);
    block->bytes = bytes;
    block->capacity_bytes = bytes;
    block->memory = self;
    block->origin = origin;
    return TPD_OK;
}

static void heap_release(struct tpd_memory *self, struct tpd_block *block) {
    (void)self;
    tpd_free(block->origin);
}

struct tpd_memory *tpd_memory_heap(void) {
    static struct tpd_memory heap = {heap_acquire, heap_release, NULL};
    return &heap;
}
