/* fake_measure.c -- see fake_measure.h. */
#include "fake_measure.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "transposed/transposed.h"

static void copy(const struct fake_call *call) {
    memcpy(call->to, call->from, call->bytes);
}

int fake_copy_within(void *to, const void *from, uint64_t bytes, void *stream) {
    return fake_cuda_call(&(struct fake_call){.act = copy, .to = to, .from = from, .bytes = bytes}, stream);
}

int fake_measure_copy(void *to, const void *from, uint64_t bytes, void *stream) {
    return fake_copy_within(to, from, bytes - bytes % 16, stream);
}

static void fill(const struct fake_call *call) {
    tpd_random_fill(call->to, call->bytes, call->seed);
}

int fake_measure_fill(void *memory, uint64_t bytes, uint64_t seed, void *stream) {
    return fake_cuda_call(&(struct fake_call){.act = fill, .to = memory, .bytes = (bytes + 7) / 8 * 8, .seed = seed}, stream);
}

static void check(const struct fake_call *call) {
    unsigned char *expected = malloc(call->bytes);
    uint64_t wrong;
    if (expected == NULL)
        abort();
    tpd_transpose_ref(&call->matrix, call->from, expected);
    memcpy(&wrong, call->wrong, sizeof wrong);
    for (uint64_t at = 0; at < call->bytes; at += call->matrix.itemsize)
        wrong += memcmp((const unsigned char *)call->to + at, expected + at, call->matrix.itemsize) != 0;
    memcpy(call->wrong, &wrong, sizeof wrong);
    free(expected);
}

int fake_measure_check(const struct tpd_matrix *matrix, const void *in, const void *out, void *wrong, void *stream) {
    struct fake_call call = {.act = check, .from = in, .matrix = *matrix, .wrong = wrong};
    memcpy(&call.to, &out, sizeof out); /* only read */
    if (tpd_matrix_bytes(matrix, &call.bytes, NULL) != TPD_OK)
        return 1;
    return fake_cuda_call(&call, stream);
}
