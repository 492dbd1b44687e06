/* fuzz_table.c -- the mapped road against the codec's: the same answer, or both refuse. fuzz floor: table
 *
 * Two bytes say the form as in fuzz_csv.c and whether long rows flow, a third how many threads there are, how small the windows
 * and the panels.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "server/table/table.h"
#include "tests/fuzz/fuzz_codec.h"

struct answer {
    unsigned char *bytes;
    size_t count;
};

static enum tpd_status take(void *self, const void *bytes, size_t count, struct tpd_error *error) {
    struct answer *answer = self;
    (void)error;
    answer->bytes = realloc(answer->bytes, answer->count + count + 1);
    FUZZ_CHECK(answer->bytes != NULL, "no memory");
    memcpy(answer->bytes + answer->count, bytes, count);
    answer->count += count;
    return TPD_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static int file = -1;
    if (bytes < 3 || bytes > 1 << 16)
        return 0;
    struct tpd_table_options options = {.has_delimiter = (data[1] & 1) != 0,
                                        .delimiter = ';',
                                        .quotes_off = (data[1] & 8) != 0,
                                        .ragged = (data[1] & 16) != 0 ? TPD_RAGGED_PAD : TPD_RAGGED_ERROR,
                                        .cells_most = 1 << 18};
    if ((data[1] & 32) != 0)
        memcpy(options.filler, "NA", 3);
    struct tpd_memory memory = {fuzz_acquire, fuzz_release, NULL};
    struct tpd_decode_options decode = {.table = options, .memory = &memory, .body_most_bytes = FUZZ_BLOCK_MOST};
    struct tpd_encode_options encode = {.memory = &memory};
    struct tpd_error error = {0}, other = {0};
    struct tpd_encoded wanted;
    enum tpd_status status =
        codec_road(TPD_CODEC_CSV, TPD_CODEC_CSV, &decode, &encode, data + 3, bytes - 3, 0, NULL, &wanted, &error);
    if (file < 0)
        file = memfd_create("table", 0);
    FUZZ_CHECK(ftruncate(file, (off_t)(bytes - 3)) == 0 && pwrite(file, data + 3, bytes - 3, 0) == (ssize_t)(bytes - 3),
               "no file");
    struct answer answer = {.bytes = NULL};
    uint32_t threads = 1 + (data[2] & 3);
    struct tpd_table_task task = {.fd = file,
                                  .bytes = bytes - 3,
                                  .options = &options,
                                  .delimiter = ',',
                                  .threads = threads,
                                  .chunk_bytes = 1 + (data[2] >> 2 & 3) * 20,
                                  .flow_bytes = data[1] >> 6 & 1,
                                  .memory_bytes = UINT64_MAX,
                                  .write = take,
                                  .self = &answer};
    if ((data[2] & 16) != 0)
        task.window_bytes = 4096;
    if ((data[2] & 32) != 0) /* what its tables take, and little for the answer */
        task.memory_bytes =
            (uint64_t)threads * ((2 << 20) + task.window_bytes) + (16 * threads + 2) * bytes + 1 + (data[2] >> 6) * 100;
    enum tpd_status got = tpd_table_transpose(&task, &other);
    bool is_limit = status == TPD_MEMORY_FULL || got == TPD_TOO_LARGE || status == TPD_TOO_LARGE;
    /* Of two things that are wrong, each may find the other one first: it reads in pieces of its own. */
    FUZZ_CHECK((got == TPD_OK) == (status == TPD_OK) || is_limit, "one says %s, the other %s", tpd_status_slug(status),
               other.text);
    if (got == TPD_OK && status == TPD_OK)
        FUZZ_CHECK(answer.count == wanted.bytes && (answer.count == 0 || memcmp(answer.bytes, wanted.start, wanted.bytes) == 0),
                   "the answers differ");
    else if (!is_limit && got == status)
        FUZZ_CHECK(other.offset == error.offset && other.line == error.line && other.column == error.column, "places differ: %s",
                   other.text);
    free(answer.bytes);
    tpd_encoded_release(&wanted);
    return 0;
}
