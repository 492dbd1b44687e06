/* test_matrix.c -- item types, and sizes that are answered or refused but never wrapped. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "transposed/matrix.h"

START_TEST(dtypes) {
    struct tpd_error error;
    enum tpd_dtype found;
    for (int i = 0; i < TPD_DTYPE_OPAQUE; i++) {
        enum tpd_dtype dtype = (enum tpd_dtype)i;
        ck_assert_ok(tpd_dtype_find(tpd_dtype_name(dtype), &found, &error), error);
        ck_assert_int_eq(found, dtype);
        uint32_t size = tpd_dtype_itemsize(dtype);
        ck_assert(size == 1 || size == 2 || size == 4 || size == 8 || size == 16);
        ck_assert_uint_eq((uint32_t)atoi(tpd_dtype_npy(dtype) + 1), size); /* numpy's own notation ends in the size */
        ck_assert_ptr_nonnull(tpd_dtype_v2(dtype));
        ck_assert_int_ne(tpd_dtype_kind(dtype), TPD_KIND_OPAQUE);
    }
    ck_assert_str_eq(tpd_dtype_name(TPD_DTYPE_OPAQUE), "opaque");
    ck_assert_uint_eq(tpd_dtype_itemsize(TPD_DTYPE_OPAQUE), 0);
    ck_assert_int_eq(tpd_dtype_kind(TPD_DTYPE_OPAQUE), TPD_KIND_OPAQUE);
    ck_assert_int_eq(tpd_dtype_kind(TPD_DTYPE_COMPLEX64), TPD_KIND_COMPLEX);

    static const char *const wrong[] = {"", "opaque", "float", "Float32", "float32 ", "float128"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(tpd_dtype_find(wrong[i], &found, &error), TPD_UNKNOWN_DTYPE);
        ck_assert_ptr_nonnull(strstr(error.text, " float32"));
        ck_assert_ptr_nonnull(strstr(error.text, "float8_e5m2"));
    }
}
END_TEST

START_TEST(sizes) {
    static const struct {
        uint64_t rows, cols, batch;
        uint32_t itemsize;
        enum tpd_status status;
        uint64_t bytes;
    } cases[] = {
        {3, 4, 5, 8, TPD_OK, 480},
        {0, 4, 5, 8, TPD_OK, 0},
        {UINT64_MAX, 0, UINT64_MAX, 16, TPD_OK, 0},
        {UINT64_MAX, UINT64_MAX, 0, 1, TPD_OK, 0},
        {INT64_MAX, 1, 1, 1, TPD_OK, INT64_MAX},
        {1, INT64_MAX, 1, 1, TPD_OK, INT64_MAX},
        {(uint64_t)INT64_MAX + 1, 1, 1, 1, TPD_SIZE_OVERFLOW, 0},
        {(uint64_t)1 << 31, (uint64_t)1 << 31, 1, 1, TPD_OK, (uint64_t)1 << 62},
        {(uint64_t)1 << 31, (uint64_t)1 << 31, 1, 2, TPD_SIZE_OVERFLOW, 0},
        {(uint64_t)1 << 31, (uint64_t)1 << 31, 2, 1, TPD_SIZE_OVERFLOW, 0},
        {(uint64_t)1 << 32, (uint64_t)1 << 32, 1, 1, TPD_SIZE_OVERFLOW, 0}, /* 2^64: a wrap gives 0 */
        {(uint64_t)1 << 32, 1, (uint64_t)1 << 32, 1, TPD_SIZE_OVERFLOW, 0},
        {(uint64_t)1 << 60, 1, 1, 16, TPD_SIZE_OVERFLOW, 0},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, TPD_ITEMSIZE_MOST, TPD_SIZE_OVERFLOW, 0},
        {3, 4, 5, 0, TPD_UNSUPPORTED, 0},
        {3, 4, 5, TPD_ITEMSIZE_MOST, TPD_OK, (uint64_t)60 * TPD_ITEMSIZE_MOST},
        {3, 4, 5, TPD_ITEMSIZE_MOST + 1, TPD_UNSUPPORTED, 0},
        {0, 4, 5, 0, TPD_UNSUPPORTED, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_matrix matrix = {cases[i].rows, cases[i].cols, cases[i].batch, cases[i].itemsize, TPD_DTYPE_OPAQUE};
        struct tpd_error error;
        uint64_t bytes = 77;
        ck_assert_int_eq(tpd_matrix_bytes(&matrix, &bytes, NULL), cases[i].status);
        ck_assert_int_eq(tpd_matrix_bytes(&matrix, &bytes, &error), cases[i].status);
        if (cases[i].status == TPD_OK)
            ck_assert_uint_eq(bytes, cases[i].bytes);
        else
            ck_assert_int_eq(error.status, cases[i].status);
    }
}
END_TEST

START_TEST(shapes) {
    struct tpd_matrix matrix = {.rows = 3, .cols = 4, .batch = 5, .itemsize = 8, .dtype = TPD_DTYPE_FLOAT64};
    struct tpd_matrix other = tpd_matrix_transposed(&matrix);
    ck_assert_uint_eq(other.rows, 4);
    ck_assert_uint_eq(other.cols, 3);
    ck_assert_uint_eq(other.batch, 5);
    ck_assert_uint_eq(other.itemsize, 8);
    ck_assert_int_eq(other.dtype, TPD_DTYPE_FLOAT64);
    ck_assert_uint_eq(tpd_matrix_items(&matrix), 60);
    ck_assert(!tpd_matrix_is_relabel(&matrix));
    for (uint64_t n = 0; n < 3; n++) { /* rows or columns up to 1, no batch: the same bytes */
        struct tpd_matrix rows = matrix, cols = matrix, batch = matrix;
        rows.rows = cols.cols = batch.batch = n;
        ck_assert_int_eq(tpd_matrix_is_relabel(&rows), n <= 1);
        ck_assert_int_eq(tpd_matrix_is_relabel(&cols), n <= 1);
        ck_assert_int_eq(tpd_matrix_is_relabel(&batch), n == 0);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *all = suite_create("matrix");
    TCase *core = tcase_create("core");
    tcase_add_test(core, dtypes);
    tcase_add_test(core, sizes);
    tcase_add_test(core, shapes);
    suite_add_tcase(all, core);
    return all;
}

int main(void) {
    return tpd_harness_main(suite());
}
