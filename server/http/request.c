/* request.c -- the state machine of a request: what MHD calls, in which order, and what each call may still do.
 *
 * First call (headers complete): everything that can be refused is refused here, but said here only when the client waits
 * for our word (Expect). Else the body is swallowed within bounds and the refusal is the answer at its end, so that the
 * client hears it and the connection stays usable; past the bounds the answer goes out on the bare socket.
 * Middle calls: bytes of the body. Last call: the handler, which may suspend the connection and be called once more.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/http/http_internal.h"
#include "transposed/alloc.h"
#include "transposed/clock.h"
#include "transposed/log.h"

enum {
    MHD_PARAMETERS_MOST = 512, /* MHD has memory for more than 1500 beside the smallest headers */
    LOG_METHOD_BYTES = 24      /* a longer method is cut in the log, where it would push out what follows */
};

void tpd_request_free(struct tpd_exchange *request) {
    if (request == NULL)
        return;
    tpd_head_fini(&request->head);
    tpd_packer_close(request->unpacker);
    tpd_job_fini(&request->job);
    tpd_buf_fini(&request->body);
    tpd_free(request);
}

/* Between two requests of one connection: forgets everything but where it belongs. */
static void clear(struct tpd_exchange *request, struct tpd_connection *connection) {
    memset(request, 0, sizeof *request);
    request->connection = connection;
    request->http = connection->listener->http;
    request->route = TPD_ROUTE_COUNT;
    tpd_job_init(&request->job);
    request->job.owner = request;
}

static struct tpd_connection *connection_of(struct MHD_Connection *mhd) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* So many parameters that MHD has no memory for them: it would drop the request without a word. Told on the bare socket. */
static void refuse_parameters(struct tpd_connection *connection) {
    struct tpd_error error = {.status = TPD_OK};
    if (!tpd_connection_move(connection, TPD_CONNECTION_IDLE, TPD_CONNECTION_LINGERING))
        return;
    (void)tpd_fail(&error, TPD_BAD_PARAMETER, TPD_MANY_PARAMETERS, TPD_PARAMETERS_MOST);
    tpd_stats_rejected(connection->listener->http->world->stats, tpd_status_slug(TPD_BAD_PARAMETER));
    tpd_connection_answer_raw(connection, "none", false, &error);
}

/* Sees the request line before MHD undoes its escapes: a NUL in the middle would hide what follows it. */
void *tpd_request_uri(void *listener, const char *uri, struct MHD_Connection *mhd) {
    (void)listener;
    struct tpd_connection *connection = connection_of(mhd);
    if (connection == NULL)
        return NULL;
    bool bad = strstr(uri, "%00") != NULL;
    unsigned pairs = 1;
    for (const unsigned char *at = (const unsigned char *)uri; *at != '\0'; at++) {
        bad = bad || *at <= ' ' || *at == 0x7f;
        pairs += *at == '&';
    }
    connection->uri_is_bad = bad;
    connection->has_many_parameters = pairs > TPD_PARAMETERS_MOST;
    if (pairs > MHD_PARAMETERS_MOST)
        refuse_parameters(connection);
    return connection;
}

/* Of a target in absolute form, as a proxy is sent it, the path (RFC 9112, 3.2.2). */
static const char *path_of(const char *url) {
    size_t scheme = strncasecmp(url, "http://", 7) == 0 ? 7 : strncasecmp(url, "https://", 8) == 0 ? 8 : 0;
    const char *path = scheme != 0 ? strchr(url + scheme, '/') : url;
    return path != NULL ? path : "/";
}

static enum tpd_status not_found(const char *url, bool is_admin, struct tpd_error *error) {
    char paths[192] = "";
    size_t at = 0;
    for (int i = 0; i < TPD_ROUTE_COUNT && at < sizeof paths; i++) {
        const struct tpd_route *route = tpd_route_at((enum tpd_route_id)i);
        if (route->admin || !is_admin)
            at += (size_t)snprintf(paths + at, sizeof paths - at, "%s%s", at == 0 ? "" : ", ", route->path);
    }
    return tpd_fail(error, TPD_NOT_FOUND, "nothing is at %.100s%s: here are %s; %s", url,
                    is_admin ? " on the admin listener" : "", paths,
                    is_admin ? "what is under /v1/ is on the data listener" : "a matrix is POSTed to /v1/transpose");
}

static enum tpd_status find_route(struct tpd_exchange *request, const char *url) {
    struct tpd_error *error = &request->refusal;
    const char *method = request->method;
    request->is_head = strcmp(method, "HEAD") == 0;
    request->route = tpd_route_find(url, request->connection->listener->is_admin);
    if (request->route == TPD_ROUTE_COUNT)
        return not_found(url, request->connection->listener->is_admin, error);
    const struct tpd_route *route = tpd_route_at(request->route);
    bool fits = ((request->is_head || strcmp(method, "GET") == 0) && (route->methods & TPD_GET)) ||
                (strcmp(method, "POST") == 0 && (route->methods & TPD_POST));
    if (fits)
        return TPD_OK;
    request->allow = tpd_route_allow(route->methods);
    return tpd_fail(error, TPD_METHOD, "%s has no %.20s: it takes %s", route->path, method, request->allow);
}

/* A body for a path that reads none is swallowed, and no more of it than of any other. */
static enum tpd_status check_size(struct tpd_exchange *request, uint64_t bytes) {
    uint64_t most = request->config->max_body_bytes;
    if (bytes <= most)
        return TPD_OK;
    return tpd_fail_limit(&request->refusal, TPD_TOO_LARGE, most, bytes,
                          "the body has %llu bytes%s, the limit is %llu; send less or raise max_body_bytes",
                          (unsigned long long)bytes, request->has_content_bytes ? "" : " or more", (unsigned long long)most);
}

static enum tpd_status examine(struct tpd_exchange *request, const char *url, const char *version) {
    enum tpd_status status = tpd_head_read(request, version);
    tpd_head_identify(request);
    if (status != TPD_OK)
        return status;
    if (request->connection->turned_away != TPD_OK) {
        request->close_after = true;
        request->connection->is_told = true;
        return request->connection->turned_away == TPD_CLIENT_LIMIT
                   ? tpd_fail_limit(
                         &request->refusal, TPD_CLIENT_LIMIT, request->config->max_connections_per_ip,
                         request->config->max_connections_per_ip + 1,
                         "this address has %llu connections open (max_connections_per_ip): close one or try again later",
                         (unsigned long long)request->config->max_connections_per_ip)
                   : tpd_fail_limit(&request->refusal, TPD_CONNECTIONS_FULL, request->config->max_connections,
                                    request->config->max_connections + 1,
                                    "all %llu connections are taken (max_connections): try again later",
                                    (unsigned long long)request->config->max_connections);
    }
    status = find_route(request, url);
    if (status != TPD_OK)
        return status;
    request->is_transpose = request->route == TPD_ROUTE_TRANSPOSE;
    status = check_size(request, request->content_bytes);
    if (status != TPD_OK || !(tpd_route_at(request->route)->methods & TPD_POST))
        return status;
    return request->is_transpose ? tpd_transpose_begin(request) : tpd_banks_begin(request);
}

/* Says the refusal past MHD and swallows what still comes, until the client has read it and closes, or the watcher does. */
static enum MHD_Result answer_and_linger(struct tpd_exchange *request) {
    struct tpd_connection *connection = request->connection;
    if (!tpd_connection_move(connection, TPD_CONNECTION_RECEIVING, TPD_CONNECTION_LINGERING))
        return MHD_NO;
    request->status = request->refusal.status;
    request->http_status = tpd_status_http(request->status);
    tpd_connection_answer_raw(connection, request->id, request->is_transpose, &request->refusal);
    return MHD_YES;
}

static enum MHD_Result begin(struct tpd_exchange *request, const char *url, const char *method, const char *version) {
    struct tpd_connection *connection = request->connection;
    struct tpd_http *http = request->http;
    struct timespec wall;
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    request->begun = true;
    request->begin_ns = tpd_clock_ns();
    request->at_unix_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec;
    request->config = atomic_load_explicit(&http->world->config, memory_order_acquire);
    request->method = method;
    url = path_of(url);
    (void)snprintf(request->path, sizeof request->path, "%s", url);
    atomic_fetch_add_explicit(&http->in_flight, 1, memory_order_relaxed);
    tpd_stats_begin(http->world->stats);
    request->counted = true;
    atomic_store_explicit(&connection->received_bytes, 0, memory_order_relaxed);
    enum tpd_status status = examine(request, url, version);
    request->refusal.status = status;
    if (!tpd_connection_move(connection, TPD_CONNECTION_IDLE, TPD_CONNECTION_RECEIVING))
        return MHD_NO;
    if (status == TPD_OK)
        return MHD_YES;
    if (status == TPD_FRAMING && request->close_after)
        return answer_and_linger(request);
    if (!request->has_body)
        return MHD_YES;
    if (request->head.expect != NULL && strcasecmp(request->head.expect, "100-continue") == 0) {
        request->close_after = true; /* MHD can't know whether the body follows after all */
        return tpd_connection_move(connection, TPD_CONNECTION_RECEIVING, TPD_CONNECTION_WORKING) ? tpd_reply_refusal(request)
                                                                                                 : MHD_NO;
    }
    if (request->has_content_bytes && request->content_bytes > TPD_DRAIN_MOST_BYTES)
        return answer_and_linger(request);
    return MHD_YES;
}

static enum MHD_Result body(struct tpd_exchange *request, const char *bytes, size_t count) {
    struct tpd_connection *connection = request->connection;
    request->received_bytes += count;
    atomic_store_explicit(&connection->received_bytes, request->received_bytes, memory_order_relaxed);
    enum tpd_connection_state state = atomic_load_explicit(&connection->state, memory_order_acquire) & 0xff;
    if (state != TPD_CONNECTION_RECEIVING)
        return state == TPD_CONNECTION_LINGERING ? MHD_YES : MHD_NO;
    if (request->refusal.status == TPD_OK) {
        enum tpd_status status = check_size(request, request->received_bytes);
        if (status == TPD_OK && request->is_transpose)
            status = tpd_transpose_push(request, bytes, count);
        else if (status == TPD_OK && request->route == TPD_ROUTE_BANKS && strcmp(request->method, "POST") == 0)
            status = tpd_banks_push(request, bytes, count);
        request->refusal.status = status;
        if (status != TPD_OK) {
            request->refused_at = request->received_bytes;
            tpd_job_give_back(&request->job); /* others can use its memory while the rest is swallowed */
        }
    }
    if (request->refusal.status == TPD_OK)
        return MHD_YES;
    uint64_t rest = request->has_content_bytes ? request->content_bytes - request->received_bytes
                                               : request->received_bytes - request->refused_at;
    return rest > TPD_DRAIN_MOST_BYTES ? answer_and_linger(request) : MHD_YES;
}

static enum MHD_Result end(struct tpd_exchange *request) {
    struct tpd_connection *connection = request->connection;
    enum tpd_connection_state state = atomic_load_explicit(&connection->state, memory_order_acquire) & 0xff;
    /* WORKING already: the connection was suspended for a job, and this is the call after it. */
    if (state != TPD_CONNECTION_WORKING && !tpd_connection_move(connection, TPD_CONNECTION_RECEIVING, TPD_CONNECTION_WORKING))
        return MHD_NO;
    if (request->refusal.status != TPD_OK)
        return tpd_reply_refusal(request);
    return tpd_route_at(request->route)->handler(request);
}

enum MHD_Result tpd_request_handle(void *listener, struct MHD_Connection *mhd, const char *url, const char *method,
                                   const char *version, const char *upload, size_t *upload_bytes, void **context) {
    (void)listener;
    struct tpd_connection *connection = connection_of(mhd);
    if (connection == NULL)
        return MHD_NO;
    *context = connection;
    struct tpd_exchange *request = atomic_load_explicit(&connection->request, memory_order_acquire);
    if (request == NULL) {
        request = tpd_alloc(sizeof *request);
        if (request == NULL)
            return MHD_NO;
        clear(request, connection);
        atomic_store_explicit(&connection->request, request, memory_order_release);
    }
    if (!request->begun)
        return begin(request, url, method, version);
    if (*upload_bytes != 0) {
        enum MHD_Result result = body(request, upload, *upload_bytes);
        *upload_bytes = 0;
        return result;
    }
    return end(request);
}

static void log_request(const struct tpd_exchange *request, const struct tpd_record *record, bool aborted) {
    struct tpd_log_line line;
    char method[LOG_METHOD_BYTES];
    if (!tpd_log_enabled(TPD_LOG_INFO))
        return;
    tpd_log_begin(&line, TPD_LOG_INFO, "request");
    tpd_log_str(&line, "id", record->id);
    if (record->trace_id[0] != '\0')
        tpd_log_str(&line, "trace", record->trace_id);
    (void)snprintf(method, sizeof method, "%s", request->method);
    tpd_log_str(&line, "method", method);
    tpd_log_str(&line, "path", request->path);
    tpd_log_uint(&line, "status", (uint64_t)record->http_status);
    if (record->status != TPD_OK)
        tpd_log_str(&line, "code", tpd_status_slug(record->status));
    tpd_log_uint(&line, "bytes_in", record->bytes_in);
    tpd_log_uint(&line, "bytes_out", record->bytes_out);
    if (aborted)
        tpd_log_uint(&line, "aborted", 1);
    tpd_log_ms(&line, "ms", record->total_ns);
    if (record->device != NULL && record->device[0] != '\0')
        tpd_log_str(&line, "device", record->device);
    if (record->strategy != NULL && record->strategy[0] != '\0')
        tpd_log_str(&line, "strategy", record->strategy);
    tpd_log_end(&line);
}

/* A request that ended without an answer: the client went away, was too slow, or we could not even say no. */
static void settle_unanswered(struct tpd_exchange *request, enum tpd_connection_state state,
                              enum MHD_RequestTerminationCode why) {
    if (state == TPD_CONNECTION_KILLED && atomic_load_explicit(&request->http->stopping, memory_order_acquire))
        request->status = TPD_DRAINING;
    else if (state == TPD_CONNECTION_KILLED || why == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED)
        request->status = TPD_RECEIVE_TIMEOUT;
    else if (why == MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN)
        request->status = TPD_DRAINING;
    else if (request->refusal.status != TPD_OK)
        request->status = request->refusal.status;
    else
        request->status = TPD_TRUNCATED;
    request->http_status = tpd_status_http(request->status);
}

/* Told before MHD shuts the socket: a client that closed its sending side in mid-body, or fell silent, can still read. */
static void tell_unanswered(struct tpd_exchange *request, enum MHD_RequestTerminationCode why) {
    struct tpd_error error = {.status = TPD_OK};
    unsigned long long received = request->received_bytes, idle_ms = request->config->idle_timeout / 1000000;
    if (why == MHD_REQUEST_TERMINATED_CLIENT_ABORT)
        (void)tpd_fail_at(&error, TPD_TRUNCATED, received, "the body ends after %llu bytes, before it was complete", received);
    else if (why == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED)
        (void)tpd_fail(&error, TPD_RECEIVE_TIMEOUT,
                       "nothing of the body came for %llu ms (idle_timeout); %llu bytes of it had come", idle_ms, received);
    else
        return;
    tpd_connection_answer_raw(request->connection, request->id, request->is_transpose,
                              request->refusal.status != TPD_OK ? &request->refusal : &error);
}

void tpd_request_completed(void *listener, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode why) {
    (void)listener;
    struct tpd_connection *connection = connection_of(mhd);
    *context = NULL;
    struct tpd_exchange *request = connection != NULL ? atomic_load_explicit(&connection->request, memory_order_acquire) : NULL;
    if (request == NULL || !request->begun)
        return;
    enum tpd_connection_state state = tpd_connection_keep_watcher_off(connection);
    /* An answer that did not get out whole, because of the client or of the end of the daemon: how much of it did is not known.
     */
    bool aborted = state == TPD_CONNECTION_WORKING && request->http_status != 0 && why != MHD_REQUEST_TERMINATED_COMPLETED_OK;
    if (request->http_status == 0 && state == TPD_CONNECTION_RECEIVING)
        tell_unanswered(request, why);
    if (request->http_status == 0)
        settle_unanswered(request, state, why);
    const struct tpd_job *job = &request->job;
    struct tpd_record record = {
        .at_unix_ns = request->at_unix_ns,
        .endpoint = request->route != TPD_ROUTE_COUNT ? tpd_route_at(request->route)->path : "other",
        .http_status = request->http_status,
        .status = request->status,
        .is_transpose = request->is_transpose,
        .format_in = request->is_transpose ? job->format_in : TPD_CODEC_COUNT,
        .format_out = request->is_transpose ? job->format_out : TPD_CODEC_COUNT,
        .matrix = job->matrix,
        .cells = job->cells,
        .device = job->device_id,
        .strategy = job->strategy_name,
        .tile = job->tile_used,
        .bytes_in = request->received_bytes,
        .bytes_out = aborted ? 0 : request->bytes_out,
        .total_ns = tpd_clock_ns() - request->begin_ns,
    };
    memcpy(record.id, request->id, sizeof record.id);
    memcpy(record.trace_id, request->trace_id, sizeof record.trace_id);
    memcpy(record.stage_ns, job->stage_ns, sizeof record.stage_ns);
    tpd_stats_end(request->http->world->stats, &record);
    log_request(request, &record, aborted);
    atomic_fetch_sub_explicit(&request->http->in_flight, 1, memory_order_release);
    tpd_head_fini(&request->head);
    tpd_packer_close(request->unpacker);
    tpd_job_fini(&request->job);
    tpd_buf_fini(&request->body);
    clear(request, connection);
    (void)tpd_connection_move(connection, TPD_CONNECTION_WORKING, TPD_CONNECTION_IDLE);
}
