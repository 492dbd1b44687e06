/* http.h -- the listeners: everything that speaks HTTP.
 *
 * Owns: sockets, libmicrohttpd daemons and their threads, connections. Borrows the world until tpd_http_destroy().
 * Threads: create, stop_listening and destroy from one thread.
 */
#ifndef TRANSPOSED_HTTP_H
#define TRANSPOSED_HTTP_H

#include <stdatomic.h>

#include "transposed/config.h"
#include "transposed/engine.h"
#include "transposed/stats.h"

enum tpd_phase { TPD_PHASE_STARTING, TPD_PHASE_READY, TPD_PHASE_DRAINING };

/* What request handlers look at. Filled by server/life, which swaps config on a reload (the old one lives until the end). */
struct tpd_world {
    _Atomic(const struct tpd_config *) config;
    _Atomic int phase; /* enum tpd_phase */
    struct tpd_engine *engine;
    struct tpd_stats *stats;
};

struct tpd_http;

/* Binds and serves both listeners. Fails with TPD_CONFIG (an address that can't be read), TPD_IO (can't be bound: names it and
 * why). */
enum tpd_status tpd_http_create(struct tpd_world *world, struct tpd_http **http, struct tpd_error *error) TPD_CHECKED;
/* The addresses as bound ("127.0.0.1:40123", "unix:/run/x.sock"); "" when the listener is off. */
const char *tpd_http_data_address(const struct tpd_http *http);
const char *tpd_http_admin_address(const struct tpd_http *http);
/* The data listener takes no new connection from now on: they are refused, not left hanging. Those that are open live on. */
void tpd_http_stop_listening(struct tpd_http *http);
/* Requests whose answer is not sent yet, both listeners. */
uint64_t tpd_http_in_flight(const struct tpd_http *http);
/* Resumes what is suspended, stops everything. The engine must be idle or refuse (tpd_engine_refuse). NULL is ignored. */
void tpd_http_destroy(struct tpd_http *http);

#endif
