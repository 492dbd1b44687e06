/* engine_choose.c -- which device takes a job. A wish is met or refused; only `auto` may go elsewhere. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/engine/engine_internal.h"

/* What a job's `device` text asks for. */
enum wish { WISH_AUTO, WISH_KIND, WISH_ID, WISH_UNKNOWN };

static enum wish wish_of(const struct tpd_engine *engine, const char *device) {
    if (device[0] == '\0' || strcmp(device, "auto") == 0)
        return WISH_AUTO;
    enum wish wish = WISH_UNKNOWN;
    for (uint32_t i = 0; i < engine->slot_count; i++) {
        const struct tpd_slot *slot = &engine->slots[i];
        if (strcmp(device, slot->info.kind) == 0)
            return WISH_KIND;
        if (strcmp(device, slot->info.id) == 0)
            wish = WISH_ID;
    }
    return wish;
}

static bool is_meant(const struct tpd_slot *slot, enum wish wish, const char *device) {
    if (wish == WISH_AUTO)
        return slot->role == TPD_ROLE_ACCELERATOR;
    return strcmp(device, wish == WISH_KIND ? slot->info.kind : slot->info.id) == 0;
}

static struct tpd_task task_of(const struct tpd_choice *choice, const struct tpd_matrix *matrix) {
    return (struct tpd_task){.matrix = *matrix, .strategy = choice->strategy, .tile = choice->tile};
}

/* Can this slot do it, and with which strategy and tile? What the configuration prefers gives way where it can't be done;
 * what the request named does not. */
static enum tpd_status fit(struct tpd_engine *engine, const struct tpd_job *job, const struct tpd_matrix *matrix,
                           struct tpd_slot *slot, struct tpd_choice *choice, struct tpd_error *error) {
    *choice = (struct tpd_choice){.slot = slot, .strategy = job->strategy, .tile = job->tile};
    if (!slot->has_strategies && !job->strategy_is_explicit)
        choice->strategy = TPD_STRATEGY_AUTO;
    bool is_default = slot->has_strategies && !job->strategy_is_explicit && job->strategy == TPD_STRATEGY_AUTO;
    if (is_default)
        choice->strategy = (enum tpd_strategy_id)atomic_load(&engine->strategy);
    bool is_default_tile = slot->has_strategies && job->tile.rows == 0;
    if (is_default_tile)
        choice->tile = engine->config->tile;
    if (matrix == NULL && !job->strategy_is_explicit)
        return TPD_OK;
    /* A strategy can be asked about before the matrix is known: every one takes items of 4 bytes, in a shape that suits it. */
    static const struct tpd_matrix any = {.rows = 32, .cols = 32, .batch = 1, .itemsize = 4, .dtype = TPD_DTYPE_OPAQUE};
    if (matrix == NULL) {
        struct tpd_task probe = {.matrix = tpd_strategy_fit(choice->strategy, any), .strategy = choice->strategy};
        return slot->backend->check(slot->device, &probe, error);
    }
    struct tpd_task task = task_of(choice, matrix);
    bool gives_way = is_default || is_default_tile;
    enum tpd_status status = slot->backend->check(slot->device, &task, gives_way ? NULL : error);
    if (status == TPD_OK || !gives_way)
        return status;
    if (is_default)
        choice->strategy = TPD_STRATEGY_AUTO;
    if (is_default_tile)
        choice->tile = (struct tpd_tile){0, 0};
    task = task_of(choice, matrix);
    return slot->backend->check(slot->device, &task, error);
}

/* A tile that the request names has to suit the strategy that it names; the configured one gives way. */
static enum tpd_status check_tile(const struct tpd_job *job, struct tpd_error *error) {
    return job->tile_is_explicit && job->strategy_is_explicit ? tpd_tile_suits(job->tile, job->strategy, error) : TPD_OK;
}

static void list_ids(const struct tpd_engine *engine, char *text, size_t text_bytes) {
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < engine->slot_count; i++) {
        const struct tpd_slot *slot = &engine->slots[i];
        if (!tpd_slot_is_ready(slot))
            continue;
        int length = snprintf(text + at, text_bytes - at, " %s", slot->info.id);
        if (length < 0 || (size_t)length >= text_bytes - at)
            return;
        at += (size_t)length;
    }
}

/* Of "cuda:0" the slot that says why no "cuda" is here; NULL where there are some, or no such kind. */
static const struct tpd_slot *absent_of(const struct tpd_engine *engine, const char *device) {
    for (uint32_t i = 0; i < engine->slot_count; i++) {
        const struct tpd_slot *slot = &engine->slots[i];
        size_t length = strlen(slot->info.kind);
        if (slot->device == NULL && strcmp(slot->info.id, slot->info.kind) == 0 &&
            strncmp(device, slot->info.kind, length) == 0 && device[length] == ':' && device[length + 1] != '\0' &&
            device[length + 1 + strspn(device + length + 1, "0123456789")] == '\0')
            return slot;
    }
    return NULL;
}

/* Nothing that was meant is ready: says why. */
static enum tpd_status refuse(const struct tpd_engine *engine, const struct tpd_job *job, enum wish wish,
                              const struct tpd_slot *unready, struct tpd_error *error) {
    char ids[96];
    list_ids(engine, ids, sizeof ids);
    if (unready == NULL && wish != WISH_AUTO)
        return tpd_fail(error, TPD_UNKNOWN_DEVICE, "device '%.15s' is none of: auto%s", job->device, ids);
    if (unready != NULL && unready->device != NULL) {
        struct tpd_device_info info;
        tpd_slot_info(unready, &info);
        return tpd_fail(error, TPD_DEVICE_LOST, "device %s is lost: %.120s; try again later, or one of: auto%s", info.id,
                        info.reason, ids);
    }
    const char *reason = unready != NULL ? unready->info.reason : "no accelerator is known here";
    if (wish == WISH_AUTO)
        return tpd_fail(error, TPD_UNSUPPORTED, "strategy '%s' needs a GPU: %.120s; device=simt runs it here, slowly",
                        job->strategy == TPD_STRATEGY_AUTO ? "auto" : tpd_strategy_at(job->strategy)->name, reason);
    return tpd_fail(error, TPD_UNKNOWN_DEVICE, "device '%.15s' isn't here: %.120s; here are: auto%s", job->device, reason, ids);
}

/* The least busy of those meant that can do it. */
static enum tpd_status choose_among(struct tpd_engine *engine, const struct tpd_job *job, const struct tpd_matrix *matrix,
                                    enum wish wish, struct tpd_choice *choice, struct tpd_error *error) {
    const struct tpd_slot *unready = NULL;
    struct tpd_error reason;
    enum tpd_status status = TPD_OK;
    uint_fast64_t least = 0;
    bool is_any_ready = false, is_found = false;
    for (uint32_t i = 0; i < engine->slot_count; i++) {
        struct tpd_slot *slot = &engine->slots[i];
        struct tpd_choice candidate;
        if (!is_meant(slot, wish, job->device))
            continue;
        if (!tpd_slot_is_ready(slot)) {
            /* A lost device says more than an absent one. */
            unready = unready == NULL || slot->device != NULL ? slot : unready;
            continue;
        }
        is_any_ready = true;
        uint_fast64_t running = atomic_load_explicit(&slot->running, memory_order_relaxed) +
                                atomic_load_explicit(&engine->queue.lines[slot->line].count, memory_order_relaxed);
        if (is_found && running >= least)
            continue;
        enum tpd_status fits = fit(engine, job, matrix, slot, &candidate, &reason);
        if (fits != TPD_OK) {
            status = fits;
            continue;
        }
        *choice = candidate;
        least = running;
        is_found = true;
    }
    if (is_found)
        return TPD_OK;
    if (!is_any_ready)
        return refuse(engine, job, wish, unready, error);
    if (error != NULL)
        *error = reason;
    return status;
}

enum tpd_status tpd_engine_choose(struct tpd_engine *engine, const struct tpd_job *job, const struct tpd_matrix *matrix,
                                  struct tpd_choice *choice, struct tpd_error *error) {
    enum wish wish = wish_of(engine, job->device);
    if (wish == WISH_UNKNOWN)
        return refuse(engine, job, wish, absent_of(engine, job->device), error);
    enum tpd_status named = check_tile(job, error);
    if (named != TPD_OK)
        return named;
    if (wish != WISH_AUTO || job->strategy_is_explicit)
        return choose_among(engine, job, matrix, wish, choice, error);
    uint64_t bytes = 0;
    if (matrix != NULL) {
        enum tpd_status status = tpd_matrix_bytes(matrix, &bytes, error);
        if (status != TPD_OK)
            return status;
    }
    /* A GPU that can't (its pool is too small, say) is passed over: the CPU takes everything. */
    uint64_t crossover_bytes = matrix != NULL ? tpd_engine_crossover_of(engine, matrix) : 0;
    bool pays = crossover_bytes != 0 && bytes >= crossover_bytes;
    if (!pays || choose_among(engine, job, matrix, wish, choice, NULL) != TPD_OK) {
        enum tpd_status status = fit(engine, job, matrix, tpd_engine_first(engine, TPD_ROLE_HOST), choice, error);
        if (status != TPD_OK)
            return status;
    }
    choice->may_move = true;
    return TPD_OK;
}
