/* log.c -- builds a line on the caller's stack and hands it over in one write.
 *
 * Values are hostile (paths, header texts): what could end a line, close a quote or steer a terminal is written as an
 * escape, in both formats the same way, so that one event is one line whatever a client sends.
 */
#include "transposed/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/base/iso_time.h"
#include "server/base/utf8.h"

enum { TAIL_BYTES = 8 }; /* kept free for what closes a line that was cut: ...  quote  brace  newline */

static _Atomic int most_level = TPD_LOG_INFO;
static _Atomic int line_format = TPD_LOG_LOGFMT;

void tpd_log_configure(enum tpd_log_level most, enum tpd_log_format format) {
    atomic_store_explicit(&most_level, (int)most, memory_order_relaxed);
    atomic_store_explicit(&line_format, (int)format, memory_order_relaxed);
}

bool tpd_log_enabled(enum tpd_log_level level) {
    return (int)level <= atomic_load_explicit(&most_level, memory_order_relaxed);
}

/* All or nothing, and never into the tail. */
static bool put(struct tpd_log_line *line, const char *text, size_t bytes) {
    if (bytes > sizeof line->text - TAIL_BYTES - line->bytes)
        return false;
    memcpy(line->text + line->bytes, text, bytes);
    line->bytes += bytes;
    return true;
}

/* For the tail: the bytes that put() kept free. */
static void close_with(struct tpd_log_line *line, const char *text) {
    size_t bytes = strlen(text);
    memcpy(line->text + line->bytes, text, bytes);
    line->bytes += bytes;
}

/* The format is fixed by the line's first byte, so that a reload in the middle of a line can't mix the two. */
static bool is_json(const struct tpd_log_line *line) {
    return line->text[0] == '{';
}

/* C0, C1, DEL and the separators that some readers take for the end of a line. */
static bool needs_escape(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
}

static bool needs_quotes(const char *value) {
    if (*value == '\0')
        return true;
    uint32_t code;
    for (const unsigned char *at = (const unsigned char *)value; *at != '\0';) {
        size_t length = tpd_utf8_next(at, &code);
        if (length == 0 || code == ' ' || code == '=' || code == '"' || code == '\\' || needs_escape(code))
            return true;
        at += length;
    }
    return false;
}

static void put_quoted(struct tpd_log_line *line, const char *value) {
    bool whole = put(line, "\"", 1);
    for (const unsigned char *at = (const unsigned char *)value; whole && *at != '\0';) {
        char escaped[8];
        uint32_t code;
        size_t length = tpd_utf8_next(at, &code);
        if (length == 0)
            whole = put(line, "\\ufffd", 6);
        else if (code == '"' || code == '\\')
            whole = put(line, (const char[]){'\\', (char)code}, 2);
        else if (code == '\n' || code == '\r' || code == '\t')
            whole = put(line, code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t", 2);
        else if (needs_escape(code))
            whole = put(line, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04" PRIx32, code));
        else
            whole = put(line, (const char *)at, length);
        at += length != 0 ? length : 1;
    }
    if (whole && put(line, "\"", 1))
        return;
    close_with(line, "...\"");
    line->live = false; /* full: what comes after is left out, and end() still writes the line */
}

/* False, and the line as it was, when not even the key has room. */
static bool put_key(struct tpd_log_line *line, const char *key) {
    char text[96];
    int bytes = is_json(line) ? snprintf(text, sizeof text, "%s\"%s\":", line->bytes > 1 ? "," : "", key)
                              : snprintf(text, sizeof text, "%s%s=", line->bytes > 0 ? " " : "", key);
    return bytes > 0 && (size_t)bytes < sizeof text && (size_t)bytes + 2 <= sizeof line->text - TAIL_BYTES - line->bytes &&
           put(line, text, (size_t)bytes);
}

static void put_number(struct tpd_log_line *line, const char *key, const char *number) {
    size_t before = line->bytes;
    if (!put_key(line, key))
        return;
    if (!put(line, number, strlen(number)))
        line->bytes = before;
}

void tpd_log_begin(struct tpd_log_line *line, enum tpd_log_level level, const char *message) {
    static const char *const names[] = {"error", "warn", "info", "debug"};
    line->level = level;
    line->bytes = 0;
    line->text[0] = '\0';
    line->live = tpd_log_enabled(level);
    if (!line->live)
        return;
    char now[TPD_ISO_TIME_BYTES];
    tpd_iso_time(tpd_unix_ns(), now);
    if (atomic_load_explicit(&line_format, memory_order_relaxed) == TPD_LOG_JSON)
        (void)put(line, "{", 1);
    tpd_log_str(line, "ts", now);
    tpd_log_str(line, "level", names[level]);
    tpd_log_str(line, "msg", message);
}

void tpd_log_str(struct tpd_log_line *line, const char *key, const char *value) {
    if (!line->live || !put_key(line, key))
        return;
    if (is_json(line) || needs_quotes(value))
        put_quoted(line, value);
    else if (!put(line, value, strlen(value)))
        put_quoted(line, value); /* too long to fit: the quoted form knows how to be cut */
}

void tpd_log_uint(struct tpd_log_line *line, const char *key, uint64_t value) {
    char number[24];
    (void)snprintf(number, sizeof number, "%" PRIu64, value);
    if (line->live)
        put_number(line, key, number);
}

void tpd_log_ms(struct tpd_log_line *line, const char *key, uint64_t nanoseconds) {
    char number[32];
    uint64_t micros = nanoseconds / 1000 + (nanoseconds % 1000 >= 500);
    (void)snprintf(number, sizeof number, "%" PRIu64 ".%03u", micros / 1000, (unsigned)(micros % 1000));
    if (line->live)
        put_number(line, key, number);
}

void tpd_log_end(struct tpd_log_line *line) {
    if (line->bytes == 0)
        return;
    int saved = errno;
    close_with(line, is_json(line) ? "}\n" : "\n");
    /* A line that standard error does not take is lost: a full pipe must not stop requests, and there is nowhere to say so. */
    ssize_t written;
    do
        written = write(STDERR_FILENO, line->text, line->bytes);
    while (written < 0 && errno == EINTR);
    line->live = false;
    line->bytes = 0;
    errno = saved;
}

void tpd_log(enum tpd_log_level level, const char *format, ...) {
    if (!tpd_log_enabled(level))
        return;
    char message[2048];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    struct tpd_log_line line;
    tpd_log_begin(&line, level, message);
    tpd_log_end(&line);
}
