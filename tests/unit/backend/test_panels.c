/* test_panels.c -- every item is in exactly one panel, none is larger than it may be, and what is said of their order is true. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "kernels/cuda/panels.h"

static uint64_t state = 7;

static uint64_t below(uint64_t most) {
    return tpd_random(&state) % most;
}

/* Walks a cut and marks the items; false answers nothing: it asserts. */
static uint64_t walk(const struct tpd_matrix *matrix, uint64_t most_bytes, bool in_order) {
    const struct tpd_panels_wish wish = {most_bytes, 16 << 20, 4096, 8, below(2) != 0, in_order};
    const uint64_t one = matrix->rows * matrix->cols, items = one * matrix->batch;
    unsigned char *seen = calloc(items, 1);
    struct tpd_panels panels;
    struct tpd_panel panel;
    uint64_t count = 0, read = 0, covered = 0, largest = 0;
    ck_assert_ptr_nonnull(seen);
    tpd_panels_begin(&panels, matrix, &wish);
    for (; tpd_panels_next(&panels, &panel); count++) {
        const uint64_t bytes = panel.rows * panel.cols * panel.matrices * matrix->itemsize;
        ck_assert_uint_gt(bytes, 0);
        ck_assert_uint_le(bytes, most_bytes);
        ck_assert_uint_le(bytes, tpd_panels_most_bytes(&panels));
        ck_assert(panel.matrices == 1 || (panel.rows == matrix->rows && panel.cols == matrix->cols));
        ck_assert_uint_le(panel.row + panel.rows, matrix->rows);
        ck_assert_uint_le(panel.col + panel.cols, matrix->cols);
        ck_assert_uint_le(panel.matrix + panel.matrices, matrix->batch);
        uint64_t end = 0, wrong = 0; /* an assertion an item would take minutes */
        for (uint64_t m = panel.matrix; m < panel.matrix + panel.matrices; m++)
            for (uint64_t r = panel.row; r < panel.row + panel.rows; r++)
                for (uint64_t c = panel.col; c < panel.col + panel.cols; c++) {
                    wrong += seen[m * one + r * matrix->cols + c]++ != 0;
                    end = m * one + r * matrix->cols + c + 1;
                }
        ck_assert_uint_eq(panel.in_end_bytes, end * matrix->itemsize);
        ck_assert(!in_order || panel.in_end_bytes >= read || panels.across < matrix->cols);
        ck_assert_uint_eq(wrong, 0);
        read = panel.in_end_bytes;
        covered += bytes;
        largest = bytes > largest ? bytes : largest;
    }
    ck_assert_uint_eq(covered, items * matrix->itemsize);
    ck_assert(tpd_panels_is_one(&panels) == (count == 1) || panels.group == 0);
    free(seen);
    return count;
}

START_TEST(random_cuts) {
    for (int i = 0; i < 200; i++) {
        struct tpd_matrix matrix = {1 + below(150), 1 + below(150), 1 + below(3), 1 + (uint32_t)below(24), TPD_DTYPE_OPAQUE};
        if (below(4) == 0)
            matrix.rows = 1 + below(4);
        if (below(4) == 0)
            matrix.cols = 1 + below(4);
        uint64_t bytes = matrix.rows * matrix.cols * matrix.batch * matrix.itemsize;
        uint64_t most = matrix.itemsize + below(below(2) ? bytes + 1 : 64 * matrix.itemsize);
        (void)walk(&matrix, most, below(2) != 0);
    }
}
END_TEST

START_TEST(large_ones_fill_the_pipeline) {
    static const struct {
        uint64_t rows, cols;
        uint32_t itemsize;
    } shapes[] = {{512, 1024, 8}, {511, 1025, 8}, {3, 400000, 8}, {400000, 3, 8}, {2048, 256, 16}, {16, 250000, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct tpd_matrix matrix = {shapes[i].rows, shapes[i].cols, 1, shapes[i].itemsize, TPD_DTYPE_OPAQUE};
        uint64_t count = walk(&matrix, 64 << 20, false);
        ck_assert_uint_ge(count, 2);
        ck_assert_uint_le(count, 40);
        /* In order, the output's rows are as short as the input has rows: few are not cut at all. */
        count = walk(&matrix, 64 << 20, true);
        ck_assert(count >= 2 || matrix.rows <= 1024);
    }
}
END_TEST

/* 16384 x 16384 float32: rows of 8 KiB on the host, the first and last panels a quarter of the others. */
START_TEST(a_gibibyte) {
    const struct tpd_matrix matrix = {16384, 16384, 1, 4, TPD_DTYPE_FLOAT32};
    struct tpd_panels panels;
    struct tpd_panel panel;
    uint64_t at = 0, cols[64], count = 0;
    const struct tpd_panels_wish wish = {UINT64_C(512) << 20, 64 << 20, 8 << 10, 8, false, false};
    tpd_panels_begin(&panels, &matrix, &wish);
    for (; tpd_panels_next(&panels, &panel) && count < 64; at += panel.cols) {
        ck_assert_uint_eq(panel.rows, 16384);
        ck_assert_uint_eq(panel.col, at);
        cols[count++] = panel.cols;
    }
    ck_assert_uint_eq(at, 16384);
    ck_assert_uint_eq(cols[0], 512);
    ck_assert_uint_eq(cols[1], 1024);
    ck_assert_uint_eq(cols[2], 2048);
    ck_assert_uint_le(cols[count - 1], 512);
}
END_TEST

/* Items at offsets past 2^32, and sides whose squares pass it. */
START_TEST(terabytes) {
    static const struct tpd_matrix matrices[] = {{1 << 20, 1 << 20, 2, 1, TPD_DTYPE_UINT8},
                                                 {3, UINT64_C(1) << 38, 1, 4, TPD_DTYPE_FLOAT32},
                                                 {UINT64_C(1) << 38, 3, 1, 4, TPD_DTYPE_FLOAT32}};
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++) {
        struct tpd_panels panels;
        struct tpd_panel panel;
        uint64_t covered = 0, last = 0;
        const struct tpd_panels_wish wish = {UINT64_C(1) << 30, 64 << 20, 8 << 10, 8, false, false};
        tpd_panels_begin(&panels, &matrices[i], &wish);
        while (tpd_panels_next(&panels, &panel)) {
            covered += panel.rows * panel.cols * panel.matrices * matrices[i].itemsize;
            last = panel.in_end_bytes > last ? panel.in_end_bytes : last;
        }
        ck_assert_uint_eq(covered, last);
        ck_assert_uint_eq(covered, matrices[i].rows * matrices[i].cols * matrices[i].batch * matrices[i].itemsize);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("panels");
    TCase *tests = tcase_create("cuts");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, random_cuts);
    tcase_add_test(tests, large_ones_fill_the_pipeline);
    tcase_add_test(tests, a_gibibyte);
    tcase_add_test(tests, terabytes);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return tpd_harness_main(suite());
}
