/* cutensor.c -- cuTENSOR 2's cutensorPermute as rows of `transposed bench`.
 *
 * Neither its header nor the library is needed to build: the few calls are declared here, and the library is found when it runs
 * (dlopen), by TRANSPOSED_CUTENSOR, a path, or by name. Items of 2, 4, 8 and 16 bytes go as half, float, double and complex
 * double; it has no permutation of 1-byte items. Its halves and floats are computed with, so data are finite numbers.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "peer_gpu.h"

/* Of cutensor/types.h and library_types.h. */
enum { OP_IDENTITY = 1, ALGO_DEFAULT = -1, JIT_NONE = 0, TYPE_32F = 0, TYPE_64F = 1, TYPE_16F = 2, TYPE_64C = 5 };
enum { ALIGNMENT = 128, MODES_MOST = 3 };

static struct {
    int (*create)(void **handle);
    int (*tensor)(void *handle, void **tensor, uint32_t modes, const int64_t *extent, const int64_t *stride, int type,
                  uint32_t alignment);
    int (*tensor_end)(void *tensor);
    int (*permutation)(void *handle, void **operation, void *from, const int32_t *from_modes, int op, void *to,
                       const int32_t *to_modes, void *compute);
    int (*operation_end)(void *operation);
    int (*preference)(void *handle, void **preference, int algo, int jit);
    int (*preference_end)(void *preference);
    int (*plan)(void *handle, void **plan, void *operation, void *preference, uint64_t workspace);
    int (*plan_end)(void *plan);
    int (*permute)(void *handle, void *plan, const void *alpha, const void *from, void *to, void *stream);
    void **compute_32, **compute_64;
    void *handle, *now; /* now: the cell's plan */
    struct peer_cell cell;
} tensor;

static const char *find_calls(void *library) {
    const struct {
        void *call;
        const char *name;
    } calls[] = {
        {&tensor.create, "cutensorCreate"},
        {&tensor.tensor, "cutensorCreateTensorDescriptor"},
        {&tensor.tensor_end, "cutensorDestroyTensorDescriptor"},
        {&tensor.permutation, "cutensorCreatePermutation"},
        {&tensor.operation_end, "cutensorDestroyOperationDescriptor"},
        {&tensor.preference, "cutensorCreatePlanPreference"},
        {&tensor.preference_end, "cutensorDestroyPlanPreference"},
        {&tensor.plan, "cutensorCreatePlan"},
        {&tensor.plan_end, "cutensorDestroyPlan"},
        {&tensor.permute, "cutensorPermute"},
        {&tensor.compute_32, "CUTENSOR_COMPUTE_DESC_32F"},
        {&tensor.compute_64, "CUTENSOR_COMPUTE_DESC_64F"},
    };
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *found = dlsym(library, calls[i].name);
        if (found == NULL)
            return calls[i].name;
        *(void **)calls[i].call = found;
    }
    return NULL;
}

static const char *open_tensor(char *device_name) {
    static char why[256];
    const char *path = getenv("TRANSPOSED_CUTENSOR");
    void *library = dlopen(path != NULL ? path : "libcutensor.so.2", RTLD_NOW);
    if (library == NULL) {
        (void)snprintf(why, sizeof why, "cuTENSOR 2 is not found (TRANSPOSED_CUTENSOR may name it): %.120s", dlerror());
        return why;
    }
    const char *lacks = find_calls(library);
    if (lacks != NULL) {
        (void)snprintf(why, sizeof why, "this cuTENSOR has no %s: version 2 is wanted", lacks);
        return why;
    }
    const char *none = peer_gpu_open(device_name);
    if (none == NULL && tensor.create(&tensor.handle) != 0)
        return "cuTENSOR does not start on this GPU";
    return none;
}

/* Modes named 0 (rows), 1 (cols) and 2 (batch), the fastest last; strides in items. */
static int make_plan(const struct peer_cell *cell) {
    const int type = cell->itemsize == 2 ? TYPE_16F : cell->itemsize == 4 ? TYPE_32F : cell->itemsize == 8 ? TYPE_64F : TYPE_64C;
    const int64_t rows = (int64_t)cell->rows, cols = (int64_t)cell->cols, batch = (int64_t)cell->batch;
    const int64_t extent[] = {rows, cols, batch}, from_stride[] = {cols, 1, rows * cols};
    const int64_t to_extent[] = {cols, rows, batch}, to_stride[] = {rows, 1, rows * cols};
    const int32_t modes[] = {0, 1, 2}, to_modes[] = {1, 0, 2};
    const uint32_t count = batch == 1 ? MODES_MOST - 1 : MODES_MOST;
    void *from = NULL, *to = NULL, *operation = NULL, *preference = NULL;
    int code = tensor.tensor(tensor.handle, &from, count, extent, from_stride, type, ALIGNMENT);
    if (code == 0)
        code = tensor.tensor(tensor.handle, &to, count, to_extent, to_stride, type, ALIGNMENT);
    if (code == 0)
        code = tensor.permutation(tensor.handle, &operation, from, modes, OP_IDENTITY, to, to_modes,
                                  cell->itemsize < 8 ? *tensor.compute_32 : *tensor.compute_64);
    if (code == 0)
        code = tensor.preference(tensor.handle, &preference, ALGO_DEFAULT, JIT_NONE);
    if (code == 0)
        code = tensor.plan(tensor.handle, &tensor.now, operation, preference, 0);
    if (preference != NULL)
        (void)tensor.preference_end(preference);
    if (operation != NULL)
        (void)tensor.operation_end(operation);
    if (to != NULL)
        (void)tensor.tensor_end(to);
    if (from != NULL)
        (void)tensor.tensor_end(from);
    return code;
}

static const char *prepare(const struct peer_cell *cell) {
    static char why[96];
    if (cell->itemsize == 1)
        return "cuTENSOR has no permutation of 1-byte items";
    int code = make_plan(cell);
    if (code != 0) {
        (void)snprintf(why, sizeof why, "cuTENSOR makes no plan for it: its status %d", code);
        return why;
    }
    const char *none = peer_gpu_prepare(cell, true);
    if (none == NULL)
        tensor.cell = *cell;
    return none;
}

static bool transpose_once(const void *in, void *out, void *stream) {
    static const float one_32 = 1;
    static const double one_64[2] = {1, 0};
    const void *alpha = tensor.cell.itemsize < 8 ? (const void *)&one_32 : (const void *)one_64;
    return tensor.permute(tensor.handle, tensor.now, alpha, in, out, stream) == 0;
}

static bool is_right(void) {
    return peer_gpu_is_right(transpose_once);
}
static double transpose(void) {
    return peer_gpu_time(transpose_once);
}
static void release(void) {
    if (tensor.now != NULL)
        (void)tensor.plan_end(tensor.now);
    if (tensor.cell.itemsize != 0)
        peer_gpu_release();
    tensor.now = NULL;
    tensor.cell = (struct peer_cell){0};
}

int main(int argc, char **argv) {
    const struct peer permute = {
        .name = "cutensor",
        .reference = peer_gpu_reference,
        .device = "cuda:0",
        .open = open_tensor,
        .prepare = prepare,
        .is_right = is_right,
        .transpose = transpose,
        .copy = peer_gpu_copy,
        .release = release,
    };
    return peer_main(argc, argv, &permute);
}
