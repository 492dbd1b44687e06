/* measure_kernels.h -- device code of the measurements that is no transpose: filling, copying, comparing.
 *
 * Each answers a CUDA code; all work is put on the stream, which is a cudaStream_t.
 */
#ifndef TPD_MEASURE_KERNELS_H
#define TPD_MEASURE_KERNELS_H

#include "transposed/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Random bytes, the same for the same seed; whole words of 8 bytes are written: memory has to have room for the last. */
int tpd_cuda_measure_fill(void *memory, uint64_t bytes, uint64_t seed, void *stream);
/* What a kernel of plain 16-byte accesses gives; bytes beyond the last whole 16 are left alone. */
int tpd_cuda_measure_copy(void *to, const void *from, uint64_t bytes, void *stream);
/* Adds to *wrong, 8 bytes in device memory, the items of out that are not those of in's transpose, by three plain divisions an
 * item. */
int tpd_cuda_measure_check(const struct tpd_matrix *matrix, const void *in, const void *out, void *wrong, void *stream);

#ifdef __cplusplus
}
#endif

#endif
