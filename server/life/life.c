/* life.c -- see life.h. */
#include "server/life/life.h"

#include <string.h>
#include <unistd.h>

#include "server/life/drain.h"
#include "server/life/notify.h"
#include "server/life/signals.h"
#include "transposed/alloc.h"
#include "transposed/clock.h"
#include "transposed/http.h"
#include "transposed/log.h"
#include "transposed/transposed.h"

#define HELD_NS 5000000000u      /* for a device to end the run it is in, once nobody waits for its answer any more */
enum { FITNESS_NS = 250000000 }; /* how often a lost device is looked for when it should end the daemon */

/* Configurations are never freed while requests may still read one: they form a list until the end. A reload adds 7 KiB. */
struct epoch {
    struct tpd_config config;
    struct epoch *older;
};

struct life {
    const struct tpd_sources *sources;
    struct epoch *epoch; /* the newest */
    struct tpd_world world;
    struct tpd_http *http;
    struct tpd_notify notify;
    uint64_t started_ns;
};

static enum tpd_status push_epoch(struct life *life, const struct tpd_config *config, struct tpd_error *error) {
    struct epoch *epoch = tpd_alloc(sizeof *epoch);
    if (epoch == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for a configuration");
    epoch->config = *config;
    epoch->older = life->epoch;
    life->epoch = epoch;
    atomic_store(&life->world.config, &epoch->config);
    tpd_log_configure((enum tpd_log_level)config->log_level, (enum tpd_log_format)config->log_format);
    return TPD_OK;
}

static void log_devices(struct tpd_engine *engine) {
    for (uint32_t i = 0; i < tpd_engine_device_count(engine); i++) {
        struct tpd_device_info info;
        tpd_engine_device_info(engine, i, &info);
        struct tpd_log_line line;
        tpd_log_begin(&line, info.state == TPD_STATE_LOST ? TPD_LOG_WARN : TPD_LOG_INFO, "device");
        tpd_log_str(&line, "id", info.id);
        tpd_log_str(&line, "state", tpd_device_state_name(info.state));
        if (info.name[0] != '\0')
            tpd_log_str(&line, "name", info.name);
        if (info.reason[0] != '\0')
            tpd_log_str(&line, "reason", info.reason);
        if (info.memory_pool_bytes != 0)
            tpd_log_uint(&line, "pool_bytes", info.memory_pool_bytes);
        tpd_log_end(&line);
    }
}

static enum tpd_status start(struct life *life, const struct tpd_config *config, struct tpd_error *error) {
    enum tpd_status status = push_epoch(life, config, error);
    if (status == TPD_OK)
        status = tpd_notify_open(&life->notify, error);
    if (status == TPD_OK)
        status = tpd_signals_open(error);
    if (status != TPD_OK)
        return status;
    struct tpd_log_line line;
    tpd_log_begin(&line, TPD_LOG_INFO, "starts");
    tpd_log_str(&line, "version", tpd_version());
    tpd_log_uint(&line, "pid", (uint64_t)getpid());
    tpd_log_end(&line);
    status = tpd_engine_create(&life->epoch->config, &life->world.engine, error);
    if (status == TPD_OK)
        status = tpd_stats_create(&life->epoch->config, &life->world.stats, error);
    if (status == TPD_OK)
        status = tpd_http_create(&life->world, &life->http, error);
    if (status != TPD_OK)
        return status;
    log_devices(life->world.engine);
    atomic_store(&life->world.phase, TPD_PHASE_READY);
    const char *admin = tpd_http_admin_address(life->http);
    tpd_log_begin(&line, TPD_LOG_INFO, "ready");
    tpd_log_str(&line, "listen", tpd_http_data_address(life->http));
    tpd_log_str(&line, "admin_listen", admin[0] != '\0' ? admin : "off");
    tpd_log_ms(&line, "after_ms", tpd_clock_ns() - life->started_ns);
    tpd_log_end(&line);
    tpd_notify_send(&life->notify, "READY=1");
    return TPD_OK;
}

static void reload(struct life *life) {
    struct tpd_config config;
    struct tpd_error error;
    bool flags_are_wrong;
    char fixed[512];
    tpd_notify_reloading(&life->notify);
    enum tpd_status status = tpd_sources_load(life->sources, &config, &flags_are_wrong, &error);
    if (status == TPD_OK) {
        unsigned kept = tpd_sources_keep_fixed(&config, &life->epoch->config, fixed, sizeof fixed);
        if (kept != 0)
            tpd_log(TPD_LOG_WARN, "%u changed knob%s a restart and keep%s the old value: %s", kept,
                    kept == 1 ? " needs" : "s need", kept == 1 ? "s" : "", fixed);
        status = push_epoch(life, &config, &error);
    }
    if (status == TPD_OK) {
        tpd_engine_reconfigure(life->world.engine, &life->epoch->config);
        tpd_log(TPD_LOG_INFO, "configuration reloaded");
    } else {
        tpd_log(TPD_LOG_ERROR, "configuration not reloaded, the old one stays: %s", error.text);
    }
    tpd_notify_send(&life->notify, "READY=1");
}

/* Until somebody asks to stop (true) or the device that matters is gone (false). */
static bool serve(struct life *life) {
    uint64_t ping_ns = 0;
    for (;;) {
        uint64_t now = tpd_clock_ns();
        if (life->notify.watchdog_ns != 0 && now >= ping_ns) {
            tpd_notify_send(&life->notify, "WATCHDOG=1");
            ping_ns = now + life->notify.watchdog_ns;
        }
        if (!tpd_engine_is_fit(life->world.engine)) {
            tpd_log(TPD_LOG_ERROR, "a device is lost and on_device_loss is exit: drains and ends");
            return false;
        }
        uint64_t wait = life->epoch->config.on_device_loss == TPD_LOSS_EXIT ? FITNESS_NS : UINT64_MAX;
        if (life->notify.watchdog_ns != 0 && ping_ns - now < wait)
            wait = ping_ns - now;
        enum tpd_signal event = tpd_signals_next(wait);
        if (event == TPD_SIGNAL_STOP)
            return true;
        if (event == TPD_SIGNAL_RELOAD)
            reload(life);
    }
}

bool tpd_life_serve(const struct tpd_sources *sources, const struct tpd_config *config) {
    struct life life = {.sources = sources, .notify = {.fd = -1}, .started_ns = tpd_clock_ns()};
    atomic_store(&life.world.phase, TPD_PHASE_STARTING);
    struct tpd_error error = {.text = ""};
    bool good = start(&life, config, &error) == TPD_OK;
    if (good) {
        good = serve(&life);
        tpd_drain(&life.world, life.http, &life.notify);
    } else {
        tpd_log(TPD_LOG_ERROR, "can't start: %s", error.text);
    }
    tpd_http_destroy(life.http);
    if (life.world.engine != NULL && !tpd_engine_wait_idle(life.world.engine, HELD_NS)) {
        /* Its memory can't be taken from under it, and the system takes everything at the end anyway. */
        tpd_log(TPD_LOG_WARN, "a device is still busy with a job that nobody waits for: ends without it");
        _exit(good ? 0 : 1);
    }
    tpd_engine_destroy(life.world.engine);
    tpd_stats_destroy(life.world.stats);
    tpd_notify_close(&life.notify);
    while (life.epoch != NULL) {
        struct epoch *older = life.epoch->older;
        tpd_free(life.epoch);
        life.epoch = older;
    }
    return good;
}
