/* text_sink.h -- a body of text, kept whole as it comes: cells point into it.
 *
 * Ceiling: the body's, and 2^40 bytes, which is as far as a cell can point. `pad` zero bytes are put behind it.
 */
#ifndef TPD_TEXT_SINK_H
#define TPD_TEXT_SINK_H

#include "transposed/codec.h"

struct tpd_text_sink {
    struct tpd_block text; /* owned; bytes: so far */
    uint64_t most;
    size_t pad;
};

/* Fails with TPD_TOO_LARGE or as blocks do. */
enum tpd_status tpd_text_sink_open(struct tpd_text_sink *sink, const struct tpd_decode_options *options, size_t pad,
                                   struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_text_sink_push(struct tpd_text_sink *sink, const void *bytes, size_t count,
                                   struct tpd_error *error) TPD_CHECKED;

#endif
