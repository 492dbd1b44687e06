/* backend_simt.c -- the device that is no device: a plan's blocks, lane by lane, on the CPU.
 *
 * What a GPU would run, slowly and exactly: for tests, for teaching, and to ask for a strategy where there is no GPU.
 * A run stays on its caller's thread; lanes only bound how many there are at once.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/banks/simt.h"
#include "transposed/alloc.h"
#include "transposed/backend.h"
#include "transposed/clock.h"
#include "transposed/condition.h"

enum {
    LANES_DEFAULT = 4,
    SHARED_MOST_BYTES = 232448, /* what a block may opt in to on an H200 (227 KiB): every tile that runs there runs here */
    /* Words moved by one run, some seconds of a core; more belongs on another device. */
    MOVES_MOST = 64 * 1024 * 1024
};

struct tpd_device {
    struct tpd_tile tile; /* for tasks that name none */
    uint32_t lanes;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    uint32_t busy; /* under lock */
};

static uint32_t simt_count(struct tpd_error *error) {
    (void)error;
    return 1;
}

static enum tpd_status simt_open(uint32_t index, const struct tpd_device_options *options, struct tpd_device **device,
                                 struct tpd_error *error) {
    if (index != 0)
        return tpd_fail(error, TPD_UNKNOWN_DEVICE, "simt has one device, number 0, and not a number %" PRIu32, index);
    struct tpd_device *made = tpd_alloc_zero(1, sizeof *made);
    if (made == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for the simt device");
    enum tpd_status status = tpd_condition_init(&made->lock, &made->freed, error);
    if (status != TPD_OK) {
        tpd_free(made);
        return status;
    }
    made->tile = options->tile;
    made->lanes = options->lanes != 0 ? options->lanes : LANES_DEFAULT;
    *device = made;
    return TPD_OK;
}

static void simt_close(struct tpd_device *device) {
    if (device == NULL)
        return;
    tpd_condition_fini(&device->lock, &device->freed);
    tpd_free(device);
}

static void simt_info(struct tpd_device *device, struct tpd_device_info *info) {
    memset(info, 0, sizeof *info);
    (void)snprintf(info->id, sizeof info->id, "simt");
    (void)snprintf(info->name, sizeof info->name, "lane-by-lane runner");
    info->kind = "simt";
    info->state = TPD_STATE_READY;
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page_bytes > 0)
        info->memory_total_bytes = (uint64_t)pages * (uint64_t)page_bytes;
    info->shared_most_bytes = SHARED_MOST_BYTES;
    info->multiprocessors = device->lanes;
    info->lanes = device->lanes;
}

static enum tpd_status plan_task(const struct tpd_device *device, const struct tpd_task *task, struct tpd_plan *plan,
                                 struct tpd_error *error) {
    struct tpd_tile tile = task->tile.rows == 0 && task->tile.cols == 0 ? device->tile : task->tile;
    enum tpd_status status = tpd_strategy_plan(task->strategy, &task->matrix, tile, SHARED_MOST_BYTES, plan, error);
    if (status != TPD_OK)
        return status;
    uint64_t moves = tpd_matrix_items(&task->matrix) * plan->words;
    if (moves > MOVES_MOST)
        return tpd_fail_limit(error, TPD_TOO_LARGE, MOVES_MOST, moves,
                              "simt moves at most %d words of %" PRIu32 " bytes in one run, and this matrix has %" PRIu64
                              ": take another device",
                              MOVES_MOST, plan->word_bytes, moves);
    return TPD_OK;
}

static enum tpd_status simt_check(struct tpd_device *device, const struct tpd_task *task, struct tpd_error *error) {
    struct tpd_plan plan;
    return plan_task(device, task, &plan, error);
}

/* Counts this run in. Fails with TPD_DEADLINE. */
static enum tpd_status take_lane(struct tpd_device *device, uint64_t deadline_ns, struct tpd_error *error) {
    bool in_time = true;
    pthread_mutex_lock(&device->lock);
    while (device->busy == device->lanes && in_time)
        in_time = tpd_condition_wait(&device->lock, &device->freed, deadline_ns);
    bool taken = device->busy < device->lanes; /* even when the time ran out at the same moment */
    device->busy += taken;
    pthread_mutex_unlock(&device->lock);
    if (!taken)
        return tpd_fail(error, TPD_DEADLINE, "none of the %" PRIu32 " lanes of simt was free in time", device->lanes);
    return TPD_OK;
}

static void give_lane(struct tpd_device *device) {
    pthread_mutex_lock(&device->lock);
    device->busy--;
    pthread_cond_signal(&device->freed);
    pthread_mutex_unlock(&device->lock);
}

static enum tpd_status run_blocks(const struct tpd_plan *plan, const struct tpd_task *task, struct tpd_error *error) {
    struct tpd_simt simt;
    enum tpd_status status = tpd_simt_init(&simt, plan, task->in, task->out, NULL, NULL, error);
    if (status != TPD_OK)
        return status;
    for (uint64_t block = 0; block < plan->blocks && status == TPD_OK; block++)
        status = tpd_simt_run(&simt, block, error);
    tpd_simt_fini(&simt);
    return status;
}

static enum tpd_status simt_run(struct tpd_device *device, const struct tpd_task *task, struct tpd_outcome *outcome,
                                struct tpd_error *error) {
    struct tpd_plan plan;
    enum tpd_status status = plan_task(device, task, &plan, error);
    if (status != TPD_OK)
        return status;
    uint64_t asked_ns = tpd_clock_ns();
    status = take_lane(device, task->deadline_ns, error);
    if (status != TPD_OK)
        return status;
    uint64_t started_ns = tpd_clock_ns();
    status = run_blocks(&plan, task, error);
    uint64_t ended_ns = tpd_clock_ns();
    give_lane(device);
    memset(outcome, 0, sizeof *outcome);
    outcome->strategy = tpd_strategy_at(plan.strategy)->name;
    outcome->tile = plan.tile;
    outcome->wait_ns = started_ns - asked_ns;
    outcome->kernel_ns = ended_ns - started_ns;
    return status;
}

const struct tpd_backend tpd_backend_simt = {
    .name = "simt",
    .count = simt_count,
    .open = simt_open,
    .close = simt_close,
    .info = simt_info,
    .check = simt_check,
    .run = simt_run,
};
