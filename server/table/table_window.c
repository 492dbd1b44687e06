/* table_window.c -- parts of a file in memory, and a page behind them. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/table/table_internal.h"

void tpd_window_close(struct tpd_window *window) {
    if (window->mapped != NULL)
        (void)munmap(window->mapped, window->mapped_bytes);
    window->mapped = NULL;
    window->from = window->to = 0;
}

/* Whole pages alone: one that a neighbour still reads comes back by itself. */
static void advise(const struct tpd_window *window, uint64_t from, uint64_t to, int advice) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), mapped = (uintptr_t)window->mapped;
    uintptr_t lead = (uintptr_t)window->text - mapped - (uintptr_t)window->from;
    uintptr_t begin = (lead + from + page - 1) / page * page, end = (lead + to) / page * page;
    if (window->mapped != NULL && begin < end)
        (void)madvise((unsigned char *)window->mapped + begin, end - begin, advice);
}

void tpd_window_fetch(const struct tpd_window *window, uint64_t from, uint64_t to) {
#if defined(MADV_POPULATE_READ)
    advise(window, from, to, MADV_POPULATE_READ);
#else
    advise(window, from, to, MADV_WILLNEED);
#endif
}

void tpd_window_forget(const struct tpd_window *window, uint64_t from, uint64_t to) {
    advise(window, from, to, MADV_DONTNEED);
}

/* The file's pages over the start of an anonymous mapping: what is left of it are zeros that may be read and written. */
static enum tpd_status map(struct tpd_window *window, uint64_t from, uint64_t to, struct tpd_error *error) {
    const struct tpd_table_task *task = window->work->task;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = (task->file_offset + from) / page * page;
    size_t lead = (size_t)(task->file_offset + from - begin), bytes = lead + (size_t)(to - from);
    size_t whole = (bytes + page - 1) / page * page;
    unsigned char *place = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no room to map %zu bytes of the file: %s", whole, strerror(errno));
    window->mapped = place;
    window->mapped_bytes = whole + page;
    if (whole != 0 &&
        mmap(place, whole, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, task->fd, (off_t)begin) == MAP_FAILED) {
        int why = errno;
        tpd_window_close(window);
        return tpd_fail(error, TPD_IO, "the file can't be mapped: %s", strerror(why));
    }
    (void)madvise(place, whole, MADV_SEQUENTIAL);
    window->text = place + lead;
    unsigned char *filler = place + whole + page / 2;
    memcpy(filler, task->options->filler, strlen(task->options->filler));
    window->filler = filler;
    return TPD_OK;
}

enum tpd_status tpd_window_open_whole(struct tpd_window *window, struct tpd_error *error) {
    const struct tpd_table_task *task = window->work->task;
    enum tpd_status status = TPD_OK;
    if (task->fd < 0) {
        window->text = task->memory;
        window->filler = task->memory + task->bytes + TPD_TEXT_PAD;
    } else {
        status = map(window, 0, task->bytes, error);
    }
    window->to = status == TPD_OK ? task->bytes : 0;
    return status;
}

enum tpd_status tpd_window_show(struct tpd_window *window, uint64_t from, uint64_t to, struct tpd_error *error) {
    const struct tpd_table_work *work = window->work;
    if (work->window_bytes == 0) {
        window->from = 0;
        window->to = work->whole.to;
        window->text = work->whole.text;
        window->filler = work->whole.filler;
        return TPD_OK;
    }
    if (window->mapped != NULL && from >= window->from && to <= window->to)
        return TPD_OK;
    tpd_window_close(window);
    if (to - from < window->most)
        to = work->task->bytes - from < window->most ? work->task->bytes : from + window->most;
    enum tpd_status status = map(window, from, to, error);
    if (status != TPD_OK)
        return status;
    window->from = from;
    window->to = to;
    return TPD_OK;
}

enum tpd_status tpd_cursor_open(struct tpd_cursor *cursor, uint64_t at, uint64_t limit, struct tpd_error *error) {
    const struct tpd_table_work *work = cursor->work;
    struct tpd_window *window = &cursor->window;
    enum tpd_status status = tpd_window_show(window, at, at, error);
    if (status != TPD_OK)
        return status;
    uint64_t end = limit < window->to ? limit : window->to;
    cursor->at = at;
    cursor->scan = (struct tpd_cell_scan){.text = window->text,
                                          .end = window->text + (end - window->from),
                                          .at = window->text + (at - window->from),
                                          .delimiter = work->form.delimiter,
                                          .quotes = work->form.quotes,
                                          .is_whole = end == work->task->bytes};
    cursor->scan.first = work->base >= window->from ? window->text + (work->base - window->from) : window->text - 1;
    return TPD_OK;
}

enum tpd_status tpd_cursor_scan(struct tpd_cursor *cursor, uint64_t limit, uint32_t rows_most, struct tpd_cell_batch *batch,
                                const unsigned char **bad, struct tpd_error *error) {
    struct tpd_window *window = &cursor->window;
    for (;;) {
        enum tpd_status status = tpd_cursor_open(cursor, cursor->at, limit, error);
        if (status == TPD_OK)
            status = tpd_cell_scan(&cursor->scan, batch, rows_most, bad, error);
        if (status != TPD_OK)
            return status;
        cursor->is_done = cursor->scan.is_done;
        uint64_t at = tpd_cursor_place(cursor, cursor->scan.at);
        if (batch->count != 0 || cursor->is_done || limit <= window->to) {
            cursor->at = at;
            return TPD_OK;
        }
        /* No cell ends in what is left of this window: the next one begins here. It is larger than any cell. */
        if (window->from == cursor->at && window->to - window->from >= window->most) {
            *bad = cursor->scan.at;
            return tpd_fail(error, TPD_TOO_LARGE, "a cell has more than %d bytes of text, which is the most",
                            TPD_CELL_BYTES_MOST);
        }
        tpd_window_close(window);
    }
}
