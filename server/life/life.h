/* life.h -- the daemon from its first log line to its last: start, readiness, reload, drain. */
#ifndef TPD_LIFE_H
#define TPD_LIFE_H

#include "server/life/sources.h"

/* Serves until a signal or a lost device ends it. Copies config; borrows sources for reloads.
 * True when it drained because it was asked to; false when it could not start, lost its device, or had to cut requests off.
 * Once a process. */
bool tpd_life_serve(const struct tpd_sources *sources, const struct tpd_config *config);

#endif
