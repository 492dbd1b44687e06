/* table_fill.c -- the second reading of one chunk: an index of a band of rows, transposed by the CPU's back end, and its cells
 * gathered to their places.
 *
 * A band is as many rows as leave text, index and transposed index in the second-level cache. What one of its columns has is
 * put together in a small buffer and leaves it in one piece: the places lie a row of the answer apart.
 */
#include <inttypes.h>
#include <string.h>

#include "server/codec/cell_write.h"
#include "server/table/table_internal.h"
#include "transposed/alloc.h"

enum {
    STEP_BYTES = 4 << 20, /* of the text, that comes and goes at a time */
    AHEAD = 2,            /* columns: their places, which lie far apart, are asked for before they are written */
    AHEAD_BYTES = 10,     /* of a cell, about */
    LINES_AHEAD = 16,
    FLOW_SPARE = 1 << 20, /* behind a cell that is not short: room for all short ones of a band */
    RUN_CELLS = 256,      /* of a column, at a time */
    RUN_BYTES = RUN_CELLS * (TPD_CELL_COPY + 1) + TPD_CELL_COPY
};

struct filler {
    struct tpd_table_work *work;
    const struct tpd_panel *panel;
    struct tpd_chunk *chunk;
    struct tpd_cursor cursor;
    struct tpd_cell_batch batch;
    struct tpd_cell *band, *turned; /* the desk's */
    uint64_t row;                   /* the band's first, of the chunk's */
    uint64_t forgotten;             /* the text before is not needed any more */
};

/* Bytes for column c's row in the answer; the panel may want only a part of them. */
static void put(const struct filler *f, uint64_t c, const void *bytes, size_t count) {
    const struct tpd_panel *panel = f->panel;
    uint64_t at = f->chunk->places[c], low = 0, high = count;
    f->chunk->places[c] += count;
    if (panel->is_part) {
        low = at < panel->low ? panel->low - at : 0;
        high = at < panel->high ? panel->high - at : 0;
        high = high < count ? high : count;
        if (low >= high)
            return;
        at -= panel->low; /* wraps round where low makes up for it */
    }
    memcpy(panel->out + (at + low), (const unsigned char *)bytes + low, (size_t)(high - low));
}

/* One column of the band. */
static void gather(const struct filler *f, uint64_t c, const struct tpd_cell *cells, size_t count, bool is_last) {
    const struct tpd_table_form *form = &f->work->form;
    const unsigned char *text = f->cursor.window.text;
    unsigned char run[RUN_BYTES];
    for (size_t from = 0; from < count; from += RUN_CELLS) {
        size_t used = 0, end = count - from < RUN_CELLS ? count : from + RUN_CELLS;
        for (size_t i = from; i < end; i++) {
            const unsigned char *cell = text + tpd_cell_offset(cells[i]);
            size_t bytes = tpd_cell_bytes(cells[i]);
            if (bytes <= TPD_CELL_COPY) {
                memcpy(run + used, cell, TPD_CELL_COPY);
                used += bytes;
            } else {
                put(f, c, run, used);
                put(f, c, cell, bytes);
                used = 0;
            }
            run[used++] = form->delimiter;
        }
        if (is_last && end == count) {
            memcpy(run + used - 1, &"\r\n"[!form->crlf], 2);
            used += form->crlf;
        }
        put(f, c, run, used);
    }
}

/* rows x cols cells, transposed: the desk's, or where they are. */
static enum tpd_status turn(struct filler *f, const struct tpd_cell *band, uint64_t rows, uint64_t cols,
                            const struct tpd_cell **turned) {
    struct tpd_table_work *work = f->work;
    *turned = band;
    if (rows <= 1 || cols <= 1)
        return TPD_OK;
    struct tpd_task task = {
        .matrix = {.rows = rows, .cols = cols, .batch = 1, .itemsize = sizeof *band, .dtype = TPD_DTYPE_OPAQUE},
        .in = band,
        .out = f->turned,
        .strategy = TPD_STRATEGY_AUTO};
    struct tpd_outcome outcome;
    *turned = f->turned;
    return work->backend->run(work->device, &task, &outcome, &f->chunk->error);
}

/* rows x cols cells, the first of them in column `first` of the table. */
static enum tpd_status turn_and_gather(struct filler *f, const struct tpd_cell *band, uint64_t rows, uint64_t first,
                                       uint64_t cols) {
    struct tpd_table_work *work = f->work;
    const struct tpd_cell *turned;
    if (rows == 0 || cols == 0)
        return TPD_OK;
    enum tpd_status status = turn(f, band, rows, cols, &turned);
    if (status != TPD_OK)
        return status;
    bool is_last = f->chunk->first_row + f->row + rows == work->rows;
    const size_t ahead = (size_t)rows * AHEAD_BYTES;
    for (uint64_t c = 0; c < cols; c++) {
        if (c + AHEAD < cols && !f->panel->is_part) {
            const unsigned char *next = f->panel->out + f->chunk->places[first + c + AHEAD];
            for (size_t i = 0; i < ahead && i < RUN_BYTES; i += 64)
                __builtin_prefetch(next + i, 1);
        }
        gather(f, first + c, turned + c * rows, (size_t)rows, is_last);
    }
    return TPD_OK;
}

static struct tpd_cell missing(const struct filler *f) {
    const struct tpd_window *window = &f->cursor.window;
    return tpd_cell_of((uint64_t)(window->filler - window->text), f->work->filler_bytes);
}

/* Rows of a batch of whole rows: the panel's columns of them side by side, short rows filled up. */
static const struct tpd_cell *pack(struct filler *f) {
    const struct tpd_panel *panel = f->panel;
    const uint64_t width = panel->end - panel->first;
    if (width == f->work->cols && !f->work->pad)
        return f->batch.cells;
    struct tpd_cell *to = f->band;
    uint32_t from = 0;
    for (uint32_t i = 0; i < f->batch.rows; i++) {
        uint64_t have = f->batch.row_ends[i] - from;
        uint64_t end = have < panel->end ? have : panel->end, take = end > panel->first ? end - panel->first : 0;
        memcpy(to, f->batch.cells + from + panel->first, (size_t)take * sizeof *to);
        for (uint64_t c = take; c < width; c++)
            to[c] = missing(f);
        to += width;
        from = f->batch.row_ends[i];
    }
    return f->band;
}

static void fetch(const struct filler *f, uint64_t at) {
    const uint64_t ahead = 2 * STEP_BYTES, end = f->chunk->end;
    tpd_window_fetch(&f->work->whole, at, end - at < ahead ? end : at + ahead);
}

/* All of the chunk's text before `at` was read. */
static void pass(struct filler *f, uint64_t from, uint64_t at) {
    tpd_table_advance(f->work, at - from);
    if (!f->work->forgets || at - f->forgotten < STEP_BYTES)
        return;
    tpd_window_forget(&f->work->whole, f->forgotten, at);
    f->forgotten = at;
    fetch(f, at);
}

/* Bands of whole rows, as many as a batch holds. */
static enum tpd_status fill_bands(struct filler *f) {
    const struct tpd_table_work *work = f->work;
    const uint32_t rows_most = (uint32_t)(TPD_BATCH_CELLS / (work->cols != 0 ? work->cols : 1));
    enum tpd_status status = TPD_OK;
    while (status == TPD_OK && f->row < f->chunk->rows) {
        const unsigned char *bad;
        uint64_t from = f->cursor.at;
        status = tpd_cursor_scan(&f->cursor, f->chunk->end, rows_most, &f->batch, &bad, &f->chunk->error);
        if (status != TPD_OK)
            return status;
        if (f->batch.rows == 0) { /* the window ends within the row: the next one begins with it, or is larger */
            if (f->cursor.window.from == from)
                f->cursor.window.most *= 2;
            tpd_window_close(&f->cursor.window);
            f->cursor.at = from;
            continue;
        }
        uint32_t whole = f->batch.row_ends[f->batch.rows - 1];
        if (whole < f->batch.count)
            f->cursor.at = tpd_cursor_place(&f->cursor, tpd_cell_behind(&f->cursor.scan, f->batch.cells[whole - 1]));
        status = turn_and_gather(f, pack(f), f->batch.rows, f->panel->first, f->panel->end - f->panel->first);
        f->row += f->batch.rows;
        pass(f, from, f->cursor.at);
    }
    return status;
}

/* Rows side by side, all of them in view, or one alone. */
struct strip {
    uint64_t at[TPD_TABLE_STRIP_MOST]; /* where each row goes on; UINT64_MAX: it has no more */
    const uint64_t *row_at;
    uint64_t rows;
    uint64_t first, width; /* columns */
    uint64_t low, high;    /* of these, the panel's */
};

static void aim(struct strip *s, const struct tpd_panel *panel, uint64_t width) {
    s->width = width;
    s->low = s->first > panel->first ? s->first : panel->first;
    s->high = s->first + width < panel->end ? s->first + width : panel->end;
    s->high = s->high > s->low ? s->high : s->low;
}

/* The strip's cells of row r. Cells of one alone come from one window: what a scan finds is the strip then. */
static enum tpd_status read_strip(struct filler *f, struct strip *s, uint64_t r) {
    struct tpd_cell *to = f->band + r * (s->high - s->low);
    uint64_t have = 0;
    while (have < s->width && s->at[r] != UINT64_MAX) {
        const unsigned char *bad;
        f->cursor.at = s->at[r];
        f->batch.most = (uint32_t)(s->width - have);
        enum tpd_status status = tpd_cursor_scan(&f->cursor, s->row_at[r + 1], 1, &f->batch, &bad, &f->chunk->error);
        if (status != TPD_OK)
            return status;
        uint64_t got = f->batch.count < s->width - have ? f->batch.count : s->width - have;
        bool ends = got == 0 || (f->batch.rows != 0 && got == f->batch.count);
        s->at[r] = ends ? UINT64_MAX : tpd_cursor_place(&f->cursor, tpd_cell_behind(&f->cursor.scan, f->batch.cells[got - 1]));
        if (s->rows == 1 && !ends)
            aim(s, f->panel, got);
        const uint64_t at = s->first + have, from = at > s->low ? at : s->low, end = at + got < s->high ? at + got : s->high;
        if (from < end)
            memcpy(to + (from - s->low), f->batch.cells + (from - at), (size_t)(end - from) * sizeof *to);
        have += got;
    }
    for (uint64_t c = s->first + have > s->low ? s->first + have : s->low; c < s->high; c++)
        to[c - s->low] = missing(f);
    return TPD_OK;
}

/* The first lines of what is read next: it lies elsewhere, where no processor guesses. */
static void ask_for(const struct filler *f, const struct strip *s, uint64_t r) {
    if (r >= s->rows || s->at[r] >= f->cursor.window.to)
        return;
    const unsigned char *at = f->cursor.window.text + (s->at[r] - f->cursor.window.from);
    for (int i = 0; i < LINES_AHEAD; i++)
        __builtin_prefetch(at + 64 * i);
}

/* A strip of columns of each row at a time: rows are long here, and few of them fill a band. */
static enum tpd_status fill_strips(struct filler *f) {
    struct tpd_table_work *work = f->work;
    struct tpd_chunk *chunk = f->chunk;
    enum tpd_status status = TPD_OK;
    struct strip s;
    const uint64_t width = f->panel->end - f->panel->resume, fit = TPD_BATCH_CELLS / width;
    const uint64_t rows_most = fit < TPD_TABLE_STRIP_ROWS   ? TPD_TABLE_STRIP_ROWS
                               : fit < TPD_TABLE_STRIP_MOST ? fit
                                                            : TPD_TABLE_STRIP_MOST;
    if (chunk->row_next == NULL && work->resumes && chunk->rows != 0) {
        chunk->row_next = tpd_alloc((size_t)chunk->rows * sizeof *chunk->row_next);
        if (chunk->row_next == NULL)
            return tpd_fail(&chunk->error, TPD_NO_MEMORY, "the system gave no memory for the places of %" PRIu64 " rows",
                            chunk->rows);
        memcpy(chunk->row_next, chunk->row_at, (size_t)chunk->rows * sizeof *chunk->row_next);
    }
    const uint64_t *from = chunk->row_next != NULL ? chunk->row_next : chunk->row_at;
    for (; f->row < chunk->rows && status == TPD_OK; f->row += s.rows) {
        s.row_at = chunk->row_at + f->row;
        s.rows = chunk->rows - f->row < rows_most ? chunk->rows - f->row : rows_most;
        while (work->window_bytes != 0 && s.rows > 1 && s.row_at[s.rows] - s.row_at[0] > work->window_bytes)
            s.rows--;
        memcpy(s.at, from + f->row, (size_t)s.rows * sizeof *s.at);
        status = tpd_window_show(&f->cursor.window, s.row_at[0], s.row_at[s.rows > 1 ? s.rows : 0], &chunk->error);
        const uint64_t most = TPD_BATCH_CELLS / s.rows;
        for (s.first = f->panel->resume; s.first < f->panel->end && status == TPD_OK; s.first += s.width) {
            aim(&s, f->panel, f->panel->end - s.first < most ? f->panel->end - s.first : most);
            for (uint64_t r = 0; r < s.rows && status == TPD_OK; r++) {
                ask_for(f, &s, r + 1);
                status = read_strip(f, &s, r);
            }
            if (status == TPD_OK)
                status = turn_and_gather(f, f->band, s.rows, s.low, s.high - s.low);
        }
        if (chunk->row_next != NULL && !f->panel->is_part)
            memcpy(chunk->row_next + f->row, s.at, (size_t)s.rows * sizeof *s.at);
        pass(f, s.row_at[0], s.row_at[s.rows]);
    }
    return status;
}

void tpd_desk_clear(struct tpd_desk *desk) {
    tpd_cell_batch_fini(&desk->batch);
    tpd_free(desk->band);
    tpd_free(desk->turned);
    desk->band = desk->turned = NULL;
}

static enum tpd_status furnish(struct tpd_desk *desk, struct tpd_error *error) {
    enum tpd_status status = tpd_cell_batch_init(&desk->batch, TPD_BATCH_CELLS, error);
    desk->band = tpd_alloc((TPD_BATCH_CELLS + TPD_SCAN_SLACK) * sizeof *desk->band);
    desk->turned = tpd_alloc((TPD_BATCH_CELLS + TPD_SCAN_SLACK) * sizeof *desk->turned);
    if (status == TPD_OK && (desk->band == NULL || desk->turned == NULL))
        status = tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for an index");
    desk->is_ready = status == TPD_OK;
    if (status != TPD_OK)
        tpd_desk_clear(desk);
    return status;
}

void tpd_table_fill(struct tpd_table_work *work, const struct tpd_panel *panel, uint32_t index) {
    struct tpd_chunk *chunk = &work->chunks[index];
    struct filler f = {.work = work, .panel = panel, .chunk = chunk, .forgotten = chunk->start};
    f.cursor = (struct tpd_cursor){.work = work, .window = {.work = work, .most = work->window_bytes}, .at = chunk->start};
    struct tpd_desk *desk = work->desks;
    while (atomic_flag_test_and_set_explicit(&desk->is_taken, memory_order_acquire))
        desk++; /* there are as many as threads */
    chunk->status = desk->is_ready ? TPD_OK : furnish(desk, &chunk->error);
    f.batch = desk->batch;
    f.band = desk->band;
    f.turned = desk->turned;
    if (chunk->status == TPD_OK && work->forgets)
        fetch(&f, chunk->start);
    if (chunk->status == TPD_OK)
        chunk->status = tpd_table_is_wide(work) ? fill_strips(&f) : fill_bands(&f);
    tpd_window_close(&f.cursor.window);
    atomic_flag_clear_explicit(&desk->is_taken, memory_order_release);
}

/* Columns of all rows of the table, one behind another: what was made leaves where the next may not find room. */
static enum tpd_status append(struct filler *f, const struct tpd_cell *cells, uint64_t rows, uint64_t cols) {
    struct tpd_table_work *work = f->work;
    const unsigned char *text = f->cursor.window.text;
    unsigned char *to = work->out + work->out_bytes;
    enum tpd_status status = TPD_OK;
    for (uint64_t c = 0; c < cols; c++) {
        const unsigned char *from = to;
        for (uint64_t r = 0; r < rows; r++, cells++) {
            const unsigned char *cell = text + tpd_cell_offset(*cells);
            size_t bytes = tpd_cell_bytes(*cells);
            if (bytes <= TPD_CELL_COPY) {
                memcpy(to, cell, TPD_CELL_COPY);
                to += bytes;
            } else {
                const bool is_long = bytes > TPD_TABLE_FLOW_BYTES;
                if (is_long || bytes + FLOW_SPARE > (size_t)(work->out + TPD_TABLE_FLOW_ROOM - to)) {
                    status = tpd_table_write(work, work->out, (uint64_t)(to - work->out), &f->chunk->error);
                    to = work->out;
                }
                if (status == TPD_OK && is_long)
                    status = tpd_table_write(work, cell, bytes, &f->chunk->error);
                if (status != TPD_OK)
                    return status;
                memcpy(to, cell, is_long ? 0 : bytes);
                to += is_long ? 0 : bytes;
            }
            *to++ = work->form.delimiter;
        }
        memcpy(to - 1, &"\r\n"[!work->form.crlf], 2);
        to += work->form.crlf;
        work->last_is_empty = rows == 1 && (uint64_t)(to - from) == tpd_table_eol(work);
    }
    work->out_bytes = (uint64_t)(to - work->out);
    return TPD_OK;
}

/* Where row r goes on; behind its last cell that is the next row. */
static uint64_t place_of(const struct strip *s, uint64_t r) {
    return s->at[r] != UINT64_MAX ? s->at[r] : s->row_at[r + 1];
}

enum tpd_status tpd_table_flow(struct tpd_table_work *work, struct tpd_error *error) {
    struct tpd_chunk *chunk = work->chunks;
    const struct tpd_panel panel = {.end = work->cols};
    struct filler f = {.work = work, .panel = &panel, .chunk = chunk};
    f.cursor = (struct tpd_cursor){.work = work, .window = {.work = work}, .at = chunk->start};
    enum tpd_status status = furnish(work->desks, error);
    if (status != TPD_OK)
        return status;
    f.batch = work->desks->batch;
    f.band = work->desks->band;
    f.turned = work->desks->turned;
    struct strip s = {.row_at = chunk->row_at, .rows = chunk->rows};
    memcpy(s.at, chunk->row_at, (size_t)chunk->rows * sizeof *s.at);
    status = tpd_window_show(&f.cursor.window, chunk->start, chunk->end, &chunk->error);
    for (; s.first < work->cols && status == TPD_OK; s.first += s.width) {
        const uint64_t most = TPD_BATCH_CELLS / s.rows, left = work->cols - s.first;
        aim(&s, &panel, left < most ? left : most);
        for (uint64_t r = 0; r < s.rows && status == TPD_OK; r++) {
            uint64_t from = place_of(&s, r);
            ask_for(&f, &s, r + 1);
            status = read_strip(&f, &s, r);
            tpd_table_advance(work, place_of(&s, r) - from);
        }
        const struct tpd_cell *turned;
        if (status == TPD_OK)
            status = turn(&f, f.band, s.rows, s.width, &turned);
        if (status == TPD_OK && work->out_bytes > TPD_TABLE_FLOW_BYTES) {
            status = tpd_table_write(work, work->out, work->out_bytes, &chunk->error);
            work->out_bytes = 0;
        }
        if (status == TPD_OK)
            status = append(&f, turned, s.rows, s.width);
    }
    if (status != TPD_OK && error != NULL)
        *error = chunk->error;
    return status;
}
