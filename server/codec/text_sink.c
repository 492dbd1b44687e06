/* text_sink.c -- see text_sink.h. */
#include "server/codec/text_sink.h"

#include <inttypes.h>
#include <string.h>

#include "server/codec/codec_internal.h"

enum {
    FIRST_BYTES = 64 * 1024 /* of a body whose size is not known; doubled as it grows */
};

static const uint64_t TEXT_BYTES_MOST = (uint64_t)1 << 40; /* a cell's offset has 40 bits */

enum tpd_status tpd_text_sink_open(struct tpd_text_sink *sink, const struct tpd_decode_options *options, size_t pad,
                                   struct tpd_error *error) {
    memset(sink, 0, sizeof *sink);
    sink->pad = pad;
    sink->most = options->body_most_bytes < TEXT_BYTES_MOST ? options->body_most_bytes : TEXT_BYTES_MOST;
    enum tpd_status status = tpd_codec_body_fits(options, error);
    if (status != TPD_OK)
        return status;
    uint64_t first = options->has_content_bytes               ? options->content_bytes
                     : options->body_most_bytes < FIRST_BYTES ? options->body_most_bytes
                                                              : FIRST_BYTES;
    if (first > sink->most)
        return tpd_fail_limit(error, TPD_TOO_LARGE, TEXT_BYTES_MOST, first, "text of more than 2^40 bytes is not read");
    if (options->has_content_bytes)
        status = tpd_block_expect(options->memory, first + pad, NULL, false, error);
    if (status == TPD_OK)
        status = tpd_block_acquire(options->memory, (size_t)first + pad, &sink->text, error);
    if (status != TPD_OK)
        return status;
    sink->text.bytes = 0;
    memset(sink->text.data, 0, pad);
    return TPD_OK;
}

enum tpd_status tpd_text_sink_push(struct tpd_text_sink *sink, const void *bytes, size_t count, struct tpd_error *error) {
    struct tpd_block *text = &sink->text;
    if (count > sink->most - text->bytes)
        return tpd_fail_limit(error, TPD_TOO_LARGE, sink->most, text->bytes + count,
                              "the body has more than %" PRIu64 " bytes, which is the limit; send less or raise max_body_bytes",
                              sink->most);
    size_t need = text->bytes + count + sink->pad;
    if (need > text->capacity_bytes) {
        uint64_t twice = 2 * (uint64_t)text->bytes, most = sink->most + sink->pad;
        uint64_t want = twice > most ? most : twice;
        enum tpd_status status = tpd_block_grow(text, want > need ? (size_t)want : need, error);
        if (status != TPD_OK)
            return status;
    }
    if (count != 0)
        memcpy(text->data + text->bytes, bytes, count);
    text->bytes += count;
    memset(text->data + text->bytes, 0, sink->pad);
    return TPD_OK;
}
