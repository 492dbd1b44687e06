/* http_internal.h -- what the files of server/http share, and nobody else sees.
 *
 * Connections and requests: a connection (tpd_connection) lives from accept to close and sits in the registry; it owns one
 * request (tpd_exchange) at a time, reused for the next one. A request whose job a worker holds while the daemon is torn down
 * is abandoned: it then belongs to the worker's done().
 * Threads: a request belongs to its connection's MHD thread; to a worker between tpd_engine_submit() and done(). The watcher
 * reads only a connection's atomics, and the request's id while the state it won says that nobody else does.
 */
#ifndef TPD_HTTP_INTERNAL_H
#define TPD_HTTP_INTERNAL_H

#include <microhttpd.h>
#include <netinet/in.h>
#include <nettle/sha2.h>
#include <pthread.h>

#include "server/pack/pack.h"
#include "transposed/http.h"

enum {
    TPD_GET = 1, /* HEAD comes with it */
    TPD_POST = 2
};

enum tpd_route_id {
#define X(NAME, path, methods, ADMIN, handler, summary) TPD_ROUTE_##NAME,
#include "transposed/tbl/routes.def"
#undef X
    TPD_ROUTE_COUNT
};

enum {
    TPD_DAEMONS_MOST = 256,
    TPD_DRAIN_MOST_BYTES = 64 << 20, /* of a refused body: more costs us more than a new connection costs the client */
    TPD_SNIFF_BYTES = 64,            /* what tpd_codec_sniff() looks at */
    TPD_REPLY_MOST_BYTES = 64 << 20, /* a JSON or metrics reply */
    TPD_DIGEST_TEXT_BYTES = 64,      /* "sha-256=:" + 44 + ":" + NUL, rounded up */
    TPD_PARAMETERS_MOST = 64,        /* pairs of a query: no route takes a tenth of that */
    TPD_LIST_HEADERS_MOST = 32       /* fields of one name whose values are joined to one list */
};

#define TPD_MANY_PARAMETERS "the URL has more than %d parameters: no path here takes so many"

/* One listening socket and the daemons that share it. */
struct tpd_address {
    char text[TPD_CONFIG_TEXT_BYTES + 16]; /* as bound; "" when off */
    char unix_path[108];                   /* to unlink at the end; "" when it isn't ours */
    int fd;                                /* -1: none */
    bool inherited;                        /* belongs to a supervisor: closed, never shut down */
};

enum tpd_connection_state {
    TPD_CONNECTION_IDLE,      /* between requests, headers included */
    TPD_CONNECTION_RECEIVING, /* headers done, the body arrives */
    TPD_CONNECTION_WORKING,   /* body complete: ours to answer; never timed here */
    TPD_CONNECTION_LINGERING, /* answered raw in mid-body: what still comes is swallowed, then the socket is shut */
    TPD_CONNECTION_KILLED,    /* the watcher answered 408, or 503 at the end, and shut the socket */
    TPD_CONNECTION_GONE       /* the client left in mid-body; the watcher shut the socket */
};

struct tpd_exchange;
struct tpd_listener;

struct tpd_connection {
    struct tpd_listener *listener;
    struct MHD_Connection *mhd;
    int fd;
    _Atomic uint64_t state;    /* enum tpd_connection_state in the low byte, above it a count of moves: a stale one never wins */
    _Atomic uint64_t since_ns; /* when that state began */
    _Atomic uint64_t received_bytes; /* of the body that is arriving */
    enum tpd_status turned_away;     /* TPD_CONNECTIONS_FULL or TPD_CLIENT_LIMIT: its first request is answered so; else TPD_OK */
    bool is_told;                    /* and was: who counts that request counts the connection */
    bool uri_is_bad;                 /* of the request whose line was just read: %00 or a raw control byte */
    bool has_many_parameters;        /* of the same: more than TPD_PARAMETERS_MOST */
    bool counted_ip;
    bool seen_end; /* the watcher's own, like the next three: what it saw, and since when */
    uint64_t seen_state, seen_bytes, seen_ns;
    unsigned char ip[16];
    _Atomic(struct tpd_exchange *) request;
    struct tpd_connection *next, *previous;
};

struct tpd_ip_count {
    unsigned char ip[16];
    uint64_t count;
    struct tpd_ip_count *next;
};

enum { TPD_IP_BUCKETS = 1024 };

/* Every open connection of a listener, and the thread that watches their clocks. */
struct tpd_registry {
    pthread_mutex_t lock;
    struct tpd_connection *first;
    uint64_t count, turned_away_count;
    struct tpd_ip_count *ips[TPD_IP_BUCKETS];
    pthread_cond_t wake;
    pthread_t watcher;
    bool watching, stop;
};

struct tpd_listener {
    struct tpd_http *http;
    bool is_admin;
    struct tpd_address address;
    struct tpd_registry registry;
    struct MHD_Daemon *daemon[TPD_DAEMONS_MOST];
    uint32_t daemons;
};

struct tpd_http {
    struct tpd_world *world;
    struct tpd_listener data, admin;
    _Atomic uint64_t in_flight; /* requests begun and not completed */
    _Atomic uint64_t pending;   /* jobs that workers hold for requests that still have a connection */
    _Atomic bool closing;       /* no new connection: each answer says so */
    _Atomic bool stopping;      /* nothing is handed to the engine any more */
    _Atomic uint64_t next_id;   /* starts anywhere */
    size_t connection_bytes;    /* MHD's memory for one connection */
};

/* Who has a request's job. */
enum tpd_handoff { TPD_HANDOFF_NONE, TPD_HANDOFF_INLINE, TPD_HANDOFF_RUNNING, TPD_HANDOFF_DONE, TPD_HANDOFF_ABANDONED };

/* The request headers that anybody here reads. Borrowed from MHD until the request completes, but for lists that came in pieces.
 */
enum tpd_head_list {
    TPD_LIST_ACCEPT,
    TPD_LIST_ACCEPT_ENCODING,
    TPD_LIST_ENCODING,
    TPD_LIST_DIGEST,
    TPD_LIST_WANT_DIGEST,
    TPD_LIST_COUNT
};
struct tpd_head {
    const char *content_type, *content_encoding, *accept_encoding, *accept, *content_digest, *want_digest, *request_id,
        *traceparent, *host, *expect;
    const char *content_length, *transfer_encoding;
    unsigned content_lengths, transfer_encodings, hosts;
    bool ambiguous;
    char *joined[TPD_LIST_COUNT]; /* owned; NULL while the header is there once */
    unsigned joins;               /* of all lists; UINT_MAX: no memory for one */
};

struct tpd_exchange {
    struct tpd_connection *connection;
    struct tpd_http *http;
    const struct tpd_config *config;
    bool begun, counted; /* counted: tpd_stats_begin() was called */
    bool is_head, close_after;
    uint64_t begin_ns, at_unix_ns;
    const char *method; /* borrows from MHD while the request lives */
    enum tpd_route_id route;
    struct tpd_head head;
    char id[TPD_ID_BYTES];
    char trace_id[33];
    char path[96]; /* for the log: cut there */

    /* What this request will be answered with instead; status TPD_OK: nothing of the kind. */
    struct tpd_error refusal;
    const char *allow; /* of a 405 */

    /* The body. */
    bool has_body, has_content_bytes;
    uint64_t content_bytes, received_bytes;
    uint64_t refused_at;         /* bytes that had come when the body was refused */
    uint64_t plain_bytes;        /* of a transpose's, behind its packing */
    struct tpd_packer *unpacker; /* owned; NULL but while a packed body arrives */

    /* A transpose. */
    bool is_transpose, sniffing, check_digest, want_digest, is_complete;
    struct tpd_decode_options decode;
    unsigned char first[TPD_SNIFF_BYTES];
    size_t first_bytes;
    unsigned char digest[SHA256_DIGEST_SIZE];
    struct sha256_ctx sha;

    struct tpd_buf body; /* of a POST that is no transpose; owned */

    /* The answer, for stats and log. */
    int http_status;
    enum tpd_status status;
    uint64_t bytes_out;

    /* From here on a worker's while the handoff says RUNNING or ABANDONED; tpd_connections_abandon() copies what is before. */
    struct tpd_job job;
    char digest_text[TPD_DIGEST_TEXT_BYTES];
    enum tpd_packing packing_out; /* what the answer is packed with */
    _Atomic int handoff;
};

/* One route's row. */
struct tpd_route {
    const char *path;
    unsigned methods;
    bool admin;
    enum MHD_Result (*handler)(struct tpd_exchange *request);
    const char *summary;
};
const struct tpd_route *tpd_route_at(enum tpd_route_id id);
/* TPD_ROUTE_COUNT when nothing is there. */
enum tpd_route_id tpd_route_find(const char *path, bool admin_only);
const char *tpd_route_allow(unsigned methods);

/* Handlers: queue an answer. One that reads a body is called when its headers are complete (tpd_*_begin), as the body
 * arrives and at its end; the handler of the table is the end. */
#define X(NAME, path, methods, ADMIN, handler, summary) enum MHD_Result handler(struct tpd_exchange *request);
#include "transposed/tbl/routes.def"
#undef X
enum tpd_status tpd_transpose_begin(struct tpd_exchange *request);
enum tpd_status tpd_transpose_push(struct tpd_exchange *request, const char *bytes, size_t count);
enum tpd_status tpd_banks_begin(struct tpd_exchange *request);
enum tpd_status tpd_banks_push(struct tpd_exchange *request, const char *bytes, size_t count);

/* address.c */
enum tpd_status tpd_address_open(const char *knob, const char *text, struct tpd_address *address,
                                 struct tpd_error *error) TPD_CHECKED;
/* Refuses what still wants to connect (not on an inherited socket), closes, removes the path. */
void tpd_address_close(struct tpd_address *address);

/* connections.c */
enum tpd_status tpd_registry_init(struct tpd_listener *listener, struct tpd_error *error) TPD_CHECKED;
void tpd_registry_fini(struct tpd_registry *registry);
void tpd_connection_notify(void *listener, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode what);
/* From one state to another; false when somebody else moved it meanwhile. */
bool tpd_connection_move(struct tpd_connection *connection, enum tpd_connection_state from, enum tpd_connection_state to);
/* To be called before a request is let go of: from here on the watcher does not look at it. Answers the state that the
 * connection was in; one that was RECEIVING is LINGERING now. */
enum tpd_connection_state tpd_connection_keep_watcher_off(struct tpd_connection *connection);
/* Answers the refusal on the bare socket, past MHD, in mid-body. */
void tpd_connection_answer_raw(struct tpd_connection *connection, const char *id, bool listed, const struct tpd_error *error);
/* Answers 503 for every request whose job a worker still holds, and lets go of the jobs. */
void tpd_connections_abandon(struct tpd_listener *listener);

/* request.c */
void *tpd_request_uri(void *listener, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result tpd_request_handle(void *listener, struct MHD_Connection *mhd, const char *url, const char *method,
                                   const char *version, const char *upload, size_t *upload_bytes, void **context);
void tpd_request_completed(void *listener, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode why);
void tpd_request_free(struct tpd_exchange *request);

/* head.c */
enum tpd_status tpd_head_read(struct tpd_exchange *request, const char *version);
void tpd_head_identify(struct tpd_exchange *request);
void tpd_head_fini(struct tpd_head *head);
/* Digits alone, no overflow. */
bool tpd_parse_uint(const char *text, uint64_t *value);

/* encoding.c: the body's packing is found and undone; the answer gets the one that the client likes best. */
enum tpd_status tpd_encoding_begin(struct tpd_exchange *request);
enum tpd_status tpd_encoding_push(struct tpd_exchange *request, const void *bytes, size_t count);
enum tpd_status tpd_encoding_end(struct tpd_exchange *request);
void tpd_encoding_pack(struct tpd_exchange *request);
/* api_transpose.c: bytes of the body as the format has them. */
enum tpd_status tpd_transpose_take(struct tpd_exchange *request, const unsigned char *bytes, size_t count);

/* query.c: the parameters of a transpose into decode and job. */
enum tpd_status tpd_query_read(struct tpd_exchange *request);
/* Is key this parameter? Its words may be joined as on a command line, by dashes. */
bool tpd_query_is(const char *name, const char *key);
/* For a route with other parameters, `taken`, or none: refuses what is unknown, there twice or without a value. */
enum tpd_status tpd_query_check(struct tpd_exchange *request, const char *const *taken, unsigned count);

/* api_banks.c: the compute capability of the first GPU that is here and whose limits are known, else the default's. */
uint32_t tpd_banks_capability(struct tpd_exchange *request);
/* What that GPU's driver says of a plan's kernel; false when there is none. context: the request. */
bool tpd_banks_driver(void *context, const struct tpd_plan *plan, uint32_t *registers, uint32_t *blocks);

/* digest.c */
enum tpd_status tpd_digest_parse(const char *field, unsigned char digest[SHA256_DIGEST_SIZE], bool *found,
                                 struct tpd_error *error);
bool tpd_digest_is_wanted(const char *field);
void tpd_digest_print(const unsigned char digest[SHA256_DIGEST_SIZE], char text[TPD_DIGEST_TEXT_BYTES]);

/* problem.c */
unsigned tpd_problem_retry_after(enum tpd_status status); /* seconds; 0: none */
/* listed: the request is a transpose, which /stats shows for a while. */
enum tpd_status tpd_problem_json(const struct tpd_error *error, const char *id, bool listed, struct tpd_buf *out);

/* reply.c: each queues one answer; MHD_NO only when there is no memory even for that. */
enum MHD_Result tpd_reply_refusal(struct tpd_exchange *request);
/* Takes what buf holds; a buffer that failed becomes a 500 or 503. */
enum MHD_Result tpd_reply_buf(struct tpd_exchange *request, int http_status, const char *type, struct tpd_buf *buf);
enum MHD_Result tpd_reply_answer(struct tpd_exchange *request);

#endif
