/* job_memory.c -- one job's share of the host's budget: set aside in one piece, drawn on by its blocks, given back at its end.
 *
 * A block that the job releases leaves its bytes with the job: they are what its next block is made of, and nobody who came
 * later can take them from under a job that is half done.
 */
#include <stddef.h>

#include "server/engine/engine_internal.h"

enum {
    /* Of text, whose cells nobody has counted yet: itself, 8 bytes a cell, the same again transposed or the answer. This covers
     * cells of 5 letters; the rest is asked for once they are counted. */
    TEXT_TIMES = 4
};

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t plus(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t times(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static struct tpd_job_memory *of(struct tpd_memory *self) {
    return (struct tpd_job_memory *)self; /* its first member */
}

static enum tpd_status acquire(struct tpd_memory *self, size_t bytes, struct tpd_block *block, struct tpd_error *error) {
    struct tpd_job_memory *memory = of(self);
    uint64_t held = plus(memory->held_bytes, bytes), wanted = larger(held, memory->wanted_bytes);
    uint64_t charge = wanted > memory->reserved_bytes ? wanted - memory->reserved_bytes : 0;
    enum tpd_status status = tpd_host_pool_take(memory->engine->pool, bytes, charge, memory->reserved_bytes, block, error);
    if (status != TPD_OK)
        return status;
    memory->held_bytes = held;
    memory->reserved_bytes += charge;
    block->memory = self;
    return TPD_OK;
}

static void release(struct tpd_memory *self, struct tpd_block *block) {
    of(self)->held_bytes -= tpd_host_pool_put(of(self)->engine->pool, block);
}

/* So many bytes in all, as far as the budget could ever give them, are charged with the next block: one visit to the pool. */
static void want(struct tpd_job_memory *memory, uint64_t bytes) {
    uint64_t budget = tpd_host_pool_budget(memory->engine->pool);
    memory->wanted_bytes = larger(memory->wanted_bytes, bytes < budget ? bytes : budget);
}

static enum tpd_status expect(struct tpd_memory *self, uint64_t bytes, const struct tpd_matrix *matrix, bool column_major,
                              struct tpd_error *error) {
    struct tpd_job_memory *memory = of(self);
    const struct tpd_job *job = (const struct tpd_job *)(const void *)((const char *)self - offsetof(struct tpd_job, memory));
    if (matrix == NULL) {
        want(memory, times(bytes, TEXT_TIMES));
        return TPD_OK;
    }
    uint64_t need;
    enum tpd_status status = tpd_engine_check_need(memory->engine, job, matrix, column_major, &need, error);
    if (status != TPD_OK)
        return status;
    if (tpd_codec_at(job->format_out)->text) /* beside the items: their text, and at times the smaller block that it outgrew */
        need = larger(need, plus(bytes, times(tpd_matrix_items(matrix), 2 * (uint64_t)matrix->itemsize + 11)));
    want(memory, need);
    return TPD_OK;
}

void tpd_job_memory_expect_cells(struct tpd_job *job) {
    struct tpd_job_memory *memory = &job->memory;
    if (memory->engine == NULL)
        return;
    const struct tpd_matrix *matrix = &job->payload.matrix;
    uint64_t items = tpd_matrix_items(matrix), held = memory->held_bytes;
    if (tpd_codec_at(job->format_out)->takes(&job->payload)) {
        /* The cells in their new order, then the answer's text beside them. */
        uint64_t moved = tpd_matrix_is_relabel(matrix) ? 0 : times(items, matrix->itemsize);
        want(memory, plus(held, larger(moved, job->payload.text.bytes)));
        return;
    }
    /* Items beside the cells, then the items alone, before and after they are moved. Which they are may show only when they are
     * read: of 8 bytes then, or of one. */
    bool known = job->encode.has_dtype || matrix->dtype != TPD_DTYPE_OPAQUE;
    uint64_t itemsize = known ? tpd_dtype_itemsize(job->encode.has_dtype ? job->encode.dtype : matrix->dtype) : 8;
    uint64_t bytes = times(items, itemsize);
    want(memory, larger(plus(held, bytes), times(bytes, 2)));
}

struct tpd_memory *tpd_engine_job_memory(struct tpd_engine *engine, struct tpd_job *job) {
    job->memory.memory = (struct tpd_memory){acquire, release, expect};
    job->memory.engine = engine;
    return &job->memory.memory;
}
