/* codec_json.c -- JSON bodies: the text is kept whole, finish() finds its cells. */
#include <string.h>

#include "server/codec/json_parse.h"
#include "server/codec/json_write.h"
#include "server/codec/text_decoder.h"

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

static enum tpd_status json_finish(struct tpd_decoder *decoder, struct tpd_payload *payload, struct tpd_error *error) {
    struct tpd_error local = {0};
    const struct tpd_block *text = &decoder->text;
    struct tpd_json_scan scan = {text->data, text->data + text->bytes, error != NULL ? error : &local};
    tpd_text_decoder_end(decoder);
    memset(payload, 0, sizeof *payload);
    enum tpd_status status = tpd_json_parse(&scan, &decoder->options, payload);
    if (status == TPD_OK)
        tpd_text_decoder_give(decoder, payload);
    return status;
}

/* Its own cells as they are; binary items that have a number in them are printed. */
static bool json_takes(const struct tpd_payload *payload) {
    return payload->cells ? payload->format == TPD_CODEC_JSON
                          : !payload->big_endian && tpd_dtype_kind(payload->matrix.dtype) != TPD_KIND_OPAQUE;
}

const struct tpd_codec_ops tpd_codec_ops_JSON = {
    .text = true,
    .sniff = json_sniff,
    .open = tpd_text_decoder_open,
    .push = tpd_text_decoder_push,
    .finish = json_finish,
    .close = tpd_text_decoder_close,
    .takes = json_takes,
    .encode = tpd_json_write,
};
