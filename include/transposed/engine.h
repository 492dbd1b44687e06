/* engine.h -- devices, workers, queue and budgets: everything between a decoded request and its answer.
 *
 * Owns: the devices, the worker threads, the host block pool, the queue.
 * Threads: create and destroy from one thread; the rest from any.
 * Ceiling: queue_depth jobs waiting, host_memory_bytes in blocks, each device its pool.
 */
#ifndef TRANSPOSED_ENGINE_H
#define TRANSPOSED_ENGINE_H

#include "transposed/config.h"
#include "transposed/job.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tpd_engine;

struct tpd_engine_counts {
    uint64_t queued, running;
    uint64_t host_budget_bytes, host_used_bytes; /* blocks held by requests, and set aside for them */
    uint64_t host_cached_bytes;                  /* blocks kept for the next request, part of neither */
    uint64_t pinned_bytes;                       /* page-locked, used or cached */
    /* device=auto goes to a GPU from here, by item size (tpd_tuning_size()); 0: never. */
    uint64_t crossover_bytes[TPD_TUNING_SIZES];
};

/* Borrows config until destroy. Opens the devices that config names, warms them and starts the workers. A GPU that can't be used
 * is no failure: the engine runs on the CPU and device info says why. Fails with TPD_CONFIG (a device named in `devices` that
 * isn't there), TPD_NO_MEMORY. */
enum tpd_status tpd_engine_create(const struct tpd_config *config, struct tpd_engine **engine,
                                  struct tpd_error *error) TPD_CHECKED;
/* Waits for running jobs; queued ones end with TPD_DRAINING. NULL is ignored. */
void tpd_engine_destroy(struct tpd_engine *engine);

/* Takes up the reloadable knobs of a new configuration; borrows it until the next call or destroy. */
void tpd_engine_reconfigure(struct tpd_engine *engine, const struct tpd_config *config);

/* Where blocks come from: budgeted, recycled, pinned when there is a GPU. */
struct tpd_memory *tpd_engine_memory(struct tpd_engine *engine);
/* The same for one job, for its decoder and its encoder: once the matrix is known, all that the job will need is set aside, so
 * that what was accepted can be finished. Stays valid while the job does, at its address; tpd_job_give_back() returns what is
 * set aside. Fails with TPD_TOO_LARGE where the job's own bytes pass the budget, TPD_MEMORY_FULL where others have them. */
struct tpd_memory *tpd_engine_job_memory(struct tpd_engine *engine, struct tpd_job *job);

/* Refuses early what could never run, before a body is read: an explicit strategy or device that isn't there, a shape that no
 * device could hold. matrix may be NULL (not known yet). */
enum tpd_status tpd_engine_check(struct tpd_engine *engine, const struct tpd_job *job, const struct tpd_matrix *matrix,
                                 struct tpd_error *error) TPD_CHECKED;

/* More of the body has come: when its items go to a device that can begin before all are there, it does, and the caller goes on.
 * To be called after a push that succeeded; the job stays the caller's. Nothing depends on it but time. */
void tpd_engine_arrive(struct tpd_engine *engine, struct tpd_job *job);

/* True when the job is so small that it is done sooner here than handed over. */
bool tpd_engine_is_small(struct tpd_engine *engine, const struct tpd_job *job, uint64_t body_bytes);
/* Does it in this thread, done() included. */
void tpd_engine_run(struct tpd_engine *engine, struct tpd_job *job);
/* Takes the job; done() comes from a worker. Fails with TPD_QUEUE_FULL, TPD_DRAINING: then the caller still owns it. */
enum tpd_status tpd_engine_submit(struct tpd_engine *engine, struct tpd_job *job, struct tpd_error *error) TPD_CHECKED;

/* From now on submit and run answer TPD_DRAINING for what is still queued or comes. */
void tpd_engine_refuse(struct tpd_engine *engine);
/* True when nothing is queued or running. Waits up to timeout_ns. */
bool tpd_engine_wait_idle(struct tpd_engine *engine, uint64_t timeout_ns);

uint32_t tpd_engine_device_count(struct tpd_engine *engine);
void tpd_engine_device_info(struct tpd_engine *engine, uint32_t index, struct tpd_device_info *info);
/* What a device's driver says of the kernel that a plan launches: registers a thread, and blocks that one multiprocessor holds.
 * Fails with TPD_UNSUPPORTED for a device that has no such kernels, and as the back end does. */
enum tpd_status tpd_engine_occupancy(struct tpd_engine *engine, uint32_t index, const struct tpd_plan *plan, uint32_t *registers,
                                     uint32_t *blocks, struct tpd_error *error) TPD_CHECKED;
/* The drivers' errors so far, over all back ends; answers how many rows were filled. */
uint32_t tpd_engine_device_errors(struct tpd_engine *engine, struct tpd_device_error *list, uint32_t most);
/* False when a device was lost and on_device_loss says that this daemon should end. */
bool tpd_engine_is_fit(struct tpd_engine *engine);
void tpd_engine_counts(struct tpd_engine *engine, struct tpd_engine_counts *counts);
/* What `auto` takes on the device it prefers, for a large matrix of an item size; the CPU's path without a GPU. *cell (cell may
 * be NULL) is what was measured for it; NULL: it is the rule's, or the configuration's. */
const char *tpd_engine_chosen(struct tpd_engine *engine, uint32_t itemsize, const struct tpd_tuning_cell **cell);
/* What was measured on a device; NULL: nothing, `auto` goes by rule. Stays until destroy. */
const struct tpd_tuning *tpd_engine_tuning(struct tpd_engine *engine, uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
