/* cuda_ways.c -- measures at the start how small a matrix must be for kernels to work on the host's memory itself, and how large
 * for panels to pay: on another bus, or another GPU, both are elsewhere. */
#include <string.h>

#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/panels.h"
#include "transposed/clock.h"

enum {
    SIDE_LEAST = 32,  /* of a float32 square: 4 KiB */
    SIDE_MOST = 4096, /* 64 MiB; a matrix and its transpose are page-locked for it: some 50 ms of the start */
    REPEATS = 3,      /* the best of these, after one that warms up */
    NOISE = 20,       /* one part of so many is none of a way's own */
    POOL_SHARE = 4    /* of the pool, at most, for the matrix: it goes whole and in panels */
};

static enum tpd_status best_ns(struct tpd_device *device, const struct tpd_task *task, uint64_t bytes, enum tpd_cuda_way way,
                               uint64_t *best, struct tpd_error *error) {
    struct tpd_plan plan;
    const struct tpd_cuda_run run = {device, &device->lane[0], task, &plan, bytes, way};
    *best = UINT64_MAX;
    enum tpd_status status = tpd_cuda_plan(device, task->strategy, &task->matrix, task->tile, &plan, error);
    for (int i = 0; i <= REPEATS && status == TPD_OK; i++) {
        struct tpd_outcome outcome = {.wait_ns = 0};
        uint64_t start_ns = tpd_clock_ns();
        status = tpd_cuda_run(&run, &outcome, error);
        uint64_t taken_ns = tpd_clock_ns() - start_ns;
        if (i > 0 && taken_ns < *best)
            *best = taken_ns;
    }
    return status;
}

/* Sizes go up: what is true up to here, or from here on, is what was true without a gap. */
static void note(struct tpd_device *device, uint64_t bytes, const uint64_t best[TPD_CUDA_WAYS]) {
    const uint64_t copied = best[TPD_CUDA_WHOLE] < best[TPD_CUDA_PANELS] ? best[TPD_CUDA_WHOLE] : best[TPD_CUDA_PANELS];
    struct tpd_cuda_sizes *mapped = &device->mapped;
    if (best[TPD_CUDA_MAPPED] - best[TPD_CUDA_MAPPED] / NOISE > copied) {
        mapped->again_bytes = UINT64_MAX;
    } else {
        if (bytes == SIDE_LEAST * SIDE_LEAST * 4 || mapped->most_bytes * 4 == bytes)
            mapped->most_bytes = bytes;
        if (mapped->again_bytes == UINT64_MAX)
            mapped->again_bytes = bytes;
    }
    if (best[TPD_CUDA_PANELS] >= best[TPD_CUDA_WHOLE])
        device->panels_least_bytes = UINT64_MAX;
    else if (device->panels_least_bytes == UINT64_MAX)
        device->panels_least_bytes = bytes;
}

/* By what rows are copied best is asked at every size; the largest one's answer stays. */
static enum tpd_status measure_panels(struct tpd_device *device, const struct tpd_task *task, uint64_t bytes, uint64_t *best,
                                      struct tpd_error *error) {
    enum tpd_cuda_rows_by fastest = TPD_CUDA_ROWS_ENGINE;
    enum tpd_status status = TPD_OK;
    for (int by = 0; by < (device->properties.maps_host ? TPD_CUDA_ROWS_BYS : 1) && status == TPD_OK; by++) {
        struct tpd_panels panels;
        uint64_t taken_ns = UINT64_MAX;
        device->rows_by = (enum tpd_cuda_rows_by)by;
        tpd_cuda_panels_begin(&panels, device, task);
        if (!tpd_panels_is_one(&panels))
            status = best_ns(device, task, bytes, TPD_CUDA_PANELS, &taken_ns, error);
        if (taken_ns < *best) {
            *best = taken_ns;
            fastest = (enum tpd_cuda_rows_by)by;
        }
    }
    device->rows_by = fastest;
    return status;
}

static enum tpd_status measure(struct tpd_device *device, struct tpd_task *task, uint64_t side, uint64_t best[TPD_CUDA_WAYS],
                               struct tpd_error *error) {
    const uint64_t bytes = side * side * 4;
    task->matrix = (struct tpd_matrix){.rows = side, .cols = side, .batch = 1, .itemsize = 4, .dtype = TPD_DTYPE_OPAQUE};
    for (int way = 0; way < TPD_CUDA_WAYS; way++)
        best[way] = UINT64_MAX;
    enum tpd_status status = TPD_OK;
    if (tpd_cuda_can_map(device, task, bytes))
        status = best_ns(device, task, bytes, TPD_CUDA_MAPPED, &best[TPD_CUDA_MAPPED], error);
    if (status == TPD_OK)
        status = best_ns(device, task, bytes, TPD_CUDA_WHOLE, &best[TPD_CUDA_WHOLE], error);
    if (status == TPD_OK)
        status = measure_panels(device, task, bytes, &best[TPD_CUDA_PANELS], error);
    if (status == TPD_OK)
        note(device, bytes, best);
    return status;
}

/* What is ahead at the largest size stays so: from there on the bus alone counts. Whether that holds for rows that begin within
 * vectors, of which kernels read parts twice, is asked there too. */
static enum tpd_status measure_beyond(struct tpd_device *device, struct tpd_task *task, uint64_t side,
                                      const uint64_t best[TPD_CUDA_WAYS], struct tpd_error *error) {
    const uint64_t bytes = side * side * 4;
    struct tpd_cuda_sizes *mapped = &device->mapped, *uneven = &device->mapped_uneven;
    uneven->most_bytes = mapped->most_bytes < TPD_CUDA_UNEVEN_BYTES ? mapped->most_bytes : TPD_CUDA_UNEVEN_BYTES;
    if (side != SIDE_MOST)
        mapped->again_bytes = UINT64_MAX;
    if (mapped->again_bytes == UINT64_MAX)
        return TPD_OK;
    task->matrix.rows = side - 1;
    uint64_t uneven_ns;
    enum tpd_status status = best_ns(device, task, (side - 1) * side * 4, TPD_CUDA_MAPPED, &uneven_ns, error);
    if (status == TPD_OK && uneven_ns <= best[TPD_CUDA_WHOLE] && uneven_ns <= best[TPD_CUDA_PANELS])
        uneven->again_bytes = bytes;
    return status;
}

enum tpd_status tpd_cuda_measure_ways(struct tpd_device *device, struct tpd_error *error) {
    const struct tpd_cuda_calls *calls = device->calls;
    uint64_t side_most = SIDE_LEAST, best[TPD_CUDA_WAYS];
    void *memory = NULL;
    device->mapped = device->mapped_uneven = (struct tpd_cuda_sizes){.most_bytes = 0, .again_bytes = UINT64_MAX};
    device->panels_least_bytes = UINT64_MAX;
    while (side_most < SIDE_MOST && 4 * side_most * side_most * 4 <= device->pool.bytes / POOL_SHARE)
        side_most *= 2;
    const uint64_t most_bytes = side_most * side_most * 4;
    int code = calls->host_alloc(&memory, 2 * most_bytes);
    if (code != 0)
        return tpd_cuda_device_fail(device, code, "page-locking host memory", error);
    memset(memory, 1, 2 * most_bytes);
    struct tpd_task task = {
        .in = memory, .out = (unsigned char *)memory + most_bytes, .pinned = true, .strategy = TPD_STRATEGY_AUTO};
    enum tpd_status status = TPD_OK;
    for (uint64_t side = SIDE_LEAST; side <= side_most && status == TPD_OK; side *= 2)
        status = measure(device, &task, side, best, error);
    if (status == TPD_OK)
        status = measure_beyond(device, &task, side_most, best, error);
    code = calls->host_free(memory);
    if (code != 0 && status == TPD_OK)
        status = tpd_cuda_device_fail(device, code, "freeing page-locked host memory", error);
    return status;
}
