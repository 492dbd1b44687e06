/* fake_engine.h -- an engine that only answers questions: devices in every state and fixed counts, for the pages of server/stats.
 *
 * A test that includes it is linked without the real one: the linker takes the first definition it meets, and that is this.
 */
#ifndef TPD_FAKE_ENGINE_H
#define TPD_FAKE_ENGINE_H

#include <stdio.h>
#include <string.h>

#include "transposed/stats.h"

static uint64_t fake_crossover_bytes = 65536;

uint32_t tpd_engine_device_count(struct tpd_engine *engine) {
    (void)engine;
    return 4;
}

void tpd_engine_device_info(struct tpd_engine *engine, uint32_t index, struct tpd_device_info *info) {
    static const char *const ids[] = {"cuda:0", "cuda:1", "cuda:2", "cpu"};
    static const enum tpd_device_state states[] = {TPD_STATE_READY, TPD_STATE_LOST, TPD_STATE_ABSENT, TPD_STATE_READY};
    (void)engine;
    memset(info, 0, sizeof *info);
    (void)snprintf(info->id, sizeof info->id, "%s", ids[index]);
    (void)snprintf(info->name, sizeof info->name, "Name of \"%s\"\n", ids[index]);
    info->kind = index < 3 ? "cuda" : "cpu";
    info->state = states[index];
    if (info->state != TPD_STATE_READY)
        (void)snprintf(info->reason, sizeof info->reason, "why %s", ids[index]);
    info->memory_total_bytes = 1000000 + index;
    info->multiprocessors = 132;
    info->lanes = 3;
    if (index < 3) {
        info->memory_pool_bytes = 4096;
        info->memory_used_bytes = 1024;
        info->compute_capability = 90;
        info->driver_version = 13000;
        info->runtime_version = 12040;
    }
}

uint32_t tpd_engine_device_errors(struct tpd_engine *engine, struct tpd_device_error *list, uint32_t most) {
    (void)engine;
    ck_assert_uint_ge(most, 1);
    list[0] = (struct tpd_device_error){700, "cudaErrorIllegalAddress", 3};
    return 1;
}

void tpd_engine_counts(struct tpd_engine *engine, struct tpd_engine_counts *counts) {
    (void)engine;
    *counts = (struct tpd_engine_counts){.queued = 5,
                                         .running = 2,
                                         .host_budget_bytes = 1000,
                                         .host_used_bytes = 300,
                                         .host_cached_bytes = 200,
                                         .pinned_bytes = 400,
                                         .crossover_bytes = {1, 2, fake_crossover_bytes, 8, 16, 32}};
}

static struct tpd_tuning fake_tuning;

const struct tpd_tuning *tpd_engine_tuning(struct tpd_engine *engine, uint32_t index) {
    (void)engine;
    return index == 0 && fake_tuning.cells != 0 ? &fake_tuning : NULL;
}

const char *tpd_engine_chosen(struct tpd_engine *engine, uint32_t itemsize, const struct tpd_tuning_cell **cell) {
    (void)engine;
    if (cell != NULL)
        *cell = itemsize == 4 && fake_tuning.cells != 0 ? &fake_tuning.cell[2][1][TPD_SHAPE_LARGE] : NULL;
    return itemsize == 1 ? "direct" : "padded";
}

/* A transpose that went well; tests change what they need. */
static inline struct tpd_record fake_record(const char *id) {
    struct tpd_record record;
    memset(&record, 0, sizeof record);
    (void)snprintf(record.id, sizeof record.id, "%s", id);
    record.at_unix_ns = UINT64_C(1700000000123000000);
    record.endpoint = "/v1/transpose";
    record.http_status = 200;
    record.is_transpose = true;
    record.format_in = TPD_CODEC_NPY;
    record.format_out = TPD_CODEC_JSON;
    record.matrix = (struct tpd_matrix){30, 20, 2, 4, TPD_DTYPE_FLOAT32};
    record.device = "cuda:0";
    record.strategy = "padded";
    record.tile = (struct tpd_tile){32, 32};
    record.bytes_in = 4928;
    record.bytes_out = 5000;
    for (int i = 0; i < TPD_STAGE_COUNT; i++)
        record.stage_ns[i] = 1000u * (unsigned)(i + 1);
    record.total_ns = 30000;
    return record;
}

#endif
