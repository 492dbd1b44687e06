/* api_transpose.c -- POST /v1/transpose: what to check before the body, where its bytes go, and the hand-over of the job. */
#include <string.h>
#include <strings.h>

#include "server/http/http_internal.h"
#include "transposed/clock.h"

/* Every type of the table: what is read here, and what is made. */
static const char types_after_comma[] =
#define X(NAME, name, type, suffixes, summary) ", " type
#include "transposed/tbl/codecs.def"
#undef X
    ;
#define TYPES (types_after_comma + 2)

/* An example that works wherever it is pasted. */
#define EXAMPLE "curl -d '[[1,2],[3,4]]' http://%.40s/v1/transpose"

static const char *host_of(const struct tpd_exchange *request) {
    return request->head.host != NULL ? request->head.host : "127.0.0.1:7070";
}

/* "application/gzip" and the like; TPD_PACKING_COUNT: another type. */
static enum tpd_packing packing_of(const char *type) {
    static const char application[] = "application/";
    char name[8] = "";
    size_t length = strcspn(type, "; \t"), skip = sizeof application - 1;
    if (strncasecmp(type, application, skip) != 0 || length - skip >= sizeof name)
        return TPD_PACKING_COUNT;
    memcpy(name, type + skip, length - skip);
    enum tpd_packing packing = tpd_packing_by_name(name);
    return packing == TPD_PACKING_NONE ? TPD_PACKING_COUNT : packing;
}

static enum tpd_status no_type(struct tpd_exchange *request) {
    const char *type = request->head.content_type;
    size_t bytes = strcspn(type, ";"); /* its parameters may be long, and say nothing here */
    enum tpd_packing packing = packing_of(type);
    if (packing != TPD_PACKING_COUNT)
        return tpd_fail(&request->refusal, TPD_UNSUPPORTED_TYPE,
                        "Content-Type %.*s says how the body is packed and not what is in it: send it with Content-Encoding: %s, "
                        "and the matrix's own type or none",
                        bytes < 40 ? (int)bytes : 40, type, tpd_packing_name(packing));
    return tpd_fail(&request->refusal, TPD_UNSUPPORTED_TYPE,
                    "Content-Type %.*s is not read here, these are: %s. Send the matrix as one of them, as in " EXAMPLE,
                    bytes < 40 ? (int)bytes : 40, type, TYPES, host_of(request));
}

/* Nothing said what the body is, and no format knows its first bytes. */
static enum tpd_status no_format(struct tpd_exchange *request) {
    if (request->first_bytes == 0)
        return tpd_fail_at(&request->refusal, TPD_TRUNCATED, 0, "the body is empty: send a matrix, as in " EXAMPLE,
                           host_of(request));
    enum tpd_packing packing = tpd_packing_by_magic(request->first, request->first_bytes);
    const char *said = request->head.content_encoding;
    if (packing != TPD_PACKING_NONE && said != NULL && said[0] != '\0' && tpd_packing_by_name(said) != TPD_PACKING_NONE)
        return tpd_fail(&request->refusal, TPD_UNSUPPORTED_TYPE, "the body is packed twice, with %s inside %.8s: pack it once",
                        tpd_packing_name(packing), said);
    if (packing != TPD_PACKING_NONE)
        return tpd_fail(&request->refusal, TPD_UNSUPPORTED_TYPE,
                        "the body is packed with %s and no header says so: send it with Content-Encoding: %s",
                        tpd_packing_name(packing), tpd_packing_name(packing));
    const char *guess = tpd_codec_guess(request->first, request->first_bytes);
    if (guess[0] != '\0')
        return tpd_fail(&request->refusal, TPD_UNSUPPORTED_TYPE,
                        "the body is of no format that is read here: %s. Send it as in " EXAMPLE, guess, host_of(request));
    return tpd_fail(&request->refusal, TPD_UNSUPPORTED_TYPE,
                    "the body begins like no known format; these are read: %s. Send it as one of them, as in " EXAMPLE, TYPES,
                    host_of(request));
}

/* Format in: from Content-Type, or left to the first bytes when the type says nothing (curl's --data-binary sends the form type).
 */
static enum tpd_status choose_input(struct tpd_exchange *request) {
    static const char form[] = "application/x-www-form-urlencoded";
    const char *type = request->head.content_type;
    request->sniffing = type == NULL || type[0] == '\0' ||
                        (strncasecmp(type, form, sizeof form - 1) == 0 && strchr("; \t", type[sizeof form - 1]) != NULL);
    if (request->sniffing)
        return TPD_OK;
    request->job.format_in = tpd_codec_by_type(type);
    return request->job.format_in != TPD_CODEC_COUNT ? TPD_OK : no_type(request);
}

/* Format out: from Accept. Without a format in yet, any will do to learn whether Accept allows one at all. */
static enum tpd_status choose_output(struct tpd_exchange *request) {
    enum tpd_codec_id same = request->job.format_in != TPD_CODEC_COUNT ? request->job.format_in : TPD_CODEC_RAW;
    request->job.format_out = tpd_codec_accept(request->head.accept, same);
    if (request->job.format_out != TPD_CODEC_COUNT)
        return TPD_OK;
    return tpd_fail(&request->refusal, TPD_NOT_ACCEPTABLE, "Accept \"%.80s\" allows nothing that is made here: %s",
                    request->head.accept, TYPES);
}

/* What a raw body's parameters say of the matrix, so that an impossible one is refused before its bytes come. */
static enum tpd_status check_early(struct tpd_exchange *request) {
    const struct tpd_decode_options *options = &request->decode;
    struct tpd_engine *engine = request->http->world->engine;
    if (!options->has_rows || !options->has_cols)
        return tpd_engine_check(engine, &request->job, NULL, &request->refusal);
    struct tpd_matrix matrix = {
        .rows = options->rows,
        .cols = options->cols,
        .batch = options->has_batch ? options->batch : 1,
        .dtype = options->has_dtype ? options->dtype : TPD_DTYPE_FLOAT32,
    };
    if (options->has_itemsize)
        matrix.dtype = TPD_DTYPE_OPAQUE;
    matrix.itemsize = options->has_itemsize ? options->itemsize : tpd_dtype_itemsize(matrix.dtype);
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(&matrix, &bytes, &request->refusal);
    return status != TPD_OK ? status : tpd_engine_check(engine, &request->job, &matrix, &request->refusal);
}

static enum tpd_status open_decoder(struct tpd_exchange *request) {
    request->decode.has_out = true;
    request->decode.out = request->job.format_out;
    return tpd_codec_at(request->job.format_in)->open(&request->decode, &request->job.decoder, &request->refusal);
}

static enum tpd_status read_digests(struct tpd_exchange *request) {
    request->want_digest = request->head.want_digest != NULL && tpd_digest_is_wanted(request->head.want_digest);
    if (request->head.content_digest == NULL)
        return TPD_OK;
    sha256_init(&request->sha);
    return tpd_digest_parse(request->head.content_digest, request->digest, &request->check_digest, &request->refusal);
}

static void job_done(struct tpd_job *job);

enum tpd_status tpd_transpose_begin(struct tpd_exchange *request) {
    const struct tpd_config *config = request->config;
    struct tpd_http *http = request->http;
    struct tpd_job *job = &request->job;
    struct tpd_error *error = &request->refusal;
    memcpy(job->device, "auto", sizeof "auto");
    job->tile = config->tile;
    job->done = job_done;
    job->format_in = job->format_out = TPD_CODEC_COUNT;
    enum tpd_status status = tpd_strategy_find(config->strategy, &job->strategy, error);
    if (status == TPD_OK)
        status = choose_input(request);
    if (status == TPD_OK)
        status = tpd_encoding_begin(request);
    if (status == TPD_OK)
        status = tpd_query_read(request);
    if (status == TPD_OK)
        status = choose_output(request);
    if (status == TPD_OK && atomic_load_explicit(&http->closing, memory_order_acquire))
        status = tpd_fail(error, TPD_DRAINING, "the daemon is stopping: send the request again to whoever takes its place");
    if (status == TPD_OK)
        status = read_digests(request);
    if (status == TPD_OK)
        status = check_early(request);
    request->decode.has_content_bytes = request->has_content_bytes && request->unpacker == NULL;
    request->decode.content_bytes = request->content_bytes;
    request->decode.body_most_bytes = config->max_body_bytes;
    request->decode.table.cells_most = config->max_cells;
    request->decode.memory = tpd_engine_job_memory(http->world->engine, job);
    job->encode.memory = request->decode.memory;
    job->encode.has_dtype = request->decode.has_dtype;
    job->encode.dtype = request->decode.dtype;
    return status == TPD_OK && !request->sniffing ? open_decoder(request) : status;
}

static enum tpd_status push(struct tpd_exchange *request, const void *bytes, size_t count) {
    enum tpd_status status = tpd_codec_at(request->job.format_in)->push(request->job.decoder, bytes, count, &request->refusal);
    if (status == TPD_OK)
        tpd_engine_arrive(request->http->world->engine, &request->job);
    return status;
}

/* The first bytes decide, once there are enough of them or no more. */
static enum tpd_status decide(struct tpd_exchange *request) {
    request->job.format_in = tpd_codec_sniff(request->first, request->first_bytes, &request->decode);
    if (request->job.format_in == TPD_CODEC_COUNT)
        return no_format(request);
    request->sniffing = false;
    enum tpd_status status = choose_output(request);
    if (status == TPD_OK)
        status = open_decoder(request);
    if (status == TPD_OK && request->first_bytes != 0)
        status = push(request, request->first, request->first_bytes);
    return status;
}

enum tpd_status tpd_transpose_push(struct tpd_exchange *request, const char *bytes, size_t count) {
    if (request->check_digest) /* of the body as it was sent */
        sha256_update(&request->sha, count, (const uint8_t *)bytes);
    return tpd_encoding_push(request, bytes, count);
}

enum tpd_status tpd_transpose_take(struct tpd_exchange *request, const unsigned char *bytes, size_t count) {
    if (request->sniffing) {
        size_t taken = sizeof request->first - request->first_bytes;
        if (taken > count)
            taken = count;
        memcpy(request->first + request->first_bytes, bytes, taken);
        request->first_bytes += taken;
        bytes += taken;
        count -= taken;
        if (request->first_bytes < sizeof request->first)
            return TPD_OK;
        enum tpd_status status = decide(request);
        if (status != TPD_OK)
            return status;
    }
    if (count == 0)
        return TPD_OK;
    return push(request, bytes, count);
}

static enum tpd_status complete(struct tpd_exchange *request) {
    request->job.stage_ns[TPD_STAGE_RECEIVE] = tpd_clock_ns() - request->begin_ns;
    enum tpd_status status = tpd_encoding_end(request);
    if (status == TPD_OK && request->sniffing)
        status = decide(request);
    if (status != TPD_OK)
        return status;
    if (request->check_digest) {
        unsigned char digest[SHA256_DIGEST_SIZE];
        sha256_digest(&request->sha, sizeof digest, digest);
        if (memcmp(digest, request->digest, sizeof digest) != 0)
            return tpd_fail(&request->refusal, TPD_DIGEST_MISMATCH,
                            "the sha-256 of the body that came is not the one in Content-Digest: it was changed on its way");
    }
    return TPD_OK;
}

/* In the thread that did the job: the request is ours again. Nothing of it may be touched once the connection is resumed. */
static void job_done(struct tpd_job *job) {
    struct tpd_exchange *request = job->owner;
    if (job->status == TPD_OK)
        tpd_encoding_pack(request);
    if (request->want_digest && job->status == TPD_OK) {
        struct sha256_ctx sha;
        unsigned char digest[SHA256_DIGEST_SIZE];
        sha256_init(&sha);
        sha256_update(&sha, job->answer.bytes, job->answer.start);
        sha256_digest(&sha, sizeof digest, digest);
        tpd_digest_print(digest, request->digest_text);
    }
    int before = atomic_exchange_explicit(&request->handoff, TPD_HANDOFF_DONE, memory_order_acq_rel);
    if (before == TPD_HANDOFF_ABANDONED) { /* the connection was answered and may be gone */
        tpd_request_free(request);
    } else if (before == TPD_HANDOFF_RUNNING) {
        struct tpd_http *http = request->http;
        MHD_resume_connection(request->connection->mhd);
        atomic_fetch_sub_explicit(&http->pending, 1, memory_order_release);
    }
}

static enum MHD_Result refuse(struct tpd_exchange *request, enum tpd_status status) {
    request->refusal.status = status;
    return tpd_reply_refusal(request);
}

/* Hands the job to a worker. The connection is suspended first: done() may come before submit returns. */
static enum MHD_Result hand_over(struct tpd_exchange *request) {
    struct tpd_http *http = request->http;
    struct tpd_error error = {.status = TPD_OK};
    struct MHD_Connection *mhd = request->connection->mhd;
    atomic_fetch_add(&http->pending, 1);
    if (atomic_load(&http->stopping)) { /* after the addition: whoever stops us sees one of the two */
        atomic_fetch_sub(&http->pending, 1);
        return refuse(request, tpd_fail(&request->refusal, TPD_DRAINING, "the daemon is stopping"));
    }
    MHD_suspend_connection(mhd);
    atomic_store_explicit(&request->handoff, TPD_HANDOFF_RUNNING, memory_order_release);
    enum tpd_status status = tpd_engine_submit(http->world->engine, &request->job, &error);
    if (status == TPD_OK)
        return MHD_YES; /* not ours any more */
    if (atomic_exchange_explicit(&request->handoff, TPD_HANDOFF_DONE, memory_order_acq_rel) == TPD_HANDOFF_ABANDONED) {
        tpd_request_free(request); /* the connection has another one by now, and was resumed with it */
        return MHD_YES;
    }
    request->job.status = status;
    request->job.error = error;
    MHD_resume_connection(mhd);
    atomic_fetch_sub_explicit(&http->pending, 1, memory_order_release);
    return MHD_YES;
}

static enum MHD_Result answer(struct tpd_exchange *request) {
    struct tpd_job *job = &request->job;
    if (job->status == TPD_OK)
        return tpd_reply_answer(request);
    request->refusal = job->error;
    return refuse(request, job->status);
}

enum MHD_Result tpd_api_transpose(struct tpd_exchange *request) {
    if (atomic_load_explicit(&request->handoff, memory_order_acquire) == TPD_HANDOFF_DONE)
        return answer(request);
    if (request->is_complete)
        return hand_over(request);
    enum tpd_status status = complete(request);
    if (status != TPD_OK)
        return refuse(request, status);
    struct tpd_engine *engine = request->http->world->engine;
    if (!tpd_engine_is_small(engine, &request->job, request->plain_bytes)) {
        request->is_complete = true;
        return MHD_YES;
    }
    atomic_store_explicit(&request->handoff, TPD_HANDOFF_INLINE, memory_order_relaxed);
    tpd_engine_run(engine, &request->job);
    return answer(request);
}
