/* model_cache.c -- the bank model's word on a strategy and an item size, worked out once.
 *
 * For a square of 1024 x 1024 (`narrow`: as many items in few rows) with the configured tile: the averages of a warp request do
 * not depend on the size from there on, and as every tile of it is whole, a few blocks have the averages of all.
 */
#include "server/stats/stats_internal.h"

enum { MODEL_SIDE = 1024 };

static double average(uint64_t sum, uint64_t requests) {
    return requests != 0 ? (double)sum / (double)requests : 0;
}

static void work_out(struct tpd_stats *stats, enum tpd_strategy_id id, uint32_t itemsize, struct tpd_model *model) {
    struct tpd_matrix matrix = tpd_strategy_fit(id, (struct tpd_matrix){MODEL_SIDE, MODEL_SIDE, 1, itemsize, TPD_DTYPE_OPAQUE});
    struct tpd_tile tile = tpd_strategy_at(id)->tiled ? stats->tile : (struct tpd_tile){0, 0};
    struct tpd_plan plan;
    struct tpd_figures figures;
    if (tpd_strategy_plan(id, &matrix, tile, UINT64_MAX, &plan, NULL) != TPD_OK ||
        tpd_banks_of_sample(&plan, TPD_BANKS_BLOCKS_FEW, &figures, NULL) != TPD_OK)
        return; /* no memory for a moment, or a tile that this item size does not take: the page says null */
    const struct tpd_shared_sum *shared = figures.shared;
    const struct tpd_global_sum *global = figures.global;
    for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++) {
        model->wavefronts[op] = average(shared[op].wavefronts, shared[op].requests);
        model->sectors[op] = average(global[op].sectors, global[op].requests);
    }
    uint64_t shared_requests = shared[TPD_OP_LOAD].requests + shared[TPD_OP_STORE].requests;
    uint64_t global_requests = global[TPD_OP_LOAD].requests + global[TPD_OP_STORE].requests;
    model->wavefronts_ideal = average(shared[TPD_OP_LOAD].ideal + shared[TPD_OP_STORE].ideal, shared_requests);
    model->sectors_ideal = average(global[TPD_OP_LOAD].ideal + global[TPD_OP_STORE].ideal, global_requests);
    model->has_shared = shared_requests != 0;
    model->has_global = global_requests != 0;
    model->is_known = true;
}

struct tpd_model tpd_stats_model(struct tpd_stats *stats, const char *strategy, uint32_t item_class) {
    struct tpd_model model = {.is_known = false};
    enum tpd_strategy_id id;
    if (item_class >= TPD_ITEM_CLASSES - 1 || tpd_strategy_find(strategy, &id, NULL) != TPD_OK || id >= TPD_STRATEGY_COUNT)
        return model;                             /* a CPU's path has no banks */
    (void)pthread_mutex_lock(&stats->model_lock); /* a plain mutex, held by nobody twice: it can't fail */
    if (!stats->model[id][item_class].is_known)
        work_out(stats, id, tpd_item_class_size(item_class), &stats->model[id][item_class]);
    model = stats->model[id][item_class];
    (void)pthread_mutex_unlock(&stats->model_lock);
    return model;
}
