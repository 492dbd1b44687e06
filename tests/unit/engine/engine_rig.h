/* engine_rig.h -- what the engine's tests share: back ends that wait, fail or vanish when told to, and jobs with known answers.
 */
#ifndef TPD_ENGINE_RIG_H
#define TPD_ENGINE_RIG_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"
#include "server/engine/engine_internal.h"
#include "transposed/clock.h"
#include "transposed/transposed.h"

/* A back end under the test's control. Every field may change while it runs. */
struct rig_backend {
    const char *name;
    uint32_t devices; /* count(); 0 gives the reason "no driver" */
    int bad_index;    /* open() of this index fails; -1: none */
    bool has_strategies;
    uint64_t most_bytes;            /* check(): larger is TPD_TOO_LARGE; 0: no limit */
    atomic_int runs, inside, peak;  /* run() calls, in all, now, at most at once */
    atomic_int fail_at;             /* this run fails, from 1; 0: none */
    atomic_int fail_with;           /* enum tpd_status */
    atomic_bool shut;               /* run() waits while it is true */
    atomic_bool is_idle;            /* run() moves nothing: only takes its time */
    uint64_t base_ns, ns_per_64kib; /* how long a run lasts at least */
    atomic_int last_strategy;
};

struct tpd_device {
    struct rig_backend *self;
    uint32_t index;
};

static struct rig_backend rig_gpu, rig_cpu, rig_simt;
static atomic_int rig_pinned;

static inline void rig_reset(void) {
    struct rig_backend *all[] = {&rig_gpu, &rig_cpu, &rig_simt};
    const char *names[] = {"cuda", "cpu", "simt"};
    for (int i = 0; i < 3; i++) {
        memset(all[i], 0, sizeof *all[i]);
        all[i]->name = names[i];
        all[i]->bad_index = -1;
        all[i]->has_strategies = i != 1;
        all[i]->devices = i != 0;
    }
}

static inline void rig_sleep(uint64_t ns) {
    struct timespec pause = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    (void)nanosleep(&pause, NULL);
}

static inline enum tpd_status rig_open(struct rig_backend *self, uint32_t index, struct tpd_device **device,
                                       struct tpd_error *error) {
    if ((int)index == self->bad_index)
        return tpd_fail(error, TPD_DEVICE_FAULT, "the test broke device %u", index);
    *device = malloc(sizeof **device);
    (*device)->self = self;
    (*device)->index = index;
    return TPD_OK;
}

static inline void rig_close(struct tpd_device *device) {
    free(device);
}

static inline void rig_info(struct tpd_device *device, struct tpd_device_info *info) {
    memset(info, 0, sizeof *info);
    info->kind = device->self->name;
    info->state = TPD_STATE_READY;
    info->lanes = 2;
    if (device->self == &rig_gpu)
        (void)snprintf(info->id, sizeof info->id, "cuda:%u", device->index);
    else
        (void)snprintf(info->id, sizeof info->id, "%s", device->self->name);
}

static inline enum tpd_status rig_check(struct tpd_device *device, const struct tpd_task *task, struct tpd_error *error) {
    uint64_t bytes;
    ck_assert_int_eq(tpd_matrix_bytes(&task->matrix, &bytes, NULL), TPD_OK);
    ck_assert(!tpd_matrix_is_relabel(&task->matrix));
    if (!device->self->has_strategies && task->strategy != TPD_STRATEGY_AUTO)
        return tpd_fail(error, TPD_UNSUPPORTED, "%s has no strategies", device->self->name);
    if (device->self->has_strategies && task->strategy == TPD_STRATEGY_SWAPPED && task->matrix.itemsize == 12)
        return tpd_fail(error, TPD_UNSUPPORTED, "swapped takes no items of 12 bytes");
    if (device->self->most_bytes != 0 && bytes > device->self->most_bytes)
        return tpd_fail_limit(error, TPD_TOO_LARGE, device->self->most_bytes, bytes, "too large for %s", device->self->name);
    return TPD_OK;
}

static inline enum tpd_status rig_run(struct tpd_device *device, const struct tpd_task *task, struct tpd_outcome *outcome,
                                      struct tpd_error *error) {
    struct rig_backend *self = device->self;
    int at = atomic_fetch_add(&self->runs, 1) + 1, inside = atomic_fetch_add(&self->inside, 1) + 1;
    for (int peak = atomic_load(&self->peak); peak < inside && !atomic_compare_exchange_weak(&self->peak, &peak, inside);) {
    }
    while (atomic_load(&self->shut))
        rig_sleep(500000);
    uint64_t bytes = tpd_matrix_items(&task->matrix) * task->matrix.itemsize;
    if (self->base_ns + self->ns_per_64kib != 0)
        rig_sleep(self->base_ns + self->ns_per_64kib * bytes / 65536);
    atomic_store(&self->last_strategy, (int)task->strategy);
    enum tpd_status status = TPD_OK;
    if (atomic_load(&self->fail_at) == at) {
        memset(task->out, 0xee, bytes); /* half done, as a lost device leaves it */
        status = tpd_fail(error, (enum tpd_status)atomic_load(&self->fail_with), "the test failed run %d", at);
    } else {
        if (!atomic_load(&self->is_idle))
            tpd_transpose_ref(&task->matrix, task->in, task->out);
        *outcome = (struct tpd_outcome){
            .strategy = !self->has_strategies                 ? "blocked"
                        : task->strategy == TPD_STRATEGY_AUTO ? "padded"
                                                              : tpd_strategy_at(task->strategy)->name,
            .tile = task->tile,
            .wait_ns = 1,
            .h2d_ns = 2,
            .kernel_ns = 3,
            .d2h_ns = 4,
        };
    }
    (void)atomic_fetch_sub(&self->inside, 1);
    return status;
}

static inline void *rig_host_alloc(size_t bytes) {
    (void)atomic_fetch_add(&rig_pinned, 1);
    return aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
}

static inline void rig_host_free(void *memory, size_t bytes) {
    (void)bytes;
    (void)atomic_fetch_sub(&rig_pinned, 1);
    free(memory);
}

#define RIG_BACKEND(NAME)                                                                               \
    static inline uint32_t NAME##_count(struct tpd_error *error) {                                      \
        if (NAME.devices == 0)                                                                          \
            (void)tpd_fail(error, TPD_UNSUPPORTED, "no driver");                                        \
        return NAME.devices;                                                                            \
    }                                                                                                   \
    static inline enum tpd_status NAME##_open(uint32_t index, const struct tpd_device_options *options, \
                                              struct tpd_device **device, struct tpd_error *error) {    \
        (void)options;                                                                                  \
        return rig_open(&NAME, index, device, error);                                                   \
    }
RIG_BACKEND(rig_gpu)
RIG_BACKEND(rig_cpu)
RIG_BACKEND(rig_simt)

#define RIG_TABLE(NAME, text)                                                                                             \
    .name = (text), .count = NAME##_count, .open = NAME##_open, .close = rig_close, .info = rig_info, .check = rig_check, \
    .run = rig_run
static const struct tpd_backend rig_gpu_table = {RIG_TABLE(rig_gpu, "cuda"), .host_alloc = rig_host_alloc,
                                                 .host_free = rig_host_free};
static const struct tpd_backend rig_cpu_table = {RIG_TABLE(rig_cpu, "cpu")};
static const struct tpd_backend rig_simt_table = {RIG_TABLE(rig_simt, "simt")};

/* What the engine reads of a configuration, with small limits. */
static inline struct tpd_config rig_config(void) {
    struct tpd_config config;
    memset(&config, 0, sizeof config);
    (void)snprintf(config.devices, sizeof config.devices, "auto");
    (void)snprintf(config.strategy, sizeof config.strategy, "auto");
    config.host_memory_bytes = 256 << 20;
    config.queue_depth = 64;
    config.queue_timeout = 60000000000u;
    config.on_device_loss = TPD_LOSS_CPU;
    return config;
}

static inline enum tpd_status rig_engine_try(const struct tpd_config *config, struct tpd_engine **engine,
                                             struct tpd_error *error) {
    const struct tpd_backend *backends[TPD_BACKEND_COUNT] = {
        [TPD_BACKEND_CUDA] = &rig_gpu_table, [TPD_BACKEND_CPU] = &rig_cpu_table, [TPD_BACKEND_SIMT] = &rig_simt_table};
    return tpd_engine_create_with(config, backends, engine, error);
}

/* The engine over the three back ends above. */
static inline struct tpd_engine *rig_engine(const struct tpd_config *config) {
    struct tpd_engine *engine = NULL;
    struct tpd_error error;
    ck_assert_ok(rig_engine_try(config, &engine, &error), error);
    return engine;
}

/* The engine with a GPU that `auto` takes from the first byte on. */
static inline struct tpd_engine *rig_engine_gpu(const struct tpd_config *config, uint32_t devices) {
    rig_gpu.devices = devices;
    atomic_store(&rig_gpu.is_idle, true);
    atomic_store(&rig_cpu.is_idle, true);
    rig_cpu.base_ns = 1000000;
    struct tpd_engine *engine = rig_engine(config);
    ck_assert_uint_eq(engine->crossover_bytes, 4096);
    engine->crossover_bytes = 1;
    rig_cpu.base_ns = 0;
    atomic_store(&rig_gpu.is_idle, false);
    atomic_store(&rig_cpu.is_idle, false);
    atomic_store(&rig_gpu.runs, 0);
    atomic_store(&rig_cpu.runs, 0);
    return engine;
}

/* A job over random bytes, and the bytes its answer must have. */
struct rig_job {
    struct tpd_job job; /* first */
    struct tpd_matrix matrix;
    size_t bytes;
    unsigned char *input, *expected;
    atomic_int done;
};

static inline void rig_done(struct tpd_job *job) {
    (void)atomic_fetch_add(&((struct rig_job *)job)->done, 1);
}

static inline void rig_job_init(struct rig_job *rig, uint64_t rows, uint64_t cols, uint64_t batch, uint32_t itemsize,
                                uint64_t seed) {
    memset(rig, 0, sizeof *rig);
    rig->matrix = (struct tpd_matrix){rows, cols, batch, itemsize, TPD_DTYPE_OPAQUE};
    rig->bytes = (size_t)(rows * cols * batch * itemsize);
    rig->input = malloc(rig->bytes + 1);
    rig->expected = malloc(rig->bytes + 1);
    tpd_random_fill(rig->input, rig->bytes, seed);
    tpd_transpose_ref(&rig->matrix, rig->input, rig->expected);
    tpd_job_init(&rig->job);
    rig->job.format_in = rig->job.format_out = TPD_CODEC_RAW;
    rig->job.done = rig_done;
}

/* Sends the body through the decoder, as a request would arrive. */
static inline enum tpd_status rig_job_receive(struct rig_job *rig, struct tpd_memory *memory, struct tpd_error *error) {
    struct tpd_decode_options options = {.has_rows = true,
                                         .has_cols = true,
                                         .has_batch = true,
                                         .has_itemsize = true,
                                         .rows = rig->matrix.rows,
                                         .cols = rig->matrix.cols,
                                         .batch = rig->matrix.batch,
                                         .itemsize = rig->matrix.itemsize,
                                         .has_content_bytes = true,
                                         .content_bytes = rig->bytes,
                                         .body_most_bytes = (uint64_t)1 << 40,
                                         .memory = memory};
    const struct tpd_codec_ops *raw = tpd_codec_at(TPD_CODEC_RAW);
    rig->job.encode.memory = memory;
    enum tpd_status status = raw->open(&options, &rig->job.decoder, error);
    if (status == TPD_OK)
        status = raw->push(rig->job.decoder, rig->input, rig->bytes, error);
    return status;
}

static inline void rig_job_wait(struct rig_job *rig) {
    for (int i = 0; i < 100000 && atomic_load(&rig->done) == 0; i++)
        rig_sleep(200000);
    ck_assert_int_eq(atomic_load(&rig->done), 1);
}

/* Ends a job that had to succeed on `device` ("" for a relabel). */
static inline void rig_job_good(struct rig_job *rig, const char *device) {
    ck_assert_msg(rig->job.status == TPD_OK, "%s: %s", tpd_status_slug(rig->job.status), rig->job.error.text);
    ck_assert_str_eq(rig->job.device_id, device);
    ck_assert_uint_eq(rig->job.answer.bytes, rig->bytes);
    ck_assert(rig->bytes == 0 || memcmp(rig->job.answer.start, rig->expected, rig->bytes) == 0);
}

static inline void rig_job_fini(struct rig_job *rig) {
    tpd_job_fini(&rig->job);
    free(rig->input);
    free(rig->expected);
}

/* Nothing is held once all jobs are over: blocks were given back in every case. */
static inline void rig_engine_end(struct tpd_engine *engine) {
    struct tpd_engine_counts counts;
    ck_assert(tpd_engine_wait_idle(engine, 20000000000u));
    tpd_engine_counts(engine, &counts);
    ck_assert_uint_eq(counts.host_used_bytes, 0);
    ck_assert_uint_eq(counts.queued, 0);
    ck_assert_uint_eq(counts.running, 0);
    tpd_engine_destroy(engine);
    ck_assert_int_eq(atomic_load(&rig_pinned), 0);
}

#endif
