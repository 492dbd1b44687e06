/* json_array.c -- nested arrays of cells: where each cell's text lies, and how long each level is. */
#include <inttypes.h>
#include <string.h>

#include "server/codec/json_parse.h"

/* No more cells than commas + 1: each cell but the first has a comma before it, or before an array it is the first of.
 * Commas in strings only make the guess larger. */
static uint64_t cells_at_most(const unsigned char *at, const unsigned char *end) {
    uint64_t commas = 0;
    for (; end - at >= 4096; at += 4096) {
        /* A count that fits in 16 bits lets the compiler keep 16 or 32 of them side by side. */
        uint16_t here = 0;
        for (int i = 0; i < 4096; i++)
            here = (uint16_t)(here + (at[i] == ','));
        commas += here;
    }
    for (; at < end; at++)
        commas += *at == ',';
    return commas + 1;
}

static enum tpd_status fail_level(const struct tpd_json_scan *scan, const unsigned char *at, const struct tpd_json_array *array,
                                  int depth, bool deeper) {
    if (depth == 0)
        return tpd_json_fail(scan, TPD_MALFORMED, at, "an array is expected");
    if (deeper && array->rank == 0)
        return tpd_json_fail(scan, TPD_MALFORMED, at, "arrays are nested deeper than %d levels", TPD_JSON_DEPTH_MOST);
    return tpd_json_fail(scan, TPD_MALFORMED, at, "%s, but the first cell lies %d arrays deep",
                         deeper ? "an array stands where a cell is expected" : "a cell stands where an array is expected",
                         array->rank);
}

enum tpd_status tpd_json_array(const struct tpd_json_scan *scan, const unsigned char **from, struct tpd_memory *memory,
                               struct tpd_json_array *array) {
    const unsigned char *at = *from;
    memset(array, 0, sizeof *array);
    uint64_t most = cells_at_most(at, scan->end);
    if (most > SIZE_MAX / sizeof(struct tpd_cell))
        return tpd_fail(scan->error, TPD_SIZE_OVERFLOW, "the body may have %" PRIu64 " cells, which no memory holds", most);
    enum tpd_status status = tpd_block_acquire(memory, (size_t)most * sizeof(struct tpd_cell), &array->cells, scan->error);
    if (status != TPD_OK)
        return status;
    struct tpd_cell *cells = (struct tpd_cell *)(void *)array->cells.data, *cell = cells;
    uint64_t count[TPD_JSON_DEPTH_MOST + 1] = {0}, extent[TPD_JSON_DEPTH_MOST + 1];
    memset(extent, 0xff, sizeof extent); /* UINT64_MAX: the first array of the level is still open */
    int depth = 0;                       /* arrays that are open; rank is settled by the first cell, or the first ']' */
    for (;;) {
        at = tpd_json_space(at);
        if (*at == '[') {
            if (array->rank != 0 ? depth == array->rank : depth == TPD_JSON_DEPTH_MOST) {
                status = fail_level(scan, at, array, depth, true);
                goto fail;
            }
            count[++depth] = 0;
            at = tpd_json_space(at + 1);
            if (*at != ']')
                continue;
            if (array->rank == 0)
                array->rank = depth;
        } else {
            if (array->rank == 0)
                array->rank = depth;
            const unsigned char *end = tpd_json_short_number(at);
            if (end == NULL)
                end = tpd_json_scalar(scan, at);
            if (end == NULL) {
                status = scan->error->status;
                goto fail;
            }
            if (depth != array->rank) {
                status = fail_level(scan, at, array, depth, false);
                goto fail;
            }
            if (end - at > TPD_CELL_BYTES_MOST) {
                status = tpd_json_fail(scan, TPD_TOO_LARGE, at, "a cell has %zu bytes of text, the most is %d",
                                       (size_t)(end - at), TPD_CELL_BYTES_MOST);
                goto fail;
            }
            cell++->place = (uint64_t)(at - scan->text) << 24 | (uint64_t)(end - at);
            count[depth]++;
            at = tpd_json_space(end);
            if (*at == ',') {
                at++;
                continue;
            }
        }
        /* A ']' closes arrays until a comma says that there is a next one. */
        for (;;) {
            if (*at != ']') {
                status = tpd_json_fail(scan, TPD_MALFORMED, at, "',' or ']' is expected");
                goto fail;
            }
            if (extent[depth] == UINT64_MAX) {
                extent[depth] = count[depth];
            } else if (extent[depth] != count[depth]) {
                status = tpd_json_fail(scan, TPD_RAGGED, at,
                                       "%s %" PRIu64 " has %" PRIu64 " items, the first has %" PRIu64
                                       "; every row needs the same number",
                                       depth == array->rank ? "row" : "matrix", count[depth - 1], count[depth], extent[depth]);
                goto fail;
            }
            at++;
            if (--depth == 0)
                goto done;
            count[depth]++;
            at = tpd_json_space(at);
            if (*at == ',')
                break;
        }
        at++;
    }
done:
    array->count = (uint64_t)(cell - cells);
    array->cells.bytes = (size_t)array->count * sizeof *cell;
    for (int i = 0; i < array->rank; i++) /* a level that no array reached is empty */
        array->extent[i] = extent[i + 1] == UINT64_MAX ? 0 : extent[i + 1];
    *from = at;
    return TPD_OK;
fail:
    tpd_block_release(&array->cells);
    return status;
}

enum tpd_status tpd_json_pairs(const struct tpd_json_scan *scan, struct tpd_json_array *array, const char *dtype) {
    if (array->count == 0)
        return TPD_OK;
    struct tpd_cell *cells = (struct tpd_cell *)(void *)array->cells.data;
    if (array->rank < 2 || array->extent[array->rank - 1] != 2)
        return tpd_json_fail(scan, TPD_MALFORMED, scan->text + (cells[0].place >> 24), "a cell of dtype %s is an array [re, im]",
                             dtype);
    for (uint64_t i = 0; i < array->count / 2; i++) {
        const unsigned char *start = scan->text + (cells[2 * i].place >> 24);
        const unsigned char *end = scan->text + (cells[2 * i + 1].place >> 24) + (cells[2 * i + 1].place & TPD_CELL_BYTES_MOST);
        /* Between a bracket and its neighbours there is white space alone: the array was read before. */
        while (*start != '[')
            start--;
        while (*end != ']')
            end++;
        end++;
        if (end - start > TPD_CELL_BYTES_MOST)
            return tpd_json_fail(scan, TPD_TOO_LARGE, start, "a cell has %zu bytes of text, the most is %d",
                                 (size_t)(end - start), TPD_CELL_BYTES_MOST);
        cells[i].place = (uint64_t)(start - scan->text) << 24 | (uint64_t)(end - start);
    }
    array->count /= 2;
    array->rank--;
    array->cells.bytes = (size_t)array->count * sizeof *cells;
    return TPD_OK;
}
