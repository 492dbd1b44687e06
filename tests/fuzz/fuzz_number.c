/* fuzz_number.c -- a cell's text: the first byte picks dtype and spelling. What is read is written, and reads back as the same
 * bits; among other cells it is read as it is alone. */
#include "server/codec/number.h"
#include "tests/fuzz/fuzz_codec.h"

enum {
    BEFORE = 16, /* bytes in front of a cell, from which on it is read the fast way */
    TOGETHER = 8 /* cells that are read at once */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (bytes < 1)
        return 0;
    enum tpd_dtype dtype = (enum tpd_dtype)(data[0] % TPD_DTYPE_OPAQUE);
    enum tpd_spelling spelling = (enum tpd_spelling)(data[0] / TPD_DTYPE_OPAQUE % 3);
    char *text = malloc(BEFORE + bytes - 1); /* of its exact size, so that one byte too far is seen */
    FUZZ_CHECK(text != NULL, "no memory");
    memset(text, '7', BEFORE);
    memcpy(text + BEFORE, data + 1, bytes - 1);
    unsigned char item[16] = {0}, back[16] = {0}, backs[16 * TOGETHER];
    const char *why = NULL;
    (void)tpd_number_class(spelling, text + BEFORE, bytes - 1);
    enum tpd_status status = tpd_number_read(spelling, dtype, text + BEFORE, bytes - 1, item, &why);
    FUZZ_CHECK(status == TPD_OK || why != NULL, "no reason");
    struct tpd_cell cells[TOGETHER];
    for (int i = 0; i < TOGETHER; i++)
        cells[i].place = (uint64_t)BEFORE << 24 | (bytes - 1);
    uint64_t failed;
    enum tpd_status again =
        tpd_number_read_cells(spelling, dtype, (const unsigned char *)text, cells, TOGETHER, backs, &failed, &why);
    FUZZ_CHECK(again == status, "alone %s, among others %s", tpd_status_slug(status), tpd_status_slug(again));
    for (size_t i = 0; i < TOGETHER && status == TPD_OK; i++)
        FUZZ_CHECK(memcmp(item, backs + i * tpd_dtype_itemsize(dtype), tpd_dtype_itemsize(dtype)) == 0,
                   "the fast way reads other bits");
    if (status == TPD_OK) {
        char written[TPD_NUMBER_TEXT_MOST];
        memset(back, 0, sizeof back);
        size_t count = tpd_number_write(spelling, dtype, item, TPD_NONFINITE_STRING, written);
        FUZZ_CHECK(count != 0 && count <= sizeof written, "%zu bytes", count);
        FUZZ_CHECK(tpd_number_read(spelling, dtype, written, count, back, &why) == TPD_OK, "'%.*s' is refused", (int)count,
                   written);
        FUZZ_CHECK(memcmp(item, back, sizeof item) == 0, "'%.*s' reads back as other bits", (int)count, written);
    }
    free(text);
    return 0;
}
