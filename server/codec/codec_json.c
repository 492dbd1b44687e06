/* codec_json.c -- JSON bodies: the text is kept whole, finish() finds its cells. */
#include <inttypes.h>
#include <string.h>

#include "server/codec/codec_internal.h"
#include "server/codec/json_parse.h"
#include "server/codec/json_write.h"
#include "transposed/alloc.h"

enum {
    FIRST_BYTES = 64 * 1024 /* of a body whose size is not known; doubled as it grows */
};

/* A cell's offset has 40 bits. */
#define TEXT_BYTES_MOST ((uint64_t)1 << 40)

struct tpd_decoder {
    struct tpd_decode_options options;
    struct tpd_block text;
    uint64_t most;
};

/* White space, then a bracket; and nothing in sight that no JSON has, as raw items may begin with the same byte. */
static bool json_sniff(const unsigned char *head, size_t head_bytes, const struct tpd_decode_options *options) {
    size_t i = 0;
    while (i < head_bytes && head[i] != '\0' && strchr(" \t\r\n", head[i]) != NULL)
        i++;
    if (i == head_bytes || (head[i] != '[' && head[i] != '{') || tpd_codec_raw_fits(options))
        return false;
    for (; i < head_bytes; i++)
        if (head[i] < 0x20 && head[i] != '\t' && head[i] != '\r' && head[i] != '\n')
            return false;
    return true;
}

static enum tpd_status json_open(const struct tpd_decode_options *options, struct tpd_decoder **decoder,
                                 struct tpd_error *error) {
    *decoder = NULL;
    enum tpd_status status = tpd_codec_body_fits(options, error);
    if (status != TPD_OK)
        return status;
    struct tpd_decoder *made = tpd_alloc_zero(1, sizeof *made);
    if (made == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for a decoder");
    made->options = *options;
    made->most = options->body_most_bytes < TEXT_BYTES_MOST ? options->body_most_bytes : TEXT_BYTES_MOST;
    uint64_t first = options->has_content_bytes               ? options->content_bytes
                     : options->body_most_bytes < FIRST_BYTES ? options->body_most_bytes
                                                              : FIRST_BYTES;
    if (first > made->most) {
        tpd_free(made);
        return tpd_fail_limit(error, TPD_TOO_LARGE, TEXT_BYTES_MOST, first, "JSON text of more than 2^40 bytes is not read");
    }
    if (options->has_content_bytes)
        status = tpd_block_expect(options->memory, first + TPD_JSON_PAD, NULL, false, error);
    if (status == TPD_OK)
        status = tpd_block_acquire(options->memory, (size_t)first + TPD_JSON_PAD, &made->text, error);
    if (status != TPD_OK) {
        tpd_free(made);
        return status;
    }
    made->text.bytes = 0;
    *decoder = made;
    return TPD_OK;
}

static enum tpd_status json_push(struct tpd_decoder *decoder, const void *bytes, size_t count, struct tpd_error *error) {
    struct tpd_block *text = &decoder->text;
    if (count > decoder->most - text->bytes)
        return tpd_fail_limit(error, TPD_TOO_LARGE, decoder->most, text->bytes + count,
                              "the body has more than %" PRIu64 " bytes, which is the limit; send less or raise max_body_bytes",
                              decoder->most);
    size_t need = text->bytes + count + TPD_JSON_PAD;
    if (need > text->capacity_bytes) {
        uint64_t twice = 2 * (uint64_t)text->bytes, most = decoder->most + TPD_JSON_PAD;
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

static enum tpd_status json_finish(struct tpd_decoder *decoder, struct tpd_payload *payload, struct tpd_error *error) {
    struct tpd_error local = {0};
    struct tpd_block *text = &decoder->text;
    memset(text->data + text->bytes, 0, TPD_JSON_PAD);
    struct tpd_json_scan scan = {text->data, text->data + text->bytes, error != NULL ? error : &local};
    memset(payload, 0, sizeof *payload);
    enum tpd_status status = tpd_json_parse(&scan, &decoder->options, payload);
    if (status != TPD_OK)
        return status;
    payload->text = *text;
    memset(text, 0, sizeof *text);
    return TPD_OK;
}

static void json_close(struct tpd_decoder *decoder) {
    if (decoder == NULL)
        return;
    tpd_block_release(&decoder->text);
    tpd_free(decoder);
}

/* Its own cells as they are; binary items that have a number in them are printed. */
static bool json_takes(const struct tpd_payload *payload) {
    return payload->cells ? payload->format == TPD_CODEC_JSON
                          : !payload->big_endian && tpd_dtype_kind(payload->matrix.dtype) != TPD_KIND_OPAQUE;
}

const struct tpd_codec_ops tpd_codec_ops_JSON = {
    .sniff = json_sniff,
    .open = json_open,
    .push = json_push,
    .finish = json_finish,
    .close = json_close,
    .takes = json_takes,
    .encode = tpd_json_write,
};
