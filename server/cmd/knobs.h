/* knobs.h -- the knobs of tbl/config.def as people read them: help, completion and manual page. */
#ifndef TPD_KNOBS_H
#define TPD_KNOBS_H

#include "transposed/config.h"

struct tpd_knob_text {
    char flag[64];     /* "--max-body-bytes" */
    const char *value; /* "BYTES", or the words of a choice */
    const char *default_text;
    const char *help;
};
/* Pure: static text, and the flag built in place. */
void tpd_knob_describe(enum tpd_knob knob, struct tpd_knob_text *text);
/* All of them, to standard output, folded to 100 columns. */
void tpd_knobs_print_help(void);

#endif
