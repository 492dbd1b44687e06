/* engine_early.c -- a body's items go to the device while the rest of it is arriving.
 *
 * Nothing depends on it: the input is whole in the host's memory when the body has ended, so whatever began early may be given up
 * at any moment and be done as if it had not. So it is given up for a client too slow to gain by it, and it never waits for
 * anything but the client: a device works on one body early, in a thread of its own; the next body finds the seat taken and goes
 * the usual way.
 */
#include <string.h>

#include "server/engine/engine_internal.h"
#include "transposed/alloc.h"
#include "transposed/clock.h"
#include "transposed/condition.h"

enum {
    LEAST_BYTES = 4 << 20, /* below, what could overlap is shorter than the waking of a thread or two */
    /* Of the output's rows, which come back as far as the input has come: shorter pieces of them cost the bus more than the
     * overlap gains. The second panel's are as long. */
    ROW_LEAST_BYTES = 2 << 10,
    PATIENCE_NS = 250000000 /* for a panel: at 64 MB/s and below the body takes fifty times as long as the copies */
};

struct tpd_early {
    struct tpd_flow flow; /* first: the run knows nothing else of it */
    struct tpd_choice choice;
    struct tpd_task task;
    struct tpd_block out;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    uint64_t there_bytes, wanted_bytes;
    bool abandoned, ended;
    struct tpd_block in; /* once it is abandoned */
    /* Once it has ended. */
    enum tpd_status status;
    struct tpd_error error;
    struct tpd_outcome outcome;
};

static enum tpd_status await(struct tpd_flow *flow, uint64_t bytes, struct tpd_error *error) {
    struct tpd_early *early = (struct tpd_early *)(void *)flow;
    uint64_t until_ns = tpd_clock_ns() + PATIENCE_NS;
    (void)pthread_mutex_lock(&early->lock);
    early->wanted_bytes = bytes;
    bool in_time = true;
    while (!early->abandoned && early->there_bytes < bytes && in_time)
        in_time = tpd_condition_wait(&early->lock, &early->changed, until_ns);
    early->wanted_bytes = UINT64_MAX;
    bool goes_on = !early->abandoned && early->there_bytes >= bytes;
    (void)pthread_mutex_unlock(&early->lock);
    return goes_on ? TPD_OK : tpd_fail(error, TPD_DEADLINE, "the body comes too slowly to be worked on before its end");
}

static void early_free(struct tpd_early *early) {
    tpd_block_release(&early->in);
    tpd_block_release(&early->out);
    tpd_condition_fini(&early->lock, &early->changed);
    tpd_free(early);
}

/* ---- the seat ---- */

static void work(struct tpd_slot *slot, struct tpd_early *early) {
    struct tpd_outcome outcome = {.strategy = ""};
    struct tpd_error error = {.status = TPD_OK};
    (void)atomic_fetch_add(&slot->running, 1);
    enum tpd_status status = slot->backend->run(slot->device, &early->task, &outcome, &error);
    (void)atomic_fetch_sub(&slot->running, 1);
    if (status == TPD_DEVICE_LOST)
        atomic_store(&slot->lost, true);
    outcome.wait_ns = 0; /* while the body was coming: nobody waited for it */
    (void)pthread_mutex_lock(&slot->seat.lock);
    slot->seat.taken = NULL;
    (void)pthread_mutex_unlock(&slot->seat.lock);
    (void)pthread_mutex_lock(&early->lock);
    early->status = status;
    early->error = error;
    early->outcome = outcome;
    early->ended = true;
    bool abandoned = early->abandoned;
    (void)pthread_cond_signal(&early->changed);
    (void)pthread_mutex_unlock(&early->lock);
    if (abandoned)
        early_free(early);
}

static void *seat_main(void *self) {
    struct tpd_slot *slot = self;
    struct tpd_early_seat *seat = &slot->seat;
    for (;;) {
        (void)pthread_mutex_lock(&seat->lock);
        while (seat->taken == NULL && !seat->stop)
            (void)pthread_cond_wait(&seat->work, &seat->lock);
        struct tpd_early *early = seat->taken;
        (void)pthread_mutex_unlock(&seat->lock);
        if (early == NULL)
            return NULL;
        work(slot, early);
    }
}

void tpd_early_seat_open(struct tpd_slot *slot) {
    struct tpd_early_seat *seat = &slot->seat;
    if (!slot->backend->flows || pthread_mutex_init(&seat->lock, NULL) != 0)
        return;
    if (pthread_cond_init(&seat->work, NULL) == 0) {
        seat->has_thread = pthread_create(&seat->thread, NULL, seat_main, slot) == 0;
        if (!seat->has_thread)
            (void)pthread_cond_destroy(&seat->work);
    }
    if (!seat->has_thread)
        (void)pthread_mutex_destroy(&seat->lock);
}

void tpd_early_seat_close(struct tpd_slot *slot) {
    struct tpd_early_seat *seat = &slot->seat;
    if (!seat->has_thread)
        return;
    (void)pthread_mutex_lock(&seat->lock);
    seat->stop = true;
    (void)pthread_cond_signal(&seat->work);
    (void)pthread_mutex_unlock(&seat->lock);
    (void)pthread_join(seat->thread, NULL);
    (void)pthread_cond_destroy(&seat->work);
    (void)pthread_mutex_destroy(&seat->lock);
    seat->has_thread = false;
}

/* False: somebody sits there. */
static bool take_seat(struct tpd_early_seat *seat, struct tpd_early *early) {
    (void)pthread_mutex_lock(&seat->lock);
    bool is_free = seat->taken == NULL;
    if (is_free) {
        seat->taken = early;
        (void)pthread_cond_signal(&seat->work);
    }
    (void)pthread_mutex_unlock(&seat->lock);
    return is_free;
}

/* ---- a job ---- */

static bool is_worth_it(const struct tpd_arriving *arriving, uint64_t bytes) {
    const struct tpd_matrix *matrix = &arriving->matrix;
    return bytes >= LEAST_BYTES && !arriving->column_major && !tpd_matrix_is_relabel(matrix) && arriving->items->pinned &&
           (matrix->batch > 1 || matrix->rows * matrix->itemsize >= ROW_LEAST_BYTES);
}

static void begin(struct tpd_engine *engine, struct tpd_job *job, const struct tpd_arriving *arriving) {
    struct tpd_choice choice;
    uint64_t bytes;
    /* A format that is written by columns gets its rows by relabelling. */
    if (tpd_matrix_bytes(&arriving->matrix, &bytes, NULL) != TPD_OK || !is_worth_it(arriving, bytes) ||
        tpd_codec_at(job->format_out)->column_major ||
        tpd_engine_choose(engine, job, &arriving->matrix, &choice, NULL) != TPD_OK || choice.slot == NULL ||
        !choice.slot->seat.has_thread)
        return;
    struct tpd_early *early = tpd_alloc_zero(1, sizeof *early);
    if (early == NULL)
        return;
    if (tpd_condition_init(&early->lock, &early->changed, NULL) != TPD_OK) {
        tpd_free(early);
        return;
    }
    early->flow.await = await;
    early->choice = choice;
    early->there_bytes = arriving->have_bytes;
    early->wanted_bytes = UINT64_MAX;
    if (tpd_block_acquire(job->encode.memory, (size_t)bytes, &early->out, NULL) == TPD_OK && early->out.pinned) {
        early->task = (struct tpd_task){
            .matrix = arriving->matrix,
            .in = arriving->items->data,
            .out = early->out.data,
            .pinned = true,
            .strategy = choice.strategy,
            .tile = choice.tile,
            .deadline_ns = tpd_clock_ns() + PATIENCE_NS,
            .flow = &early->flow,
        };
        if (take_seat(&choice.slot->seat, early)) {
            job->early = early;
            return;
        }
    }
    early_free(early);
}

void tpd_engine_arrive(struct tpd_engine *engine, struct tpd_job *job) {
    const struct tpd_codec_ops *codec = tpd_codec_at(job->format_in);
    struct tpd_arriving arriving;
    if ((job->early_is_decided && job->early == NULL) || codec->arriving == NULL || !codec->arriving(job->decoder, &arriving))
        return;
    if (!job->early_is_decided) {
        job->early_is_decided = true;
        begin(engine, job, &arriving);
        return;
    }
    struct tpd_early *early = job->early;
    (void)pthread_mutex_lock(&early->lock);
    early->there_bytes = arriving.have_bytes;
    if (early->there_bytes >= early->wanted_bytes)
        (void)pthread_cond_signal(&early->changed);
    (void)pthread_mutex_unlock(&early->lock);
}

struct tpd_choice tpd_early_choice(const struct tpd_early *early) {
    return early->choice;
}

enum tpd_status tpd_early_take(struct tpd_job *job, struct tpd_block *out, struct tpd_outcome *outcome, struct tpd_error *error) {
    struct tpd_early *early = job->early;
    job->early = NULL;
    (void)pthread_mutex_lock(&early->lock);
    while (!early->ended)
        (void)pthread_cond_wait(&early->changed, &early->lock);
    (void)pthread_mutex_unlock(&early->lock);
    enum tpd_status status = early->status;
    *outcome = early->outcome;
    *error = early->error;
    *out = early->out;
    memset(&early->out, 0, sizeof early->out);
    early_free(early);
    return status;
}

/* The job's memory is about to be settled: what the device still has is charged to the pool itself from now on. */
static void hand_off(struct tpd_job *job, struct tpd_block *from, struct tpd_block *to) {
    *to = *from;
    memset(from, 0, sizeof *from);
    if (to->memory == &job->memory.memory)
        to->memory = tpd_host_pool_memory(job->memory.engine->pool);
}

void tpd_early_abandon(struct tpd_job *job) {
    struct tpd_early *early = job->early;
    if (early == NULL)
        return;
    job->early = NULL;
    struct tpd_arriving arriving;
    struct tpd_block *in = &job->payload.items;
    if (job->decoder != NULL && tpd_codec_at(job->format_in)->arriving(job->decoder, &arriving))
        in = arriving.items;
    (void)pthread_mutex_lock(&early->lock);
    bool ended = early->ended;
    if (!ended) {
        if (in->data == early->task.in)
            hand_off(job, in, &early->in);
        struct tpd_block out = early->out;
        hand_off(job, &out, &early->out);
        early->abandoned = true;
        (void)pthread_cond_signal(&early->changed);
    }
    (void)pthread_mutex_unlock(&early->lock);
    if (ended)
        early_free(early);
}
