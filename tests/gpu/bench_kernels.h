/* bench_kernels.h -- device code of the measurements that is not the project's own: filling, copying, comparing.
 *
 * Each answers a CUDA code; all work is put on the stream, which is a cudaStream_t.
 */
#ifndef TPD_BENCH_KERNELS_H
#define TPD_BENCH_KERNELS_H

#include "transposed/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Random bytes; whole words of 8 bytes are written, so that memory has to have room for the last. */
int tpd_bench_fill(void *memory, uint64_t bytes, uint64_t seed, void *stream);
/* What a kernel of plain 16-byte accesses gives; bytes beyond the last whole 16 are left alone. */
int tpd_bench_copy(void *to, const void *from, uint64_t bytes, void *stream);
/* Adds to *wrong, in device memory, the items of out that are not those of in's transpose, by three plain divisions an item. */
int tpd_bench_check(const struct tpd_matrix *matrix, const void *in, const void *out, unsigned long long *wrong, void *stream);

#ifdef __cplusplus
}
#endif

#endif
