/* signals.h -- signals as events: a thread waits for them, so that no handler ever runs.
 *
 * One process, one of these. Threads: open before any other thread starts (they inherit the blocked signals); next from one
 * thread.
 */
#ifndef TPD_SIGNALS_H
#define TPD_SIGNALS_H

#include "transposed/status.h"

enum tpd_signal { TPD_SIGNAL_NONE, TPD_SIGNAL_STOP, TPD_SIGNAL_RELOAD };

/* Blocks SIGTERM, SIGINT and SIGHUP and starts the thread. From the second SIGTERM or SIGINT on the process ends at once,
 * status 1, whatever the other threads are doing: requests are cut off. Fails with TPD_IO. */
enum tpd_status tpd_signals_open(struct tpd_error *error) TPD_CHECKED;
/* The next event, or TPD_SIGNAL_NONE after timeout_ns (UINT64_MAX: no limit). */
enum tpd_signal tpd_signals_next(uint64_t timeout_ns);

#endif
