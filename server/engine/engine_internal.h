/* engine_internal.h -- what the engine's files share: devices in slots, the choice of one, the engine itself.
 *
 * Threads: slots are filled before the workers start; after that only their atomics change.
 */
#ifndef TPD_ENGINE_INTERNAL_H
#define TPD_ENGINE_INTERNAL_H

#include <stdatomic.h>

#include "server/engine/host_pool.h"
#include "server/engine/job_queue.h"
#include "transposed/engine.h"

enum {
    TPD_ENGINE_SLOTS_MOST = TPD_DEVICES_MOST + TPD_BACKEND_COUNT, /* devices, and one absent entry a back end */
    TPD_ENGINE_WORKERS_MOST = 192,                                /* cores, at most 64, and a thread a lane */
    TPD_ENGINE_CORES_MOST = 64,
    /* Up to here the caller's thread does a job sooner than a worker would: a hand-off and its wake-up cost 10 to 50 us,
     * a CPU transpose of 64 KiB about 10. */
    TPD_ENGINE_INLINE_BYTES = 64 << 10
};

enum tpd_role {
    TPD_ROLE_ACCELERATOR, /* what `auto` goes to when it pays, and `devices` names */
    TPD_ROLE_HOST,        /* always there, takes everything */
    TPD_ROLE_ON_REQUEST   /* only when a request names it */
};

/* Of a device that flows: the thread that works on a body while it arrives, one at a time. */
struct tpd_early_seat {
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work;
    struct tpd_early *taken; /* from its beginning until its run has ended; NULL: the seat is free */
    bool stop;
};

/* One row of device info: an open device, or the reason why there is none. */
struct tpd_slot {
    const struct tpd_backend *backend;
    enum tpd_role role;
    struct tpd_device *device;   /* NULL: absent */
    struct tpd_device_info info; /* as it was at the start */
    struct tpd_tuning *tuning;   /* owned, read by its back end; NULL: the rules hold */
    bool has_strategies;
    atomic_bool lost;
    atomic_uint_fast32_t running;
    struct tpd_early_seat seat;
    uint32_t line; /* of the queue; 0 for the host's, whose workers every job begins on */
};

struct tpd_worker {
    pthread_t thread;
    struct tpd_engine *engine;
    uint32_t line; /* whose jobs it takes */
};

struct tpd_engine {
    const struct tpd_config *config; /* borrowed; what no reload changes is read here */
    const struct tpd_backend *backends[TPD_BACKEND_COUNT];
    struct tpd_slot slots[TPD_ENGINE_SLOTS_MOST];
    uint32_t slot_count;
    uint64_t crossover_bytes[TPD_TUNING_SIZES]; /* by item size; 0: never */
    struct tpd_host_pool *pool;
    struct tpd_job_queue queue;
    struct tpd_worker workers[TPD_ENGINE_WORKERS_MOST];
    pthread_t reaper;
    uint32_t worker_count;
    bool has_reaper;
    /* Reloadable knobs, each taken up on its own. */
    atomic_int strategy; /* enum tpd_strategy_id */
    atomic_uint_fast64_t queue_timeout_ns;
    atomic_bool is_unfit;
};

/* tpd_engine_create() over a table of back ends (by enum tpd_backend_id, NULL where there is none; the CPU's is a must).
 * The table is copied, the back ends are borrowed until destroy. */
enum tpd_status tpd_engine_create_with(const struct tpd_config *config, const struct tpd_backend *const *backends,
                                       struct tpd_engine **engine, struct tpd_error *error) TPD_CHECKED;

/* engine_devices.c: fills and empties the slots. */
enum tpd_status tpd_engine_devices_open(struct tpd_engine *engine, struct tpd_error *error) TPD_CHECKED;
void tpd_engine_devices_close(struct tpd_engine *engine);
bool tpd_slot_is_ready(const struct tpd_slot *slot);
/* What a device says of itself now; its loss as the engine saw it. */
void tpd_slot_info(const struct tpd_slot *slot, struct tpd_device_info *info);
struct tpd_slot *tpd_engine_first(struct tpd_engine *engine, enum tpd_role role); /* ready; NULL when none is */

/* engine_choose.c: matrix is what is to be moved, NULL while it isn't known (then its size is not asked about).
 * Fails with TPD_UNKNOWN_DEVICE, TPD_DEVICE_LOST, TPD_UNSUPPORTED, TPD_TOO_LARGE. */
enum tpd_status tpd_engine_choose(struct tpd_engine *engine, const struct tpd_job *job, const struct tpd_matrix *matrix,
                                  struct tpd_choice *choice, struct tpd_error *error) TPD_CHECKED;

/* tpd_engine_check() of a matrix that may be column-major, and how many bytes it needs at least, in and out. */
enum tpd_status tpd_engine_check_need(struct tpd_engine *engine, const struct tpd_job *job, const struct tpd_matrix *matrix,
                                      bool column_major, uint64_t *need_bytes, struct tpd_error *error) TPD_CHECKED;

/* job_memory.c: what is to come is set aside with the next block, once the payload's cells are known. */
void tpd_job_memory_expect_cells(struct tpd_job *job);

/* engine_tune.c: all that is measured at the start, or read from the tuning file: each accelerator's table, and the crossover.
 * What goes wrong is logged, and the rules hold. */
void tpd_engine_tune(struct tpd_engine *engine);

/* engine_crossover.c: bytes from which an accelerator's round trip beats the CPU, by item size; 0: not seen to. */
enum tpd_crossover {
    TPD_CROSSOVER_WHOLE,
    TPD_CROSSOVER_PARTLY /* the time was up */,
    TPD_CROSSOVER_FAILED /* a run failed: all 0 */
};
enum tpd_crossover tpd_engine_measure_crossover(struct tpd_engine *engine, struct tpd_slot *gpu, struct tpd_slot *cpu,
                                                uint64_t budget_ns, uint64_t crossover_bytes[TPD_TUNING_SIZES]);
/* Of a matrix whose item size is known; and the least, before anything is known. 0: never. */
uint64_t tpd_engine_crossover_of(const struct tpd_engine *engine, const struct tpd_matrix *matrix);
uint64_t tpd_engine_crossover_least(const struct tpd_engine *engine);

/* engine_early.c. A device without a seat begins nothing early. */
void tpd_early_seat_open(struct tpd_slot *slot);
void tpd_early_seat_close(struct tpd_slot *slot);
/* For a job that began early: waits for its end. The output's block in any case, and in *outcome what run() said when it
 * answered TPD_OK. */
enum tpd_status tpd_early_take(struct tpd_job *job, struct tpd_block *out, struct tpd_outcome *outcome,
                               struct tpd_error *error) TPD_CHECKED;
/* Lets go of it, if there is one: its blocks go back when the device has done with them. */
void tpd_early_abandon(struct tpd_job *job);
struct tpd_choice tpd_early_choice(const struct tpd_early *early);

/* engine_work.c, the two halves of a job; each leaves status, error and times in it.
 * prepare: decodes and chooses the device. perform: transposes there and encodes; the job is over afterwards. */
void tpd_engine_prepare(struct tpd_engine *engine, struct tpd_job *job);
void tpd_engine_perform(struct tpd_engine *engine, struct tpd_job *job);

#endif
