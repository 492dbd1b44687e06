/* test_occupancy.c -- resident blocks against the toolkit's own calculator, and that every kernel's registers are known. */
#include <string.h>

#include "harness.h"
#include "transposed/occupancy.h"

static struct tpd_plan plan_of(enum tpd_strategy_id id, uint32_t itemsize, struct tpd_tile tile) {
    struct tpd_matrix matrix = {256, 256, 1, itemsize, TPD_DTYPE_OPAQUE};
    struct tpd_plan plan;
    struct tpd_error error;
    ck_assert_ok(tpd_strategy_plan(id, &matrix, tile, UINT64_MAX, &plan, &error), error);
    return plan;
}

START_TEST(architectures_are_found) {
    uint32_t before = 0;
    const struct tpd_architecture *at;
    for (unsigned i = 0; (at = tpd_architecture_at(i)) != NULL; i++) {
        ck_assert_uint_gt(at->capability, before);
        ck_assert_ptr_eq(tpd_architecture_find(at->capability), at);
        before = at->capability;
    }
    static const uint32_t known[][2] = {{75, 75}, {80, 80},   {86, 86},   {87, 86},   {89, 89},
                                        {90, 90}, {100, 100}, {103, 100}, {120, 120}, {121, 120}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_uint_eq(tpd_architecture_find(known[i][0])->capability, known[i][1]);
    static const uint32_t unknown[] = {0, 35, 61, 70, 72, 110, 999};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        ck_assert_ptr_null(tpd_architecture_find(unknown[i]));
    ck_assert_ptr_nonnull(tpd_architecture_find(TPD_ARCHITECTURE_DEFAULT));
}
END_TEST

/* Tall, wide, large and small, so that every shape of a strategy with tiles of its own comes up. */
START_TEST(every_kernel_was_measured) {
    static const uint64_t shapes[][2] = {{256, 256}, {4096, 4096}, {40960, 16}, {16, 40960}, {40960, 7}};
    bool seen[TPD_STRATEGY_COUNT][TPD_KERNELS_MOST] = {{false}};
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        for (uint32_t itemsize = 1; itemsize <= 16; itemsize *= 2)
            for (size_t n = 0; n < 2 * sizeof shapes / sizeof *shapes; n++)
                for (unsigned i = 0; tpd_architecture_at(i) != NULL; i++) {
                    bool tiled = tpd_strategy_at((enum tpd_strategy_id)id)->tiled;
                    struct tpd_tile tile = n % 2 == 0 || !tiled ? (struct tpd_tile){0, 0} : (struct tpd_tile){64, 32};
                    struct tpd_matrix matrix = {shapes[n / 2][0], shapes[n / 2][1], 1, itemsize, TPD_DTYPE_OPAQUE};
                    matrix = tpd_strategy_fit((enum tpd_strategy_id)id, matrix);
                    struct tpd_plan plan;
                    struct tpd_error error;
                    ck_assert_ok(tpd_strategy_plan((enum tpd_strategy_id)id, &matrix, tile, UINT64_MAX, &plan, &error), error);
                    struct tpd_occupancy found = tpd_occupancy_of(&plan, tpd_architecture_at(i));
                    ck_assert_msg(found.registers >= 16 && found.registers <= 255,
                                  "%s, kernel %u, %u bytes, sm_%u: %u registers; run kernels/banks/measure_registers.py",
                                  tpd_strategy_at((enum tpd_strategy_id)id)->name, plan.kernel, itemsize,
                                  tpd_architecture_at(i)->capability, found.registers);
                    ck_assert_uint_eq(found.threads, found.blocks * plan.threads);
                    seen[id][plan.kernel] = true;
                }
    for (int kernel = 0; kernel < TPD_KERNELS_MOST; kernel++)
        ck_assert(seen[TPD_STRATEGY_VECTOR][kernel] && seen[TPD_STRATEGY_NARROW][kernel]);
}
END_TEST

/* What cudaOccMaxActiveBlocksPerMultiprocessor() of CUDA 13.0 says of 256 threads with these, for the largest carve-out. */
START_TEST(blocks_are_the_toolkits) {
    static const struct {
        enum tpd_strategy_id strategy;
        uint32_t itemsize;
        struct tpd_tile tile;
        uint32_t capability, blocks;
        const char *limit;
    } cases[] = {
        {TPD_STRATEGY_PADDED, 4, {0, 0}, 90, 8, "threads"},
        {TPD_STRATEGY_PADDED, 4, {0, 0}, 75, 4, "threads"},
        {TPD_STRATEGY_PADDED, 16, {0, 0}, 75, 3, "shared memory"},
        {TPD_STRATEGY_PADDED, 16, {0, 0}, 86, 5, "registers"},
        {TPD_STRATEGY_NAIVE, 16, {0, 0}, 86, 5, "registers"},
        {TPD_STRATEGY_SWAPPED, 16, {0, 0}, 80, 6, "registers"},
        {TPD_STRATEGY_ROTATED, 16, {64, 64}, 90, 3, "shared memory"},
        {TPD_STRATEGY_ROTATED, 16, {64, 64}, 86, 1, "shared memory"},
        {TPD_STRATEGY_ROTATED, 16, {128, 128}, 90, 0, "shared memory"},
        {TPD_STRATEGY_SWIZZLED, 8, {128, 128}, 90, 1, "shared memory"},
        {TPD_STRATEGY_SWIZZLED, 8, {128, 128}, 120, 0, "shared memory"},
        {TPD_STRATEGY_DIRECT, 4, {0, 0}, 90, 8, "threads"},
        {TPD_STRATEGY_DIRECT, 4, {0, 0}, 89, 6, "threads"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_plan plan = plan_of(cases[i].strategy, cases[i].itemsize, cases[i].tile);
        struct tpd_occupancy found = tpd_occupancy_of(&plan, tpd_architecture_find(cases[i].capability));
        ck_assert_msg(found.blocks == cases[i].blocks && strcmp(found.limit, cases[i].limit) == 0,
                      "case %zu: %u blocks, %s, %u registers", i, found.blocks, found.limit, found.registers);
    }
}
END_TEST

START_TEST(a_driver_knows_better) {
    struct tpd_plan plan = plan_of(TPD_STRATEGY_PADDED, 4, (struct tpd_tile){0, 0});
    struct tpd_occupancy found = tpd_occupancy_told(&plan, tpd_architecture_find(90), 77, 3);
    ck_assert_uint_eq(found.registers, 77);
    ck_assert_uint_eq(found.blocks, 3);
    ck_assert_uint_eq(found.threads, 3 * TPD_STRATEGY_THREADS);
    ck_assert_str_eq(found.limit, "registers");
    ck_assert(found.by_device);
    ck_assert(!tpd_occupancy_of(&plan, tpd_architecture_find(90)).by_device);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("occupancy");
    TCase *tests = tcase_create("occupancy");
    tcase_add_test(tests, architectures_are_found);
    tcase_add_test(tests, every_kernel_was_measured);
    tcase_add_test(tests, blocks_are_the_toolkits);
    tcase_add_test(tests, a_driver_knows_better);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
