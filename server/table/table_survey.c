/* table_survey.c -- the first reading: which rows are whose, how many columns there are, how long each column's text is.
 *
 * A chunk begins at the first line that starts within it, as if no line end stood in quotes. Its neighbour before knows better:
 * where that one's last row ends is where this one begins. Where the two differ, the guess was wrong, and the chunk is read
 * again.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "server/table/table_internal.h"
#include "transposed/alloc.h"

enum { FLOW_LEAST_BYTES = 16 << 20 /* of memory allowed: more than it needs */ };

struct reader {
    struct tpd_table_work *work;
    struct tpd_chunk *chunk;
    struct tpd_cursor cursor;
    struct tpd_cell_batch batch;
    struct tpd_table_shape shape;
    uint64_t row_from; /* of the open row, in bytes of the text */
    uint64_t col;      /* cells of it that were counted in places */
};

void tpd_table_advance(struct tpd_table_work *work, uint64_t bytes) {
    uint64_t done = atomic_fetch_add_explicit(&work->done_bytes, bytes, memory_order_relaxed) + bytes;
    if (work->task->progress != NULL)
        work->task->progress(work->task->self, done, work->all_bytes);
}

uint64_t *tpd_table_columns(const struct tpd_table_work *work) {
    const size_t bytes = (size_t)(work->cols + 1) * sizeof(uint64_t);
    uint64_t *columns = tpd_alloc(bytes);
    uintptr_t begin = ((uintptr_t)columns + TPD_TABLE_HUGE - 1) & ~(uintptr_t)(TPD_TABLE_HUGE - 1);
    uintptr_t end = ((uintptr_t)columns + bytes) & ~(uintptr_t)(TPD_TABLE_HUGE - 1);
    if (columns != NULL && begin < end)
        (void)madvise((unsigned char *)columns + (begin - (uintptr_t)columns), end - begin, MADV_HUGEPAGE);
    return columns;
}

/* Places gets the bytes of each cell; a short row's missing cells are fillers. */
static void count_bytes(struct reader *r) {
    uint64_t *places = r->chunk->places;
    const struct tpd_cell_batch *batch = &r->batch;
    uint32_t from = 0;
    for (uint32_t i = 0; i <= batch->rows; i++) {
        uint32_t end = i < batch->rows ? batch->row_ends[i] : batch->count;
        uint64_t *to = places + r->col;
        for (uint32_t j = from; j < end; j++)
            to[j - from] += tpd_cell_bytes(batch->cells[j]);
        r->col += end - from;
        from = end;
        if (i == batch->rows)
            return;
        for (; r->col < r->work->cols; r->col++)
            places[r->col] += r->work->filler_bytes;
        r->col = 0;
    }
}

/* Once the columns are known. */
static bool notes_rows(const struct reader *r) {
    return tpd_table_is_wide(r->work) && (r->chunk->places != NULL || r->work->flows);
}

/* Where each row begins, for those who read rows side by side. */
static enum tpd_status note_rows(struct reader *r, uint64_t first) {
    struct tpd_chunk *chunk = r->chunk;
    uint64_t need = first + r->batch.rows + 1;
    if (need > chunk->row_at_room) {
        size_t room = 2 * (size_t)need + 64;
        uint64_t *more = tpd_realloc(chunk->row_at, room * sizeof *more);
        if (more == NULL)
            return tpd_fail(&chunk->error, TPD_NO_MEMORY, "the system gave no memory for the places of %zu rows", room);
        chunk->row_at = more;
        chunk->row_at_room = room;
    }
    for (uint32_t i = 0; i < r->batch.rows; i++) {
        struct tpd_cell last = r->batch.cells[r->batch.row_ends[i] - 1];
        chunk->row_at[first + i + 1] = tpd_cursor_place(&r->cursor, tpd_cell_behind(&r->cursor.scan, last));
    }
    return TPD_OK;
}

/* An error's place: lines are counted from the file's start. */
static void say_place(struct reader *r, uint64_t place) {
    struct tpd_error *error = &r->chunk->error;
    uint64_t line = 1, at = 0, last = 0;
    struct tpd_window window = {.work = r->work, .most = r->work->window_bytes};
    error->offset = place;
    error->has |= TPD_ERROR_HAS_OFFSET;
    while (at < place && tpd_window_show(&window, at, at + 1, NULL) == TPD_OK) {
        uint64_t end = place < window.to ? place : window.to;
        const unsigned char *text = window.text + (at - window.from), *stop = window.text + (end - window.from);
        for (const unsigned char *next; (next = memchr(text, '\n', (size_t)(stop - text))) != NULL; line++) {
            text = next + 1;
            last = window.from + (uint64_t)(text - window.text);
        }
        at = end;
    }
    tpd_window_close(&window);
    tpd_error_line(error, line, place - last + 1);
}

static enum tpd_status tell_ragged(struct reader *r) {
    const unsigned char *at;
    struct tpd_chunk *chunk = r->chunk;
    enum tpd_status status = tpd_cursor_open(&r->cursor, r->row_from, r->work->task->bytes, &chunk->error);
    if (status != TPD_OK)
        return status;
    r->shape.row = r->cursor.scan.at;
    r->shape.rows += chunk->first_row;
    status = tpd_table_ragged(&r->cursor.scan, &r->shape, &at, &chunk->error);
    say_place(r, tpd_cursor_place(&r->cursor, at));
    return status;
}

/* The next batch of cells before `limit`. */
static enum tpd_status take(struct reader *r, uint64_t limit, uint32_t rows_most) {
    uint64_t before = r->shape.rows, from = r->cursor.at;
    const unsigned char *bad = NULL;
    enum tpd_status status = tpd_cursor_scan(&r->cursor, limit, rows_most, &r->batch, &bad, &r->chunk->error);
    if (status != TPD_OK && bad != NULL)
        say_place(r, tpd_cursor_place(&r->cursor, bad));
    if (status != TPD_OK)
        return status;
    tpd_table_advance(r->work, r->cursor.at - from);
    r->shape.row = NULL;
    bool is_even = tpd_table_shape_add(&r->shape, &r->cursor.scan, &r->batch);
    if (r->shape.row != NULL)
        r->row_from = tpd_cursor_place(&r->cursor, r->shape.row);
    /* When places are counted, the longest row is known: one that is longer is seen by a wrong guess only. */
    if (r->chunk->places != NULL && (r->shape.cols > r->work->cols || r->shape.open > r->work->cols))
        is_even = false;
    if (!is_even)
        return TPD_RAGGED; /* told once it is known that the chunk begins where it should */
    if (r->chunk->places != NULL)
        count_bytes(r);
    return notes_rows(r) ? note_rows(r, before) : TPD_OK;
}

/* From chunk->start on: the rows that begin before chunk->ends, the last of which may run on. */
static enum tpd_status read_rows(struct reader *r) {
    struct tpd_chunk *chunk = r->chunk;
    const uint64_t bytes = r->work->task->bytes;
    r->row_from = r->cursor.at = chunk->start;
    enum tpd_status status = TPD_OK;
    if (notes_rows(r)) {
        r->batch.rows = 0;
        status = note_rows(r, 0);
        if (status == TPD_OK)
            chunk->row_at[0] = chunk->start;
    }
    r->batch.count = 1;
    while (status == TPD_OK && !r->cursor.is_done && r->batch.count != 0 && r->cursor.at < chunk->ends)
        status = take(r, chunk->ends, UINT32_MAX);
    if (r->cursor.at < chunk->ends || r->shape.open != 0)
        do
            status = status == TPD_OK && !r->cursor.is_done ? take(r, bytes, 1) : status;
        while (status == TPD_OK && r->batch.rows == 0 && !r->cursor.is_done);
    chunk->end = r->cursor.at;
    chunk->rows = r->shape.rows;
    chunk->cols = r->shape.cols;
    return status;
}

static void read_chunk(struct tpd_table_work *work, struct tpd_chunk *chunk) {
    struct reader r = {
        .work = work, .chunk = chunk, .shape = {.pad = work->pad, .has_cols = work->cols != 0, .cols = work->cols}};
    r.cursor = (struct tpd_cursor){.work = work, .window = {.work = work, .most = work->window_bytes}};
    if (chunk->places != NULL)
        memset(chunk->places, 0, (size_t)work->cols * sizeof *chunk->places);
    chunk->status = tpd_cell_batch_init(&r.batch, TPD_BATCH_CELLS, &chunk->error);
    if (chunk->status == TPD_OK && chunk->start < work->task->bytes)
        chunk->status = read_rows(&r);
    else
        chunk->end = chunk->start;
    /* Of the first chunk, and of one read again, the start is sure. */
    if (chunk->status == TPD_RAGGED && chunk->begins == UINT64_MAX)
        chunk->status = tell_ragged(&r);
    tpd_window_close(&r.cursor.window);
    tpd_cell_batch_fini(&r.batch);
}

static void guess_and_read(struct tpd_table_work *work, void *self, uint32_t index) {
    (void)self;
    struct tpd_chunk *chunk = &work->chunks[index];
    chunk->rows = chunk->cols = 0;
    chunk->start = work->base;
    if (index != 0) {
        /* The byte before may be the line end. */
        struct tpd_window window = {.work = work, .most = work->window_bytes};
        uint64_t at = chunk->begins - 1;
        const unsigned char *found = NULL;
        chunk->status = TPD_OK;
        while (found == NULL && at < work->task->bytes && chunk->status == TPD_OK) {
            chunk->status = tpd_window_show(&window, at, at + 1, &chunk->error);
            if (chunk->status != TPD_OK)
                break;
            found = memchr(window.text + (at - window.from), '\n', (size_t)(window.to - at));
            at = found != NULL ? window.from + (uint64_t)(found - window.text) + 1 : window.to;
        }
        tpd_window_close(&window);
        chunk->start = at;
        if (chunk->status != TPD_OK)
            return;
    }
    if (chunk->start >= chunk->ends && chunk->ends != work->task->bytes) {
        chunk->end = chunk->start; /* one row reaches across the whole chunk */
        if (chunk->places != NULL)
            memset(chunk->places, 0, (size_t)work->cols * sizeof *chunk->places);
        return;
    }
    read_chunk(work, chunk);
}

/* Every chunk begins where the one before it ends, or is read again from there. */
static enum tpd_status join_chunks(struct tpd_table_work *work, struct tpd_error *error) {
    uint64_t at = work->base, rows = 0, cols = work->cols;
    for (uint32_t i = 0; i < work->chunk_count; i++) {
        struct tpd_chunk *chunk = &work->chunks[i];
        chunk->first_row = rows;
        if (chunk->start != at || chunk->status == TPD_RAGGED) {
            uint64_t begins = chunk->begins;
            chunk->start = chunk->end = at;
            chunk->rows = chunk->cols = 0;
            chunk->begins = UINT64_MAX;
            chunk->status = TPD_OK;
            if (at < chunk->ends)
                read_chunk(work, chunk);
            else if (chunk->places != NULL)
                memset(chunk->places, 0, (size_t)work->cols * sizeof *chunk->places);
            chunk->begins = begins;
        }
        if (chunk->status != TPD_OK) {
            if (error != NULL)
                *error = chunk->error;
            return chunk->status;
        }
        at = chunk->end;
        rows += chunk->rows;
        cols = chunk->cols > cols ? chunk->cols : cols;
    }
    work->rows = rows;
    work->cols = rows != 0 ? cols : 0;
    return TPD_OK;
}

/* How many cells the first row has: the number that every chunk checks its own against. */
static enum tpd_status first_row(struct tpd_table_work *work, struct tpd_error *error) {
    struct tpd_chunk head = {.start = work->base, .ends = work->base + 1, .begins = UINT64_MAX};
    read_chunk(work, &head);
    if (head.status != TPD_OK && error != NULL)
        *error = head.error;
    work->cols = head.cols;
    work->row_bytes = head.end - head.start;
    return head.status;
}

static enum tpd_status cut(struct tpd_table_work *work, struct tpd_error *error) {
    enum { TABLES_BYTES = 64 << 20, A_THREAD = 4, LONG_ROW_BYTES = 64 << 10, CHUNK_ROWS = 16 };
    const struct tpd_table_task *task = work->task;
    uint64_t most = task->threads > 1 ? (uint64_t)task->threads * A_THREAD : 1, size = task->bytes - work->base;
    if (most > size / task->chunk_bytes)
        most = size / task->chunk_bytes;
    /* A few long rows: fewer in a chunk are too few cells at a time for each row of the answer. */
    if (work->row_bytes > LONG_ROW_BYTES && most > task->threads && most > size / work->row_bytes / CHUNK_ROWS)
        most = size / work->row_bytes / CHUNK_ROWS > task->threads ? size / work->row_bytes / CHUNK_ROWS : task->threads;
    if (most > TABLES_BYTES / 8 / (work->cols + 1) && most > task->threads)
        most = task->threads;
    most = most != 0 ? most : 1;
    work->chunks = tpd_alloc_zero((size_t)most, sizeof *work->chunks);
    if (work->chunks == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for %" PRIu64 " chunks", most);
    work->chunk_count = (uint32_t)most;
    for (uint32_t i = 0; i < work->chunk_count; i++) {
        work->chunks[i].begins = i == 0 ? UINT64_MAX : work->base + size / work->chunk_count * i;
        work->chunks[i].ends = i + 1 < work->chunk_count ? work->base + size / work->chunk_count * (i + 1) : task->bytes;
    }
    return TPD_OK;
}

/* By what the first row says: are a few cells of each row a band of whole columns? */
static bool may_flow(const struct tpd_table_work *work) {
    const struct tpd_table_task *task = work->task;
    return task->flow_bytes != 0 && task->threads == 1 && work->chunk_count == 1 && !work->pad && work->window_bytes == 0 &&
           tpd_table_is_wide(work) && work->row_bytes >= task->flow_bytes && task->memory_bytes >= FLOW_LEAST_BYTES &&
           (task->bytes - work->base) / work->row_bytes < TPD_TABLE_STRIP_ROWS;
}

enum tpd_status tpd_table_survey(struct tpd_table_work *work, struct tpd_error *error) {
    enum tpd_status status = work->pad ? TPD_OK : first_row(work, error);
    if (status == TPD_OK)
        status = cut(work, error);
    if (status == TPD_OK && work->pad) {
        tpd_crew_run(work, work->chunk_count, guess_and_read, NULL);
        status = join_chunks(work, error);
    }
    if (status == TPD_OK && may_flow(work)) {
        work->flows = true;
        tpd_crew_run(work, work->chunk_count, guess_and_read, NULL);
        status = join_chunks(work, error);
        work->flows = work->rows <= TPD_TABLE_STRIP_ROWS; /* else the first row was longer than others */
        if (!work->flows)
            atomic_store_explicit(&work->done_bytes, 0, memory_order_relaxed);
    }
    if (status != TPD_OK || work->flows)
        return status;
    for (uint32_t i = 0; i < work->chunk_count && status == TPD_OK; i++) {
        work->chunks[i].places = tpd_table_columns(work);
        if (work->chunks[i].places == NULL)
            status =
                tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for the lengths of %" PRIu64 " columns", work->cols);
    }
    if (status != TPD_OK)
        return status;
    tpd_crew_run(work, work->chunk_count, guess_and_read, NULL);
    return join_chunks(work, error);
}
