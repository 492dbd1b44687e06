/* buf.h -- bytes that grow, up to a ceiling that is set at birth.
 *
 * For replies, headers and text that is made piece by piece. Not for matrices (block.h).
 * Owns: its bytes. Threads: one at a time.
 * Fails with: TPD_NO_MEMORY; TPD_TOO_LARGE past the ceiling. A buffer that failed once keeps failing
 * (`status`) and keeps what it had, so a writer may check once at its end.
 */
#ifndef TRANSPOSED_BUF_H
#define TRANSPOSED_BUF_H

#include "transposed/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tpd_buf {
    char *data; /* always NUL-terminated once something was written; NULL before */
    size_t bytes;
    size_t capacity_bytes;
    size_t ceiling_bytes; /* most that `bytes` may become */
    enum tpd_status status;
};

void tpd_buf_init(struct tpd_buf *buf, size_t ceiling_bytes);
void tpd_buf_fini(struct tpd_buf *buf);
void tpd_buf_clear(struct tpd_buf *buf); /* keeps the memory, forgets the failure */

enum tpd_status tpd_buf_add(struct tpd_buf *buf, const void *bytes, size_t count);
enum tpd_status tpd_buf_text(struct tpd_buf *buf, const char *text);
enum tpd_status tpd_buf_format(struct tpd_buf *buf, const char *format, ...) TPD_PRINTF(2, 3);
/* A JSON string with its quotes: escapes what JSON asks for, and replaces bytes that are not UTF-8 by U+FFFD. */
enum tpd_status tpd_buf_json_string(struct tpd_buf *buf, const char *text);

/* Returns owned (free with tpd_free); the buffer is empty afterwards. NULL when it failed or is empty. */
char *tpd_buf_take(struct tpd_buf *buf, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
