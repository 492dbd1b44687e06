/* sources.c -- see sources.h. */
#include "server/life/sources.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum tpd_status tpd_sources_load(const struct tpd_sources *sources, struct tpd_config *config, bool *flags_are_wrong,
                                 struct tpd_error *error) {
    enum tpd_status status = TPD_OK;
    *flags_are_wrong = false;
    tpd_config_defaults(config);
    if (sources->path != NULL && sources->path[0] != '\0')
        status = tpd_config_read_file(config, sources->path, error);
    if (status == TPD_OK)
        status = tpd_config_read_environment(config, environ, error);
    for (int i = 0; status == TPD_OK && i < TPD_KNOB_COUNT; i++) {
        if (sources->flags[i] == NULL)
            continue;
        status = tpd_config_set(config, (enum tpd_knob)i, sources->flags[i], TPD_SOURCE_FLAG, error);
        *flags_are_wrong = status != TPD_OK;
    }
    if (status != TPD_OK)
        return status;
    enum tpd_config_source from;
    status = tpd_config_check(config, &from, error);
    *flags_are_wrong = status != TPD_OK && from == TPD_SOURCE_FLAG;
    if (status != TPD_OK && from == TPD_SOURCE_FILE && error != NULL)
        tpd_config_name_file(sources->path, error);
    return status;
}

/* ", name" behind the names that are there; what does not fit is left out whole. */
static void add_name(char *names, size_t names_bytes, const char *name) {
    size_t at = strlen(names), need = strlen(name) + (at != 0 ? 2 : 0);
    if (need < names_bytes - at)
        (void)snprintf(names + at, names_bytes - at, "%s%s", at != 0 ? ", " : "", name);
}

unsigned tpd_sources_keep_fixed(struct tpd_config *config, const struct tpd_config *old, char *names, size_t names_bytes) {
    unsigned kept = 0;
    names[0] = '\0';
    char was[TPD_CONFIG_TEXT_BYTES + 16], is[TPD_CONFIG_TEXT_BYTES + 16];
#define X(TYPE, name, least, most, default_text, RELOAD, SECTION, help)   \
    if (!(RELOAD)) {                                                      \
        tpd_config_print(old, TPD_KNOB_##name, was, sizeof was);          \
        tpd_config_print(config, TPD_KNOB_##name, is, sizeof is);         \
        if (strcmp(was, is) != 0) {                                       \
            kept++;                                                       \
            add_name(names, names_bytes, tpd_knob_name(TPD_KNOB_##name)); \
        }                                                                 \
        memcpy(&config->name, &old->name, sizeof config->name);           \
        config->source[TPD_KNOB_##name] = old->source[TPD_KNOB_##name];   \
    }
#include "transposed/tbl/config.def"
#undef X
    return kept;
}
