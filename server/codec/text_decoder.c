/* text_decoder.c -- text bodies: kept whole as they came, in a block that grows when nobody said how large it will be. */
#include "server/codec/text_decoder.h"

#include <inttypes.h>
#include <string.h>

#include "transposed/alloc.h"

enum {
    FIRST_BYTES = 64 * 1024 /* of a body whose size is not known; doubled as it grows */
};

/* A cell's offset has 40 bits. */
#define TEXT_BYTES_MOST ((uint64_t)1 << 40)

/* The caller's block, or one for what will come. */
static enum tpd_status begin_text(struct tpd_decoder *decoder, struct tpd_error *error) {
    const struct tpd_decode_options *options = &decoder->options;
    enum tpd_status status = tpd_codec_body_fits(options, error);
    if (status != TPD_OK)
        return status;
    decoder->most = options->body_most_bytes < TEXT_BYTES_MOST ? options->body_most_bytes : TEXT_BYTES_MOST;
    uint64_t first = options->has_content_bytes    ? options->content_bytes
                     : decoder->most < FIRST_BYTES ? decoder->most
                                                   : FIRST_BYTES;
    if (first > decoder->most)
        return tpd_fail_limit(error, TPD_TOO_LARGE, TEXT_BYTES_MOST, first,
                              "the body has %" PRIu64 " bytes, and text of more than 2^40 is not read; send it in parts", first);
    if (options->given != NULL) {
        decoder->text = *options->given;
        decoder->is_given = true;
        memset(options->given, 0, sizeof *options->given);
        return TPD_OK;
    }
    if (options->has_content_bytes)
        status = tpd_block_expect(options->memory, first + TPD_TEXT_PAD, NULL, false, error);
    if (status == TPD_OK)
        status = tpd_block_acquire(options->memory, (size_t)first + TPD_TEXT_PAD, &decoder->text, error);
    if (status == TPD_OK)
        decoder->text.bytes = 0;
    return status;
}

enum tpd_status tpd_text_decoder_open(const struct tpd_decode_options *options, struct tpd_decoder **decoder,
                                      struct tpd_error *error) {
    enum tpd_status status = tpd_decoder_make(sizeof **decoder, decoder, error);
    if (status != TPD_OK)
        return status;
    (*decoder)->options = *options;
    status = begin_text(*decoder, error);
    if (status != TPD_OK) {
        tpd_free(*decoder);
        *decoder = NULL;
    }
    return status;
}

enum tpd_status tpd_text_decoder_push(struct tpd_decoder *decoder, const void *bytes, size_t count, struct tpd_error *error) {
    struct tpd_block *text = &decoder->text;
    if (count > decoder->most - text->bytes)
        return tpd_fail_limit(error, TPD_TOO_LARGE, decoder->most, text->bytes + count,
                              "the body has more than %" PRIu64 " bytes, which is the limit; send less or raise max_body_bytes",
                              decoder->most);
    size_t need = text->bytes + count + TPD_TEXT_PAD;
    if (need > text->capacity_bytes) {
        uint64_t twice = 2 * (uint64_t)text->bytes, most = decoder->most + TPD_TEXT_PAD;
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

void tpd_text_decoder_end(struct tpd_decoder *decoder) {
    if (!decoder->is_given)
        memset(decoder->text.data + decoder->text.bytes, 0, TPD_TEXT_PAD);
}

void tpd_text_decoder_give(struct tpd_decoder *decoder, struct tpd_payload *payload) {
    payload->text = decoder->text;
    memset(&decoder->text, 0, sizeof decoder->text);
}

void tpd_text_decoder_close(struct tpd_decoder *decoder) {
    if (decoder == NULL)
        return;
    tpd_block_release(&decoder->text);
    tpd_free(decoder);
}

void tpd_text_place(struct tpd_error *error, const unsigned char *text, const unsigned char *at) {
    uint64_t line = 1;
    for (const unsigned char *next; (next = memchr(text, '\n', (size_t)(at - text))) != NULL; line++)
        text = next + 1;
    tpd_error_line(error, line, (uint64_t)(at - text) + 1);
}
