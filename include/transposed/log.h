/* log.h -- one line an event, logfmt or JSON, to standard error.
 *
 * Threads: any; a line is one write(2), so lines never mix. Floors 0 to 3 never log.
 * Ceiling: 4096 bytes a line, cut at the end.
 */
#ifndef TRANSPOSED_LOG_H
#define TRANSPOSED_LOG_H

#include "transposed/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tpd_log_level { TPD_LOG_ERROR, TPD_LOG_WARN, TPD_LOG_INFO, TPD_LOG_DEBUG };
enum tpd_log_format { TPD_LOG_LOGFMT, TPD_LOG_JSON };

void tpd_log_configure(enum tpd_log_level most, enum tpd_log_format format);
bool tpd_log_enabled(enum tpd_log_level level);

/* A line under construction on the caller's stack. */
struct tpd_log_line {
    enum tpd_log_level level;
    bool live; /* false: the level is off and every call is a no-op */
    size_t bytes;
    char text[4096];
};
void tpd_log_begin(struct tpd_log_line *line, enum tpd_log_level level, const char *message);
void tpd_log_str(struct tpd_log_line *line, const char *key, const char *value);
void tpd_log_uint(struct tpd_log_line *line, const char *key, uint64_t value);
void tpd_log_ms(struct tpd_log_line *line, const char *key, uint64_t nanoseconds); /* 0.131 */
void tpd_log_end(struct tpd_log_line *line);

/* A whole line that has only words. */
void tpd_log(enum tpd_log_level level, const char *format, ...) TPD_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif

#endif
