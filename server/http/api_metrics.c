/* api_metrics.c -- GET /metrics: Prometheus text, or OpenMetrics where Accept names it. Never 406: a scraper wants numbers. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/http/http_internal.h"

/* q of the media range at `range`, which ends before the next comma; 1 when it names none. */
static double quality(const char *range, size_t bytes) {
    for (size_t i = 0; i + 2 < bytes; i++)
        if (range[i] == ';') {
            size_t at = i + 1;
            while (at < bytes && range[at] == ' ')
                at++;
            if (at + 2 < bytes && (range[at] == 'q' || range[at] == 'Q') && range[at + 1] == '=')
                return range[at + 2] == '1'                                             ? 1
                       : range[at + 2] == '0' && at + 4 < bytes && range[at + 3] == '.' ? (range[at + 4] - '0') / 10.0
                                                                                        : 0;
        }
    return 1;
}

/* OpenMetrics when it is named and text/plain is not wanted more. */
static bool wants_openmetrics(const char *accept) {
    static const char open[] = "application/openmetrics-text", text[] = "text/plain";
    double open_q = 0, text_q = 0;
    while (accept != NULL && *accept != '\0') {
        accept += strspn(accept, " \t,");
        size_t bytes = strcspn(accept, ",");
        if (strncasecmp(accept, open, sizeof open - 1) == 0)
            open_q = quality(accept, bytes);
        else if (strncasecmp(accept, text, sizeof text - 1) == 0)
            text_q = quality(accept, bytes);
        accept += bytes;
    }
    return open_q > 0 && open_q >= text_q;
}

enum MHD_Result tpd_api_metrics(struct tpd_exchange *request) {
    struct tpd_world *world = request->http->world;
    bool openmetrics = wants_openmetrics(request->head.accept);
    struct tpd_buf buf;
    tpd_buf_init(&buf, TPD_REPLY_MOST_BYTES);
    (void)tpd_stats_prometheus(world->stats, world->engine, request->config, openmetrics, &buf); /* buf keeps the failure */
    return tpd_reply_buf(request, 200,
                         openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                     : "text/plain; version=0.0.4; charset=utf-8",
                         &buf);
}
