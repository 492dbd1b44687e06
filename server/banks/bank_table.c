/* bank_table.c -- rows of the bank model as a table on a terminal. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "transposed/bank_report.h"

struct table {
    const struct tpd_banks_ask *ask;
    struct tpd_buf *out;
    bool colour, begun;
    const char *strategy; /* of the row before */
    char advice[TPD_ADVICE_BYTES];
};

static double mean(uint64_t sum, uint64_t requests) {
    return requests != 0 ? (double)sum / (double)requests : 0;
}

/* "32/1", found and ideal a request, to the right of `width` columns; green where they are equal, red from twice on. */
static void add_share(struct table *table, uint64_t found, uint64_t ideal, uint64_t requests, int width) {
    char text[48];
    if (requests == 0) {
        (void)tpd_buf_format(table->out, "%*s", width, "-");
        return;
    }
    (void)snprintf(text, sizeof text, "%.4g/%.4g", mean(found, requests), mean(ideal, requests));
    const char *colour = found <= ideal ? "\033[32m" : found < 2 * ideal ? "\033[33m" : "\033[1;31m";
    int pad = width - (int)strlen(text);
    (void)tpd_buf_format(table->out, "%*s%s%s%s", pad > 0 ? pad : 1, "", table->colour ? colour : "", text,
                         table->colour ? "\033[0m" : "");
}

static void add_shares(struct table *table, const struct tpd_banks_row *row) {
    for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++)
        add_share(table, row->shared[op].wavefronts, row->shared[op].ideal, row->shared[op].requests, 10);
    for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++)
        add_share(table, row->global[op].sectors, row->global[op].ideal, row->global[op].requests, 10);
}

static void strategy_row(struct table *table, const struct tpd_banks_row *row) {
    struct tpd_buf *out = table->out;
    char tile[16] = "-", pitch[16] = "-";
    if (!table->begun)
        (void)tpd_buf_format(out,
                             "Found/ideal a warp request: wavefronts in shared memory, 32-byte sectors in global memory.\n"
                             "Registers and resident blocks: a thread's, and a multiprocessor's, on sm_%" PRIu32
                             "; in brackets what "
                             "allows no more.\n\n"
                             "                                SHARED    SHARED    GLOBAL    GLOBAL  SHARED REGIS- RESIDENT\n"
                             "STRATEGY  BYTES    TILE  PITCH    LOAD     STORE      LOAD     STORE   BYTES   TERS BLOCKS\n",
                             row->capability);
    else if (table->strategy != row->strategy)
        (void)tpd_buf_text(out, "\n");
    table->strategy = row->strategy;
    (void)tpd_buf_format(out, "%-10s%5" PRIu32, row->strategy, row->itemsize);
    if (row->status != TPD_OK) {
        (void)tpd_buf_format(out, "  %s\n", row->error.text);
        return;
    }
    if (row->tile.rows != 0) {
        (void)snprintf(tile, sizeof tile, "%" PRIu32 "x%" PRIu32, row->tile.rows, row->tile.cols);
        (void)snprintf(pitch, sizeof pitch, "%" PRIu32, row->pitch);
    }
    (void)tpd_buf_format(out, "%8s%7s", tile, pitch);
    add_shares(table, row);
    (void)tpd_buf_format(out, "%8" PRIu64, row->shared_bytes);
    if (row->occupancy.registers != 0)
        (void)tpd_buf_format(out, "%7" PRIu32, row->occupancy.registers);
    else
        (void)tpd_buf_format(out, "%7s", "?");
    (void)tpd_buf_format(out, " %" PRIu32 " (%s)\n", row->occupancy.blocks, row->occupancy.limit);
}

static void tile_row(struct table *table, const struct tpd_banks_row *row) {
    const struct tpd_bare_tile *tile = &row->tile;
    (void)tpd_buf_format(table->out, "A tile of ");
    if (tile->planes > 1)
        (void)tpd_buf_format(table->out, "%" PRIu32 " planes of ", tile->planes);
    (void)tpd_buf_format(table->out, "%" PRIu32 "x%" PRIu32 " items of %" PRIu32 " bytes, pitch %" PRIu32, tile->rows, tile->cols,
                         row->itemsize, row->pitch);
    if (tile->planes > 1)
        (void)tpd_buf_format(table->out, ", plane pitch %" PRIu32, tile->plane_pitch);
    (void)tpd_buf_format(table->out, ": %" PRIu64 " bytes; banks of %" PRIu32 " bytes\n\n", row->shared_bytes, row->bank_bytes);
    (void)tpd_buf_text(table->out,
                       "                 REQUESTS  WAVEFRONTS  IDEAL  CONFLICTS  DEGREE  A REQUEST  SECTORS IF GLOBAL\n");
    for (int op = TPD_OP_STORE; op >= TPD_OP_LOAD; op--) {
        const struct tpd_shared_sum *sum = &row->shared[op];
        (void)tpd_buf_format(table->out, "%-17s%8" PRIu64 "%12" PRIu64 "%7" PRIu64 "%11" PRIu64 "%8" PRIu32,
                             op == TPD_OP_STORE ? "store by rows" : "load by columns", sum->requests, sum->wavefronts, sum->ideal,
                             sum->excess, sum->degree);
        add_share(table, sum->wavefronts, sum->ideal, sum->requests, 11);
        add_share(table, row->global[op].sectors, row->global[op].ideal, row->global[op].requests, 19);
        (void)tpd_buf_text(table->out, "\n");
    }
}

static void line_row(struct table *table, const struct tpd_banks_row *row) {
    const struct tpd_shared_sum *load = &row->shared[TPD_OP_LOAD];
    if (!table->begun) {
        (void)tpd_buf_format(table->out, "One warp request of %" PRIu32 "-byte items, banks of %" PRIu32 " bytes", row->itemsize,
                             row->bank_bytes);
        if (row->line.group > 1)
            (void)tpd_buf_format(table->out, ", %" PRIu32 " neighbouring lanes to an item", row->line.group);
        if (row->line.offset_bytes != 0)
            (void)tpd_buf_format(table->out, ", from byte %" PRIu64 " on", row->line.offset_bytes);
        (void)tpd_buf_format(table->out, "\n\n  STEP    BYTES  DEGREE      LOAD     STORE   SECTORS%s\n",
                             row->columns > 1 ? "  WAVEFRONTS BY FIRST COLUMN" : "");
    }
    char step[24] = "record";
    if (!(table->ask->given & 1u << TPD_BANKS_RECORD))
        (void)snprintf(step, sizeof step, "%" PRIu64, row->stride);
    (void)tpd_buf_format(table->out, "%6s%9" PRIu64 "%8" PRIu32, step, row->line.step_bytes, load->degree);
    for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++)
        add_share(table, row->shared[op].wavefronts, row->shared[op].ideal, row->shared[op].requests, 10);
    add_share(table, row->global[TPD_OP_LOAD].sectors, row->global[TPD_OP_LOAD].ideal, 1, 10);
    for (uint32_t column = 0; row->columns > 1 && column < row->columns; column++)
        (void)tpd_buf_format(table->out, "%s%" PRIu32, column == 0 ? "  " : " ", row->by_column[column]);
    (void)tpd_buf_text(table->out, "\n");
}

static void reduction_row(struct table *table, const struct tpd_banks_row *row) {
    const struct tpd_shared_sum *load = &row->shared[TPD_OP_LOAD];
    if (!table->begun)
        (void)tpd_buf_format(table->out,
                             "The loads of a tree reduction's first warp, items of %" PRIu32 " bytes, wavefronts found/ideal.\n"
                             "Interleaved: thread t adds item 2*S*t + S to item 2*S*t. Sequential: item t + S to item t.\n\n"
                             "STRIDE S  LANES  DEGREE  INTERLEAVED  SEQUENTIAL\n",
                             row->itemsize);
    (void)tpd_buf_format(table->out, "%8" PRIu64 "%7" PRIu32 "%8" PRIu32, row->stride, row->active, load->degree);
    add_share(table, load->wavefronts, load->ideal, load->requests, 13);
    (void)tpd_buf_format(table->out, "%12" PRIu32 "\n", row->sequential);
}

static enum tpd_status write_row(void *context, const struct tpd_banks_row *row) {
    static void (*const writers[])(struct table *, const struct tpd_banks_row *) = {
        [TPD_BANKS_OF_STRATEGY] = strategy_row,
        [TPD_BANKS_OF_TILE] = tile_row,
        [TPD_BANKS_OF_LINE] = line_row,
        [TPD_BANKS_OF_REDUCTION] = reduction_row,
    };
    struct table *table = context;
    writers[row->kind](table, row);
    /* Advice for one row stands below it; among many it would hide the table. */
    (void)snprintf(table->advice, sizeof table->advice, "%s", table->begun ? "" : row->advice);
    table->begun = true;
    return table->out->status;
}

enum tpd_status tpd_banks_table(const struct tpd_banks_ask *ask, bool colour, struct tpd_buf *out, struct tpd_error *error) {
    struct table table = {.ask = ask, .out = out, .colour = colour};
    enum tpd_status status = tpd_banks_answer(ask, write_row, &table, error);
    if (status != TPD_OK && out->status == status)
        return tpd_fail(error, status, "the table could not be written: %s", tpd_status_meaning(status));
    if (status == TPD_OK && table.advice[0] != '\0')
        (void)tpd_buf_format(out, "\n%c%s.\n",
                             table.advice[0] >= 'a' && table.advice[0] <= 'z' ? table.advice[0] - 'a' + 'A' : table.advice[0],
                             table.advice + 1);
    return status;
}
