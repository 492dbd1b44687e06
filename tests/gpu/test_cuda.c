/* test_cuda.c -- the CUDA back end on the GPU that is here: every case against the oracle, and what only a GPU can get wrong.
 *
 *     test_cuda            everything (a minute or two, 9 GB of host memory)
 *     test_cuda --quick    a grid small enough for compute-sanitizer: every kernel, whole tiles and edges
 *
 * Exits 77, saying why, where there is no GPU.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "harness.h"
#include "kernels/cuda/cuda_device.h"
#include "transposed/transposed.h"

static const struct tpd_backend *cuda;
static struct tpd_device *device;
static struct tpd_device_info info;
static bool quick;
static struct tpd_cuda_sizes mapped, mapped_uneven; /* the device's, as measured */
static struct tpd_error error;

static void prove(enum tpd_strategy_id strategy, uint64_t rows, uint64_t cols, uint64_t batch, uint32_t itemsize) {
    struct tpd_case one = {.strategy = strategy};
    one.matrix = tpd_strategy_fit(strategy, (struct tpd_matrix){rows, cols, batch, itemsize, TPD_DTYPE_OPAQUE});
    tpd_case_prove(cuda, device, &one);
}

START_TEST(device_is_ready) {
    cuda->info(device, &info);
    mapped = device->mapped;
    mapped_uneven = device->mapped_uneven;
    ck_assert_str_eq(info.id, "cuda:0");
    ck_assert_int_eq(info.state, TPD_STATE_READY);
    ck_assert_str_eq(info.reason, "");
    ck_assert_uint_gt(info.memory_pool_bytes, 0);
    ck_assert_uint_ge(info.memory_total_bytes, info.memory_pool_bytes);
    ck_assert_uint_eq(info.memory_used_bytes, 0);
    ck_assert_uint_ge(info.compute_capability, 50);
    ck_assert_uint_ge(info.shared_most_bytes, TPD_SHARED_STATIC_MOST);
    ck_assert_uint_ge(info.driver_version, info.runtime_version / 1000 * 1000);
    ck_assert_uint_eq(info.lanes, 4);
}
END_TEST

/* The ways that runs go from here on; what was measured at the start comes back at a test's end. */
static void go(enum tpd_cuda_way way) {
    device->mapped = (struct tpd_cuda_sizes){way == TPD_CUDA_MAPPED ? UINT64_MAX : 0, UINT64_MAX};
    device->mapped_uneven = device->mapped;
    device->panels_least_bytes = way == TPD_CUDA_PANELS ? 0 : UINT64_MAX;
}

static void go_as_measured(void) {
    device->mapped = mapped;
    device->mapped_uneven = mapped_uneven;
    device->panels_least_bytes = info.panels_least_bytes;
}

/* On the device's memory, and (what is small enough) on the host's.
 * Quick: every kernel and tile against two shapes that have whole tiles and edges, and shapes smaller than a tile. */
START_TEST(every_case) {
    struct tpd_cases cases = tpd_cases_begin(quick ? TPD_CASES_QUICK : TPD_CASES_ALL);
    struct tpd_case one;
    uint64_t proved = 0;
    go(_i == 0 ? TPD_CUDA_WHOLE : TPD_CUDA_MAPPED);
    while (tpd_cases_next(&cases, &one)) {
        const struct tpd_matrix *matrix = &one.matrix;
        bool small = (matrix->rows == 33 && matrix->cols == 33) || (matrix->rows == 3 && matrix->cols == 257) ||
                     (matrix->rows == 144 && matrix->cols == 272) || (matrix->rows == 1 && matrix->cols == 33);
        if (quick && one.tile.rows == 0 && !small)
            continue;
        tpd_case_prove(cuda, device, &one);
        proved++;
    }
    ck_assert_uint_gt(proved, 400);
    printf("%" PRIu64 " cases\n", proved);
    go_as_measured();
}
END_TEST

/* Every strategy, item sizes that are words and one that isn't, cut along rows and along columns, in rectangles and in groups. */
START_TEST(in_panels) {
    static const struct tpd_matrix shapes[] = {
        {1031, 777, 1, 1, TPD_DTYPE_OPAQUE}, {512, 2048, 1, 1, TPD_DTYPE_OPAQUE}, {60, 70, 40, 1, TPD_DTYPE_OPAQUE}};
    static const uint32_t itemsizes[] = {1, 2, 4, 8, 16, 12};
    static const uint64_t panels[] = {UINT64_C(1) << 16, 5000};
    const uint64_t panel_most_bytes = device->panel_most_bytes;
    const enum tpd_cuda_rows_by rows_by = device->rows_by;
    go(TPD_CUDA_PANELS);
    for (int id = 0; id <= TPD_STRATEGY_AUTO; id++)
        for (size_t i = 0; i < 6; i++)
            for (size_t s = 0; s < 3; s++) {
                struct tpd_matrix matrix = shapes[s];
                matrix.itemsize = itemsizes[i];
                matrix = tpd_strategy_fit((enum tpd_strategy_id)id, matrix);
                struct tpd_task task = {.matrix = matrix, .pinned = true, .strategy = (enum tpd_strategy_id)id};
                struct tpd_outcome outcome;
                if (cuda->check(device, &task, NULL) != TPD_OK)
                    continue; /* items that the strategy does not take */
                size_t bytes = (size_t)(matrix.rows * matrix.cols * matrix.batch * matrix.itemsize);
                unsigned char *in = cuda->host_alloc(bytes), *out = cuda->host_alloc(bytes), *expected = malloc(bytes);
                ck_assert(in != NULL && out != NULL && expected != NULL);
                tpd_random_fill(in, bytes, i + s);
                tpd_transpose_ref(&matrix, in, expected);
                task.in = in;
                task.out = out;
                for (size_t p = 0; p < (quick ? 3 : 6); p++) {
                    device->panel_most_bytes = panels[p / 3];
                    device->rows_by = (enum tpd_cuda_rows_by)(p % 3);
                    memset(out, 0xa5, bytes);
                    ck_assert_ok(cuda->run(device, &task, &outcome, &error), error);
                    ck_assert_msg(memcmp(out, expected, bytes) == 0, "strategy %d, items of %u bytes, shape %zu", id,
                                  matrix.itemsize, s);
                }
                cuda->host_free(in, bytes);
                cuda->host_free(out, bytes);
                free(expected);
            }
    device->panel_most_bytes = panel_most_bytes;
    device->rows_by = rows_by;
    go_as_measured();
}
END_TEST

START_TEST(tile_over_the_limit_is_refused_by_name) {
    char limit[32];
    struct tpd_task task = {.strategy = TPD_STRATEGY_NAIVE, .tile = {128, 128}};
    task.matrix = (struct tpd_matrix){.rows = 200, .cols = 200, .batch = 1, .itemsize = 16, .dtype = TPD_DTYPE_OPAQUE};
    (void)snprintf(limit, sizeof limit, "%" PRIu64, info.shared_most_bytes);
    ck_assert_uint_lt(info.shared_most_bytes, 128 * 128 * 16);
    ck_assert_int_eq(cuda->check(device, &task, &error), TPD_UNSUPPORTED);
    ck_assert_msg(strstr(error.text, limit) != NULL, "does not name %s: %s", limit, error.text);
}
END_TEST

/* Either way, by each strategy: no grid dimension but x could hold them. */
START_TEST(more_than_65535_tiles) {
    prove((enum tpd_strategy_id)_i, 2200000, 33, 1, 1);
    prove((enum tpd_strategy_id)_i, 33, 2200000, 1, 1);
    prove((enum tpd_strategy_id)_i, 3, 5, 70000, 4);
}
END_TEST

static void run_big(enum tpd_strategy_id strategy, struct tpd_matrix matrix, const unsigned char *in, unsigned char *out) {
    struct tpd_task task = {.matrix = matrix, .in = in, .out = out, .strategy = strategy};
    struct tpd_outcome outcome;
    uint64_t bytes;
    ck_assert_ok(tpd_matrix_bytes(&matrix, &bytes, &error), error);
    memset(out, 0xa5, bytes);
    ck_assert_ok(cuda->run(device, &task, &outcome, &error), error);
}

/* The oracle in blocks that fit the cache: three plain loops over 2^31 items would take minutes. */
static bool is_transpose(const unsigned char *in, const unsigned char *out, const struct tpd_matrix *matrix) {
    enum { BLOCK = 64 };
    const uint64_t rows = matrix->rows, cols = matrix->cols;
    for (uint64_t done = 1; done < matrix->batch; done++, in += rows * cols, out += rows * cols) {
        const struct tpd_matrix one = {rows, cols, 1, 1, TPD_DTYPE_UINT8};
        if (!is_transpose(in, out, &one))
            return false;
    }
    for (uint64_t r0 = 0; r0 < rows; r0 += BLOCK)
        for (uint64_t c0 = 0; c0 < cols; c0 += BLOCK)
            for (uint64_t r = r0; r < rows && r < r0 + BLOCK; r++)
                for (uint64_t c = c0; c < cols && c < c0 + BLOCK; c++)
                    if (in[r * cols + c] != out[c * rows + r])
                        return false;
    return true;
}

/* 65537 x 32769 items pass 2^31, where a 32-bit index would wrap; 2^31 + 3 matrices pass the blocks of one grid. */
START_TEST(more_than_two_to_the_31) {
    const struct tpd_matrix wide = {.rows = 65537, .cols = 32769, .batch = 1, .itemsize = 1, .dtype = TPD_DTYPE_UINT8};
    const struct tpd_matrix many = {.rows = 1, .cols = 1, .batch = 2147483651, .itemsize = 1, .dtype = TPD_DTYPE_UINT8};
    const struct tpd_matrix most = tpd_strategy_fit(TPD_STRATEGY_VECTOR, wide);
    size_t bytes = (size_t)many.batch > (size_t)(most.rows * most.cols) ? (size_t)many.batch : (size_t)(most.rows * most.cols);
    unsigned char *in = malloc(bytes), *out = malloc(bytes);
    ck_assert(in != NULL && out != NULL);
    tpd_random_fill(in, bytes, 31);
    for (int id = 0; id <= TPD_STRATEGY_AUTO; id++) {
        const struct tpd_matrix matrix = tpd_strategy_fit((enum tpd_strategy_id)id, wide);
        run_big((enum tpd_strategy_id)id, matrix, in, out);
        ck_assert_msg(is_transpose(in, out, &matrix), "strategy %d: 2^31 items", id);
    }
    run_big(TPD_STRATEGY_PADDED, many, in, out);
    ck_assert_msg(memcmp(in, out, (size_t)many.batch) == 0, "2^31 + 3 blocks");
    free(in);
    free(out);
}
END_TEST

START_TEST(pinned_memory_and_times) {
    enum { SIDE = 1500 };
    const struct tpd_matrix matrix = {.rows = SIDE, .cols = SIDE + 1, .batch = 1, .itemsize = 4, .dtype = TPD_DTYPE_FLOAT32};
    const size_t bytes = (size_t)SIDE * (SIDE + 1) * 4;
    unsigned char *in = cuda->host_alloc(bytes), *out = cuda->host_alloc(bytes), *expected = malloc(bytes);
    ck_assert(in != NULL && out != NULL && expected != NULL);
    tpd_random_fill(in, bytes, 5);
    memset(out, 0xa5, bytes);
    tpd_transpose_ref(&matrix, in, expected);
    struct tpd_task task = {.matrix = matrix, .in = in, .out = out, .pinned = true, .strategy = TPD_STRATEGY_AUTO};
    struct tpd_outcome outcome;
    for (int way = 0; way < TPD_CUDA_WAYS; way++) {
        go((enum tpd_cuda_way)way);
        memset(out, 0xa5, bytes);
        ck_assert_ok(cuda->run(device, &task, &outcome, &error), error);
        ck_assert(memcmp(out, expected, bytes) == 0);
        ck_assert(way == TPD_CUDA_MAPPED ? outcome.h2d_ns == 0 : outcome.h2d_ns > 1000);
        ck_assert_uint_gt(outcome.kernel_ns, 1000);
        ck_assert(way == TPD_CUDA_MAPPED ? outcome.d2h_ns == 0 : outcome.d2h_ns > 1000);
        ck_assert_uint_lt(outcome.kernel_ns, 1000000000);
    }
    go_as_measured();
    cuda->host_free(in, bytes);
    cuda->host_free(out, bytes);
    free(expected);
}
END_TEST

struct crowd {
    uint64_t seed;
    uint32_t wrong, failed;
};

static void *crowd_main(void *argument) {
    struct crowd *crowd = argument;
    for (uint64_t i = 0; i < (quick ? 5u : 60u); i++) {
        struct tpd_matrix matrix = {.batch = 1, .itemsize = 1u << ((crowd->seed + i) % 5), .dtype = TPD_DTYPE_OPAQUE};
        matrix.rows = 1 + (crowd->seed * 311 + i * 173) % 700;
        matrix.cols = 1 + (crowd->seed * 97 + i * 131) % 900;
        const enum tpd_strategy_id strategy = (enum tpd_strategy_id)((crowd->seed + i) % (TPD_STRATEGY_COUNT + 1));
        matrix = tpd_strategy_fit(strategy, matrix);
        size_t bytes = (size_t)(matrix.rows * matrix.cols * matrix.batch * matrix.itemsize);
        struct tpd_guarded in = tpd_guarded_make(bytes, i % 9), out = tpd_guarded_make(bytes, i % 5);
        unsigned char *expected = malloc(bytes);
        if (expected == NULL)
            abort();
        tpd_random_fill(in.data, bytes, crowd->seed * 1000 + i);
        tpd_transpose_ref(&matrix, in.data, expected);
        struct tpd_task task = {.matrix = matrix, .in = in.data, .out = out.data, .strategy = strategy};
        struct tpd_outcome outcome;
        if (cuda->run(device, &task, &outcome, NULL) != TPD_OK)
            crowd->failed++;
        else if (memcmp(out.data, expected, bytes) != 0)
            crowd->wrong++;
        tpd_guarded_free(&in);
        tpd_guarded_free(&out);
        free(expected);
    }
    return NULL;
}

START_TEST(eight_threads) {
    struct crowd crowd[8];
    pthread_t threads[8];
    for (uint64_t i = 0; i < 8; i++) {
        crowd[i] = (struct crowd){.seed = i + 1};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, crowd_main, &crowd[i]), 0);
    }
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 8; i++) {
        ck_assert_uint_eq(crowd[i].failed, 0);
        ck_assert_uint_eq(crowd[i].wrong, 0);
    }
}
END_TEST

/* Every way that the tuner may choose, by tables that know no other. */
START_TEST(every_variant) {
    static const uint64_t shapes[][3] = {{144, 272, 1}, {67, 129, 3}, {3, 5001, 1}, {6, 3001, 1},
                                         {4001, 17, 1}, {3001, 4, 1}, {5, 3, 3000}, {2048, 1040, 1}};
    static struct tpd_tuning table;
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        for (uint32_t variant = 1; variant < tpd_strategy_variants((enum tpd_strategy_id)id); variant++) {
            struct tpd_tuning_cell *cell = &table.cell[0][0][0];
            for (size_t i = 0; i < sizeof table.cell / sizeof *cell; i++)
                cell[i] = (struct tpd_tuning_cell){.bytes = 1, .best = {(enum tpd_strategy_id)id, variant, 1}};
            table.cells = sizeof table.cell / sizeof *cell;
            ck_assert_ok(cuda->tune(device, 0, &table, &error), error);
            for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
                for (size_t s = 0; s < sizeof shapes / sizeof *shapes - (quick ? 1 : 0); s++)
                    prove(TPD_STRATEGY_AUTO, shapes[s][0], shapes[s][1], shapes[s][2], tpd_tuning_itemsize(size));
        }
}
END_TEST

/* What it measured is used, and answers are right; then the rules again. */
START_TEST(tuned_by_measurement) {
    static struct tpd_tuning table, none;
    ck_assert_ok(cuda->tune(device, quick ? 20000000 : 1500000000, &table, &error), error);
    printf("%" PRIu32 " cells tuned\n", table.cells);
    ck_assert(quick || table.cells > 50);
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
        for (uint64_t side = 2; side < (quick ? 100 : 3000); side += side / 2) {
            prove(TPD_STRATEGY_AUTO, side, side + 1, 1, tpd_tuning_itemsize(size));
            prove(TPD_STRATEGY_AUTO, side * 3, (side & 0xfffffff0) | 16, 1, tpd_tuning_itemsize(size));
        }
    ck_assert_ok(cuda->tune(device, 0, &none, &error), error);
}
END_TEST

/* Last: none of the above left an error behind, or memory. */
START_TEST(nothing_went_wrong) {
    struct tpd_device_error list[4];
    cuda->info(device, &info);
    ck_assert_int_eq(info.state, TPD_STATE_READY);
    ck_assert_uint_eq(info.memory_used_bytes, 0);
    uint32_t rows = cuda->errors(list, 4);
    ck_assert_msg(rows == 0, "%s, %" PRIu64 " times", rows != 0 ? list[0].name : "", rows != 0 ? list[0].count : 0);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("cuda");
    /* Three, because some of compute-sanitizer's tools make a launch a hundred times as slow: the kernels are enough for those.
     */
    TCase *kernels = tcase_create("kernels"), *ways = tcase_create("ways"), *tuner = tcase_create("tuner");
    tcase_add_test(kernels, device_is_ready);
    tcase_add_loop_test(kernels, every_case, 0, 2);
    tcase_add_test(kernels, every_variant);
    tcase_add_test(kernels, nothing_went_wrong);
    suite_add_tcase(suite, kernels);
    tcase_add_test(ways, device_is_ready);
    tcase_add_test(ways, in_panels);
    tcase_add_test(ways, tile_over_the_limit_is_refused_by_name);
    if (!quick) {
        tcase_add_loop_test(ways, more_than_65535_tiles, 0, TPD_STRATEGY_COUNT);
        tcase_add_test(ways, more_than_two_to_the_31);
    }
    tcase_add_test(ways, pinned_memory_and_times);
    tcase_add_test(ways, eight_threads);
    tcase_add_test(ways, nothing_went_wrong);
    suite_add_tcase(suite, ways);
    tcase_add_test(tuner, tuned_by_measurement);
    tcase_add_test(tuner, nothing_went_wrong);
    suite_add_tcase(suite, tuner);
    return suite;
}

int main(int argc, char **argv) {
    quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    cuda = tpd_backend_at(TPD_BACKEND_CUDA);
    if (cuda == NULL || cuda->count(&error) == 0) {
        printf("waived: %s\n", cuda == NULL ? "built without CUDA" : error.text);
        return 77;
    }
    /* A context does not outlive a fork, so the tests share this process. */
    if (setenv("CK_FORK", "no", 1) != 0)
        return EXIT_FAILURE;
    struct tpd_device_options options = {.device_memory_bytes = quick ? UINT64_C(64) << 20 : 0, .tile = {64, 64}};
    if (cuda->open(0, &options, &device, &error) != TPD_OK) {
        printf("%s\n", error.text);
        return EXIT_FAILURE;
    }
    int code = tpd_harness_main(suite());
    cuda->close(device);
    return code;
}
