/* bank_picture.h -- what the picture's panels share: colours, a place on the canvas, and what is drawn. */
#ifndef TPD_BANK_PICTURE_H
#define TPD_BANK_PICTURE_H

#include "transposed/bank_report.h"

/* Everything that a picture shows, gathered before a line is drawn. */
struct tpd_picture {
    struct tpd_banks_row row;
    bool has_grid;       /* a tile to show; else, for a line, the memory that it touches */
    bool has_shared;     /* the chosen request asks shared memory */
    uint32_t rows, cols; /* of the grid: planes below one another */
    uint32_t pad;        /* items of padding that are drawn at the end of a row */
    uint32_t *place;     /* rows x cols: byte address of the item; owned */
    enum tpd_op side;
    uint32_t number, requests; /* which request is marked, of how many */
    struct tpd_bank_schedule schedule;
    struct tpd_request request;
    struct tpd_request global[2];
    bool has_global;
};

/* Fill of bank n of 32: dark to light, so that it reads without colour and for every eye. */
const char *tpd_bank_colour(uint32_t bank, char text[8]);
/* What stands out on that fill: "#fff" or "#000". */
const char *tpd_bank_ink(uint32_t bank);

/* Each panel draws with its upper left corner at x, y and answers its height. */
int tpd_picture_tile(struct tpd_buf *out, const struct tpd_picture *picture, int x, int y);
int tpd_picture_memory(struct tpd_buf *out, const struct tpd_picture *picture, int x, int y);
int tpd_picture_schedule(struct tpd_buf *out, const struct tpd_picture *picture, int x, int y);
int tpd_picture_sectors(struct tpd_buf *out, const struct tpd_picture *picture, enum tpd_op op, int x, int y);

enum {
    TPD_PICTURE_TILE = 576, /* width that a tile is given, without its labels */
    TPD_PICTURE_BANK = 18,  /* width of a bank in the other panels */
    TPD_PICTURE_LABEL = 30
};
int tpd_picture_cell(const struct tpd_picture *picture); /* side of a tile's cell */
bool tpd_picture_has_numbers(const struct tpd_picture *picture);

#endif
