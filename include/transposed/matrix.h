/* matrix.h -- what a matrix is: a shape and an item, no data.
 *
 * A batch of `batch` row-major matrices of rows x cols items, back to back, without padding.
 * Kernels look at itemsize alone; only codecs look at dtype.
 */
#ifndef TRANSPOSED_MATRIX_H
#define TRANSPOSED_MATRIX_H

#include "transposed/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tpd_dtype_kind { TPD_KIND_BOOL, TPD_KIND_SIGNED, TPD_KIND_UNSIGNED, TPD_KIND_FLOAT, TPD_KIND_COMPLEX, TPD_KIND_OPAQUE };

enum tpd_dtype {
#define X(NAME, name, itemsize, KIND, npy, v2) TPD_DTYPE_##NAME,
#include "transposed/tbl/dtypes.def"
#undef X
    TPD_DTYPE_OPAQUE, /* `itemsize=N`: bytes that nobody reads; named "opaque" */
    TPD_DTYPE_COUNT
};

enum {
    /* Most bytes an item may have. A record; more is a row of something. */
    TPD_ITEMSIZE_MOST = 4096
};

struct tpd_matrix {
    uint64_t rows, cols, batch;
    uint32_t itemsize; /* bytes, 1 .. TPD_ITEMSIZE_MOST */
    enum tpd_dtype dtype;
};

const char *tpd_dtype_name(enum tpd_dtype dtype);
uint32_t tpd_dtype_itemsize(enum tpd_dtype dtype); /* 0 for TPD_DTYPE_OPAQUE */
enum tpd_dtype_kind tpd_dtype_kind(enum tpd_dtype dtype);
const char *tpd_dtype_npy(enum tpd_dtype dtype); /* "" for TPD_DTYPE_OPAQUE */
const char *tpd_dtype_v2(enum tpd_dtype dtype);
/* Fails with TPD_UNKNOWN_DTYPE and a text that lists the names. "opaque" is not one of them. */
enum tpd_status tpd_dtype_find(const char *name, enum tpd_dtype *dtype, struct tpd_error *error) TPD_CHECKED;

/* Bytes of the whole batch: the only place where shapes are multiplied.
 * 0 when a dimension is 0.
 * Fails with TPD_SIZE_OVERFLOW past 2^63 - 1, TPD_UNSUPPORTED for an item size out of range. */
enum tpd_status tpd_matrix_bytes(const struct tpd_matrix *matrix, uint64_t *bytes, struct tpd_error *error) TPD_CHECKED;
/* rows x cols x batch of a matrix that tpd_matrix_bytes() has passed. */
uint64_t tpd_matrix_items(const struct tpd_matrix *matrix);
/* Rows and columns exchanged; batch, item size and dtype as they were. */
struct tpd_matrix tpd_matrix_transposed(const struct tpd_matrix *matrix);
/* True when the transpose holds the very same bytes: nothing to move but a copy (1 x N, N x 1, no items). */
bool tpd_matrix_is_relabel(const struct tpd_matrix *matrix);

#ifdef __cplusplus
}
#endif

#endif
