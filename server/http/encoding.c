/* encoding.c -- Content-Encoding: a packed body is unpacked as it arrives, an answer is packed by whoever did the job. */
#include <string.h>
#include <strings.h>

#include "server/http/http_internal.h"
#include "transposed/alloc.h"
#include "transposed/clock.h"

enum { PACK_LEAST_BYTES = 512 }; /* of an answer: below, its headers are more than what is saved */

static enum tpd_status take_plain(void *self, const void *bytes, size_t count, struct tpd_error *error) {
    struct tpd_exchange *request = self;
    (void)error; /* is the request's refusal, which is where the reason goes */
    request->plain_bytes += count;
    return tpd_transpose_take(request, bytes, count);
}

enum tpd_status tpd_encoding_begin(struct tpd_exchange *request) {
    const char *name = request->head.content_encoding;
    struct tpd_error *error = &request->refusal;
    request->packing_out = tpd_packing_accept(request->head.accept_encoding);
    if (name == NULL || name[0] == '\0')
        return TPD_OK;
    enum tpd_packing packing = tpd_packing_by_name(name);
    if (packing == TPD_PACKING_COUNT)
        return tpd_fail(error, TPD_UNSUPPORTED_TYPE,
                        "Content-Encoding %.40s is not undone here: send the body as it is, or packed once with gzip or zstd",
                        name);
    return packing == TPD_PACKING_NONE ? TPD_OK : tpd_packer_open(packing, true, take_plain, request, &request->unpacker, error);
}

enum tpd_status tpd_encoding_push(struct tpd_exchange *request, const void *bytes, size_t count) {
    if (request->unpacker != NULL)
        return tpd_packer_push(request->unpacker, bytes, count, &request->refusal);
    request->plain_bytes += count;
    return tpd_transpose_take(request, bytes, count);
}

enum tpd_status tpd_encoding_end(struct tpd_exchange *request) {
    enum tpd_status status = request->unpacker != NULL ? tpd_packer_finish(request->unpacker, &request->refusal) : TPD_OK;
    tpd_packer_close(request->unpacker);
    request->unpacker = NULL;
    return status;
}

static enum tpd_status add(void *self, const void *bytes, size_t count, struct tpd_error *error) {
    struct tpd_block *block = self;
    size_t need = block->bytes + count;
    enum tpd_status status = tpd_block_grow(block, need <= block->capacity_bytes ? need : need + need / 2, error);
    if (status != TPD_OK)
        return status;
    memcpy(block->data + block->bytes, bytes, count);
    block->bytes = need;
    return TPD_OK;
}

/* Where memory or gain fails, the answer stays as it is: nobody has to take a packing. */
void tpd_encoding_pack(struct tpd_exchange *request) {
    struct tpd_encoded *answer = &request->job.answer;
    struct tpd_packer *packer = NULL;
    struct tpd_block block = {.data = NULL};
    uint64_t start_ns = tpd_clock_ns();
    bool is_packed = false;
    if (request->packing_out != TPD_PACKING_NONE && answer->bytes >= PACK_LEAST_BYTES &&
        tpd_block_acquire(tpd_engine_memory(request->http->world->engine), answer->bytes / 2, &block, NULL) == TPD_OK) {
        block.bytes = 0;
        is_packed = tpd_packer_open(request->packing_out, false, add, &block, &packer, NULL) == TPD_OK &&
                    tpd_packer_push(packer, answer->start, answer->bytes, NULL) == TPD_OK &&
                    tpd_packer_finish(packer, NULL) == TPD_OK && block.bytes < answer->bytes;
        tpd_packer_close(packer);
    }
    if (!is_packed) {
        tpd_block_release(&block);
        request->packing_out = TPD_PACKING_NONE;
        return;
    }
    tpd_encoded_release(answer);
    *answer = (struct tpd_encoded){.block = block, .start = block.data, .bytes = block.bytes};
    request->job.stage_ns[TPD_STAGE_ENCODE] += tpd_clock_ns() - start_ns;
}
