/* api_strategies.c -- GET /v1/strategies: what each tile strategy is, what the bank model says of it, and who can run it.
 *
 * The figures depend on the tile knob alone, which needs a restart to change: they are worked out once, by the first that asks.
 * They are sums over a few blocks, as every tile of the square is whole and all blocks do the same: an HTTP thread waits
 * milliseconds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/http/http_internal.h"
#include "transposed/banks.h"
#include "transposed/occupancy.h"
#include "transposed/stats.h"

enum { STRATEGIES_MOST_BYTES = 4 << 20, SIDE = 1024, ITEMSIZES = 5 };

static const uint32_t itemsizes[ITEMSIZES] = {1, 2, 4, 8, 16};

struct figures {
    enum tpd_status status;
    struct tpd_error error;
    struct tpd_figures figures;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tpd_tile made_for;
static bool made;
static struct figures table[TPD_STRATEGY_COUNT][ITEMSIZES];

static struct tpd_matrix matrix_of(enum tpd_strategy_id strategy, uint32_t itemsize) {
    struct tpd_matrix square = {.rows = SIDE, .cols = SIDE, .batch = 1, .itemsize = itemsize, .dtype = TPD_DTYPE_OPAQUE};
    return tpd_strategy_fit(strategy, square);
}

/* Under the lock. */
static void make_table(struct tpd_tile tile) {
    for (int i = 0; i < TPD_STRATEGY_COUNT; i++)
        for (int j = 0; j < ITEMSIZES; j++) {
            struct figures *at = &table[i][j];
            struct tpd_matrix matrix = matrix_of((enum tpd_strategy_id)i, itemsizes[j]);
            struct tpd_tile own = tpd_strategy_at((enum tpd_strategy_id)i)->tiled ? tile : (struct tpd_tile){0, 0};
            struct tpd_plan plan;
            at->status = tpd_strategy_plan((enum tpd_strategy_id)i, &matrix, own, UINT64_MAX, &plan, &at->error);
            if (at->status == TPD_OK)
                at->status = tpd_banks_of_sample(&plan, TPD_BANKS_BLOCKS_FEW, &at->figures, &at->error);
        }
    made_for = tile;
    made = true;
}

static void write_shared(struct tpd_buf *buf, const char *name, const struct tpd_shared_sum *sum) {
    (void)tpd_buf_format(buf,
                         "\"%s\":{\"requests\":%" PRIu64 ",\"wavefronts\":%" PRIu64 ",\"ideal\":%" PRIu64 ",\"excess\":%" PRIu64
                         ",\"degree\":%" PRIu32 "}",
                         name, sum->requests, sum->wavefronts, sum->ideal, sum->excess, sum->degree);
}

static void write_global(struct tpd_buf *buf, const char *name, const struct tpd_global_sum *sum) {
    (void)tpd_buf_format(buf, "\"%s\":{\"requests\":%" PRIu64 ",\"sectors\":%" PRIu64 ",\"ideal\":%" PRIu64 "}", name,
                         sum->requests, sum->sectors, sum->ideal);
}

/* How many blocks of it a multiprocessor holds: the third that a tile balances, beside banks and coalescing. */
static void write_occupancy(struct tpd_buf *buf, struct tpd_exchange *request, const struct tpd_plan *plan) {
    const struct tpd_architecture *architecture = tpd_architecture_find(tpd_banks_capability(request));
    struct tpd_occupancy occupancy = tpd_occupancy_of(plan, architecture);
    uint32_t registers, blocks;
    if (tpd_banks_driver(request, plan, &registers, &blocks))
        occupancy = tpd_occupancy_told(plan, architecture, registers, blocks);
    (void)tpd_buf_format(buf, ",\"occupancy\":{\"architecture\":\"sm_%" PRIu32 "\",\"registers\":", architecture->capability);
    if (occupancy.registers != 0)
        (void)tpd_buf_format(buf, "%" PRIu32, occupancy.registers);
    else
        (void)tpd_buf_text(buf, "null");
    (void)tpd_buf_format(buf,
                         ",\"resident_blocks\":%" PRIu32 ",\"resident_threads\":%" PRIu32 ",\"limit\":\"%s\",\"by_device\":%s}",
                         occupancy.blocks, occupancy.threads, occupancy.limit, occupancy.by_device ? "true" : "false");
}

static void write_model(struct tpd_buf *buf, struct tpd_exchange *request, const struct figures *at) {
    if (at->status != TPD_OK) {
        (void)tpd_buf_text(buf, "\"model\":null,\"why_not\":");
        (void)tpd_buf_json_string(buf, at->error.text);
        return;
    }
    const struct tpd_plan *plan = &at->figures.plan;
    (void)tpd_buf_format(buf,
                         "\"model\":{\"rows\":%" PRIu64 ",\"cols\":%" PRIu64 ",\"tile\":\"%" PRIu32 "x%" PRIu32
                         "\",\"pitch\":%" PRIu32 ",\"shared_bytes\":%" PRIu64 ",\"blocks\":%" PRIu64 ",\"blocks_summed\":%" PRIu64
                         ",\"shared\":{",
                         plan->matrix.rows, plan->matrix.cols, plan->tile.rows, plan->tile.cols, plan->pitch, plan->shared_bytes,
                         plan->blocks, at->figures.blocks);
    write_shared(buf, "load", &at->figures.shared[TPD_OP_LOAD]);
    (void)tpd_buf_text(buf, ",");
    write_shared(buf, "store", &at->figures.shared[TPD_OP_STORE]);
    (void)tpd_buf_text(buf, "},\"global\":{");
    write_global(buf, "load", &at->figures.global[TPD_OP_LOAD]);
    (void)tpd_buf_text(buf, ",");
    write_global(buf, "store", &at->figures.global[TPD_OP_STORE]);
    (void)tpd_buf_text(buf, "}");
    write_occupancy(buf, request, plan);
    (void)tpd_buf_text(buf, "}");
}

/* Devices that can, and for those that can't why. */
static void write_devices(struct tpd_buf *buf, struct tpd_exchange *request, enum tpd_strategy_id strategy, uint32_t itemsize) {
    struct tpd_engine *engine = request->http->world->engine;
    struct tpd_matrix matrix = matrix_of(strategy, itemsize);
    uint32_t count = tpd_engine_device_count(engine);
    (void)tpd_buf_text(buf, ",\"runs_on\":[");
    for (uint32_t i = 0; i < count; i++) {
        struct tpd_device_info info;
        struct tpd_error error = {.status = TPD_OK};
        struct tpd_job job;
        tpd_engine_device_info(engine, i, &info);
        tpd_job_init(&job);
        job.strategy = strategy;
        job.strategy_is_explicit = true;
        job.tile = request->config->tile;
        memcpy(job.device, info.id, sizeof job.device);
        bool can = tpd_engine_check(engine, &job, &matrix, &error) == TPD_OK;
        tpd_job_fini(&job);
        (void)tpd_buf_format(buf, "%s{\"device\":", i == 0 ? "" : ",");
        (void)tpd_buf_json_string(buf, info.id);
        (void)tpd_buf_format(buf, ",\"can\":%s", can ? "true" : "false");
        if (!can) {
            (void)tpd_buf_text(buf, ",\"why_not\":");
            (void)tpd_buf_json_string(buf, error.text);
        }
        (void)tpd_buf_text(buf, "}");
    }
    (void)tpd_buf_text(buf, "]");
}

/* Devices on which `auto` goes by measurement. */
static void write_tuning(struct tpd_buf *buf, struct tpd_engine *engine) {
    bool is_first = true;
    for (uint32_t i = 0; i < tpd_engine_device_count(engine); i++) {
        const struct tpd_tuning *tuning = tpd_engine_tuning(engine, i);
        struct tpd_device_info info;
        if (tuning == NULL)
            continue;
        tpd_engine_device_info(engine, i, &info);
        (void)tpd_buf_format(buf, "%s{\"device\":", is_first ? "" : ",");
        (void)tpd_buf_json_string(buf, info.id);
        (void)tpd_buf_text(buf, ",\"table\":");
        tpd_stats_tuning(tuning, buf);
        (void)tpd_buf_text(buf, "}");
        is_first = false;
    }
}

enum MHD_Result tpd_api_strategies(struct tpd_exchange *request) {
    if (tpd_query_check(request, NULL, 0) != TPD_OK)
        return tpd_reply_refusal(request);
    struct tpd_tile tile = request->config->tile;
    struct tpd_buf buf;
    tpd_buf_init(&buf, STRATEGIES_MOST_BYTES);
    (void)tpd_buf_text(&buf, "{\"strategies\":[");
    pthread_mutex_lock(&lock);
    if (!made || made_for.rows != tile.rows || made_for.cols != tile.cols)
        make_table(tile);
    for (int i = 0; i < TPD_STRATEGY_COUNT; i++) {
        const struct tpd_strategy *strategy = tpd_strategy_at((enum tpd_strategy_id)i);
        (void)tpd_buf_format(&buf, "%s{\"name\":\"%s\",\"summary\":", i == 0 ? "" : ",", strategy->name);
        (void)tpd_buf_json_string(&buf, strategy->summary);
        (void)tpd_buf_format(&buf, ",\"tiled\":%s,\"itemsizes\":%s,\"by_itemsize\":[", strategy->tiled ? "true" : "false",
                             strategy->any_itemsize ? "\"any\"" : "[1,2,4,8,16]");
        for (int j = 0; j < ITEMSIZES; j++) {
            (void)tpd_buf_format(&buf, "%s{\"itemsize\":%" PRIu32 ",", j == 0 ? "" : ",", itemsizes[j]);
            write_model(&buf, request, &table[i][j]);
            write_devices(&buf, request, (enum tpd_strategy_id)i, itemsizes[j]);
            (void)tpd_buf_text(&buf, "}");
        }
        (void)tpd_buf_text(&buf, "]}");
    }
    pthread_mutex_unlock(&lock);
    (void)tpd_buf_text(&buf, "],\"tuning\":[");
    write_tuning(&buf, request->http->world->engine);
    (void)tpd_buf_text(&buf, "]}\n");
    return tpd_reply_buf(request, 200, "application/json", &buf);
}
