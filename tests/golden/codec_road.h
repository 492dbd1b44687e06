/* codec_road.h -- a body's whole way without the daemon: decode, convert, transpose with the oracle, encode.
 *
 * For tests that compare bytes; blocks come from the memory in the options. On failure nothing is held.
 */
#ifndef TPD_CODEC_ROAD_H
#define TPD_CODEC_ROAD_H

#include <string.h>

#include "transposed/codec.h"
#include "transposed/transposed.h"

/* Pushes the body in pieces of at most piece bytes (0 = in one). */
static inline enum tpd_status codec_road_decode(enum tpd_codec_id in, const struct tpd_decode_options *options, const void *body,
                                                size_t bytes, size_t piece, struct tpd_payload *payload,
                                                struct tpd_error *error) {
    const struct tpd_codec_ops *ops = tpd_codec_at(in);
    struct tpd_decoder *decoder;
    enum tpd_status status = ops->open(options, &decoder, error);
    for (size_t at = 0; at < bytes && status == TPD_OK;) {
        size_t count = piece != 0 && bytes - at > piece ? piece : bytes - at;
        status = ops->push(decoder, (const char *)body + at, count, error);
        at += count;
    }
    if (status == TPD_OK)
        status = ops->finish(decoder, payload, error);
    ops->close(decoder);
    return status;
}

/* In place of the engine. `by_columns`: the answer's format is written so. */
static inline enum tpd_status codec_road_transpose(struct tpd_payload *payload, bool by_columns, struct tpd_memory *memory,
                                                   struct tpd_error *error) {
    struct tpd_matrix lies = payload->column_major ? tpd_matrix_transposed(&payload->matrix) : payload->matrix;
    if (payload->column_major == by_columns && payload->items.bytes != 0) { /* no items: nothing to move, however many rows */
        struct tpd_block out;
        enum tpd_status status = tpd_block_acquire(memory, payload->items.bytes, &out, error);
        if (status != TPD_OK)
            return status;
        tpd_transpose_ref(&lies, payload->items.data, out.data);
        tpd_block_release(&payload->items);
        payload->items = out;
    }
    payload->matrix = tpd_matrix_transposed(&payload->matrix);
    payload->column_major = by_columns;
    return TPD_OK;
}

static inline enum tpd_status codec_road(enum tpd_codec_id in, enum tpd_codec_id out, const struct tpd_decode_options *decode,
                                         const struct tpd_encode_options *encode, const void *body, size_t bytes, size_t piece,
                                         struct tpd_matrix *matrix, struct tpd_encoded *answer, struct tpd_error *error) {
    struct tpd_payload payload = {0};
    struct tpd_decode_options options = *decode;
    options.has_out = true;
    options.out = out;
    memset(answer, 0, sizeof *answer);
    enum tpd_status status = codec_road_decode(in, &options, body, bytes, piece, &payload, error);
    if (status == TPD_OK)
        status = tpd_payload_convert(&payload, out, encode, error);
    if (status == TPD_OK)
        status = codec_road_transpose(&payload, tpd_codec_at(out)->column_major, encode->memory, error);
    if (status == TPD_OK)
        status = tpd_codec_at(out)->encode(&payload, encode, answer, error);
    if (matrix != NULL)
        *matrix = payload.matrix;
    tpd_payload_release(&payload);
    return status;
}

#endif
