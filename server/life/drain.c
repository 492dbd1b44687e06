/* drain.c -- see drain.h. */
#include "server/life/drain.h"

#include <unistd.h>

#include "transposed/clock.h"
#include "transposed/log.h"

enum {
    STEP_NS = 5000000,      /* between two looks */
    QUIET_NS = 60000000,    /* nothing in flight for this long: what was in the sockets has been read */
    REFUSED_NS = 500000000, /* for the 503s of what was queued to be sent; tpd_http_destroy() sees to what runs */
};

struct wait {
    const struct tpd_notify *notify;
    uint64_t ping_ns;
};

static void step(struct wait *wait) {
    uint64_t now = tpd_clock_ns();
    if (wait->notify->watchdog_ns != 0 && now >= wait->ping_ns) {
        tpd_notify_send(wait->notify, "WATCHDOG=1");
        wait->ping_ns = now + wait->notify->watchdog_ns;
    }
    (void)usleep(STEP_NS / 1000);
}

/* True once nothing has been in flight for QUIET_NS. */
static bool wait_quiet(struct wait *wait, const struct tpd_http *http, uint64_t most_ns) {
    uint64_t start = tpd_clock_ns(), quiet_since = start;
    for (uint64_t now = start;; now = tpd_clock_ns()) {
        if (tpd_http_in_flight(http) != 0)
            quiet_since = now;
        else if (now - quiet_since >= QUIET_NS)
            return true;
        /* A deadline of 0 still looks once more than it waits, so that an idle daemon drains cleanly. */
        if (now - start >= most_ns && now - quiet_since == 0)
            return false;
        step(wait);
    }
}

void tpd_drain(struct tpd_world *world, struct tpd_http *http, const struct tpd_notify *notify) {
    const struct tpd_config *config = atomic_load(&world->config);
    struct wait wait = {.notify = notify, .ping_ns = 0};
    atomic_store(&world->phase, TPD_PHASE_DRAINING);
    tpd_notify_send(notify, "STOPPING=1");
    struct tpd_log_line line;
    tpd_log_begin(&line, TPD_LOG_INFO, "draining");
    tpd_log_uint(&line, "in_flight", tpd_http_in_flight(http));
    tpd_log_ms(&line, "delay_ms", config->drain_delay);
    tpd_log_ms(&line, "deadline_ms", config->drain_deadline);
    tpd_log_end(&line);
    for (uint64_t start = tpd_clock_ns(); tpd_clock_ns() - start < config->drain_delay;)
        step(&wait);
    tpd_http_stop_listening(http);
    bool clean = wait_quiet(&wait, http, config->drain_deadline);
    tpd_engine_refuse(world->engine);
    if (!clean) {
        tpd_log(TPD_LOG_WARN, "drain deadline passed: what is left is answered 503");
        (void)wait_quiet(&wait, http, REFUSED_NS);
    }
    tpd_log(TPD_LOG_INFO, "drained");
}
