/* backends.c -- the table of back ends, made from its rows alone. */
#include "transposed/backend.h"

/* A row's name is a string, which no macro can paste into a symbol: the assembler's name says which table is meant.
 * A row that is not present is folded to NULL, so its symbol need not exist. */
#define X(NAME, name, PRESENT, summary) extern const struct tpd_backend table_##NAME __asm__("tpd_backend_" name);
#include "transposed/tbl/backends.def"
#undef X

static const struct row {
    const char *name, *summary;
    const struct tpd_backend *table;
} rows[TPD_BACKEND_COUNT] = {
#define X(NAME, name, PRESENT, summary) [TPD_BACKEND_##NAME] = {name, summary, (PRESENT) ? &table_##NAME : NULL},
#include "transposed/tbl/backends.def"
#undef X
};

const struct tpd_backend *tpd_backend_at(enum tpd_backend_id id) {
    return (unsigned)id < TPD_BACKEND_COUNT ? rows[id].table : NULL;
}

const char *tpd_backend_name(enum tpd_backend_id id) {
    return rows[id].name;
}

const char *tpd_backend_summary(enum tpd_backend_id id) {
    return rows[id].summary;
}

const char *tpd_device_state_name(enum tpd_device_state state) {
    switch (state) {
    case TPD_STATE_READY:
        return "ready";
    case TPD_STATE_LOST:
        return "lost";
    case TPD_STATE_ABSENT:
        break;
    }
    return "absent";
}
