/* config_write.c -- the table and the effective values, written for machines, for a file and for people. */
#include <string.h>

#include "server/config/knob.h"
#include "transposed/buf.h"
#include "transposed/config.h"

/* Counts are JSON numbers; everything that has a unit or is a word is a string. */
static void add_value(struct tpd_buf *out, const struct tpd_config *config, enum tpd_knob knob) {
    char text[TPD_CONFIG_TEXT_BYTES];
    tpd_config_print(config, knob, text, sizeof text);
    if (tpd_knob_row(knob)->type == TPD_KNOB_IS_UINT)
        (void)tpd_buf_text(out, text); /* a failure sticks: the last add reports it */
    else
        (void)tpd_buf_json_string(out, text);
}

enum tpd_status tpd_config_json(const struct tpd_config *config, struct tpd_buf *out) {
    struct tpd_config defaults;
    tpd_config_defaults(&defaults);
    for (int i = 0; i < TPD_KNOB_COUNT; i++) {
        enum tpd_knob knob = (enum tpd_knob)i;
        const struct tpd_knob_row *row = tpd_knob_row(knob);
        char range[TPD_KNOB_RANGE_BYTES];
        tpd_knob_range(knob, range);
        (void)tpd_buf_format(out, "%s\"%s\":{\"value\":", i == 0 ? "{" : ",", row->name);
        add_value(out, config, knob);
        (void)tpd_buf_format(out, ",\"source\":\"%s\",\"default\":", tpd_config_source_name(config->source[i]));
        add_value(out, &defaults, knob);
        (void)tpd_buf_format(out, ",\"reloadable\":%s,\"unit\":\"%s\",\"range\":", row->reloadable ? "true" : "false",
                             tpd_knob_unit(knob));
        (void)tpd_buf_json_string(out, range);
        (void)tpd_buf_text(out, ",\"help\":");
        (void)tpd_buf_json_string(out, row->help);
        (void)tpd_buf_text(out, "}");
    }
    return tpd_buf_text(out, "}");
}

enum tpd_status tpd_config_file_text(const struct tpd_config *config, struct tpd_buf *out) {
    for (int i = 0; i < TPD_KNOB_COUNT; i++) {
        (void)tpd_buf_format(out, "%s\n  \"%s\": ", i == 0 ? "{" : ",", tpd_knob_name((enum tpd_knob)i));
        add_value(out, config, (enum tpd_knob)i);
    }
    return tpd_buf_text(out, "\n}\n");
}

/* In a table's cell a bar would end the cell. */
static void add_cell(struct tpd_buf *out, const char *text) {
    for (; *text != '\0'; text++)
        (void)tpd_buf_text(out, *text == '|' ? "\\|" : (const char[]){*text, '\0'});
}

static void add_section(struct tpd_buf *out, const struct tpd_config *defaults, const char *section) {
    (void)tpd_buf_format(out, "\n## %s\n\n| knob | default | takes | reload | what it does |\n|---|---|---|---|---|\n", section);
    for (int i = 0; i < TPD_KNOB_COUNT; i++) {
        const struct tpd_knob_row *row = tpd_knob_row((enum tpd_knob)i);
        char text[TPD_CONFIG_TEXT_BYTES], range[TPD_KNOB_RANGE_BYTES];
        if (strcmp(row->section, section) != 0)
            continue;
        tpd_config_print(defaults, (enum tpd_knob)i, text, sizeof text);
        tpd_knob_range((enum tpd_knob)i, range);
        (void)tpd_buf_format(out, "| `%s` | `%s` | ", row->name, text);
        add_cell(out, range);
        (void)tpd_buf_format(out, " | %s | ", row->reloadable ? "yes" : "no");
        add_cell(out, row->help);
        (void)tpd_buf_text(out, " |\n");
    }
}

enum tpd_status tpd_config_reference(struct tpd_buf *out) {
    struct tpd_config defaults;
    tpd_config_defaults(&defaults);
    (void)tpd_buf_text(
        out,
        "<!-- Generated from include/transposed/tbl/config.def; to write it anew: cmake --preset dev && "
        "cmake --build --preset dev --target test_config_reference && TPD_REGENERATE=1 ctest --test-dir build/dev -R "
        "test_config_reference -->\n"
        "# Configuration\n\n"
        "Flags win over the environment, the environment over the file, the file over the defaults. A knob has one name: "
        "`max_body_bytes`\n"
        "in the file, `--max-body-bytes` as a flag, `TRANSPOSED_MAX_BODY_BYTES` in the environment. The file is one JSON object\n"
        "(`transposed.json` here is an example), named by `--config PATH` or `TRANSPOSED_CONFIG`; 1 MiB at most.\n\n"
        "- Sizes are digits with `B`, `KiB`, `MiB`, `GiB` or `TiB`; without a unit, bytes.\n"
        "- Durations are digits with `ns`, `us`, `ms`, `s`, `m` or `h`; only `0` needs no unit.\n"
        "- An unknown name, a name given twice, a value out of range or anything after the object stops the start; the message "
        "names\n"
        "  the knob, the value, where it came from and what it takes. `transposed serve --check-config` does only that.\n"
        "- `transposed serve --print-config` prints the effective configuration as a file; `GET /v1/config` says where each "
        "value came from.\n"
        "- SIGHUP reads file and environment again and takes up the knobs marked *reload*; a file that is wrong changes nothing "
        "and is logged.\n"
        "- Variables that Kubernetes makes for a Service named `transposed` (`TRANSPOSED_SERVICE_HOST`, `TRANSPOSED_PORT_...`) "
        "are passed over.\n");
    for (int i = 0; i < TPD_KNOB_COUNT; i++) { /* a section comes where its first knob stands */
        int first = 0;
        while (strcmp(tpd_knob_row((enum tpd_knob)first)->section, tpd_knob_row((enum tpd_knob)i)->section) != 0)
            first++;
        if (first == i)
            add_section(out, &defaults, tpd_knob_row((enum tpd_knob)i)->section);
    }
    return out->status;
}
