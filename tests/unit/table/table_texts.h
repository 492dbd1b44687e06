/* table_texts.h -- random tables, their text, and what is to come of it: for the tests of server/table. */
#ifndef TPD_TABLE_TEXTS_H
#define TPD_TABLE_TEXTS_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "server/table/table.h"

struct text {
    char *data;
    size_t count, room;
};

static inline void add(struct text *text, const char *bytes, size_t count) {
    if (count == 0)
        return;
    if (text->count + count > text->room) {
        text->room = 2 * (text->count + count) + 64;
        text->data = realloc(text->data, text->room);
    }
    memcpy(text->data + text->count, bytes, count);
    text->count += count;
}

static inline enum tpd_status take(void *self, const void *bytes, size_t count, struct tpd_error *error) {
    (void)error;
    add(self, bytes, count);
    return TPD_OK;
}

struct table {
    size_t rows, cols;
    const char **cells; /* NULL: the row is shorter */
};

static const char *const words[] = {
    "",
    "x",
    "12.5",
    "-0.000123",
    "\"a,b\"",
    "\"\"",
    "\"\"\"\"",
    "\"l\nl\"",
    "\"\r\n\"",
    "0123456789abcdef",
    "5\" it",
    "0123456789abcdefg",
    "a cell that is longer than one line of the cache and than the next one too: it is copied on its own"};
enum { WORDS = sizeof words / sizeof *words, PLAIN = 4 };

static inline struct table random_table(size_t rows, size_t cols, bool ragged, uint64_t *seed) {
    struct table table = {rows, cols, malloc((rows * cols + 1) * sizeof *table.cells)};
    uint64_t kinds = tpd_random(seed) % 3 == 0 ? PLAIN : WORDS;
    for (size_t r = 0; r < rows; r++) {
        size_t length = ragged && r != rows / 2 ? 1 + tpd_random(seed) % cols : cols;
        for (size_t c = 0; c < cols; c++)
            table.cells[r * cols + c] = c < length ? words[tpd_random(seed) % kinds] : NULL;
    }
    return table;
}

static inline struct text spell(const struct table *t, const char *end, bool final_newline, bool bom) {
    struct text text = {.data = NULL};
    add(&text, "\xef\xbb\xbf", bom ? 3 : 0);
    for (size_t r = 0; r < t->rows; r++) {
        for (size_t c = 0; c < t->cols && t->cells[r * t->cols + c] != NULL; c++) {
            add(&text, ",", c != 0);
            add(&text, t->cells[r * t->cols + c], strlen(t->cells[r * t->cols + c]));
        }
        if (r + 1 < t->rows || final_newline)
            add(&text, end, strlen(end));
    }
    return text;
}

static inline struct table turned(const struct table *t, const char *filler) {
    struct table other = {t->cols, t->rows, malloc((t->rows * t->cols + 1) * sizeof *other.cells)};
    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c < t->cols; c++)
            other.cells[c * t->rows + r] = t->cells[r * t->cols + c] != NULL ? t->cells[r * t->cols + c] : filler;
    return other;
}

static inline int file_of(const struct text *text, size_t before) {
    int fd = memfd_create("table", 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)before), 0);
    ck_assert_int_eq(pwrite(fd, text->data, text->count, (off_t)before), (ssize_t)text->count);
    return fd;
}

#endif
