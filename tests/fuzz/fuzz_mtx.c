/* fuzz_mtx.c -- Matrix Market: the first byte says in how small pieces it comes. */
#include "tests/fuzz/fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (bytes < 1)
        return 0;
    struct tpd_decode_options options = {.has_content_bytes = (data[0] & 1) != 0, .content_bytes = bytes - 1};
    fuzz_codec(TPD_CODEC_MTX, &options, data + 1, bytes - 1, (data[0] >> 1) & 0x3f);
    return 0;
}
