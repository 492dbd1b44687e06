/* notify.c -- see notify.h. Forty lines in place of libsystemd, which would bring a dozen libraries along. */
#include "server/life/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "transposed/clock.h"

static uint64_t read_watchdog(void) {
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (usec == NULL || (pid != NULL && strtoull(pid, NULL, 10) != (unsigned long long)getpid()))
        return 0;
    unsigned long long period = strtoull(usec, NULL, 10);
    /* Half the period, as sd_watchdog_enabled(3) advises; a year at most, so that the product can't wrap. */
    if (period > 31536000000000u)
        period = 31536000000000u;
    return period * 1000u / 2u;
}

enum tpd_status tpd_notify_open(struct tpd_notify *notify, struct tpd_error *error) {
    *notify = (struct tpd_notify){.fd = -1, .watchdog_ns = 0};
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL || path[0] == '\0')
        return TPD_OK;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || length < 2 || length >= sizeof address.sun_path)
        return tpd_fail(error, TPD_IO, "NOTIFY_SOCKET is %.60s: it has to be a path or an @name of at most %zu bytes", path,
                        sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract name: its length counts, no NUL ends it */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) != 0) {
        enum tpd_status status = tpd_fail(error, TPD_IO, "NOTIFY_SOCKET %.80s can't be reached: %s", path, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return status;
    }
    notify->fd = fd;
    notify->watchdog_ns = read_watchdog();
    return TPD_OK;
}

void tpd_notify_send(const struct tpd_notify *notify, const char *state) {
    if (notify->fd >= 0)
        (void)!send(notify->fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void tpd_notify_reloading(const struct tpd_notify *notify) {
    char state[64];
    (void)snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, tpd_clock_ns() / 1000u);
    tpd_notify_send(notify, state);
}

void tpd_notify_close(struct tpd_notify *notify) {
    if (notify->fd >= 0)
        (void)close(notify->fd);
    notify->fd = -1;
}
