/* fuzz_safetensors.c -- the first byte says in how small pieces the file comes, and whether the request names tensor "w". */
#include "tests/fuzz/fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (bytes < 1)
        return 0;
    struct tpd_decode_options options = {.has_content_bytes = (data[0] & 1) != 0, .content_bytes = bytes - 1};
    if ((data[0] & 0x80) != 0)
        memcpy(options.tensor, "w", 2);
    fuzz_codec(TPD_CODEC_SAFETENSORS, &options, data + 1, bytes - 1, (data[0] >> 1) & 0x3f);
    return 0;
}
