/* engine_devices.c -- opens what `devices` names, and the CPU always; remembers why something isn't there. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/engine/engine_internal.h"
#include "transposed/alloc.h"

static enum tpd_role role_of(enum tpd_backend_id id) {
    return id == TPD_BACKEND_CPU ? TPD_ROLE_HOST : id == TPD_BACKEND_SIMT ? TPD_ROLE_ON_REQUEST : TPD_ROLE_ACCELERATOR;
}

/* A back end without strategies refuses every named one, whatever the shape. */
static bool has_strategies(const struct tpd_backend *backend, struct tpd_device *device) {
    struct tpd_task probe = {.matrix = {.rows = 32, .cols = 32, .batch = 1, .itemsize = 4, .dtype = TPD_DTYPE_FLOAT32},
                             .strategy = (enum tpd_strategy_id)0};
    return backend->check(device, &probe, NULL) == TPD_OK;
}

static void add_absent(struct tpd_engine *engine, enum tpd_backend_id id, const char *name, const char *reason) {
    struct tpd_slot *slot = &engine->slots[engine->slot_count++];
    slot->backend = engine->backends[id];
    slot->role = role_of(id);
    slot->info.state = TPD_STATE_ABSENT;
    slot->info.kind = tpd_backend_name(id);
    (void)snprintf(slot->info.id, sizeof slot->info.id, "%s", name);
    (void)snprintf(slot->info.name, sizeof slot->info.name, "%s", tpd_backend_summary(id));
    (void)snprintf(slot->info.reason, sizeof slot->info.reason, "%s", reason);
}

static enum tpd_status add_open(struct tpd_engine *engine, enum tpd_backend_id id, uint32_t index, struct tpd_error *error) {
    const struct tpd_backend *backend = engine->backends[id];
    struct tpd_device_options options = {
        .device_memory_bytes = engine->config->device_memory_bytes,
        .cpu_threads = (uint32_t)engine->config->cpu_threads,
        .tile = engine->config->tile,
    };
    struct tpd_slot *slot = &engine->slots[engine->slot_count];
    enum tpd_status status = backend->open(index, &options, &slot->device, error);
    if (status != TPD_OK) {
        slot->device = NULL;
        return status;
    }
    slot->backend = backend;
    slot->role = role_of(id);
    backend->info(slot->device, &slot->info);
    slot->has_strategies = has_strategies(backend, slot->device);
    engine->slot_count++;
    return TPD_OK;
}

/* Is id one of the words between commas? */
static bool is_listed(const char *list, const char *id) {
    size_t length = strlen(id);
    for (const char *at = list; *at != '\0';) {
        size_t word = strcspn(at, ",");
        if (word == length && memcmp(at, id, length) == 0)
            return true;
        at += word;
        at += *at == ',';
    }
    return false;
}

/* Every word of the list must be an accelerator that is open now. */
static enum tpd_status check_list(const struct tpd_engine *engine, const char *list, struct tpd_error *error) {
    for (const char *at = list; *at != '\0';) {
        size_t word = strcspn(at, ",");
        const struct tpd_slot *found = NULL, *absent = NULL;
        for (uint32_t i = 0; i < engine->slot_count; i++) {
            const struct tpd_slot *slot = &engine->slots[i];
            if (slot->role != TPD_ROLE_ACCELERATOR)
                continue;
            if (strlen(slot->info.id) == word && memcmp(slot->info.id, at, word) == 0)
                found = slot;
            else if (slot->device == NULL && strncmp(slot->info.kind, at, strlen(slot->info.kind)) == 0)
                absent = slot;
        }
        if (found == NULL || found->device == NULL) {
            const struct tpd_slot *why = found != NULL ? found : absent;
            return tpd_fail(error, TPD_CONFIG, "devices='%.64s': %.*s isn't here: %s; use auto, none, or ids that exist", list,
                            (int)(word < 16 ? word : 16), at, why != NULL ? why->info.reason : "no such device");
        }
        at += word;
        at += *at == ',';
    }
    return TPD_OK;
}

static void open_accelerators(struct tpd_engine *engine, enum tpd_backend_id id) {
    const char *kind = tpd_backend_name(id), *wish = engine->config->devices;
    const struct tpd_backend *backend = engine->backends[id];
    struct tpd_error error = {.text = ""};
    if (strcmp(wish, "none") == 0) {
        add_absent(engine, id, kind, "not used: devices=none");
        return;
    }
    if (backend == NULL) {
        add_absent(engine, id, kind, "this program was built without it");
        return;
    }
    uint32_t count = backend->count(&error);
    if (count == 0) {
        add_absent(engine, id, kind, error.text);
        return;
    }
    bool is_all = strcmp(wish, "auto") == 0;
    for (uint32_t i = 0; i < count && engine->slot_count < TPD_DEVICES_MOST; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%.4s:%" PRIu32, kind, i);
        if (!is_all && !is_listed(wish, name))
            continue;
        if (add_open(engine, id, i, &error) != TPD_OK)
            add_absent(engine, id, name, error.text);
    }
}

enum tpd_status tpd_engine_devices_open(struct tpd_engine *engine, struct tpd_error *error) {
    for (int id = 0; id < TPD_BACKEND_COUNT; id++)
        if (role_of((enum tpd_backend_id)id) == TPD_ROLE_ACCELERATOR)
            open_accelerators(engine, (enum tpd_backend_id)id);
    const char *wish = engine->config->devices;
    enum tpd_status status = TPD_OK;
    if (strcmp(wish, "auto") != 0 && strcmp(wish, "none") != 0)
        status = check_list(engine, wish, error);
    if (status == TPD_OK)
        status = add_open(engine, TPD_BACKEND_CPU, 0, error);
    struct tpd_error reason;
    if (status == TPD_OK && engine->backends[TPD_BACKEND_SIMT] != NULL &&
        add_open(engine, TPD_BACKEND_SIMT, 0, &reason) != TPD_OK)
        add_absent(engine, TPD_BACKEND_SIMT, tpd_backend_name(TPD_BACKEND_SIMT), reason.text);
    return status;
}

void tpd_engine_devices_close(struct tpd_engine *engine) {
    for (uint32_t i = 0; i < engine->slot_count; i++)
        if (engine->slots[i].device != NULL) {
            engine->slots[i].backend->close(engine->slots[i].device);
            tpd_free(engine->slots[i].tuning);
        }
    engine->slot_count = 0;
}

bool tpd_slot_is_ready(const struct tpd_slot *slot) {
    return slot->device != NULL && !atomic_load(&slot->lost);
}

void tpd_slot_info(const struct tpd_slot *slot, struct tpd_device_info *info) {
    *info = slot->info;
    if (slot->device == NULL)
        return;
    slot->backend->info(slot->device, info);
    if (atomic_load(&slot->lost) && info->state == TPD_STATE_READY) {
        info->state = TPD_STATE_LOST;
        (void)snprintf(info->reason, sizeof info->reason, "it failed for good while it ran a job");
    }
}

struct tpd_slot *tpd_engine_first(struct tpd_engine *engine, enum tpd_role role) {
    for (uint32_t i = 0; i < engine->slot_count; i++)
        if (engine->slots[i].role == role && tpd_slot_is_ready(&engine->slots[i]))
            return &engine->slots[i];
    return NULL;
}
