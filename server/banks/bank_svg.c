/* bank_svg.c -- a question answered as one picture: what lies in which bank, how a request is served, what it costs globally. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/banks/bank_picture.h"
#include "transposed/alloc.h"

enum { ROWS_MOST = 256, PAD_MOST = 8, MARGIN = 24, GAP = 36, WIDTH_LEAST = 900, LINE = 18 };

static enum tpd_status keep_row(void *context, const struct tpd_banks_row *row) {
    *(struct tpd_banks_row *)context = *row;
    return TPD_OK;
}

static enum tpd_status choose(struct tpd_picture *picture, uint64_t number, uint32_t requests, struct tpd_error *error) {
    picture->number = (uint32_t)number;
    picture->requests = requests;
    if (number < requests)
        return TPD_OK;
    return tpd_fail_limit(error, TPD_UNSUPPORTED, requests - 1, number,
                          "request=%" PRIu64 ": the tile has %" PRIu32 " requests, 0 to %" PRIu32, number, requests,
                          requests - 1);
}

static enum tpd_status gather_strategy(const struct tpd_banks_ask *ask, struct tpd_picture *picture, struct tpd_error *error) {
    struct tpd_matrix matrix = {picture->row.rows, picture->row.cols, 1, picture->row.itemsize, TPD_DTYPE_OPAQUE};
    struct tpd_tile_map map = {.place = NULL};
    struct tpd_plan plan;
    enum tpd_strategy_id id;
    enum tpd_status status = tpd_strategy_find(picture->row.strategy, &id, error);
    struct tpd_tile tile = {0, 0};
    if (status == TPD_OK && tpd_strategy_at(id)->tiled)
        tile = (struct tpd_tile){picture->row.tile.rows, picture->row.tile.cols};
    if (status == TPD_OK)
        status = tpd_strategy_plan(id, &matrix, tile, UINT64_MAX, &plan, error);
    if (status != TPD_OK)
        return status;
    /* The same kernel and tile on a matrix that fits in memory. */
    if (tpd_strategy_at(id)->own_tiles) {
        plan.matrix.rows = plan.tile.rows;
        plan.matrix.cols = plan.tile.cols;
        plan.tiles_down = plan.tiles_across = 1;
    } else
        plan.matrix.rows = plan.matrix.cols = TPD_TILE_MOST;
    picture->has_grid = picture->has_shared = plan.shared_bytes != 0;
    picture->rows = plan.tile.rows;
    picture->cols = plan.tile.cols;
    picture->pad = plan.pitch > plan.tile.cols ? plan.pitch - plan.tile.cols : 0;
    if (picture->has_grid) {
        picture->place = tpd_alloc((size_t)picture->rows * picture->cols * sizeof *picture->place);
        if (picture->place == NULL)
            return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for a picture of the tile");
    }
    map.place = picture->place;
    status = tpd_tile_map(&plan, (uint32_t)ask->number[TPD_BANKS_REQUEST], &map, error);
    if (status == TPD_OK)
        status = choose(picture, ask->number[TPD_BANKS_REQUEST], picture->has_shared ? map.shared_requests : map.global_requests,
                        error);
    picture->request = map.shared[picture->side];
    picture->has_global = true;
    memcpy(picture->global, map.global, sizeof map.global);
    return status;
}

static enum tpd_status gather_tile(const struct tpd_banks_ask *ask, struct tpd_picture *picture, struct tpd_error *error) {
    const struct tpd_bare_tile *tile = &picture->row.tile;
    picture->has_grid = picture->has_shared = true;
    picture->rows = tile->planes * tile->rows;
    picture->cols = tile->cols;
    picture->pad = tile->pitch - tile->cols < PAD_MOST ? tile->pitch - tile->cols : PAD_MOST;
    if (picture->rows > ROWS_MOST)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, ROWS_MOST, picture->rows,
                              "a picture has at most %d rows, all planes of this tile have %" PRIu32, ROWS_MOST, picture->rows);
    picture->place = tpd_alloc((size_t)picture->rows * picture->cols * sizeof *picture->place);
    if (picture->place == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for a picture of the tile");
    for (uint32_t n = 0; n < picture->rows * picture->cols; n++) {
        uint32_t row = n / tile->cols;
        picture->place[n] =
            (row / tile->rows * tile->plane_pitch + row % tile->rows * tile->pitch + n % tile->cols) * tile->itemsize;
    }
    enum tpd_status status = choose(picture, ask->number[TPD_BANKS_REQUEST], tpd_bare_tile_requests(tile), error);
    if (status == TPD_OK)
        picture->request = tpd_bare_tile_request(tile, picture->side, picture->number);
    return status;
}

static enum tpd_status gather(const struct tpd_banks_ask *ask, struct tpd_picture *picture, struct tpd_error *error) {
    bool many = ask->kind == TPD_BANKS_OF_REDUCTION || ask->every_strategy || ask->every_itemsize ||
                ask->stride_last != ask->number[TPD_BANKS_STRIDE];
    if (many)
        return tpd_fail(error, TPD_UNSUPPORTED,
                        "a picture shows one thing: name one strategy and item size, a tile, or one stride");
    enum tpd_status status = tpd_banks_answer(ask, keep_row, &picture->row, error);
    picture->side = ask->side;
    if (status != TPD_OK)
        return status;
    if (ask->kind == TPD_BANKS_OF_STRATEGY) {
        status = gather_strategy(ask, picture, error);
    } else if (ask->kind == TPD_BANKS_OF_TILE) {
        status = gather_tile(ask, picture, error);
    } else {
        picture->has_shared = true;
        picture->requests = 1;
        picture->request = tpd_line_request(&picture->row.line, picture->side);
        picture->global[picture->side] = picture->request;
        picture->has_global = true;
    }
    if (status == TPD_OK && picture->has_shared)
        status = tpd_banks_schedule(&picture->request, picture->row.bank_bytes, &picture->schedule, error);
    return status;
}

static void name(const struct tpd_picture *picture, char *text, size_t bytes) {
    const struct tpd_banks_row *row = &picture->row;
    if (row->strategy != NULL && picture->has_grid)
        (void)snprintf(text, bytes, "%s: %" PRIu32 "-byte items, tile %" PRIu32 "x%" PRIu32 ", pitch %" PRIu32, row->strategy,
                       row->itemsize, row->tile.rows, row->tile.cols, row->pitch);
    else if (row->strategy != NULL)
        (void)snprintf(text, bytes, "%s: %" PRIu32 "-byte items, no tile", row->strategy, row->itemsize);
    else if (row->kind == TPD_BANKS_OF_TILE && row->tile.planes > 1)
        (void)snprintf(text, bytes,
                       "%" PRIu32 " planes of %" PRIu32 "x%" PRIu32 " %" PRIu32 "-byte items, pitch %" PRIu32
                       ", plane pitch %" PRIu32,
                       row->tile.planes, row->tile.rows, row->tile.cols, row->itemsize, row->pitch, row->tile.plane_pitch);
    else if (row->kind == TPD_BANKS_OF_TILE)
        (void)snprintf(text, bytes, "A tile of %" PRIu32 "x%" PRIu32 " %" PRIu32 "-byte items, pitch %" PRIu32, row->tile.rows,
                       row->tile.cols, row->itemsize, row->pitch);
    else
        (void)snprintf(text, bytes, "%" PRIu32 "-byte items, %" PRIu64 " bytes from one to the next", row->itemsize,
                       row->line.step_bytes);
}

static void add_side(char *text, size_t bytes, size_t *at, const char *what, uint64_t found, uint64_t ideal, uint64_t requests,
                     const char *unit) {
    if (requests == 0 || *at >= bytes)
        return;
    double mean = (double)found / (double)requests, best = (double)ideal / (double)requests;
    int length = found == ideal
                     ? snprintf(text + *at, bytes - *at, "%s: %.4g %s%s a request, which is ideal. ", what, mean, unit,
                                mean == 1 ? "" : "s")
                     : snprintf(text + *at, bytes - *at, "%s: %.4g %ss a request where %.4g would do. ", what, mean, unit, best);
    *at += (size_t)length;
}

static void describe(const struct tpd_picture *picture, char *text, size_t bytes) {
    const struct tpd_shared_sum *shared = picture->row.shared;
    const struct tpd_global_sum *global = picture->row.global;
    size_t at = 0;
    add_side(text, bytes, &at, "Shared store", shared[TPD_OP_STORE].wavefronts, shared[TPD_OP_STORE].ideal,
             shared[TPD_OP_STORE].requests, "wavefront");
    add_side(text, bytes, &at, "Shared load", shared[TPD_OP_LOAD].wavefronts, shared[TPD_OP_LOAD].ideal,
             shared[TPD_OP_LOAD].requests, "wavefront");
    if (picture->row.strategy == NULL)
        return;
    add_side(text, bytes, &at, "Global load", global[TPD_OP_LOAD].sectors, global[TPD_OP_LOAD].ideal,
             global[TPD_OP_LOAD].requests, "sector");
    add_side(text, bytes, &at, "Global store", global[TPD_OP_STORE].sectors, global[TPD_OP_STORE].ideal,
             global[TPD_OP_STORE].requests, "sector");
}

/* Lines of at most so many pixels, broken at blanks. Answers their height. */
static int draw_text(struct tpd_buf *out, const char *text, int x, int y, int width, const char *style) {
    size_t most = (size_t)width * 10 / 75; /* 7.5 pixels a letter at 13 pixels is wide */
    int height = 0;
    while (*text != '\0') {
        size_t length = strlen(text);
        if (length > most) {
            length = most;
            while (length > 1 && text[length] != ' ')
                length--;
        }
        (void)tpd_buf_format(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"start\" font-size=\"13\" %s>%.*s</text>\n", x,
                             y + height + 13, style, (int)length, text);
        height += LINE;
        text += length;
        while (*text == ' ')
            text++;
    }
    return height;
}

/* How to read the panels. Answers its height. */
static int draw_legend(struct tpd_buf *out, const struct tpd_picture *picture, int x, int y, int width) {
    char text[640];
    (void)snprintf(
        text, sizeof text, "%s%s%s%s%s",
        !picture->has_grid                 ? ""
        : tpd_picture_has_numbers(picture) ? "A number in the tile is the bank of that item, dark for bank 0 to light for 31"
                                           : "A shade in the tile is the bank of that item, dark for bank 0 to light for 31",
        picture->has_grid && picture->row.itemsize > picture->row.bank_bytes ? " (the first of those that an item covers)" : "",
        picture->has_grid ? "; white marks are the lanes of the request beside it. " : "",
        picture->pad != 0 ? "Hatched places are padding. " : "",
        picture->has_shared ? "A wavefront is one step of the memory: each bank gives one word, to every lane that asks for it. "
                              "Boxes hold lanes (n+: lane n and others); a thick line parts phases. "
                            : "No shared memory is used. ");
    if (picture->has_global)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "Under a sector: the part of it that its lanes use.");
    return draw_text(out, text, x, y, width, "fill=\"#444\"");
}

/* The panels one beside the other. Answers the height that they take. */
static int draw_panels(struct tpd_buf *out, const struct tpd_picture *picture, int left, int right, int y) {
    int height = 0, beside = y;
    if (picture->has_grid)
        height = tpd_picture_tile(out, picture, left, y);
    else if (picture->has_shared)
        height = tpd_picture_memory(out, picture, left, y);
    if (picture->has_shared)
        beside += tpd_picture_schedule(out, picture, right, beside) + GAP / 2;
    for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE && picture->has_global; op++)
        if (picture->global[op].active != 0)
            beside += tpd_picture_sectors(out, picture, (enum tpd_op)op, right, beside) + GAP / 2;
    return height > beside - y ? height : beside - y;
}

static int left_width(const struct tpd_picture *picture) {
    if (picture->has_grid)
        return TPD_PICTURE_LABEL + (int)(picture->cols + picture->pad) * tpd_picture_cell(picture) + GAP;
    return picture->has_shared ? 2 * TPD_PICTURE_LABEL + TPD_BANKS * TPD_PICTURE_BANK + GAP : 0;
}

static void draw(struct tpd_buf *out, const struct tpd_picture *picture) {
    char title[160], words[480] = "", advice[TPD_ADVICE_BYTES + 2];
    struct tpd_buf body;
    int right = MARGIN + left_width(picture), width = right + 2 * TPD_PICTURE_LABEL + TPD_BANKS * TPD_PICTURE_BANK + MARGIN;
    if (width < WIDTH_LEAST)
        width = WIDTH_LEAST;
    tpd_buf_init(&body, TPD_BANKS_REPORT_BYTES_MOST);
    name(picture, title, sizeof title);
    describe(picture, words, sizeof words);
    (void)snprintf(advice, sizeof advice, "%s.", picture->row.advice);
    if (advice[0] >= 'a' && advice[0] <= 'z')
        advice[0] = (char)(advice[0] - 'a' + 'A');
    int height = 44 + draw_text(&body, words, MARGIN, 44, width - 2 * MARGIN, "fill=\"#333\"");
    height += draw_text(&body, advice, MARGIN, height, width - 2 * MARGIN, "font-style=\"italic\"") + 14;
    height += draw_panels(&body, picture, MARGIN, right, height) + 14;
    height += draw_legend(&body, picture, MARGIN, height, width - 2 * MARGIN) + MARGIN / 2;
    (void)tpd_buf_format(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
        "aria-labelledby=\"title desc\" font-family=\"DejaVu Sans, Verdana, sans-serif\" text-anchor=\"middle\">\n"
        "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s%s</desc>\n",
        width, height, width, height, title, words, advice);
    (void)tpd_buf_text(out,
                       "<defs><pattern id=\"pad\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
                       "<rect width=\"6\" height=\"6\" fill=\"#eee\"/><path d=\"M0 6L6 0\" stroke=\"#777\"/></pattern>"
                       "<pattern id=\"used\" width=\"3\" height=\"3\" patternUnits=\"userSpaceOnUse\">"
                       "<rect width=\"3\" height=\"3\" fill=\"#bbb\"/><path d=\"M0 3L3 0\" stroke=\"#333\"/></pattern></defs>\n"
                       "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    (void)tpd_buf_format(out, "<text x=\"%d\" y=\"34\" text-anchor=\"start\" font-size=\"21\" font-weight=\"bold\">%s</text>\n",
                         MARGIN, title);
    if (body.status == TPD_OK)
        (void)tpd_buf_add(out, body.data, body.bytes);
    else
        out->status = body.status;
    (void)tpd_buf_text(out, "</svg>\n");
    tpd_buf_fini(&body);
}

enum tpd_status tpd_banks_svg(const struct tpd_banks_ask *ask, struct tpd_buf *out, struct tpd_error *error) {
    struct tpd_picture picture = {.has_grid = false};
    enum tpd_status status = gather(ask, &picture, error);
    if (status == TPD_OK) {
        draw(out, &picture);
        status = out->status;
        if (status != TPD_OK)
            (void)tpd_fail(error, status, "the picture could not be written: %s", tpd_status_meaning(status));
    }
    tpd_free(picture.place);
    return status;
}
