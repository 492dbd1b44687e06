/* cmd.h -- the command line: one binary, its subcommands in tbl/commands.def.
 *
 * Exit statuses: 0 good, 1 the work failed, 2 the command line can't be understood.
 */
#ifndef TPD_CMD_H
#define TPD_CMD_H

#include "server/cmd/args.h"

enum { TPD_EXIT_GOOD = 0, TPD_EXIT_FAILED = 1, TPD_EXIT_USAGE = 2 };

enum tpd_command_id {
#define X(NAME, name, handler, options, usage, summary) TPD_COMMAND_##NAME,
#include "transposed/tbl/commands.def"
#undef X
    TPD_COMMAND_COUNT
};

struct tpd_command {
    const char *name;
    int (*handler)(int argc, char **argv); /* argv[0] is the command's own name */
    const struct tpd_option *options;
    const char *usage, *summary;
};
extern const struct tpd_command tpd_commands[TPD_COMMAND_COUNT];

/* What each command's file declares for its row. */
extern const struct tpd_option tpd_options_serve[], tpd_options_run[], tpd_options_list[], tpd_options_banks[],
    tpd_options_bench[], tpd_options_none[];
#define X(NAME, name, handler, options, usage, summary) int handler(int argc, char **argv);
#include "transposed/tbl/commands.def"
#undef X

/* The whole process: answers its exit status. */
int tpd_cmd_main(int argc, char **argv);

/* `transposed COMMAND --help`, to standard output. Answers TPD_EXIT_GOOD, or TPD_EXIT_FAILED when it can't be written. */
int tpd_cmd_print_help(enum tpd_command_id command);
/* Says what is wrong with the command line, to standard error. Answers TPD_EXIT_USAGE. */
int tpd_cmd_usage(enum tpd_command_id command, const struct tpd_error *error);
/* Flushes standard output; a reader that went away or a full disk is a failure, said on standard error. */
int tpd_cmd_finish_output(void);

#endif
