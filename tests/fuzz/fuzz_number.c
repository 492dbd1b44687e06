/* fuzz_number.c -- a cell's text: the first byte picks the dtype. What is read is written, and reads back as the same bits. */
#include "server/codec/number.h"
#include "tests/fuzz/fuzz_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (bytes < 1)
        return 0;
    enum tpd_dtype dtype = (enum tpd_dtype)(data[0] % TPD_DTYPE_OPAQUE);
    char *text = malloc(bytes); /* of its exact size, so that one byte too far is seen */
    FUZZ_CHECK(text != NULL, "no memory");
    memcpy(text, data + 1, bytes - 1);
    unsigned char item[16] = {0}, back[16] = {0};
    const char *why = NULL;
    (void)tpd_number_class(TPD_SPELLING_JSON, text, bytes - 1);
    enum tpd_status status = tpd_number_read(TPD_SPELLING_JSON, dtype, text, bytes - 1, item, &why);
    FUZZ_CHECK(status == TPD_OK || why != NULL, "no reason");
    if (status == TPD_OK) {
        char written[TPD_NUMBER_TEXT_MOST];
        size_t count = tpd_number_write(TPD_SPELLING_JSON, dtype, item, TPD_NONFINITE_STRING, written);
        FUZZ_CHECK(count != 0 && count <= sizeof written, "%zu bytes", count);
        FUZZ_CHECK(tpd_number_read(TPD_SPELLING_JSON, dtype, written, count, back, &why) == TPD_OK, "'%.*s' is refused",
                   (int)count, written);
        FUZZ_CHECK(memcmp(item, back, sizeof item) == 0, "'%.*s' reads back as other bits", (int)count, written);
    }
    free(text);
    return 0;
}
