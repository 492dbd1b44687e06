/* api_config.c -- GET /v1/config: each knob's value and where it came from, and the addresses that were really bound. */
#include <string.h>

#include "server/http/http_internal.h"

enum { CONFIG_MOST_BYTES = 1 << 20 };

enum MHD_Result tpd_api_config(struct tpd_exchange *request) {
    if (tpd_query_check(request, NULL, 0) != TPD_OK)
        return tpd_reply_refusal(request);
    struct tpd_buf knobs, buf;
    tpd_buf_init(&knobs, CONFIG_MOST_BYTES);
    tpd_buf_init(&buf, 2 * CONFIG_MOST_BYTES);
    enum tpd_status status = tpd_config_json(request->config, &knobs);
    const char *members = knobs.data != NULL ? strchr(knobs.data, '{') : NULL;
    (void)tpd_buf_text(&buf, "{\"bound\":{\"listen\":");
    (void)tpd_buf_json_string(&buf, request->http->data.address.text);
    (void)tpd_buf_text(&buf, ",\"admin_listen\":");
    (void)tpd_buf_json_string(&buf, request->http->admin.address.text[0] != '\0' ? request->http->admin.address.text : "off");
    (void)tpd_buf_text(&buf, "},");
    (void)tpd_buf_text(&buf, members != NULL ? members + 1 : "}");
    (void)tpd_buf_text(&buf, "\n");
    if (status != TPD_OK)
        buf.status = status;
    tpd_buf_fini(&knobs);
    return tpd_reply_buf(request, 200, "application/json", &buf);
}
