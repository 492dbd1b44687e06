/* fuzz_accept.c -- Accept, Content-Type, file names and first bytes: any text ends in a row of the table or in none. */
#include "tests/fuzz/fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char *text = malloc(bytes + 1);
    FUZZ_CHECK(text != NULL, "no memory");
    if (bytes != 0)
        memcpy(text, data, bytes);
    text[bytes] = '\0';
    struct tpd_decode_options options = {0};
    FUZZ_CHECK(tpd_codec_accept(text, TPD_CODEC_RAW) <= TPD_CODEC_COUNT, "accept");
    FUZZ_CHECK(tpd_codec_by_type(text) <= TPD_CODEC_COUNT, "type");
    FUZZ_CHECK(tpd_codec_by_path(text) <= TPD_CODEC_COUNT, "path");
    FUZZ_CHECK(tpd_codec_sniff(data, bytes < 64 ? bytes : 64, &options) <= TPD_CODEC_COUNT, "sniff");
    free(text);
    return 0;
}
