/* picture_tile.c -- a tile as a grid: every item in the colour and with the number of the bank that it lies in, the lanes of one
 * request marked; and, for a line, the memory that it touches. */
#include <inttypes.h>
#include <stdio.h>

#include "server/banks/bank_picture.h"

enum { CELL_LEAST = 5, CELL_MOST = 24, NUMBERS_LEAST = 13 /* side of a cell from which on a number fits */ };

const char *tpd_bank_colour(uint32_t bank, char text[8]) {
    /* From cividis, whose lightness rises evenly and which looks the same without red or green. */
    static const unsigned char stops[10][3] = {{0, 34, 78},     {18, 53, 112},   {59, 73, 108},   {87, 93, 109},  {112, 113, 115},
                                               {138, 134, 120}, {165, 156, 116}, {195, 179, 105}, {225, 204, 85}, {254, 232, 56}};
    uint32_t at = bank * 9, stop = at / (TPD_BANKS - 1), rest = at % (TPD_BANKS - 1);
    unsigned mixed[3];
    for (int i = 0; i < 3; i++) {
        unsigned from = stops[stop][i], to = stops[stop + (stop < 9)][i];
        mixed[i] = (from * (TPD_BANKS - 1 - rest) + to * rest) / (TPD_BANKS - 1);
    }
    (void)snprintf(text, 8, "#%02x%02x%02x", mixed[0] & 0xff, mixed[1] & 0xff, mixed[2] & 0xff);
    return text;
}

const char *tpd_bank_ink(uint32_t bank) {
    return bank < 17 ? "#fff" : "#000";
}

int tpd_picture_cell(const struct tpd_picture *picture) {
    uint32_t longer = picture->rows > picture->cols + picture->pad ? picture->rows : picture->cols + picture->pad;
    int cell = TPD_PICTURE_TILE / (int)longer;
    return cell < CELL_LEAST ? CELL_LEAST : cell > CELL_MOST ? CELL_MOST : cell;
}

bool tpd_picture_has_numbers(const struct tpd_picture *picture) {
    return tpd_picture_cell(picture) >= NUMBERS_LEAST;
}

static uint32_t bank_of(const struct tpd_picture *picture, uint64_t address) {
    return (uint32_t)(address / picture->row.bank_bytes % TPD_BANKS);
}

static void draw_cells(struct tpd_buf *out, const struct tpd_picture *picture, int x, int y, int cell) {
    char colour[8];
    for (uint32_t bank = 0; bank < TPD_BANKS; bank++) {
        bool begun = false;
        for (uint32_t n = 0; n < picture->rows * picture->cols; n++) {
            if (bank_of(picture, picture->place[n]) != bank)
                continue;
            (void)tpd_buf_format(out, begun ? "M%d %dh%dv%dh-%dz" : "<path d=\"M%d %dh%dv%dh-%dz",
                                 x + (int)(n % picture->cols) * cell, y + (int)(n / picture->cols) * cell, cell, cell, cell);
            begun = true;
        }
        if (begun)
            (void)tpd_buf_format(out, "\" fill=\"%s\"/>\n", tpd_bank_colour(bank, colour));
    }
    if (cell < NUMBERS_LEAST)
        return;
    for (int light = 0; light < 2; light++) {
        (void)tpd_buf_format(out, "<g fill=\"%s\" font-size=\"%d\">", light ? "#fff" : "#000", cell * 9 / 17);
        for (uint32_t n = 0; n < picture->rows * picture->cols; n++) {
            uint32_t bank = bank_of(picture, picture->place[n]);
            if ((tpd_bank_ink(bank)[1] == 'f') == (light == 1))
                (void)tpd_buf_format(out, "<text x=\"%d\" y=\"%d\">%" PRIu32 "</text>",
                                     x + (int)(n % picture->cols) * cell + cell / 2,
                                     y + (int)(n / picture->cols) * cell + cell * 12 / 17, bank);
        }
        (void)tpd_buf_text(out, "</g>\n");
    }
}

/* A lane's mark: a white disc with its number, or where that would be too small a white square in black. */
static void draw_mark(struct tpd_buf *out, int x, int y, int cell, uint32_t lane) {
    if (cell < NUMBERS_LEAST) {
        (void)tpd_buf_format(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#fff\" stroke=\"#000\"/>", x + 1,
                             y + 1, cell - 2, cell - 2);
        return;
    }
    /* The bank's colour stays round the disc. */
    (void)tpd_buf_format(out,
                         "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#000\" stroke-width=\"2\"/>"
                         "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#fff\"/>"
                         "<text x=\"%.1f\" y=\"%.1f\" font-weight=\"bold\" font-size=\"%d\">%" PRIu32 "</text>\n",
                         x, y, cell, cell, x + cell / 2.0, y + cell / 2.0, cell * 0.4, x + cell / 2.0, y + cell * 0.66,
                         cell * 8 / 17, lane);
}

static void draw_marks(struct tpd_buf *out, const struct tpd_picture *picture, int x, int y, int cell) {
    const struct tpd_request *request = &picture->request;
    for (uint32_t n = 0; n < picture->rows * picture->cols; n++)
        for (uint32_t lane = 0; lane < TPD_WARP; lane++)
            /* A lane may move several items at once. */
            if ((request->active >> lane & 1) && picture->place[n] >= request->address[lane] &&
                picture->place[n] < request->address[lane] + request->width) {
                draw_mark(out, x + (int)(n % picture->cols) * cell, y + (int)(n / picture->cols) * cell, cell, lane);
                break;
            }
}

static void draw_labels(struct tpd_buf *out, const struct tpd_picture *picture, int x, int y, int cell) {
    uint32_t step = cell >= 12 ? 4 : 16;
    (void)tpd_buf_text(out, "<g font-size=\"10\" fill=\"#444\">");
    for (uint32_t col = 0; col < picture->cols; col += step)
        (void)tpd_buf_format(out, "<text x=\"%d\" y=\"%d\">%" PRIu32 "</text>", x + (int)col * cell + cell / 2, y - 5, col);
    for (uint32_t row = 0; row < picture->rows; row += step)
        (void)tpd_buf_format(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%" PRIu32 "</text>", x - 5,
                             y + (int)row * cell + cell / 2 + 4, row % picture->row.tile.rows);
    (void)tpd_buf_text(out, "</g>\n");
}

/* A net of thin lines, so that neighbours part where their shades are close. */
static void draw_net(struct tpd_buf *out, const struct tpd_picture *picture, int x, int y, int cell) {
    int width = (int)picture->cols * cell, height = (int)picture->rows * cell;
    if (cell < NUMBERS_LEAST)
        return;
    (void)tpd_buf_text(out, "<path d=\"");
    for (uint32_t col = 1; col < picture->cols; col++)
        (void)tpd_buf_format(out, "M%d %dv%d", x + (int)col * cell, y, height);
    for (uint32_t row = 1; row < picture->rows; row++)
        (void)tpd_buf_format(out, "M%d %dh%d", x, y + (int)row * cell, width);
    (void)tpd_buf_text(out, "\" stroke=\"#fff\" stroke-opacity=\"0.35\"/>\n");
}

static void draw_frame(struct tpd_buf *out, const struct tpd_picture *picture, int x, int y, int cell) {
    int width = (int)picture->cols * cell, height = (int)picture->rows * cell, pad = (int)picture->pad * cell;
    if (pad != 0)
        (void)tpd_buf_format(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"url(#pad)\" stroke=\"#777\"/>\n",
                             x + width, y, pad, height);
    (void)tpd_buf_format(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#000\"/>\n", x, y, width,
                         height);
    for (uint32_t plane = 1; plane < picture->row.tile.planes; plane++)
        (void)tpd_buf_format(out, "<path d=\"M%d %dh%d\" stroke=\"#fff\" stroke-width=\"3\"/>\n", x,
                             y + (int)(plane * picture->row.tile.rows) * cell, width);
}

int tpd_picture_tile(struct tpd_buf *out, const struct tpd_picture *picture, int x, int y) {
    int cell = tpd_picture_cell(picture);
    (void)tpd_buf_format(
        out,
        "<text x=\"%d\" y=\"%d\" text-anchor=\"start\" font-size=\"13\" font-weight=\"bold\">The tile: each item's bank</text>\n",
        x, y + 12);
    x += TPD_PICTURE_LABEL;
    y += 36;
    draw_cells(out, picture, x, y, cell);
    draw_net(out, picture, x, y, cell);
    draw_frame(out, picture, x, y, cell);
    draw_labels(out, picture, x, y, cell);
    draw_marks(out, picture, x, y, cell);
    return 36 + (int)picture->rows * cell;
}

/* Lines of memory, one word of each bank across, that any lane touches. */
int tpd_picture_memory(struct tpd_buf *out, const struct tpd_picture *picture, int x, int y) {
    const struct tpd_request *request = &picture->request;
    uint64_t line_bytes = (uint64_t)TPD_BANKS * picture->row.bank_bytes, before = UINT64_MAX;
    int cell = TPD_PICTURE_BANK, height = 36;
    char colour[8];
    (void)tpd_buf_format(out,
                         "<text x=\"%d\" y=\"%d\" text-anchor=\"start\" font-size=\"13\" font-weight=\"bold\">"
                         "Memory: a column is a bank; lines that no lane touches are left out</text>\n",
                         x, y + 12);
    x += 2 * TPD_PICTURE_LABEL;
    for (uint32_t lane = 0; lane < TPD_WARP; lane++) { /* addresses rise with the lane */
        uint64_t line = request->address[lane] / line_bytes;
        if (line != before) {
            (void)tpd_buf_format(out,
                                 "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" font-size=\"10\" fill=\"#444\">%" PRIu64 "</text>",
                                 x - 5, y + height + 13, line * line_bytes);
            (void)tpd_buf_format(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f4f4f4\" stroke=\"#bbb\"/>\n",
                                 x, y + height, TPD_BANKS * cell, cell);
            before = line;
            height += cell;
        }
        uint32_t bank_bytes = picture->row.bank_bytes;
        if (lane != 0 && request->address[lane] / bank_bytes == request->address[lane - 1] / bank_bytes)
            continue; /* the first lane that asks for a word stands for all */
        uint32_t words = request->width > bank_bytes ? request->width / bank_bytes : 1;
        for (uint32_t n = 0; n < words; n++) {
            uint32_t bank = bank_of(picture, request->address[lane]) + n;
            int at = x + (int)bank * cell, top = y + height - cell;
            (void)tpd_buf_format(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" stroke=\"#000\"/>", at, top,
                                 cell, cell, tpd_bank_colour(bank, colour));
            (void)tpd_buf_format(out, "<text x=\"%d\" y=\"%d\" fill=\"%s\" font-size=\"10\">%" PRIu32 "</text>\n", at + cell / 2,
                                 top + 13, tpd_bank_ink(bank), lane);
        }
    }
    return height;
}
