/* run_format.c -- which format and packing `transposed run` reads and writes: by flag, by name, by the first bytes. */
#include <string.h>

#include "server/cmd/run.h"
#include "transposed/alloc.h"

static const char formats[] = /* for sentences: each with a space before it */
#define X(NAME, name, type, suffixes, summary) " " name
#include "transposed/tbl/codecs.def"
#undef X
    ;

enum tpd_status tpd_run_set_format(const char *option, const char *text, enum tpd_codec_id *format, struct tpd_error *error) {
    *format = tpd_codec_by_name(text);
    if (*format != TPD_CODEC_COUNT)
        return TPD_OK;
    return tpd_fail(error, TPD_BAD_PARAMETER, "--%s is %.40s: it takes one of%s", option, text, formats);
}

static bool is_stream(const char *path) {
    return strcmp(path, "-") == 0;
}

/* The format that a name has once its packing's suffix is off. */
static enum tpd_codec_id format_of(const char *path) {
    char *bare = tpd_strdup(path);
    if (bare == NULL || is_stream(path)) {
        tpd_free(bare);
        return TPD_CODEC_COUNT;
    }
    bare[tpd_packing_bare(path)] = '\0';
    enum tpd_codec_id format = tpd_codec_by_path(bare);
    tpd_free(bare);
    return format;
}

/* A suffix that names no format: what should be in that file? */
enum tpd_status tpd_run_check_suffix(const struct tpd_run *run, struct tpd_error *error) {
    const char *slash = strrchr(run->out, '/'), *name = slash != NULL ? slash + 1 : run->out;
    const char *dot = strrchr(name, '.');
    if (run->job.format_out != TPD_CODEC_COUNT || is_stream(run->out) || dot == NULL || dot == name ||
        format_of(run->out) != TPD_CODEC_COUNT)
        return TPD_OK;
    return tpd_fail(error, TPD_BAD_PARAMETER, "%.100s has a suffix of no format: name one with --to:%s", run->out, formats);
}

struct first {
    unsigned char bytes[TPD_RUN_HEAD_BYTES];
    size_t count;
};

static enum tpd_status take_first(void *self, const void *bytes, size_t count, struct tpd_error *error) {
    struct first *first = self;
    size_t part = count < sizeof first->bytes - first->count ? count : sizeof first->bytes - first->count;
    (void)error;
    memcpy(first->bytes + first->count, bytes, part);
    first->count += part;
    return TPD_OK;
}

/* What a packed input begins with; as far as the chunk that is here says. */
static void unpack_first(const struct tpd_run *run, enum tpd_packing packing, struct first *first) {
    struct tpd_packer *packer;
    struct tpd_error ignored; /* the whole stream will say it again */
    first->count = 0;
    if (tpd_packer_open(packing, true, take_first, first, &packer, &ignored) != TPD_OK)
        return;
    enum tpd_status status = tpd_packer_push(packer, run->chunk, run->head_bytes, &ignored);
    (void)status;
    tpd_packer_close(packer);
}

/* The format by flag, by name, by the first bytes: in that order. Items may begin like anything: raw input is unpacked where its
 * name says so. */
static enum tpd_status choose_format(struct tpd_run *run, struct tpd_error *error) {
    struct tpd_job *job = &run->job;
    struct first first = {.count = 0};
    if (job->format_in == TPD_CODEC_COUNT)
        job->format_in = format_of(run->in);
    run->packing_in = is_stream(run->in) ? TPD_PACKING_NONE : tpd_packing_by_path(run->in);
    bool may_be_raw = job->format_in == TPD_CODEC_RAW || (job->format_in == TPD_CODEC_COUNT && run->decode.has_rows);
    if (run->packing_in == TPD_PACKING_NONE && !may_be_raw)
        run->packing_in = tpd_packing_by_magic(run->chunk, run->head_bytes);
    if (run->packing_in != TPD_PACKING_NONE)
        unpack_first(run, run->packing_in, &first);
    else
        (void)take_first(&first, run->chunk, run->head_bytes, error);
    if (job->format_in == TPD_CODEC_COUNT)
        job->format_in = tpd_codec_sniff(first.bytes, first.count, &run->decode);
    if (job->format_in == TPD_CODEC_COUNT) {
        const char *guess = tpd_codec_guess(first.bytes, first.count);
        return tpd_fail(error, TPD_UNSUPPORTED_TYPE, "%.80s: %s; name its format with --from:%s (raw needs --rows and --cols)",
                        run->source.name, guess[0] != '\0' ? guess : "no format knows its first bytes", formats);
    }
    run->packing_out = is_stream(run->out) ? TPD_PACKING_NONE : tpd_packing_by_path(run->out);
    if (job->format_out == TPD_CODEC_COUNT)
        job->format_out = format_of(run->out);
    if (job->format_out == TPD_CODEC_COUNT)
        job->format_out = job->format_in;
    return TPD_OK;
}

/* Little of a plain file, which may yet be mapped; as much as there is of a stream, and of what has to be unpacked. */
enum tpd_status tpd_run_look(struct tpd_run *run, struct tpd_error *error) {
    enum { PAGE_BYTES = 4096 };
    size_t got = 1, most = run->source.has_bytes ? PAGE_BYTES : TPD_RUN_CHUNK_BYTES;
    enum tpd_status status = TPD_OK;
    while (status == TPD_OK && run->head_bytes < TPD_RUN_HEAD_BYTES && got != 0) {
        status = tpd_source_read(&run->source, run->chunk + run->head_bytes, most - run->head_bytes, &got, error);
        run->head_bytes += status == TPD_OK ? got : 0;
    }
    /* A packed block comes out whole, once its last byte is here. */
    const enum tpd_packing packing = tpd_packing_by_magic(run->chunk, run->head_bytes);
    struct first first = {.count = 0};
    size_t tried = 0;
    while (status == TPD_OK && packing != TPD_PACKING_NONE && got != 0 && run->head_bytes < TPD_RUN_CHUNK_BYTES) {
        if (run->head_bytes >= 2 * tried) { /* not anew for every byte that comes */
            tried = run->head_bytes;
            unpack_first(run, packing, &first);
        }
        if (first.count == sizeof first.bytes)
            break;
        status = tpd_source_read(&run->source, run->chunk + run->head_bytes, TPD_RUN_CHUNK_BYTES - run->head_bytes, &got, error);
        run->head_bytes += status == TPD_OK ? got : 0;
    }
    return status == TPD_OK ? choose_format(run, error) : status;
}
