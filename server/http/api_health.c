/* api_health.c -- is the process alive, may it be sent requests, and how is each device. */
#include <stdio.h>

#include "server/http/http_internal.h"

enum { HEALTH_MOST_BYTES = 64 << 10 };

/* NULL when requests are welcome, else why not. */
static const char *not_ready(struct tpd_world *world) {
    int phase = atomic_load_explicit(&world->phase, memory_order_acquire);
    if (phase == TPD_PHASE_STARTING)
        return "starting";
    if (phase == TPD_PHASE_DRAINING)
        return "draining";
    return tpd_engine_is_fit(world->engine) ? NULL : "device-lost";
}

enum MHD_Result tpd_api_livez(struct tpd_exchange *request) {
    struct tpd_buf buf;
    tpd_buf_init(&buf, HEALTH_MOST_BYTES);
    (void)tpd_buf_text(&buf, "{\"status\":\"alive\"}\n");
    return tpd_reply_buf(request, 200, "application/json", &buf);
}

enum MHD_Result tpd_api_readyz(struct tpd_exchange *request) {
    const char *why = not_ready(request->http->world);
    struct tpd_buf buf;
    tpd_buf_init(&buf, HEALTH_MOST_BYTES);
    (void)tpd_buf_format(&buf, "{\"status\":\"%s\"}\n", why == NULL ? "ready" : why);
    return tpd_reply_buf(request, why == NULL ? 200 : 503, "application/json", &buf);
}

/* A device that this machine never had is no fault; one that was there and is gone is. */
static const char *check_word(enum tpd_device_state state) {
    return state == TPD_STATE_READY ? "pass" : state == TPD_STATE_LOST ? "fail" : "warn";
}

enum MHD_Result tpd_api_healthz(struct tpd_exchange *request) {
    struct tpd_world *world = request->http->world;
    const char *why = not_ready(world);
    uint32_t count = tpd_engine_device_count(world->engine);
    bool lost = false;
    struct tpd_buf checks, buf;
    tpd_buf_init(&checks, HEALTH_MOST_BYTES);
    tpd_buf_init(&buf, 2 * HEALTH_MOST_BYTES);
    for (uint32_t i = 0; i < count; i++) {
        struct tpd_device_info info;
        tpd_engine_device_info(world->engine, i, &info);
        lost = lost || info.state == TPD_STATE_LOST;
        (void)tpd_buf_text(&checks, i == 0 ? "" : ",");
        (void)tpd_buf_json_string(&checks, info.id);
        (void)tpd_buf_text(&checks, ":[{\"componentId\":");
        (void)tpd_buf_json_string(&checks, info.name);
        (void)tpd_buf_format(&checks, ",\"componentType\":\"device\",\"observedValue\":\"%s\",\"status\":\"%s\"",
                             tpd_device_state_name(info.state), check_word(info.state));
        if (info.reason[0] != '\0') {
            (void)tpd_buf_text(&checks, ",\"output\":");
            (void)tpd_buf_json_string(&checks, info.reason);
        }
        (void)tpd_buf_text(&checks, "}]");
    }
    (void)tpd_buf_format(&buf, "{\"status\":\"%s\",\"version\":\"1\",\"releaseId\":\"%s\",\"description\":\"transposed\"",
                         why != NULL ? "fail"
                         : lost      ? "warn"
                                     : "pass",
                         TPD_VERSION);
    if (why != NULL)
        (void)tpd_buf_format(&buf, ",\"output\":\"%s\"", why);
    (void)tpd_buf_format(&buf, ",\"checks\":{%s}}\n", checks.data != NULL ? checks.data : "");
    if (checks.status != TPD_OK)
        buf.status = checks.status;
    tpd_buf_fini(&checks);
    return tpd_reply_buf(request, why == NULL ? 200 : 503, "application/health+json", &buf);
}
