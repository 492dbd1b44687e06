/* bank_answer.c -- from a question to rows: each kind's requests through the model, with advice. */
#include <stdio.h>

#include "transposed/bank_report.h"

/* Items that one description runs through: 128 tiles of the default side, some 10 ms. */
enum { ITEMS_MOST = 1 << 17, BLOCKS_LEAST = 4 };

struct answering {
    const struct tpd_banks_ask *ask;
    tpd_banks_each *each;
    void *context;
    struct tpd_error *error;
};

static struct tpd_banks_row row_of(const struct tpd_banks_ask *ask) {
    return (struct tpd_banks_row){.kind = ask->kind,
                                  .itemsize = (uint32_t)ask->number[TPD_BANKS_ITEMSIZE],
                                  .bank_bytes = (uint32_t)ask->number[TPD_BANKS_BANK_BYTES]};
}

static uint64_t blocks_most(const struct tpd_plan *plan) {
    uint64_t items = plan->shared_bytes != 0 ? (uint64_t)plan->tile.rows * plan->tile.cols : TPD_STRATEGY_THREADS;
    uint64_t blocks = ITEMS_MOST / items;
    return blocks < BLOCKS_LEAST ? BLOCKS_LEAST : blocks > TPD_BANKS_BLOCKS_MOST ? TPD_BANKS_BLOCKS_MOST : blocks;
}

static enum tpd_status describe(const struct tpd_banks_ask *ask, enum tpd_strategy_id id, struct tpd_banks_row *row,
                                struct tpd_error *error) {
    struct tpd_matrix matrix = {.rows = ask->number[TPD_BANKS_ROWS],
                                .cols = ask->number[TPD_BANKS_COLS],
                                .batch = 1,
                                .itemsize = row->itemsize,
                                .dtype = TPD_DTYPE_OPAQUE};
    const struct tpd_architecture *architecture = tpd_architecture_find((uint32_t)ask->number[TPD_BANKS_ARCH]);
    struct tpd_plan plan;
    struct tpd_figures figures;
    if (id == TPD_STRATEGY_AUTO)
        id = tpd_strategy_choose(&matrix);
    if ((ask->given & (1u << TPD_BANKS_ROWS | 1u << TPD_BANKS_COLS)) == 0)
        matrix = tpd_strategy_fit(id, matrix);
    row->strategy = tpd_strategy_at(id)->name;
    row->rows = matrix.rows;
    row->cols = matrix.cols;
    struct tpd_tile tile = tpd_strategy_at(id)->tiled ? ask->tile : (struct tpd_tile){0, 0};
    enum tpd_status status = tpd_strategy_plan(id, &matrix, tile, UINT64_MAX, &plan, error);
    if (status == TPD_OK)
        status = tpd_banks_of_plan_with(&plan, row->bank_bytes, blocks_most(&plan), &figures, error);
    if (status != TPD_OK)
        return status;
    row->pitch = plan.pitch;
    row->tile = (struct tpd_bare_tile){.planes = 1, .rows = plan.tile.rows, .cols = plan.tile.cols, .pitch = plan.pitch};
    row->blocks = figures.blocks;
    row->shared_bytes = plan.shared_bytes;
    for (int op = 0; op < 2; op++) {
        row->shared[op] = figures.shared[op];
        row->global[op] = figures.global[op];
    }
    row->has_occupancy = true;
    row->capability = architecture->capability;
    row->occupancy = tpd_occupancy_of(&plan, architecture);
    uint32_t registers, blocks;
    if (ask->driver != NULL && !(ask->given & 1u << TPD_BANKS_ARCH) &&
        ask->driver(ask->driver_context, &plan, &registers, &blocks))
        row->occupancy = tpd_occupancy_told(&plan, architecture, registers, blocks);
    tpd_advise_plan(&figures, row->bank_bytes, row->advice);
    return TPD_OK;
}

static enum tpd_status answer_strategies(struct answering *answering) {
    const struct tpd_banks_ask *ask = answering->ask;
    enum tpd_status status = TPD_OK;
    int first = ask->every_strategy ? 0 : (int)ask->strategy, last = ask->every_strategy ? TPD_STRATEGY_COUNT - 1 : first;
    for (int id = first; id <= last && status == TPD_OK; id++)
        for (uint32_t itemsize = 1; itemsize <= 16 && status == TPD_OK; itemsize *= 2) {
            struct tpd_banks_row row = row_of(ask);
            if (!ask->every_itemsize && itemsize != row.itemsize)
                continue;
            row.itemsize = itemsize;
            row.status = describe(ask, (enum tpd_strategy_id)id, &row, &row.error);
            if (row.status != TPD_OK && !ask->every_strategy && !ask->every_itemsize) {
                if (answering->error != NULL)
                    *answering->error = row.error;
                return row.status;
            }
            status = answering->each(answering->context, &row);
        }
    return status;
}

static enum tpd_status answer_tile(struct answering *answering) {
    const struct tpd_banks_ask *ask = answering->ask;
    struct tpd_banks_row row = row_of(ask);
    row.tile = (struct tpd_bare_tile){.planes = (uint32_t)ask->number[TPD_BANKS_PLANES],
                                      .rows = ask->tile.rows,
                                      .cols = ask->tile.cols,
                                      .pitch = (uint32_t)ask->number[TPD_BANKS_PITCH],
                                      .plane_pitch = (uint32_t)ask->number[TPD_BANKS_PLANE_PITCH],
                                      .itemsize = row.itemsize};
    row.pitch = row.tile.pitch;
    row.rows = row.tile.rows;
    row.cols = row.tile.cols;
    row.shared_bytes = (uint64_t)(row.tile.planes > 1 ? row.tile.planes * (uint64_t)row.tile.plane_pitch
                                                      : row.tile.rows * (uint64_t)row.tile.pitch) *
                       row.itemsize;
    enum tpd_status status = tpd_bare_tile_sums(&row.tile, row.bank_bytes, row.shared, row.global, answering->error);
    if (status != TPD_OK)
        return status;
    tpd_advise_tile(&row.tile, row.bank_bytes, row.shared, row.advice);
    return answering->each(answering->context, &row);
}

/* Items narrower than a bank lie several to a bank, so that it matters in which of them a line begins. */
static enum tpd_status add_columns(struct tpd_banks_row *row, struct tpd_error *error) {
    row->columns = row->itemsize < row->bank_bytes ? row->bank_bytes / row->itemsize : 1;
    for (uint32_t column = 0; column < row->columns; column++) {
        struct tpd_line line = row->line;
        struct tpd_bank_result result;
        line.offset_bytes += (uint64_t)column * row->itemsize;
        struct tpd_request request = tpd_line_request(&line, TPD_OP_LOAD);
        enum tpd_status status = tpd_banks_shared(&request, row->bank_bytes, &result, error);
        if (status != TPD_OK)
            return status;
        row->by_column[column] = result.wavefronts;
    }
    return TPD_OK;
}

static enum tpd_status answer_line(struct answering *answering, uint64_t stride) {
    const struct tpd_banks_ask *ask = answering->ask;
    struct tpd_banks_row row = row_of(ask);
    uint64_t record = ask->number[TPD_BANKS_RECORD];
    row.stride = stride;
    row.line = (struct tpd_line){.width = row.itemsize,
                                 .offset_bytes = ask->number[TPD_BANKS_OFFSET],
                                 .step_bytes = record != 0 ? record : stride * row.itemsize,
                                 .group = (uint32_t)ask->number[TPD_BANKS_GROUP]};
    enum tpd_status status = add_columns(&row, answering->error);
    for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE && status == TPD_OK; op++) {
        struct tpd_request request = tpd_line_request(&row.line, (enum tpd_op)op);
        status = tpd_banks_add_shared(&request, row.bank_bytes, row.shared, answering->error);
        if (status == TPD_OK)
            status = tpd_banks_add_global(&request, row.global, answering->error);
    }
    if (status != TPD_OK)
        return status;
    tpd_advise_line(&row.line, row.bank_bytes, row.advice);
    return answering->each(answering->context, &row);
}

static enum tpd_status answer_reduction(struct answering *answering, uint32_t stride) {
    const struct tpd_banks_ask *ask = answering->ask;
    struct tpd_banks_row row = row_of(ask);
    uint32_t threads = (uint32_t)ask->number[TPD_BANKS_REDUCE];
    struct tpd_request request = tpd_reduction_request(threads, stride, true, row.itemsize);
    struct tpd_request other = tpd_reduction_request(threads, stride, false, row.itemsize);
    struct tpd_bank_result sequential = {0};
    row.stride = stride;
    row.active = (uint32_t)__builtin_popcount(request.active);
    enum tpd_status status = tpd_banks_add_shared(&request, row.bank_bytes, row.shared, answering->error);
    if (status == TPD_OK)
        status = tpd_banks_add_global(&request, row.global, answering->error);
    if (status == TPD_OK)
        status = tpd_banks_shared(&other, row.bank_bytes, &sequential, answering->error);
    if (status != TPD_OK)
        return status;
    row.sequential = sequential.wavefronts;
    (void)snprintf(row.advice, sizeof row.advice, "%s",
                   row.shared[TPD_OP_LOAD].excess == 0
                       ? "free of conflicts"
                       : "go through the strides from the largest to the least and let thread t add item t + stride to item t");
    return answering->each(answering->context, &row);
}

enum tpd_status tpd_banks_answer(const struct tpd_banks_ask *ask, tpd_banks_each *each, void *context, struct tpd_error *error) {
    struct answering answering = {ask, each, context, error};
    enum tpd_status status = TPD_OK;
    switch (ask->kind) {
    case TPD_BANKS_OF_STRATEGY:
        return answer_strategies(&answering);
    case TPD_BANKS_OF_TILE:
        return answer_tile(&answering);
    case TPD_BANKS_OF_LINE:
        for (uint64_t stride = ask->number[TPD_BANKS_STRIDE]; stride <= ask->stride_last && status == TPD_OK; stride++)
            status = answer_line(&answering, stride);
        return status;
    case TPD_BANKS_OF_REDUCTION:
        for (uint32_t stride = 1; stride < ask->number[TPD_BANKS_REDUCE] && status == TPD_OK; stride *= 2)
            status = answer_reduction(&answering, stride);
        return status;
    }
    return status;
}
