/* cmd_serve.c -- `transposed serve`: where the configuration comes from, then server/life. */
#include <stdio.h>
#include <stdlib.h>

#include "server/cmd/cmd.h"
#include "server/life/life.h"
#include "server/life/sources.h"
#include "transposed/buf.h"

enum option { OPTION_CONFIG, OPTION_PRINT, OPTION_CHECK };
const struct tpd_option tpd_options_serve[] = {
    [OPTION_CONFIG] = {"config", 'c', "FILE", "Read this configuration file (else the one that TRANSPOSED_CONFIG names)"},
    [OPTION_PRINT] = {"print-config", 0, NULL, "Print the effective configuration as a file, and end"},
    [OPTION_CHECK] = {"check-config", 0, NULL, "Say whether the configuration is good, and end"},
    {NULL, 0, NULL, NULL},
};

static int print_config(const struct tpd_config *config) {
    struct tpd_buf text;
    tpd_buf_init(&text, 1 << 20);
    int rc = TPD_EXIT_FAILED;
    if (tpd_config_file_text(config, &text) == TPD_OK) {
        (void)fwrite(text.data, 1, text.bytes, stdout);
        if (text.bytes != 0 && text.data[text.bytes - 1] != '\n')
            putchar('\n');
        rc = tpd_cmd_finish_output();
    }
    tpd_buf_fini(&text);
    return rc;
}

int tpd_cmd_serve(int argc, char **argv) {
    struct tpd_sources sources = {.path = getenv("TRANSPOSED_CONFIG")};
    bool print = false, check = false;
    struct tpd_args args;
    struct tpd_error error;
    tpd_args_init(&args, argc, argv, tpd_options_serve, true);
    for (int found; (found = tpd_args_next(&args, &error)) != TPD_ARG_END;) {
        if (found == OPTION_CONFIG) {
            sources.path = args.value;
        } else if (found == OPTION_PRINT) {
            print = true;
        } else if (found == OPTION_CHECK) {
            check = true;
        } else if (found == TPD_ARG_KNOB) {
            sources.flags[args.knob] = args.value;
        } else {
            if (found == TPD_ARG_OPERAND)
                (void)tpd_fail(&error, TPD_BAD_PARAMETER, "%.60s is one word too many: knobs are written --name VALUE",
                               args.value);
            return tpd_cmd_usage(TPD_COMMAND_SERVE, &error);
        }
    }
    struct tpd_config config;
    bool flags_are_wrong;
    if (tpd_sources_load(&sources, &config, &flags_are_wrong, &error) != TPD_OK) {
        if (flags_are_wrong)
            return tpd_cmd_usage(TPD_COMMAND_SERVE, &error);
        (void)fprintf(stderr, "transposed serve: %s\n", error.text);
        return TPD_EXIT_FAILED;
    }
    if (print)
        return print_config(&config);
    if (check) {
        printf("the configuration is good\n");
        return tpd_cmd_finish_output();
    }
    return tpd_life_serve(&sources, &config) ? TPD_EXIT_GOOD : TPD_EXIT_FAILED;
}
