/* reply.c -- answers: headers that every one of them has, and where their bytes come from. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "server/http/http_internal.h"
#include "transposed/alloc.h"

enum { PROBLEM_MOST_BYTES = 8192 };

static void add(struct MHD_Response *response, const char *name, const char *value) {
    (void)MHD_add_response_header(response, name,
                                  value); /* fails only without memory: an answer with a header less is still one */
}

static enum MHD_Result queue(struct tpd_exchange *request, struct MHD_Response *response, int http_status, uint64_t bytes) {
    add(response, "X-Request-Id", request->id);
    add(response, "Server", "transposed");
    char byte;
    if (recv(request->connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        request->close_after = true; /* the client has closed its side: nothing can follow, and MHD does not see it */
    if (request->close_after || atomic_load_explicit(&request->http->closing, memory_order_relaxed))
        add(response, "Connection", "close");
    request->http_status = http_status;
    request->bytes_out = request->is_head ? 0 : bytes;
    enum MHD_Result result = MHD_queue_response(request->connection->mhd, (unsigned)http_status, response);
    MHD_destroy_response(response);
    return result;
}

static void free_text(void *text) {
    tpd_free(text);
}

/* Takes text. */
static enum MHD_Result reply_text(struct tpd_exchange *request, int http_status, const char *type, char *text, size_t bytes) {
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(bytes, text, free_text, text);
    if (response == NULL) {
        tpd_free(text);
        return MHD_NO;
    }
    add(response, "Content-Type", type);
    add(response, "Cache-Control", "no-store");
    add(response, "X-Content-Type-Options", "nosniff");
    unsigned retry_after = tpd_problem_retry_after(request->refusal.status);
    if (retry_after != 0) {
        char seconds[16];
        (void)snprintf(seconds, sizeof seconds, "%u", retry_after);
        add(response, "Retry-After", seconds);
    }
    if (request->allow != NULL)
        add(response, "Allow", request->allow);
    return queue(request, response, http_status, bytes);
}

enum MHD_Result tpd_reply_refusal(struct tpd_exchange *request) {
    struct tpd_buf buf;
    size_t bytes;
    tpd_buf_init(&buf, PROBLEM_MOST_BYTES);
    (void)tpd_problem_json(&request->refusal, request->id, request->is_transpose, &buf); /* a failure leaves nothing to take */
    char *text = tpd_buf_take(&buf, &bytes);
    request->status = request->refusal.status;
    if (text == NULL)
        return MHD_NO;
    return reply_text(request, tpd_status_http(request->status), "application/problem+json", text, bytes);
}

enum MHD_Result tpd_reply_buf(struct tpd_exchange *request, int http_status, const char *type, struct tpd_buf *buf) {
    size_t bytes;
    enum tpd_status status = buf->status;
    char *text = tpd_buf_take(buf, &bytes);
    if (text == NULL) {
        (void)tpd_fail(&request->refusal, status == TPD_NO_MEMORY ? TPD_NO_MEMORY : TPD_INTERNAL,
                       "the reply could not be written: %s", tpd_status_meaning(status));
        return tpd_reply_refusal(request);
    }
    request->status = TPD_OK;
    return reply_text(request, http_status, type, text, bytes);
}

static void free_encoded(void *cls) {
    struct tpd_encoded *encoded = cls;
    tpd_encoded_release(encoded);
    tpd_free(encoded);
}

/* Written by hand: a small request's answer is due in microseconds, and printf takes two of them for this line. */
static char *put_text(char *at, const char *text) {
    size_t bytes = strlen(text);
    memcpy(at, text, bytes);
    return at + bytes;
}

static char *put_ms(char *at, uint64_t nanoseconds) {
    char digits[24];
    size_t count = 0;
    uint64_t rest = nanoseconds / 1000;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0 || count < 4); /* three behind the point and one before it */
    while (count != 0) {
        *at++ = digits[--count];
        if (count == 3)
            *at++ = '.';
    }
    return at;
}

static void add_timing(struct MHD_Response *response, const struct tpd_job *job) {
    /* A stage's name has at most 8 letters and its time 18 characters; a strategy's name fits in what the descriptions add. */
    char text[TPD_STAGE_COUNT * 40 + 80], *at = text;
    for (int stage = 0; stage < TPD_STAGE_COUNT; stage++) {
        at = put_text(at, stage == 0 ? "" : ", ");
        at = put_text(at, tpd_stage_name((enum tpd_stage)stage));
        at = put_text(at, ";dur=");
        at = put_ms(at, job->stage_ns[stage]);
        if (stage == TPD_STAGE_KERNEL && job->strategy_name != NULL && strlen(job->strategy_name) <= 64) {
            at = put_text(at, ";desc=\"");
            at = put_text(at, job->strategy_name);
            at = put_text(at, "\"");
        }
    }
    *at = '\0';
    add(response, "Server-Timing", text);
}

enum MHD_Result tpd_reply_answer(struct tpd_exchange *request) {
    struct tpd_job *job = &request->job;
    struct tpd_encoded *encoded = tpd_alloc(sizeof *encoded);
    struct MHD_Response *response = NULL;
    if (encoded != NULL) {
        /* MHD's answer outlives the request: the block moves into it. MHD reads through a plain pointer and never writes. */
        *encoded = job->answer;
        memset(&job->answer, 0, sizeof job->answer);
        void *start;
        memcpy(&start, &encoded->start, sizeof start);
        response = MHD_create_response_from_buffer_with_free_callback_cls(encoded->bytes, start, free_encoded, encoded);
        if (response == NULL)
            free_encoded(encoded);
    }
    if (response == NULL) {
        (void)tpd_fail(&request->refusal, TPD_NO_MEMORY, "the system gave no memory for the answer's headers");
        return tpd_reply_refusal(request);
    }
    char shape[72];
    const struct tpd_matrix *in = &job->matrix;
    if (in->batch == 1)
        (void)snprintf(shape, sizeof shape, "%" PRIu64 "x%" PRIu64, in->cols, in->rows);
    else
        (void)snprintf(shape, sizeof shape, "%" PRIu64 "x%" PRIu64 "x%" PRIu64, in->batch, in->cols, in->rows);
    add(response, "Content-Type", tpd_codec_type(job->format_out));
    add_timing(response, job);
    add(response, "Transposed-Shape", shape);
    add(response, "Transposed-Dtype", job->cells ? "text" : tpd_dtype_name(in->dtype));
    add(response, "Transposed-Strategy", job->strategy_name != NULL ? job->strategy_name : "none");
    add(response, "Transposed-Device", job->device_id[0] != '\0' ? job->device_id : "none");
    add(response, "Vary", "Accept-Encoding");
    if (request->packing_out != TPD_PACKING_NONE)
        add(response, "Content-Encoding", tpd_packing_name(request->packing_out));
    if (request->want_digest)
        add(response, "Content-Digest", request->digest_text);
    request->status = TPD_OK;
    return queue(request, response, 200, encoded->bytes);
}
