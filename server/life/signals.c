/* signals.c -- see signals.h.
 *
 * A thread rather than a signalfd in the main loop: the second SIGTERM has to work while the main thread is inside a driver
 * call that hangs, which is when somebody sends it.
 */
#include "server/life/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "transposed/log.h"

static int events[2] = {-1, -1}; /* a pipe: one byte an event */

static void *wait_for_signals(void *argument) {
    sigset_t *set = argument;
    unsigned stops = 0;
    for (;;) {
        int number;
        if (sigwait(set, &number) != 0)
            continue;
        unsigned char event = number == SIGHUP ? TPD_SIGNAL_RELOAD : TPD_SIGNAL_STOP;
        if (event == TPD_SIGNAL_STOP && ++stops > 1) {
            tpd_log(TPD_LOG_WARN, "second signal to stop: ends at once");
            _exit(1);
        }
        /* Non-blocking: a full pipe holds events enough, and a reload more or less is the same. */
        (void)!write(events[1], &event, 1);
    }
    return NULL;
}

enum tpd_status tpd_signals_open(struct tpd_error *error) {
    static sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    int failed = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (failed == 0 && pipe2(events, O_CLOEXEC | O_NONBLOCK) != 0)
        failed = errno;
    pthread_t thread;
    if (failed == 0)
        failed = pthread_create(&thread, NULL, wait_for_signals, &set);
    if (failed != 0)
        return tpd_fail(error, TPD_IO, "signals can't be watched: %s", strerror(failed));
    (void)pthread_detach(thread);
    return TPD_OK;
}

enum tpd_signal tpd_signals_next(uint64_t timeout_ns) {
    struct pollfd fd = {.fd = events[0], .events = POLLIN};
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u), .tv_nsec = (long)(timeout_ns % 1000000000u)};
    unsigned char event;
    if (ppoll(&fd, 1, timeout_ns == UINT64_MAX ? NULL : &timeout, NULL) > 0 && read(events[0], &event, 1) == 1)
        return (enum tpd_signal)event;
    return TPD_SIGNAL_NONE;
}
