/* engine_tune.c -- what the engine measures at its start, or knows from an earlier one: tables of strategies, and the crossover.
 *
 * Nothing here fails a start. What can't be read or measured is logged with the reason; then the rules choose, and a GPU that was
 * never seen to win gets what names it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/base/iso_time.h"
#include "server/engine/engine_internal.h"
#include "server/engine/tuning_file.h"
#include "transposed/alloc.h"
#include "transposed/clock.h"
#include "transposed/log.h"

enum { CROSSOVER_SHARE = 3 /* of the budget, one part of so many */ };

/* The file, once for all devices. */
struct kept {
    char path[TPD_TUNING_PATH_BYTES]; /* "": nowhere */
    struct tpd_buf text;
    bool is_read; /* there is text */
};

static void warn(const char *what, const char *device, const char *path, const char *reason) {
    struct tpd_log_line line;
    tpd_log_begin(&line, TPD_LOG_WARN, what);
    if (device != NULL)
        tpd_log_str(&line, "device", device);
    if (path[0] != '\0')
        tpd_log_str(&line, "file", path);
    tpd_log_str(&line, "reason", reason);
    tpd_log_end(&line);
}

static void read_kept(struct kept *kept, const struct tpd_config *config) {
    struct tpd_error error;
    tpd_buf_init(&kept->text, TPD_TUNING_TEXT_MOST);
    kept->is_read = false;
    if (tpd_tuning_file_path(config->tune_file, kept->path, &error) != TPD_OK) {
        kept->path[0] = '\0';
        warn("tuning file ignored", NULL, kept->path, error.text);
    }
    if (kept->path[0] == '\0')
        return;
    enum tpd_status status = tpd_tuning_file_read(kept->path, &kept->text, &error);
    kept->is_read = status == TPD_OK;
    if (status != TPD_OK && status != TPD_NOT_FOUND) /* there is none before the first start */
        warn("tuning file ignored", NULL, kept->path, error.text);
}

/* Keys are lines of text: what a driver or a kernel calls a device must not end one. */
static void clean(char *key) {
    for (char *at = key; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
}

static void name_device(const struct tpd_device_info *info, char key[TPD_TUNING_KEY_BYTES]) {
    (void)snprintf(key, TPD_TUNING_KEY_BYTES, "%s; %s; driver %" PRIu32 "; runtime %" PRIu32 "; build %s", info->name, info->uuid,
                   info->driver_version, info->runtime_version, tpd_tuning_build());
    clean(key);
}

static void name_host(const struct tpd_device_info *info, char key[TPD_TUNING_KEY_BYTES]) {
    (void)snprintf(key, TPD_TUNING_KEY_BYTES, "%s; threads %" PRIu32, info->name, info->multiprocessors);
    clean(key);
}

static void log_tuned(const struct tpd_slot *slot, uint32_t measured, uint64_t taken_ns, const char *path) {
    struct tpd_log_line line;
    tpd_log_begin(&line, TPD_LOG_INFO, "strategies tuned");
    tpd_log_str(&line, "device", slot->info.id);
    tpd_log_uint(&line, "cells", slot->tuning->cells);
    tpd_log_uint(&line, "measured", measured);
    if (measured != 0)
        tpd_log_ms(&line, "took_ms", taken_ns);
    if (path[0] != '\0')
        tpd_log_str(&line, "file", path);
    tpd_log_end(&line);
}

/* What the file has for the device, and by measurement what it lacks. True: something new is to be kept. */
static bool tune_slot(struct tpd_slot *slot, const struct kept *kept, uint64_t budget_ns) {
    struct tpd_error error = {.text = ""};
    struct tpd_tuning *table = tpd_alloc_zero(1, sizeof *table);
    if (table == NULL) {
        warn("strategies not tuned", slot->info.id, "", "the system gave no memory for a table");
        return false;
    }
    name_device(&slot->info, table->device);
    if (kept->is_read && tpd_tuning_read(kept->text.data, kept->text.bytes, table, &error) != TPD_OK)
        warn("tuning file ignored", slot->info.id, kept->path, error.text);
    const uint32_t known = table->cells;
    const uint64_t started_ns = tpd_clock_ns();
    enum tpd_status status = slot->backend->tune(slot->device, budget_ns, table, &error);
    if (status != TPD_OK) {
        if (status == TPD_DEVICE_LOST)
            atomic_store(&slot->lost, true);
        tpd_free(table);
        warn("strategies not tuned", slot->info.id, "", error.text);
        return false;
    }
    slot->tuning = table;
    if (table->cells != known)
        table->at_unix_s = tpd_unix_ns() / 1000000000u;
    log_tuned(slot, table->cells - known, tpd_clock_ns() - started_ns, kept->path);
    return table->cells != known;
}

/* The crossover, from the accelerator's table or by measurement. True: it is new in the table. */
static bool find_crossover(struct tpd_engine *engine, struct tpd_slot *gpu, uint64_t budget_ns) {
    struct tpd_slot *cpu = tpd_engine_first(engine, TPD_ROLE_HOST);
    struct tpd_tuning *table = gpu->tuning;
    char host[TPD_TUNING_KEY_BYTES];
    name_host(&cpu->info, host);
    if (table != NULL && strcmp(table->host, host) == 0) {
        memcpy(engine->crossover_bytes, table->crossover_bytes, sizeof engine->crossover_bytes);
        return false;
    }
    const enum tpd_crossover end = tpd_engine_measure_crossover(engine, gpu, cpu, budget_ns, engine->crossover_bytes);
    if (end == TPD_CROSSOVER_FAILED)
        warn("crossover not measured", gpu->info.id, "", "a run failed: this GPU gets what names it");
    if (end == TPD_CROSSOVER_PARTLY)
        warn("crossover not measured to its end", gpu->info.id, "", "the time was up: raise tune_budget, or start again");
    if (end != TPD_CROSSOVER_WHOLE || table == NULL)
        return false;
    memcpy(table->host, host, sizeof table->host);
    memcpy(table->crossover_bytes, engine->crossover_bytes, sizeof table->crossover_bytes);
    return true;
}

void tpd_engine_tune(struct tpd_engine *engine) {
    const struct tpd_config *config = engine->config;
    struct tpd_slot *first = tpd_engine_first(engine, TPD_ROLE_ACCELERATOR);
    struct kept kept;
    bool is_new[TPD_ENGINE_SLOTS_MOST] = {false};
    if (first == NULL)
        return;
    if (config->tune != TPD_TUNE_OFF)
        read_kept(&kept, config);
    for (uint32_t i = 0; i < engine->slot_count && config->tune != TPD_TUNE_OFF; i++) {
        struct tpd_slot *slot = &engine->slots[i];
        const uint64_t left_out = slot == first ? config->tune_budget / CROSSOVER_SHARE : 0;
        if (slot->role == TPD_ROLE_ACCELERATOR && tpd_slot_is_ready(slot) && slot->backend->tune != NULL)
            is_new[i] = tune_slot(slot, &kept, config->tune == TPD_TUNE_ON ? config->tune_budget - left_out : 0);
    }
    first = tpd_engine_first(engine, TPD_ROLE_ACCELERATOR); /* a tuner may have lost one */
    if (first != NULL)
        is_new[first - engine->slots] |= find_crossover(engine, first, config->tune_budget / CROSSOVER_SHARE);
    if (config->tune == TPD_TUNE_OFF)
        return;
    for (uint32_t i = 0; i < engine->slot_count; i++) {
        struct tpd_error error;
        if (is_new[i] && config->tune == TPD_TUNE_ON && kept.path[0] != '\0' &&
            tpd_tuning_file_write(kept.path, engine->slots[i].tuning, &error) != TPD_OK)
            warn("tuning not kept", engine->slots[i].info.id, kept.path, error.text);
    }
    tpd_buf_fini(&kept.text);
}
