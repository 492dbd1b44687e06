/* matrix.c -- shapes, item types, and the one multiplication. */
#include "transposed/matrix.h"

#include <inttypes.h>
#include <string.h>

static const struct row {
    const char *name, *npy, *v2;
    uint32_t itemsize;
    enum tpd_dtype_kind kind;
} rows[TPD_DTYPE_COUNT] = {
#define X(NAME, name, itemsize, KIND, npy, v2) [TPD_DTYPE_##NAME] = {name, npy, v2, itemsize, TPD_KIND_##KIND},
#include "transposed/tbl/dtypes.def"
#undef X
    [TPD_DTYPE_OPAQUE] = {"opaque", "", "", 0, TPD_KIND_OPAQUE},
};

const char *tpd_dtype_name(enum tpd_dtype dtype) {
    return rows[dtype].name;
}

uint32_t tpd_dtype_itemsize(enum tpd_dtype dtype) {
    return rows[dtype].itemsize;
}

enum tpd_dtype_kind tpd_dtype_kind(enum tpd_dtype dtype) {
    return rows[dtype].kind;
}

const char *tpd_dtype_npy(enum tpd_dtype dtype) {
    return rows[dtype].npy;
}

const char *tpd_dtype_v2(enum tpd_dtype dtype) {
    return rows[dtype].v2;
}

static const char names[] =
#define X(NAME, name, itemsize, KIND, npy, v2) " " name
#include "transposed/tbl/dtypes.def"
#undef X
    ;

enum tpd_status tpd_dtype_find(const char *name, enum tpd_dtype *dtype, struct tpd_error *error) {
    for (int i = 0; i < TPD_DTYPE_OPAQUE; i++)
        if (strcmp(rows[i].name, name) == 0) {
            *dtype = (enum tpd_dtype)i;
            return TPD_OK;
        }
    return tpd_fail(error, TPD_UNKNOWN_DTYPE, "dtype '%.32s' is none of:%s", name, names);
}

enum tpd_status tpd_matrix_bytes(const struct tpd_matrix *matrix, uint64_t *bytes, struct tpd_error *error) {
    if (matrix->itemsize < 1 || matrix->itemsize > TPD_ITEMSIZE_MOST)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, TPD_ITEMSIZE_MOST, matrix->itemsize,
                              "itemsize %" PRIu32 " is outside 1 to %d bytes", matrix->itemsize, TPD_ITEMSIZE_MOST);
    *bytes = 0;
    if (matrix->rows == 0 || matrix->cols == 0 || matrix->batch == 0)
        return TPD_OK;
    uint64_t product;
    if (__builtin_mul_overflow(matrix->rows, matrix->cols, &product) ||
        __builtin_mul_overflow(product, matrix->batch, &product) ||
        __builtin_mul_overflow(product, (uint64_t)matrix->itemsize, &product) || product > INT64_MAX)
        return tpd_fail(error, TPD_SIZE_OVERFLOW,
                        "rows %" PRIu64 " x cols %" PRIu64 " x batch %" PRIu64 " x itemsize %" PRIu32 " is past 2^63 - 1 bytes",
                        matrix->rows, matrix->cols, matrix->batch, matrix->itemsize);
    *bytes = product;
    return TPD_OK;
}

uint64_t tpd_matrix_items(const struct tpd_matrix *matrix) {
    return matrix->rows * matrix->cols * matrix->batch;
}

struct tpd_matrix tpd_matrix_transposed(const struct tpd_matrix *matrix) {
    struct tpd_matrix result = *matrix;
    result.rows = matrix->cols;
    result.cols = matrix->rows;
    return result;
}

bool tpd_matrix_is_relabel(const struct tpd_matrix *matrix) {
    return matrix->rows <= 1 || matrix->cols <= 1 || matrix->batch == 0;
}
