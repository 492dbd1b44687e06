/* engine.c -- the engine's life, its threads, and what others may ask of it. */
#include "transposed/engine.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "server/engine/engine_internal.h"
#include "transposed/alloc.h"
#include "transposed/clock.h"

static void end_job(struct tpd_engine *engine, struct tpd_job *job) {
    job->done(job); /* from here on the job is the caller's again, or gone */
    tpd_job_queue_ended(&engine->queue);
}

static void count_wait(struct tpd_job *job) {
    job->stage_ns[TPD_STAGE_QUEUE] += tpd_clock_ns() - job->queued_ns;
}

/* True when the job went on to wait for a device with workers of its own. */
static bool goes_on(struct tpd_engine *engine, struct tpd_job *job) {
    if (job->status != TPD_OK || job->choice.slot == NULL || job->choice.slot->line == 0)
        return false;
    enum tpd_status status = tpd_job_queue_forward(&engine->queue, job->choice.slot->line, job, &job->error);
    if (status == TPD_OK)
        return true; /* not ours any more */
    job->status = status;
    return false;
}

/* Line 0 decodes and chooses, and does what the CPU does; the others do what their device does. */
static void *worker_main(void *self) {
    const struct tpd_worker *worker = self;
    struct tpd_engine *engine = worker->engine;
    for (struct tpd_job *job; (job = tpd_job_queue_pop(&engine->queue, worker->line)) != NULL;) {
        count_wait(job);
        if (worker->line == 0 && job->status == TPD_OK) {
            tpd_engine_prepare(engine, job);
            if (goes_on(engine, job))
                continue;
        }
        tpd_engine_perform(engine, job);
        end_job(engine, job);
    }
    return NULL;
}

static void *reaper_main(void *self) {
    struct tpd_engine *engine = self;
    struct tpd_job *list;
    while ((list = tpd_job_queue_expire(&engine->queue, atomic_load(&engine->queue_timeout_ns))) != NULL)
        while (list != NULL) {
            struct tpd_job *job = list;
            list = job->next;
            job->next = NULL;
            count_wait(job);
            tpd_job_give_back(job);
            end_job(engine, job);
        }
    return NULL;
}

static bool start_worker(struct tpd_engine *engine, uint32_t line) {
    if (engine->worker_count == TPD_ENGINE_WORKERS_MOST)
        return false;
    struct tpd_worker *worker = &engine->workers[engine->worker_count];
    *worker = (struct tpd_worker){.engine = engine, .line = line};
    if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0)
        return false;
    engine->worker_count++;
    return true;
}

/* A device that flows keeps a lane for bodies that are still arriving. */
static uint32_t worker_lanes(const struct tpd_slot *slot) {
    return slot->info.lanes - (slot->backend->flows && slot->info.lanes > 1 ? 1 : 0);
}

/* A worker a core on the line where every job begins, and a worker a lane for each device beside the CPU, so that a slow
 * device keeps nobody from a fast one. Fewer than wanted still work; a line without one would not. */
static enum tpd_status start_threads(struct tpd_engine *engine, struct tpd_error *error) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t wanted = cores < 1 ? 1 : cores > TPD_ENGINE_CORES_MOST ? TPD_ENGINE_CORES_MOST : (uint32_t)cores;
    engine->has_reaper = pthread_create(&engine->reaper, NULL, reaper_main, engine) == 0;
    bool is_served = engine->has_reaper && start_worker(engine, 0);
    for (uint32_t i = 0; i < engine->slot_count; i++) {
        struct tpd_slot *slot = &engine->slots[i];
        if (slot->device == NULL || slot->role == TPD_ROLE_HOST)
            continue;
        slot->line = i + 1;
        is_served = is_served && start_worker(engine, slot->line);
    }
    if (!is_served)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no thread for the engine");
    for (uint32_t i = 0; i < engine->slot_count; i++)
        for (uint32_t lane = 1; engine->slots[i].line != 0 && lane < worker_lanes(&engine->slots[i]); lane++)
            (void)start_worker(engine, engine->slots[i].line);
    while (--wanted > 0)
        (void)start_worker(engine, 0);
    for (uint32_t i = 0; i < engine->slot_count; i++)
        if (engine->slots[i].line != 0)
            tpd_early_seat_open(&engine->slots[i]);
    return TPD_OK;
}

enum tpd_status tpd_engine_create_with(const struct tpd_config *config, const struct tpd_backend *const *backends,
                                       struct tpd_engine **engine, struct tpd_error *error) {
    enum tpd_strategy_id strategy;
    struct tpd_error unknown;
    if (tpd_strategy_find(config->strategy, &strategy, &unknown) != TPD_OK)
        return tpd_fail(error, TPD_CONFIG, "strategy: %.200s", unknown.text);
    struct tpd_engine *made = tpd_alloc_zero(1, sizeof *made);
    if (made == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for the engine");
    made->config = config;
    memcpy(made->backends, backends, sizeof made->backends);
    atomic_init(&made->strategy, (int)strategy);
    atomic_init(&made->queue_timeout_ns, config->queue_timeout);
    enum tpd_status status = tpd_job_queue_init(&made->queue, TPD_ENGINE_SLOTS_MOST + 1, config->queue_depth, error);
    if (status != TPD_OK) {
        tpd_free(made);
        return status;
    }
    status = tpd_engine_devices_open(made, error);
    if (status == TPD_OK) {
        uint64_t budget = config->host_memory_bytes != 0 ? config->host_memory_bytes : tpd_host_memory_default();
        const struct tpd_slot *gpu = tpd_engine_first(made, TPD_ROLE_ACCELERATOR);
        status = tpd_host_pool_create(budget, gpu != NULL ? gpu->backend : NULL, &made->pool, error);
    }
    if (status == TPD_OK) {
        tpd_host_pool_huge_pages(made->pool, config->huge_pages != 0);
        tpd_engine_tune(made);
        status = start_threads(made, error);
    }
    if (status != TPD_OK) {
        tpd_engine_destroy(made);
        return status;
    }
    *engine = made;
    return TPD_OK;
}

enum tpd_status tpd_engine_create(const struct tpd_config *config, struct tpd_engine **engine, struct tpd_error *error) {
    const struct tpd_backend *backends[TPD_BACKEND_COUNT];
    for (int i = 0; i < TPD_BACKEND_COUNT; i++)
        backends[i] = tpd_backend_at((enum tpd_backend_id)i);
    return tpd_engine_create_with(config, backends, engine, error);
}

void tpd_engine_destroy(struct tpd_engine *engine) {
    if (engine == NULL)
        return;
    tpd_job_queue_end(&engine->queue);
    for (uint32_t i = 0; i < engine->worker_count; i++)
        (void)pthread_join(engine->workers[i].thread, NULL);
    if (engine->has_reaper)
        (void)pthread_join(engine->reaper, NULL);
    for (uint32_t i = 0; i < engine->slot_count; i++)
        tpd_early_seat_close(&engine->slots[i]);
    tpd_job_queue_fini(&engine->queue);
    tpd_host_pool_destroy(engine->pool); /* before the devices: pinned blocks are theirs */
    tpd_engine_devices_close(engine);
    tpd_free(engine);
}

/* A name that no strategy has changes nothing: the reader of the configuration has refused it before. */
void tpd_engine_reconfigure(struct tpd_engine *engine, const struct tpd_config *config) {
    enum tpd_strategy_id strategy;
    if (tpd_strategy_find(config->strategy, &strategy, NULL) == TPD_OK)
        atomic_store(&engine->strategy, (int)strategy);
    atomic_store(&engine->queue_timeout_ns, config->queue_timeout);
}

struct tpd_memory *tpd_engine_memory(struct tpd_engine *engine) {
    return tpd_host_pool_memory(engine->pool);
}

enum tpd_status tpd_engine_check(struct tpd_engine *engine, const struct tpd_job *job, const struct tpd_matrix *matrix,
                                 struct tpd_error *error) {
    struct tpd_choice choice;
    uint64_t need_bytes;
    return matrix == NULL ? tpd_engine_choose(engine, job, NULL, &choice, error)
                          : tpd_engine_check_need(engine, job, matrix, false, &need_bytes, error);
}

enum tpd_status tpd_engine_check_need(struct tpd_engine *engine, const struct tpd_job *job, const struct tpd_matrix *matrix,
                                      bool column_major, uint64_t *need_bytes, struct tpd_error *error) {
    struct tpd_choice choice;
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(matrix, &bytes, error);
    if (status != TPD_OK)
        return status;
    bool is_relabel = column_major != tpd_codec_at(job->format_out)->column_major || tpd_matrix_is_relabel(matrix);
    uint64_t need = is_relabel ? bytes : 2 * bytes, budget = tpd_host_pool_budget(engine->pool); /* bytes < 2^63 */
    *need_bytes = need;
    if (need > budget)
        return tpd_fail_limit(error, TPD_TOO_LARGE, budget, need,
                              "%" PRIu64 " x %" PRIu64 " x %" PRIu64 " items of %" PRIu32 " bytes need %" PRIu64
                              " bytes, in and out; host_memory_bytes=%" PRIu64 ": raise it or send less",
                              matrix->batch, matrix->rows, matrix->cols, matrix->itemsize, need, budget);
    return tpd_engine_choose(engine, job, is_relabel ? NULL : matrix, &choice, error);
}

bool tpd_engine_is_small(struct tpd_engine *engine, const struct tpd_job *job, uint64_t body_bytes) {
    if (body_bytes > TPD_ENGINE_INLINE_BYTES || job->strategy_is_explicit)
        return false;
    if (strcmp(job->device, tpd_backend_name(TPD_BACKEND_CPU)) == 0)
        return true;
    uint64_t crossover_bytes = tpd_engine_crossover_least(engine);
    return strcmp(job->device, "auto") == 0 && (crossover_bytes == 0 || body_bytes < crossover_bytes);
}

static void set_deadline(struct tpd_engine *engine, struct tpd_job *job) {
    job->submitted_ns = tpd_clock_ns();
    if (job->deadline_ns == 0)
        job->deadline_ns = job->submitted_ns + atomic_load(&engine->queue_timeout_ns);
}

void tpd_engine_run(struct tpd_engine *engine, struct tpd_job *job) {
    set_deadline(engine, job);
    if (!tpd_job_queue_enter(&engine->queue)) {
        job->status = tpd_fail(&job->error, TPD_DRAINING, "the daemon is stopping and takes no more jobs; send it again later");
        job->done(job);
        return;
    }
    tpd_engine_prepare(engine, job);
    tpd_engine_perform(engine, job);
    end_job(engine, job);
}

enum tpd_status tpd_engine_submit(struct tpd_engine *engine, struct tpd_job *job, struct tpd_error *error) {
    set_deadline(engine, job);
    return tpd_job_queue_push(&engine->queue, job, error);
}

void tpd_engine_refuse(struct tpd_engine *engine) {
    tpd_job_queue_refuse(&engine->queue);
}

/* Asked again every 2 ms: it happens once in a life, and no job pays for a wake-up that nobody waits for. */
bool tpd_engine_wait_idle(struct tpd_engine *engine, uint64_t timeout_ns) {
    uint64_t start_ns = tpd_clock_ns();
    while (!tpd_job_queue_is_idle(&engine->queue)) {
        if (tpd_clock_ns() - start_ns >= timeout_ns)
            return false;
        const struct timespec pause = {.tv_sec = 0, .tv_nsec = 2000000};
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

uint32_t tpd_engine_device_count(struct tpd_engine *engine) {
    return engine->slot_count;
}

void tpd_engine_device_info(struct tpd_engine *engine, uint32_t index, struct tpd_device_info *info) {
    tpd_slot_info(&engine->slots[index], info);
}

enum tpd_status tpd_engine_occupancy(struct tpd_engine *engine, uint32_t index, const struct tpd_plan *plan, uint32_t *registers,
                                     uint32_t *blocks, struct tpd_error *error) {
    const struct tpd_slot *slot = &engine->slots[index];
    if (slot->device == NULL || slot->backend->occupancy == NULL || atomic_load(&slot->lost))
        return tpd_fail(error, TPD_UNSUPPORTED, "%s runs no kernel of which a driver could tell", slot->info.id);
    return slot->backend->occupancy(slot->device, plan, registers, blocks, error);
}

uint32_t tpd_engine_device_errors(struct tpd_engine *engine, struct tpd_device_error *list, uint32_t most) {
    uint32_t filled = 0;
    for (int i = 0; i < TPD_BACKEND_COUNT; i++)
        if (engine->backends[i] != NULL && engine->backends[i]->errors != NULL)
            filled += engine->backends[i]->errors(list + filled, most - filled);
    return filled;
}

bool tpd_engine_is_fit(struct tpd_engine *engine) {
    return !atomic_load(&engine->is_unfit);
}

void tpd_engine_counts(struct tpd_engine *engine, struct tpd_engine_counts *counts) {
    struct tpd_host_pool_counts pool;
    tpd_host_pool_counts(engine->pool, &pool);
    *counts = (struct tpd_engine_counts){
        .queued = tpd_job_queue_count(&engine->queue),
        .running = atomic_load(&engine->queue.running),
        .host_budget_bytes = pool.budget_bytes,
        .host_used_bytes = pool.used_bytes,
        .host_cached_bytes = pool.cached_bytes,
        .pinned_bytes = pool.pinned_bytes,
    };
    if (tpd_engine_first(engine, TPD_ROLE_ACCELERATOR) != NULL)
        memcpy(counts->crossover_bytes, engine->crossover_bytes, sizeof counts->crossover_bytes);
}

const struct tpd_tuning *tpd_engine_tuning(struct tpd_engine *engine, uint32_t index) {
    return engine->slots[index].tuning;
}

const char *tpd_engine_chosen(struct tpd_engine *engine, uint32_t itemsize, const struct tpd_tuning_cell **cell) {
    struct tpd_slot *gpu = tpd_engine_first(engine, TPD_ROLE_ACCELERATOR);
    /* Large enough that no rule for thin or small shapes applies. */
    const struct tpd_matrix large = {.rows = 8192, .cols = 8192, .batch = 1, .itemsize = itemsize, .dtype = TPD_DTYPE_OPAQUE};
    const struct tpd_tuning_cell *found = NULL;
    if (cell != NULL)
        *cell = NULL;
    if (gpu == NULL)
        return itemsize <= 16 && (itemsize & (itemsize - 1)) == 0 ? "blocked" : "generic";
    enum tpd_strategy_id strategy = (enum tpd_strategy_id)atomic_load(&engine->strategy);
    struct tpd_task task = {.matrix = large, .strategy = strategy, .tile = engine->config->tile};
    if (strategy == TPD_STRATEGY_AUTO || gpu->backend->check(gpu->device, &task, NULL) != TPD_OK) {
        struct tpd_plan plan; /* with the tile, which not every strategy takes */
        if (task.tile.rows == 0)
            found = tpd_tuning_find(gpu->tuning, &large);
        strategy = tpd_tuning_plan(gpu->tuning, TPD_STRATEGY_AUTO, &large, task.tile, UINT64_MAX, &plan, NULL) == TPD_OK
                       ? plan.strategy
                       : tpd_strategy_choose(&large);
    }
    if (cell != NULL)
        *cell = found;
    return tpd_strategy_at(strategy)->name;
}
