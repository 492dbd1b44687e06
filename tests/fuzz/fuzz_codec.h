/* fuzz_codec.h -- the property every codec keeps, whatever the bytes: what is accepted comes back after two transposes.
 *
 * answer = road(body) and answer2 = road(road(answer)) must be equal: the answer is the codec's own spelling of the transpose,
 * so two more transposes give the very same bytes.
 */
#ifndef TPD_FUZZ_CODEC_H
#define TPD_FUZZ_CODEC_H

#include <stdio.h>
#include <stdlib.h>

#include "tests/golden/codec_road.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum {
    FUZZ_BLOCK_MOST = 1 << 24 /* bytes a block: more is refused, as a budget would */
};

static inline enum tpd_status fuzz_acquire(struct tpd_memory *self, size_t bytes, struct tpd_block *block,
                                           struct tpd_error *error) {
    (void)self;
    if (bytes > FUZZ_BLOCK_MOST)
        return tpd_fail(error, TPD_MEMORY_FULL, "a block of %zu bytes is past the fuzzer's budget", bytes);
    return tpd_block_acquire(tpd_memory_heap(), bytes, block, error);
}

static inline void fuzz_release(struct tpd_memory *self, struct tpd_block *block) {
    (void)self;
    tpd_block_release(block);
}

#define FUZZ_CHECK(what, ...)               \
    do {                                    \
        if (!(what)) {                      \
            fprintf(stderr, "%s: ", #what); \
            fprintf(stderr, __VA_ARGS__);   \
            fputc('\n', stderr);            \
            abort();                        \
        }                                   \
    } while (0)

/* Sends body through `codec` three times and, on the way, into every other format: there nothing has to succeed, but nothing may
 * break. */
static inline void fuzz_codec(enum tpd_codec_id codec, const struct tpd_decode_options *options, const uint8_t *body,
                              size_t bytes, size_t piece) {
    struct tpd_memory memory = {fuzz_acquire, fuzz_release, NULL};
    struct tpd_decode_options first = *options, next;
    struct tpd_encode_options encode = {.memory = &memory};
    struct tpd_encoded answer[3];
    struct tpd_matrix shape[3];
    struct tpd_error error = {0};
    first.memory = &memory;
    first.body_most_bytes = FUZZ_BLOCK_MOST;
    for (int out = 0; out < TPD_CODEC_COUNT; out++)
        if (out != (int)codec) {
            encode.nonfinite = (enum tpd_nonfinite)(bytes % 3);
            (void)codec_road(codec, (enum tpd_codec_id)out, &first, &encode, body, bytes, piece, NULL, &answer[0], &error);
            tpd_encoded_release(&answer[0]);
        }
    for (int i = 0; i < 3; i++) {
        next = first;
        next.has_content_bytes = first.has_content_bytes && i == 0;
        if (codec == TPD_CODEC_RAW && i == 1) { /* the answer's shape is the other way round */
            next.rows = first.cols;
            next.cols = first.rows;
        } else if (codec != TPD_CODEC_RAW && i != 0) {
            next.has_rows = next.has_cols = next.has_batch = false;
        }
        const unsigned char *from = i == 0 ? body : answer[i - 1].start;
        enum tpd_status status = codec_road(codec, codec, &next, &encode, from, i == 0 ? bytes : answer[i - 1].bytes,
                                            i == 0 ? piece : 0, &shape[i], &answer[i], &error);
        if (i == 0 && status != TPD_OK) {
            FUZZ_CHECK(error.status == status && error.text[0] != '\0', "status %d without words", (int)status);
            return;
        }
        FUZZ_CHECK(status == TPD_OK || status == TPD_MEMORY_FULL, "its own answer is refused: %s", error.text);
        if (status != TPD_OK || (i == 0 && tpd_matrix_items(&shape[0]) == 0 && codec == TPD_CODEC_JSON)) {
            for (int j = 0; j <= i; j++)
                tpd_encoded_release(&answer[j]);
            return; /* an empty JSON array need not say its shape */
        }
    }
    FUZZ_CHECK(shape[0].rows == shape[2].rows && shape[0].cols == shape[1].rows, "shapes differ");
    FUZZ_CHECK(answer[0].bytes == answer[2].bytes && memcmp(answer[0].start, answer[2].start, answer[0].bytes) == 0,
               "two transposes are not nothing");
    for (int i = 0; i < 3; i++)
        tpd_encoded_release(&answer[i]);
}

#endif
