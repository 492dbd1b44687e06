/* problem.c -- what an error looks like to a client: RFC 9457 problem details, with our own members. */
#include <inttypes.h>

#include "server/http/http_internal.h"

unsigned tpd_problem_retry_after(enum tpd_status status) {
    if (!tpd_status_retryable(status))
        return 0;
    /* A full queue moves within a second; a daemon that stops or lost its device comes back with its supervisor. */
    return status == TPD_DRAINING || status == TPD_DEVICE_LOST ? 5 : 1;
}

enum tpd_status tpd_problem_json(const struct tpd_error *error, const char *id, bool listed, struct tpd_buf *out) {
    const char *text = error->text[0] != '\0' ? error->text : tpd_status_meaning(error->status);
    (void)tpd_buf_format(out, "{\"type\":\"/problems/%s\",\"title\":", tpd_status_slug(error->status));
    (void)tpd_buf_json_string(out, tpd_status_meaning(error->status));
    (void)tpd_buf_format(out, ",\"status\":%d,\"detail\":", tpd_status_http(error->status));
    (void)tpd_buf_json_string(out, text);
    /* Where this very occurrence can be looked up, for the others just which one it is. Ids have no character that a URL would
     * need escaped. */
    (void)tpd_buf_format(out, ",\"instance\":\"%s%s\",\"code\":\"%s\",\"error\":", listed ? "/stats?id=" : "#", id,
                         tpd_status_slug(error->status));
    (void)tpd_buf_json_string(out, text);
    if (error->has & TPD_ERROR_HAS_LIMIT)
        (void)tpd_buf_format(out, ",\"limit\":%" PRIu64 ",\"actual\":%" PRIu64, error->limit, error->actual);
    if (error->has & TPD_ERROR_HAS_OFFSET)
        (void)tpd_buf_format(out, ",\"offset\":%" PRIu64, error->offset);
    if (error->has & TPD_ERROR_HAS_LINE)
        (void)tpd_buf_format(out, ",\"line\":%" PRIu64 ",\"column\":%" PRIu64, error->line, error->column);
    unsigned retry_after = tpd_problem_retry_after(error->status);
    if (retry_after != 0)
        (void)tpd_buf_format(out, ",\"retry_after\":%u", retry_after);
    return tpd_buf_text(out, "}\n");
}
