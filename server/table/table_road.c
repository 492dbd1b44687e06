/* table_road.c -- the whole of it: form, survey, panels, pieces. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "server/table/table_internal.h"
#include "transposed/alloc.h"
#include "transposed/clock.h"

enum {
    FORGET_LEAST_BYTES = 64 << 20, /* of text: with less, the time to map it again is more than the memory is worth */
    PASSES_MOST = 10000,           /* more readings of the text would go on for days */
    RUN_BYTES = 2048,              /* of a row, that a panel reads at a time: less costs more than it saves */
    RUN_IN_TURN_BYTES = 512,       /* the same of two panels that take turns: there more costs memory */
    PANELS_LEAST = 8,              /* where so many of them are not enough, the answer is made in one */
    FORM_BYTES = 1 << 20,          /* of the text, in which the first line's end is looked for */
    A_THREAD_BYTES = 2 << 20       /* batch, band, turned band, and a stack in use */
};

static enum tpd_status open_device(struct tpd_table_work *work, struct tpd_error *error) {
    const struct tpd_device_options options = {.cpu_threads = 1, .lanes = work->task->threads};
    work->backend = tpd_backend_at(TPD_BACKEND_CPU);
    return work->backend->open(0, &options, &work->device, error);
}

/* The mark at the front and the first line's end. */
static enum tpd_status read_form(struct tpd_table_work *work, struct tpd_error *error) {
    struct tpd_table_task *task = work->task;
    struct tpd_window window = {.work = work, .most = work->window_bytes};
    struct tpd_cell_scan scan;
    enum tpd_status status = tpd_window_show(&window, 0, task->bytes < FORM_BYTES ? task->bytes : FORM_BYTES, error);
    if (status == TPD_OK)
        status = tpd_table_open(task->options, task->delimiter, window.text, (size_t)(window.to - window.from), &work->form,
                                &scan, error);
    tpd_window_close(&window);
    if (status != TPD_OK)
        return status;
    work->base = work->form.bom ? 3 : 0;
    work->form.final_newline = false;
    if (task->bytes > work->base) {
        status = tpd_window_show(&window, task->bytes - 1, task->bytes, error);
        if (status == TPD_OK)
            work->form.final_newline = window.text[task->bytes - 1 - window.from] == '\n';
        tpd_window_close(&window);
    }
    return status;
}

/* What each column has in the chunks before becomes where its next cell goes within its row of the answer. Lengths gets the rows'
 * bytes; the sum of them is returned. */
static uint64_t place_columns(struct tpd_table_work *work, uint64_t *lengths) {
    const uint64_t end = tpd_table_eol(work) - 1;
    uint64_t all = 0, longest = 0;
    for (uint64_t c = 0; c < work->cols; c++) {
        uint64_t at = 0;
        for (uint32_t i = 0; i < work->chunk_count; i++) {
            struct tpd_chunk *chunk = &work->chunks[i];
            uint64_t bytes = chunk->places[c] + chunk->rows; /* a delimiter, or a line end's last byte, behind each */
            chunk->places[c] = at;
            at += bytes;
        }
        lengths[c] = at + end;
        all += lengths[c];
        longest = lengths[c] > longest ? lengths[c] : longest;
    }
    work->longest = longest;
    return all;
}

/* Places within rows become places within the panel. */
static void place_rows(struct tpd_table_work *work, const struct tpd_panel *panel, const uint64_t *lengths) {
    uint64_t at = 0;
    for (uint64_t c = panel->first; c < panel->end; at += lengths[c], c++)
        for (uint32_t i = 0; i < work->chunk_count; i++)
            work->chunks[i].places[c] += at;
}

/* The next panel: as many whole rows of the answer as fit, or a part of one. Rows before `panel->first` are done, and `done`
 * bytes of that one. */
static uint64_t next_panel(const struct tpd_table_work *work, const uint64_t *lengths, uint64_t room, uint64_t done,
                           struct tpd_panel *panel) {
    uint64_t c = panel->first, bytes = 0;
    if (done != 0 || lengths[c] > room) {
        panel->is_part = true;
        panel->end = c + 1;
        panel->low = done;
        panel->high = lengths[c] - done < room ? lengths[c] : done + room;
        return panel->high - panel->low;
    }
    panel->is_part = false;
    for (; c < work->cols && lengths[c] <= room - bytes; c++)
        bytes += lengths[c];
    panel->end = c;
    return bytes;
}

enum tpd_status tpd_table_write(struct tpd_table_work *work, const unsigned char *bytes, uint64_t count,
                                struct tpd_error *error) {
    struct tpd_table_task *task = work->task;
    uint64_t start_ns = tpd_clock_ns();
    enum tpd_status status = TPD_OK;
    for (uint64_t at = 0; at < count && status == TPD_OK; at += TPD_TABLE_PIECE)
        status =
            task->write(task->self, bytes + at, count - at < TPD_TABLE_PIECE ? (size_t)(count - at) : TPD_TABLE_PIECE, error);
    task->answer_bytes += count;
    task->write_ns += tpd_clock_ns() - start_ns;
    return status;
}

static void fill(struct tpd_table_work *work, void *self, uint32_t index) {
    tpd_table_fill(work, self, index);
}

static enum tpd_status fill_panel(struct tpd_table_work *work, struct tpd_panel *panel, uint64_t *kept, struct tpd_error *error) {
    for (uint32_t i = 0; i < work->chunk_count && panel->is_part; i++)
        kept[i] = work->chunks[i].places[panel->first];
    tpd_crew_run(work, work->chunk_count, fill, panel);
    for (uint32_t i = 0; i < work->chunk_count; i++) {
        struct tpd_chunk *chunk = &work->chunks[i];
        if (panel->is_part)
            chunk->places[panel->first] = kept[i];
        if (chunk->status != TPD_OK) {
            if (error != NULL)
                *error = chunk->error;
            return chunk->status;
        }
    }
    return TPD_OK;
}

/* Of the last row, its line end: gone where the text had none, but for a line that would be nothing without it. */
static uint64_t last_line_cut(const struct tpd_table_work *work, const uint64_t *lengths) {
    bool is_nothing = work->cols == 0 || (work->rows == 1 && lengths[work->cols - 1] == tpd_table_eol(work));
    return work->form.final_newline || is_nothing ? 0 : tpd_table_eol(work);
}

/* Of a panel. A wide table is read on from where the panel before stopped, so that parts of the answer cost no more reading:
 * small ones leave no pages to be cleared and lie closer to the processor; too small ones read a few bytes here and there. */
static uint64_t panel_size(const struct tpd_table_work *work, uint64_t all, uint64_t room) {
    const struct tpd_table_task *task = work->task;
    uint64_t size = room < all ? room : all, want = work->rows * (task->threads > 1 ? RUN_IN_TURN_BYTES : RUN_BYTES);
    if (size == 0 || task->panel_bytes == 0 || !tpd_table_is_wide(work) || work->window_bytes != 0)
        return size;
    if (want > all / PANELS_LEAST)
        return size;
    want = want > task->panel_bytes ? want : task->panel_bytes;
    want = want > work->longest ? want : work->longest;
    return want < size ? want : size;
}

/* Room for `bytes` of the answer, in large pages; *mapped at *memory is to be given back. */
static enum tpd_status map_answer(struct tpd_table_work *work, uint64_t bytes, unsigned char **memory, size_t *mapped,
                                  struct tpd_error *error) {
    *mapped = (size_t)bytes + TPD_TABLE_HUGE;
    *memory = mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*memory == MAP_FAILED) {
        *memory = NULL;
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no %zu bytes for the answer: %s; allow less with --memory",
                        *mapped, strerror(errno));
    }
    work->out = *memory + (TPD_TABLE_HUGE - ((uintptr_t)*memory & (TPD_TABLE_HUGE - 1)));
    (void)madvise(work->out, (size_t)bytes, MADV_HUGEPAGE);
    return TPD_OK;
}

static enum tpd_status flow_answer(struct tpd_table_work *work, struct tpd_error *error) {
    unsigned char *memory;
    size_t mapped;
    uint64_t start_ns = tpd_clock_ns();
    work->desks = tpd_alloc_zero(1, sizeof *work->desks);
    enum tpd_status status = work->desks != NULL ? map_answer(work, TPD_TABLE_FLOW_ROOM, &memory, &mapped, error)
                                                 : tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for a desk");
    if (status == TPD_OK) {
        if (work->base != 0)
            status = tpd_table_write(work, (const unsigned char *)"\xef\xbb\xbf", work->base, error);
        if (status == TPD_OK)
            status = tpd_table_flow(work, error);
        if (status == TPD_OK && !work->form.final_newline && !work->last_is_empty)
            work->out_bytes -= tpd_table_eol(work); /* as in last_line_cut() */
        if (status == TPD_OK)
            status = tpd_table_write(work, work->out, work->out_bytes, error);
        (void)munmap(memory, mapped);
        tpd_desk_clear(work->desks);
    }
    tpd_free(work->desks);
    work->task->passes = 1;
    work->task->fill_ns = tpd_clock_ns() - start_ns - work->task->write_ns;
    return status;
}

/* One after another, some perhaps parts of rows; `left` bytes in all. */
static enum tpd_status make_panels(struct tpd_table_work *work, const uint64_t *lengths, uint64_t size, uint64_t left,
                                   uint64_t *kept, struct tpd_error *error) {
    struct tpd_panel panel = {.out = work->out};
    enum tpd_status status = TPD_OK;
    for (uint64_t done = 0; panel.first < work->cols && status == TPD_OK;) {
        uint64_t bytes = next_panel(work, lengths, size, done, &panel);
        if (!panel.is_part)
            place_rows(work, &panel, lengths);
        bool is_over = !panel.is_part || panel.high == lengths[panel.first];
        work->forgets = work->forgets_all && is_over && panel.end == work->cols;
        status = fill_panel(work, &panel, kept, error);
        work->task->passes += panel.first == 0 || !work->resumes || panel.is_part;
        bytes = bytes < left ? bytes : left; /* a line end of two bytes may lie in two parts */
        left -= bytes;
        if (status == TPD_OK)
            status = tpd_table_write(work, panel.out, bytes, error);
        if (!panel.is_part && work->resumes)
            panel.resume = panel.end;
        done = is_over ? 0 : panel.high;
        panel.first = is_over ? panel.end : panel.first;
    }
    return status;
}

/* Whole rows in each, by turns at the one place and at the other. */
static enum tpd_status pipe_panels(struct tpd_table_work *work, const uint64_t *lengths, uint64_t size, uint64_t other,
                                   uint64_t left, uint64_t *made, struct tpd_error *error) {
    struct tpd_panel panel = {.out = work->out};
    uint64_t count = 0;
    for (; panel.first < work->cols; panel.first = panel.end, count++)
        (void)next_panel(work, lengths, size, 0, &panel);
    struct tpd_panel *panels = tpd_alloc((size_t)count * sizeof *panels);
    if (panels == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for %" PRIu64 " parts of the answer", count);
    panel.first = 0;
    for (uint64_t i = 0; i < count; i++) {
        panel.bytes = next_panel(work, lengths, size, 0, &panel);
        panel.bytes = panel.bytes < left ? panel.bytes : left;
        left -= panel.bytes;
        place_rows(work, &panel, lengths);
        panels[i] = panel;
        panel.first = panel.resume = panel.end;
        panel.out = i % 2 == 0 ? work->out + other : work->out;
    }
    work->task->passes = 1;
    enum tpd_status status = tpd_table_pipe(work, panels, count, made, error);
    tpd_free(panels);
    return status;
}

/* Names what allows no more. */
static enum tpd_status refuse_memory(const struct tpd_table_work *work, uint64_t least, struct tpd_error *error) {
    const uint64_t memory = work->task->memory_bytes, space = work->task->space_bytes;
    if (space == 0)
        return tpd_fail_limit(error, TPD_TOO_LARGE, memory, least,
                              "%" PRIu64 " columns need %" PRIu64 " bytes of memory at least, %" PRIu64
                              " are allowed: raise --memory, or use fewer threads",
                              work->cols, least, memory);
    return tpd_fail_limit(error, TPD_TOO_LARGE, memory, least,
                          "%" PRIu64 " columns need %" PRIu64 " bytes of memory at least, %" PRIu64 " are left of the %" PRIu64
                          " bytes of address space that this process may have (ulimit -v %" PRIu64
                          "): raise that limit, or use fewer threads",
                          work->cols, least, memory, space, space / 1024);
}

static enum tpd_status make_answer(struct tpd_table_work *work, struct tpd_error *error) {
    struct tpd_table_task *task = work->task;
    uint64_t tables = (work->chunk_count + 1) * work->cols * sizeof(uint64_t) + (uint64_t)task->threads * A_THREAD_BYTES +
                      (uint64_t)task->threads * work->window_bytes;
    uint64_t room = task->memory_bytes > tables ? task->memory_bytes - tables : 0, all = 0;
    uint64_t *lengths = tpd_table_columns(work);
    uint64_t *kept = tpd_alloc(work->chunk_count * sizeof *kept);
    work->desks = tpd_alloc_zero(task->threads, sizeof *work->desks);
    enum tpd_status status =
        lengths != NULL && kept != NULL && work->desks != NULL
            ? TPD_OK
            : tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for %" PRIu64 " columns", work->cols);
    if (status == TPD_OK) {
        all = place_columns(work, lengths);
        const uint64_t least = all / PASSES_MOST + 1;
        if (room < least && all != 0)
            status = refuse_memory(work, tables + least, error);
    }
    const uint64_t size = panel_size(work, all, room), start_ns = tpd_clock_ns();
    work->resumes = size < all && tpd_table_is_wide(work);
    const bool is_double = task->threads > 1 && work->resumes && size <= room - size && work->longest <= size;
    const uint64_t other = is_double ? (size + TPD_TABLE_HUGE - 1) / TPD_TABLE_HUGE * TPD_TABLE_HUGE : 0;
    work->forgets_all = task->bytes >= FORGET_LEAST_BYTES && (size == all || !work->resumes);
    if (work->forgets_all) /* every part of the answer is touched by the first band: not both at once */
        tpd_window_forget(&work->whole, 0, task->bytes);
    unsigned char *memory = NULL;
    size_t mapped = 0;
    if (status == TPD_OK)
        status = map_answer(work, other + size, &memory, &mapped, error);
    work->all_bytes = task->bytes * (1 + (size != 0 ? (all + size - 1) / size : 0));
    if (status == TPD_OK && work->base != 0)
        status = tpd_table_write(work, (const unsigned char *)"\xef\xbb\xbf", work->base, error);
    if (status == TPD_OK) {
        const uint64_t left = all - last_line_cut(work, lengths);
        status = is_double ? pipe_panels(work, lengths, size, other, left, kept, error)
                           : make_panels(work, lengths, size, left, kept, error);
    }
    task->fill_ns = tpd_clock_ns() - start_ns - (is_double ? 0 : task->write_ns);
    if (memory != NULL)
        (void)munmap(memory, mapped);
    for (uint32_t i = 0; i < task->threads && work->desks != NULL; i++)
        tpd_desk_clear(&work->desks[i]);
    tpd_free(work->desks);
    tpd_free(lengths);
    tpd_free(kept);
    return status;
}

/* Before the work begins, where the answer is made in panels: how long a part of the text takes to read, and so all of it. */
static enum tpd_status tell_plan(struct tpd_table_work *work, struct tpd_error *error) {
    enum { PROBE_BYTES = 16 << 20, GATHERING = 2 /* readings' worth of time, for all panels together */ };
    struct tpd_table_task *task = work->task;
    uint64_t windows = (uint64_t)task->threads * (work->window_bytes + A_THREAD_BYTES);
    uint64_t room = task->memory_bytes > windows ? task->memory_bytes - windows : 1;
    uint64_t passes = (task->bytes + room - 1) / room, probe = task->bytes < PROBE_BYTES ? task->bytes : PROBE_BYTES;
    if (task->expect == NULL || passes < 2 || room == 1)
        return TPD_OK; /* the last: too little for anything, as will be said */
    struct tpd_cursor cursor = {.work = work, .window = {.work = work, .most = work->window_bytes}, .at = work->base};
    struct tpd_cell_batch batch;
    const unsigned char *bad;
    enum tpd_status status = tpd_cell_batch_init(&batch, TPD_BATCH_CELLS, error);
    uint64_t start_ns = tpd_clock_ns(), cols = 0;
    batch.count = status == TPD_OK;
    /* What is wrong with the text is said when it is read. */
    while (batch.count != 0 && cursor.at < probe && !cursor.is_done &&
           tpd_cursor_scan(&cursor, task->bytes, UINT32_MAX, &batch, &bad, NULL) == TPD_OK)
        if (cols == 0)
            cols = batch.rows != 0 ? batch.row_ends[0] : batch.count;
    /* Rows that are read on from panel to panel: one reading in all, unless a panel holds no whole row of the answer. */
    if (cols > TPD_TABLE_STRIP_COLS && task->bytes / cols <= room)
        passes = 1;
    double each = (double)(tpd_clock_ns() - start_ns) / 1e9 / (double)(cursor.at + 1);
    tpd_window_close(&cursor.window);
    tpd_cell_batch_fini(&batch);
    const struct tpd_table_plan plan = {.bytes = task->bytes,
                                        .passes = (uint32_t)(passes < UINT32_MAX ? passes : UINT32_MAX),
                                        .seconds = each * (double)task->bytes * (double)(1 + passes + GATHERING)};
    task->expect(task->self, &plan);
    return status;
}

enum tpd_status tpd_table_transpose(struct tpd_table_task *task, struct tpd_error *error) {
    struct tpd_table_work work = {.task = task, .pad = task->options->ragged == TPD_RAGGED_PAD};
    work.filler_bytes = strlen(task->options->filler);
    work.window_bytes = task->fd >= 0 && task->window_bytes < task->bytes ? task->window_bytes : 0;
    work.all_bytes = 2 * task->bytes;
    uint64_t start_ns = tpd_clock_ns();
    enum tpd_status status = open_device(&work, error);
    if (status != TPD_OK)
        return status;
    work.whole.work = &work;
    if (work.window_bytes == 0)
        status = tpd_window_open_whole(&work.whole, error);
    if (status == TPD_OK)
        status = read_form(&work, error);
    if (status == TPD_OK)
        status = tell_plan(&work, error);
    if (status == TPD_OK)
        status = tpd_table_survey(&work, error);
    task->survey_ns = tpd_clock_ns() - start_ns;
    task->rows = work.rows;
    task->cols = work.cols;
    uint64_t cells;
    bool is_past = __builtin_mul_overflow(work.rows, work.cols, &cells);
    if (status == TPD_OK && (is_past || (task->options->cells_most != 0 && cells > task->options->cells_most)))
        status = tpd_fail_limit(error, TPD_TOO_LARGE, task->options->cells_most, is_past ? UINT64_MAX : cells,
                                "%" PRIu64 " rows of %" PRIu64 " cells are more than %" PRIu64 ", the most cells allowed",
                                work.rows, work.cols, task->options->cells_most);
    if (status == TPD_OK)
        status = work.flows ? flow_answer(&work, error) : make_answer(&work, error);
    for (uint32_t i = 0; i < work.chunk_count; i++) {
        tpd_free(work.chunks[i].places);
        tpd_free(work.chunks[i].row_at);
        tpd_free(work.chunks[i].row_next);
    }
    tpd_free(work.chunks);
    tpd_window_close(&work.whole);
    work.backend->close(work.device);
    return status;
}
