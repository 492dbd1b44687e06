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
#define TPD_FIELD_TIME(name) uint64_t name;   /* nanoseconds */
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
enum tpd_tune { TPD_TUNE_ON, TPD_TUNE_READ, TPD_TUNE_OFF };

struct tpd_buf;

const char *tpd_knob_name(enum tpd_knob knob);
/* TPD_KNOB_COUNT when there is none; dashes and underscores are the same. */
enum tpd_knob tpd_knob_find(const char *name);
bool tpd_knob_is_reloadable(enum tpd_knob knob);
bool tpd_knob_has_off(enum tpd_knob knob); /* one of its words is `off`: --no-NAME says so, too */

/* Every knob at its default. Cannot fail: tests/unit checks that each default passes its own bounds. */
void tpd_config_defaults(struct tpd_config *config);
/* One knob from text. Fails with TPD_CONFIG: names the key, the value and the range. */
enum tpd_status tpd_config_set(struct tpd_config *config, enum tpd_knob knob, const char *text, enum tpd_config_source source,
                               struct tpd_error *error) TPD_CHECKED;
/* What a knob's type can't see: an address or a list of devices that can't be read, two listeners on one address. Once, after
 * the last set(). Fails with TPD_CONFIG: names the knobs, their values and the way out; *from is where the value came from. */
enum tpd_status tpd_config_check(const struct tpd_config *config, enum tpd_config_source *from,
                                 struct tpd_error *error) TPD_CHECKED;
/* A JSON file, at most 1 MiB: an object of knobs. Fails with TPD_CONFIG (unknown key, wrong type, range, duplicate key), TPD_IO.
 */
enum tpd_status tpd_config_read_file(struct tpd_config *config, const char *path, struct tpd_error *error) TPD_CHECKED;
/* Puts the file's name before an error's text: what read_file() does, for what check() finds wrong in a file's values. */
void tpd_config_name_file(const char *path, struct tpd_error *error);
/* Every TRANSPOSED_... variable; one that is no knob fails with TPD_CONFIG (TRANSPOSED_CONFIG is the file's path and passed
 * over). */
enum tpd_status tpd_config_read_environment(struct tpd_config *config, char *const *environment,
                                            struct tpd_error *error) TPD_CHECKED;
/* A knob's value as a person would write it ("4GiB", "5m", "32x32"). */
void tpd_config_print(const struct tpd_config *config, enum tpd_knob knob, char *text, size_t text_bytes);
/* {"knob": {"value": ..., "source": "file", "default": ..., "reloadable": true, ...}, ...}: /v1/config. */
enum tpd_status tpd_config_json(const struct tpd_config *config, struct tpd_buf *out);
/* {"knob": value, ...} as the file is written: --print-config. Reading it back gives the same configuration. */
enum tpd_status tpd_config_file_text(const struct tpd_config *config, struct tpd_buf *out);
/* The generated reference, Markdown: config/README.md. */
enum tpd_status tpd_config_reference(struct tpd_buf *out);

#ifdef __cplusplus
}
#endif

#endif
