/* cmd.c -- the table of subcommands, its dispatch and its help. */
#include "server/cmd/cmd.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "server/cmd/knobs.h"

const struct tpd_option tpd_options_none[] = {{NULL, 0, NULL, NULL}};

const struct tpd_command tpd_commands[TPD_COMMAND_COUNT] = {
#define X(NAME, name, handler, options, usage, summary) [TPD_COMMAND_##NAME] = {name, handler, options, usage, summary},
#include "transposed/tbl/commands.def"
#undef X
};

static enum tpd_command_id find(const char *name) {
    int i = 0;
    while (i < TPD_COMMAND_COUNT && strcmp(tpd_commands[i].name, name) != 0)
        i++;
    return (enum tpd_command_id)i;
}

int tpd_cmd_finish_output(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TPD_EXIT_GOOD;
    (void)fprintf(stderr, "transposed: standard output can't be written: %s\n", strerror(errno));
    return TPD_EXIT_FAILED;
}

int tpd_cmd_usage(enum tpd_command_id command, const struct tpd_error *error) {
    (void)fprintf(stderr, "transposed %s: %s\nusage: transposed %s %s\n", tpd_commands[command].name, error->text,
                  tpd_commands[command].name, tpd_commands[command].usage);
    return TPD_EXIT_USAGE;
}

static void print_overview(FILE *to) {
    (void)fputs("usage: transposed COMMAND [OPTIONS]\n\n", to);
    for (int i = 0; i < TPD_COMMAND_COUNT; i++)
        (void)fprintf(to, "  %-11s %s\n", tpd_commands[i].name, tpd_commands[i].summary);
    (void)fputs("\n`transposed COMMAND --help` explains one, `transposed --version` (-V) says which this is. Exit status: 0 "
                "good, 1 the work failed, 2 usage.\n",
                to);
}

int tpd_cmd_print_help(enum tpd_command_id command) {
    const struct tpd_command *row = &tpd_commands[command];
    printf("usage: transposed %s%s%s\n\n%s.\n\n", row->name, row->usage[0] != '\0' ? " " : "", row->usage, row->summary);
    for (const struct tpd_option *option = row->options; option->name != NULL; option++) {
        char left[64];
        (void)snprintf(left, sizeof left, "%c%c%s--%s%s%s", option->letter != 0 ? '-' : ' ',
                       option->letter != 0 ? option->letter : ' ', option->letter != 0 ? ", " : "  ", option->name,
                       option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
        printf("  %-34s %s\n", left, option->help);
    }
    printf("  %-34s %s\n", "-h, --help", "Show this text");
    if (command == TPD_COMMAND_SERVE)
        tpd_knobs_print_help();
    return tpd_cmd_finish_output();
}

int tpd_cmd_help(int argc, char **argv) {
    if (argc < 2) {
        print_overview(stdout);
        return tpd_cmd_finish_output();
    }
    if (argc > 2) {
        struct tpd_error error;
        (void)tpd_fail(&error, TPD_BAD_PARAMETER, "%.60s is one word too many: help explains one command", argv[2]);
        return tpd_cmd_usage(TPD_COMMAND_HELP, &error);
    }
    enum tpd_command_id command = find(argv[1]);
    if (command == TPD_COMMAND_COUNT) {
        (void)fprintf(stderr, "transposed help: there is no command %.60s\n", argv[1]);
        print_overview(stderr);
        return TPD_EXIT_USAGE;
    }
    return tpd_cmd_print_help(command);
}

int tpd_cmd_main(int argc, char **argv) {
    /* A closed pipe or socket is an error code where it is written, never the end of the process. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        print_overview(stderr);
        return TPD_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return tpd_cmd_help(1, argv);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "-v") == 0)
        return tpd_cmd_version(1, argv + 1);
    enum tpd_command_id command = find(argv[1]);
    if (command == TPD_COMMAND_COUNT) {
        (void)fprintf(stderr, "transposed: there is no command %.60s\n", argv[1]);
        print_overview(stderr);
        return TPD_EXIT_USAGE;
    }
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return tpd_cmd_print_help(command);
    return tpd_commands[command].handler(argc - 1, argv + 1);
}
