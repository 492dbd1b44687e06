/* test_tuning.c -- shapes and the matrices that stand for them; every variant proved right; how a table answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "kernels/banks/simt.h"
#include "transposed/transposed.h"

static const uint64_t shared_most = 227 * 1024;
static const struct tpd_tile no_tile = {0, 0};
static struct tpd_error error;

/* ---- shapes ---- */

START_TEST(every_cell_has_a_matrix_of_its_own_shape) {
    uint32_t cells = 0;
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
        for (int aligned = 0; aligned < 2; aligned++)
            for (int shape = 0; shape < TPD_SHAPE_COUNT; shape++) {
                struct tpd_matrix matrix;
                uint64_t bytes;
                bool found;
                if (!tpd_tuning_matrix(size, aligned != 0, (enum tpd_tuning_shape)shape, &matrix))
                    continue;
                const char *name = tpd_tuning_shape_name((enum tpd_tuning_shape)shape);
                ck_assert_ok(tpd_matrix_bytes(&matrix, &bytes, &error), error);
                enum tpd_tuning_shape is = tpd_tuning_shape_of(&matrix, &found);
                ck_assert_msg((int)is == shape && found == (aligned != 0) && tpd_tuning_size(matrix.itemsize) == size,
                              "%s, aligned %d, %u bytes: %lu x %lu x %lu is %s, aligned %d", name, aligned, matrix.itemsize,
                              (unsigned long)matrix.rows, (unsigned long)matrix.cols, (unsigned long)matrix.batch,
                              is < TPD_SHAPE_COUNT ? tpd_tuning_shape_name(is) : "none", found);
                ck_assert_msg(bytes >= 32768 && bytes <= (uint64_t)1 << 30, "%s: %lu bytes", name, (unsigned long)bytes);
                struct tpd_plan plan; /* there is a rule to beat */
                ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_AUTO, &matrix, no_tile, shared_most, &plan, &error), error);
                cells++;
            }
    /* 16 bytes are always aligned, other sizes never; few rows of small items are no whole vectors. */
    ck_assert_uint_eq(cells, (4 * 2 + 1 + 1) * TPD_SHAPE_COUNT - 2 * (3 + 2 + 1));
}
END_TEST

START_TEST(shapes_of_matrices) {
    static const struct {
        uint64_t rows, cols, batch;
        uint32_t itemsize;
        int shape;
        bool aligned;
    } cases[] = {
        {3, 5, 70000, 4, TPD_SHAPE_BATCH_TINY, false},
        {32, 32, 10000, 4, TPD_SHAPE_BATCH_SMALL, true},
        {200, 100, 1000, 4, TPD_SHAPE_BATCH_MEDIUM, true},
        {3, 40000000, 1, 4, TPD_SHAPE_ROWS_2, false},
        {20000000, 7, 1, 8, TPD_SHAPE_COLS_4, false},
        {16, 4000000, 1, 1, TPD_SHAPE_ROWS_16, true},
        {1000000, 256, 1, 4, TPD_SHAPE_COLS_128, true},
        {16384, 16384, 1, 4, TPD_SHAPE_HUGE, true},
        {8191, 8193, 1, 1, TPD_SHAPE_LARGE, false},
        {1024, 1024, 1, 4, TPD_SHAPE_CACHED, true},
        {2048, 2048, 1, 4, TPD_SHAPE_CACHED, true},
        {2, 2, 1, 16, TPD_SHAPE_ROWS_2, true},
        {64, 64, 1, 4, TPD_SHAPE_TINY, true},
        {8, 1000, 5000, 4, TPD_SHAPE_ROWS_8, true},
        {1, 1000, 1, 4, TPD_SHAPE_COUNT, false},
        {1000, 1, 1, 12, TPD_SHAPE_COUNT, false},
        {0, 7, 1, 4, TPD_SHAPE_COUNT, true},
        {7, 7, 0, 4, TPD_SHAPE_COUNT, false},
        {1000, 1000, 1, 24, TPD_SHAPE_CACHED, false},
        {64, 64, 1, 12, TPD_SHAPE_TINY, false},
        {40, 40, 1, 4096, TPD_SHAPE_CACHED, false},
        {(uint64_t)1 << 31, (uint64_t)1 << 31, 1, 1, TPD_SHAPE_HUGE, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_matrix matrix = {cases[i].rows, cases[i].cols, cases[i].batch, cases[i].itemsize, TPD_DTYPE_OPAQUE};
        bool aligned;
        int shape = (int)tpd_tuning_shape_of(&matrix, &aligned);
        ck_assert_msg(shape == cases[i].shape && (aligned == cases[i].aligned || shape == TPD_SHAPE_COUNT),
                      "case %zu: shape %d, aligned %d", i, shape, aligned);
    }
}
END_TEST

/* Whatever is asked, it has a shape. */
START_TEST(no_matrix_falls_through) {
    uint64_t state = 7;
    for (int i = 0; i < 200000; i++) {
        struct tpd_matrix matrix = {2 + tpd_random(&state) % ((uint64_t)1 << tpd_random(&state) % 24),
                                    2 + tpd_random(&state) % ((uint64_t)1 << tpd_random(&state) % 24),
                                    1 + tpd_random(&state) % ((uint64_t)1 << tpd_random(&state) % 8),
                                    1 + (uint32_t)(tpd_random(&state) % 64), TPD_DTYPE_OPAQUE};
        bool aligned;
        ck_assert_int_lt((int)tpd_tuning_shape_of(&matrix, &aligned), TPD_SHAPE_COUNT);
    }
}
END_TEST

/* ---- variants ---- */

static void ignore(void *context, enum tpd_simt_kind kind, const struct tpd_request *request) {
    (void)context;
    (void)kind;
    (void)request;
}

static void prove(const struct tpd_plan *plan, uint64_t seed) {
    const struct tpd_matrix *matrix = &plan->matrix;
    const size_t bytes = (size_t)(matrix->rows * matrix->cols * matrix->batch * matrix->itemsize);
    struct tpd_guarded in = tpd_guarded_make(bytes, 0), out = tpd_guarded_make(bytes, 0);
    unsigned char *expected = malloc(bytes);
    struct tpd_simt simt;
    tpd_random_fill(in.data, bytes, seed);
    memset(out.data, 0xa5, bytes);
    tpd_transpose_ref(matrix, in.data, expected);
    ck_assert_ok(tpd_simt_init(&simt, plan, in.data, out.data, ignore, NULL, &error), error);
    for (uint64_t block = 0; block < plan->blocks; block++)
        ck_assert_ok(tpd_simt_run(&simt, block, &error), error);
    tpd_simt_fini(&simt);
    ck_assert_msg(memcmp(out.data, expected, bytes) == 0, "%s variant %u, %u bytes, %lu x %lu x %lu",
                  tpd_strategy_at(plan->strategy)->name, plan->variant, matrix->itemsize, (unsigned long)matrix->rows,
                  (unsigned long)matrix->cols, (unsigned long)matrix->batch);
    tpd_guarded_check(&in);
    tpd_guarded_check(&out);
    tpd_guarded_free(&in);
    tpd_guarded_free(&out);
    free(expected);
}

START_TEST(every_variant_is_right) {
    static const uint64_t shapes[][3] = {{80, 144, 1}, {67, 99, 1}, {3, 501, 2}, {433, 17, 1}, {5, 3, 500}};
    static const uint32_t itemsizes[] = {1, 2, 4, 8, 16, 12};
    uint32_t proved = 0;
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++) {
        const uint32_t variants = tpd_strategy_variants((enum tpd_strategy_id)id);
        ck_assert_uint_ge(variants, 1);
        for (uint32_t variant = 1; variant < variants; variant++) /* 0 is proved with the strategies */
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                struct tpd_matrix matrix = {shapes[s][0], shapes[s][1], shapes[s][2], itemsizes[(size_t)_i], TPD_DTYPE_OPAQUE};
                struct tpd_plan plan;
                if (tpd_strategy_plan_variant((enum tpd_strategy_id)id, variant, &matrix, shared_most, &plan, NULL) != TPD_OK)
                    continue;
                ck_assert_uint_eq(plan.variant, variant);
                ck_assert_uint_le(plan.shared_bytes, shared_most);
                if (tpd_strategy_at((enum tpd_strategy_id)id)->own_tiles)
                    ck_assert_uint_le(plan.shared_bytes, TPD_SHARED_OWN_MOST);
                prove(&plan, variant + s);
                proved++;
            }
    }
    ck_assert_uint_ge(proved, itemsizes[_i] == 12 ? 6 : 60);
}
END_TEST

START_TEST(variant_0_is_the_plain_plan) {
    uint64_t state = 3;
    for (int i = 0; i < 20000; i++) {
        struct tpd_matrix matrix = {1 + tpd_random(&state) % 3000, 1 + tpd_random(&state) % 3000, 1 + tpd_random(&state) % 9,
                                    (uint32_t)1 << tpd_random(&state) % 5, TPD_DTYPE_OPAQUE};
        enum tpd_strategy_id id = (enum tpd_strategy_id)(tpd_random(&state) % TPD_STRATEGY_COUNT);
        struct tpd_plan a, b;
        memset(&a, 0, sizeof a);
        memset(&b, 0, sizeof b);
        ck_assert_int_eq(tpd_strategy_plan(id, &matrix, no_tile, shared_most, &a, NULL),
                         tpd_strategy_plan_variant(id, 0, &matrix, shared_most, &b, NULL));
        ck_assert(a.kernel == b.kernel && a.blocks == b.blocks && a.tile.rows == b.tile.rows && a.goes_down == b.goes_down);
    }
}
END_TEST

/* ---- lookups ---- */

static struct tpd_tuning table;

static void put(uint32_t itemsize, bool aligned, enum tpd_tuning_shape shape, enum tpd_strategy_id id, uint32_t variant) {
    struct tpd_tuning_cell *cell = &table.cell[tpd_tuning_size(itemsize)][aligned][shape];
    table.cells += cell->bytes == 0;
    *cell = (struct tpd_tuning_cell){
        .bytes = 1000 + (uint64_t)shape, .best = {id, variant, 50}, .next = {TPD_STRATEGY_NAIVE, 0, 70}, .rule = {id, 0, 60}};
}

static struct tpd_plan planned(const struct tpd_tuning *by, enum tpd_strategy_id id, struct tpd_tile tile, uint64_t rows,
                               uint64_t cols, uint32_t itemsize) {
    struct tpd_matrix matrix = {rows, cols, 1, itemsize, TPD_DTYPE_OPAQUE};
    struct tpd_plan plan;
    ck_assert_ok(tpd_tuning_plan(by, id, &matrix, tile, shared_most, &plan, &error), error);
    return plan;
}

START_TEST(auto_goes_by_the_table) {
    const struct tpd_tile tile = {64, 64};
    memset(&table, 0, sizeof table);
    ck_assert_int_eq(planned(NULL, TPD_STRATEGY_AUTO, no_tile, 4096, 4096, 4).strategy, TPD_STRATEGY_VECTOR);
    ck_assert_int_eq(planned(&table, TPD_STRATEGY_AUTO, no_tile, 4096, 4096, 4).strategy, TPD_STRATEGY_VECTOR);
    put(4, true, TPD_SHAPE_LARGE, TPD_STRATEGY_SWIZZLED, 1);
    struct tpd_plan plan = planned(&table, TPD_STRATEGY_AUTO, no_tile, 4096, 4096, 4);
    ck_assert_int_eq(plan.strategy, TPD_STRATEGY_SWIZZLED);
    ck_assert_uint_eq(plan.variant, 1);
    ck_assert_uint_eq(plan.tile.rows, 64);
    /* Another item size, another shape, rows that are no whole vectors: the rule. */
    ck_assert_int_eq(planned(&table, TPD_STRATEGY_AUTO, no_tile, 4096, 4096, 8).strategy, TPD_STRATEGY_VECTOR);
    ck_assert_int_eq(planned(&table, TPD_STRATEGY_AUTO, no_tile, 256, 256, 4).strategy, TPD_STRATEGY_VECTOR);
    ck_assert_int_eq(planned(&table, TPD_STRATEGY_AUTO, no_tile, 4095, 4097, 4).strategy, TPD_STRATEGY_SHIFTED);
    /* What is named stays. */
    ck_assert_int_eq(planned(&table, TPD_STRATEGY_ROTATED, no_tile, 4096, 4096, 4).strategy, TPD_STRATEGY_ROTATED);
    ck_assert_uint_eq(planned(&table, TPD_STRATEGY_SWIZZLED, no_tile, 4096, 4096, 4).variant, 0);
    plan = planned(&table, TPD_STRATEGY_AUTO, tile, 4096, 4096, 4);
    ck_assert_int_eq(plan.strategy, TPD_STRATEGY_PADDED);
    ck_assert_uint_eq(plan.tile.cols, 64);
}
END_TEST

START_TEST(what_does_not_suit_gives_way) {
    memset(&table, 0, sizeof table);
    /* A strategy that does not take the matrix. */
    put(4, false, TPD_SHAPE_LARGE, TPD_STRATEGY_VECTOR, 0);
    ck_assert_int_eq(planned(&table, TPD_STRATEGY_AUTO, no_tile, 4095, 4097, 4).strategy, TPD_STRATEGY_SHIFTED);
    put(12, false, TPD_SHAPE_LARGE, TPD_STRATEGY_PADDED, 0);
    ck_assert_int_eq(planned(&table, TPD_STRATEGY_AUTO, no_tile, 3000, 3000, 12).strategy, TPD_STRATEGY_DIRECT);
    /* Squares of 64 x 64 where tiles of 32 x 32 would be full. */
    put(4, true, TPD_SHAPE_ROWS_32, TPD_STRATEGY_VECTOR, 1);
    ck_assert_uint_eq(planned(&table, TPD_STRATEGY_AUTO, no_tile, 64, 100000, 4).variant, 1);
    struct tpd_plan plan = planned(&table, TPD_STRATEGY_AUTO, no_tile, 32, 100000, 4);
    ck_assert_int_eq(plan.strategy, TPD_STRATEGY_VECTOR);
    ck_assert_uint_eq(plan.variant, 0);
    /* Shapes that overflow are refused with words, and those without items give no blocks. */
    struct tpd_matrix matrix = {UINT64_MAX / 2, 3, 1, 4, TPD_DTYPE_OPAQUE};
    ck_assert_int_eq(tpd_tuning_plan(&table, TPD_STRATEGY_AUTO, &matrix, no_tile, shared_most, &plan, &error), TPD_SIZE_OVERFLOW);
    ck_assert_uint_eq(planned(&table, TPD_STRATEGY_AUTO, no_tile, 0, 64, 4).blocks, 0);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("tuning");
    TCase *tests = tcase_create("tuning");
    tcase_add_test(tests, every_cell_has_a_matrix_of_its_own_shape);
    tcase_add_test(tests, shapes_of_matrices);
    tcase_add_test(tests, no_matrix_falls_through);
    tcase_add_loop_test(tests, every_variant_is_right, 0, 6);
    tcase_add_test(tests, variant_0_is_the_plain_plan);
    tcase_add_test(tests, auto_goes_by_the_table);
    tcase_add_test(tests, what_does_not_suit_gives_way);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
