/* occupancy.c -- see occupancy.h: a table of limits, the compiler's registers, and the least of four quotients.
 *
 * Limits: CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability" (registers, threads, blocks and
 * shared memory of a multiprocessor; shared memory of a block). Units in which they are handed out, and what the driver
 * reserves: cuda_occupancy.h of the same toolkit, whose rules the functions below follow.
 */
#include "transposed/occupancy.h"

enum { KIB = 1024, WARP = 32, REGISTER_UNIT = 256, PARTITIONS = 4, WORDS = 5 };

static const struct tpd_architecture architectures[] = {
    /* registers, threads, blocks, shared of a multiprocessor, of a block, reserved, unit */
    {75, 65536, 1024, 16, 64 * KIB, 64 * KIB, 0, 256},     {80, 65536, 2048, 32, 164 * KIB, 163 * KIB, KIB, 128},
    {86, 65536, 1536, 16, 100 * KIB, 99 * KIB, KIB, 128},  {89, 65536, 1536, 24, 100 * KIB, 99 * KIB, KIB, 128},
    {90, 65536, 2048, 32, 228 * KIB, 227 * KIB, KIB, 128}, {100, 65536, 2048, 32, 228 * KIB, 227 * KIB, KIB, 128},
    {120, 65536, 1536, 24, 100 * KIB, 99 * KIB, KIB, 128},
};
enum { ARCHITECTURES = sizeof architectures / sizeof architectures[0] };

const struct tpd_architecture *tpd_architecture_at(unsigned index) {
    return index < ARCHITECTURES ? &architectures[index] : NULL;
}

const struct tpd_architecture *tpd_architecture_find(uint32_t capability) {
    const struct tpd_architecture *found = NULL;
    for (unsigned i = 0; i < ARCHITECTURES && architectures[i].capability <= capability; i++)
        if (architectures[i].capability / 10 == capability / 10)
            found = &architectures[i];
    return found;
}

struct measured {
    enum tpd_strategy_id strategy;
    uint32_t kernel, capability;
    uint32_t registers[WORDS];
};
static const struct measured measured[] = {
#define X(NAME, kernel, capability, ...) {TPD_STRATEGY_##NAME, kernel, capability, {__VA_ARGS__}},
#include "kernels/banks/registers.def"
#undef X
};

static uint32_t registers_of(const struct tpd_plan *plan, uint32_t capability) {
    uint32_t column = 0;
    for (uint32_t word = plan->word_bytes; word > 1; word /= 2)
        column++;
    for (unsigned i = 0; i < sizeof measured / sizeof measured[0]; i++)
        if (measured[i].strategy == plan->strategy && measured[i].kernel == plan->kernel && measured[i].capability == capability)
            return measured[i].registers[column];
    return 0;
}

static uint32_t round_up(uint32_t number, uint32_t unit) {
    return (number + unit - 1) / unit * unit;
}

/* Registers lie in four partitions, each with warps of its own, and are handed out to a warp at once. */
static uint32_t blocks_by_registers(uint32_t registers, uint32_t threads, const struct tpd_architecture *architecture) {
    uint32_t of_warp = round_up(registers * WARP, REGISTER_UNIT);
    uint32_t warps = architecture->registers / PARTITIONS / of_warp * PARTITIONS;
    return warps / (threads / WARP);
}

static uint32_t blocks_by_shared(uint64_t bytes, const struct tpd_architecture *architecture) {
    if (bytes > architecture->shared_block_bytes)
        return 0;
    uint32_t taken = round_up((uint32_t)bytes + architecture->shared_reserved_bytes, architecture->shared_unit_bytes);
    return taken != 0 ? architecture->shared_bytes / taken : UINT32_MAX;
}

static struct tpd_occupancy balance(const struct tpd_plan *plan, const struct tpd_architecture *architecture,
                                    uint32_t registers) {
    struct tpd_occupancy found = {.registers = registers, .blocks = architecture->threads / plan->threads, .limit = "threads"};
    const struct {
        uint32_t blocks;
        const char *name;
    } others[] = {
        {architecture->blocks, "blocks"},
        {found.registers != 0 ? blocks_by_registers(found.registers, plan->threads, architecture) : UINT32_MAX, "registers"},
        {blocks_by_shared(plan->shared_bytes, architecture), "shared memory"},
    };
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].blocks < found.blocks) {
            found.blocks = others[i].blocks;
            found.limit = others[i].name;
        }
    found.threads = found.blocks * plan->threads;
    return found;
}

struct tpd_occupancy tpd_occupancy_of(const struct tpd_plan *plan, const struct tpd_architecture *architecture) {
    return balance(plan, architecture, registers_of(plan, architecture->capability));
}

struct tpd_occupancy tpd_occupancy_told(const struct tpd_plan *plan, const struct tpd_architecture *architecture,
                                        uint32_t registers, uint32_t blocks) {
    struct tpd_occupancy found = balance(plan, architecture, registers);
    found.blocks = blocks;
    found.threads = blocks * plan->threads;
    found.by_device = true;
    return found;
}
