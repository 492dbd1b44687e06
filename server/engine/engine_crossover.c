/* engine_crossover.c -- from which size on a GPU's round trip beats the CPU, measured on this machine at the start. */
#include <string.h>

#include "server/engine/engine_internal.h"
#include "transposed/clock.h"

enum {
    LEAST_SIDE = 32,       /* of a float32 square: 4 KiB */
    MOST_SIDE = 8192,      /* 256 MiB: where a GPU wins by little over many cores, it does only past every cache */
    REPEATS = 3,           /* the best of these, after one that warms up */
    BUDGET_NS = 600000000, /* no new size after that: the start may not wait longer */
    BUDGET_SHARE = 16      /* of the host budget, at most, for the largest pair of blocks */
};

/* UINT64_MAX when the device fails. */
static uint64_t best_ns(struct tpd_slot *slot, const struct tpd_task *task) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i <= REPEATS; i++) {
        struct tpd_outcome outcome;
        uint64_t start_ns = tpd_clock_ns();
        enum tpd_status status = slot->backend->run(slot->device, task, &outcome, NULL);
        uint64_t taken_ns = tpd_clock_ns() - start_ns;
        if (status == TPD_DEVICE_LOST)
            atomic_store(&slot->lost, true);
        if (status != TPD_OK)
            return UINT64_MAX;
        if (i > 0 && taken_ns < best)
            best = taken_ns;
    }
    return best;
}

/* Blocks from the pool, so that pinned memory is used where a request would use it. False: no memory for that size. */
static bool compare(struct tpd_engine *engine, struct tpd_slot *gpu, struct tpd_slot *cpu, uint64_t side, bool *gpu_wins) {
    struct tpd_memory *memory = tpd_host_pool_memory(engine->pool);
    struct tpd_block in = {.data = NULL}, out = {.data = NULL};
    size_t bytes = (size_t)(side * side * 4);
    bool measured =
        tpd_block_acquire(memory, bytes, &in, NULL) == TPD_OK && tpd_block_acquire(memory, bytes, &out, NULL) == TPD_OK;
    if (measured) {
        memset(in.data, 1, bytes);
        memset(out.data, 2, bytes);
        struct tpd_task task = {
            .matrix = {.rows = side, .cols = side, .batch = 1, .itemsize = 4, .dtype = TPD_DTYPE_FLOAT32},
            .in = in.data,
            .out = out.data,
            .pinned = in.pinned && out.pinned,
            .strategy = TPD_STRATEGY_AUTO,
        };
        uint64_t gpu_ns = best_ns(gpu, &task);
        *gpu_wins = gpu_ns < best_ns(cpu, &task);
    }
    tpd_block_release(&in);
    tpd_block_release(&out);
    return measured;
}

uint64_t tpd_engine_crossover(struct tpd_engine *engine) {
    struct tpd_slot *gpu = tpd_engine_first(engine, TPD_ROLE_ACCELERATOR), *cpu = tpd_engine_first(engine, TPD_ROLE_HOST);
    if (gpu == NULL)
        return 0;
    struct tpd_host_pool_counts counts;
    tpd_host_pool_counts(engine->pool, &counts);
    uint64_t crossover = 0, start_ns = tpd_clock_ns();
    for (uint64_t side = LEAST_SIDE; side <= MOST_SIDE && tpd_clock_ns() - start_ns < BUDGET_NS; side *= 2) {
        bool gpu_wins = false;
        uint64_t bytes = side * side * 4;
        if (2 * bytes > counts.budget_bytes / BUDGET_SHARE || !compare(engine, gpu, cpu, side, &gpu_wins))
            break;
        /* The smallest size from which on it always won. */
        if (!gpu_wins)
            crossover = 0;
        else if (crossover == 0)
            crossover = bytes;
    }
    return tpd_slot_is_ready(gpu) ? crossover : 0;
}
