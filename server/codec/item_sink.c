/* item_sink.c -- binary bodies: bytes go straight into the block they stay in, and are counted. */
#include <inttypes.h>
#include <string.h>

#include "server/codec/codec_internal.h"

enum tpd_status tpd_codec_body_fits(const struct tpd_decode_options *options, struct tpd_error *error) {
    if (options->has_content_bytes && options->content_bytes > options->body_most_bytes)
        return tpd_fail_limit(error, TPD_TOO_LARGE, options->body_most_bytes, options->content_bytes,
                              "the body has %" PRIu64 " bytes, the limit is %" PRIu64 "; send less or raise max_body_bytes",
                              options->content_bytes, options->body_most_bytes);
    return TPD_OK;
}

static enum tpd_status truncated(uint64_t have, uint64_t want, const struct tpd_item_sink *sink, struct tpd_error *error) {
    return tpd_fail_at(error, TPD_TRUNCATED, have,
                       "the body has %" PRIu64 " bytes, %s asks for %" PRIu64 "; send the rest or correct the shape or dtype",
                       have, sink->from, want);
}

enum tpd_status tpd_item_sink_open(struct tpd_item_sink *sink, const struct tpd_decode_options *options,
                                   const struct tpd_matrix *matrix, bool column_major, uint64_t before, const char *from,
                                   struct tpd_error *error) {
    memset(sink, 0, sizeof *sink);
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(matrix, &bytes, error);
    if (status != TPD_OK)
        return status;
    sink->want = bytes;
    sink->before = before;
    sink->from = from;
    uint64_t all = bytes + before; /* before is a header's size, bytes at most 2^63 - 1 */
    if (all > options->body_most_bytes)
        return tpd_fail_limit(error, TPD_TOO_LARGE, options->body_most_bytes, all,
                              "%s asks for %" PRIu64 " bytes, the limit is %" PRIu64 "; send less or raise max_body_bytes", from,
                              all, options->body_most_bytes);
    if (options->has_content_bytes && options->content_bytes < all)
        return truncated(options->content_bytes, all, sink, error);
    if (options->has_content_bytes && options->content_bytes > all)
        return tpd_fail_at(error, TPD_TRAILING, all,
                           "the body has %" PRIu64 " bytes, %s asks for %" PRIu64
                           "; leave out the rest or correct the shape or dtype",
                           options->content_bytes, from, all);
    status = tpd_block_expect(options->memory, bytes, matrix, column_major, error);
    return status == TPD_OK ? tpd_block_acquire(options->memory, (size_t)bytes, &sink->block, error) : status;
}

enum tpd_status tpd_item_sink_push(struct tpd_item_sink *sink, const void *bytes, size_t count, struct tpd_error *error) {
    if (count > sink->want - sink->have)
        return tpd_fail_at(error, TPD_TRAILING, sink->before + sink->want,
                           "the body goes on after %" PRIu64
                           " bytes, which is what %s asks for; leave out the rest or correct the "
                           "shape or dtype",
                           sink->before + sink->want, sink->from);
    if (count != 0)
        memcpy(sink->block.data + sink->have, bytes, count);
    sink->have += count;
    return TPD_OK;
}

enum tpd_status tpd_item_sink_finish(struct tpd_item_sink *sink, struct tpd_error *error) {
    if (sink->have != sink->want)
        return truncated(sink->before + sink->have, sink->before + sink->want, sink, error);
    return TPD_OK;
}

enum tpd_status tpd_codec_shape_agrees(const struct tpd_decode_options *options, const struct tpd_matrix *matrix,
                                       struct tpd_error *error) {
    const struct {
        const char *name;
        bool given;
        uint64_t said, is;
    } dimensions[] = {{"rows", options->has_rows, options->rows, matrix->rows},
                      {"cols", options->has_cols, options->cols, matrix->cols},
                      {"batch", options->has_batch, options->batch, matrix->batch}};
    for (int i = 0; i < 3; i++)
        if (dimensions[i].given && dimensions[i].said != dimensions[i].is)
            return tpd_fail(error, TPD_SHAPE_MISMATCH,
                            "%s is %" PRIu64 " in the request and %" PRIu64
                            " in the body; leave it out, the body says its own shape",
                            dimensions[i].name, dimensions[i].said, dimensions[i].is);
    return TPD_OK;
}
