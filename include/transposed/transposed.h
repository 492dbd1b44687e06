/* transposed.h -- the kernels alone, for a program that wants them without the daemon (libtransposed).
 *
 *     struct tpd_matrix m = {.rows = 2, .cols = 3, .batch = 1, .itemsize = 4, .dtype = TPD_DTYPE_FLOAT32};
 *     struct tpd_error error;
 *     if (tpd_transpose(&m, in, out, &error) != TPD_OK) fprintf(stderr, "%s\n", error.text);
 *
 * More control (a device kept open, a strategy, times): backend.h.
 */
#ifndef TRANSPOSED_TRANSPOSED_H
#define TRANSPOSED_TRANSPOSED_H

#include "transposed/alloc.h"
#include "transposed/backend.h"
#include "transposed/banks.h"
#include "transposed/matrix.h"
#include "transposed/status.h"
#include "transposed/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The oracle: three loops, any item size, never optimised. in and out do not overlap and hold
 * tpd_matrix_bytes(matrix) bytes each; the shape was checked. */
void tpd_transpose_ref(const struct tpd_matrix *matrix, const void *in, void *out);

/* The transpose of each matrix of the batch on this machine's cores, in the calling thread and no other.
 * in and out do not overlap. Takes 160 KiB of stack. Fails with TPD_SIZE_OVERFLOW, TPD_UNSUPPORTED (item size). */
enum tpd_status tpd_transpose(const struct tpd_matrix *matrix, const void *in, void *out, struct tpd_error *error) TPD_CHECKED;

const char *tpd_version(void); /* "0.1.0" */

#ifdef __cplusplus
}
#endif

#endif
