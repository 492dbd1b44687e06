/* backend_cuda.c -- NVIDIA GPUs as a back end: what a device says of itself, who has a lane, and which way a matrix goes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_status.h"
#include "transposed/clock.h"

static uint32_t cuda_count(struct tpd_error *error) {
    const struct tpd_cuda_calls *calls = tpd_cuda_calls_in_use();
    int count = 0;
    if (calls == NULL) {
        (void)tpd_fail(error, TPD_UNKNOWN_DEVICE, "this build has no CUDA back end: build it where nvcc is found");
        return 0;
    }
    int code = calls->device_count(&count);
    if (code != 0 || count <= 0) {
        tpd_cuda_no_device(calls, code != 0 ? code : 100, error);
        return 0;
    }
    return count < TPD_DEVICES_MOST ? (uint32_t)count : TPD_DEVICES_MOST;
}

static void cuda_info(struct tpd_device *device, struct tpd_device_info *info) {
    memset(info, 0, sizeof *info);
    (void)snprintf(info->id, sizeof info->id, "cuda:%u", device->index % TPD_DEVICES_MOST);
    info->kind = "cuda";
    memcpy(info->name, device->properties.name, sizeof info->name - 1);
    memcpy(info->uuid, device->properties.uuid, sizeof info->uuid - 1);
    info->memory_total_bytes = device->properties.memory_total_bytes;
    info->memory_pool_bytes = device->pool.bytes;
    info->memory_used_bytes = tpd_pool_used_bytes(&device->pool);
    info->shared_most_bytes = device->properties.shared_most_bytes;
    info->compute_capability = device->properties.compute_capability;
    info->multiprocessors = device->properties.multiprocessors;
    info->lanes = device->lane_count;
    info->mapped_most_bytes = device->mapped.most_bytes;
    info->mapped_again_bytes = device->mapped.again_bytes;
    info->panels_least_bytes = device->panels_least_bytes;
    info->driver_version = device->driver_version;
    info->runtime_version = device->runtime_version;
    (void)pthread_mutex_lock(&device->lock);
    info->state = device->lost ? TPD_STATE_LOST : TPD_STATE_READY;
    memcpy(info->reason, device->reason, sizeof info->reason);
    (void)pthread_mutex_unlock(&device->lock);
}

/* ---- runs ---- */

enum tpd_status tpd_cuda_plan(const struct tpd_device *device, enum tpd_strategy_id strategy, const struct tpd_matrix *matrix,
                              struct tpd_tile tile, struct tpd_plan *plan, struct tpd_error *error) {
    return tpd_tuning_plan(device->tuning, strategy, matrix, tile, device->properties.shared_most_bytes, plan, error);
}

static enum tpd_status plan_task(const struct tpd_device *device, const struct tpd_task *task, struct tpd_plan *plan,
                                 uint64_t *bytes, struct tpd_error *error) {
    enum tpd_status status = tpd_matrix_bytes(&task->matrix, bytes, error);
    if (status == TPD_OK)
        status = tpd_cuda_plan(device, task->strategy, &task->matrix, task->tile, plan, error);
    return status;
}

static enum tpd_status cuda_check(struct tpd_device *device, const struct tpd_task *task, struct tpd_error *error) {
    struct tpd_plan plan;
    uint64_t bytes;
    return plan_task(device, task, &plan, &bytes, error);
}

static enum tpd_status take_lane(struct tpd_device *device, uint64_t deadline_ns, struct tpd_cuda_lane **lane,
                                 struct tpd_error *error) {
    enum tpd_status status = TPD_OK;
    bool in_time = true;
    *lane = NULL;
    (void)pthread_mutex_lock(&device->lock);
    for (;;) {
        if (device->lost) {
            status = tpd_fail(error, TPD_DEVICE_LOST, "%s", device->reason);
            break;
        }
        for (uint32_t i = 0; i < device->lane_count && *lane == NULL; i++)
            if (!device->lane[i].busy)
                *lane = &device->lane[i];
        if (*lane != NULL) {
            (*lane)->busy = true;
            break;
        }
        if (!in_time) {
            status = tpd_fail(error, TPD_DEADLINE, "all %u lanes of cuda:%u were busy until the deadline: try again later",
                              device->lane_count, device->index);
            break;
        }
        in_time = tpd_pool_condition_wait(&device->lock, &device->lane_free, deadline_ns);
    }
    (void)pthread_mutex_unlock(&device->lock);
    return status;
}

static void give_lane(struct tpd_device *device, struct tpd_cuda_lane *lane) {
    (void)pthread_mutex_lock(&device->lock);
    lane->busy = false;
    (void)pthread_cond_signal(&device->lane_free);
    (void)pthread_mutex_unlock(&device->lock);
}

/* What the measurements at the start found the fastest, where the memory allows it. Panels are for who can copy while it waits.
 */
static enum tpd_cuda_way way_of(const struct tpd_device *device, const struct tpd_task *task, enum tpd_strategy_id strategy,
                                uint64_t bytes) {
    /* Of accesses that fill no sector the bus carries each by itself: only where there are few. */
    const bool is_scattered = strategy == TPD_STRATEGY_DIRECT || strategy == TPD_STRATEGY_SWAPPED;
    if (task->flow != NULL)
        return TPD_CUDA_PANELS;
    const bool is_even = strategy == TPD_STRATEGY_VECTOR || strategy == TPD_STRATEGY_NARROW || strategy == TPD_STRATEGY_PACKED;
    const struct tpd_cuda_sizes *sizes = is_even ? &device->mapped : &device->mapped_uneven;
    /* Large squares were measured: of runs, panels have both directions of the bus for themselves. */
    const bool is_ahead = bytes <= sizes->most_bytes || (bytes >= sizes->again_bytes && !tpd_cuda_panels_are_runs(device, task));
    if (is_ahead && !(is_scattered && bytes > TPD_CUDA_STAGE_BYTES) && tpd_cuda_can_map(device, task, bytes))
        return TPD_CUDA_MAPPED;
    if (tpd_pool_room(bytes) > device->pool.bytes / 2 || (task->pinned && bytes >= device->panels_least_bytes))
        return TPD_CUDA_PANELS;
    return TPD_CUDA_WHOLE;
}

static enum tpd_status cuda_run(struct tpd_device *device, const struct tpd_task *task, struct tpd_outcome *outcome,
                                struct tpd_error *error) {
    uint64_t started_ns = tpd_clock_ns();
    struct tpd_plan plan;
    struct tpd_cuda_run run = {.device = device, .task = task, .plan = &plan};
    struct tpd_cuda_lane *lane;
    memset(outcome, 0, sizeof *outcome);
    enum tpd_status status = plan_task(device, task, &plan, &run.bytes, error);
    if (status == TPD_OK)
        status = take_lane(device, task->deadline_ns, &lane, error);
    if (status != TPD_OK)
        return status;
    outcome->strategy = tpd_strategy_at(plan.strategy)->name;
    outcome->tile = plan.tile;
    outcome->wait_ns = tpd_clock_ns() - started_ns;
    run.lane = lane;
    run.way = way_of(device, task, plan.strategy, run.bytes);
    status = tpd_cuda_run(&run, outcome, error);
    give_lane(device, lane);
    return status;
}

static enum tpd_status cuda_occupancy(struct tpd_device *device, const struct tpd_plan *plan, uint32_t *registers,
                                      uint32_t *blocks, struct tpd_error *error) {
    (void)pthread_mutex_lock(&device->lock);
    bool lost = device->lost;
    (void)pthread_mutex_unlock(&device->lock);
    if (lost)
        return tpd_cuda_device_lost(device, error);
    if (plan->shared_bytes > device->properties.shared_most_bytes)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, device->properties.shared_most_bytes, plan->shared_bytes,
                              "a block of %" PRIu64 " bytes of shared memory does not fit cuda:%u, which gives it %" PRIu64,
                              plan->shared_bytes, device->index, device->properties.shared_most_bytes);
    int code = device->calls->device_use((int)device->index);
    if (code == 0)
        code = device->calls->kernel_occupancy(plan, registers, blocks);
    return code == 0 ? TPD_OK : tpd_cuda_device_fail(device, code, "asking for a kernel's occupancy", error);
}

/* ---- page-locked memory ---- */

static void *cuda_host_alloc(size_t bytes) {
    const struct tpd_cuda_calls *calls = tpd_cuda_calls_in_use();
    void *memory = NULL;
    if (!tpd_cuda_use_open_device())
        return NULL;
    int code = calls->host_alloc(&memory, bytes);
    if (code == 0)
        return memory;
    (void)tpd_cuda_fail(calls, code, 0, "page-locking host memory", NULL);
    return NULL;
}

static void cuda_host_free(void *memory, size_t bytes) {
    (void)bytes;
    const struct tpd_cuda_calls *calls = tpd_cuda_calls_in_use();
    if (memory == NULL || calls == NULL)
        return;
    (void)tpd_cuda_use_open_device();
    int code = calls->host_free(memory);
    if (code != 0)
        (void)tpd_cuda_fail(calls, code, 0, "freeing page-locked host memory", NULL);
}

extern const struct tpd_backend tpd_backend_cuda;
const struct tpd_backend tpd_backend_cuda = {
    .name = "cuda",
    .count = cuda_count,
    .open = tpd_cuda_open,
    .close = tpd_cuda_close,
    .info = cuda_info,
    .check = cuda_check,
    .run = cuda_run,
    .occupancy = cuda_occupancy,
    .tune = tpd_cuda_tune,
    .measure = tpd_cuda_measure,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .errors = tpd_cuda_errors,
    .flows = true,
};
