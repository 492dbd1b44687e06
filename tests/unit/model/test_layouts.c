/* test_layouts.c -- every strategy's own kernel, described by the bank model: conflict-free where it says so, coalesced
 * where it can be, and within the rules that make its description true. */
#include <string.h>

#include "harness.h"
#include "kernels/banks/simt.h"

static const uint32_t itemsizes[5] = {1, 2, 4, 8, 16};
static const uint32_t ideal[5] = {1, 1, 1, 2, 4};
static const uint64_t shared_most = UINT64_MAX;

static struct tpd_figures describe(enum tpd_strategy_id id, uint64_t rows, uint64_t cols, uint64_t batch, uint32_t itemsize,
                                   struct tpd_tile tile) {
    struct tpd_matrix matrix = {rows, cols, batch, itemsize, TPD_DTYPE_OPAQUE};
    struct tpd_plan plan;
    struct tpd_figures figures;
    struct tpd_error error;
    ck_assert_ok(tpd_strategy_plan(id, &matrix, tile, shared_most, &plan, &error), error);
    ck_assert_ok(tpd_banks_of_plan(&plan, &figures, &error), error);
    return figures;
}

static const struct tpd_tile default_tile = {0, 0};

START_TEST(default_tile_has_the_measured_wavefronts) {
    static const uint32_t naive[5] = {8, 16, 32, 32, 32};
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        for (int i = 0; i < 5; i++) {
            if (tpd_strategy_at((enum tpd_strategy_id)id)->own_tiles)
                continue; /* test_own_tiles */
            struct tpd_figures figures = describe((enum tpd_strategy_id)id, 128, 96, 2, itemsizes[i], default_tile);
            const struct tpd_shared_sum *load = &figures.shared[TPD_OP_LOAD], *store = &figures.shared[TPD_OP_STORE];
            uint64_t requests = tpd_strategy_at((enum tpd_strategy_id)id)->tiled ? 128 * 96 * 2 / TPD_WARP : 0;
            uint32_t of_load = id == TPD_STRATEGY_NAIVE ? naive[i] : ideal[i];
            ck_assert_uint_eq(load->requests, requests);
            ck_assert_uint_eq(store->requests, requests);
            ck_assert_uint_eq(load->ideal, requests * ideal[i]);
            ck_assert_msg(load->wavefronts == requests * of_load, "%s, %u bytes: %llu wavefronts in %llu loads",
                          tpd_strategy_at((enum tpd_strategy_id)id)->name, itemsizes[i], (unsigned long long)load->wavefronts,
                          (unsigned long long)requests);
            ck_assert_msg(store->wavefronts == requests * ideal[i], "%s, %u bytes: %llu wavefronts in %llu stores",
                          tpd_strategy_at((enum tpd_strategy_id)id)->name, itemsizes[i], (unsigned long long)store->wavefronts,
                          (unsigned long long)requests);
            ck_assert_uint_eq(load->excess, load->wavefronts - load->ideal);
        }
}
END_TEST

START_TEST(default_tile_is_coalesced) {
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        for (int i = 0; i < 5; i++) {
            if (tpd_strategy_at((enum tpd_strategy_id)id)->own_tiles)
                continue; /* test_own_tiles */
            struct tpd_figures figures = describe((enum tpd_strategy_id)id, 96, 128, 2, itemsizes[i], default_tile);
            uint64_t requests = 96 * 128 * 2 / TPD_WARP;
            for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++) {
                bool strided = op == TPD_OP_LOAD ? id == TPD_STRATEGY_DIRECT : id == TPD_STRATEGY_SWAPPED;
                const struct tpd_global_sum *sum = &figures.global[op];
                ck_assert_uint_eq(sum->requests, requests);
                ck_assert_uint_eq(sum->ideal, requests * itemsizes[i]);
                ck_assert_msg(sum->sectors == requests * (strided ? 32 : itemsizes[i]), "%s, %u bytes, op %d: %llu sectors",
                              tpd_strategy_at((enum tpd_strategy_id)id)->name, itemsizes[i], op,
                              (unsigned long long)sum->sectors);
            }
        }
}
END_TEST

START_TEST(every_tile_is_as_its_header_says) {
    static const enum tpd_strategy_id spread[] = {TPD_STRATEGY_PADDED, TPD_STRATEGY_ROTATED, TPD_STRATEGY_SWIZZLED,
                                                  TPD_STRATEGY_SWAPPED};
    for (size_t s = 0; s < sizeof spread / sizeof *spread; s++)
        for (int i = 0; i < 5; i++)
            for (uint32_t rows = TPD_TILE_LEAST; rows <= TPD_TILE_MOST; rows *= 2)
                for (uint32_t cols = TPD_TILE_LEAST; cols <= TPD_TILE_MOST; cols *= 2) {
                    struct tpd_figures figures = describe(spread[s], rows, cols, 1, itemsizes[i], (struct tpd_tile){rows, cols});
                    bool narrow = spread[s] == TPD_STRATEGY_PADDED && itemsizes[i] == 4;
                    ck_assert_msg(figures.shared[TPD_OP_LOAD].degree == (narrow && rows == 16 ? 2 : 1) &&
                                      figures.shared[TPD_OP_STORE].degree == (narrow && cols == 16 ? 2 : 1),
                                  "%s, %u bytes, tile %ux%u: %u-way load, %u-way store", tpd_strategy_at(spread[s])->name,
                                  itemsizes[i], rows, cols, figures.shared[TPD_OP_LOAD].degree,
                                  figures.shared[TPD_OP_STORE].degree);
                }
}
END_TEST

START_TEST(edges_move_each_item_once) {
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++) {
        const uint64_t rows = id == TPD_STRATEGY_NARROW ? 13 : 33; /* which takes few */
        struct tpd_figures figures = describe((enum tpd_strategy_id)id, rows, 35, 3, 16, default_tile);
        /* 16 bytes: half a sector an item, and no two active lanes ask for one item. */
        ck_assert_uint_ge(2 * figures.global[TPD_OP_LOAD].ideal, rows * 35 * 3);
        ck_assert_uint_ge(2 * figures.global[TPD_OP_STORE].ideal, rows * 35 * 3);
        ck_assert_uint_eq(figures.blocks, figures.plan.blocks);
    }
}
END_TEST

/* Sums of a sample and of more have the same averages; compared without a division. */
static void same_average(const char *what, int id, uint32_t itemsize, uint64_t few, uint64_t few_requests, uint64_t many,
                         uint64_t many_requests) {
    ck_assert_msg(few * many_requests == many * few_requests, "%s, %u bytes, %s: %llu in %llu requests, %llu in %llu",
                  tpd_strategy_at((enum tpd_strategy_id)id)->name, itemsize, what, (unsigned long long)few,
                  (unsigned long long)few_requests, (unsigned long long)many, (unsigned long long)many_requests);
}

/* What /stats and /v1/strategies show of 1024 x 1024: every tile is whole, so that a few blocks say what all say; but for
 * `shifted`, `narrow` and `packed`, whose first or last blocks do other work. */
START_TEST(few_blocks_have_the_averages_of_all) {
    static const struct tpd_tile tiles[] = {{0, 0}, {16, 16}, {16, 128}, {128, 16}, {64, 64}};
    int id = _i % TPD_STRATEGY_COUNT, t = _i / TPD_STRATEGY_COUNT;
    if (t != 0 && !tpd_strategy_at((enum tpd_strategy_id)id)->tiled)
        return;
    if (id == TPD_STRATEGY_SHIFTED || id == TPD_STRATEGY_NARROW || id == TPD_STRATEGY_PACKED)
        return;
    for (int i = 0; i < 5; i++) {
        struct tpd_matrix matrix = {1024, 1024, 1, itemsizes[i], TPD_DTYPE_OPAQUE};
        matrix = tpd_strategy_fit((enum tpd_strategy_id)id, matrix);
        struct tpd_plan plan;
        struct tpd_figures few, many;
        struct tpd_error error;
        if (tpd_strategy_plan((enum tpd_strategy_id)id, &matrix, tiles[t], shared_most, &plan, NULL) != TPD_OK)
            continue; /* a tile that this strategy does not take at this size */
        ck_assert_ok(tpd_banks_of_sample(&plan, TPD_BANKS_BLOCKS_FEW, &few, &error), error);
        ck_assert_ok(tpd_banks_of_sample(&plan, t == 0 ? TPD_BANKS_BLOCKS_MOST : 37, &many, &error), error);
        ck_assert_uint_eq(few.blocks, TPD_BANKS_BLOCKS_FEW);
        ck_assert_uint_gt(many.blocks, few.blocks);
        for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++) {
            const struct tpd_shared_sum *s = &few.shared[op], *S = &many.shared[op];
            const struct tpd_global_sum *g = &few.global[op], *G = &many.global[op];
            ck_assert_uint_eq(s->requests * many.blocks, S->requests * few.blocks);
            ck_assert_uint_eq(g->requests * many.blocks, G->requests * few.blocks);
            ck_assert_uint_eq(s->degree, S->degree);
            same_average("wavefronts", id, itemsizes[i], s->wavefronts, s->requests, S->wavefronts, S->requests);
            same_average("ideal wavefronts", id, itemsizes[i], s->ideal, s->requests, S->ideal, S->requests);
            same_average("sectors", id, itemsizes[i], g->sectors, g->requests, G->sectors, G->requests);
            same_average("ideal sectors", id, itemsizes[i], g->ideal, g->requests, G->ideal, G->requests);
        }
    }
}
END_TEST

START_TEST(huge_shapes_are_sampled_without_memory) {
    struct tpd_figures figures =
        describe(TPD_STRATEGY_SWIZZLED, UINT64_C(1) << 30, UINT64_C(1) << 29, 1, 8, (struct tpd_tile){64, 32});
    ck_assert_uint_eq(figures.blocks, TPD_BANKS_BLOCKS_MOST);
    ck_assert_uint_eq(figures.shared[TPD_OP_LOAD].excess, 0);
    ck_assert_uint_eq(figures.global[TPD_OP_STORE].sectors, figures.global[TPD_OP_STORE].ideal);
    figures = describe(TPD_STRATEGY_DIRECT, 3, UINT64_C(5000000000), 7, 12, default_tile);
    ck_assert_uint_eq(figures.blocks, TPD_BANKS_BLOCKS_MOST);
    figures = describe(TPD_STRATEGY_PADDED, 0, 9, 1, 4, default_tile);
    ck_assert_uint_eq(figures.blocks, 0);
    ck_assert_uint_eq(figures.global[TPD_OP_LOAD].requests, 0);
}
END_TEST

/* The last block of a shape with more than 2^31 items and more than 65535 tiles a side reaches its last item and none past it. */
struct reach {
    uint64_t most[2];
};

static void watch_reach(void *context, enum tpd_simt_kind kind, const struct tpd_request *request) {
    struct reach *reach = context;
    if (kind != TPD_SIMT_GLOBAL_LOAD && kind != TPD_SIMT_GLOBAL_STORE)
        return;
    for (uint32_t lane = 0; lane < TPD_WARP; lane++)
        if ((request->active >> lane & 1) != 0 && request->address[lane] + request->width > reach->most[request->op])
            reach->most[request->op] = request->address[lane] + request->width;
}

START_TEST(indices_have_64_bits) {
    static const struct {
        uint64_t rows, cols, batch;
    } shapes[] = {
        {65537, 65539, 1}, {2200001, 2200003, 1}, {UINT64_C(1) << 40, 3, 1}, {3, (UINT64_C(1) << 40) + 1, 1}, {40, 50, 2200000}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int id = 0; id < TPD_STRATEGY_COUNT; id++) {
            struct tpd_matrix matrix = {shapes[s].rows, shapes[s].cols, shapes[s].batch, 8, TPD_DTYPE_OPAQUE};
            struct tpd_plan plan;
            struct tpd_error error;
            struct tpd_simt simt;
            struct reach reach = {{0, 0}};
            matrix = tpd_strategy_fit((enum tpd_strategy_id)id, matrix);
            ck_assert_ok(tpd_strategy_plan((enum tpd_strategy_id)id, &matrix, default_tile, shared_most, &plan, &error), error);
            ck_assert_ok(tpd_simt_init(&simt, &plan, NULL, NULL, watch_reach, &reach, &error), error);
            /* Tiles that begin early may leave nothing for the last. */
            const uint64_t after = plan.from_right ? (plan.tiles_across - 1) * plan.tiles_down : 0;
            if (plan.blocks - after > 1)
                ck_assert_ok(tpd_simt_run(&simt, plan.blocks - after - 2, &error), error);
            ck_assert_ok(tpd_simt_run(&simt, plan.blocks - after - 1, &error), error);
            tpd_simt_fini(&simt);
            uint64_t end = tpd_matrix_items(&matrix) * 8;
            ck_assert_uint_eq(reach.most[TPD_OP_LOAD], end);
            ck_assert_uint_eq(reach.most[TPD_OP_STORE], end);
        }
}
END_TEST

/* What the dialect's calls refuse to record: here a kernel breaks one rule after the other. */
static void ignore(void *context, enum tpd_simt_kind kind, const struct tpd_request *request) {
    (void)kind;
    (void)request;
    ++*(int *)context;
}

static struct tpd_simt watched(int *requests) {
    struct tpd_matrix matrix = {32, 32, 1, 4, TPD_DTYPE_OPAQUE};
    struct tpd_plan plan;
    struct tpd_simt simt;
    struct tpd_error error;
    ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_NAIVE, &matrix, default_tile, shared_most, &plan, &error), error);
    ck_assert_ok(tpd_simt_init(&simt, &plan, NULL, NULL, ignore, requests, &error), error);
    return simt;
}

static void end(struct tpd_simt *simt, const char *fault) {
    struct tpd_error error;
    if (fault == NULL)
        ck_assert_ptr_null(simt->fault);
    else {
        ck_assert_ptr_nonnull(simt->fault);
        ck_assert_ptr_nonnull(strstr(simt->fault, fault));
        ck_assert_int_eq(tpd_simt_run(simt, 0, &error), TPD_INTERNAL);
        ck_assert_ptr_nonnull(strstr(error.text, fault));
    }
    tpd_simt_fini(simt);
}

START_TEST(a_kernel_must_keep_the_rules) {
    int requests = 0;
    struct tpd_simt simt = watched(&requests);
    for (uint32_t thread = tpd_simt_phase(&simt); thread < TPD_STRATEGY_THREADS; thread = tpd_simt_next(&simt))
        tpd_simt_touch(&simt, TPD_SIMT_SHARED_LOAD, 4, true, thread * 4);
    ck_assert_int_eq(requests, TPD_SIMT_WARPS);
    (void)tpd_simt_phase(&simt); /* and no barrier between */
    end(&simt, "no barrier");

    for (uint32_t odd = 0; odd < TPD_STRATEGY_THREADS; odd += 51) { /* one thread makes an access fewer */
        simt = watched(&requests);
        requests = 0;
        for (uint32_t thread = tpd_simt_phase(&simt); thread < TPD_STRATEGY_THREADS; thread = tpd_simt_next(&simt))
            if (thread != odd)
                tpd_simt_touch(&simt, TPD_SIMT_SHARED_LOAD, 4, true, thread * 4);
        ck_assert_int_eq(requests, 0);
        end(&simt, "same accesses");
    }

    simt = watched(&requests); /* one thread stores where the others load */
    for (uint32_t thread = tpd_simt_phase(&simt); thread < TPD_STRATEGY_THREADS; thread = tpd_simt_next(&simt))
        tpd_simt_touch(&simt, thread == 77 ? TPD_SIMT_SHARED_STORE : TPD_SIMT_SHARED_LOAD, 4, true, thread * 4);
    end(&simt, "same accesses");

    simt = watched(&requests); /* the last item is inside, one byte further is not */
    ck_assert(tpd_simt_inside(&simt, 32 * 32 * 4 - 4, 4));
    ck_assert(!tpd_simt_inside(&simt, 32 * 32 * 4 - 3, 4));
    end(&simt, "past the end");

    simt = watched(&requests); /* one access too many for the record */
    for (uint32_t thread = tpd_simt_phase(&simt); thread < TPD_STRATEGY_THREADS; thread = tpd_simt_next(&simt))
        for (int n = 0; n <= TPD_SIMT_ACCESSES_MOST; n++)
            tpd_simt_touch(&simt, TPD_SIMT_SHARED_LOAD, 4, true, thread * 4);
    end(&simt, "more accesses");
}
END_TEST

START_TEST(no_memory_is_said) {
    struct tpd_matrix matrix = {64, 64, 1, 4, TPD_DTYPE_OPAQUE};
    struct tpd_plan plan;
    struct tpd_figures figures;
    struct tpd_error error;
    ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_PADDED, &matrix, default_tile, shared_most, &plan, &error), error);
    int failed = 1;
    for (uint64_t nth = 1; failed; nth++) {
        tpd_heap_begin(nth);
        enum tpd_status status = tpd_banks_of_plan(&plan, &figures, &error);
        failed = tpd_heap_end();
        ck_assert_int_eq(status, failed ? TPD_NO_MEMORY : TPD_OK);
        ck_assert_uint_le(nth, 10);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("layouts");
    TCase *tests = tcase_create("layouts");
    tcase_add_test(tests, default_tile_has_the_measured_wavefronts);
    tcase_add_test(tests, default_tile_is_coalesced);
    tcase_add_test(tests, every_tile_is_as_its_header_says);
    tcase_add_test(tests, edges_move_each_item_once);
    tcase_add_loop_test(tests, few_blocks_have_the_averages_of_all, 0, 5 * TPD_STRATEGY_COUNT);
    tcase_add_test(tests, huge_shapes_are_sampled_without_memory);
    tcase_add_test(tests, indices_have_64_bits);
    tcase_add_test(tests, a_kernel_must_keep_the_rules);
    tcase_add_test(tests, no_memory_is_said);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return tpd_harness_main(suite());
}
