/* status.c -- the status table's readers, and how an error gets its words. */
#include "transposed/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct row {
    const char *slug, *meaning;
    int http;
    bool retryable;
} rows[TPD_STATUS_COUNT] = {
#define X(NAME, slug, http, retryable, meaning) [TPD_##NAME] = {slug, meaning, http, retryable},
#include "transposed/tbl/status.def"
#undef X
};

/* A status that isn't one (memory gone wrong) reads as a fault of ours, never as success. */
static const struct row *row_of(enum tpd_status status) {
    return (unsigned)status < TPD_STATUS_COUNT ? &rows[status] : &rows[TPD_INTERNAL];
}

const char *tpd_status_slug(enum tpd_status status) {
    return row_of(status)->slug;
}

const char *tpd_status_meaning(enum tpd_status status) {
    return row_of(status)->meaning;
}

int tpd_status_http(enum tpd_status status) {
    return row_of(status)->http;
}

bool tpd_status_retryable(enum tpd_status status) {
    return row_of(status)->retryable;
}

enum tpd_status tpd_status_find(const char *slug) {
    int i = 0;
    while (i < TPD_STATUS_COUNT && strcmp(rows[i].slug, slug) != 0)
        i++;
    return (enum tpd_status)i;
}

/* Marks a text that did not fit, so that nobody takes half a number for a whole one. */
TPD_PRINTF(3, 0) static void fill(struct tpd_error *error, enum tpd_status status, const char *format, va_list arguments) {
    memset(error, 0, sizeof *error);
    error->status = status;
    int length = vsnprintf(error->text, sizeof error->text, format, arguments);
    if (length >= (int)sizeof error->text)
        memcpy(error->text + sizeof error->text - 4, "...", 4);
}

enum tpd_status tpd_fail(struct tpd_error *error, enum tpd_status status, const char *format, ...) {
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        fill(error, status, format, arguments);
        va_end(arguments);
    }
    return status;
}

enum tpd_status tpd_fail_at(struct tpd_error *error, enum tpd_status status, uint64_t offset, const char *format, ...) {
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        fill(error, status, format, arguments);
        va_end(arguments);
        error->has |= TPD_ERROR_HAS_OFFSET;
        error->offset = offset;
    }
    return status;
}

enum tpd_status tpd_fail_limit(struct tpd_error *error, enum tpd_status status, uint64_t limit, uint64_t actual,
                               const char *format, ...) {
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        fill(error, status, format, arguments);
        va_end(arguments);
        error->has |= TPD_ERROR_HAS_LIMIT;
        error->limit = limit;
        error->actual = actual;
    }
    return status;
}

void tpd_error_line(struct tpd_error *error, uint64_t line, uint64_t column) {
    if (error != NULL) {
        error->has |= TPD_ERROR_HAS_LINE;
        error->line = line;
        error->column = column;
    }
}
