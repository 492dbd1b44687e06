/* engine_work.c -- a job from decoded bytes to encoded answer, in the thread that calls, in two halves. */
#include <inttypes.h>
#include <string.h>

#include "server/engine/engine_internal.h"
#include "transposed/clock.h"

static void add_ns(struct tpd_job *job, enum tpd_stage stage, uint64_t since_ns) {
    job->stage_ns[stage] += tpd_clock_ns() - since_ns;
}

/* What is moved: cells as they are, or the items that they became. */
static void note_matrix(struct tpd_job *job) {
    job->matrix = job->payload.matrix;
    job->cells = job->payload.cells;
    if (job->cells)
        job->matrix.dtype = TPD_DTYPE_OPAQUE;
}

/* Cells that are to become numbers do so before they are moved: their text is then read in the order in which it came, and
 * an error names the place in the input. */
static enum tpd_status decode(struct tpd_job *job) {
    uint64_t start_ns = tpd_clock_ns();
    const struct tpd_codec_ops *codec = tpd_codec_at(job->format_in);
    enum tpd_status status = codec->finish(job->decoder, &job->payload, &job->error);
    codec->close(job->decoder);
    job->decoder = NULL;
    if (status == TPD_OK) {
        note_matrix(job); /* a conversion that fails leaves the shape for the statistics */
        if (job->cells) {
            tpd_job_memory_expect_cells(job);
            status = tpd_payload_convert(&job->payload, job->format_out, &job->encode, &job->error);
            note_matrix(job);
        }
    }
    add_ns(job, TPD_STAGE_DECODE, start_ns);
    return status;
}

static void note_outcome(struct tpd_job *job, const struct tpd_slot *slot, const struct tpd_outcome *outcome) {
    job->stage_ns[TPD_STAGE_QUEUE] += outcome->wait_ns;
    job->stage_ns[TPD_STAGE_H2D] += outcome->h2d_ns;
    job->stage_ns[TPD_STAGE_KERNEL] += outcome->kernel_ns;
    job->stage_ns[TPD_STAGE_D2H] += outcome->d2h_ns;
    job->strategy_name = outcome->strategy;
    job->tile_used = outcome->tile;
    memcpy(job->device_id, slot->info.id, sizeof job->device_id);
}

static enum tpd_status run_once(struct tpd_job *job, const struct tpd_choice *choice, struct tpd_task *task) {
    struct tpd_slot *slot = choice->slot;
    struct tpd_outcome outcome = {.strategy = ""};
    task->strategy = choice->strategy;
    task->tile = choice->tile;
    (void)atomic_fetch_add(&slot->running, 1);
    enum tpd_status status = slot->backend->run(slot->device, task, &outcome, &job->error);
    (void)atomic_fetch_sub(&slot->running, 1);
    if (status == TPD_DEVICE_LOST)
        atomic_store(&slot->lost, true);
    if (status == TPD_OK)
        note_outcome(job, slot, &outcome);
    return status;
}

/* The device was lost with the job on it. The input is whole and every byte of the output will be written again, so the CPU
 * may do it, where nobody asked for that very device and the daemon is to live on. */
static enum tpd_status after_loss(struct tpd_engine *engine, struct tpd_job *job, const struct tpd_choice *choice,
                                  struct tpd_task *task) {
    bool goes_on = engine->config->on_device_loss == TPD_LOSS_CPU;
    if (!goes_on)
        atomic_store(&engine->is_unfit, true);
    struct tpd_slot *cpu = tpd_engine_first(engine, TPD_ROLE_HOST);
    if (goes_on && choice->may_move && cpu != NULL && cpu != choice->slot) {
        struct tpd_choice second = {.slot = cpu, .strategy = TPD_STRATEGY_AUTO};
        return run_once(job, &second, task);
    }
    char reason[160];
    size_t length = strnlen(job->error.text, sizeof reason - 1);
    memcpy(reason, job->error.text, length);
    reason[length] = '\0';
    return tpd_fail(&job->error, TPD_DEVICE_FAULT, "device %s was lost while it held the job: %s", choice->slot->info.id, reason);
}

/* The matrix that the items are when they are read as rows. */
static struct tpd_matrix as_rows(const struct tpd_payload *payload) {
    return payload->column_major ? tpd_matrix_transposed(&payload->matrix) : payload->matrix;
}

/* Payload in, transposed payload out; the input's block goes back as soon as it was read. */
static enum tpd_status move_items(struct tpd_engine *engine, struct tpd_job *job, const struct tpd_choice *choice,
                                  uint64_t bytes) {
    struct tpd_payload *payload = &job->payload;
    struct tpd_block out;
    struct tpd_outcome outcome;
    const bool began_early = job->early != NULL;
    enum tpd_status early = TPD_OK, status = TPD_OK;
    if (began_early)
        early = tpd_early_take(job, &out, &outcome, &job->error);
    else
        status = tpd_block_acquire(job->encode.memory, (size_t)bytes, &out, &job->error);
    if (status != TPD_OK)
        return status;
    struct tpd_task task = {
        .matrix = as_rows(payload),
        .in = payload->items.data,
        .out = out.data,
        .pinned = payload->items.pinned && out.pinned,
        .deadline_ns = job->deadline_ns,
    };
    /* What began early and was given up, for a client too slow or a call that failed, is done anew: the input is whole now. */
    if (began_early && early == TPD_OK)
        note_outcome(job, choice->slot, &outcome);
    else
        status = early == TPD_DEVICE_LOST ? early : run_once(job, choice, &task);
    if (status == TPD_DEVICE_LOST)
        status = after_loss(engine, job, choice, &task);
    if (status != TPD_OK) {
        tpd_block_release(&out);
        return status;
    }
    tpd_block_release(&payload->items);
    payload->items = out;
    return TPD_OK;
}

/* Items in column-major order are, row-major, the transpose already, and row-major ones are it for a format that is written by
 * columns; so are a single row, a single column and nothing. */
static enum tpd_status choose(struct tpd_engine *engine, struct tpd_job *job) {
    const struct tpd_payload *payload = &job->payload;
    if (job->early != NULL) {
        job->choice = tpd_early_choice(job->early);
        return TPD_OK;
    }
    bool by_columns = tpd_codec_at(job->format_out)->column_major;
    bool is_relabel = payload->column_major != by_columns || tpd_matrix_is_relabel(&payload->matrix);
    struct tpd_matrix matrix = as_rows(payload);
    enum tpd_status status = tpd_engine_choose(engine, job, is_relabel ? NULL : &matrix, &job->choice, &job->error);
    if (is_relabel)
        job->choice.slot = NULL;
    return status;
}

static enum tpd_status transpose(struct tpd_engine *engine, struct tpd_job *job) {
    struct tpd_payload *payload = &job->payload;
    if (job->choice.slot != NULL) {
        uint64_t bytes;
        enum tpd_status status = tpd_matrix_bytes(&payload->matrix, &bytes, &job->error);
        if (status == TPD_OK)
            status = move_items(engine, job, &job->choice, bytes);
        if (status != TPD_OK)
            return status;
    } else {
        job->strategy_name = "relabel";
    }
    payload->matrix = tpd_matrix_transposed(&payload->matrix);
    payload->column_major = tpd_codec_at(job->format_out)->column_major;
    return TPD_OK;
}

static enum tpd_status encode(struct tpd_job *job) {
    uint64_t start_ns = tpd_clock_ns();
    enum tpd_status status = tpd_payload_convert(&job->payload, job->format_out, &job->encode, &job->error);
    if (status == TPD_OK)
        status = tpd_codec_at(job->format_out)->encode(&job->payload, &job->encode, &job->answer, &job->error);
    add_ns(job, TPD_STAGE_ENCODE, start_ns);
    return status;
}

void tpd_engine_prepare(struct tpd_engine *engine, struct tpd_job *job) {
    if (job->encode.memory == NULL)
        job->encode.memory = tpd_engine_job_memory(engine, job);
    job->status = decode(job);
    if (job->status == TPD_OK)
        job->status = choose(engine, job);
}

void tpd_engine_perform(struct tpd_engine *engine, struct tpd_job *job) {
    if (job->status == TPD_OK)
        job->status = transpose(engine, job);
    if (job->status == TPD_OK)
        job->status = encode(job);
    if (job->status == TPD_OK)
        job->error = (struct tpd_error){.status = TPD_OK}; /* a loss that was made good left its words */
    /* What the answer did not take goes back now and not when the answer is sent. */
    tpd_job_give_back(job);
}
