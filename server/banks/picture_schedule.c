/* picture_schedule.c -- a request as it is served: a line a wavefront, a column a bank; and its twin in global memory, sectors.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/banks/bank_picture.h"

enum { CELL = TPD_PICTURE_BANK, BAR = 7 };

/* "7", "4-7", or the first and that there are more, "0+", where that is all that fits in `most` letters. */
static void name_lanes(uint32_t lanes, int most, char *text, size_t bytes) {
    int first = __builtin_ctz(lanes), count = __builtin_popcount(lanes), last = 31 - __builtin_clz(lanes);
    if (count == 1)
        (void)snprintf(text, bytes, "%d", first);
    else if (last - first + 1 != count || snprintf(text, bytes, "%d-%d", first, last) > most)
        (void)snprintf(text, bytes, "%d+", first);
}

static void draw_heads(struct tpd_buf *out, int x, int y) {
    char colour[8];
    for (uint32_t bank = 0; bank < TPD_BANKS; bank++)
        (void)tpd_buf_format(out,
                             "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>"
                             "<text x=\"%d\" y=\"%d\" fill=\"%s\" font-size=\"10\">%" PRIu32 "</text>\n",
                             x + (int)bank * CELL, y, CELL, CELL, tpd_bank_colour(bank, colour), x + (int)bank * CELL + CELL / 2,
                             y + 13, tpd_bank_ink(bank), bank);
}

/* As many letters as fit. */
static int size_of(const char *text, int width) {
    size_t letters = strlen(text);
    int size = width * 3 / (int)(2 * letters + 1);
    return size > 10 ? 10 : size;
}

static void draw_wavefront(struct tpd_buf *out, const struct tpd_bank_wavefront *wavefront, int x, int y) {
    char lanes[16], colour[8];
    for (uint32_t bank = 0; bank < TPD_BANKS; bank++) {
        int at = x + (int)bank * CELL;
        if (wavefront->lanes[bank] == 0)
            continue;
        name_lanes(wavefront->lanes[bank], 3, lanes, sizeof lanes);
        (void)tpd_buf_format(out,
                             "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" stroke=\"#000\"/>"
                             "<text x=\"%d\" y=\"%d\" font-size=\"%d\" fill=\"%s\">%s</text>\n",
                             at, y, CELL, CELL, tpd_bank_colour(bank, colour), at + CELL / 2, y + 13, size_of(lanes, CELL),
                             tpd_bank_ink(bank), lanes);
    }
}

int tpd_picture_schedule(struct tpd_buf *out, const struct tpd_picture *picture, int x, int y) {
    const struct tpd_bank_result *result = &picture->schedule.result;
    int top = y + 36, count = (int)result->wavefronts;
    char which[48] = "The request";
    if (picture->requests > 1)
        (void)snprintf(which, sizeof which, "Request %" PRIu32 " of 0 to %" PRIu32, picture->number, picture->requests - 1);
    (void)tpd_buf_format(out,
                         "<text x=\"%d\" y=\"%d\" text-anchor=\"start\" font-size=\"13\" font-weight=\"bold\">%s, a %s: %" PRIu32
                         " wavefront%s where %" PRIu32 " would do</text>\n",
                         x, y + 12, which, tpd_op_name(picture->side), result->wavefronts, result->wavefronts == 1 ? "" : "s",
                         result->ideal);
    x += 2 * TPD_PICTURE_LABEL;
    (void)tpd_buf_format(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" font-size=\"10\" fill=\"#444\">bank</text>\n", x - 5,
                         top - 5);
    draw_heads(out, x, top - CELL);
    (void)tpd_buf_format(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f4f4f4\" stroke=\"#bbb\"/>\n", x, top,
                         TPD_BANKS * CELL, count * CELL);
    for (int n = 0; n < count; n++) {
        const struct tpd_bank_wavefront *wavefront = &picture->schedule.wavefront[n];
        (void)tpd_buf_format(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" font-size=\"10\" fill=\"#444\">%s%d</text>\n",
                             x - 5, top + n * CELL + 13, n == 0 ? "wavefront " : "", n + 1);
        draw_wavefront(out, wavefront, x, top + n * CELL);
        if (n != 0 && wavefront->phase != wavefront[-1].phase)
            (void)tpd_buf_format(out, "<path d=\"M%d %dh%d\" stroke=\"#000\" stroke-width=\"3\"/>\n", x - 24, top + n * CELL,
                                 24 + TPD_BANKS * CELL);
    }
    return 36 + count * CELL;
}

/* Each sector a box with the lanes that ask for it, and under it a bar: how much of it they use. */
int tpd_picture_sectors(struct tpd_buf *out, const struct tpd_picture *picture, enum tpd_op op, int x, int y) {
    const struct tpd_request *request = &picture->global[op];
    uint64_t sector[TPD_WARP];
    uint32_t lanes[TPD_WARP], count = 0, sectors = 0, ideal = 0;
    if (tpd_banks_global(request, &sectors, &ideal, NULL) != TPD_OK)
        return 0;
    for (uint32_t lane = 0; lane < TPD_WARP; lane++) {
        uint32_t n = 0;
        if (!(request->active >> lane & 1))
            continue;
        while (n < count && sector[n] != request->address[lane] / TPD_SECTOR_BYTES)
            n++;
        if (n == count) {
            sector[count] = request->address[lane] / TPD_SECTOR_BYTES;
            lanes[count++] = 0;
        }
        lanes[n] |= 1u << lane;
    }
    (void)tpd_buf_format(out,
                         "<text x=\"%d\" y=\"%d\" text-anchor=\"start\" font-size=\"13\" font-weight=\"bold\">%s %s: %" PRIu32
                         " sector%s of 32 bytes where %" PRIu32 " would do</text>\n",
                         x, y + 12, picture->row.strategy != NULL ? "Global" : "Were it global, a", tpd_op_name(op), sectors,
                         sectors == 1 ? "" : "s", ideal);
    x += 2 * TPD_PICTURE_LABEL;
    int wide = count > TPD_BANKS / 2 ? CELL : 2 * CELL;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t bytes = (uint32_t)__builtin_popcount(lanes[n]) * request->width; /* of lanes that ask for the same: too many */
        int at = x + (int)n * wide;
        char text[16];
        name_lanes(lanes[n], wide == CELL ? 3 : 5, text, sizeof text);
        (void)tpd_buf_format(out,
                             "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#fff\" stroke=\"#000\"/>"
                             "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"url(#used)\" stroke=\"#000\"/>"
                             "<text x=\"%d\" y=\"%d\" font-size=\"%d\">%s</text>\n",
                             at, y + 20, wide, CELL, at, y + 20 + CELL, wide, BAR, at + wide / 2, y + 33, size_of(text, wide),
                             text);
        int used = wide * (int)(bytes < TPD_SECTOR_BYTES ? bytes : TPD_SECTOR_BYTES) / TPD_SECTOR_BYTES;
        (void)tpd_buf_format(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#fff\" stroke=\"#000\"/>\n",
                             at + used, y + 20 + CELL, wide - used, BAR);
    }
    return 20 + CELL + BAR;
}
