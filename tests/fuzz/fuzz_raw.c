/* fuzz_raw.c -- raw items: the first five bytes are the query, the rest is the body. */
#include "tests/fuzz/fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (bytes < 5)
        return 0;
    struct tpd_decode_options options = {.has_rows = true, .has_cols = true, .rows = data[0], .cols = data[1]};
    options.has_batch = (data[2] & 1) != 0;
    options.batch = data[2] >> 1;
    options.has_itemsize = (data[3] & 1) != 0;
    options.itemsize = data[3] >> 1;
    options.has_dtype = data[4] < TPD_DTYPE_OPAQUE;
    options.dtype = options.has_dtype ? (enum tpd_dtype)data[4] : TPD_DTYPE_BOOL;
    options.has_content_bytes = (bytes & 1) != 0;
    options.content_bytes = bytes - 5;
    fuzz_codec(TPD_CODEC_RAW, &options, data + 5, bytes - 5, 1 + data[0] % 16);
    return 0;
}
