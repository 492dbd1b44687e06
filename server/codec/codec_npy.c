/* codec_npy.c -- NumPy files: a header that says the shape, then items that go straight to where they stay. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/codec/codec_internal.h"
#include "server/codec/npy_header.h"
#include "transposed/alloc.h"

struct tpd_decoder {
    struct tpd_decode_options options;
    size_t head_bytes, dict_at, data_at; /* data_at: 0 until the length is known */
    bool header_done;
    struct tpd_npy_header header;
    struct tpd_item_sink sink;
    unsigned char head[TPD_NPY_PREFIX_MOST + TPD_NPY_DICT_MOST];
};

static bool npy_sniff(const unsigned char *head, size_t head_bytes, const struct tpd_decode_options *options) {
    (void)options;
    return head_bytes >= 6 && memcmp(head, "\x93NUMPY", 6) == 0;
}

static enum tpd_status npy_open(const struct tpd_decode_options *options, struct tpd_decoder **decoder, struct tpd_error *error) {
    *decoder = NULL;
    enum tpd_status status = tpd_codec_body_fits(options, error);
    if (status == TPD_OK)
        status = tpd_decoder_make(sizeof **decoder, decoder, error);
    if (status == TPD_OK)
        (*decoder)->options = *options;
    return status;
}

/* The header is whole: the block for the items can be had. */
static enum tpd_status begin_items(struct tpd_decoder *d, struct tpd_error *error) {
    enum tpd_status status =
        tpd_npy_dict((const char *)d->head + d->dict_at, d->data_at - d->dict_at, d->dict_at, &d->header, error);
    if (status == TPD_OK)
        status = tpd_codec_shape_agrees(&d->options, &d->header.matrix, error);
    if (status != TPD_OK)
        return status;
    /* A void type of the right size and a dtype in the request: the client knows what numpy had no name for. */
    struct tpd_matrix *matrix = &d->header.matrix;
    if (matrix->dtype == TPD_DTYPE_OPAQUE && strchr(d->header.descr, 'V') != NULL && d->options.has_dtype &&
        tpd_dtype_itemsize(d->options.dtype) == matrix->itemsize)
        matrix->dtype = d->options.dtype;
    if (d->options.has_itemsize && d->options.itemsize != matrix->itemsize)
        return tpd_fail(error, TPD_BAD_PARAMETER,
                        "itemsize is %" PRIu32 " in the request, but descr '%s' has %" PRIu32 " bytes; leave it out",
                        d->options.itemsize, d->header.descr, matrix->itemsize);
    d->header_done = true;
    return tpd_item_sink_open(&d->sink, &d->options, matrix, d->header.fortran, d->data_at, "the npy header", error);
}

/* Gathers header bytes up to `upto`; what is left of the piece stays with the caller. */
static void gather(struct tpd_decoder *d, size_t upto, const unsigned char **at, size_t *count) {
    size_t take = upto - d->head_bytes < *count ? upto - d->head_bytes : *count;
    memcpy(d->head + d->head_bytes, *at, take);
    d->head_bytes += take;
    *at += take;
    *count -= take;
}

static enum tpd_status npy_push(struct tpd_decoder *decoder, const void *bytes, size_t count, struct tpd_error *error) {
    const unsigned char *at = bytes;
    while (count != 0 && decoder->data_at == 0) {
        /* Byte by byte to the length's end: version 1.0 has a shorter one, and what follows it may be all there is. */
        gather(decoder, decoder->head_bytes + 1, &at, &count);
        enum tpd_status status = tpd_npy_prefix(decoder->head, decoder->head_bytes, &decoder->dict_at, &decoder->data_at, error);
        if (status != TPD_OK)
            return status;
    }
    if (decoder->data_at == 0)
        return TPD_OK;
    if (!decoder->header_done) {
        gather(decoder, decoder->data_at, &at, &count);
        if (decoder->head_bytes < decoder->data_at)
            return TPD_OK;
        enum tpd_status status = begin_items(decoder, error);
        if (status != TPD_OK)
            return status;
    }
    return tpd_item_sink_push(&decoder->sink, at, count, error);
}

static bool npy_arriving(struct tpd_decoder *decoder, struct tpd_arriving *arriving) {
    if (!decoder->header_done)
        return false;
    *arriving = (struct tpd_arriving){decoder->header.matrix, decoder->header.fortran, &decoder->sink.block, decoder->sink.have};
    return true;
}

static enum tpd_status npy_finish(struct tpd_decoder *decoder, struct tpd_payload *payload, struct tpd_error *error) {
    if (!decoder->header_done)
        return tpd_fail_at(error, TPD_TRUNCATED, decoder->head_bytes,
                           "the body ends after %zu bytes, inside the npy header; was the file sent whole? curl does with "
                           "--data-binary @FILE, not with -d",
                           decoder->head_bytes);
    enum tpd_status status = tpd_item_sink_finish(&decoder->sink, error);
    if (status != TPD_OK)
        return status;
    memset(payload, 0, sizeof *payload);
    payload->matrix = decoder->header.matrix;
    payload->format = TPD_CODEC_NPY;
    payload->column_major = decoder->header.fortran;
    payload->big_endian = decoder->header.big_endian;
    payload->form.npy_has_batch = decoder->header.has_batch;
    memcpy(payload->form.npy_descr, decoder->header.descr, sizeof payload->form.npy_descr);
    payload->items = decoder->sink.block;
    memset(&decoder->sink.block, 0, sizeof decoder->sink.block);
    return TPD_OK;
}

static void npy_close(struct tpd_decoder *decoder) {
    if (decoder == NULL)
        return;
    tpd_block_release(&decoder->sink.block);
    tpd_free(decoder);
}

static bool npy_takes(const struct tpd_payload *payload) {
    return !payload->cells;
}

static enum tpd_status npy_encode(struct tpd_payload *payload, const struct tpd_encode_options *options,
                                  struct tpd_encoded *encoded, struct tpd_error *error) {
    (void)options;
    const struct tpd_matrix *matrix = &payload->matrix;
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(matrix, &bytes, error);
    if (status != TPD_OK)
        return status;
    char descr[TPD_FORM_DTYPE_BYTES];
    if (payload->form.npy_descr[0] != '\0')
        memcpy(descr, payload->form.npy_descr, sizeof descr);
    else if (matrix->dtype == TPD_DTYPE_OPAQUE)
        snprintf(descr, sizeof descr, "|V%" PRIu32, matrix->itemsize);
    else
        snprintf(descr, sizeof descr, "%c%s",
                 matrix->itemsize == 1 ? '|'
                 : payload->big_endian ? '>'
                                       : '<',
                 tpd_dtype_npy(matrix->dtype));
    bool has_batch = payload->form.npy_has_batch || payload->form.json_has_batch || matrix->batch != 1;
    size_t header = tpd_npy_write(matrix, has_batch, descr, payload->items.data);
    encoded->block = payload->items;
    encoded->start = payload->items.data - header;
    encoded->bytes = header + (size_t)bytes;
    memset(&payload->items, 0, sizeof payload->items);
    return TPD_OK;
}

const struct tpd_codec_ops tpd_codec_ops_NPY = {
    .sniff = npy_sniff,
    .open = npy_open,
    .push = npy_push,
    .arriving = npy_arriving,
    .finish = npy_finish,
    .close = npy_close,
    .takes = npy_takes,
    .encode = npy_encode,
};
