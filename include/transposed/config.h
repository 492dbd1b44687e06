/* config.h -- the effective configuration: one field a knob of tbl/config.def, filled by server/config.
 *
 * Every floor below the app sees only this filled struct. Threads: read-only once the daemon serves; a reload makes a new one.
 */
#ifndef TRANSPOSED_CONFIG_H
#define TRANSPOSED_CONFIG_H

#include "transposed/status.h"
#include "transposed/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TPD_CONFIG_TEXT_BYTES = 256 };

enum tpd_knob {
#define X(TYPE, name, least, most, default_text, RELOAD, SECTION, help) TPD_KNOB_##name,
#include "transposed/tbl/config.def"
#undef X
    TPD_KNOB_COUNT
};

enum tpd_config_source { TPD_SOURCE_DEFAULT, TPD_SOURCE_FILE, TPD_SOURCE_ENVIRONMENT, TPD_SOURCE_FLAG };

#define TPD_FIELD_TEXT(name) char name[TPD_CONFIG_TEXT_BYTES];
#define TPD_FIELD_UINT(name) uint64_t name;
#define TPD_FIELD_BYTES(name) uint64_t name;
#define TPD_FIELD_TIME(name) uint64_t name; /* nanoseconds */
#define TPD_FIELD_CHOICE(name) uint32_t name; /* index of the word */
#define TPD_FIELD_TILE(name) struct tpd_tile name;
struct tpd_config {
#define X(TYPE, name, least, most, default_text, RELOAD, SECTION, help) TPD_FIELD_##TYPE(name)
#include "transposed/tbl/config.def"
#undef X
    enum tpd_config_source source[TPD_KNOB_COUNT];
};
#undef TPD_FIELD_TEXT
#undef TPD_FIELD_UINT
#undef TPD_FIELD_BYTES
#undef TPD_FIELD_TIME
#undef TPD_FIELD_CHOICE
#undef TPD_FIELD_TILE

enum tpd_on_device_loss { TPD_LOSS_CPU, TPD_LOSS_EXIT };

#ifdef __cplusplus
}
#endif

#endif
