/* notify.h -- tells the service manager how the daemon is: systemd's notification protocol, a datagram to NOTIFY_SOCKET.
 *
 * Threads: one. Without NOTIFY_SOCKET every call is a no-op; a message that can't be sent is dropped (the manager's timeouts
 * notice).
 */
#ifndef TPD_NOTIFY_H
#define TPD_NOTIFY_H

#include "transposed/status.h"

struct tpd_notify {
    int fd;               /* -1: nobody asked */
    uint64_t watchdog_ns; /* a ping is due at least this often; 0: no watchdog */
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. Fails with TPD_IO: an address that can't be reached, named. */
enum tpd_status tpd_notify_open(struct tpd_notify *notify, struct tpd_error *error) TPD_CHECKED;
void tpd_notify_send(const struct tpd_notify *notify, const char *state); /* "READY=1" */
/* "RELOADING=1" with the time that the protocol asks for. */
void tpd_notify_reloading(const struct tpd_notify *notify);
void tpd_notify_close(struct tpd_notify *notify);

#endif
