/* advice.c -- what to do about a tile's conflicts, found by trying it in the model. */
#include <inttypes.h>
#include <stdio.h>

#include "transposed/patterns.h"

static bool has_excess(const struct tpd_shared_sum shared[2]) {
    return shared[TPD_OP_LOAD].excess != 0 || shared[TPD_OP_STORE].excess != 0;
}

static bool is_tile_side(uint32_t side) {
    return side >= TPD_TILE_LEAST && side <= TPD_TILE_MOST && (side & (side - 1)) == 0;
}

/* "a pitch of 33 items (132 bytes)", and the plane pitch where there are planes. */
static void name_pitch(const struct tpd_bare_tile *tile, char *text, size_t bytes) {
    int at = snprintf(text, bytes, "a pitch of %" PRIu32 " items (%" PRIu32 " bytes)", tile->pitch, tile->pitch * tile->itemsize);
    if (tile->planes > 1 && at > 0)
        (void)snprintf(text + at, bytes - (size_t)at, " and a plane pitch of %" PRIu32, tile->plane_pitch);
}

static uint32_t up_to_warp(uint32_t side) {
    return (side + TPD_WARP - 1) / TPD_WARP * TPD_WARP;
}

/* No pitch helps: say why, and what does. */
static void advise_other(const struct tpd_bare_tile *tile, char text[TPD_ADVICE_BYTES], uint32_t bank_bytes) {
    struct tpd_bare_tile larger = *tile;
    char why[112], larger_words[128] = "", pitch[96];
    uint32_t lanes = tile->itemsize <= bank_bytes ? TPD_WARP : TPD_WARP * bank_bytes / tile->itemsize;
    if (tile->planes > 1)
        (void)snprintf(why, sizeof why, "the lanes of a load cross rows and planes at once");
    else if (tile->rows < lanes || tile->cols < lanes)
        (void)snprintf(why, sizeof why, "with a side of %" PRIu32 ", %" PRIu32 " lanes cross more than one %s at once",
                       tile->cols < tile->rows ? tile->cols : tile->rows, lanes,
                       tile->cols < lanes && tile->rows < lanes ? "row and column"
                       : tile->cols < lanes                     ? "row"
                                                                : "column");
    else
        (void)snprintf(why, sizeof why, "sides that are no multiple of 32 leave warps across the end of a row or column");
    larger.rows = up_to_warp(tile->rows);
    larger.cols = up_to_warp(tile->cols);
    if (tile->planes == 1 && larger.rows * larger.cols <= TPD_TILE_ITEMS_MOST &&
        (larger.rows != tile->rows || larger.cols != tile->cols) && tpd_bare_tile_pad(&larger, bank_bytes)) {
        name_pitch(&larger, pitch, sizeof pitch);
        (void)snprintf(larger_words, sizeof larger_words, "take a tile of %" PRIu32 "x%" PRIu32 " with %s", larger.rows,
                       larger.cols, pitch);
    }
    bool keyed = tile->planes == 1 && bank_bytes == 4 && is_tile_side(tile->rows) && is_tile_side(tile->cols);
    (void)snprintf(text, TPD_ADVICE_BYTES, "no pitch is free of conflicts on both sides: %s; %s%s%s", why,
                   keyed ? "turn or XOR the columns by a key of the row (rotated, swizzled), which costs no byte" : "",
                   keyed && larger_words[0] != '\0' ? ", or " : "",
                   larger_words[0] != '\0' ? larger_words
                   : keyed                 ? ""
                                           : "give each row a key of its own, or let a warp walk one row at a time");
}

/* Is an item's place another's too? Then the figures are right and the layout is not. */
static bool overlaps(const struct tpd_bare_tile *tile) {
    return (tile->rows > 1 && tile->pitch < tile->cols) || (tile->planes > 1 && tile->plane_pitch < tile->rows * tile->pitch);
}

void tpd_advise_tile(const struct tpd_bare_tile *tile, uint32_t bank_bytes, const struct tpd_shared_sum shared[2],
                     char text[TPD_ADVICE_BYTES]) {
    struct tpd_bare_tile least = *tile;
    char pitch[96];
    bool can = tpd_bare_tile_pad(&least, bank_bytes);
    name_pitch(&least, pitch, sizeof pitch);
    if (overlaps(tile) && !can)
        (void)snprintf(text, TPD_ADVICE_BYTES,
                       "rows of %" PRIu32 " items overlap at a pitch of %" PRIu32 ", and no pitch from %" PRIu32
                       " on is free of conflicts on both sides: take sides that are multiples of 32",
                       tile->cols, tile->pitch, tile->cols);
    else if (overlaps(tile))
        (void)snprintf(text, TPD_ADVICE_BYTES,
                       "rows or planes overlap: items lie in one another's places; %s is the least that is free of conflicts on "
                       "both sides",
                       pitch);
    else if (!has_excess(shared))
        (void)snprintf(text, TPD_ADVICE_BYTES, "free of conflicts on both sides%s%s%s",
                       can && least.pitch < tile->pitch ? "; the least that is: " : "",
                       can && least.pitch < tile->pitch ? pitch : "",
                       can && least.pitch == tile->pitch ? ", with the least pitch that is" : "");
    else if (can)
        (void)snprintf(text, TPD_ADVICE_BYTES, "%s is the least that is free of conflicts on both sides", pitch);
    else
        advise_other(tile, text, bank_bytes);
}

static double mean(uint64_t sum, uint64_t requests) {
    return requests != 0 ? (double)sum / (double)requests : 0;
}

void tpd_advise_plan(const struct tpd_figures *figures, uint32_t bank_bytes, char text[TPD_ADVICE_BYTES]) {
    const struct tpd_plan *plan = &figures->plan;
    const struct tpd_global_sum *load = &figures->global[TPD_OP_LOAD], *store = &figures->global[TPD_OP_STORE];
    const struct tpd_global_sum *worse = load->sectors - load->ideal > store->sectors - store->ideal ? load : store;
    if (has_excess(figures->shared)) {
        /* A strategy with a pitch of its own is asked about the tile, not about that pitch. */
        struct tpd_bare_tile tile = {.planes = 1,
                                     .rows = plan->tile.rows,
                                     .cols = plan->tile.cols,
                                     .pitch = plan->pitch,
                                     .itemsize = plan->matrix.itemsize};
        tpd_advise_tile(&tile, bank_bytes, figures->shared, text);
    } else if (worse->sectors > 2 * worse->ideal) {
        /* Ragged edges cost less than twice the ideal; more is a stride. */
        (void)snprintf(text, TPD_ADVICE_BYTES, "the global %s is strided: %.3g sectors a request where %.3g would do; %s",
                       worse == load ? "load" : "store", mean(worse->sectors, worse->requests),
                       mean(worse->ideal, worse->requests),
                       plan->shared_bytes != 0 ? "read columns of the tile instead, so that both global sides move rows"
                                               : "stage a tile in shared memory, so that both sides move rows");
    } else if (worse->sectors * 4 > worse->ideal * 5) {
        (void)snprintf(
            text, TPD_ADVICE_BYTES,
            "free of conflicts on both sides; a global %s takes %.3g sectors where %.3g would do, for rows of the tile are "
            "shorter than a sector or begin within one",
            worse == load ? "load" : "store", mean(worse->sectors, worse->requests), mean(worse->ideal, worse->requests));
    } else if (load->requests == 0) {
        (void)snprintf(text, TPD_ADVICE_BYTES, "a matrix without items asks nothing of memory");
    } else {
        (void)snprintf(text, TPD_ADVICE_BYTES, "free of conflicts on both sides, and both global sides move whole rows");
    }
}

/* At worst, wherever in a bank's word the line begins. */
static uint32_t worst_of(const struct tpd_line *line, uint32_t bank_bytes, bool *clean) {
    struct tpd_line shifted = *line;
    uint32_t worst = 0;
    *clean = true;
    for (uint32_t shift = 0; shift < bank_bytes; shift += line->width, shifted.offset_bytes += line->width) {
        struct tpd_request request = tpd_line_request(&shifted, TPD_OP_LOAD);
        struct tpd_bank_result result = {0};
        if (tpd_banks_shared(&request, bank_bytes, &result, NULL) != TPD_OK || result.excess != 0)
            *clean = false;
        if (result.degree > worst)
            worst = result.degree;
    }
    return worst;
}

void tpd_advise_line(const struct tpd_line *line, uint32_t bank_bytes, char text[TPD_ADVICE_BYTES]) {
    struct tpd_line next = *line;
    uint32_t period = TPD_BANKS * bank_bytes / line->width;
    bool clean;
    uint32_t worst = worst_of(line, bank_bytes, &clean);
    if (clean) {
        (void)snprintf(text, TPD_ADVICE_BYTES, "free of conflicts%s%s", line->width < bank_bytes ? ", wherever it begins" : "",
                       line->group > 1 ? ": lanes that ask for one word are served at once" : "");
        return;
    }
    for (uint32_t more = 1; more <= period && !clean; more++) {
        next.step_bytes = line->step_bytes + (uint64_t)more * line->width;
        (void)worst_of(&next, bank_bytes, &clean);
    }
    if (clean)
        (void)snprintf(text, TPD_ADVICE_BYTES,
                       "%" PRIu32 "-way at worst; the next step that is free of conflicts has %" PRIu64 " bytes", worst,
                       next.step_bytes);
    else
        (void)snprintf(text, TPD_ADVICE_BYTES, "%" PRIu32 "-way at worst, and no longer step is free of conflicts", worst);
}
