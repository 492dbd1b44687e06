/* cell_scan.h -- finds the cells of delimited text: delimiters, quotes and line ends, 64 bytes at a time.
 *
 * A cell that begins with '"' ends at the next one that is not doubled; a '"' elsewhere is a letter. A line ends with LF or with
 * CR LF; the CR is no part of the cell. Where a scan stops, it stops before a cell: `at` is all the state there is.
 * Threads: each scan in one thread; a choice of code by what the processor has, made once.
 */
#ifndef TPD_CELL_SCAN_H
#define TPD_CELL_SCAN_H

#include "transposed/codec.h"

enum {
    TPD_SCAN_BLOCK = 64,                 /* bytes looked at in one go */
    TPD_SCAN_SLACK = TPD_SCAN_BLOCK + 8, /* cells that a batch has room for beyond `most` */
    TPD_CELL_LENGTH_BITS = 24,           /* of struct tpd_cell */
    TPD_BATCH_CELLS = 1 << 15            /* a usual batch: 256 KiB, so that three of them fit in a second-level cache */
};

struct tpd_cell_scan {
    const unsigned char *text;  /* what offsets count from */
    const unsigned char *end;   /* no byte from here on is read */
    const unsigned char *at;    /* the next cell */
    const unsigned char *first; /* the table's first cell */
    unsigned char delimiter;
    bool quotes;
    bool is_whole; /* the table ends at `end`: the last cell may end there without a line end */
    bool is_done;  /* of a whole table: every cell was found */
};

/* Filled from its start: cells[0 .. count), of which rows end behind row_ends[0 .. rows). */
struct tpd_cell_batch {
    struct tpd_cell *cells; /* room for most + TPD_SCAN_SLACK */
    uint32_t *row_ends;     /* the same */
    uint32_t most;
    uint32_t count, rows;
};

static inline uint64_t tpd_cell_offset(struct tpd_cell cell) {
    return cell.place >> TPD_CELL_LENGTH_BITS;
}
static inline size_t tpd_cell_bytes(struct tpd_cell cell) {
    return (size_t)(cell.place & TPD_CELL_BYTES_MOST);
}
static inline struct tpd_cell tpd_cell_of(uint64_t offset, size_t bytes) {
    return (struct tpd_cell){offset << TPD_CELL_LENGTH_BITS | bytes};
}

/* The next `most` cells or so (never more than most + TPD_SCAN_SLACK), the next rows_most rows at most and then no cell more, or
 * what there is: then `at` is `end`, or the cell that does not end before it. A last row without a line end is a row too.
 * Fails with TPD_MALFORMED (something behind a closing quote, a CR at a cell's end), TPD_TRUNCATED (an open quote),
 * TPD_TOO_LARGE (a cell past TPD_CELL_BYTES_MOST); the offset is that in the text, and *bad the byte. */
enum tpd_status tpd_cell_scan(struct tpd_cell_scan *scan, struct tpd_cell_batch *batch, uint32_t rows_most,
                              const unsigned char **bad, struct tpd_error *error) TPD_CHECKED;

/* Room for a batch of `most` cells; fails with TPD_NO_MEMORY. */
enum tpd_status tpd_cell_batch_init(struct tpd_cell_batch *batch, uint32_t most, struct tpd_error *error) TPD_CHECKED;
void tpd_cell_batch_fini(struct tpd_cell_batch *batch);

/* Delimiters and line ends, those in quotes too: no fewer than cells, less one. */
uint64_t tpd_cell_marks(const unsigned char *text, size_t bytes, unsigned char delimiter);

/* Behind a cell whose end is known: its line end or delimiter. */
static inline const unsigned char *tpd_cell_behind(const struct tpd_cell_scan *scan, struct tpd_cell cell) {
    const unsigned char *at = scan->text + tpd_cell_offset(cell) + tpd_cell_bytes(cell);
    at += at < scan->end && *at == '\r';
    return at < scan->end ? at + 1 : at;
}

/* The loops for one kind of processor: as far as whole blocks go. */
struct tpd_scan_walk;
struct tpd_scan_code {
    const char *name;
    enum tpd_status (*blocks)(struct tpd_scan_walk *walk);
    uint64_t (*marks)(const unsigned char *text, size_t bytes, unsigned char delimiter);
};
extern const struct tpd_scan_code tpd_scan_base, tpd_scan_avx2, tpd_scan_avx512;
/* The best that this processor runs; a test may ask for another by name, NULL when it is not to be had. */
const struct tpd_scan_code *tpd_scan_code(const char *name);
/* For tests: what tpd_cell_scan() uses from now on. */
void tpd_scan_use(const struct tpd_scan_code *code);

/* A scan under way. */
struct tpd_scan_walk {
    struct tpd_cell_scan *scan;
    struct tpd_cell_batch *batch;
    uint32_t rows_most;
    bool is_last; /* the last cell was found, and no line end behind it */
    const unsigned char *bad;
    struct tpd_error *error;
};
/* Cell by cell and byte by byte, from scan->at until a cell begins at `until` or behind it, or the batch is full. */
enum tpd_status tpd_scan_slowly(struct tpd_scan_walk *walk, const unsigned char *until);
/* Closes the row behind cell number `index`: its CR is no part of it. */
enum tpd_status tpd_scan_row(struct tpd_scan_walk *walk, uint32_t index);

#endif
