/* npy_header.h -- the Python dict that opens a NumPy file: read it, write it.
 *
 * Pure: no allocation. Fails with TPD_MALFORMED (with the offset), TPD_UNSUPPORTED, TPD_UNKNOWN_DTYPE.
 */
#ifndef TPD_NPY_HEADER_H
#define TPD_NPY_HEADER_H

#include "transposed/codec.h"

enum {
    TPD_NPY_PREFIX_MOST = 12,  /* magic, version and the length of the dict */
    TPD_NPY_DICT_MOST = 10000, /* bytes; numpy's own ceiling */
    TPD_NPY_RANK_MOST = 3
};

struct tpd_npy_header {
    struct tpd_matrix matrix;
    bool has_batch; /* rank 3 */
    bool fortran;
    bool big_endian;
    char descr[TPD_FORM_DTYPE_BYTES];
};

/* What numpy's type string says. Opaque for what this daemon has no name for but can move: V, S, U, dates, long doubles. */
enum tpd_status tpd_npy_descr(const char *descr, enum tpd_dtype *dtype, uint32_t *itemsize, bool *big_endian,
                              struct tpd_error *error) TPD_CHECKED;

/* How long magic, version and length are (10 or 12), and where the data begins. head holds TPD_NPY_PREFIX_MOST bytes, or all
 * of a shorter body; *data_at is 0 while that is too few to tell. */
enum tpd_status tpd_npy_prefix(const unsigned char *head, size_t head_bytes, size_t *dict_at, size_t *data_at,
                               struct tpd_error *error) TPD_CHECKED;
/* dict holds the dict's bytes; `at` is where they lie in the body, for errors. */
enum tpd_status tpd_npy_dict(const char *dict, size_t bytes, size_t at, struct tpd_npy_header *header,
                             struct tpd_error *error) TPD_CHECKED;

/* Writes the header, as numpy.save does, so that it ends at `end` and answers its size: a multiple of 64, at most
 * TPD_BLOCK_HEADROOM. */
size_t tpd_npy_write(const struct tpd_matrix *matrix, bool has_batch, const char *descr, unsigned char *end);

#endif
