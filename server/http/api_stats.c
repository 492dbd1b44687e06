/* api_stats.c -- GET /stats: the statistics, with as many of the last requests as asked for, or one of them. */
#include <string.h>

#include "server/http/http_internal.h"

static enum MHD_Result refuse(struct tpd_exchange *request, const char *name, const char *value) {
    (void)tpd_fail_limit(&request->refusal, TPD_BAD_PARAMETER, request->config->recent, 0,
                         "%s=%.64s can't be read: recent takes 0 to %llu, id a request's id", name, value,
                         (unsigned long long)request->config->recent);
    request->refusal.has = 0;
    return tpd_reply_refusal(request);
}

enum MHD_Result tpd_api_stats(struct tpd_exchange *request) {
    static const char *const taken[] = {"recent", "id"};
    if (tpd_query_check(request, taken, 2) != TPD_OK)
        return tpd_reply_refusal(request);
    struct MHD_Connection *mhd = request->connection->mhd;
    const char *recent = MHD_lookup_connection_value(mhd, MHD_GET_ARGUMENT_KIND, "recent");
    const char *id = MHD_lookup_connection_value(mhd, MHD_GET_ARGUMENT_KIND, "id");
    struct tpd_world *world = request->http->world;
    uint64_t rows = request->config->recent;
    if (recent != NULL && (!tpd_parse_uint(recent, &rows) || rows > request->config->recent))
        return refuse(request, "recent", recent);
    if (id != NULL && (id[0] == '\0' || strlen(id) >= TPD_ID_BYTES))
        return refuse(request, "id", id);
    struct tpd_buf buf;
    tpd_buf_init(&buf, TPD_REPLY_MOST_BYTES);
    (void)tpd_stats_json(world->stats, world->engine, request->config, (uint32_t)rows, id, &buf); /* buf keeps the failure */
    return tpd_reply_buf(request, 200, "application/json", &buf);
}
