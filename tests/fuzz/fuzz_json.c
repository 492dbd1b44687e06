/* fuzz_json.c -- JSON: the first byte says in how small pieces it comes, and whether the request names a dtype. */
#include "tests/fuzz/fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (bytes < 1)
        return 0;
    struct tpd_decode_options options = {.has_content_bytes = (data[0] & 1) != 0, .content_bytes = bytes - 1};
    options.has_dtype = (data[0] & 0x80) != 0;
    options.dtype = (data[0] & 0x40) != 0 ? TPD_DTYPE_COMPLEX64 : TPD_DTYPE_FLOAT16;
    fuzz_codec(TPD_CODEC_JSON, &options, data + 1, bytes - 1, (data[0] >> 1) & 0x1f);
    return 0;
}
