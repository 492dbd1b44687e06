/* pack.c -- zlib's and libzstd's streams behind one face. See pack.h. */
#include "server/pack/pack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "transposed/alloc.h"

enum {
    OUT_BYTES = 256 << 10,
    GZIP_WINDOW = 15 + 16, /* zlib's way to ask for a gzip stream */
    GZIP_LEVEL = 1,        /* text shrinks to about the same at every level; the time does not */
    ZSTD_LEVEL = 3,
    ZSTD_WINDOW_LOG_MOST = 27 /* 128 MiB: what a stranger's frame may make us hold */
};

struct tpd_packer {
    enum tpd_packing packing;
    bool unpack;
    bool is_open; /* within a packed stream, which has to end */
    bool has_any; /* a byte came */
    tpd_pack_take *take;
    void *self;
    uint64_t in_bytes;
    z_stream z;
    bool has_z;
    ZSTD_CCtx *zstd_out;
    ZSTD_DCtx *zstd_in;
    unsigned char out[OUT_BYTES];
};

const char *tpd_packing_name(enum tpd_packing packing) {
    static const char *const names[] = {"identity", "gzip", "zstd"};
    return (unsigned)packing < TPD_PACKING_COUNT ? names[packing] : "none";
}

enum tpd_packing tpd_packing_by_name(const char *name) {
    for (int i = 0; i < TPD_PACKING_COUNT; i++)
        if (strcasecmp(name, tpd_packing_name((enum tpd_packing)i)) == 0)
            return (enum tpd_packing)i;
    return strcasecmp(name, "x-gzip") == 0 ? TPD_PACKING_GZIP : TPD_PACKING_COUNT;
}

static bool ends_in(const char *path, const char *suffix) {
    size_t length = strlen(path), tail = strlen(suffix);
    return length > tail && strcasecmp(path + length - tail, suffix) == 0;
}

enum tpd_packing tpd_packing_by_path(const char *path) {
    if (ends_in(path, ".gz"))
        return TPD_PACKING_GZIP;
    return ends_in(path, ".zst") ? TPD_PACKING_ZSTD : TPD_PACKING_NONE;
}

size_t tpd_packing_bare(const char *path) {
    enum tpd_packing packing = tpd_packing_by_path(path);
    return strlen(path) - (packing == TPD_PACKING_GZIP ? 3 : packing == TPD_PACKING_ZSTD ? 4 : 0);
}

enum tpd_packing tpd_packing_by_magic(const unsigned char *head, size_t head_bytes) {
    if (head_bytes >= 3 && memcmp(head, "\x1f\x8b\x08", 3) == 0)
        return TPD_PACKING_GZIP;
    return head_bytes >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0 ? TPD_PACKING_ZSTD : TPD_PACKING_NONE;
}

/* The q of one member of the list, in thousandths; 1000 without one. */
static int quality(const char *at, const char *end) {
    const char *q = at;
    while (q < end && *q != ';')
        q++;
    while (q < end && (*q == ';' || *q == ' ' || *q == '\t'))
        q++;
    if (end - q < 2 || (*q | 0x20) != 'q' || q[1] != '=')
        return 1000;
    q += 2;
    int value = *q == '1' ? 1000 : 0, scale = 100;
    if (q + 1 < end && q[1] == '.' && value == 0)
        for (const char *digit = q + 2; digit < end && *digit >= '0' && *digit <= '9' && scale > 0; digit++, scale /= 10)
            value += (*digit - '0') * scale;
    return value;
}

enum tpd_packing tpd_packing_accept(const char *accept) {
    int liked[TPD_PACKING_COUNT] = {-1, -1, -1}, any = -1;
    for (const char *at = accept; at != NULL && *at != '\0';) {
        at += strspn(at, ", \t");
        const char *end = at + strcspn(at, ",");
        size_t length = strcspn(at, ",; \t");
        char name[16];
        if (length > 0 && length < sizeof name) {
            memcpy(name, at, length);
            name[length] = '\0';
            enum tpd_packing packing = tpd_packing_by_name(name);
            if (packing != TPD_PACKING_COUNT)
                liked[packing] = quality(at, end);
            else if (strcmp(name, "*") == 0)
                any = quality(at, end);
        }
        at = end;
    }
    enum tpd_packing best = TPD_PACKING_NONE;
    int most = liked[TPD_PACKING_NONE];
    for (int i = TPD_PACKING_ZSTD; i > TPD_PACKING_NONE; i--) { /* among equals zstd: it is the faster one */
        int likes = liked[i] >= 0 ? liked[i] : any;
        if (likes > 0 && likes > (best == TPD_PACKING_NONE ? most - 1 : most)) {
            best = (enum tpd_packing)i;
            most = likes;
        }
    }
    return best;
}

static enum tpd_status no_memory(struct tpd_error *error) {
    return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for a packed stream");
}

/* zlib's memory comes through our door, so that a test can shut it. */
static voidpf z_alloc(voidpf self, uInt count, uInt size) {
    (void)self;
    return tpd_alloc_zero(count, size);
}
static void z_free(voidpf self, voidpf memory) {
    (void)self;
    tpd_free(memory);
}

static bool open_stream(struct tpd_packer *packer) {
    if (packer->packing == TPD_PACKING_GZIP) {
        packer->z.zalloc = z_alloc;
        packer->z.zfree = z_free;
        packer->has_z = packer->unpack
                            ? inflateInit2(&packer->z, GZIP_WINDOW) == Z_OK
                            : deflateInit2(&packer->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) == Z_OK;
        return packer->has_z;
    }
    if (packer->unpack) {
        packer->zstd_in = ZSTD_createDCtx();
        return packer->zstd_in != NULL &&
               !ZSTD_isError(ZSTD_DCtx_setParameter(packer->zstd_in, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MOST));
    }
    packer->zstd_out = ZSTD_createCCtx();
    return packer->zstd_out != NULL &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(packer->zstd_out, ZSTD_c_compressionLevel, ZSTD_LEVEL)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(packer->zstd_out, ZSTD_c_checksumFlag, 1));
}

enum tpd_status tpd_packer_open(enum tpd_packing packing, bool unpack, tpd_pack_take *take, void *self,
                                struct tpd_packer **packer, struct tpd_error *error) {
    *packer = NULL;
    struct tpd_packer *made = tpd_alloc(sizeof *made);
    if (made == NULL)
        return no_memory(error);
    memset(made, 0, offsetof(struct tpd_packer, out));
    made->packing = packing;
    made->unpack = unpack;
    made->take = take;
    made->self = self;
    if (!open_stream(made)) {
        tpd_packer_close(made);
        return no_memory(error);
    }
    *packer = made;
    return TPD_OK;
}

void tpd_packer_close(struct tpd_packer *packer) {
    if (packer == NULL)
        return;
    if (packer->has_z)
        (void)(packer->unpack ? inflateEnd(&packer->z) : deflateEnd(&packer->z));
    (void)ZSTD_freeCCtx(packer->zstd_out);
    (void)ZSTD_freeDCtx(packer->zstd_in);
    tpd_free(packer);
}

static enum tpd_status give(struct tpd_packer *packer, size_t count, struct tpd_error *error) {
    return count != 0 ? packer->take(packer->self, packer->out, count, error) : TPD_OK;
}

static enum tpd_status broken(const struct tpd_packer *packer, uint64_t at, const char *why, struct tpd_error *error) {
    return tpd_fail_at(error, TPD_MALFORMED, at, "what should be a %s stream is none here: %.100s",
                       tpd_packing_name(packer->packing), why);
}

/* Members follow one another without a mark: behind the end of one, a byte more begins the next. */
static enum tpd_status inflate_some(struct tpd_packer *packer, const unsigned char *bytes, size_t count,
                                    struct tpd_error *error) {
    z_stream *z = &packer->z;
    enum tpd_status status = TPD_OK;
    z->next_in = (Bytef *)(uintptr_t)bytes; /* zlib reads it only */
    z->avail_in = (uInt)count;
    while (status == TPD_OK) {
        if (!packer->is_open) {
            if (z->avail_in == 0)
                return TPD_OK;
            (void)inflateReset(z);
            packer->is_open = true;
        }
        z->next_out = packer->out;
        z->avail_out = OUT_BYTES;
        int result = inflate(z, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return result == Z_MEM_ERROR
                       ? no_memory(error)
                       : broken(packer, packer->in_bytes - z->avail_in, z->msg != NULL ? z->msg : "data error", error);
        size_t out = OUT_BYTES - z->avail_out;
        status = give(packer, out, error);
        packer->is_open = result != Z_STREAM_END;
        if (packer->is_open && z->avail_in == 0 && z->avail_out != 0)
            return status;
    }
    return status;
}

static enum tpd_status deflate_some(struct tpd_packer *packer, const unsigned char *bytes, size_t count, int flush,
                                    struct tpd_error *error) {
    z_stream *z = &packer->z;
    z->next_in = (Bytef *)(uintptr_t)bytes;
    z->avail_in = (uInt)count;
    for (;;) {
        z->next_out = packer->out;
        z->avail_out = OUT_BYTES;
        int result = deflate(z, flush);
        enum tpd_status status = give(packer, OUT_BYTES - z->avail_out, error);
        if (status != TPD_OK || (flush == Z_FINISH ? result == Z_STREAM_END : z->avail_out != 0))
            return status;
    }
}

static enum tpd_status zstd_unpack(struct tpd_packer *packer, const unsigned char *bytes, size_t count, struct tpd_error *error) {
    ZSTD_inBuffer in = {bytes, count, 0};
    for (;;) {
        ZSTD_outBuffer out = {packer->out, OUT_BYTES, 0};
        if (in.pos == in.size && !packer->is_open)
            return TPD_OK;
        size_t left = ZSTD_decompressStream(packer->zstd_in, &out, &in);
        if (ZSTD_isError(left) && ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge)
            return tpd_fail(error, TPD_TOO_LARGE,
                            "a zstd stream's window is past the most, %u bytes: pack it with --long=%d or less, or a lower level",
                            1u << ZSTD_WINDOW_LOG_MOST, ZSTD_WINDOW_LOG_MOST);
        if (ZSTD_isError(left))
            return broken(packer, packer->in_bytes - (in.size - in.pos), ZSTD_getErrorName(left), error);
        packer->is_open = left != 0;
        enum tpd_status status = give(packer, out.pos, error);
        if (status != TPD_OK || (in.pos == in.size && out.pos < OUT_BYTES))
            return status;
    }
}

static enum tpd_status zstd_pack(struct tpd_packer *packer, const unsigned char *bytes, size_t count, ZSTD_EndDirective end,
                                 struct tpd_error *error) {
    ZSTD_inBuffer in = {bytes, count, 0};
    for (;;) {
        ZSTD_outBuffer out = {packer->out, OUT_BYTES, 0};
        size_t left = ZSTD_compressStream2(packer->zstd_out, &out, &in, end);
        if (ZSTD_isError(left))
            return no_memory(error);
        enum tpd_status status = give(packer, out.pos, error);
        if (status != TPD_OK || (end == ZSTD_e_end ? left == 0 : in.pos == in.size))
            return status;
    }
}

enum tpd_status tpd_packer_push(struct tpd_packer *packer, const void *bytes, size_t count, struct tpd_error *error) {
    enum { MOST = 1 << 30 }; /* zlib counts in 32 bits */
    enum tpd_status status = TPD_OK;
    for (const unsigned char *at = bytes; count != 0 && status == TPD_OK;) {
        size_t part = count < MOST ? count : MOST;
        packer->in_bytes += part;
        packer->has_any = true;
        if (packer->packing == TPD_PACKING_GZIP)
            status = packer->unpack ? inflate_some(packer, at, part, error) : deflate_some(packer, at, part, Z_NO_FLUSH, error);
        else
            status = packer->unpack ? zstd_unpack(packer, at, part, error) : zstd_pack(packer, at, part, ZSTD_e_continue, error);
        at += part;
        count -= part;
    }
    return status;
}

enum tpd_status tpd_packer_finish(struct tpd_packer *packer, struct tpd_error *error) {
    if (!packer->unpack)
        return packer->packing == TPD_PACKING_GZIP ? deflate_some(packer, NULL, 0, Z_FINISH, error)
                                                   : zstd_pack(packer, NULL, 0, ZSTD_e_end, error);
    if (packer->is_open || !packer->has_any)
        return tpd_fail_at(error, TPD_TRUNCATED, packer->in_bytes,
                           "the %s stream ends after %" PRIu64 " bytes, before it is complete", tpd_packing_name(packer->packing),
                           packer->in_bytes);
    return TPD_OK;
}
