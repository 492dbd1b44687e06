/* cuda_work.h -- a matrix with its answer, run on the fake GPU and held to the oracle; and the codes of the calls that fail. */
#ifndef TPD_CUDA_WORK_H
#define TPD_CUDA_WORK_H

#include <stdlib.h>
#include <string.h>

#include "cuda_rig.h"

enum { MEMORY = 1 << 20, CODE_INVALID = 1, CODE_MEMORY = 2, CODE_ADDRESS = 700, CODE_LAUNCH = 719 };

struct work {
    struct tpd_task task;
    struct tpd_guarded in, out;
    unsigned char *expected;
    size_t bytes;
};

static inline struct work make_work(uint64_t rows, uint64_t cols, uint32_t itemsize, uint64_t seed) {
    struct work work = {.task = {.strategy = TPD_STRATEGY_AUTO}};
    work.task.matrix =
        (struct tpd_matrix){.rows = rows, .cols = cols, .batch = 1, .itemsize = itemsize, .dtype = TPD_DTYPE_OPAQUE};
    work.bytes = (size_t)(rows * cols * itemsize);
    work.in = tpd_guarded_make(work.bytes, seed % 7);
    work.out = tpd_guarded_make(work.bytes, seed % 5);
    work.expected = malloc(work.bytes);
    if (work.expected == NULL)
        abort();
    tpd_random_fill(work.in.data, work.bytes, seed);
    tpd_transpose_ref(&work.task.matrix, work.in.data, work.expected);
    work.task.in = work.in.data;
    work.task.out = work.out.data;
    return work;
}

static inline bool is_right(const struct work *work) {
    return memcmp(work->out.data, work->expected, work->bytes) == 0;
}

static inline void end_work(struct work *work) {
    tpd_guarded_check(&work->in);
    tpd_guarded_check(&work->out);
    tpd_guarded_free(&work->in);
    tpd_guarded_free(&work->out);
    free(work->expected);
}

/* Runs it, holds OK to the oracle, and makes sure that a failed run leaves the caller's output alone from then on. */
static inline enum tpd_status run_once(struct tpd_device *device, const struct work *work, struct tpd_error *error) {
    struct tpd_outcome outcome;
    memset(work->out.data, 0xa5, work->bytes);
    enum tpd_status status = cuda->run(device, &work->task, &outcome, error);
    if (status == TPD_OK)
        ck_assert_msg(is_right(work), "TPD_OK with wrong bytes");
    return status;
}

static inline struct tpd_device *open_device(uint32_t lanes) {
    return open_with((struct tpd_device_options){.lanes = lanes});
}

#endif
