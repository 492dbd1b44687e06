/* config.c -- sets and prints one knob, and looks at what several say together. */
#include "transposed/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sys/un.h>

#include "server/base/inet.h"
#include "server/base/utf8.h"
#include "server/config/knob.h"
#include "server/config/value.h"
#include "transposed/backend.h"

void tpd_config_defaults(struct tpd_config *config) {
    memset(config, 0, sizeof *config);
    for (int i = 0; i < TPD_KNOB_COUNT; i++) {
        /* The table is ours: tests/unit/engine/test_config.c holds every default against its bounds. */
        enum tpd_status status =
            tpd_config_set(config, (enum tpd_knob)i, tpd_knob_row((enum tpd_knob)i)->default_text, TPD_SOURCE_DEFAULT, NULL);
        (void)status;
    }
}

/* Printable, well-formed and without a line's end: it goes into logs, headers and file names. */
static bool is_plain(const char *text) {
    uint32_t code;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t length = tpd_utf8_next(at, &code);
        if (length == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0))
            return false;
        at += length;
    }
    return true;
}

static enum tpd_status refuse(enum tpd_knob knob, const char *text, enum tpd_config_source source, const char *why,
                              struct tpd_error *error) {
    char range[TPD_KNOB_RANGE_BYTES];
    tpd_knob_range(knob, range);
    size_t length = strlen(text);
    return tpd_fail(error, TPD_CONFIG, "%s = '%.48s%s' from %s %s: it takes %s", tpd_knob_name(knob), text,
                    length > 48 ? "..." : "", tpd_config_source_place(source), why, range);
}

enum tpd_status tpd_config_set(struct tpd_config *config, enum tpd_knob knob, const char *text, enum tpd_config_source source,
                               struct tpd_error *error) {
    const struct tpd_knob_row *row = tpd_knob_row(knob);
    void *field = (char *)config + row->offset;
    uint64_t number = 0;
    uint32_t word;
    bool reads = true;
    switch (row->type) {
    case TPD_KNOB_IS_TEXT:
        if (!is_plain(text))
            return refuse(knob, "", source, "has a control character or is not UTF-8", error);
        number = strlen(text);
        break;
    case TPD_KNOB_IS_UINT:
        reads = tpd_value_parse_uint(text, &number);
        break;
    case TPD_KNOB_IS_BYTES:
        reads = tpd_value_parse_bytes(text, &number);
        break;
    case TPD_KNOB_IS_TIME:
        reads = tpd_value_parse_time(text, &number);
        break;
    case TPD_KNOB_IS_CHOICE:
        if (!tpd_value_parse_word(text, row->words, &word))
            return refuse(knob, text, source, "is no such word", error);
        *(uint32_t *)field = word;
        config->source[knob] = source;
        return TPD_OK;
    case TPD_KNOB_IS_TILE:
        if (tpd_tile_parse(text, field, NULL) != TPD_OK)
            return refuse(knob, text, source, "is no tile", error);
        config->source[knob] = source;
        return TPD_OK;
    }
    if (!reads)
        return refuse(knob, text, source, "can't be read", error);
    if (number < row->least || number > row->most)
        return refuse(knob, text, source, "is out of range", error);
    if (knob == TPD_KNOB_strategy) {
        enum tpd_strategy_id id;
        struct tpd_error detail;
        if (tpd_strategy_find(text, &id, &detail) != TPD_OK)
            return tpd_fail(error, TPD_CONFIG, "strategy = '%.48s' from %s can't be used: %.150s", text,
                            tpd_config_source_place(source), detail.text);
    }
    if (row->type == TPD_KNOB_IS_TEXT)
        memcpy(field, text, number + 1); /* most is below TPD_CONFIG_TEXT_BYTES: a test holds the table to it */
    else
        *(uint64_t *)field = number;
    config->source[knob] = source;
    return TPD_OK;
}

void tpd_config_print(const struct tpd_config *config, enum tpd_knob knob, char *text, size_t text_bytes) {
    const struct tpd_knob_row *row = tpd_knob_row(knob);
    const void *field = (const char *)config + row->offset;
    const struct tpd_tile *tile = field;
    char number[TPD_VALUE_BYTES] = "";
    const char *word = field;
    int length = TPD_CONFIG_TEXT_BYTES - 1;
    switch (row->type) {
    case TPD_KNOB_IS_TEXT:
        break;
    case TPD_KNOB_IS_CHOICE:
        word = tpd_value_word(row->words, *(const uint32_t *)field, &length);
        break;
    case TPD_KNOB_IS_UINT:
        (void)snprintf(number, sizeof number, "%" PRIu64, *(const uint64_t *)field);
        word = number;
        break;
    case TPD_KNOB_IS_BYTES:
        tpd_value_print_bytes(*(const uint64_t *)field, number);
        word = number;
        break;
    case TPD_KNOB_IS_TIME:
        tpd_value_print_time(*(const uint64_t *)field, number);
        word = number;
        break;
    case TPD_KNOB_IS_TILE:
        if (tile->rows == 0)
            (void)snprintf(number, sizeof number, "auto");
        else
            (void)snprintf(number, sizeof number, "%" PRIu32 "x%" PRIu32, tile->rows, tile->cols);
        word = number;
        break;
    }
    (void)snprintf(text, text_bytes, "%.*s", length, word);
}

/* One of a `devices` list: "cuda" or "cuda:N" with N below TPD_DEVICES_MOST. Whether it is there is the engine's to find out. */
static bool is_device(const char *text, size_t length) {
    char copy[16];
    uint64_t number;
    if (length >= sizeof copy || length < 4 || memcmp(text, "cuda", 4) != 0)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return length == 4 || (copy[4] == ':' && tpd_value_parse_uint(copy + 5, &number) && number < TPD_DEVICES_MOST);
}

static enum tpd_status check_devices(const struct tpd_config *config, struct tpd_error *error) {
    const char *devices = config->devices, *place = tpd_config_source_place(config->source[TPD_KNOB_devices]);
    if (strcmp(devices, "auto") == 0 || strcmp(devices, "none") == 0)
        return TPD_OK;
    for (const char *at = devices;; at++) {
        size_t length = strcspn(at, ",");
        if (!is_device(at, length))
            return tpd_fail(error, TPD_CONFIG,
                            "devices = '%.48s' from %s: '%.*s' is no GPU: it takes auto, none, or a list of cuda:0 to cuda:%d",
                            devices, place, length > 24 ? 24 : (int)length, at, TPD_DEVICES_MOST - 1);
        for (const char *before = devices; before < at; before += strcspn(before, ",") + 1)
            if (strcspn(before, ",") == length && memcmp(before, at, length) == 0)
                return tpd_fail(error, TPD_CONFIG, "devices = '%.48s' from %s names %.*s twice: leave one out", devices, place,
                                (int)length, at);
        at += length;
        if (*at == '\0')
            return TPD_OK;
    }
}

/* Port 0 gives each listener a port of its own, so the same text is no clash there. */
static bool takes_any_port(const char *address) {
    size_t length = strlen(address);
    return length >= 2 && strcmp(address + length - 2, ":0") == 0 && strncmp(address, "unix:", 5) != 0 &&
           strncmp(address, "fd:", 3) != 0;
}

/* The forms that a listener takes, without asking the system for any of them. */
static bool is_address(const char *text) {
    struct sockaddr_storage to;
    socklen_t bytes;
    uint64_t number;
    if (strncmp(text, "unix:", 5) == 0)
        return text[5] == '/' && strlen(text + 5) < sizeof((struct sockaddr_un *)0)->sun_path;
    if (strncmp(text, "fd:", 3) == 0)
        return tpd_value_parse_uint(text + 3, &number) && number <= INT32_MAX;
    return tpd_inet_parse(text, &to, &bytes);
}

static enum tpd_status check_address(const struct tpd_config *config, enum tpd_knob knob, struct tpd_error *error) {
    const char *text = knob == TPD_KNOB_listen ? config->listen : config->admin_listen;
    bool may_be_off = knob == TPD_KNOB_admin_listen;
    if (is_address(text) || (may_be_off && strcmp(text, "off") == 0))
        return TPD_OK;
    return tpd_fail(
        error, TPD_CONFIG, "%s = '%.48s' from %s can't be read: it takes ADDRESS:PORT (numbers), [IPv6]:PORT, unix:/path%s",
        tpd_knob_name(knob), text, tpd_config_source_place(config->source[knob]), may_be_off ? ", fd:N or off" : " or fd:N");
}

enum tpd_status tpd_config_check(const struct tpd_config *config, enum tpd_config_source *from, struct tpd_error *error) {
    const enum tpd_config_source *source = config->source;
    enum tpd_config_source data = source[TPD_KNOB_listen], admin = source[TPD_KNOB_admin_listen];
    *from = data;
    if (strcmp(config->listen, "off") == 0)
        return tpd_fail(error, TPD_CONFIG,
                        "listen = 'off': only admin_listen can be off; give an ADDRESS:PORT, unix:/path or fd:N");
    enum tpd_status status = check_address(config, TPD_KNOB_listen, error);
    if (status != TPD_OK)
        return status;
    *from = admin;
    status = check_address(config, TPD_KNOB_admin_listen, error);
    if (status != TPD_OK)
        return status;
    *from = data > admin ? data : admin;
    if (strcmp(config->listen, config->admin_listen) == 0 && !takes_any_port(config->listen))
        return tpd_fail(error, TPD_CONFIG,
                        "listen and admin_listen are both '%.100s': give one another port, or admin_listen = off",
                        config->listen);
    enum tpd_config_source one = source[TPD_KNOB_max_connections_per_ip], all = source[TPD_KNOB_max_connections];
    *from = one > all ? one : all;
    if (config->max_connections_per_ip > config->max_connections)
        return tpd_fail(error, TPD_CONFIG,
                        "max_connections_per_ip = %" PRIu64 " is more than max_connections = %" PRIu64
                        ": lower it, or 0 for no limit",
                        config->max_connections_per_ip, config->max_connections);
    *from = source[TPD_KNOB_devices];
    return check_devices(config, error);
}
