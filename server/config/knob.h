/* knob.h -- a row of tbl/config.def as data, for the files of this folder. */
#ifndef TPD_KNOB_H
#define TPD_KNOB_H

#include "transposed/config.h"

enum tpd_knob_type {
    TPD_KNOB_IS_TEXT,
    TPD_KNOB_IS_UINT,
    TPD_KNOB_IS_BYTES,
    TPD_KNOB_IS_TIME,
    TPD_KNOB_IS_CHOICE,
    TPD_KNOB_IS_TILE
};

struct tpd_knob_row {
    const char *name;
    enum tpd_knob_type type;
    uint64_t least, most;
    const char *words; /* of a CHOICE, "a|b|c"; else NULL */
    const char *default_text;
    bool reloadable;
    const char *section, *help;
    size_t offset; /* of the field in struct tpd_config */
};

enum { TPD_KNOB_RANGE_BYTES = 128 };

const struct tpd_knob_row *tpd_knob_row(enum tpd_knob knob);
/* What a value must be, in words: "a size from 1KiB to 1MiB", "one of error, warn, info, debug". */
void tpd_knob_range(enum tpd_knob knob, char text[TPD_KNOB_RANGE_BYTES]);
/* "bytes", "duration", "text", ...: what /v1/config calls the unit. */
const char *tpd_knob_unit(enum tpd_knob knob);
/* The knob that a mistyped name most likely means; TPD_KNOB_COUNT when none is near. */
enum tpd_knob tpd_knob_nearest(const char *name);
/* "default", "file", "environment", "flag". */
const char *tpd_config_source_name(enum tpd_config_source source);
/* "its default", "the file", "the environment", "the command line": for sentences. */
const char *tpd_config_source_place(enum tpd_config_source source);

#endif
