/* test_own_tiles.c -- the strategies with tiles of their own, described by the bank model: free of conflicts, whole sectors. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "kernels/banks/simt.h"
#include "transposed/transposed.h"

static const uint32_t itemsizes[5] = {1, 2, 4, 8, 16};
static const uint64_t shared_most = UINT64_MAX;
static const struct tpd_tile default_tile = {0, 0};

static struct tpd_figures describe(enum tpd_strategy_id id, uint64_t rows, uint64_t cols, uint64_t batch, uint32_t itemsize) {
    struct tpd_matrix matrix = {rows, cols, batch, itemsize, TPD_DTYPE_OPAQUE};
    struct tpd_plan plan;
    struct tpd_figures figures;
    struct tpd_error error;
    ck_assert_ok(tpd_strategy_plan(id, &matrix, default_tile, shared_most, &plan, &error), error);
    ck_assert_ok(tpd_banks_of_plan(&plan, &figures, &error), error);
    return figures;
}

/* Both sides of both memories, whole tiles and edges: `vector` is ideal wherever a warp has anything to do. */
START_TEST(vector_is_ideal_on_every_side) {
    static const uint64_t shapes[][3] = {{256, 256, 1}, {160, 288, 2},  {32, 4096, 1},
                                         {4096, 32, 1}, {16, 40960, 1}, {40960, 16, 1}};
    const uint32_t itemsize = itemsizes[_i];
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct tpd_figures figures = describe(TPD_STRATEGY_VECTOR, shapes[s][0], shapes[s][1], shapes[s][2], itemsize);
        for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++) {
            const struct tpd_shared_sum *shared = &figures.shared[op];
            const struct tpd_global_sum *global = &figures.global[op];
            ck_assert_msg(shared->requests != 0 && shared->wavefronts == 4 * shared->requests && shared->degree == 1,
                          "%u bytes, %llux%llu, op %d: %llu wavefronts in %llu requests, %u-way", itemsize,
                          (unsigned long long)shapes[s][0], (unsigned long long)shapes[s][1], op,
                          (unsigned long long)shared->wavefronts, (unsigned long long)shared->requests, shared->degree);
            /* Rows of 16 bytes: a thread's next load has the other half of the sector, from the L1 cache. */
            uint64_t halves = op == TPD_OP_LOAD && shapes[s][1] * itemsize == 16 ? 2 : 1;
            ck_assert_msg(global->requests != 0 && global->sectors == halves * global->ideal,
                          "%u bytes, %llux%llu, op %d: %llu sectors, ideal %llu", itemsize, (unsigned long long)shapes[s][0],
                          (unsigned long long)shapes[s][1], op, (unsigned long long)global->sectors,
                          (unsigned long long)global->ideal);
        }
        ck_assert_uint_le(figures.plan.shared_bytes, TPD_SHARED_OWN_MOST);
    }
}
END_TEST

/* `shifted` stores whole sectors wherever an output row has one, and meets no bank twice but for the ends of output rows. */
struct sectors {
    uint64_t row_bytes, whole, cut, load_sectors; /* whole, cut: in vectors */
    uint64_t conflicts;                           /* loads that take more than the ideal */
};

static void watch_sectors(void *context, enum tpd_simt_kind kind, const struct tpd_request *request) {
    struct sectors *sectors = context;
    struct tpd_bank_result result;
    uint32_t count, least;
    if (request->width != 16 || request->active == 0)
        return;
    if (kind == TPD_SIMT_SHARED_LOAD || kind == TPD_SIMT_SHARED_STORE) {
        ck_assert_int_eq(tpd_banks_shared(request, 4, &result, NULL), TPD_OK);
        ck_assert(result.excess == 0 || kind == TPD_SIMT_SHARED_LOAD);
        sectors->conflicts += result.excess != 0;
    }
    if (kind == TPD_SIMT_GLOBAL_LOAD) {
        ck_assert_int_eq(tpd_banks_global(request, &count, &least, NULL), TPD_OK);
        sectors->load_sectors += count;
    }
    for (uint32_t lane = 0; kind == TPD_SIMT_GLOBAL_STORE && lane < TPD_WARP; lane++) {
        if ((request->active >> lane & 1) == 0)
            continue;
        uint64_t sector = request->address[lane] / 32 * 32;
        if (sector / sectors->row_bytes == (sector + 31) / sectors->row_bytes) {
            uint32_t halves = 0;
            for (uint32_t other = 0; other < TPD_WARP; other++)
                if ((request->active >> other & 1) != 0 && request->address[other] / 32 * 32 == sector)
                    halves |= request->address[other] % 32 == 0 ? 1 : 2;
            ck_assert_uint_eq(halves, 3);
            sectors->whole++;
        } else
            sectors->cut++;
    }
}

START_TEST(shifted_stores_whole_sectors) {
    static const uint64_t shapes[][3] = {{767, 769, 1}, {514, 1027, 1}, {261, 300, 3}, {1000, 1000, 1}, {80, 3000, 2}};
    const uint32_t itemsize = itemsizes[_i];
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct tpd_matrix matrix = {shapes[s][0], shapes[s][1], shapes[s][2], itemsize, TPD_DTYPE_OPAQUE};
        struct sectors sectors = {.row_bytes = matrix.rows * itemsize};
        struct tpd_plan plan;
        struct tpd_simt simt;
        struct tpd_error error;
        ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_SHIFTED, &matrix, default_tile, shared_most, &plan, &error), error);
        ck_assert_ok(tpd_simt_init(&simt, &plan, NULL, NULL, watch_sectors, &sectors, &error), error);
        for (uint64_t block = 0; block < plan.blocks; block++)
            ck_assert_ok(tpd_simt_run(&simt, block, &error), error);
        tpd_simt_fini(&simt);
        /* The second loads ask for sectors that the L1 cache has from the first; rows that two tiles load come on top. */
        uint64_t least = tpd_matrix_items(&matrix) * itemsize / TPD_SECTOR_BYTES;
        ck_assert_uint_gt(sectors.whole, 3 * sectors.cut);
        /* Of bytes and halves two loads a column and end, from as many columns as a warp has lanes. */
        const uint64_t warps = (plan.tile.cols + TPD_WARP - 1) / TPD_WARP;
        ck_assert_uint_le(sectors.conflicts, itemsize < 4 ? 2 * 2 * warps * plan.blocks : 0);
        ck_assert_msg(sectors.load_sectors * 10 < least * 27, "%u bytes, shape %zu: %llu sectors loaded, least %llu", itemsize, s,
                      (unsigned long long)sectors.load_sectors, (unsigned long long)least);
    }
}
END_TEST

/* Runs every block with random bytes, guarded on both sides, and watched: a kernel that breaks a rule of kernel.h fails too. */
static void ignore(void *context, enum tpd_simt_kind kind, const struct tpd_request *request) {
    (void)context;
    (void)kind;
    (void)request;
}

static void prove(enum tpd_strategy_id id, struct tpd_matrix matrix, bool watched) {
    const size_t bytes = (size_t)(matrix.rows * matrix.cols * matrix.batch * matrix.itemsize);
    struct tpd_guarded in = tpd_guarded_make(bytes, 0), out = tpd_guarded_make(bytes, 0);
    unsigned char *expected = malloc(bytes);
    struct tpd_plan plan;
    struct tpd_simt simt;
    struct tpd_error error;
    ck_assert_ptr_nonnull(expected);
    tpd_random_fill(in.data, bytes, matrix.rows * 31 + matrix.cols);
    tpd_transpose_ref(&matrix, in.data, expected);
    ck_assert_ok(tpd_strategy_plan(id, &matrix, default_tile, shared_most, &plan, &error), error);
    ck_assert_uint_le(plan.shared_bytes, TPD_SHARED_OWN_MOST);
    ck_assert_ok(tpd_simt_init(&simt, &plan, in.data, out.data, watched ? ignore : NULL, NULL, &error), error);
    enum tpd_status status = TPD_OK;
    for (uint64_t block = 0; block < plan.blocks && status == TPD_OK; block++)
        status = tpd_simt_run(&simt, block, &error);
    ck_assert_ok(status, error);
    tpd_simt_fini(&simt);
    size_t same = 0;
    while (same < bytes && out.data[same] == expected[same])
        same++;
    ck_assert_msg(same == bytes, "%s, %llux%llux%llu of %u bytes: byte %zu of %zu", tpd_strategy_at(id)->name,
                  (unsigned long long)matrix.rows, (unsigned long long)matrix.cols, (unsigned long long)matrix.batch,
                  matrix.itemsize, same, bytes);
    tpd_guarded_check(&in);
    tpd_guarded_check(&out);
    tpd_guarded_free(&in);
    tpd_guarded_free(&out);
    free(expected);
}

/* Every number of few rows and columns, at lengths that begin and end a chunk, a unit and a vector anywhere. */
START_TEST(narrow_moves_every_item) {
    static const uint32_t sizes[] = {1, 2, 4, 8, 16, 3, 6, 12, 24, 48, 7};
    static const uint64_t lengths[] = {1, 2, 3, 5, 31, 64, 129, 517, 1023, 2050};
    const uint64_t few = (uint64_t)_i + 1;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
            for (uint64_t batch = 1; batch <= 3; batch += 2) {
                /* The sizes that are no words differ in one product alone. */
                if (s >= 5 && (n + s + few) % 4 != 0)
                    continue;
                const uint64_t length = lengths[n] + few * s % 4;
                prove(TPD_STRATEGY_NARROW, (struct tpd_matrix){few, length, batch, sizes[s], TPD_DTYPE_OPAQUE}, batch == 1);
                prove(TPD_STRATEGY_NARROW, (struct tpd_matrix){length, few, batch, sizes[s], TPD_DTYPE_OPAQUE}, batch == 1);
            }
}
END_TEST

/* Small matrices of every kind of side, in batches that end within a block, a unit and a vector. */
START_TEST(packed_moves_every_item) {
    static const uint32_t sizes[] = {1, 2, 4, 8, 16, 3, 6, 12, 24, 48, 7};
    static const uint64_t sides[] = {2, 3, 5, 8, 13, 16, 31, 32};
    static const uint64_t batches[] = {1, 2, 7, 64, 701};
    const uint64_t rows = sides[_i];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t c = 0; c < sizeof sides / sizeof *sides; c++)
            for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
                const uint64_t cols = sides[c];
                if ((s < 5 || (c + b + s) % 4 == 0) && rows * cols * sizes[s] <= 40960 &&
                    rows * cols * sizes[s] * batches[b] < 1000000)
                    prove(TPD_STRATEGY_PACKED, (struct tpd_matrix){rows, cols, batches[b], sizes[s], TPD_DTYPE_OPAQUE}, b < 3);
            }
    prove(TPD_STRATEGY_PACKED, (struct tpd_matrix){200, 100, 3, 1 + (uint32_t)_i % 2, TPD_DTYPE_OPAQUE}, true);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("own_tiles");
    TCase *tests = tcase_create("own_tiles");
    tcase_set_timeout(tests, 60); /* lane by lane, and with sanitizers */
    tcase_add_loop_test(tests, vector_is_ideal_on_every_side, 0, 5);
    tcase_add_loop_test(tests, shifted_stores_whole_sectors, 0, 5);
    tcase_add_loop_test(tests, narrow_moves_every_item, 0, 31);
    tcase_add_loop_test(tests, packed_moves_every_item, 0, 8);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return tpd_harness_main(suite());
}
