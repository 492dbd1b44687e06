/* simt.c -- the lane-by-lane runner, and the C compiler's reading of every strategy. */
#include "kernels/banks/simt.h"

#include <inttypes.h>
#include <string.h>

#include "transposed/alloc.h"

#include "kernels/strategies/dialect_c.h"

enum tpd_status tpd_simt_init(struct tpd_simt *simt, const struct tpd_plan *plan, const void *in, void *out,
                              tpd_simt_watch *watch, void *context, struct tpd_error *error) {
    memset(simt, 0, sizeof *simt);
    simt->in = in;
    simt->out = out;
    simt->plan = *plan;
    simt->bytes = tpd_matrix_items(&plan->matrix) * plan->matrix.itemsize;
    simt->grid = tpd_geometry_of(plan);
    simt->watch = watch;
    simt->context = context;
    /* Exactly the plan's bytes: a kernel that reaches further is seen by the address sanitizer. */
    simt->shared = tpd_alloc_zero(1, plan->shared_bytes);
    if (watch != NULL)
        simt->accesses = tpd_alloc(TPD_SIMT_ACCESSES_MOST * sizeof *simt->accesses);
    if (simt->shared == NULL || (watch != NULL && simt->accesses == NULL)) {
        tpd_simt_fini(simt);
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for a tile of %" PRIu64 " bytes and its record",
                        plan->shared_bytes);
    }
    return TPD_OK;
}

void tpd_simt_fini(struct tpd_simt *simt) {
    tpd_free(simt->shared);
    tpd_free(simt->accesses);
    memset(simt, 0, sizeof *simt);
}

/* Said when a lane has no n-th access, or another one than its neighbours. */
static const char uneven[] =
    "the threads of a block do not all make the same accesses: a predicate is an argument, never an if around one";

static void fault(struct tpd_simt *simt, const char *what) {
    if (simt->fault == NULL)
        simt->fault = what;
}

void tpd_simt_reach(struct tpd_simt *simt) {
    fault(simt, "an access reaches past the end of the matrix");
}

uint32_t tpd_simt_phase(struct tpd_simt *simt) {
    if (simt->barrier_due)
        fault(simt, "a phase begins, and no barrier ended the one before it");
    simt->barrier_due = true;
    simt->at = simt->count = 0;
    return simt->thread = 0;
}

void tpd_simt_barrier(struct tpd_simt *simt) {
    simt->barrier_due = false;
}

void tpd_simt_record(struct tpd_simt *simt, enum tpd_simt_kind kind, uint32_t width, bool active, uint64_t address) {
    if (simt->at == TPD_SIMT_ACCESSES_MOST) {
        fault(simt, "a thread makes more accesses in a phase than the record holds");
        return;
    }
    struct tpd_simt_access *access = &simt->accesses[simt->at++];
    if (simt->at > simt->count) {
        simt->count = simt->at;
        access->kind = kind;
        access->width = width;
        memset(access->active, 0, sizeof access->active);
        /* Threads before this one made fewer accesses. */
        if (simt->thread != 0)
            fault(simt, uneven);
    }
    if (access->kind != kind || access->width != width)
        fault(simt, uneven);
    access->active[simt->thread / TPD_WARP] |= (uint32_t)active << (simt->thread % TPD_WARP);
    access->address[simt->thread] = address;
}

/* The phase's requests, in the order in which the first thread made them; within one, warp by warp. */
static void show(struct tpd_simt *simt) {
    for (uint32_t n = 0; n < simt->count; n++) {
        const struct tpd_simt_access *access = &simt->accesses[n];
        bool store = access->kind == TPD_SIMT_GLOBAL_STORE || access->kind == TPD_SIMT_SHARED_STORE;
        for (uint32_t warp = 0; warp < simt->plan.threads / TPD_WARP; warp++) {
            struct tpd_request request = {.op = store ? TPD_OP_STORE : TPD_OP_LOAD, .width = access->width};
            request.active = access->active[warp];
            memcpy(request.address, access->address + (size_t)warp * TPD_WARP, sizeof request.address);
            simt->watch(simt->context, access->kind, &request);
        }
    }
}

uint32_t tpd_simt_next(struct tpd_simt *simt) {
    if (simt->accesses != NULL && simt->at != simt->count)
        fault(simt, uneven);
    simt->at = 0;
    if (++simt->thread == simt->plan.threads && simt->accesses != NULL && simt->fault == NULL)
        show(simt);
    return simt->thread;
}

enum tpd_status tpd_simt_run(struct tpd_simt *simt, uint64_t block, struct tpd_error *error) {
    const struct tpd_plan *plan = &simt->plan;
    simt->block = block;
    simt->barrier_due = false;
    tpd_kernels[plan->strategy][TPD_LOG2(plan->word_bytes)][plan->kernel](simt, simt->grid);
    if (simt->fault != NULL)
        return tpd_fail(error, TPD_INTERNAL, "strategy %s, block %" PRIu64 ": %s", tpd_strategy_at(plan->strategy)->name, block,
                        simt->fault);
    return TPD_OK;
}
