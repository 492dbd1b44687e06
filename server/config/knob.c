/* knob.c -- the table of knobs and how names are found in it. */
#include "server/config/knob.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/config/value.h"

#define ROW_TEXT(least, most) TPD_KNOB_IS_TEXT, least, most, NULL
#define ROW_UINT(least, most) TPD_KNOB_IS_UINT, least, most, NULL
#define ROW_BYTES(least, most) TPD_KNOB_IS_BYTES, least, most, NULL
#define ROW_TIME(least, most) TPD_KNOB_IS_TIME, least, most, NULL
#define ROW_CHOICE(words, most) TPD_KNOB_IS_CHOICE, 0, most, words
#define ROW_TILE(least, most) TPD_KNOB_IS_TILE, least, most, NULL
static const struct tpd_knob_row rows[TPD_KNOB_COUNT] = {
#define X(TYPE, name, least, most, default_text, RELOAD, SECTION, help) \
    [TPD_KNOB_##                                                        \
        name] = {#name, ROW_##TYPE(least, most), default_text, RELOAD != 0, SECTION, help, offsetof(struct tpd_config, name)},
#include "transposed/tbl/config.def"
#undef X
};

const struct tpd_knob_row *tpd_knob_row(enum tpd_knob knob) {
    return &rows[knob];
}

const char *tpd_knob_name(enum tpd_knob knob) {
    return rows[knob].name;
}

bool tpd_knob_is_reloadable(enum tpd_knob knob) {
    return rows[knob].reloadable;
}

bool tpd_knob_has_off(enum tpd_knob knob) {
    uint32_t word;
    return rows[knob].words != NULL && tpd_value_parse_word("off", rows[knob].words, &word);
}

/* Names compare with '-' as '_', so that one function serves files, flags and the environment. */
static char folded(char letter) {
    return letter == '-' ? '_' : letter;
}

enum tpd_knob tpd_knob_find(const char *name) {
    for (int i = 0; i < TPD_KNOB_COUNT; i++) {
        size_t at = 0;
        while (name[at] != '\0' && folded(name[at]) == rows[i].name[at])
            at++;
        if (name[at] == '\0' && rows[i].name[at] == '\0')
            return (enum tpd_knob)i;
    }
    return TPD_KNOB_COUNT;
}

enum { NAME_MOST = 48 };

/* Edits between two names (insert, delete, replace), by the row-by-row table of Wagner and Fischer. */
static unsigned distance(const char *from, size_t from_length, const char *to, size_t to_length) {
    unsigned row[NAME_MOST + 1];
    for (size_t j = 0; j <= to_length; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= from_length; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= to_length; j++) {
            unsigned replace = diagonal + (folded(from[i - 1]) != to[j - 1]);
            unsigned shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replace < shorter ? replace : shorter;
        }
    }
    return row[to_length];
}

enum tpd_knob tpd_knob_nearest(const char *name) {
    size_t length = strnlen(name, NAME_MOST + 1);
    enum tpd_knob nearest = TPD_KNOB_COUNT;
    unsigned least = (unsigned)length / 3 + 2; /* farther than a third of the letters is no slip of the finger */
    if (length > NAME_MOST)
        return nearest;
    for (int i = 0; i < TPD_KNOB_COUNT; i++) {
        size_t other = strlen(rows[i].name);
        unsigned edits = other <= NAME_MOST ? distance(name, length, rows[i].name, other) : least;
        if (edits < least) {
            least = edits;
            nearest = (enum tpd_knob)i;
        }
    }
    return nearest;
}

const char *tpd_config_source_name(enum tpd_config_source source) {
    static const char *const names[] = {"default", "file", "environment", "flag"};
    return names[source];
}

const char *tpd_config_source_place(enum tpd_config_source source) {
    static const char *const places[] = {"its default", "the file", "the environment", "the command line"};
    return places[source];
}

const char *tpd_knob_unit(enum tpd_knob knob) {
    static const char *const units[] = {"text", "count", "bytes", "duration", "word", "tile"};
    return units[rows[knob].type];
}

void tpd_knob_range(enum tpd_knob knob, char text[TPD_KNOB_RANGE_BYTES]) {
    const struct tpd_knob_row *row = &rows[knob];
    char least[TPD_VALUE_BYTES], most[TPD_VALUE_BYTES];
    size_t length = 0;
    switch (row->type) {
    case TPD_KNOB_IS_TEXT:
        (void)snprintf(text, TPD_KNOB_RANGE_BYTES, "a text of %" PRIu64 " to %" PRIu64 " bytes", row->least, row->most);
        break;
    case TPD_KNOB_IS_UINT:
        (void)snprintf(text, TPD_KNOB_RANGE_BYTES, "a number from %" PRIu64 " to %" PRIu64, row->least, row->most);
        break;
    case TPD_KNOB_IS_BYTES:
        tpd_value_print_bytes(row->least, least);
        tpd_value_print_bytes(row->most, most);
        (void)snprintf(text, TPD_KNOB_RANGE_BYTES, "a size from %s to %s (B KiB MiB GiB TiB)", least, most);
        break;
    case TPD_KNOB_IS_TIME:
        tpd_value_print_time(row->least, least);
        tpd_value_print_time(row->most, most);
        (void)snprintf(text, TPD_KNOB_RANGE_BYTES, "a duration from %s to %s (ns us ms s m h)", least, most);
        break;
    case TPD_KNOB_IS_CHOICE:
        length = (size_t)snprintf(text, TPD_KNOB_RANGE_BYTES, "one of ");
        for (const char *at = row->words; *at != '\0' && length + 3 < TPD_KNOB_RANGE_BYTES; at++) {
            text[length++] = *at == '|' ? ',' : *at;
            if (*at == '|')
                text[length++] = ' ';
        }
        text[length] = '\0';
        break;
    case TPD_KNOB_IS_TILE:
        (void)snprintf(text, TPD_KNOB_RANGE_BYTES, "auto, or ROWSxCOLS with sides that are powers of two from %d to %d",
                       TPD_TILE_LEAST, TPD_TILE_MOST);
        break;
    }
}
