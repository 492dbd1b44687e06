/* test_bench.c -- what `transposed bench` takes, its grid, what it scales down, and that its check and its copies can be trusted.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "server/cmd/bench_host.h"
#include "server/cmd/bench_rows.h"
#include "transposed/transposed.h"

static struct tpd_bench_ask ask;
static struct tpd_error error;

static void setup(void) {
    tpd_bench_ask_init(&ask);
}

START_TEST(shapes_are_read) {
    ck_assert_ok(tpd_bench_ask_shape(&ask, "64x48", &error), error);
    ck_assert_ok(tpd_bench_ask_shape(&ask, "3x5x70000", &error), error);
    tpd_bench_ask_complete(&ask);
    ck_assert_uint_eq(ask.shapes, 2);
    ck_assert(!ask.is_grid);
    ck_assert_uint_eq(ask.shape[0].rows, 64);
    ck_assert_uint_eq(ask.shape[0].cols, 48);
    ck_assert_uint_eq(ask.shape[0].batch, 1);
    ck_assert_uint_eq(ask.shape[1].batch, 70000);
    char text[TPD_BENCH_SHAPE_BYTES];
    tpd_bench_shape_print(&ask.shape[1], text);
    ck_assert_str_eq(text, "3x5x70000");
    tpd_bench_shape_print(&ask.shape[0], text);
    ck_assert_str_eq(text, "64x48");
}
END_TEST

START_TEST(wrong_shapes_are_named) {
    static const char *const wrong[] = {"",
                                        "5",
                                        "5x",
                                        "x5",
                                        "5x5x",
                                        "5x5x5x5",
                                        "0x5",
                                        "5x0",
                                        "5x5x0",
                                        "-5x5",
                                        "5X5",
                                        "5 x5",
                                        "5x5 ",
                                        "18446744073709551616x1",
                                        "1x99999999999999999999999999",
                                        "4294967296x4294967296",
                                        "5.5x5"};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ck_assert_msg(tpd_bench_ask_shape(&ask, wrong[i], &error) != TPD_OK, "%s was taken", wrong[i]);
        ck_assert_str_ne(error.text, "");
        ck_assert_uint_eq(ask.shapes, 0);
    }
}
END_TEST

START_TEST(lists_have_a_ceiling) {
    for (int i = 0; i < TPD_BENCH_LIST_MOST; i++) {
        ck_assert_ok(tpd_bench_ask_shape(&ask, "2x3", &error), error);
        ck_assert_ok(tpd_bench_ask_itemsize(&ask, "12", &error), error);
        ck_assert_ok(tpd_bench_ask_strategy(&ask, "auto", &error), error);
        ck_assert_ok(tpd_bench_ask_device(&ask, "cuda:3", &error), error);
        ck_assert_ok(tpd_bench_ask_threads(&ask, "2", &error), error);
    }
    ck_assert_int_eq(tpd_bench_ask_shape(&ask, "2x3", &error), TPD_BAD_PARAMETER);
    ck_assert_ptr_nonnull(strstr(error.text, "--shape"));
    ck_assert_int_eq(tpd_bench_ask_itemsize(&ask, "12", &error), TPD_BAD_PARAMETER);
    ck_assert_int_eq(tpd_bench_ask_strategy(&ask, "auto", &error), TPD_BAD_PARAMETER);
    ck_assert_int_eq(tpd_bench_ask_device(&ask, "cpu", &error), TPD_BAD_PARAMETER);
    ck_assert_int_eq(tpd_bench_ask_threads(&ask, "2", &error), TPD_BAD_PARAMETER);
}
END_TEST

START_TEST(other_words_are_refused) {
    ck_assert_int_eq(tpd_bench_ask_itemsize(&ask, "0", &error), TPD_BAD_PARAMETER);
    ck_assert_int_eq(tpd_bench_ask_itemsize(&ask, "5000", &error), TPD_BAD_PARAMETER);
    ck_assert_int_eq(tpd_bench_ask_strategy(&ask, "magic", &error), TPD_UNKNOWN_STRATEGY);
    ck_assert_int_eq(tpd_bench_ask_device(&ask, "tpu", &error), TPD_UNKNOWN_DEVICE);
    ck_assert_int_eq(tpd_bench_ask_device(&ask, "cuda:12345678901234567890", &error), TPD_UNKNOWN_DEVICE);
    ck_assert_int_eq(tpd_bench_ask_threads(&ask, "0", &error), TPD_BAD_PARAMETER);
    ck_assert_ok(tpd_bench_ask_strategy(&ask, "all", &error), error);
    ck_assert_uint_eq(ask.strategies, TPD_STRATEGY_COUNT + 1);
    ck_assert_int_eq(tpd_bench_ask_strategy(&ask, "padded", &error), TPD_BAD_PARAMETER);
    ck_assert_int_eq(tpd_bench_ask_strategy(&ask, "all", &error), TPD_BAD_PARAMETER);
}
END_TEST

START_TEST(defaults_are_the_grid) {
    tpd_bench_ask_complete(&ask);
    ck_assert(ask.is_grid);
    ck_assert_uint_eq(ask.shapes, tpd_bench_grid_rows);
    ck_assert_uint_ge(ask.shapes, 20);
    ck_assert_uint_eq(ask.itemsizes, 5);
    ck_assert_uint_eq(ask.itemsize[4], 16);
    ck_assert_uint_eq(ask.strategies, 1);
    ck_assert_int_eq(ask.strategy[0], TPD_STRATEGY_AUTO);
    ck_assert_uint_eq(ask.devices, 1);
    ck_assert_uint_ge(ask.turns, 15);
}
END_TEST

/* A shape twice would be measured twice and have two bars; a bar over 100 % is a slip of the pen. */
START_TEST(the_grid_is_sound) {
    for (unsigned i = 0; i < tpd_bench_grid_rows; i++) {
        const struct tpd_bench_row *row = &tpd_bench_grid[i];
        for (unsigned j = 0; j < i; j++)
            ck_assert_msg(memcmp(&row->shape, &tpd_bench_grid[j].shape, sizeof row->shape) != 0, "row %u is row %u again", i, j);
        for (int device = 0; device < 2; device++)
            for (int size = 0; size < TPD_BENCH_SIZES; size++)
                ck_assert_uint_le(row->bar[device][size], 100);
    }
    bool plain;
    const struct tpd_bench_shape big = {16384, 16384, 1}, small = {1024, 1024, 1}, none = {12, 34, 1};
    ck_assert_double_eq_tol(tpd_bench_bar(&big, 4, false, &plain), 0.96, 1e-9);
    ck_assert(!plain);
    ck_assert_double_eq_tol(tpd_bench_bar(&big, 1, true, &plain), 0.65, 1e-9);
    ck_assert_double_eq_tol(tpd_bench_bar(&small, 16, false, &plain), 0.92, 1e-9);
    ck_assert(plain);
    ck_assert_double_eq_tol(tpd_bench_bar(&big, 12, false, &plain), 0, 1e-9);
    ck_assert_double_eq_tol(tpd_bench_bar(&none, 4, false, &plain), 0, 1e-9);
}
END_TEST

START_TEST(scaling_keeps_the_kind) {
    static const struct {
        struct tpd_bench_shape from;
        uint32_t itemsize;
        uint64_t most;
        struct tpd_bench_shape to;
    } cases[] = {
        {{16384, 16384, 1}, 4, UINT64_C(1) << 30, {16384, 16384, 1}},
        {{16384, 16384, 1}, 4, (UINT64_C(1) << 30) - 1, {8192, 16384, 1}},
        {{16384, 16384, 1}, 4, UINT64_C(1) << 28, {8192, 8192, 1}},
        {{8191, 8193, 1}, 4, UINT64_C(70) << 20, {4095, 4097, 1}},
        {{3, 40000000, 1}, 16, UINT64_C(1) << 30, {3, 20000000, 1}},
        {{20000000, 7, 1}, 1, UINT64_C(100) << 20, {10000000, 7, 1}},
        {{3, 5, 70000}, 4, 100000, {3, 5, 1094}},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tpd_bench_shape shape = cases[i].from;
        ck_assert(tpd_bench_shape_fit(&shape, cases[i].itemsize, cases[i].most));
        char text[TPD_BENCH_SHAPE_BYTES];
        tpd_bench_shape_print(&shape, text);
        ck_assert_uint_le(shape.rows * shape.cols * shape.batch * cases[i].itemsize, cases[i].most);
        if (cases[i].from.batch == 1)
            ck_assert_msg(memcmp(&shape, &cases[i].to, sizeof shape) == 0, "case %u gives %s", i, text);
    }
    struct tpd_bench_shape shape = {1, 1, 1};
    ck_assert(!tpd_bench_shape_fit(&shape, 16, 15));
}
END_TEST

/* As it is, or refused with its own bytes, the limit and a way out that works; never as a smaller one. */
START_TEST(named_shapes_are_done_or_refused) {
    struct tpd_bench_shape shape;
    ck_assert_ok(tpd_bench_ask_shape(&ask, "1000x1000", &error), error);
    tpd_bench_ask_complete(&ask);
    ck_assert_ok(tpd_bench_ask_fit(&ask, &ask.shape[0], 4, 4000000, true, &shape, &error), error);
    ck_assert_mem_eq(&shape, &ask.shape[0], sizeof shape);
    ck_assert_int_eq(tpd_bench_ask_fit(&ask, &ask.shape[0], 4, 3999999, true, &shape, &error), TPD_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(error.text, "1000x1000 with items of 4 bytes has 4000000 bytes, one matrix may have 3999999"));
    ck_assert_ptr_nonnull(strstr(error.text, "give --memory 8000000 where"));
    ck_assert_uint_eq(error.limit, 3999999);
    ck_assert_uint_eq(error.actual, 4000000);
    ck_assert_int_eq(tpd_bench_ask_fit(&ask, &ask.shape[0], 4, 3999999, false, &shape, &error), TPD_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(error.text, "the device's memory: name a smaller one"));
    ck_assert_ptr_null(strstr(error.text, "--memory"));
    const struct tpd_bench_shape huge = {4000000000, 2000000000, 1};
    ck_assert_int_eq(tpd_bench_ask_fit(&ask, &huge, 1, UINT32_MAX, true, &shape, &error), TPD_TOO_LARGE);
    ck_assert_ptr_nonnull(
        strstr(error.text, "give --memory 16000000000000000000 where the machine has as much, or name a smaller one"));
    ck_assert_int_eq(tpd_bench_ask_fit(&ask, &huge, 4, UINT32_MAX, true, &shape, &error), TPD_SIZE_OVERFLOW);
}
END_TEST

/* The check sees every single item that is wrong, and only those. */
START_TEST(the_check_can_fail) {
    static const struct tpd_matrix matrices[] = {
        {64, 48, 1, 4, TPD_DTYPE_OPAQUE},  {3, 5, 7, 1, TPD_DTYPE_OPAQUE},     {1, 100, 1, 2, TPD_DTYPE_OPAQUE},
        {100, 1, 2, 8, TPD_DTYPE_OPAQUE},  {3, 2000, 1, 16, TPD_DTYPE_OPAQUE}, {2000, 3, 1, 1, TPD_DTYPE_OPAQUE},
        {33, 65, 2, 12, TPD_DTYPE_OPAQUE}, {5, 3, 1, 4096, TPD_DTYPE_OPAQUE},  {97, 101, 1, 1, TPD_DTYPE_OPAQUE},
    };
    for (unsigned i = 0; i < sizeof matrices / sizeof matrices[0]; i++) {
        const struct tpd_matrix *matrix = &matrices[i];
        const size_t items = tpd_matrix_items(matrix), bytes = items * matrix->itemsize;
        struct tpd_guarded in = tpd_guarded_make(bytes, 1), out = tpd_guarded_make(bytes, 3);
        tpd_random_fill(in.data, bytes, i);
        tpd_transpose_ref(matrix, in.data, out.data);
        ck_assert_uint_eq(tpd_bench_count_wrong(matrix, in.data, out.data), 0);
        for (size_t item = 0; item<items; item += items> 500 ? 37 : 1) {
            unsigned char *last = out.data + (item + 1) * matrix->itemsize - 1;
            *last ^= 0x80;
            ck_assert_uint_eq(tpd_bench_count_wrong(matrix, in.data, out.data), 1);
            *last ^= 0x80;
        }
        memset(out.data, 0xa5, bytes); /* never written */
        ck_assert_uint_gt(tpd_bench_count_wrong(matrix, in.data, out.data), items / 2);
        tpd_guarded_check(&in);
        tpd_guarded_check(&out);
        tpd_guarded_free(&in);
        tpd_guarded_free(&out);
    }
}
END_TEST

START_TEST(copies_copy) {
    static const size_t sizes[] = {1, 63, 64, 65, 4096, 300000, (3 << 20) + 17};
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct tpd_copy_crew *crew;
        ck_assert_ok(tpd_copy_crew_create(threads, &crew, &error), error);
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            for (int past = 0; past < 2; past++) {
                struct tpd_guarded in = tpd_guarded_make(sizes[i], i), out = tpd_guarded_make(sizes[i], 5 * i);
                tpd_random_fill(in.data, sizes[i], i + 1);
                tpd_copy_crew_run(crew, out.data, in.data, sizes[i], past != 0);
                ck_assert_int_eq(memcmp(in.data, out.data, sizes[i]), 0);
                tpd_guarded_check(&out);
                tpd_guarded_free(&in);
                tpd_guarded_free(&out);
            }
        tpd_copy_crew_destroy(crew);
    }
    tpd_copy_crew_destroy(NULL);
}
END_TEST

/* A back end that leaves one item unwritten. */
static const struct tpd_backend *honest;
static enum tpd_status lie(struct tpd_device *device, const struct tpd_task *task, struct tpd_outcome *outcome,
                           struct tpd_error *e) {
    enum tpd_status status = honest->run(device, task, outcome, e);
    ((unsigned char *)task->out)[task->matrix.itemsize] ^= 1;
    return status;
}

START_TEST(a_wrong_transpose_is_never_timed) {
    struct tpd_device_options options = {.cpu_threads = 2};
    struct tpd_device *device;
    struct tpd_bench_host host;
    struct tpd_measurement *result = calloc(1, sizeof *result);
    struct tpd_measure measure = {
        .matrix = {64, 48, 1, 4, TPD_DTYPE_OPAQUE}, .strategy = TPD_STRATEGY_AUTO, .turns = 4, .budget_ns = UINT64_MAX / 4};
    honest = tpd_backend_at(TPD_BACKEND_CPU);
    struct tpd_backend liar = *honest;
    liar.run = lie;
    ck_assert_ptr_nonnull(result);
    ck_assert_ok(honest->open(0, &options, &device, &error), error);
    ck_assert_ok(tpd_bench_host_init(&host, 2, &error), error);
    ck_assert_ok(tpd_bench_host_measure(&host, honest, device, &measure, result, &error), error);
    ck_assert_uint_eq(result->wrong_items, 0);
    ck_assert_uint_ge(result->turns, TPD_MEASURE_TURNS_LEAST);
    ck_assert_ok(tpd_bench_host_measure(&host, &liar, device, &measure, result, &error), error);
    ck_assert_uint_eq(result->wrong_items, 1);
    ck_assert_uint_eq(result->turns, 0);

    struct tpd_bench_result row = {.shape = {64, 48, 1}, .asked_shape = {64, 48, 1}, .itemsize = 4};
    struct tpd_buf out;
    tpd_bench_result_fill(&row, result);
    tpd_buf_init(&out, 1 << 16);
    tpd_bench_line(&out, &row);
    ck_assert_ptr_nonnull(strstr(out.data, "WRONG"));
    tpd_buf_clear(&out);
    tpd_bench_json(&out, &row);
    ck_assert_ptr_nonnull(strstr(out.data, "\"verified\":false"));
    ck_assert_ptr_nonnull(strstr(out.data, "\"seconds_median\":null"));
    tpd_buf_fini(&out);
    tpd_bench_host_fini(&host);
    honest->close(device);
    free(result);
}
END_TEST

static struct tpd_bench_result row_of(const char *strategy, bool is_auto, double seconds) {
    struct tpd_bench_result row = {.device = "cuda:0",
                                   .shape = {16384, 16384, 1},
                                   .asked_shape = {16384, 16384, 1},
                                   .itemsize = 4,
                                   .bytes = UINT64_C(1) << 30,
                                   .strategy = strategy,
                                   .is_auto = is_auto,
                                   .verified = true,
                                   .turns = 15,
                                   .median_s = {seconds, 1e-3, 1.1e-3},
                                   .least_s = seconds,
                                   .bar = 0.96,
                                   .cache_least_bytes = 50 << 20,
                                   .cache_most_bytes = 50 << 20};
    return row;
}

START_TEST(a_cell_under_its_bar_is_marked) {
    struct tpd_buf out;
    struct tpd_bench_result under = row_of("vector", true, 1.1e-3), over = row_of("vector", true, 1.02e-3);
    tpd_buf_init(&out, 1 << 16);
    tpd_bench_line(&out, &under);
    ck_assert_ptr_nonnull(strstr(out.data, "0.96 **under**"));
    ck_assert_ptr_nonnull(strstr(out.data, " 0.909 |"));
    ck_assert_ptr_nonnull(strstr(out.data, "| cold"));
    tpd_buf_clear(&out);
    tpd_bench_line(&out, &over);
    ck_assert_ptr_null(strstr(out.data, "under"));
    tpd_buf_clear(&out);
    struct tpd_bench_result cell[] = {under, row_of("vector", false, 1.1e-3), row_of("padded", false, 1.05e-3)};
    tpd_bench_cells_head(&out);
    tpd_bench_cell_line(&out, cell, 3);
    ck_assert_ptr_nonnull(
        strstr(out.data, "| 16384x16384:4 | cuda:0 | 1000.0 | 2147 | 0.91 | vector | 0.909 | 0.96 **under** | padded 0.952 |"));
    tpd_buf_fini(&out);
}
END_TEST

START_TEST(caches_are_told_apart) {
    struct tpd_bench_result row = row_of("vector", true, 1e-3);
    row.cache_least_bytes = 4 << 20;
    row.cache_most_bytes = 480 << 20;
    row.bytes = 2 << 20;
    ck_assert_str_eq(tpd_bench_cache(&row), "warm");
    row.bytes++;
    ck_assert_str_eq(tpd_bench_cache(&row), "mixed");
    row.bytes = (480 << 20) + 1;
    ck_assert_str_eq(tpd_bench_cache(&row), "cold");
    row.cache_most_bytes = 0;
    ck_assert_str_eq(tpd_bench_cache(&row), "unknown");
}
END_TEST

/* A plain pattern whose figures are known from the layout: 32 columns of 4 bytes without padding fall into one bank. */
START_TEST(the_model_is_of_the_kernel_that_ran) {
    struct tpd_bench_result row = row_of("naive", false, 1e-3);
    row.tile = (struct tpd_tile){32, 32};
    tpd_bench_result_model(&row);
    ck_assert(row.has_shared && row.has_global);
    ck_assert_double_eq_tol(row.wavefronts[TPD_OP_LOAD], 32, 1e-9);
    ck_assert_double_eq_tol(row.wavefronts[TPD_OP_STORE], 1, 1e-9);
    ck_assert_double_eq_tol(row.sectors[TPD_OP_LOAD], 4, 1e-9);
    struct tpd_bench_result cpu = row_of("blocked", true, 1e-3);
    tpd_bench_result_model(&cpu);
    ck_assert(!cpu.has_shared && !cpu.has_global);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("bench");
    TCase *tests = tcase_create("bench");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, shapes_are_read);
    tcase_add_test(tests, wrong_shapes_are_named);
    tcase_add_test(tests, lists_have_a_ceiling);
    tcase_add_test(tests, other_words_are_refused);
    tcase_add_test(tests, defaults_are_the_grid);
    tcase_add_test(tests, the_grid_is_sound);
    tcase_add_test(tests, scaling_keeps_the_kind);
    tcase_add_test(tests, named_shapes_are_done_or_refused);
    tcase_add_test(tests, the_check_can_fail);
    tcase_add_test(tests, copies_copy);
    tcase_add_test(tests, a_wrong_transpose_is_never_timed);
    tcase_add_test(tests, a_cell_under_its_bar_is_marked);
    tcase_add_test(tests, caches_are_told_apart);
    tcase_add_test(tests, the_model_is_of_the_kernel_that_ran);
    suite_add_tcase(suite, tests);
    return tpd_harness_main(suite);
}
