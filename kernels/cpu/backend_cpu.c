/* backend_cpu.c -- this machine's cores as a device: "cpu". */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "transposed/alloc.h"
#include "transposed/backend.h"
#include "transposed/clock.h"
#include "transposed/condition.h"

struct tpd_device {
    uint32_t threads, lanes;
    const struct tpd_cpu_ops *ops;
    struct tpd_cpu_limits limits;
    char name[128];
    uint64_t memory_total_bytes;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    uint32_t waiting, promised;     /* callers; free lanes that are theirs */
    uint64_t arrivals, promised_to; /* callers that ever waited; those of them that a promise counts for */
    uint32_t lanes_used;
    struct tpd_cpu_worker *workers; /* one a lane */
    struct tpd_cpu_worker **idle;   /* those of lanes that are not used, lanes - lanes_used of them */
};

static uint32_t count(struct tpd_error *error) {
    (void)error;
    return 1;
}

static void free_workers(struct tpd_device *device) {
    for (uint32_t i = 0; device->workers != NULL && i < device->lanes; i++)
        tpd_cpu_worker_fini(&device->workers[i]);
    tpd_free(device->workers);
    tpd_free(device->idle);
}

static enum tpd_status make_workers(struct tpd_device *device, struct tpd_error *error) {
    enum tpd_status status = TPD_OK;
    device->workers = tpd_alloc_zero(device->lanes, sizeof *device->workers);
    device->idle = tpd_alloc_zero(device->lanes, sizeof(struct tpd_cpu_worker *));
    if (device->workers == NULL || device->idle == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for %" PRIu32 " lanes of the CPU", device->lanes);
    for (uint32_t i = 0; i < device->lanes && status == TPD_OK; i++) {
        status = tpd_cpu_worker_init(&device->workers[i], device->limits.tile_bytes, error);
        device->idle[i] = &device->workers[i];
    }
    return status;
}

static enum tpd_status open_device(uint32_t index, const struct tpd_device_options *options, struct tpd_device **result,
                                   struct tpd_error *error) {
    *result = NULL;
    if (index != 0)
        return tpd_fail(error, TPD_UNKNOWN_DEVICE, "there is one CPU device, number 0, and no number %" PRIu32, index);
    if (options->cpu_threads > TPD_CPU_THREADS_MOST)
        return tpd_fail_limit(error, TPD_TOO_LARGE, TPD_CPU_THREADS_MOST, options->cpu_threads,
                              "cpu_threads %" PRIu32 " is over the limit of %d", options->cpu_threads, TPD_CPU_THREADS_MOST);
    struct tpd_device *device = tpd_alloc_zero(1, sizeof *device);
    if (device == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for the CPU device");
    device->threads = options->cpu_threads != 0 ? options->cpu_threads : tpd_cpu_cores();
    if (device->threads > TPD_CPU_THREADS_MOST)
        device->threads = TPD_CPU_THREADS_MOST;
    device->lanes = options->lanes != 0 ? options->lanes : device->threads;
    device->ops = tpd_cpu_ops();
    device->limits = tpd_cpu_machine();
    device->limits.threads = device->threads;
    device->memory_total_bytes = tpd_cpu_memory_bytes();
    tpd_cpu_model(device->name, sizeof device->name);
    enum tpd_status status = make_workers(device, error);
    if (status == TPD_OK)
        status = tpd_condition_init(&device->lock, &device->freed, error);
    if (status == TPD_OK) {
        status = tpd_cpu_pool_open(device->threads, error);
        if (status == TPD_OK) {
            *result = device;
            return TPD_OK;
        }
        tpd_condition_fini(&device->lock, &device->freed);
    }
    free_workers(device);
    tpd_free(device);
    return status;
}

static void close_device(struct tpd_device *device) {
    if (device == NULL)
        return;
    tpd_cpu_pool_close();
    tpd_condition_fini(&device->lock, &device->freed);
    free_workers(device);
    tpd_free(device);
}

static void info(struct tpd_device *device, struct tpd_device_info *info) {
    memset(info, 0, sizeof *info);
    snprintf(info->id, sizeof info->id, "cpu");
    info->kind = "cpu";
    snprintf(info->name, sizeof info->name, "%s", device->name);
    info->state = TPD_STATE_READY;
    info->memory_total_bytes = device->memory_total_bytes;
    info->multiprocessors = device->threads;
    info->instructions = device->ops->name;
    info->lanes = device->lanes;
}

static enum tpd_status check(struct tpd_device *device, const struct tpd_task *task, struct tpd_error *error) {
    (void)device;
    uint64_t bytes;
    if (task->strategy != TPD_STRATEGY_AUTO) {
        const struct tpd_strategy *strategy = tpd_strategy_at(task->strategy);
        return tpd_fail(error, TPD_UNSUPPORTED,
                        "strategy '%s' is a tile strategy of GPUs, and the CPU has none: leave strategy at auto, "
                        "or ask for device=simt, which runs it lane by lane",
                        strategy != NULL ? strategy->name : "?");
    }
    return tpd_matrix_bytes(&task->matrix, &bytes, error);
}

/* One of the free lanes that were promised is the caller's that was number `number` to wait. */
static bool is_served(const struct tpd_device *device, uint64_t number) {
    return device->promised != 0 && number < device->promised_to;
}

/* A lane that comes free while somebody waits is promised to those who do, and to no later one: a caller in a loop would take
 * it again before they have woken up. */
static enum tpd_status take_lane(struct tpd_device *device, uint64_t deadline_ns, struct tpd_cpu_worker **worker,
                                 struct tpd_error *error) {
    bool in_time = true;
    pthread_mutex_lock(&device->lock);
    const bool waits = device->lanes_used + device->promised >= device->lanes;
    const uint64_t number = device->arrivals;
    device->waiting += waits;
    device->arrivals += waits;
    while (waits && !is_served(device, number) && in_time)
        in_time = tpd_condition_wait(&device->lock, &device->freed, deadline_ns);
    const bool taken = !waits || is_served(device, number);
    device->waiting -= waits;
    device->promised -= waits && taken;
    if (taken)
        *worker = device->idle[device->lanes - ++device->lanes_used];
    pthread_mutex_unlock(&device->lock);
    if (!taken)
        return tpd_fail(error, TPD_DEADLINE, "all %" PRIu32 " lanes of the CPU were busy until the deadline: try again",
                        device->lanes);
    return TPD_OK;
}

static void give_lane(struct tpd_device *device, struct tpd_cpu_worker *worker) {
    pthread_mutex_lock(&device->lock);
    device->idle[device->lanes - device->lanes_used--] = worker;
    if (device->promised < device->waiting) {
        device->promised++;
        device->promised_to = device->arrivals;
        pthread_cond_broadcast(&device->freed);
    }
    pthread_mutex_unlock(&device->lock);
}

static enum tpd_status run(struct tpd_device *device, const struct tpd_task *task, struct tpd_outcome *outcome,
                           struct tpd_error *error) {
    memset(outcome, 0, sizeof *outcome);
    enum tpd_status status = check(device, task, error);
    if (status != TPD_OK)
        return status;
    struct tpd_cpu_plan plan;
    struct tpd_cpu_worker *worker = NULL;
    tpd_cpu_plan(&plan, device->ops, &task->matrix, task->in, task->out, &device->limits);
    outcome->strategy = plan.strategy;
    uint64_t start = tpd_clock_ns();
    if (plan.bytes < TPD_CPU_ALONE_BYTES && plan.tile_bytes == 0) {
        tpd_cpu_run(&plan, &(struct tpd_cpu_worker){0});
        outcome->kernel_ns = tpd_clock_ns() - start;
        return TPD_OK;
    }
    status = take_lane(device, task->deadline_ns, &worker, error);
    uint64_t begin = tpd_clock_ns();
    outcome->wait_ns = begin - start;
    if (status != TPD_OK)
        return status;
    tpd_cpu_pool_run(&plan, device->threads, worker);
    outcome->kernel_ns = tpd_clock_ns() - begin;
    give_lane(device, worker);
    return TPD_OK;
}

const struct tpd_backend tpd_backend_cpu = {
    .name = "cpu", .count = count, .open = open_device, .close = close_device, .info = info, .check = check, .run = run};
