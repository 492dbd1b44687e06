/* table_internal.h -- what the files of server/table share. */
#ifndef TPD_TABLE_INTERNAL_H
#define TPD_TABLE_INTERNAL_H

#include <stdatomic.h>

#include "server/table/table.h"
#include "transposed/backend.h"

enum {
    TPD_TABLE_STRIP_COLS = 1 << 8,  /* from here on rows are read side by side, a strip of each at a time */
    TPD_TABLE_STRIP_ROWS = 64,      /* so many rows */
    TPD_TABLE_STRIP_MOST = 256,     /* or more, where a panel has few columns */
    TPD_TABLE_HUGE = 2 << 20,       /* a large page */
    TPD_TABLE_FLOW_BYTES = 4 << 20, /* of an answer without panels, that leave at a time */
    TPD_TABLE_FLOW_ROOM = 6 << 20,  /* for them and a band */
    TPD_TABLE_PIECE = 8 << 20       /* of the answer, a write */
};

struct tpd_table_work;

/* A part of the text in view. Behind it lie a page of zeros and, in them, the filler. */
struct tpd_window {
    const struct tpd_table_work *work;
    uint64_t most;             /* of bytes at a time */
    uint64_t from, to;         /* of the text, in bytes */
    const unsigned char *text; /* byte `from` */
    const unsigned char *filler;
    void *mapped; /* owned; NULL: nothing */
    size_t mapped_bytes;
};
/* Maps all of the file. */
enum tpd_status tpd_window_open_whole(struct tpd_window *window, struct tpd_error *error) TPD_CHECKED;
/* Makes [from, to) visible, and as much behind it as a window has. */
enum tpd_status tpd_window_show(struct tpd_window *window, uint64_t from, uint64_t to, struct tpd_error *error) TPD_CHECKED;
void tpd_window_close(struct tpd_window *window);
/* What is about to be read is mapped in one go, where the system can. */
void tpd_window_fetch(const struct tpd_window *window, uint64_t from, uint64_t to);
/* What was read for the last time need not stay in memory: its pages are the page cache's. */
void tpd_window_forget(const struct tpd_window *window, uint64_t from, uint64_t to);

/* Goes through the text, window by window. */
struct tpd_cursor {
    const struct tpd_table_work *work;
    struct tpd_window window;
    struct tpd_cell_scan scan; /* the latest */
    uint64_t at;               /* the next cell, in bytes of the text */
    bool is_done;              /* the text has no cell more */
};
/* Fills batch with cells that end before limit; none when there are none. */
enum tpd_status tpd_cursor_scan(struct tpd_cursor *cursor, uint64_t limit, uint32_t rows_most, struct tpd_cell_batch *batch,
                                const unsigned char **bad, struct tpd_error *error) TPD_CHECKED;
/* Only the window and the scan over it. */
enum tpd_status tpd_cursor_open(struct tpd_cursor *cursor, uint64_t at, uint64_t limit, struct tpd_error *error) TPD_CHECKED;
/* Of a byte in view: where it lies in the text. */
static inline uint64_t tpd_cursor_place(const struct tpd_cursor *cursor, const unsigned char *at) {
    return cursor->window.from + (uint64_t)(at - cursor->window.text);
}

/* Rows that follow one another, for one thread at a time. */
struct tpd_chunk {
    uint64_t begins, ends; /* rows that begin within are its own; begins is UINT64_MAX where `start` is sure */
    uint64_t start, end;   /* of its rows, in bytes of the text */
    uint64_t rows, first_row;
    uint64_t cols; /* of its longest row */
    uint64_t *
        places; /* a column: the bytes of its cells here; later where the next one goes, in the column's row, then in the panel */
    uint64_t *row_at;   /* of a wide table: where each row begins; `rows` of them */
    size_t row_at_room; /* allocated */
    uint64_t *row_next; /* of a wide table: where each row's column `resume` begins; UINT64_MAX: it has none. NULL: at row_at */
    enum tpd_status status;
    struct tpd_error error;
};

/* What one thread needs to fill, kept from panel to panel. */
struct tpd_desk {
    atomic_flag is_taken;
    bool is_ready;
    struct tpd_cell_batch batch;
    struct tpd_cell *band, *turned; /* the panel's columns of the band, before and after */
};

/* Columns first .. end of the answer's rows; of a single one perhaps a part: bytes low .. high of its row. */
struct tpd_panel {
    uint64_t first, end;
    uint64_t low, high;
    bool is_part;
    uint64_t resume;    /* of a wide table: the column that every chunk's row_next stands at */
    unsigned char *out; /* its bytes */
    uint64_t bytes;     /* of them, to be written */
};

struct tpd_table_work {
    struct tpd_table_task *task;
    struct tpd_table_form form;
    uint64_t base; /* bytes of the mark at the front */
    bool pad;
    size_t filler_bytes;
    uint64_t rows, cols;
    uint64_t row_bytes; /* of the first row, or 0: not known yet */
    struct tpd_chunk *chunks;
    uint32_t chunk_count;
    struct tpd_window whole; /* the whole text, where it may be mapped whole */
    uint64_t window_bytes;   /* 0: that is so */
    atomic_uint_fast64_t done_bytes;
    uint64_t all_bytes;

    /* The second reading. */
    const struct tpd_backend *backend;
    struct tpd_device *device;
    uint64_t longest;       /* of the answer's rows, in bytes */
    struct tpd_desk *desks; /* one a thread */
    bool resumes;           /* more panels follow */
    /* Of a table of a few long rows: the answer is made from its start to its end, without places. */
    bool flows;
    bool last_is_empty; /* the table is one row, and its last cell nothing */
    unsigned char *out;
    uint64_t out_bytes; /* so many are there */
    bool forgets_all;   /* the text is large, and read from front to back by the last panel: what was read leaves memory */
    bool forgets;       /* now */
};

static inline uint64_t tpd_table_eol(const struct tpd_table_work *work) {
    return work->form.crlf ? 2 : 1;
}
static inline bool tpd_table_is_wide(const struct tpd_table_work *work) {
    return work->cols > TPD_TABLE_STRIP_COLS;
}
/* A number for each column, not set, in large pages where they are many; NULL: no memory. */
uint64_t *tpd_table_columns(const struct tpd_table_work *work);
void tpd_table_advance(struct tpd_table_work *work, uint64_t bytes);

/* One step of one thread: `index` of a number of equal tasks. */
typedef void tpd_crew_step(struct tpd_table_work *work, void *self, uint32_t index);
/* Runs step(0) .. step(count - 1) on up to threads threads, this one among them; each begins after those before it have begun. */
void tpd_crew_run(struct tpd_table_work *work, uint32_t count, tpd_crew_step *step, void *self);

/* table_survey.c: chunks, rows, columns, places. */
enum tpd_status tpd_table_survey(struct tpd_table_work *work, struct tpd_error *error) TPD_CHECKED;
/* table_fill.c: the panel's cells of one chunk to their places in panel->out. */
void tpd_table_fill(struct tpd_table_work *work, const struct tpd_panel *panel, uint32_t index);
/* table_pipe.c: all panels, each of whole rows, of a table that resumes. They take turns in two places: one is written while the
 * next is made. `made` is a number for each chunk, to count in. */
enum tpd_status tpd_table_pipe(struct tpd_table_work *work, const struct tpd_panel *panels, uint64_t count, uint64_t *made,
                               struct tpd_error *error) TPD_CHECKED;
/* A table of a few long rows: the answer to work->out and, as that fills, away. */
enum tpd_status tpd_table_flow(struct tpd_table_work *work, struct tpd_error *error) TPD_CHECKED;
/* table_road.c: what is next of the answer. */
enum tpd_status tpd_table_write(struct tpd_table_work *work, const unsigned char *bytes, uint64_t count,
                                struct tpd_error *error) TPD_CHECKED;
void tpd_desk_clear(struct tpd_desk *desk);

#endif
