/* sources.h -- one configuration out of flags, environment, file and defaults; read the same way at the start and on SIGHUP. */
#ifndef TPD_SOURCES_H
#define TPD_SOURCES_H

#include "transposed/config.h"

struct tpd_sources {
    const char *path;                  /* NULL or "": no file; borrowed for the process's life */
    const char *flags[TPD_KNOB_COUNT]; /* the flag's text, NULL where none was given; borrowed likewise */
};

/* flags_are_wrong tells a bad command line (true) from a bad file or environment (false).
 * Fails with TPD_CONFIG and TPD_IO as config.h says, and with TPD_CONFIG for a strategy that isn't there. */
enum tpd_status tpd_sources_load(const struct tpd_sources *sources, struct tpd_config *config, bool *flags_are_wrong,
                                 struct tpd_error *error) TPD_CHECKED;

/* Puts back what a running daemon can't change: every knob that is not reloadable takes old's value and source.
 * Answers how many differed, and their names ("listen, recent"), as many as there is room for; names_bytes is at least 1. */
unsigned tpd_sources_keep_fixed(struct tpd_config *config, const struct tpd_config *old, char *names, size_t names_bytes);

#endif
