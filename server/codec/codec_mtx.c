/* codec_mtx.c -- Matrix Market array files. Entries lie column by column, so that a file read as rows is the transpose: to
 * another format nothing moves, and from Matrix Market to itself the cells move as they do for JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/codec/cell_write.h"
#include "server/codec/mtx_parse.h"
#include "server/codec/number_rows.h"
#include "server/codec/text_decoder.h"

static const char BANNER[] = "%%MatrixMarket";

static bool mtx_sniff(const unsigned char *head, size_t head_bytes, const struct tpd_decode_options *options) {
    (void)options;
    return head_bytes >= sizeof BANNER - 1 && strncasecmp((const char *)head, BANNER, sizeof BANNER - 1) == 0;
}

static enum tpd_status mtx_finish(struct tpd_decoder *decoder, struct tpd_payload *payload, struct tpd_error *error) {
    struct tpd_error local = {0};
    const struct tpd_block *text = &decoder->text;
    struct tpd_json_scan scan = {text->data, text->data + text->bytes, error != NULL ? error : &local};
    tpd_text_decoder_end(decoder);
    memset(payload, 0, sizeof *payload);
    enum tpd_status status = tpd_mtx_parse(&scan, &decoder->options, payload);
    if (status == TPD_OK)
        tpd_text_decoder_give(decoder, payload);
    return status;
}

static bool mtx_takes(const struct tpd_payload *payload) {
    return payload->cells
               ? payload->format == TPD_CODEC_MTX
               : !payload->big_endian && payload->matrix.batch == 1 && tpd_dtype_kind(payload->matrix.dtype) != TPD_KIND_OPAQUE;
}

static enum tpd_market_field field_of(const struct tpd_payload *payload) {
    if (payload->cells)
        return payload->form.market;
    enum tpd_dtype_kind kind = tpd_dtype_kind(payload->matrix.dtype);
    return kind == TPD_KIND_FLOAT ? TPD_MARKET_REAL : kind == TPD_KIND_COMPLEX ? TPD_MARKET_COMPLEX : TPD_MARKET_INTEGER;
}

static enum tpd_status mtx_encode(struct tpd_payload *payload, const struct tpd_encode_options *options,
                                  struct tpd_encoded *encoded, struct tpd_error *error) {
    const struct tpd_matrix *matrix = &payload->matrix;
    struct tpd_cell_rows cells = {.text = payload->text.data,
                                  .cells = (const struct tpd_cell *)(const void *)payload->items.data,
                                  .rows = tpd_matrix_items(matrix),
                                  .cols = 1,
                                  .separator = '\n',
                                  .before = "",
                                  .behind = "\n"};
    char shape[64], banner[64];
    int shape_bytes = snprintf(shape, sizeof shape, "%" PRIu64 " %" PRIu64 "\n", matrix->rows, matrix->cols);
    int banner_bytes =
        snprintf(banner, sizeof banner, "%s matrix array %s general\n", BANNER, tpd_market_name(field_of(payload)));
    size_t comments = payload->cells ? (size_t)payload->comments_bytes : 0;
    size_t head = (size_t)banner_bytes + comments + (size_t)shape_bytes;
    struct tpd_number_rows rows = {TPD_SPELLING_MARKET, options->nonfinite, 1, ' ', options->threads};
    uint64_t guess = payload->cells ? tpd_cell_rows_bytes(&cells) : tpd_number_rows_guess(&rows, payload);
    struct tpd_block block;
    enum tpd_status status = tpd_block_acquire(options->memory, head + (size_t)guess, &block, error);
    if (status != TPD_OK)
        return status;
    memcpy(block.data, banner, (size_t)banner_bytes);
    block.bytes = (size_t)banner_bytes;
    if (comments != 0) {
        memcpy(block.data + block.bytes, payload->text.data + payload->comments_at, comments);
        block.bytes += comments;
    }
    memcpy(block.data + block.bytes, shape, (size_t)shape_bytes);
    block.bytes += (size_t)shape_bytes;
    if (payload->cells)
        block.bytes = (size_t)(tpd_cell_rows_write(&cells, block.data + block.bytes) - block.data);
    else
        status = tpd_number_rows_write(&rows, payload, &block, error);
    if (status != TPD_OK) {
        tpd_block_release(&block);
        return status;
    }
    encoded->block = block;
    encoded->start = block.data;
    encoded->bytes = block.bytes;
    return TPD_OK;
}

const struct tpd_codec_ops tpd_codec_ops_MTX = {
    .column_major = true,
    .one_matrix = true,
    .text = true,
    .sniff = mtx_sniff,
    .open = tpd_text_decoder_open,
    .push = tpd_text_decoder_push,
    .finish = mtx_finish,
    .close = tpd_text_decoder_close,
    .takes = mtx_takes,
    .encode = mtx_encode,
};
