/* codec_safetensors.c -- one tensor of a safetensors file: a JSON header that says where it lies, then items that go straight to
 * where they stay. What lies before and behind it is passed over. */
#include <inttypes.h>
#include <string.h>

#include "server/codec/codec_internal.h"
#include "server/codec/safetensors_header.h"
#include "transposed/alloc.h"

static const char NAME[] = "matrix"; /* of what had none */

struct tpd_decoder {
    struct tpd_decode_options options;
    unsigned char prefix[TPD_SAFETENSORS_PREFIX];
    size_t prefix_bytes;
    uint64_t header_bytes;
    struct tpd_block text;     /* the header; has a capacity once its length is known */
    struct tpd_block metadata; /* what is kept of it */
    bool header_done;
    struct tpd_safetensors_header header;
    struct tpd_item_sink sink;
    uint64_t passed; /* bytes behind the header that came */
};

static bool safetensors_sniff(const unsigned char *head, size_t head_bytes, const struct tpd_decode_options *options) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < TPD_SAFETENSORS_PREFIX && i < head_bytes; i++)
        bytes |= (uint64_t)head[i] << (8 * i);
    return head_bytes > TPD_SAFETENSORS_PREFIX + 1 && bytes <= TPD_SAFETENSORS_HEADER_MOST && bytes >= 2 &&
           head[TPD_SAFETENSORS_PREFIX] == '{' &&
           (head[TPD_SAFETENSORS_PREFIX + 1] == '"' || head[TPD_SAFETENSORS_PREFIX + 1] == '}') && !tpd_codec_raw_fits(options);
}

static enum tpd_status safetensors_open(const struct tpd_decode_options *options, struct tpd_decoder **decoder,
                                        struct tpd_error *error) {
    *decoder = NULL;
    enum tpd_status status = tpd_codec_body_fits(options, error);
    if (status == TPD_OK)
        status = tpd_decoder_make(sizeof **decoder, decoder, error);
    if (status == TPD_OK)
        (*decoder)->options = *options;
    return status;
}

/* The length is there: room for the header, unless the body can't hold it. */
static enum tpd_status begin_header(struct tpd_decoder *d, struct tpd_error *error) {
    for (int i = 0; i < TPD_SAFETENSORS_PREFIX; i++)
        d->header_bytes |= (uint64_t)d->prefix[i] << (8 * i);
    if (d->header_bytes > TPD_SAFETENSORS_HEADER_MOST)
        return tpd_fail_at(error, TPD_MALFORMED, 0,
                           "the header says it has %" PRIu64 " bytes, the most is %d; is this a safetensors file?",
                           d->header_bytes, TPD_SAFETENSORS_HEADER_MOST);
    if (d->options.has_content_bytes && d->options.content_bytes - TPD_SAFETENSORS_PREFIX < d->header_bytes)
        return tpd_fail_at(error, TPD_TRUNCATED, d->options.content_bytes,
                           "the body has %" PRIu64 " bytes, its header alone has %" PRIu64 " and follows the first %d",
                           d->options.content_bytes, d->header_bytes, TPD_SAFETENSORS_PREFIX);
    enum tpd_status status = tpd_block_acquire(d->options.memory, (size_t)d->header_bytes + TPD_TEXT_PAD, &d->text, error);
    d->text.bytes = 0;
    return status;
}

static enum tpd_status keep_metadata(struct tpd_decoder *d, struct tpd_error *error) {
    if (d->header.metadata == NULL)
        return TPD_OK;
    enum tpd_status status = tpd_block_acquire(d->options.memory, d->header.metadata_bytes, &d->metadata, error);
    if (status == TPD_OK)
        memcpy(d->metadata.data, d->header.metadata, d->header.metadata_bytes);
    return status;
}

/* The header is whole: the block for the items can be had. */
static enum tpd_status begin_items(struct tpd_decoder *d, struct tpd_error *error) {
    struct tpd_decode_options options = d->options;
    struct tpd_safetensors_header *header = &d->header;
    memset(d->text.data + d->header_bytes, 0, TPD_TEXT_PAD);
    enum tpd_status status = tpd_safetensors_read(d->text.data, (size_t)d->header_bytes, options.tensor, header, error);
    if (status == TPD_OK)
        status = tpd_codec_shape_agrees(&options, &header->matrix, error);
    if (status != TPD_OK)
        return status;
    uint64_t before = TPD_SAFETENSORS_PREFIX + d->header_bytes, whole;
    if (__builtin_add_overflow(before, header->all, &whole) || whole > options.body_most_bytes)
        return tpd_fail_limit(error, TPD_TOO_LARGE, options.body_most_bytes, header->all,
                              "the header asks for %" PRIu64 " bytes behind it, the limit is %" PRIu64
                              " in all; send less or raise "
                              "max_body_bytes",
                              header->all, options.body_most_bytes);
    if (options.has_content_bytes && options.content_bytes != whole)
        return tpd_fail_at(error, options.content_bytes < whole ? TPD_TRUNCATED : TPD_TRAILING,
                           options.content_bytes < whole ? options.content_bytes : whole,
                           "the body has %" PRIu64 " bytes, its header asks for %" PRIu64, options.content_bytes, whole);
    if (options.has_itemsize && options.itemsize != header->matrix.itemsize)
        return tpd_fail(error, TPD_BAD_PARAMETER,
                        "itemsize is %" PRIu32 " in the request, but the tensor's is %" PRIu32 "; leave it out", options.itemsize,
                        header->matrix.itemsize);
    status = keep_metadata(d, error);
    if (status != TPD_OK)
        return status;
    tpd_block_release(&d->text);
    d->header_done = true;
    options.has_content_bytes = false; /* looked at: the sink knows of one tensor */
    return tpd_item_sink_open(&d->sink, &options, &header->matrix, false, before + header->begin, "the safetensors header",
                              error);
}

static size_t least(size_t count, uint64_t upto) {
    return upto < count ? (size_t)upto : count;
}

/* What precedes the tensor, the tensor, what follows it. */
static enum tpd_status push_items(struct tpd_decoder *d, const unsigned char *at, size_t count, struct tpd_error *error) {
    const struct tpd_safetensors_header *header = &d->header;
    if (count > header->all - d->passed)
        return tpd_fail_at(error, TPD_TRAILING, TPD_SAFETENSORS_PREFIX + d->header_bytes + header->all,
                           "the body goes on after the %" PRIu64 " bytes that its header asks for", header->all);
    size_t before = d->passed < header->begin ? least(count, header->begin - d->passed) : 0;
    d->passed += before;
    size_t inside = d->passed < header->end ? least(count - before, header->end - d->passed) : 0;
    d->passed += count - before;
    return tpd_item_sink_push(&d->sink, at + before, inside, error);
}

static enum tpd_status safetensors_push(struct tpd_decoder *decoder, const void *bytes, size_t count, struct tpd_error *error) {
    const unsigned char *at = bytes;
    enum tpd_status status = TPD_OK;
    if (decoder->prefix_bytes < TPD_SAFETENSORS_PREFIX) {
        size_t take = least(count, TPD_SAFETENSORS_PREFIX - decoder->prefix_bytes);
        if (take != 0)
            memcpy(decoder->prefix + decoder->prefix_bytes, at, take);
        decoder->prefix_bytes += take;
        at += take;
        count -= take;
        if (decoder->prefix_bytes < TPD_SAFETENSORS_PREFIX)
            return TPD_OK;
        status = begin_header(decoder, error);
    }
    if (status == TPD_OK && !decoder->header_done) {
        size_t take = least(count, decoder->header_bytes - decoder->text.bytes);
        if (take != 0)
            memcpy(decoder->text.data + decoder->text.bytes, at, take);
        decoder->text.bytes += take;
        at += take;
        count -= take;
        if (decoder->text.bytes < decoder->header_bytes)
            return TPD_OK;
        status = begin_items(decoder, error);
    }
    return status == TPD_OK && count != 0 ? push_items(decoder, at, count, error) : status;
}

static enum tpd_status safetensors_finish(struct tpd_decoder *decoder, struct tpd_payload *payload, struct tpd_error *error) {
    uint64_t have = decoder->prefix_bytes + (decoder->header_done ? decoder->header_bytes : decoder->text.bytes);
    if (!decoder->header_done)
        return tpd_fail_at(error, TPD_TRUNCATED, have, "the body ends after %" PRIu64 " bytes, inside the safetensors header",
                           have);
    if (decoder->passed != decoder->header.all)
        return tpd_fail_at(error, TPD_TRUNCATED, have + decoder->passed,
                           "the body ends after %" PRIu64 " bytes, its header asks for %" PRIu64, have + decoder->passed,
                           have + decoder->header.all);
    enum tpd_status status = tpd_item_sink_finish(&decoder->sink, error);
    if (status != TPD_OK)
        return status;
    memset(payload, 0, sizeof *payload);
    payload->matrix = decoder->header.matrix;
    payload->format = TPD_CODEC_SAFETENSORS;
    payload->form.npy_has_batch = decoder->header.has_batch;
    memcpy(payload->form.tensor, decoder->header.name, sizeof payload->form.tensor);
    payload->items = decoder->sink.block;
    payload->text = decoder->metadata;
    memset(&decoder->sink.block, 0, sizeof decoder->sink.block);
    memset(&decoder->metadata, 0, sizeof decoder->metadata);
    return TPD_OK;
}

static void safetensors_close(struct tpd_decoder *decoder) {
    if (decoder == NULL)
        return;
    tpd_block_release(&decoder->text);
    tpd_block_release(&decoder->metadata);
    tpd_block_release(&decoder->sink.block);
    tpd_free(decoder);
}

static bool safetensors_takes(const struct tpd_payload *payload) {
    return !payload->cells && !payload->big_endian && tpd_safetensors_dtype(payload->matrix.dtype) != NULL;
}

/* The header goes into the headroom, as nearly every one fits there; with metadata that does not, items are copied behind it. */
static enum tpd_status safetensors_encode(struct tpd_payload *payload, const struct tpd_encode_options *options,
                                          struct tpd_encoded *encoded, struct tpd_error *error) {
    const struct tpd_matrix *matrix = &payload->matrix;
    const struct tpd_form *form = &payload->form;
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(matrix, &bytes, error);
    if (status != TPD_OK)
        return status;
    const char *name = form->tensor[0] != '\0' ? form->tensor : options->tensor[0] != '\0' ? options->tensor : NAME;
    bool has_batch = form->npy_has_batch || form->json_has_batch || matrix->batch != 1;
    size_t metadata = payload->format == TPD_CODEC_SAFETENSORS ? payload->text.bytes : 0;
    unsigned char head[TPD_BLOCK_HEADROOM];
    size_t header = tpd_safetensors_write(matrix, has_batch, bytes, name, payload->text.data, metadata, head, sizeof head);
    if (header <= sizeof head) {
        memcpy(payload->items.data - header, head, header);
        encoded->block = payload->items;
        encoded->start = payload->items.data - header;
        encoded->bytes = header + (size_t)bytes;
        memset(&payload->items, 0, sizeof payload->items);
        return TPD_OK;
    }
    status = tpd_block_acquire(options->memory, header + (size_t)bytes, &encoded->block, error);
    if (status != TPD_OK)
        return status;
    (void)tpd_safetensors_write(matrix, has_batch, bytes, name, payload->text.data, metadata, encoded->block.data, header);
    if (bytes != 0)
        memcpy(encoded->block.data + header, payload->items.data, (size_t)bytes);
    encoded->start = encoded->block.data;
    encoded->bytes = header + (size_t)bytes;
    return TPD_OK;
}

const struct tpd_codec_ops tpd_codec_ops_SAFETENSORS = {
    .sniff = safetensors_sniff,
    .open = safetensors_open,
    .push = safetensors_push,
    .finish = safetensors_finish,
    .close = safetensors_close,
    .takes = safetensors_takes,
    .encode = safetensors_encode,
};
