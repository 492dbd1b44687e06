/* bench_echo.c -- the peer that the HTTP figures are measured against: libmicrohttpd giving a body back, and nothing else.
 *
 * bench_echo THREADS: listens on a free port of 127.0.0.1, prints the port, serves until standard input ends.
 * It is set up as the daemon is (one socket, single-thread epoll daemons, as much memory a connection) and does the least that
 * an answer needs: the body into one buffer of its size, and that buffer back.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { THREADS_MOST = 64, CONNECTION_BYTES = 160 << 10 };

struct echo {
    unsigned char *body;
    size_t bytes, capacity_bytes;
};

static void release(void *body) {
    free(body);
}

static enum MHD_Result handle(void *self, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_bytes, void **context) {
    struct echo *echo = *context;
    (void)self, (void)url, (void)method, (void)version;
    if (echo == NULL) {
        const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
        *context = echo = calloc(1, sizeof *echo);
        if (echo == NULL)
            return MHD_NO;
        echo->capacity_bytes = length != NULL ? strtoull(length, NULL, 10) : 0;
        echo->body = malloc(echo->capacity_bytes + 1);
        return echo->body != NULL ? MHD_YES : MHD_NO;
    }
    if (*upload_bytes != 0) {
        if (*upload_bytes > echo->capacity_bytes - echo->bytes)
            return MHD_NO;
        memcpy(echo->body + echo->bytes, upload, *upload_bytes);
        echo->bytes += *upload_bytes;
        *upload_bytes = 0;
        return MHD_YES;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback_cls(echo->bytes, echo->body, release, echo->body);
    if (response == NULL)
        return MHD_NO;
    echo->body = NULL;
    enum MHD_Result result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

static void completed(void *self, struct MHD_Connection *connection, void **context, enum MHD_RequestTerminationCode why) {
    struct echo *echo = *context;
    (void)self, (void)connection, (void)why;
    if (echo != NULL)
        free(echo->body);
    free(echo);
    *context = NULL;
}

static int fail(const char *what) {
    perror(what);
    return EXIT_FAILURE;
}

int main(int argc, char **argv) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    int threads = argc == 2 ? atoi(argv[1]) : 0;
    if (threads < 1 || threads > THREADS_MOST) {
        fprintf(stderr, "usage: bench_echo THREADS (1 to %d)\n", THREADS_MOST);
        return 2;
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 1024) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &bytes) != 0)
        return fail("bench_echo: socket");
    struct MHD_Daemon *daemon[THREADS_MOST];
    for (int i = 0; i < threads; i++) {
        daemon[i] =
            MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, handle, NULL, MHD_OPTION_LISTEN_SOCKET,
                             fcntl(fd, F_DUPFD_CLOEXEC, 3), MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
                             MHD_OPTION_CONNECTION_LIMIT, 1024u, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL, MHD_OPTION_END);
        if (daemon[i] == NULL)
            return fail("bench_echo: MHD_start_daemon");
    }
    printf("%u\n", ntohs(at.sin_port));
    fflush(stdout);
    while (getchar() != EOF)
        ;
    for (int i = 0; i < threads; i++)
        MHD_stop_daemon(daemon[i]);
    close(fd);
    return EXIT_SUCCESS;
}
