/* bank_plan.c -- from a plan to the sums over its blocks: the runner's requests, fed to the model. */
#include "kernels/banks/simt.h"

struct sums {
    struct tpd_figures figures;
    uint32_t bank_bytes;
    enum tpd_status status;
    struct tpd_error *error;
};

static void add_request(void *context, enum tpd_simt_kind kind, const struct tpd_request *request) {
    struct sums *sums = context;
    enum tpd_status status;
    if (kind == TPD_SIMT_SHARED_LOAD || kind == TPD_SIMT_SHARED_STORE)
        status = tpd_banks_add_shared(request, sums->bank_bytes, sums->figures.shared, sums->error);
    else
        status = tpd_banks_add_global(request, sums->figures.global, sums->error);
    if (status != TPD_OK)
        sums->status = status;
}

enum tpd_status tpd_banks_of_plan_with(const struct tpd_plan *plan, uint32_t bank_bytes, uint64_t blocks_most,
                                       struct tpd_figures *figures, struct tpd_error *error) {
    struct sums sums = {.figures = {.plan = *plan}, .bank_bytes = bank_bytes, .status = TPD_OK, .error = error};
    struct tpd_simt simt;
    enum tpd_status status = tpd_simt_init(&simt, plan, NULL, NULL, add_request, &sums, error);
    if (status != TPD_OK)
        return status;
    uint64_t blocks = plan->blocks < blocks_most ? plan->blocks : blocks_most;
    uint64_t last = plan->blocks - 1; /* not looked at when there is none */
    for (uint64_t n = 0; n < blocks && status == TPD_OK; n++) {
        /* From first to last in even steps; every block when there are no more. Nothing here can pass 2^64. */
        uint64_t block = blocks == 1 ? 0 : n * (last / (blocks - 1)) + n * (last % (blocks - 1)) / (blocks - 1);
        status = tpd_simt_run(&simt, block, error);
        if (status == TPD_OK)
            status = sums.status;
    }
    tpd_simt_fini(&simt);
    if (status != TPD_OK)
        return status;
    sums.figures.blocks = blocks;
    *figures = sums.figures;
    return TPD_OK;
}

enum tpd_status tpd_banks_of_plan(const struct tpd_plan *plan, struct tpd_figures *figures, struct tpd_error *error) {
    return tpd_banks_of_plan_with(plan, 4, TPD_BANKS_BLOCKS_MOST, figures, error);
}

enum tpd_status tpd_banks_of_sample(const struct tpd_plan *plan, uint64_t blocks_most, struct tpd_figures *figures,
                                    struct tpd_error *error) {
    return tpd_banks_of_plan_with(plan, 4, blocks_most, figures, error);
}
