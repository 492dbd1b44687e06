/* listener.c -- the two listeners: sockets, MHD daemons, and their end.
 *
 * A listener is one socket that several single-thread daemons share (each has its own descriptor of it): whoever is free
 * accepts. MHD's own thread pool is not used: taking its socket away under load races.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/http/http_internal.h"
#include "transposed/alloc.h"
#include "transposed/clock.h"
#include "transposed/log.h"

#define PATIENCE_NS 1000000000u /* for workers to end, then for answers to leave, before the daemon goes without them */
enum {
    THREADS_BY_DEFAULT_MOST = 8,
    BODY_BUFFER_BYTES = 128 << 10, /* an upload arrives in pieces of this; more only costs: MHD clears it for every request */
    SPARE_CONNECTIONS = 128,       /* above max_connections: they exist to be told no */
    SPARE_FILES = 256              /* descriptors for everything that is no connection */
};

static void log_mhd(void *self, const char *format, va_list arguments) {
    char text[512];
    (void)self;
    if (!tpd_log_enabled(TPD_LOG_DEBUG))
        return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int length = vsnprintf(text, sizeof text, format, arguments);
#pragma GCC diagnostic pop
    if (length > 0) {
        text[strcspn(text, "\n")] = '\0';
        tpd_log(TPD_LOG_DEBUG, "libmicrohttpd: %s", text);
    }
}

/* MHD waits in whole seconds. */
static unsigned seconds_of(uint64_t nanoseconds) {
    return (unsigned)((nanoseconds + 999999999u) / 1000000000u);
}

static enum tpd_status start_daemon(struct tpd_listener *listener, const struct tpd_config *config, struct tpd_error *error) {
    int fd = fcntl(listener->address.fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return tpd_fail(error, TPD_IO, "the listening socket can't be shared: %s", strerror(errno));
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        tpd_request_handle, listener, MHD_OPTION_EXTERNAL_LOGGER, log_mhd, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)config->max_connections + SPARE_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        listener->http->connection_bytes, MHD_OPTION_CONNECTION_TIMEOUT, seconds_of(config->idle_timeout),
        MHD_OPTION_NOTIFY_CONNECTION, tpd_connection_notify, listener, MHD_OPTION_NOTIFY_COMPLETED, tpd_request_completed,
        listener, MHD_OPTION_URI_LOG_CALLBACK, tpd_request_uri, listener, MHD_OPTION_END);
    if (daemon == NULL) {
        close(fd);
        return tpd_fail(error, TPD_IO, "no HTTP thread could be started on %s: %s", listener->address.text, strerror(errno));
    }
    listener->daemon[listener->daemons++] = daemon;
    return TPD_OK;
}

static enum tpd_status start_listener(struct tpd_listener *listener, const struct tpd_config *config, uint32_t threads,
                                      struct tpd_error *error) {
    enum tpd_status status = tpd_registry_init(listener, error);
    while (status == TPD_OK && listener->daemons < threads)
        status = start_daemon(listener, config, error);
    return status;
}

static uint32_t threads_of(const struct tpd_config *config) {
    if (config->http_threads != 0)
        return config->http_threads < TPD_DAEMONS_MOST ? (uint32_t)config->http_threads : TPD_DAEMONS_MOST;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores < THREADS_BY_DEFAULT_MOST ? (uint32_t)cores : THREADS_BY_DEFAULT_MOST;
}

/* As many descriptors as the connections may need, as far as the system lets us. */
static void raise_file_limit(const struct tpd_config *config) {
    struct rlimit limit;
    rlim_t wanted = config->max_connections + SPARE_CONNECTIONS + SPARE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted)
        tpd_log(TPD_LOG_WARN, "max_connections wants %llu file descriptors, the system allows %llu", (unsigned long long)wanted,
                (unsigned long long)limit.rlim_cur);
}

enum tpd_status tpd_http_create(struct tpd_world *world, struct tpd_http **result, struct tpd_error *error) {
    const struct tpd_config *config = atomic_load_explicit(&world->config, memory_order_acquire);
    struct tpd_http *http = tpd_alloc_zero(1, sizeof *http);
    if (http == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for the HTTP listeners");
    uint64_t start;
    if (getrandom(&start, sizeof start, GRND_NONBLOCK) != (ssize_t)sizeof start)
        start = tpd_clock_ns();
    atomic_init(&http->next_id, start);
    http->world = world;
    http->connection_bytes = (size_t)config->max_header_bytes + BODY_BUFFER_BYTES;
    struct tpd_listener *const listeners[] = {&http->data, &http->admin};
    for (int i = 0; i < 2; i++) {
        listeners[i]->http = http;
        listeners[i]->is_admin = i == 1;
        listeners[i]->address.fd = -1;
    }
    raise_file_limit(config);
    /* Both addresses before the first thread: whoever asks for /v1/config reads them, and one that can't be bound is known
     * before anybody was answered. */
    bool has_admin = strcmp(config->admin_listen, "off") != 0;
    enum tpd_status status = tpd_address_open("listen", config->listen, &http->data.address, error);
    if (status == TPD_OK && has_admin)
        status = tpd_address_open("admin_listen", config->admin_listen, &http->admin.address, error);
    if (status == TPD_OK)
        status = start_listener(&http->data, config, threads_of(config), error);
    if (status == TPD_OK && has_admin)
        status = start_listener(&http->admin, config, 1, error);
    if (status != TPD_OK) {
        tpd_http_destroy(http);
        return status;
    }
    *result = http;
    return TPD_OK;
}

const char *tpd_http_data_address(const struct tpd_http *http) {
    return http->data.address.text;
}

const char *tpd_http_admin_address(const struct tpd_http *http) {
    return http->admin.address.text;
}

uint64_t tpd_http_in_flight(const struct tpd_http *http) {
    return atomic_load_explicit(&http->in_flight, memory_order_acquire);
}

/* Quiescing alone would leave clients hanging in the socket's queue: the socket itself has to say no. */
static void stop_accepting(struct tpd_listener *listener) {
    if (listener->address.fd < 0)
        return;
    for (uint32_t i = 0; i < listener->daemons; i++) {
        int fd = MHD_quiesce_daemon(listener->daemon[i]);
        if (fd != MHD_INVALID_SOCKET)
            close(fd);
    }
    tpd_address_close(&listener->address);
}

void tpd_http_stop_listening(struct tpd_http *http) {
    atomic_store_explicit(&http->closing, true, memory_order_release);
    stop_accepting(&http->data);
}

static bool wait_for_zero(const _Atomic uint64_t *count) {
    const struct timespec pause = {.tv_nsec = 2000000};
    for (uint64_t until = tpd_clock_ns() + PATIENCE_NS; atomic_load_explicit(count, memory_order_acquire) != 0;) {
        if (tpd_clock_ns() > until)
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

static void stop_listener(struct tpd_listener *listener) {
    for (uint32_t i = 0; i < listener->daemons; i++)
        MHD_stop_daemon(listener->daemon[i]);
    if (listener->registry.watching)
        tpd_registry_fini(&listener->registry);
}

void tpd_http_destroy(struct tpd_http *http) {
    if (http == NULL)
        return;
    atomic_store_explicit(&http->closing, true, memory_order_release);
    atomic_store(&http->stopping, true);
    stop_accepting(&http->data);
    stop_accepting(&http->admin);
    /* MHD aborts when a daemon is stopped with a suspended connection. Workers that are nearly done resume theirs; the rest
     * is taken from them, again and again until no thread is between its promise and its suspension. */
    (void)wait_for_zero(&http->pending);
    while (atomic_load(&http->pending) != 0) {
        const struct timespec pause = {.tv_nsec = 1000000};
        tpd_connections_abandon(&http->data);
        (void)nanosleep(&pause, NULL);
    }
    (void)wait_for_zero(&http->in_flight);
    stop_listener(&http->data);
    stop_listener(&http->admin);
    tpd_free(http);
}
