/* geam.c -- cuBLAS's geam (C = 1 * A^T + 0 * B) as rows of `transposed bench`.
 *
 * The library is found when it runs (dlopen), so that the machine that builds this needs its header alone: by TRANSPOSED_CUBLAS,
 * a path, or by name. geam computes: NaN payloads are not kept, so data are finite numbers and `verified` is said of those. Items
 * of 4, 8 and 16 bytes go as float, double and complex double; there is none of 1 or 2 bytes, and none of a batch.
 */
#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "peer_gpu.h"

static struct {
    cublasStatus_t (*create)(cublasHandle_t *handle);
    cublasStatus_t (*set_stream)(cublasHandle_t handle, cudaStream_t stream);
    cublasStatus_t (*single)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, const float *, const float *, int,
                             const float *, const float *, int, float *, int);
    cublasStatus_t (*twice)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, const double *, const double *, int,
                            const double *, const double *, int, double *, int);
    cublasStatus_t (*complex_twice)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, const cuDoubleComplex *,
                                    const cuDoubleComplex *, int, const cuDoubleComplex *, const cuDoubleComplex *, int,
                                    cuDoubleComplex *, int);
    cublasHandle_t handle;
    struct peer_cell cell;
    void *stream; /* the handle's */
} blas;

static const char *open_blas(char *device_name) {
    static const char *const names[] = {"libcublas.so", "libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
    static char why[256];
    const char *path = getenv("TRANSPOSED_CUBLAS");
    void *library = path != NULL ? dlopen(path, RTLD_NOW) : NULL;
    for (unsigned i = 0; path == NULL && library == NULL && i < sizeof names / sizeof names[0]; i++)
        library = dlopen(names[i], RTLD_NOW);
    if (library == NULL) {
        (void)snprintf(why, sizeof why, "cuBLAS is not found (TRANSPOSED_CUBLAS may name it): %.120s", dlerror());
        return why;
    }
    *(void **)&blas.create = dlsym(library, "cublasCreate_v2");
    *(void **)&blas.set_stream = dlsym(library, "cublasSetStream_v2");
    *(void **)&blas.single = dlsym(library, "cublasSgeam");
    *(void **)&blas.twice = dlsym(library, "cublasDgeam");
    *(void **)&blas.complex_twice = dlsym(library, "cublasZgeam");
    if (blas.create == NULL || blas.set_stream == NULL || blas.single == NULL || blas.twice == NULL || blas.complex_twice == NULL)
        return "this cuBLAS has no geam";
    const char *none = peer_gpu_open(device_name);
    if (none == NULL && blas.create(&blas.handle) != CUBLAS_STATUS_SUCCESS)
        return "cuBLAS does not start on this GPU";
    return none;
}

static const char *prepare(const struct peer_cell *cell) {
    if (cell->itemsize < 4)
        return "geam has nothing for items of 1 and 2 bytes";
    if (cell->batch != 1)
        return "geam takes one matrix";
    blas.cell = *cell;
    return peer_gpu_prepare(cell, true);
}

/* Column-major: our rows x cols is its cols x rows, and it makes of it rows x cols. */
static bool transpose_once(const void *in, void *out, void *stream) {
    const int m = (int)blas.cell.rows, n = (int)blas.cell.cols;
    if (blas.stream != stream && blas.set_stream(blas.handle, stream) != CUBLAS_STATUS_SUCCESS)
        return false;
    blas.stream = stream;
    if (blas.cell.itemsize == 4) {
        const float one = 1, zero = 0;
        return blas.single(blas.handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, in, n, &zero, out, m, out, m) ==
               CUBLAS_STATUS_SUCCESS;
    }
    if (blas.cell.itemsize == 8) {
        const double one = 1, zero = 0;
        return blas.twice(blas.handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, in, n, &zero, out, m, out, m) ==
               CUBLAS_STATUS_SUCCESS;
    }
    const cuDoubleComplex one = {1, 0}, zero = {0, 0};
    return blas.complex_twice(blas.handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, in, n, &zero, out, m, out, m) ==
           CUBLAS_STATUS_SUCCESS;
}

static bool is_right(void) {
    return peer_gpu_is_right(transpose_once);
}
static double transpose(void) {
    return peer_gpu_time(transpose_once);
}
static void release(void) {
    if (blas.cell.itemsize != 0)
        peer_gpu_release();
    blas.cell = (struct peer_cell){0};
}

int main(int argc, char **argv) {
    const struct peer geam = {
        .name = "cublas geam",
        .reference = peer_gpu_reference,
        .device = "cuda:0",
        .open = open_blas,
        .prepare = prepare,
        .is_right = is_right,
        .transpose = transpose,
        .copy = peer_gpu_copy,
        .release = release,
    };
    return peer_main(argc, argv, &geam);
}
