/* bank_json.c -- rows of the bank model as JSON: the keys that the contract names, and beside them what a kind has of its own. */
#include <inttypes.h>

#include "transposed/bank_report.h"

static double mean(uint64_t sum, uint64_t requests) {
    return requests != 0 ? (double)sum / (double)requests : 0;
}

static void add_shared(struct tpd_buf *out, const char *name, const struct tpd_shared_sum *sum) {
    (void)tpd_buf_format(out,
                         "\"%s\":{\"requests\":%" PRIu64 ",\"wavefronts\":%" PRIu64 ",\"ideal\":%" PRIu64 ",\"excess\":%" PRIu64
                         ",\"degree\":%" PRIu32 ",\"conflicts_per_request\":%.6g}",
                         name, sum->requests, sum->wavefronts, sum->ideal, sum->excess, sum->degree,
                         mean(sum->excess, sum->requests));
}

static void add_global(struct tpd_buf *out, const char *name, const struct tpd_global_sum *sum) {
    (void)tpd_buf_format(out, "\"%s\":{\"requests\":%" PRIu64 ",\"sectors\":%" PRIu64 ",\"ideal\":%" PRIu64 "}", name,
                         sum->requests, sum->sectors, sum->ideal);
}

/* A number where there is one, else null. */
static void add_number(struct tpd_buf *out, const char *name, bool has, uint64_t number) {
    if (has)
        (void)tpd_buf_format(out, "\"%s\":%" PRIu64 ",", name, number);
    else
        (void)tpd_buf_format(out, "\"%s\":null,", name);
}

static void add_line(struct tpd_buf *out, const struct tpd_banks_row *row) {
    (void)tpd_buf_format(
        out, "\"stride\":%" PRIu64 ",\"step_bytes\":%" PRIu64 ",\"offset\":%" PRIu64 ",\"group\":%" PRIu32 ",\"by_column\":[",
        row->stride, row->line.step_bytes, row->line.offset_bytes, row->line.group);
    for (uint32_t column = 0; column < row->columns; column++)
        (void)tpd_buf_format(out, "%s%" PRIu32, column == 0 ? "" : ",", row->by_column[column]);
    (void)tpd_buf_text(out, "],");
}

static void add_occupancy(struct tpd_buf *out, const struct tpd_banks_row *row) {
    const struct tpd_occupancy *occupancy = &row->occupancy;
    if (!row->has_occupancy) {
        (void)tpd_buf_text(out, "\"occupancy\":null,");
        return;
    }
    (void)tpd_buf_format(out, "\"occupancy\":{\"architecture\":\"sm_%" PRIu32 "\",", row->capability);
    add_number(out, "registers", occupancy->registers != 0, occupancy->registers);
    (void)tpd_buf_format(out,
                         "\"resident_blocks\":%" PRIu32 ",\"resident_threads\":%" PRIu32 ",\"limit\":\"%s\",\"by_device\":%s},",
                         occupancy->blocks, occupancy->threads, occupancy->limit, occupancy->by_device ? "true" : "false");
}

static void add_row(struct tpd_buf *out, const struct tpd_banks_row *row) {
    bool has_tile = row->tile.rows != 0;
    (void)tpd_buf_text(out, "{\"strategy\":");
    if (row->strategy != NULL)
        (void)tpd_buf_json_string(out, row->strategy);
    else
        (void)tpd_buf_text(out, "null");
    (void)tpd_buf_format(out, ",\"itemsize\":%" PRIu32 ",", row->itemsize);
    if (row->status != TPD_OK) {
        (void)tpd_buf_text(out, "\"why_not\":");
        (void)tpd_buf_json_string(out, row->error.text);
        (void)tpd_buf_text(out, "}");
        return;
    }
    if (has_tile && row->tile.planes > 1)
        (void)tpd_buf_format(out, "\"planes\":%" PRIu32 ",\"plane_pitch\":%" PRIu32 ",", row->tile.planes, row->tile.plane_pitch);
    if (has_tile)
        (void)tpd_buf_format(out, "\"tile\":\"%" PRIu32 "x%" PRIu32 "\",", row->tile.rows, row->tile.cols);
    else
        (void)tpd_buf_text(out, "\"tile\":null,");
    add_number(out, "pitch", has_tile, row->pitch);
    add_number(out, "rows", row->strategy != NULL || has_tile, row->rows);
    add_number(out, "cols", row->strategy != NULL || has_tile, row->cols);
    (void)tpd_buf_format(out, "\"bank_bytes\":%" PRIu32 ",", row->bank_bytes);
    if (row->kind == TPD_BANKS_OF_STRATEGY)
        add_number(out, "blocks", true, row->blocks);
    if (row->kind == TPD_BANKS_OF_LINE)
        add_line(out, row);
    if (row->kind == TPD_BANKS_OF_REDUCTION)
        (void)tpd_buf_format(out, "\"stride\":%" PRIu64 ",\"active\":%" PRIu32 ",\"sequential_wavefronts\":%" PRIu32 ",",
                             row->stride, row->active, row->sequential);
    (void)tpd_buf_text(out, "\"shared\":{");
    add_shared(out, "load", &row->shared[TPD_OP_LOAD]);
    (void)tpd_buf_text(out, ",");
    add_shared(out, "store", &row->shared[TPD_OP_STORE]);
    (void)tpd_buf_text(out, "},\"global\":{");
    add_global(out, "load", &row->global[TPD_OP_LOAD]);
    (void)tpd_buf_text(out, ",");
    add_global(out, "store", &row->global[TPD_OP_STORE]);
    (void)tpd_buf_text(out, "},");
    add_number(out, "shared_bytes", row->strategy != NULL || has_tile, row->shared_bytes);
    add_occupancy(out, row);
    (void)tpd_buf_text(out, "\"advice\":");
    (void)tpd_buf_json_string(out, row->advice);
    (void)tpd_buf_text(out, "}");
}

struct writing {
    struct tpd_buf *out;
    bool many, begun;
};

static enum tpd_status write_row(void *context, const struct tpd_banks_row *row) {
    struct writing *writing = context;
    (void)tpd_buf_text(writing->out, !writing->begun ? "" : ",\n");
    writing->begun = true;
    add_row(writing->out, row);
    return writing->out->status;
}

enum tpd_status tpd_banks_json(const struct tpd_banks_ask *ask, struct tpd_buf *out, struct tpd_error *error) {
    struct writing writing = {.out = out};
    writing.many = ask->kind == TPD_BANKS_OF_REDUCTION ||
                   (ask->kind == TPD_BANKS_OF_STRATEGY && (ask->every_strategy || ask->every_itemsize)) ||
                   (ask->kind == TPD_BANKS_OF_LINE && ask->stride_last != ask->number[TPD_BANKS_STRIDE]);
    if (writing.many)
        (void)tpd_buf_text(out, "{\"rows\":[\n");
    enum tpd_status status = tpd_banks_answer(ask, write_row, &writing, error);
    if (status != TPD_OK && out->status == status)
        return tpd_fail(error, status, "the answer could not be written: %s", tpd_status_meaning(status));
    if (status == TPD_OK)
        (void)tpd_buf_text(out, writing.many ? "]}\n" : "\n");
    return status;
}
