/* head.c -- a request's headers: which ones count, what makes their framing ambiguous, who the request is. */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/http/http_internal.h"
#include "transposed/alloc.h"

bool tpd_parse_uint(const char *text, uint64_t *value) {
    *value = 0;
    if (text[0] == '\0')
        return false;
    for (; *text != '\0'; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(*value, (uint64_t)10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*text - '0'), value))
            return false;
    return true;
}

/* True for what MHD (0.9.75) reads otherwise than others do. It appends a folded line to the header's name and keeps a blank
 * before the colon in it, so that "Transfer-Encoding:\\r\\n chunked" is no Transfer-Encoding; a bare CR stays in the value. */
static bool is_ambiguous(const char *key, const char *value) {
    static const char token[] = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    if (key[strspn(key, token)] != '\0' || (strncasecmp(key, "Content-Length", 14) == 0 && key[14] != '\0') ||
        (strncasecmp(key, "Transfer-Encoding", 17) == 0 && key[17] != '\0'))
        return true;
    for (; value != NULL && *value != '\0'; value++)
        if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f)
            return true;
    return false;
}

/* One list of two fields, as RFC 9110 (5.3) reads them. */
static void join(struct tpd_head *head, const char **place, char **owned, const char *value) {
    if (head->joins >= TPD_LIST_HEADERS_MOST) {
        head->joins += head->joins == TPD_LIST_HEADERS_MOST;
        return;
    }
    size_t bytes = strlen(*place) + strlen(value) + 3;
    char *list = tpd_alloc(bytes);
    head->joins = list != NULL ? head->joins + 1 : UINT_MAX;
    if (list == NULL)
        return;
    (void)snprintf(list, bytes, "%s, %s", *place, value);
    tpd_free(*owned);
    *place = *owned = list;
}

void tpd_head_fini(struct tpd_head *head) {
    for (int i = 0; i < TPD_LIST_COUNT; i++)
        tpd_free(head->joined[i]);
    memset(head, 0, sizeof *head);
}

#define FIELD(member) offsetof(struct tpd_head, member)
#define NONE SIZE_MAX
static const struct {
    const char *name;
    size_t place, count, list; /* of its value; of the number of fields; of the list that more of them become */
} known[] = {
    {"Content-Length", FIELD(content_length), FIELD(content_lengths), NONE},
    {"Transfer-Encoding", FIELD(transfer_encoding), FIELD(transfer_encodings), NONE},
    {"Host", FIELD(host), FIELD(hosts), NONE},
    {"Content-Type", FIELD(content_type), NONE, NONE},
    {"Content-Encoding", FIELD(content_encoding), NONE, FIELD(joined[TPD_LIST_ENCODING])},
    {"Accept-Encoding", FIELD(accept_encoding), NONE, FIELD(joined[TPD_LIST_ACCEPT_ENCODING])},
    {"Accept", FIELD(accept), NONE, FIELD(joined[TPD_LIST_ACCEPT])},
    {"Content-Digest", FIELD(content_digest), NONE, FIELD(joined[TPD_LIST_DIGEST])},
    {"Want-Content-Digest", FIELD(want_digest), NONE, FIELD(joined[TPD_LIST_WANT_DIGEST])},
    {"X-Request-Id", FIELD(request_id), NONE, NONE},
    {"traceparent", FIELD(traceparent), NONE, NONE},
    {"Expect", FIELD(expect), NONE, NONE},
};

/* Of a list all fields count, of the others the first; the number of those whose repetition is an attack is kept. */
static enum MHD_Result collect(void *self, enum MHD_ValueKind kind, const char *key, const char *value) {
    struct tpd_head *head = self;
    char *base = self;
    (void)kind;
    head->ambiguous = head->ambiguous || is_ambiguous(key, value);
    size_t i = 0;
    while (i < sizeof known / sizeof known[0] && strcasecmp(key, known[i].name) != 0)
        i++;
    if (i == sizeof known / sizeof known[0])
        return MHD_YES;
    const char **place = (const char **)(void *)(base + known[i].place);
    value = value != NULL ? value : "";
    if (*place == NULL)
        *place = value;
    else if (known[i].list != NONE)
        join(head, place, (char **)(void *)(base + known[i].list), value);
    if (known[i].count != NONE)
        ++*(unsigned *)(void *)(base + known[i].count);
    return MHD_YES;
}
#undef FIELD
#undef NONE

/* Two readings of where a body ends are how one request is smuggled inside another: such a connection is not used again. */
static enum tpd_status check_framing(struct tpd_exchange *request, bool is_1_1) {
    const struct tpd_head *head = &request->head;
    struct tpd_error *error = &request->refusal;
    request->close_after = true;
    if (head->ambiguous)
        return tpd_fail(error, TPD_FRAMING,
                        "a header is folded, or its name or value holds a blank or control byte: write each on one line");
    if (head->content_lengths != 0 && head->transfer_encodings != 0)
        return tpd_fail(error, TPD_FRAMING, "Content-Length and Transfer-Encoding are both there: send one of them");
    if (head->content_lengths > 1)
        return tpd_fail(error, TPD_FRAMING, "Content-Length is there %u times: send it once", head->content_lengths);
    if (head->transfer_encodings != 0 &&
        (head->transfer_encodings > 1 || !is_1_1 || strcasecmp(head->transfer_encoding, "chunked") != 0))
        return tpd_fail(error, TPD_FRAMING, "Transfer-Encoding \"%.60s\": only chunked, once and in HTTP/1.1, is understood",
                        head->transfer_encoding);
    if (head->content_lengths != 0 && !tpd_parse_uint(head->content_length, &request->content_bytes))
        return tpd_fail(error, TPD_FRAMING, "Content-Length \"%.60s\" is not a number of bytes", head->content_length);
    request->close_after = false;
    request->has_content_bytes = head->content_lengths != 0 || head->transfer_encodings == 0;
    request->has_body = head->transfer_encodings != 0 || request->content_bytes != 0;
    if (head->hosts > 1 || (head->hosts == 0 && is_1_1))
        return tpd_fail(error, TPD_FRAMING, "Host is there %u times: HTTP/1.1 wants it once", head->hosts);
    return TPD_OK;
}

enum tpd_status tpd_head_read(struct tpd_exchange *request, const char *version) {
    struct MHD_Connection *mhd = request->connection->mhd;
    (void)MHD_get_connection_values(mhd, MHD_HEADER_KIND, collect, &request->head);
    enum tpd_status status = check_framing(request, strcmp(version, "HTTP/1.0") != 0);
    if (status != TPD_OK)
        return status;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (info != NULL && info->header_size > request->config->max_header_bytes)
        return tpd_fail_limit(&request->refusal, TPD_HEADERS_TOO_LARGE, request->config->max_header_bytes, info->header_size,
                              "the request's line and headers have %zu bytes, max_header_bytes is %llu", info->header_size,
                              (unsigned long long)request->config->max_header_bytes);
    if (request->head.joins == UINT_MAX)
        return tpd_fail(&request->refusal, TPD_NO_MEMORY, "the system gave no memory for the request's headers");
    if (request->head.joins > TPD_LIST_HEADERS_MOST)
        return tpd_fail_limit(&request->refusal, TPD_HEADERS_TOO_LARGE, TPD_LIST_HEADERS_MOST, request->head.joins,
                              "more than %d headers repeat one of the same name: write each list in one", TPD_LIST_HEADERS_MOST);
    if (request->connection->has_many_parameters)
        return tpd_fail(&request->refusal, TPD_BAD_PARAMETER, TPD_MANY_PARAMETERS, TPD_PARAMETERS_MOST);
    if (request->connection->uri_is_bad)
        return tpd_fail(&request->refusal, TPD_BAD_PARAMETER,
                        "the URL holds %%00, a blank or a control byte: percent-encode what is meant");
    return TPD_OK;
}

static bool id_is_valid(const char *id) {
    size_t length = strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
    return length != 0 && length < TPD_ID_BYTES && id[length] == '\0';
}

/* 64 bits that never repeat in a process: a counter from a random start, through a bijection (splitmix64's) that hides it. */
static void make_id(struct tpd_http *http, char *id) {
    uint64_t z = atomic_fetch_add_explicit(&http->next_id, 1, memory_order_relaxed) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    for (int i = 15; i >= 0; i--, z >>= 4)
        id[i] = "0123456789abcdef"[z & 15];
    id[16] = '\0';
}

static bool is_hex(const char *text, size_t count, bool may_be_zero) {
    bool zero = true;
    for (size_t i = 0; i < count; i++) {
        if ((text[i] < '0' || text[i] > '9') && (text[i] < 'a' || text[i] > 'f'))
            return false;
        zero = zero && text[i] == '0';
    }
    return may_be_zero || !zero;
}

/* W3C Trace Context: version 00 has 55 characters; a later one may go on behind another dash; ff is no version. */
static bool trace_is_valid(const char *text) {
    size_t length = strlen(text);
    return length >= 55 && is_hex(text, 2, true) && strncmp(text, "ff", 2) != 0 && text[2] == '-' &&
           is_hex(text + 3, 32, false) && text[35] == '-' && is_hex(text + 36, 16, false) && text[52] == '-' &&
           is_hex(text + 53, 2, true) && (length == 55 || (strncmp(text, "00", 2) != 0 && text[55] == '-'));
}

void tpd_head_identify(struct tpd_exchange *request) {
    const char *id = request->head.request_id, *trace = request->head.traceparent;
    if (id != NULL && id_is_valid(id))
        memcpy(request->id, id, strlen(id) + 1);
    else
        make_id(request->http, request->id);
    if (trace != NULL && trace_is_valid(trace))
        memcpy(request->trace_id, trace + 3, 32); /* the rest of the field is zero */
}
