/* fuzz_csv.c -- delimited text: the first byte says in how small pieces it comes, the second which form it has. */
#include "tests/fuzz/fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static const unsigned char delimiters[] = {',', '\t', ';', ' '};
    if (bytes < 2)
        return 0;
    struct tpd_decode_options options = {.has_content_bytes = (data[0] & 1) != 0, .content_bytes = bytes - 2};
    options.table.has_delimiter = (data[1] & 1) != 0;
    options.table.delimiter = delimiters[(data[1] >> 1) & 3];
    options.table.quotes_off = (data[1] & 8) != 0;
    options.table.ragged = (data[1] & 16) != 0 ? TPD_RAGGED_PAD : TPD_RAGGED_ERROR;
    if ((data[1] & 32) != 0)
        memcpy(options.table.filler, "NA", 3);
    fuzz_codec((data[1] & 64) != 0 ? TPD_CODEC_TSV : TPD_CODEC_CSV, &options, data + 2, bytes - 2, (data[0] >> 1) & 0x1f);
    return 0;
}
