/* json_write.h -- a payload as JSON text: cells letter for letter, binary items printed.
 *
 * Fails with TPD_NONFINITE (names row and column), TPD_UNSUPPORTED (opaque items), TPD_TOO_LARGE and as blocks do.
 */
#ifndef TPD_JSON_WRITE_H
#define TPD_JSON_WRITE_H

#include "transposed/codec.h"

/* struct tpd_codec_ops' encode. */
enum tpd_status tpd_json_write(struct tpd_payload *payload, const struct tpd_encode_options *options, struct tpd_encoded *encoded,
                               struct tpd_error *error);

#endif
