/* text_sink.c -- text bodies: kept whole as they came, in a block that grows when nobody said how large it will be. */
#include <inttypes.h>
#include <string.h>

#include "server/codec/codec_internal.h"

enum {
    FIRST_BYTES = 64 * 1024 /* of a body whose size is not known; doubled as it grows */
};

/* A cell's offset has 40 bits. */
#define TEXT_BYTES_MOST ((uint64_t)1 << 40)

enum tpd_status tpd_text_sink_open(struct tpd_text_sink *sink, const struct tpd_decode_options *options, const char *what,
                                   struct tpd_error *error) {
    memset(sink, 0, sizeof *sink);
    enum tpd_status status = tpd_codec_body_fits(options, error);
    if (status != TPD_OK)
        return status;
    sink->most = options->body_most_bytes < TEXT_BYTES_MOST ? options->body_most_bytes : TEXT_BYTES_MOST;
    uint64_t first = options->has_content_bytes               ? options->content_bytes
                     : options->body_most_bytes < FIRST_BYTES ? options->body_most_bytes
                                                              : FIRST_BYTES;
    if (first > sink->most)
        return tpd_fail_limit(error, TPD_TOO_LARGE, TEXT_BYTES_MOST, first, "%s text of more than 2^40 bytes is not read", what);
    if (options->given != NULL) {
        sink->block = *options->given;
        sink->is_given = true;
        memset(options->given, 0, sizeof *options->given);
        return TPD_OK;
    }
    if (options->has_content_bytes)
        status = tpd_block_expect(options->memory, first + TPD_TEXT_PAD, NULL, false, error);
    if (status == TPD_OK)
        status = tpd_block_acquire(options->memory, (size_t)first + TPD_TEXT_PAD, &sink->block, error);
    if (status == TPD_OK)
        sink->block.bytes = 0;
    return status;
}

enum tpd_status tpd_text_sink_push(struct tpd_text_sink *sink, const void *bytes, size_t count, struct tpd_error *error) {
    struct tpd_block *text = &sink->block;
    if (count > sink->most - text->bytes)
        return tpd_fail_limit(error, TPD_TOO_LARGE, sink->most, text->bytes + count,
                              "the body has more than %" PRIu64 " bytes, which is the limit; send less or raise max_body_bytes",
                              sink->most);
    size_t need = text->bytes + count + TPD_TEXT_PAD;
    if (need > text->capacity_bytes) {
        uint64_t twice = 2 * (uint64_t)text->bytes, most = sink->most + TPD_TEXT_PAD;
        uint64_t want = twice > most ? most : twice;
        enum tpd_status status = tpd_block_grow(text, want > need ? (size_t)want : need, error);
        if (status != TPD_OK)
            return status;
    }
    if (count != 0)
        memcpy(text->data + text->bytes, bytes, count);
    text->bytes += count;
    return TPD_OK;
}

void tpd_text_sink_finish(struct tpd_text_sink *sink) {
    if (!sink->is_given)
        memset(sink->block.data + sink->block.bytes, 0, TPD_TEXT_PAD);
}

void tpd_text_place(struct tpd_error *error, const unsigned char *text, const unsigned char *at) {
    uint64_t line = 1;
    for (const unsigned char *next; (next = memchr(text, '\n', (size_t)(at - text))) != NULL; line++)
        text = next + 1;
    tpd_error_line(error, line, (uint64_t)(at - text) + 1);
}
