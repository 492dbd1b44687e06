/* bench_cuda.h -- what the benches that call CUDA themselves share. */
#ifndef BENCH_CUDA_H
#define BENCH_CUDA_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

static inline void must(cudaError_t code, const char *what) {
    if (code == cudaSuccess)
        return;
    printf("%s: %s\n", what, cudaGetErrorString(code));
    exit(EXIT_FAILURE);
}

/* For qsort() of floats. */
static inline int by_value(const void *a, const void *b) {
    const float left = *static_cast<const float *>(a), right = *static_cast<const float *>(b);
    return (left > right) - (left < right);
}

#endif
