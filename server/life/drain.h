/* drain.h -- the way out: from the wish to stop to the moment when nothing is under way. */
#ifndef TPD_DRAIN_H
#define TPD_DRAIN_H

#include "server/life/notify.h"
#include "transposed/http.h"

/* Says no on /readyz, answers on for drain_delay, closes the door, waits until drain_deadline, then refuses what is left:
 * tpd_http_destroy() answers it 503. */
void tpd_drain(struct tpd_world *world, struct tpd_http *http, const struct tpd_notify *notify);

#endif
