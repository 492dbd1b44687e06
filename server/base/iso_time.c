/* iso_time.c -- the wall clock, and how it is printed. Durations never come from here: see transposed/clock.h. */
#include "server/base/iso_time.h"

#include <stdio.h>
#include <time.h>

uint64_t tpd_unix_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void tpd_iso_time(uint64_t unix_ns, char text[TPD_ISO_TIME_BYTES]) {
    time_t seconds = (time_t)(unix_ns / 1000000000u); /* at most the year 2554: four digits */
    struct tm parts;
    (void)gmtime_r(&seconds, &parts);
    size_t length = strftime(text, TPD_ISO_TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(text + length, TPD_ISO_TIME_BYTES - length, ".%03uZ", (unsigned)(unix_ns / 1000000u % 1000u));
}
