/* cell_scan.c -- which loop this processor runs; and the cells that need a look at each byte: odd quotes, errors, the last few.
 */
#include "server/codec/cell_scan.h"

#include <stdatomic.h>
#include <string.h>

#include "transposed/alloc.h"

static const struct tpd_scan_code *best(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool pairs = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    if (pairs && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi2"))
        return &tpd_scan_avx512;
    if (pairs && __builtin_cpu_supports("avx2"))
        return &tpd_scan_avx2;
#endif
    return &tpd_scan_base;
}

const struct tpd_scan_code *tpd_scan_code(const char *name) {
    const struct tpd_scan_code *most = best();
    const struct tpd_scan_code *const all[] = {
        &tpd_scan_base,
#if defined(__x86_64__)
        &tpd_scan_avx2,
        &tpd_scan_avx512,
#endif
    };
    for (size_t i = 0; name != NULL && i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
        if (all[i] == most)
            return NULL;
    }
    return most;
}

static _Atomic(const struct tpd_scan_code *) in_use;

void tpd_scan_use(const struct tpd_scan_code *code) {
    atomic_store_explicit(&in_use, code, memory_order_relaxed);
}

static const struct tpd_scan_code *code(void) {
    const struct tpd_scan_code *now = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (now == NULL)
        tpd_scan_use(now = best()); /* any thread finds the same */
    return now;
}

static enum tpd_status fail(struct tpd_scan_walk *walk, enum tpd_status status, const unsigned char *at, const char *what) {
    walk->bad = at;
    return tpd_fail_at(walk->error, status, (uint64_t)(at - walk->scan->text), "%s", what);
}

static enum tpd_status ends_in_cr(struct tpd_scan_walk *walk, const unsigned char *at) {
    return fail(walk, TPD_MALFORMED, at,
                "a cell ends in a carriage return, which would be taken for a line end: put the cell in quotes, or leave it out");
}

enum tpd_status tpd_scan_row(struct tpd_scan_walk *walk, uint32_t index) {
    struct tpd_cell_batch *batch = walk->batch;
    struct tpd_cell *cell = &batch->cells[index];
    const unsigned char *from = walk->scan->text + tpd_cell_offset(*cell);
    size_t bytes = tpd_cell_bytes(*cell);
    if (bytes != 0 && from[bytes - 1] == '\r') {
        cell->place--;
        if (bytes > 1 && from[bytes - 2] == '\r')
            return ends_in_cr(walk, from + bytes - 2);
    }
    batch->row_ends[batch->rows++] = index + 1;
    return TPD_OK;
}

/* Behind the quoted cell at `at`; NULL: it does not end before the scan does. */
static const unsigned char *behind_quotes(const unsigned char *at, const unsigned char *end) {
    at++;
    while (at < end && (at = memchr(at, '"', (size_t)(end - at))) != NULL) {
        if (at + 1 == end || at[1] != '"')
            return at + 1;
        at += 2;
    }
    return NULL;
}

enum tpd_status tpd_scan_slowly(struct tpd_scan_walk *walk, const unsigned char *until) {
    struct tpd_cell_scan *scan = walk->scan;
    struct tpd_cell_batch *batch = walk->batch;
    const unsigned char *end = scan->end, delimiter = scan->delimiter;
    while (scan->at < until && batch->count < batch->most && batch->rows < walk->rows_most) {
        const unsigned char *start = scan->at, *at = start;
        bool quoted = scan->quotes && at < end && *at == '"';
        if (quoted) {
            at = behind_quotes(start, end);
            if (at == NULL && scan->is_whole)
                return fail(walk, TPD_TRUNCATED, start,
                            "the quote that opens here is never closed; where quotes are letters, say quotes=off");
            if (at == NULL)
                return TPD_OK;
            const unsigned char *next = at + (at < end && *at == '\r');
            if (next < end ? *next != '\n' && (next != at || *next != delimiter) : next != at && scan->is_whole)
                return fail(walk, TPD_MALFORMED, at,
                            "something stands behind the closing quote; double quotes inside a cell, or say quotes=off");
            at = next;
        } else {
            while (at < end && *at != delimiter && *at != '\n')
                at++;
        }
        if (at >= end && !scan->is_whole)
            return TPD_OK;
        if (at - start > TPD_CELL_BYTES_MOST)
            return fail(walk, TPD_TOO_LARGE, start, "a cell has more than 16777215 bytes of text, which is the most");
        bool is_end = at >= end || *at == '\n';
        if (!quoted && (at >= end || *at != '\n') && at != start && at[-1] == '\r')
            return ends_in_cr(walk, at - 1);
        batch->cells[batch->count++] = tpd_cell_of((uint64_t)(start - scan->text), (size_t)(at - start));
        scan->at = at < end ? at + 1 : end;
        enum tpd_status status = is_end ? tpd_scan_row(walk, batch->count - 1) : TPD_OK;
        walk->is_last = at >= end;
        if (status != TPD_OK || at >= end)
            return status;
    }
    return TPD_OK;
}

enum tpd_status tpd_cell_scan(struct tpd_cell_scan *scan, struct tpd_cell_batch *batch, uint32_t rows_most,
                              const unsigned char **bad, struct tpd_error *error) {
    struct tpd_scan_walk walk = {.scan = scan, .batch = batch, .rows_most = rows_most, .error = error};
    batch->count = batch->rows = 0;
    enum tpd_status status = code()->blocks(&walk);
    /* The last cell may be an empty one, of which nothing is there but the delimiter before it. */
    bool is_open = scan->is_whole && scan->end > scan->first && scan->end[-1] != '\n';
    if (status == TPD_OK && !walk.is_last && (scan->at < scan->end || is_open))
        status = tpd_scan_slowly(&walk, scan->end + is_open);
    *bad = walk.bad;
    if (status == TPD_OK && batch->rows != 0 && batch->rows >= rows_most) {
        batch->rows = rows_most;
        if (batch->row_ends[rows_most - 1] < batch->count || !walk.is_last) {
            batch->count = batch->row_ends[rows_most - 1];
            scan->at = tpd_cell_behind(scan, batch->cells[batch->count - 1]);
        }
    }
    scan->is_done = scan->is_whole && (walk.is_last || (scan->at >= scan->end && !is_open));
    return status;
}

uint64_t tpd_cell_marks(const unsigned char *text, size_t bytes, unsigned char delimiter) {
    return code()->marks(text, bytes, delimiter);
}

enum tpd_status tpd_cell_batch_init(struct tpd_cell_batch *batch, uint32_t most, struct tpd_error *error) {
    size_t room = (size_t)most + TPD_SCAN_SLACK;
    *batch = (struct tpd_cell_batch){.most = most};
    batch->cells = tpd_alloc(room * sizeof *batch->cells);
    batch->row_ends = tpd_alloc(room * sizeof *batch->row_ends);
    if (batch->cells != NULL && batch->row_ends != NULL)
        return TPD_OK;
    tpd_cell_batch_fini(batch);
    return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for an index of %zu cells", room);
}

void tpd_cell_batch_fini(struct tpd_cell_batch *batch) {
    tpd_free(batch->cells);
    tpd_free(batch->row_ends);
    *batch = (struct tpd_cell_batch){.cells = NULL};
}
