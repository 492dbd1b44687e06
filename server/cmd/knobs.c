/* knobs.c -- see knobs.h. */
#include "server/cmd/knobs.h"

#include <stdio.h>
#include <string.h>

#define TPD_VALUE_TEXT(least) "TEXT"
#define TPD_VALUE_UINT(least) "NUMBER"
#define TPD_VALUE_BYTES(least) "BYTES"
#define TPD_VALUE_TIME(least) "TIME"
#define TPD_VALUE_CHOICE(least) least
#define TPD_VALUE_TILE(least) "ROWSxCOLS"

static const struct {
    const char *value, *default_text, *help;
} rows[TPD_KNOB_COUNT] = {
#define X(TYPE, name, least, most, default_text, RELOAD, SECTION, help) \
    [TPD_KNOB_##name] = {TPD_VALUE_##TYPE(least), default_text, help},
#include "transposed/tbl/config.def"
#undef X
};

void tpd_knob_describe(enum tpd_knob knob, struct tpd_knob_text *text) {
    (void)snprintf(text->flag, sizeof text->flag, "--%s", tpd_knob_name(knob));
    for (char *at = text->flag; *at != '\0'; at++)
        if (*at == '_')
            *at = '-';
    text->value = knob == TPD_KNOB_strategy ? "STRATEGY" : knob == TPD_KNOB_devices ? "DEVICES" : rows[knob].value;
    text->default_text = rows[knob].default_text;
    text->help = rows[knob].help;
}

static void print_folded(const char *text) {
    enum { INDENT = 6, WIDTH = 94 };
    while (*text != '\0') {
        size_t length = strlen(text);
        if (length > WIDTH) {
            length = WIDTH;
            while (length > 1 && text[length] != ' ')
                length--;
        }
        printf("%*s%.*s\n", INDENT, "", (int)length, text);
        text += length;
        while (*text == ' ')
            text++;
    }
}

void tpd_knobs_print_help(void) {
    printf("\nEvery knob is a flag (--name VALUE), a variable (TRANSPOSED_NAME) and a key of the file; flags win over\n"
           "variables, variables over the file, the file over defaults.\n\n");
    for (int i = 0; i < TPD_KNOB_COUNT; i++) {
        struct tpd_knob_text text;
        tpd_knob_describe((enum tpd_knob)i, &text);
        printf("  %s %s  (default %s%s)\n", text.flag, text.value, text.default_text,
               tpd_knob_is_reloadable((enum tpd_knob)i) ? ", reloadable" : "");
        print_folded(text.help);
    }
}
