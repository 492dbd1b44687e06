/* connections.c -- the registry of open connections: how many there may be, and whose clock has run out.
 *
 * libmicrohttpd's own timeout is about silence only, and it can't answer in mid-body. So a thread looks at every connection a
 * few times a second, and what has to be said to a slow client is written on the bare socket. That is safe because the
 * connection's state was won first (nobody else answers any more), and because MHD closes a socket only after it has
 * told us so, which takes the registry's lock.
 */
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "server/http/http_internal.h"
#include "transposed/alloc.h"
#include "transposed/clock.h"
#include "transposed/condition.h"
#include "transposed/log.h"

#define SECOND_NS 1000000000u
#define PERIOD_NS 100000000u /* between two looks */
#define GRACE_NS                                                                                                  \
    (5ull * SECOND_NS) /* before the rate counts; for a turned-away client to speak; for one to read a raw answer \
                        */
enum {
    ADMIN_CONNECTIONS_MOST = 128,
    TURNED_AWAY_MOST = 64, /* clients that hear a proper refusal at once; the next ones hear a bare one */
    RAW_MOST_BYTES = 8192
};

bool tpd_connection_move(struct tpd_connection *connection, enum tpd_connection_state from, enum tpd_connection_state to) {
    uint64_t now = atomic_load_explicit(&connection->state, memory_order_acquire);
    if ((now & 0xff) != from)
        return false;
    uint64_t next = (((now >> 8) + 1) << 8) | (uint64_t)to;
    atomic_store_explicit(&connection->since_ns, tpd_clock_ns(), memory_order_relaxed);
    return atomic_compare_exchange_strong_explicit(&connection->state, &now, next, memory_order_acq_rel, memory_order_relaxed);
}

enum tpd_connection_state tpd_connection_keep_watcher_off(struct tpd_connection *connection) {
    if (tpd_connection_move(connection, TPD_CONNECTION_RECEIVING, TPD_CONNECTION_LINGERING))
        return TPD_CONNECTION_RECEIVING;
    enum tpd_connection_state state = atomic_load_explicit(&connection->state, memory_order_acquire) & 0xff;
    if (state == TPD_CONNECTION_KILLED || state == TPD_CONNECTION_GONE) { /* it may be writing the answer, under the lock */
        pthread_mutex_lock(&connection->listener->registry.lock);
        pthread_mutex_unlock(&connection->listener->registry.lock);
    }
    return state;
}

void tpd_connection_answer_raw(struct tpd_connection *connection, const char *id, bool listed, const struct tpd_error *error) {
    struct tpd_buf body, head;
    tpd_buf_init(&body, RAW_MOST_BYTES);
    tpd_buf_init(&head, RAW_MOST_BYTES);
    (void)tpd_problem_json(error, id, listed, &body);
    int status = tpd_status_http(error->status);
    (void)tpd_buf_format(
        &head,
        "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: application/problem+json\r\nContent-Length: %zu\r\n"
        "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nServer: transposed\r\nX-Request-Id: %s\r\n",
        status, MHD_get_reason_phrase_for((unsigned)status), body.bytes, id);
    unsigned retry_after = tpd_problem_retry_after(error->status);
    if (retry_after != 0)
        (void)tpd_buf_format(&head, "Retry-After: %u\r\n", retry_after);
    (void)tpd_buf_text(&head, "\r\n");
    (void)tpd_buf_add(&head, body.data, body.bytes);
    /* One send: a socket that has no room for it belongs to a client that doesn't read, and then there is nothing to say. */
    if (body.status == TPD_OK && head.status == TPD_OK)
        (void)!send(connection->fd, head.data, head.bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    tpd_buf_fini(&body);
    tpd_buf_fini(&head);
    (void)shutdown(connection->fd, SHUT_WR);
}

/* FNV-1a over the address. */
static size_t bucket_of(const unsigned char ip[16]) {
    uint32_t hash = 2166136261u;
    for (int i = 0; i < 16; i++)
        hash = (hash ^ ip[i]) * 16777619u;
    return hash % TPD_IP_BUCKETS;
}

/* Under the lock. How many connections that address has now, this one included; 0 without memory. */
static uint64_t count_ip(struct tpd_registry *registry, const unsigned char ip[16]) {
    struct tpd_ip_count **bucket = &registry->ips[bucket_of(ip)], *entry = *bucket;
    while (entry != NULL && memcmp(entry->ip, ip, 16) != 0)
        entry = entry->next;
    if (entry == NULL) {
        entry = tpd_alloc_zero(1, sizeof *entry);
        if (entry == NULL)
            return 0;
        memcpy(entry->ip, ip, 16);
        entry->next = *bucket;
        *bucket = entry;
    }
    return ++entry->count;
}

static void uncount_ip(struct tpd_registry *registry, const unsigned char ip[16]) {
    for (struct tpd_ip_count **at = &registry->ips[bucket_of(ip)]; *at != NULL; at = &(*at)->next)
        if (memcmp((*at)->ip, ip, 16) == 0) {
            struct tpd_ip_count *entry = *at;
            if (--entry->count == 0) {
                *at = entry->next;
                tpd_free(entry);
            }
            return;
        }
}

/* False for a Unix socket's client. */
static bool address_of(struct MHD_Connection *mhd, unsigned char ip[16]) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    memset(ip, 0, 16);
    if (info == NULL || info->client_addr == NULL)
        return false;
    if (info->client_addr->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, info->client_addr, sizeof v4);
        ip[10] = ip[11] = 0xff; /* as IPv6 writes it, so that both listeners count one client once */
        memcpy(ip + 12, &v4.sin_addr, 4);
        return true;
    }
    if (info->client_addr->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, info->client_addr, sizeof v6);
        memcpy(ip, &v6.sin6_addr, 16);
        return true;
    }
    return false;
}

static enum tpd_status turned_away_as(struct tpd_listener *listener, uint64_t of_ip) {
    const struct tpd_config *config = atomic_load_explicit(&listener->http->world->config, memory_order_acquire);
    uint64_t most = listener->is_admin ? ADMIN_CONNECTIONS_MOST : config->max_connections;
    if (listener->registry.count - listener->registry.turned_away_count > most)
        return TPD_CONNECTIONS_FULL;
    if (!listener->is_admin && config->max_connections_per_ip != 0 && of_ip > config->max_connections_per_ip)
        return TPD_CLIENT_LIMIT;
    return TPD_OK;
}

static void opened(struct tpd_listener *listener, struct MHD_Connection *mhd, void **context) {
    struct tpd_registry *registry = &listener->registry;
    int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    struct tpd_connection *connection = tpd_alloc_zero(1, sizeof *connection);
    *context = connection;
    if (connection == NULL) {
        (void)shutdown(fd, SHUT_RDWR);
        return;
    }
    connection->listener = listener;
    connection->mhd = mhd;
    connection->fd = fd;
    atomic_init(&connection->since_ns, tpd_clock_ns());
    bool has_ip = address_of(mhd, connection->ip);
    pthread_mutex_lock(&registry->lock);
    uint64_t of_ip = has_ip ? count_ip(registry, connection->ip) : 0;
    connection->counted_ip = of_ip != 0;
    connection->next = registry->first;
    if (registry->first != NULL)
        registry->first->previous = connection;
    registry->first = connection;
    registry->count++;
    connection->turned_away = turned_away_as(listener, of_ip);
    bool at_once = false;
    if (connection->turned_away != TPD_OK)
        at_once = ++registry->turned_away_count > TURNED_AWAY_MOST;
    pthread_mutex_unlock(&registry->lock);
    if (connection->turned_away == TPD_OK)
        return;
    if (at_once && tpd_connection_move(connection, TPD_CONNECTION_IDLE, TPD_CONNECTION_KILLED)) {
        struct tpd_error error = {.status = connection->turned_away};
        tpd_connection_answer_raw(connection, "none", false, &error);
        (void)shutdown(fd, SHUT_RDWR);
    }
}

static void closed(struct tpd_listener *listener, void **context) {
    struct tpd_registry *registry = &listener->registry;
    struct tpd_connection *connection = *context;
    if (connection == NULL)
        return;
    *context = NULL;
    pthread_mutex_lock(&registry->lock);
    if (connection->previous != NULL)
        connection->previous->next = connection->next;
    else
        registry->first = connection->next;
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    registry->count--;
    if (connection->turned_away != TPD_OK)
        registry->turned_away_count--;
    if (connection->counted_ip)
        uncount_ip(registry, connection->ip);
    pthread_mutex_unlock(&registry->lock);
    if (connection->turned_away != TPD_OK && !connection->is_told)
        tpd_stats_rejected(listener->http->world->stats, tpd_status_slug(connection->turned_away));
    tpd_request_free(atomic_load_explicit(&connection->request, memory_order_acquire));
    tpd_free(connection);
}

void tpd_connection_notify(void *listener, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode what) {
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        opened(listener, mhd, context);
    else
        closed(listener, context);
}

/* The request that takes an abandoned one's place: all of it but what the worker still writes. */
static struct tpd_exchange *replacement_of(const struct tpd_exchange *old) {
    struct tpd_exchange *fresh = tpd_alloc_zero(1, sizeof *fresh);
    if (fresh == NULL)
        return NULL;
    memcpy(fresh, old, offsetof(struct tpd_exchange, job));
    memset(&fresh->head, 0, sizeof fresh->head); /* the old one owns it, and nothing reads it any more */
    tpd_job_init(&fresh->job);
    fresh->job.owner = fresh;
    fresh->job.format_in = fresh->job.format_out = TPD_CODEC_COUNT;
    (void)tpd_fail(&fresh->refusal, TPD_DRAINING, "the daemon stopped before the work was done");
    return fresh;
}

void tpd_connections_abandon(struct tpd_listener *listener) {
    struct tpd_registry *registry = &listener->registry;
    pthread_mutex_lock(&registry->lock);
    for (struct tpd_connection *at = registry->first; at != NULL; at = at->next) {
        struct tpd_exchange *request = atomic_load_explicit(&at->request, memory_order_acquire);
        int running = TPD_HANDOFF_RUNNING;
        if (request == NULL || atomic_load_explicit(&request->handoff, memory_order_acquire) != running)
            continue;
        struct tpd_exchange *fresh = replacement_of(request);
        /* From here on the worker may free the old one at any moment. */
        if (atomic_compare_exchange_strong(&request->handoff, &running, TPD_HANDOFF_ABANDONED)) {
            atomic_store_explicit(&at->request, fresh, memory_order_release);
            MHD_resume_connection(at->mhd);
            atomic_fetch_sub_explicit(&listener->http->pending, 1, memory_order_release);
        } else {
            tpd_request_free(fresh);
        }
    }
    pthread_mutex_unlock(&registry->lock);
}

/* True when the body is late, or slower than it may be; *error says which. */
static bool body_is_late(const struct tpd_config *config, uint64_t elapsed_ns, uint64_t received, struct tpd_error *error) {
    if (elapsed_ns > config->receive_timeout) {
        (void)tpd_fail_limit(error, TPD_RECEIVE_TIMEOUT, config->receive_timeout / 1000000, elapsed_ns / 1000000,
                             "the body was not complete after %llu ms (receive_timeout); %llu bytes of it had come",
                             (unsigned long long)(config->receive_timeout / 1000000), (unsigned long long)received);
        return true;
    }
    uint64_t per_second = (uint64_t)((double)received * SECOND_NS / (double)(elapsed_ns + 1));
    if (elapsed_ns < GRACE_NS || per_second >= config->min_receive_rate)
        return false;
    (void)tpd_fail_limit(error, TPD_RECEIVE_TIMEOUT, config->min_receive_rate, per_second,
                         "the body comes at %llu bytes a second, min_receive_rate is %llu", (unsigned long long)per_second,
                         (unsigned long long)config->min_receive_rate);
    return true;
}

/* True when the client has closed its side and nothing of it is left to be read, looked at once a second while nothing moves.
 * MHD misses such an end when it comes with the last bytes before it (it waits for another edge), and would hold the connection
 * and its memory until idle_timeout. */
static bool client_is_gone(struct tpd_connection *connection, uint64_t state, uint64_t received, uint64_t now) {
    if (connection->seen_state != state || connection->seen_bytes != received) {
        connection->seen_state = state;
        connection->seen_bytes = received;
        connection->seen_ns = now;
        connection->seen_end = false;
        return false;
    }
    if (now - connection->seen_ns < SECOND_NS)
        return false;
    char byte;
    connection->seen_ns = now;
    /* Seen twice, a second apart: at the first look MHD may have the last bytes in its hands and not have told us yet. */
    bool ended = recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0, before = connection->seen_end;
    connection->seen_end = ended;
    return ended && before;
}

/* Under the lock. A move that fails means that the connection went on meanwhile: then it is not late. */
static void look_at(struct tpd_connection *connection, const struct tpd_config *config, bool stopping, uint64_t now) {
    uint64_t state = atomic_load_explicit(&connection->state, memory_order_acquire);
    uint64_t since = atomic_load_explicit(&connection->since_ns, memory_order_relaxed);
    uint64_t received = atomic_load_explicit(&connection->received_bytes, memory_order_relaxed);
    uint64_t elapsed = now > since ? now - since : 0;
    uint64_t next = (((state >> 8) + 1) << 8) | TPD_CONNECTION_KILLED;
    struct tpd_error error;
    bool late = false;
    switch ((enum tpd_connection_state)(state & 0xff)) {
    case TPD_CONNECTION_RECEIVING:
        late = stopping || body_is_late(config, elapsed, received, &error);
        if (stopping)
            (void)tpd_fail(&error, TPD_DRAINING, "the daemon stopped before the body was complete: send the request again");
        if (!late && client_is_gone(connection, state, received, now)) {
            late = true;
            next += TPD_CONNECTION_GONE - TPD_CONNECTION_KILLED;
            (void)tpd_fail_at(&error, TPD_TRUNCATED, received, "the body ends after %llu bytes, before it was complete",
                              (unsigned long long)received);
        }
        break;
    case TPD_CONNECTION_IDLE:
        /* MHD ends a silence of idle_timeout; so headers that drip in have that long as well from their first byte on. */
        late = elapsed > (connection->turned_away != TPD_OK ? GRACE_NS : 2 * config->idle_timeout);
        /* No state is moved: MHD may hold the whole request already. It is only told to look again, and finds the end. */
        if (!late && client_is_gone(connection, state, received, now))
            (void)shutdown(connection->fd, SHUT_RD);
        break;
    case TPD_CONNECTION_LINGERING:
        late = elapsed > GRACE_NS;
        break;
    case TPD_CONNECTION_WORKING:
    case TPD_CONNECTION_KILLED:
    case TPD_CONNECTION_GONE:
        break;
    }
    if (!late ||
        !atomic_compare_exchange_strong_explicit(&connection->state, &state, next, memory_order_acq_rel, memory_order_relaxed))
        return;
    if ((state & 0xff) == TPD_CONNECTION_RECEIVING) {
        const struct tpd_exchange *request = atomic_load_explicit(&connection->request, memory_order_acquire);
        tpd_connection_answer_raw(connection, request->id, request->is_transpose, &error);
    }
    (void)shutdown(connection->fd, SHUT_RDWR); /* MHD sees the end and closes */
}

static void *watch(void *self) {
    struct tpd_listener *listener = self;
    struct tpd_registry *registry = &listener->registry;
    pthread_mutex_lock(&registry->lock);
    while (!registry->stop) {
        uint64_t now = tpd_clock_ns();
        const struct tpd_config *config = atomic_load_explicit(&listener->http->world->config, memory_order_acquire);
        bool stopping = atomic_load_explicit(&listener->http->stopping, memory_order_acquire);
        for (struct tpd_connection *at = registry->first; at != NULL; at = at->next)
            look_at(at, config, stopping, now);
        (void)tpd_condition_wait(&registry->lock, &registry->wake, now + PERIOD_NS);
    }
    pthread_mutex_unlock(&registry->lock);
    return NULL;
}

enum tpd_status tpd_registry_init(struct tpd_listener *listener, struct tpd_error *error) {
    struct tpd_registry *registry = &listener->registry;
    enum tpd_status status = tpd_condition_init(&registry->lock, &registry->wake, error);
    if (status != TPD_OK)
        return status;
    int failed = pthread_create(&registry->watcher, NULL, watch, listener);
    if (failed != 0) {
        tpd_condition_fini(&registry->lock, &registry->wake);
        return tpd_fail(error, TPD_NO_MEMORY, "the thread that watches connections can't be started: %s", strerror(failed));
    }
    registry->watching = true;
    return TPD_OK;
}

void tpd_registry_fini(struct tpd_registry *registry) {
    if (registry->watching) {
        pthread_mutex_lock(&registry->lock);
        registry->stop = true;
        pthread_cond_signal(&registry->wake);
        pthread_mutex_unlock(&registry->lock);
        pthread_join(registry->watcher, NULL);
        registry->watching = false;
    }
    tpd_condition_fini(&registry->lock, &registry->wake);
}
