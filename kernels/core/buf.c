/* buf.c -- bytes that grow by half, never past their ceiling. */
#include "transposed/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "transposed/alloc.h"

void tpd_buf_init(struct tpd_buf *buf, size_t ceiling_bytes) {
    memset(buf, 0, sizeof *buf);
    buf->ceiling_bytes = ceiling_bytes;
}

void tpd_buf_fini(struct tpd_buf *buf) {
    tpd_free(buf->data);
    tpd_buf_init(buf, buf->ceiling_bytes);
}

void tpd_buf_clear(struct tpd_buf *buf) {
    buf->bytes = 0;
    buf->status = TPD_OK;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

/* Room for count more bytes and the final NUL. */
static enum tpd_status reserve(struct tpd_buf *buf, size_t count) {
    if (buf->status != TPD_OK)
        return buf->status;
    if (count > buf->ceiling_bytes || buf->bytes > buf->ceiling_bytes - count)
        return buf->status = TPD_TOO_LARGE;
    size_t need = buf->bytes + count + 1;
    if (need <= buf->capacity_bytes)
        return TPD_OK;
    size_t capacity = buf->capacity_bytes + buf->capacity_bytes / 2;
    if (capacity < 256)
        capacity = 256;
    if (capacity - 1 > buf->ceiling_bytes)
        capacity = buf->ceiling_bytes + 1;
    if (capacity < need)
        capacity = need;
    char *data = tpd_realloc(buf->data, capacity);
    if (data == NULL)
        return buf->status = TPD_NO_MEMORY;
    buf->data = data;
    buf->capacity_bytes = capacity;
    return TPD_OK;
}

enum tpd_status tpd_buf_add(struct tpd_buf *buf, const void *bytes, size_t count) {
    if (reserve(buf, count) != TPD_OK)
        return buf->status;
    if (count != 0)
        memcpy(buf->data + buf->bytes, bytes, count);
    buf->bytes += count;
    buf->data[buf->bytes] = '\0';
    return TPD_OK;
}

enum tpd_status tpd_buf_text(struct tpd_buf *buf, const char *text) {
    return tpd_buf_add(buf, text, strlen(text));
}

enum tpd_status tpd_buf_format(struct tpd_buf *buf, const char *format, ...) {
    va_list arguments;
    /* Most pieces fit in what is left: try there first, grow and print again only when they don't. */
    for (int attempt = 0; attempt < 2; attempt++) {
        if (buf->status != TPD_OK)
            return buf->status;
        size_t room = buf->capacity_bytes - (buf->data != NULL ? buf->bytes : buf->capacity_bytes);
        va_start(arguments, format);
        int length = vsnprintf(room != 0 ? buf->data + buf->bytes : NULL, room, format, arguments);
        va_end(arguments);
        if (length < 0)
            return buf->status = TPD_INTERNAL;
        if ((size_t)length < room) {
            if ((size_t)length > buf->ceiling_bytes - buf->bytes)
                return buf->data[buf->bytes] = '\0', buf->status = TPD_TOO_LARGE;
            buf->bytes += (size_t)length;
            return TPD_OK;
        }
        if (buf->data != NULL)
            buf->data[buf->bytes] = '\0';
        if (reserve(buf, (size_t)length) != TPD_OK)
            return buf->status;
    }
    return buf->status = TPD_INTERNAL;
}

/* Length of the well-formed UTF-8 sequence at text, 0 when there is none (Unicode 15, table 3-7). */
static size_t utf8_sequence(const unsigned char *text) {
    unsigned char lead = text[0], least = 0x80, most = 0xbf;
    size_t length;
    if (lead >= 0xc2 && lead <= 0xdf)
        length = 2;
    else if (lead >= 0xe0 && lead <= 0xef) {
        length = 3;
        least = lead == 0xe0 ? 0xa0 : 0x80;
        most = lead == 0xed ? 0x9f : 0xbf;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        length = 4;
        least = lead == 0xf0 ? 0x90 : 0x80;
        most = lead == 0xf4 ? 0x8f : 0xbf;
    } else
        return 0;
    if (text[1] < least || text[1] > most)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

enum tpd_status tpd_buf_json_string(struct tpd_buf *buf, const char *text) {
    (void)tpd_buf_add(buf, "\"", 1); /* a failure sticks: the last add reports it */
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        if (*at == '"' || *at == '\\') {
            char escaped[2] = {'\\', (char)*at++};
            (void)tpd_buf_add(buf, escaped, 2);
        } else if (*at < 0x20 || *at == 0x7f) {
            (void)tpd_buf_format(buf, "\\u%04x", *at++);
        } else if (*at < 0x80) {
            (void)tpd_buf_add(buf, at++, 1);
        } else {
            size_t length = utf8_sequence(at);
            if (length != 0)
                (void)tpd_buf_add(buf, at, length);
            else
                (void)tpd_buf_add(buf, "\xef\xbf\xbd", 3);
            at += length != 0 ? length : 1;
        }
    }
    return tpd_buf_add(buf, "\"", 1);
}

char *tpd_buf_take(struct tpd_buf *buf, size_t *bytes) {
    char *data = buf->status == TPD_OK ? buf->data : NULL;
    if (bytes != NULL)
        *bytes = data != NULL ? buf->bytes : 0;
    if (data == NULL)
        tpd_free(buf->data);
    tpd_buf_init(buf, buf->ceiling_bytes);
    return data;
}
