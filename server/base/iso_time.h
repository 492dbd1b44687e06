/* iso_time.h -- a moment as people and machines both read it: 2025-03-14T15:09:26.535Z. */
#ifndef TPD_ISO_TIME_H
#define TPD_ISO_TIME_H

#include <stdint.h>

enum { TPD_ISO_TIME_BYTES = 32 };

void tpd_iso_time(uint64_t unix_ns, char text[TPD_ISO_TIME_BYTES]);
uint64_t tpd_unix_ns(void); /* the wall clock, now */

#endif
