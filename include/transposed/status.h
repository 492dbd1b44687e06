/* status.h -- how every fallible call answers, and the words it leaves behind.
 *
 * A fallible function returns enum tpd_status and takes a struct tpd_error *error as its last
 * argument. NULL is allowed there. On TPD_OK the error is left untouched.
 * Threads: a tpd_error belongs to one thread at a time; the functions hold no state.
 */
#ifndef TRANSPOSED_STATUS_H
#define TRANSPOSED_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TPD_CHECKED __attribute__((warn_unused_result))
#define TPD_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))

enum tpd_status {
#define X(NAME, slug, http, retryable, meaning) TPD_##NAME,
#include "transposed/tbl/status.def"
#undef X
    TPD_STATUS_COUNT
};

/* Which of the numbers below mean something. */
enum tpd_error_has {
    TPD_ERROR_HAS_LIMIT = 1,  /* limit and actual */
    TPD_ERROR_HAS_OFFSET = 2, /* offset */
    TPD_ERROR_HAS_LINE = 4    /* line and column */
};

struct tpd_error {
    enum tpd_status status;
    unsigned has;           /* enum tpd_error_has, or-ed */
    uint64_t limit, actual; /* in the unit that text names */
    uint64_t offset;        /* byte of the body, from 0 */
    uint64_t line, column;  /* of text, from 1 */
    char text[384];         /* one sentence: the field, the value, the limit, what to do */
};

const char *tpd_status_slug(enum tpd_status status);
const char *tpd_status_meaning(enum tpd_status status);
int tpd_status_http(enum tpd_status status);
bool tpd_status_retryable(enum tpd_status status);
/* TPD_STATUS_COUNT when no status has that slug. */
enum tpd_status tpd_status_find(const char *slug);

/* Fills error (when there is one) and returns status, so that `return tpd_fail(...)` reads well. */
enum tpd_status tpd_fail(struct tpd_error *error, enum tpd_status status, const char *format, ...) TPD_PRINTF(3, 4);
/* The same with the place in the body, or with a limit and what exceeded it. */
enum tpd_status tpd_fail_at(struct tpd_error *error, enum tpd_status status, uint64_t offset, const char *format, ...)
    TPD_PRINTF(4, 5);
enum tpd_status tpd_fail_limit(struct tpd_error *error, enum tpd_status status, uint64_t limit, uint64_t actual,
                               const char *format, ...) TPD_PRINTF(5, 6);
/* Adds the place in text to an error that was filled before. */
void tpd_error_line(struct tpd_error *error, uint64_t line, uint64_t column);

#ifdef __cplusplus
}
#endif

#endif
