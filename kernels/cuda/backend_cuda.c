/* backend_cuda.c -- NVIDIA GPUs as a back end: context, memory pool, lanes; copy in, kernel, copy out.
 *
 * A lane is a stream and its events; a run takes one and, in one piece, the device memory for its input and output, so
 * that two runs never hold one half each and wait for the other. After a failed call the lane's stream is drained before
 * the caller gets its buffers back: nothing of ours touches them afterwards.
 */
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
    info->memory_total_bytes = device->properties.memory_total_bytes;
    info->memory_pool_bytes = device->pool.bytes;
    info->memory_used_bytes = tpd_pool_used_bytes(&device->pool);
    info->shared_most_bytes = device->properties.shared_most_bytes;
    info->compute_capability = device->properties.compute_capability;
    info->multiprocessors = device->properties.multiprocessors;
    info->lanes = device->lane_count;
    info->driver_version = device->driver_version;
    info->runtime_version = device->runtime_version;
    (void)pthread_mutex_lock(&device->lock);
    info->state = device->lost ? TPD_STATE_LOST : TPD_STATE_READY;
    memcpy(info->reason, device->reason, sizeof info->reason);
    (void)pthread_mutex_unlock(&device->lock);
}

/* ---- runs ---- */

static enum tpd_status lost_status(struct tpd_device *device, struct tpd_error *error) {
    (void)pthread_mutex_lock(&device->lock);
    enum tpd_status status = tpd_fail(error, TPD_DEVICE_LOST, "%s", device->reason);
    (void)pthread_mutex_unlock(&device->lock);
    return status;
}

/* The plan, and the bytes of input or output in the pool: whole alignment units, so that the output starts on one. */
static enum tpd_status plan_task(const struct tpd_device *device, const struct tpd_task *task, struct tpd_plan *plan,
                                 uint64_t *bytes, uint64_t *room, struct tpd_error *error) {
    enum tpd_status status = tpd_matrix_bytes(&task->matrix, bytes, error);
    if (status == TPD_OK)
        status = tpd_strategy_plan(task->strategy, &task->matrix, task->tile, device->properties.shared_most_bytes, plan, error);
    if (status != TPD_OK)
        return status;
    *room = *bytes + (TPD_POOL_ALIGNMENT - *bytes % TPD_POOL_ALIGNMENT) % TPD_POOL_ALIGNMENT; /* bytes < 2^63: no overflow */
    if (*room > device->pool.bytes / 2)
        return tpd_fail_limit(error, TPD_TOO_LARGE, device->pool.bytes / 2, *bytes,
                              "the matrix has %" PRIu64 " bytes and cuda:%u takes at most %" PRIu64
                              " (it and its transpose lie in a pool of %" PRIu64
                              "): raise device_memory_bytes, or use device=cpu",
                              *bytes, device->index, device->pool.bytes / 2, device->pool.bytes);
    return TPD_OK;
}

static enum tpd_status cuda_check(struct tpd_device *device, const struct tpd_task *task, struct tpd_error *error) {
    struct tpd_plan plan;
    uint64_t bytes, room;
    return plan_task(device, task, &plan, &bytes, &room, error);
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

/* Everything on the lane's stream, in order; answers the first code that is not 0. */
static int enqueue(struct tpd_device *device, const struct tpd_cuda_lane *lane, const struct tpd_task *task,
                   const struct tpd_plan *plan, uint64_t bytes, void *in, void *out) {
    const struct tpd_cuda_calls *calls = device->calls;
    int code = calls->event_record(lane->event[TPD_CUDA_START], lane->stream);
    if (code == 0)
        code = calls->copy_in(in, task->in, bytes, lane->stream);
    if (code == 0)
        code = calls->event_record(lane->event[TPD_CUDA_IN], lane->stream);
    if (code == 0)
        code = calls->kernel_launch(plan, in, out, lane->stream);
    if (code == 0)
        code = calls->event_record(lane->event[TPD_CUDA_KERNEL], lane->stream);
    if (code == 0)
        code = calls->copy_out(task->out, out, bytes, lane->stream);
    if (code == 0)
        code = calls->event_record(lane->event[TPD_CUDA_OUT], lane->stream);
    if (code == 0)
        code = calls->event_wait(lane->event[TPD_CUDA_OUT]);
    return code;
}

static int read_times(struct tpd_device *device, const struct tpd_cuda_lane *lane, struct tpd_outcome *outcome) {
    uint64_t *const times[TPD_CUDA_EVENTS - 1] = {&outcome->h2d_ns, &outcome->kernel_ns, &outcome->d2h_ns};
    int code = 0;
    for (int i = 0; i + 1 < TPD_CUDA_EVENTS && code == 0; i++) {
        float milliseconds = 0;
        code = device->calls->event_elapsed(&milliseconds, lane->event[i], lane->event[i + 1]);
        *times[i] = milliseconds > 0 ? (uint64_t)((double)milliseconds * 1e6) : 0;
    }
    return code;
}

/* After a failure: whatever was enqueued still reads and writes the caller's memory and ours. A stream that does not come
 * to rest can't be waited for, so the device is given up rather than its memory handed to somebody else. */
static void drain(struct tpd_device *device, const struct tpd_cuda_lane *lane) {
    int code = device->calls->stream_wait(lane->stream);
    if (code == 0)
        return;
    struct tpd_error words;
    if (tpd_cuda_device_fail(device, code, "waiting for a stream after a failure", &words) != TPD_DEVICE_LOST &&
        device->calls->stream_wait(lane->stream) != 0)
        tpd_cuda_device_lose(device, words.text);
}

static enum tpd_status run_on_lane(struct tpd_device *device, const struct tpd_cuda_lane *lane, const struct tpd_task *task,
                                   const struct tpd_plan *plan, uint64_t bytes, uint64_t room, uint64_t started_ns,
                                   struct tpd_outcome *outcome, struct tpd_error *error) {
    uint64_t offset;
    enum tpd_status status = tpd_pool_acquire(&device->pool, 2 * room, task->deadline_ns, &offset, error);
    if (status == TPD_DEVICE_LOST)
        return lost_status(device, error);
    if (status != TPD_OK)
        return status;
    outcome->wait_ns = tpd_clock_ns() - started_ns;
    const char *doing = "choosing the device in this thread";
    int code = device->calls->device_use((int)device->index);
    if (code == 0) {
        doing = "transposing";
        code = enqueue(device, lane, task, plan, bytes, device->memory + offset, device->memory + offset + room);
        if (code == 0) {
            doing = "reading the times of a run";
            code = read_times(device, lane, outcome);
        }
    }
    if (code != 0) {
        status = tpd_cuda_device_fail(device, code, doing, error);
        drain(device, lane);
    }
    tpd_pool_release(&device->pool, offset);
    return status;
}

static enum tpd_status cuda_run(struct tpd_device *device, const struct tpd_task *task, struct tpd_outcome *outcome,
                                struct tpd_error *error) {
    uint64_t started_ns = tpd_clock_ns(), bytes, room;
    struct tpd_plan plan;
    struct tpd_cuda_lane *lane;
    memset(outcome, 0, sizeof *outcome);
    enum tpd_status status = plan_task(device, task, &plan, &bytes, &room, error);
    if (status == TPD_OK)
        status = take_lane(device, task->deadline_ns, &lane, error);
    if (status != TPD_OK)
        return status;
    outcome->strategy = tpd_strategy_at(plan.strategy)->name;
    outcome->tile = plan.tile;
    status = run_on_lane(device, lane, task, &plan, bytes, room, started_ns, outcome, error);
    give_lane(device, lane);
    return status;
}

static enum tpd_status cuda_occupancy(struct tpd_device *device, const struct tpd_plan *plan, uint32_t *registers,
                                      uint32_t *blocks, struct tpd_error *error) {
    (void)pthread_mutex_lock(&device->lock);
    bool lost = device->lost;
    (void)pthread_mutex_unlock(&device->lock);
    if (lost)
        return lost_status(device, error);
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
    .measure = tpd_cuda_measure,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .errors = tpd_cuda_errors,
};
