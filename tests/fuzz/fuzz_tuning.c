/* fuzz_tuning.c -- the tuning file: any text is read or refused with words, and what was read comes back from what is written.
 *
 * The input is read as it lies, and as a section's lines with the right hash behind them, where a damaged one would end at once.
 * fuzz floor: model
 */
#include "tests/fuzz/fuzz_codec.h"
#include "transposed/tuning.h"

static struct tpd_tuning table, back;

static void read_one(const char *text, size_t bytes) {
    struct tpd_error error = {.text = ""};
    struct tpd_buf out;
    memset(&table, 0xa5, sizeof table);
    memcpy(table.device, "D", 2);
    enum tpd_status status = tpd_tuning_read(text, bytes, &table, &error);
    if (status != TPD_OK) {
        FUZZ_CHECK(error.text[0] != '\0' && table.cells == 0 && strcmp(table.device, "D") == 0,
                   "a refusal without words, or with cells");
        return;
    }
    tpd_buf_init(&out, TPD_TUNING_TEXT_MOST);
    FUZZ_CHECK(tpd_tuning_write(&table, text, bytes, &out) == TPD_OK, "writing");
    memcpy(back.device, "D", 2);
    FUZZ_CHECK(tpd_tuning_read(out.data, out.bytes, &back, &error) == TPD_OK, "reading back");
    FUZZ_CHECK(back.cells == table.cells && strcmp(back.host, table.host) == 0, "another table");
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
        for (int i = 0; i < 2 * TPD_SHAPE_COUNT; i++) {
            const struct tpd_tuning_cell *cell = &table.cell[size][i % 2][i / 2], *other = &back.cell[size][i % 2][i / 2];
            FUZZ_CHECK(cell->bytes == other->bytes, "another cell");
            FUZZ_CHECK(cell->bytes == 0 || (cell->best.ns == other->best.ns && cell->best.strategy < TPD_STRATEGY_COUNT &&
                                            cell->best.variant < tpd_strategy_variants(cell->best.strategy)),
                       "a way that is none");
        }
    tpd_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static const char first[] = "transposed-tuning 1\n";
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    char *text = malloc(sizeof first + bytes + 64);
    FUZZ_CHECK(text != NULL, "no memory");
    read_one((const char *)data, bytes);
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    memcpy(text, first, sizeof first - 1);
    if (bytes != 0)
        memcpy(text + sizeof first - 1, data, bytes);
    size_t length = sizeof first - 1 + bytes;
    length += (size_t)snprintf(text + length, 64, "end %016llx\n", (unsigned long long)hash);
    read_one(text, length);
    free(text);
    return 0;
}
