/* codec_raw.c -- items alone: little-endian, row-major, no padding; the shape comes as parameters. */
#include <inttypes.h>
#include <string.h>

#include "server/codec/codec_internal.h"
#include "transposed/alloc.h"

struct tpd_decoder {
    struct tpd_matrix matrix;
    struct tpd_item_sink sink;
};

enum tpd_status tpd_codec_item(const struct tpd_decode_options *options, enum tpd_dtype *dtype, uint32_t *itemsize,
                               struct tpd_error *error) {
    *dtype = options->has_dtype ? options->dtype : options->has_itemsize ? TPD_DTYPE_OPAQUE : TPD_DTYPE_FLOAT32;
    *itemsize = options->has_itemsize ? options->itemsize : tpd_dtype_itemsize(*dtype);
    if (options->has_dtype && options->has_itemsize && options->itemsize != tpd_dtype_itemsize(options->dtype))
        return tpd_fail(error, TPD_BAD_PARAMETER,
                        "itemsize is %" PRIu32 ", but dtype %s has %" PRIu32 " bytes; give one of the two", options->itemsize,
                        tpd_dtype_name(options->dtype), tpd_dtype_itemsize(options->dtype));
    return TPD_OK;
}

static enum tpd_status raw_matrix(const struct tpd_decode_options *options, struct tpd_matrix *matrix, struct tpd_error *error) {
    if (!options->has_rows || !options->has_cols)
        return tpd_fail(error, TPD_BAD_PARAMETER,
                        "%s missing: raw items do not say their shape; give both, rows=R&cols=C in a URL or --rows R --cols C in "
                        "a command, and a dtype that is not float32 as well",
                        options->has_rows   ? "cols is"
                        : options->has_cols ? "rows is"
                                            : "rows and cols are");
    matrix->rows = options->rows;
    matrix->cols = options->cols;
    matrix->batch = options->has_batch ? options->batch : 1;
    return tpd_codec_item(options, &matrix->dtype, &matrix->itemsize, error);
}

bool tpd_codec_raw_fits(const struct tpd_decode_options *options) {
    struct tpd_matrix matrix;
    uint64_t bytes;
    return options->has_content_bytes && raw_matrix(options, &matrix, NULL) == TPD_OK &&
           tpd_matrix_bytes(&matrix, &bytes, NULL) == TPD_OK && bytes == options->content_bytes;
}

/* A shape in the request, even half of one: what is said of it then is which half is missing. */
static bool raw_sniff(const unsigned char *head, size_t head_bytes, const struct tpd_decode_options *options) {
    (void)head;
    (void)head_bytes;
    return options->has_rows || options->has_cols || options->has_itemsize;
}

static enum tpd_status raw_open(const struct tpd_decode_options *options, struct tpd_decoder **decoder, struct tpd_error *error) {
    *decoder = NULL;
    struct tpd_matrix matrix;
    enum tpd_status status = raw_matrix(options, &matrix, error);
    if (status == TPD_OK)
        status = tpd_codec_body_fits(options, error);
    if (status != TPD_OK)
        return status;
    status = tpd_decoder_make(sizeof **decoder, decoder, error);
    if (status != TPD_OK)
        return status;
    (*decoder)->matrix = matrix;
    status = tpd_item_sink_open(&(*decoder)->sink, options, &matrix, false, 0, "rows x cols x batch x itemsize", error);
    if (status != TPD_OK) {
        tpd_free(*decoder);
        *decoder = NULL;
    }
    return status;
}

static enum tpd_status raw_push(struct tpd_decoder *decoder, const void *bytes, size_t count, struct tpd_error *error) {
    return tpd_item_sink_push(&decoder->sink, bytes, count, error);
}

static bool raw_arriving(struct tpd_decoder *decoder, struct tpd_arriving *arriving) {
    *arriving = (struct tpd_arriving){decoder->matrix, false, &decoder->sink.block, decoder->sink.have};
    return true;
}

static enum tpd_status raw_finish(struct tpd_decoder *decoder, struct tpd_payload *payload, struct tpd_error *error) {
    enum tpd_status status = tpd_item_sink_finish(&decoder->sink, error);
    if (status != TPD_OK)
        return status;
    memset(payload, 0, sizeof *payload);
    payload->matrix = decoder->matrix;
    payload->format = TPD_CODEC_RAW;
    payload->items = decoder->sink.block;
    memset(&decoder->sink.block, 0, sizeof decoder->sink.block);
    return TPD_OK;
}

static void raw_close(struct tpd_decoder *decoder) {
    if (decoder == NULL)
        return;
    tpd_block_release(&decoder->sink.block);
    tpd_free(decoder);
}

static bool raw_takes(const struct tpd_payload *payload) {
    return !payload->cells && !payload->big_endian;
}

static enum tpd_status raw_encode(struct tpd_payload *payload, const struct tpd_encode_options *options,
                                  struct tpd_encoded *encoded, struct tpd_error *error) {
    (void)options;
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(&payload->matrix, &bytes, error);
    if (status != TPD_OK)
        return status;
    encoded->block = payload->items;
    encoded->start = payload->items.data;
    encoded->bytes = (size_t)bytes;
    memset(&payload->items, 0, sizeof payload->items);
    return TPD_OK;
}

const struct tpd_codec_ops tpd_codec_ops_RAW = {
    .sniff = raw_sniff,
    .open = raw_open,
    .push = raw_push,
    .arriving = raw_arriving,
    .finish = raw_finish,
    .close = raw_close,
    .takes = raw_takes,
    .encode = raw_encode,
};
