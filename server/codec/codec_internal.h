/* codec_internal.h -- what the codecs share among themselves.
 *
 * Threads: no state anywhere; everything here works on the caller's structs.
 */
#ifndef TPD_CODEC_INTERNAL_H
#define TPD_CODEC_INTERNAL_H

#include "transposed/codec.h"

/* tpd_codec_ops_NPY and so on: one a row of codecs.def. */
#define X(NAME, name, type, suffixes, summary) extern const struct tpd_codec_ops tpd_codec_ops_##NAME;
#include "transposed/tbl/codecs.def"
#undef X

/* A codec's own struct, all zero; *decoder is NULL where it fails, with TPD_NO_MEMORY. */
enum tpd_status tpd_decoder_make(size_t bytes, struct tpd_decoder **decoder, struct tpd_error *error) TPD_CHECKED;
/* A body whose size is known and over the ceiling is refused before its first byte. */
enum tpd_status tpd_codec_body_fits(const struct tpd_decode_options *options, struct tpd_error *error) TPD_CHECKED;

/* The items of a binary body: a block of its exact size that bytes fall into as they come. `before` is how many bytes of the
 * body came first (a header): offsets in errors are the body's. */
struct tpd_item_sink {
    struct tpd_block block;
    uint64_t want, have, before;
    const char *from; /* where the size comes from, for errors: "rows x cols x batch x itemsize" */
};
/* Fails with TPD_TRUNCATED or TPD_TRAILING when the body's size is known and is another, TPD_TOO_LARGE, or as blocks do. */
enum tpd_status tpd_item_sink_open(struct tpd_item_sink *sink, const struct tpd_decode_options *options,
                                   const struct tpd_matrix *matrix, bool column_major, uint64_t before, const char *from,
                                   struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_item_sink_push(struct tpd_item_sink *sink, const void *bytes, size_t count,
                                   struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_item_sink_finish(struct tpd_item_sink *sink, struct tpd_error *error) TPD_CHECKED;

/* Adds line and column of `at` to an error. */
void tpd_text_place(struct tpd_error *error, const unsigned char *text, const unsigned char *at);

/* True when the query gives a shape and the body has exactly its size. */
bool tpd_codec_raw_fits(const struct tpd_decode_options *options);

/* Fails with TPD_BAD_PARAMETER when dtype and itemsize are both given and contradict each other. Fills both for the rest:
 * dtype (float32 without either), or TPD_DTYPE_OPAQUE with the item size. */
enum tpd_status tpd_codec_item(const struct tpd_decode_options *options, enum tpd_dtype *dtype, uint32_t *itemsize,
                               struct tpd_error *error) TPD_CHECKED;

/* Fails with TPD_SHAPE_MISMATCH when the query names a dimension and the body has another. */
enum tpd_status tpd_codec_shape_agrees(const struct tpd_decode_options *options, const struct tpd_matrix *matrix,
                                       struct tpd_error *error) TPD_CHECKED;

#endif
