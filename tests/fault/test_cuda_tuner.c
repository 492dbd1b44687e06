/* test_cuda_tuner.c -- the tuner on a GPU whose kernels cost what the test says, and on one that fails its Nth call. */
#include <stdlib.h>
#include <string.h>

#include "cuda_rig.h"
#include "transposed/clock.h"

/* Large enough for the huge shapes: the pool is all of it, and half of that is for a matrix. */
static const uint64_t memory_bytes = (uint64_t)1026 << 20;
static const uint64_t plenty_ns = UINT64_C(1000000000000);
static struct tpd_error error;
static struct tpd_tuning table;

static struct tpd_device *open_device(uint64_t bytes) {
    return open_with((struct tpd_device_options){.lanes = 2, .device_memory_bytes = bytes});
}

/* `swapped` with tiles of 64 x 64 beats all for squares of 4 bytes; the other order of `shifted` for large unaligned ones;
 * everything else costs the same, but `direct`, which is a little slower. */
static uint64_t price(const struct tpd_plan *plan) {
    const struct tpd_matrix *matrix = &plan->matrix;
    if (plan->strategy == TPD_STRATEGY_SWAPPED && plan->variant == 1 && matrix->itemsize == 4 && matrix->rows == matrix->cols)
        return 50000;
    if (plan->strategy == TPD_STRATEGY_SHIFTED && !plan->goes_down && matrix->rows % 2 != 0)
        return 80000;
    return plan->strategy == TPD_STRATEGY_DIRECT ? 101000 : 100000;
}

static const struct tpd_tuning_cell *cell_at(uint32_t itemsize, bool aligned, enum tpd_tuning_shape shape) {
    return &table.cell[tpd_tuning_size(itemsize)][aligned][shape];
}

static uint32_t count_cells(uint64_t most_bytes) {
    uint32_t count = 0;
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
        for (int aligned = 0; aligned < 2; aligned++)
            for (int shape = 0; shape < TPD_SHAPE_COUNT; shape++) {
                struct tpd_matrix matrix;
                uint64_t bytes;
                if (tpd_tuning_matrix(size, aligned != 0, (enum tpd_tuning_shape)shape, &matrix) &&
                    tpd_matrix_bytes(&matrix, &bytes, NULL) == TPD_OK)
                    count += bytes <= most_bytes;
            }
    return count;
}

START_TEST(the_cheapest_is_chosen) {
    fake_cuda_reset(memory_bytes, 0, 0);
    fake_cuda_price(price);
    struct tpd_device *device = open_device(memory_bytes);
    memset(&table, 0, sizeof table);
    ck_assert_ok(cuda->tune(device, plenty_ns, &table, &error), error);
    ck_assert_uint_eq(table.cells, count_cells(memory_bytes / 2));
    /* Among the strategies that were good for large ones. */
    ck_assert_int_eq(cell_at(4, true, TPD_SHAPE_HUGE)->best.strategy, TPD_STRATEGY_SWAPPED);
    ck_assert_int_eq(cell_at(4, false, TPD_SHAPE_HUGE)->best.strategy, TPD_STRATEGY_SHIFTED);

    const struct tpd_tuning_cell *cell = cell_at(4, true, TPD_SHAPE_LARGE);
    ck_assert_int_eq(cell->best.strategy, TPD_STRATEGY_SWAPPED);
    ck_assert_uint_eq(cell->best.variant, 1);
    ck_assert_uint_eq(cell->best.ns, 50000);
    ck_assert_uint_eq(cell->bytes, 64 << 20);
    ck_assert_uint_eq(cell->next.ns, 100000);
    ck_assert_int_eq(cell->rule.strategy, TPD_STRATEGY_VECTOR);
    ck_assert_uint_eq(cell->rule.ns, 100000);

    cell = cell_at(4, false, TPD_SHAPE_LARGE); /* the rule's strategy, in another order */
    ck_assert_int_eq(cell->best.strategy, TPD_STRATEGY_SHIFTED);
    ck_assert_uint_eq(cell->best.variant, 2);
    ck_assert_int_eq(cell->rule.strategy, TPD_STRATEGY_SHIFTED);
    ck_assert_uint_eq(cell->rule.variant, 0);

    cell = cell_at(8, true, TPD_SHAPE_ROWS_128); /* nobody is faster: the rule stays */
    ck_assert_int_eq(cell->best.strategy, cell->rule.strategy);
    ck_assert_uint_eq(cell->best.variant, 0);
    cell = cell_at(12, false, TPD_SHAPE_LARGE); /* `direct` is slower than the staged ones, but within the noise */
    ck_assert_int_eq(cell->best.strategy, TPD_STRATEGY_DIRECT);
    ck_assert_uint_ge(cell->best.ns, 100900);

    /* From now on requests go by it, and what is named does not. */
    struct tpd_matrix matrix = {4096, 4096, 1, 4, TPD_DTYPE_OPAQUE};
    struct tpd_task task = {.matrix = matrix, .strategy = TPD_STRATEGY_AUTO};
    struct tpd_outcome outcome;
    task.in = calloc(1, 64 << 20);
    task.out = malloc(64 << 20);
    ck_assert_ok(cuda->run(device, &task, &outcome, &error), error);
    ck_assert_str_eq(outcome.strategy, "swapped");
    ck_assert_uint_eq(outcome.tile.rows, 64);
    task.strategy = TPD_STRATEGY_ROTATED;
    ck_assert_ok(cuda->run(device, &task, &outcome, &error), error);
    ck_assert_str_eq(outcome.strategy, "rotated");
    ck_assert_uint_eq(outcome.tile.rows, 32);
    task.strategy = TPD_STRATEGY_AUTO;
    task.tile = (struct tpd_tile){16, 32};
    ck_assert_ok(cuda->run(device, &task, &outcome, &error), error);
    ck_assert_str_eq(outcome.strategy, "padded");
    ck_assert_uint_eq(outcome.tile.rows, 16);
    free((void *)(uintptr_t)task.in);
    free(task.out);
    close_clean(device);
}
END_TEST

/* A budget that ends leaves cells out; the next start measures those alone. */
START_TEST(a_budget_ends_and_the_next_start_goes_on) {
    struct tpd_device *device;
    const uint64_t pool_bytes = (uint64_t)24 << 20;
    uint32_t cells = 0, most = count_cells(pool_bytes / 2), starts = 0;
    uint64_t budget_ns = 20000;
    memset(&table, 0, sizeof table);
    do {
        struct tpd_tuning before = table;
        fake_cuda_reset(pool_bytes, 0, 0);
        fake_cuda_price(price);
        device = open_device(pool_bytes);
        const uint64_t started_ns = tpd_clock_ns();
        ck_assert_ok(cuda->tune(device, budget_ns, &table, &error), error);
        ck_assert_uint_lt(tpd_clock_ns() - started_ns, budget_ns + 5000000000); /* a turn more, on a busy machine */
        ck_assert_uint_ge(table.cells, cells);
        for (size_t i = 0; i < sizeof table.cell / sizeof table.cell[0][0][0]; i++)
            if ((&before.cell[0][0][0])[i].bytes != 0)
                ck_assert_mem_eq(&(&before.cell[0][0][0])[i], &(&table.cell[0][0][0])[i], sizeof table.cell[0][0][0]);
        cells = table.cells;
        close_clean(device);
        budget_ns *= 3;
    } while (cells < most && ++starts < 16);
    ck_assert_uint_eq(cells, most);
    ck_assert_uint_gt(starts, 1);
    /* Nothing is left to measure, and no budget measures nothing. */
    fake_cuda_reset(pool_bytes, 0, 0);
    device = open_device(pool_bytes);
    uint64_t calls = fake_cuda_calls();
    ck_assert_ok(cuda->tune(device, 0, &table, &error), error);
    ck_assert_uint_eq(fake_cuda_calls(), calls);
    close_clean(device);
}
END_TEST

static struct tpd_task small_task(unsigned char *in, unsigned char *out) {
    return (struct tpd_task){.matrix = {37, 21, 1, 4, TPD_DTYPE_OPAQUE}, .in = in, .out = out, .strategy = TPD_STRATEGY_AUTO};
}

/* A device with its nth call of the tuning failing. True when that call came. */
static bool one_tuning(uint64_t nth, int code, bool sticky) {
    enum { BYTES = 37 * 21 * 4 };
    unsigned char in[BYTES], out[BYTES], expected[BYTES];
    struct tpd_outcome outcome;
    fake_cuda_reset(512 << 10, 0, 0);
    struct tpd_device *device = open_device(512 << 10);
    const uint64_t before = fake_cuda_calls();
    cuda->close(device);
    fake_cuda_reset(512 << 10, before + nth, code);
    device = open_device(512 << 10);
    ck_assert_uint_eq(fake_cuda_calls(), before);
    fake_cuda_price(price);
    memset(&table, 0, sizeof table);
    error = (struct tpd_error){.text = ""};
    enum tpd_status status = cuda->tune(device, plenty_ns, &table, &error);
    const bool failed = fake_cuda_failed();
    ck_assert_int_eq(status != TPD_OK, failed);
    ck_assert_uint_eq(fake_cuda_queued(), 0);
    fake_cuda_price(NULL);

    struct tpd_task task = small_task(in, out);
    tpd_random_fill(in, BYTES, nth);
    memset(out, 0xa5, BYTES);
    tpd_transpose_ref(&task.matrix, in, expected);
    enum tpd_status ran = cuda->run(device, &task, &outcome, &error);
    if (failed) {
        ck_assert_str_ne(error.text, "");
        ck_assert_int_eq(status, sticky ? TPD_DEVICE_LOST : code == 2 ? TPD_NO_MEMORY : TPD_DEVICE_FAULT);
        ck_assert_int_eq(ran, sticky ? TPD_DEVICE_LOST : TPD_OK);
        if (!sticky) {
            struct tpd_plan plan; /* by rule */
            ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_AUTO, &task.matrix, task.tile, UINT64_MAX, &plan, &error), error);
            ck_assert_str_eq(outcome.strategy, tpd_strategy_at(plan.strategy)->name);
        }
    } else {
        ck_assert_int_eq(ran, TPD_OK);
        ck_assert_uint_eq(table.cells, count_cells(256 << 10));
    }
    ck_assert(ran != TPD_OK || memcmp(out, expected, BYTES) == 0);
    cuda->close(device);
    ck_assert_msg(fake_cuda_mistakes() == 0, "call %lu, code %d: %s", (unsigned long)nth, code, fake_cuda_mistake());
    ck_assert_msg(fake_cuda_held() == 0, "call %lu, code %d: %u handles kept", (unsigned long)nth, code, fake_cuda_held());
    return failed;
}

/* Every one of the first calls, then ever larger strides, to the end. */
START_TEST(every_call_fails_once) {
    static const struct {
        int code;
        bool sticky;
    } codes[] = {{1, false}, {2, false}, {700, true}, {719, true}};
    uint64_t nth = 1, calls = 0;
    while (one_tuning(nth, codes[_i].code, codes[_i].sticky)) {
        calls++;
        nth += nth < 60 ? 1 : nth / 8;
    }
    ck_assert_uint_gt(calls, 60);
}
END_TEST

START_TEST(without_memory) {
    fake_cuda_reset(512 << 10, 0, 0);
    struct tpd_device *device = open_device(512 << 10);
    memset(&table, 0, sizeof table);
    tpd_heap_begin(1);
    ck_assert_int_eq(cuda->tune(device, plenty_ns, &table, &error), TPD_NO_MEMORY);
    ck_assert(tpd_heap_end());
    close_clean(device);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("cuda_tuner");
    TCase *tests = tcase_create("cuda_tuner");
    tcase_add_checked_fixture(tests, use_fake, NULL);
    tcase_add_test(tests, the_cheapest_is_chosen);
    tcase_add_test(tests, a_budget_ends_and_the_next_start_goes_on);
    tcase_add_loop_test(tests, every_call_fails_once, 0, 4);
    tcase_add_test(tests, without_memory);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
