/* args.h -- reads a command line against a table of options.
 *
 * `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-nVALUE`, `--flag`; `_` in a name is as good as `-`; `--` ends the options; `-`
 * alone is an operand or a value. A VALUE that begins with a dash stands behind the `=`, or right behind the letter.
 */
#ifndef TPD_ARGS_H
#define TPD_ARGS_H

#include "transposed/config.h"

struct tpd_option {
    const char *name;  /* without its dashes; NULL ends the table */
    char letter;       /* 0: none */
    const char *value; /* what its value is called in the help, or its words, "a|b"; NULL: it takes none */
    const char *help;  /* one sentence */
};

/* What tpd_args_next() found; a number from 0 on is the option's place in the table. */
enum { TPD_ARG_END = -1, TPD_ARG_OPERAND = -2, TPD_ARG_KNOB = -3, TPD_ARG_HELP = -4, TPD_ARG_WRONG = -5 };

struct tpd_args {
    int argc;
    char **argv;
    const struct tpd_option *options;
    bool takes_knobs;   /* every knob of tbl/config.def is an option too */
    int at;             /* the next word */
    bool only_operands; /* after "--" */
    const char *value;  /* of the option, or the operand itself; borrowed from argv */
    enum tpd_knob knob; /* after TPD_ARG_KNOB */
};

/* argv[0] is passed over. */
void tpd_args_init(struct tpd_args *args, int argc, char **argv, const struct tpd_option *options, bool takes_knobs);
/* TPD_ARG_WRONG fills error: names the word and what to do. */
int tpd_args_next(struct tpd_args *args, struct tpd_error *error);

/* For a command that takes options without values and no operands: refuses the first word that is none. */
enum tpd_status tpd_args_flags(struct tpd_args *args, unsigned *given, struct tpd_error *error) TPD_CHECKED;

/* A whole number without a sign. Fails with TPD_BAD_PARAMETER: names the option, the text and the range. */
enum tpd_status tpd_args_uint(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *value,
                              struct tpd_error *error) TPD_CHECKED;

#endif
