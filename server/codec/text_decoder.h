/* text_decoder.h -- what every text format decodes with: the request's options, and the body whole, until finish() reads it.
 *
 * Threads: no state.
 */
#ifndef TPD_TEXT_DECODER_H
#define TPD_TEXT_DECODER_H

#include "server/codec/codec_internal.h"

struct tpd_decoder {
    struct tpd_decode_options options;
    struct tpd_block text; /* has TPD_TEXT_PAD zero bytes behind it, once it is whole */
    uint64_t most;         /* of bytes */
    bool is_given;         /* the caller's own block, with its zeros */
};

/* Three functions of struct tpd_codec_ops. Fail with TPD_TOO_LARGE and as blocks do. */
enum tpd_status tpd_text_decoder_open(const struct tpd_decode_options *options, struct tpd_decoder **decoder,
                                      struct tpd_error *error);
enum tpd_status tpd_text_decoder_push(struct tpd_decoder *decoder, const void *bytes, size_t count, struct tpd_error *error);
void tpd_text_decoder_close(struct tpd_decoder *decoder);
/* The text is whole. */
void tpd_text_decoder_end(struct tpd_decoder *decoder);
/* The text goes to the payload, once its cells are found. */
void tpd_text_decoder_give(struct tpd_decoder *decoder, struct tpd_payload *payload);

#endif
