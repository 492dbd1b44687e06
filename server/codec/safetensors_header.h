/* safetensors_header.h -- the JSON that opens a safetensors file: find one tensor in it; write one.
 *
 * Pure: no allocation. Fails with TPD_MALFORMED and TPD_TRUNCATED (with the offset in the body), TPD_BAD_PARAMETER (no such
 * tensor, or several and none named), TPD_UNKNOWN_DTYPE, TPD_UNSUPPORTED (rank), TPD_SHAPE_MISMATCH, TPD_SIZE_OVERFLOW.
 */
#ifndef TPD_SAFETENSORS_HEADER_H
#define TPD_SAFETENSORS_HEADER_H

#include "server/codec/json_scan.h"

enum {
    TPD_SAFETENSORS_PREFIX = 8, /* the header's length, little-endian */
    /* bytes; a model's file has some hundred a tensor, and the format's own ceiling is 100 MB */
    TPD_SAFETENSORS_HEADER_MOST = 16 << 20,
    TPD_SAFETENSORS_ALIGNMENT = 8 /* of what follows the header, by spaces */
};

struct tpd_safetensors_header {
    struct tpd_matrix matrix;
    bool has_batch;           /* rank 3 */
    uint64_t begin, end, all; /* the tensor in what follows the header, and how long that is */
    char name[TPD_TENSOR_NAME_BYTES];
    const unsigned char *metadata; /* the value of __metadata__, in the header's text; NULL when it has none */
    size_t metadata_bytes;
};

/* The header's text lies in a block with TPD_TEXT_PAD zero bytes behind it; `wanted` is "" where the file has one tensor. */
enum tpd_status tpd_safetensors_read(const unsigned char *text, size_t bytes, const char *wanted,
                                     struct tpd_safetensors_header *header, struct tpd_error *error) TPD_CHECKED;

/* "F32" and so on; NULL when the format has none for the dtype. */
const char *tpd_safetensors_dtype(enum tpd_dtype dtype);

/* The file's bytes in front of the items, as the safetensors library writes them: at most `room`, and as many as are answered. */
size_t tpd_safetensors_write(const struct tpd_matrix *matrix, bool has_batch, uint64_t bytes, const char *name,
                             const unsigned char *metadata, size_t metadata_bytes, unsigned char *to, size_t room);

#endif
