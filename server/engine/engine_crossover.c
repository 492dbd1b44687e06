/* engine_crossover.c -- from which size on a GPU's round trip beats the CPU, measured on this machine, by item size. */
#include <string.h>

#include "server/engine/engine_internal.h"
#include "transposed/clock.h"

enum {
    LEAST_BYTES = 4096,
    STEPS = 9,         /* 4 KiB, 16 KiB ... 256 MiB: where a GPU wins by little over many cores, it does only past every cache */
    REPEATS = 3,       /* the best of these, after one that warms up */
    LONG_NS = 3000000, /* what lasts so long needs no more than one */
    BUDGET_SHARE = 16  /* of the host budget, at most, for the largest pair of blocks */
};

/* Of one size: what a run took on either side. */
struct pair {
    uint64_t bytes, gpu_ns, cpu_ns;
};

struct race {
    struct tpd_engine *engine;
    struct tpd_slot *gpu, *cpu;
    uint64_t deadline_ns;
    uint32_t steps; /* that the host's memory allows */
    bool failed;
};

/* UINT64_MAX when the device fails. */
static uint64_t best_ns(struct race *race, struct tpd_slot *slot, const struct tpd_task *task) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i <= REPEATS; i++) {
        struct tpd_outcome outcome;
        uint64_t start_ns = tpd_clock_ns();
        enum tpd_status status = slot->backend->run(slot->device, task, &outcome, NULL);
        uint64_t taken_ns = tpd_clock_ns() - start_ns;
        if (status == TPD_DEVICE_LOST)
            atomic_store(&slot->lost, true);
        if (status != TPD_OK) {
            race->failed = true;
            return UINT64_MAX;
        }
        if (i > 0 && taken_ns < best)
            best = taken_ns;
        if (i > 0 && taken_ns > LONG_NS)
            break;
    }
    return best;
}

/* A square, about. */
static struct tpd_matrix matrix_of(uint32_t itemsize, uint32_t step) {
    uint64_t side = 1, items = ((uint64_t)LEAST_BYTES << 2 * step) / itemsize;
    while (4 * side * side <= items)
        side *= 2;
    return (struct tpd_matrix){.rows = side, .cols = items / side, .batch = 1, .itemsize = itemsize, .dtype = TPD_DTYPE_OPAQUE};
}

/* Blocks from the pool, so that pinned memory is used where a request would use it. False: no memory for that size. */
static bool compare(struct race *race, uint32_t itemsize, uint32_t step, struct pair *pair) {
    struct tpd_memory *memory = tpd_host_pool_memory(race->engine->pool);
    struct tpd_block in = {.data = NULL}, out = {.data = NULL};
    struct tpd_task task = {.matrix = matrix_of(itemsize, step), .strategy = TPD_STRATEGY_AUTO};
    const size_t bytes = (size_t)(task.matrix.rows * task.matrix.cols * itemsize);
    bool measured =
        tpd_block_acquire(memory, bytes, &in, NULL) == TPD_OK && tpd_block_acquire(memory, bytes, &out, NULL) == TPD_OK;
    if (measured) {
        if (!(in.pinned && out.pinned)) { /* page-locked memory is there; other pages come when they are first written */
            memset(in.data, 1, bytes);
            memset(out.data, 2, bytes);
        }
        task.in = in.data;
        task.out = out.data;
        task.pinned = in.pinned && out.pinned;
        *pair = (struct pair){.bytes = bytes, .gpu_ns = best_ns(race, race->gpu, &task)};
        pair->cpu_ns = race->failed ? 0 : best_ns(race, race->cpu, &task);
    }
    tpd_block_release(&in);
    tpd_block_release(&out);
    return measured && !race->failed;
}

/* Where the lines through both pairs cross: the CPU wins in the first, the GPU in the second. */
static uint64_t crossing(const struct pair *lost, const struct pair *won) {
    const double before = (double)lost->gpu_ns - (double)lost->cpu_ns, after = (double)won->cpu_ns - (double)won->gpu_ns;
    const double share = before + after > 0 ? before / (before + after) : 1;
    return lost->bytes + (uint64_t)((double)(won->bytes - lost->bytes) * share);
}

/* The first step that the GPU wins, by halves: who wins one wins all that are larger. Begins where the item size before ended,
 * for large steps take long and the answers are near one another. False: the time was up, or a run failed. */
static bool search(struct race *race, uint32_t itemsize, uint32_t *guess, uint64_t *crossover_bytes) {
    struct pair lost = {.bytes = 0}, won = {.bytes = 0};
    uint32_t low = 0, high = race->steps; /* the answer is low ... high; high: none */
    uint32_t step = *guess < race->steps ? *guess : race->steps / 2;
    while (low < high) {
        struct pair pair;
        if (tpd_clock_ns() >= race->deadline_ns || !compare(race, itemsize, step, &pair)) {
            *crossover_bytes = won.bytes; /* it may win below as well */
            return false;
        }
        if (pair.gpu_ns < pair.cpu_ns) {
            won = pair;
            high = step;
        } else {
            lost = pair;
            low = step + 1;
        }
        /* A guess that was right is confirmed by its neighbour. */
        const bool near = step == *guess && low < high;
        step = near ? (high == step ? high - 1 : low) : low + (high - low) / 2;
    }
    *guess = high < race->steps ? high : race->steps - 1;
    *crossover_bytes = won.bytes == 0 ? 0 : lost.bytes == 0 ? won.bytes : crossing(&lost, &won);
    return true;
}

enum tpd_crossover tpd_engine_measure_crossover(struct tpd_engine *engine, struct tpd_slot *gpu, struct tpd_slot *cpu,
                                                uint64_t budget_ns, uint64_t crossover_bytes[TPD_TUNING_SIZES]) {
    /* Items of 4 bytes first, then of 8, 2, 1, 16, others: each begins where it ended, or has its answer once time is up. */
    static const uint32_t order[TPD_TUNING_SIZES] = {2, 3, 1, 0, 4, 5};
    struct tpd_host_pool_counts counts;
    tpd_host_pool_counts(engine->pool, &counts);
    struct race race = {.engine = engine, .gpu = gpu, .cpu = cpu, .deadline_ns = tpd_clock_ns() + budget_ns};
    while (race.steps < STEPS && 2 * ((uint64_t)LEAST_BYTES << 2 * race.steps) <= counts.budget_bytes / BUDGET_SHARE)
        race.steps++;
    uint32_t guess = race.steps / 2;
    uint64_t first = 0;
    bool is_whole = true;
    for (uint32_t i = 0; i < TPD_TUNING_SIZES && !race.failed; i++) {
        uint64_t *bytes = &crossover_bytes[order[i]];
        *bytes = 0;
        if (!search(&race, tpd_tuning_itemsize(order[i]), &guess, bytes)) {
            *bytes = *bytes != 0 ? *bytes : first;
            is_whole = false;
        }
        first = i == 0 ? *bytes : first;
    }
    if (!race.failed)
        return is_whole ? TPD_CROSSOVER_WHOLE : TPD_CROSSOVER_PARTLY;
    memset(crossover_bytes, 0, TPD_TUNING_SIZES * sizeof *crossover_bytes);
    return TPD_CROSSOVER_FAILED;
}

uint64_t tpd_engine_crossover_of(const struct tpd_engine *engine, const struct tpd_matrix *matrix) {
    return engine->crossover_bytes[tpd_tuning_size(matrix->itemsize)];
}

uint64_t tpd_engine_crossover_least(const struct tpd_engine *engine) {
    uint64_t least = 0;
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
        if (engine->crossover_bytes[size] != 0 && (least == 0 || engine->crossover_bytes[size] < least))
            least = engine->crossover_bytes[size];
    return least;
}
