/* api_banks.c -- GET and POST /v1/banks: the bank model asked by parameters, or about anybody's own addresses. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/http/http_internal.h"
#include "transposed/bank_report.h"

static const char svg_type[] = "image/svg+xml", json_type[] = "application/json";

/* The quality that an Accept field gives a type, in thousandths: of its most specific range. */
static int quality_of(const char *accept, const char *type) {
    size_t slash = (size_t)(strchr(type, '/') - type), best = 0;
    int quality = 0;
    while (*accept != '\0') {
        size_t length = strcspn(accept, ","), name = strcspn(accept, ",; \t");
        size_t rank = name == strlen(type) && strncasecmp(accept, type, name) == 0                                 ? 3
                      : name == slash + 2 && strncasecmp(accept, type, slash + 1) == 0 && accept[slash + 1] == '*' ? 2
                      : name == 3 && strncmp(accept, "*/*", 3) == 0                                                ? 1
                                                                                                                   : 0;
        if (rank > best) {
            best = rank;
            quality = 1000;
            for (const char *at = memchr(accept, ';', length); at != NULL && at < accept + length; at++)
                if ((*at == 'q' || *at == 'Q') && at[1] == '=' && strchr("; \t", at[-1]) != NULL)
                    quality = (int)(strtod(at + 2, NULL) * 1000);
        }
        accept += length;
        accept += strspn(accept, ", \t");
    }
    return quality;
}

/* A picture only for who would rather have one: a bare * / * gets JSON. */
static enum tpd_status choose(struct tpd_exchange *request, bool *svg) {
    const char *accept = request->head.accept;
    int picture = accept != NULL ? quality_of(accept, svg_type) : 0, json = accept != NULL ? quality_of(accept, json_type) : 1000;
    *svg = picture > json;
    if (picture > 0 || json > 0)
        return TPD_OK;
    return tpd_fail(&request->refusal, TPD_NOT_ACCEPTABLE, "Accept \"%.80s\" allows nothing that is made here: %s, %s", accept,
                    json_type, svg_type);
}

struct reading {
    struct tpd_exchange *request;
    struct tpd_banks_ask *ask;
    enum tpd_status status;
};

static enum MHD_Result read_one(void *self, enum MHD_ValueKind kind, const char *key, const char *value) {
    struct reading *reading = self;
    (void)kind;
    int i = 0; /* known: tpd_query_check() has seen to it */
    while (i < TPD_BANKS_PARAMETERS - 1 && !tpd_query_is(tpd_banks_parameter_name((enum tpd_banks_parameter)i), key))
        i++;
    reading->status = tpd_banks_ask_set(reading->ask, (enum tpd_banks_parameter)i, value, &reading->request->refusal);
    return reading->status == TPD_OK ? MHD_YES : MHD_NO;
}

/* The first GPU that is ready and whose limits are known; the count where there is none. */
static uint32_t first_gpu(struct tpd_engine *engine, struct tpd_device_info *info) {
    uint32_t count = tpd_engine_device_count(engine), i = 0;
    for (; i < count; i++) {
        tpd_engine_device_info(engine, i, info);
        if (info->state == TPD_STATE_READY && info->compute_capability != 0 &&
            tpd_architecture_find(info->compute_capability) != NULL)
            break;
    }
    return i;
}

uint32_t tpd_banks_capability(struct tpd_exchange *request) {
    struct tpd_engine *engine = request->http->world->engine;
    struct tpd_device_info info;
    return first_gpu(engine, &info) < tpd_engine_device_count(engine) ? info.compute_capability : TPD_ARCHITECTURE_DEFAULT;
}

bool tpd_banks_driver(void *context, const struct tpd_plan *plan, uint32_t *registers, uint32_t *blocks) {
    struct tpd_exchange *request = context;
    struct tpd_engine *engine = request->http->world->engine;
    struct tpd_device_info info;
    uint32_t index = first_gpu(engine, &info);
    return index < tpd_engine_device_count(engine) &&
           tpd_engine_occupancy(engine, index, plan, registers, blocks, NULL) == TPD_OK;
}

static enum tpd_status read_query(struct tpd_exchange *request, struct tpd_banks_ask *ask) {
    const char *taken[TPD_BANKS_PARAMETERS];
    struct reading reading = {.request = request, .ask = ask, .status = TPD_OK};
    for (int i = 0; i < TPD_BANKS_PARAMETERS; i++)
        taken[i] = tpd_banks_parameter_name((enum tpd_banks_parameter)i);
    tpd_banks_ask_init(ask);
    ask->number[TPD_BANKS_ARCH] = tpd_banks_capability(request); /* unless the client names another */
    ask->driver = tpd_banks_driver;
    ask->driver_context = request;
    enum tpd_status status = tpd_query_check(request, taken, TPD_BANKS_PARAMETERS);
    if (status != TPD_OK)
        return status;
    (void)MHD_get_connection_values(request->connection->mhd, MHD_GET_ARGUMENT_KIND, read_one, &reading);
    if (reading.status != TPD_OK)
        return reading.status;
    return tpd_banks_ask_check(ask, &request->refusal);
}

static enum MHD_Result answer(struct tpd_exchange *request, enum tpd_status status, const char *type, struct tpd_buf *buf) {
    if (status == TPD_OK)
        return tpd_reply_buf(request, 200, type, buf);
    tpd_buf_fini(buf);
    request->refusal.status = status;
    return tpd_reply_refusal(request);
}

enum tpd_status tpd_banks_begin(struct tpd_exchange *request) {
    if (strcmp(request->method, "POST") != 0)
        return TPD_OK;
    const char *encoding = request->head.content_encoding;
    uint64_t most = TPD_BANKS_BODY_BYTES_MOST;
    if (request->config->max_body_bytes < most)
        most = request->config->max_body_bytes;
    tpd_buf_init(&request->body, most);
    if (encoding != NULL && strcasecmp(encoding, "identity") != 0)
        return tpd_fail(&request->refusal, TPD_UNSUPPORTED_TYPE,
                        "Content-Encoding %.40s is not undone here: send the body as it is", encoding);
    if (request->has_content_bytes && request->content_bytes > most)
        return tpd_fail_limit(&request->refusal, TPD_TOO_LARGE, most, request->content_bytes,
                              "the body has %llu bytes, at most %llu are read: send the requests in several bodies",
                              (unsigned long long)request->content_bytes, (unsigned long long)most);
    if (tpd_query_check(request, NULL, 0) != TPD_OK)
        return request->refusal.status;
    bool svg;
    enum tpd_status status = choose(request, &svg);
    return status == TPD_OK && svg ? tpd_fail(&request->refusal, TPD_NOT_ACCEPTABLE,
                                              "addresses are answered as %s: a picture is GET's to give", json_type)
                                   : status;
}

enum tpd_status tpd_banks_push(struct tpd_exchange *request, const char *bytes, size_t count) {
    enum tpd_status status = tpd_buf_add(&request->body, bytes, count);
    if (status == TPD_TOO_LARGE)
        return tpd_fail_limit(&request->refusal, status, request->body.ceiling_bytes, request->received_bytes,
                              "the body has %llu bytes or more, at most %zu are read: send the requests in several bodies",
                              (unsigned long long)request->received_bytes, request->body.ceiling_bytes);
    return status == TPD_OK ? TPD_OK : tpd_fail(&request->refusal, status, "the system gave no memory for the body");
}

enum MHD_Result tpd_api_banks(struct tpd_exchange *request) {
    struct tpd_banks_ask ask;
    struct tpd_buf buf;
    bool svg = false;
    tpd_buf_init(&buf, TPD_BANKS_REPORT_BYTES_MOST);
    if (strcmp(request->method, "POST") == 0)
        return answer(request,
                      tpd_banks_addresses_json(request->body.data != NULL ? request->body.data : "", request->body.bytes, &buf,
                                               &request->refusal),
                      json_type, &buf);
    enum tpd_status status = read_query(request, &ask);
    if (status == TPD_OK)
        status = choose(request, &svg);
    if (status == TPD_OK)
        status = svg ? tpd_banks_svg(&ask, &buf, &request->refusal) : tpd_banks_json(&ask, &buf, &request->refusal);
    return answer(request, status, svg ? svg_type : json_type, &buf);
}
