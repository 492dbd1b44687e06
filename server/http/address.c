/* address.c -- from the text of a listen knob to a listening socket, and the name it got. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/base/inet.h"
#include "server/http/http_internal.h"

enum { BACKLOG = 1024, UNIX_MODE = 0660 };

union any_address {
    struct sockaddr any;
    struct sockaddr_storage storage;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

static enum tpd_status unreadable(struct tpd_error *error, const char *knob, const char *text) {
    return tpd_fail(error, TPD_CONFIG, "%s \"%.80s\" is not ADDRESS:PORT, [IPv6]:PORT, unix:/path or fd:N", knob, text);
}

static enum tpd_status failed(struct tpd_error *error, const char *knob, const char *text, const char *what) {
    return tpd_fail(error, TPD_IO, "%s %.80s: %s: %s", knob, text, what, strerror(errno));
}

/* Says what would help. */
static enum tpd_status unbound(struct tpd_error *error, const char *knob, const char *text) {
    const char *advice = errno == EADDRINUSE ? "; another process has it: stop that one, or name another port (0: any free one)"
                         : errno == EADDRNOTAVAIL ? "; no interface of this machine has it: name one of its own, or 127.0.0.1"
                         : errno == EACCES        ? "; the system allows it to others alone: name another, or ask for the right"
                         : errno == ENOENT        ? "; the socket's folder has to be made first"
                                                  : "";
    return tpd_fail(error, TPD_IO, "%s %.80s: can't be bound: %s%s", knob, text, strerror(errno), advice);
}

/* What a socket is bound to, as a client would write it. */
static void name_of(int fd, char *text, size_t text_bytes) {
    union any_address bound;
    socklen_t bytes = sizeof bound;
    char host[INET6_ADDRSTRLEN] = "?";
    memset(&bound, 0, sizeof bound);
    if (getsockname(fd, &bound.any, &bytes) == 0 && bound.any.sa_family == AF_INET) {
        (void)inet_ntop(AF_INET, &bound.v4.sin_addr, host, sizeof host);
        (void)snprintf(text, text_bytes, "%s:%u", host, ntohs(bound.v4.sin_port));
    } else if (bound.any.sa_family == AF_INET6) {
        (void)inet_ntop(AF_INET6, &bound.v6.sin6_addr, host, sizeof host);
        (void)snprintf(text, text_bytes, "[%s]:%u", host, ntohs(bound.v6.sin6_port));
    } else {
        (void)snprintf(text, text_bytes, "unix:%.107s", bound.local.sun_path);
    }
}

static enum tpd_status open_inet(const char *knob, const char *text, struct tpd_address *address, struct tpd_error *error) {
    union any_address to;
    socklen_t bytes;
    if (!tpd_inet_parse(text, &to.storage, &bytes))
        return unreadable(error, knob, text);
    int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return failed(error, knob, text, "socket");
    address->fd = fd;
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* a restart must not wait for TIME_WAIT */
    if (to.any.sa_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int)); /* [::] takes IPv4 as well */
    if (bind(fd, &to.any, bytes) != 0)
        return unbound(error, knob, text);
    return TPD_OK;
}

/* True when nobody listens on a socket file that a daemon left behind. */
static bool is_stale(const union any_address *to) {
    struct stat file;
    if (stat(to->local.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool stale = connect(fd, &to->any, sizeof to->local) != 0 && errno == ECONNREFUSED;
    close(fd);
    return stale;
}

static enum tpd_status open_unix(const char *knob, const char *text, struct tpd_address *address, struct tpd_error *error) {
    union any_address to;
    const char *path = text + 5;
    memset(&to, 0, sizeof to);
    to.local.sun_family = AF_UNIX;
    if (path[0] != '/')
        return unreadable(error, knob, text);
    if (strlen(path) >= sizeof to.local.sun_path)
        return tpd_fail(error, TPD_CONFIG, "%s %.80s: the path of a Unix socket has at most %zu bytes, this one has %zu", knob,
                        text, sizeof to.local.sun_path - 1, strlen(path));
    memcpy(to.local.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return failed(error, knob, text, "socket");
    address->fd = fd;
    if (is_stale(&to))
        (void)unlink(path); /* when that fails, bind() says so */
    if (bind(fd, &to.any, sizeof to.local) != 0)
        return unbound(error, knob, text);
    memcpy(address->unix_path, to.local.sun_path, sizeof address->unix_path);
    if (chmod(path, UNIX_MODE) != 0)
        return failed(error, knob, text, "chmod 0660");
    return TPD_OK;
}

static enum tpd_status open_inherited(const char *knob, const char *text, struct tpd_address *address, struct tpd_error *error) {
    uint64_t number;
    if (!tpd_parse_uint(text + 3, &number) || number > INT32_MAX)
        return unreadable(error, knob, text);
    int listening = 0;
    socklen_t bytes = sizeof listening;
    if (getsockopt((int)number, SOL_SOCKET, SO_ACCEPTCONN, &listening, &bytes) != 0)
        return failed(error, knob, text, "no socket");
    if (!listening)
        return tpd_fail(error, TPD_IO, "%s %.80s: the descriptor is a socket that does not listen", knob, text);
    /* A copy, so that closing ours leaves the supervisor's alone. */
    address->fd = fcntl((int)number, F_DUPFD_CLOEXEC, 3);
    if (address->fd < 0 || fcntl(address->fd, F_SETFL, O_NONBLOCK) != 0)
        return failed(error, knob, text, "the descriptor can't be copied");
    address->inherited = true;
    return TPD_OK;
}

enum tpd_status tpd_address_open(const char *knob, const char *text, struct tpd_address *address, struct tpd_error *error) {
    memset(address, 0, sizeof *address);
    address->fd = -1;
    enum tpd_status status;
    if (strncmp(text, "unix:", 5) == 0)
        status = open_unix(knob, text, address, error);
    else if (strncmp(text, "fd:", 3) == 0)
        status = open_inherited(knob, text, address, error);
    else
        status = open_inet(knob, text, address, error);
    if (status == TPD_OK && !address->inherited && listen(address->fd, BACKLOG) != 0)
        status = failed(error, knob, text, "can't listen");
    if (status != TPD_OK) {
        tpd_address_close(address);
        return status;
    }
    name_of(address->fd, address->text, sizeof address->text);
    return TPD_OK;
}

void tpd_address_close(struct tpd_address *address) {
    if (address->fd >= 0) {
        if (!address->inherited)
            (void)shutdown(address->fd, SHUT_RDWR);
        close(address->fd);
        address->fd = -1;
    }
    if (address->unix_path[0] != '\0')
        (void)unlink(address->unix_path);
    address->unix_path[0] = '\0';
}
