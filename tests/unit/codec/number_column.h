/* number_column.h -- texts of numbers as the cells of a column, for tests that read many at once. */
#ifndef TPD_NUMBER_COLUMN_H
#define TPD_NUMBER_COLUMN_H

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "server/codec/number.h"

enum { CELLS = 4096, CELL_MOST = 400 };

/* Cells one behind another with a byte between them, the first at offset 0, each in exactly the memory it has. */
struct column {
    char *text;
    size_t bytes;
    struct tpd_cell cells[CELLS];
    uint64_t count;
};

static inline void column_open(struct column *c) {
    c->text = malloc((size_t)CELLS * CELL_MOST);
    c->bytes = 0;
    c->count = 0;
}

static inline void column_add(struct column *c, const char *text) {
    size_t bytes = strlen(text);
    ck_assert_uint_lt(c->count, CELLS);
    c->cells[c->count++].place = (uint64_t)c->bytes << 24 | bytes;
    memcpy(c->text + c->bytes, text, bytes);
    c->text[c->bytes + bytes] = ',';
    c->bytes += bytes + 1;
}

static inline enum tpd_status column_read(struct column *c, enum tpd_dtype dtype, void *items, uint64_t *failed) {
    const char *why = NULL;
    unsigned char *exact = malloc(c->bytes);
    memcpy(exact, c->text, c->bytes);
    enum tpd_status status = tpd_number_read_cells(TPD_SPELLING_PLAIN, dtype, exact, c->cells, c->count, items, failed, &why);
    ck_assert(status == TPD_OK || why != NULL);
    free(exact);
    return status;
}

#endif
