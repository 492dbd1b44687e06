/* cmd_docs.c -- bash completion and the manual page, both made from the tables. */
#include <stdio.h>
#include <string.h>

#include "server/cmd/cmd.h"
#include "server/cmd/knobs.h"
#include "server/cmd/words.h"
#include "transposed/transposed.h"

/* Neither takes a word. True when the command line is good; else it has been refused. */
static bool takes_nothing(enum tpd_command_id command, int argc, char **argv) {
    struct tpd_args args;
    struct tpd_error error;
    unsigned given;
    tpd_args_init(&args, argc, argv, tpd_options_none, false);
    if (tpd_args_flags(&args, &given, &error) == TPD_OK)
        return true;
    (void)tpd_cmd_usage(command, &error);
    return false;
}

static void print_words(const char *kind) {
    char word[TPD_WORD_BYTES];
    for (unsigned i = 0; tpd_word_at(kind, i, word); i++)
        printf("%s%s", i == 0 ? "" : " ", word);
}

static void print_options_of(enum tpd_command_id command) {
    printf("--help");
    for (const struct tpd_option *option = tpd_commands[command].options; option->name != NULL; option++)
        printf(" --%s", option->name);
    for (int i = 0; command == TPD_COMMAND_SERVE && i < TPD_KNOB_COUNT; i++) {
        struct tpd_knob_text text;
        tpd_knob_describe((enum tpd_knob)i, &text);
        printf(" %s", text.flag);
        if (tpd_knob_has_off((enum tpd_knob)i))
            printf(" --no-%s", text.flag + 2);
    }
    if (command == TPD_COMMAND_HELP) {
        printf(" ");
        print_words("COMMAND");
    }
}

/* One branch of the script: behind this flag come these words. A free text has none: bash then offers files. */
static void print_values(const char *command, const char *flag, const char *kind) {
    printf("        '%s %s') words='", command, flag);
    print_words(kind);
    printf("' ;;\n");
}

static void print_values_of(enum tpd_command_id command) {
    char flag[64];
    for (const struct tpd_option *option = tpd_commands[command].options; option->name != NULL; option++) {
        if (option->value == NULL)
            continue;
        (void)snprintf(flag, sizeof flag, "--%s", option->name);
        print_values(tpd_commands[command].name, flag, option->value);
        (void)snprintf(flag, sizeof flag, "-%c", option->letter);
        if (option->letter != 0)
            print_values(tpd_commands[command].name, flag, option->value);
    }
    for (int i = 0; command == TPD_COMMAND_SERVE && i < TPD_KNOB_COUNT; i++) {
        struct tpd_knob_text text;
        tpd_knob_describe((enum tpd_knob)i, &text);
        print_values(tpd_commands[command].name, text.flag, text.value);
    }
}

int tpd_cmd_completion(int argc, char **argv) {
    if (!takes_nothing(TPD_COMMAND_COMPLETION, argc, argv))
        return TPD_EXIT_USAGE;
    /* bash makes a word of its own of '=': in --to=np the flag is two words back. */
    printf("# bash completion for transposed: source this file, or put it in /usr/share/bash-completion/completions/transposed\n"
           "_transposed() {\n    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=''\n"
           "    if [ \"$word\" = = ]; then\n        word=''\n"
           "    elif [ \"$before\" = = ]; then\n        before=${COMP_WORDS[COMP_CWORD-2]}\n    fi\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='");
    print_words("COMMAND");
    printf(" --help --version'\n    else\n        case \"${COMP_WORDS[1]} $before\" in\n");
    for (int i = 0; i < TPD_COMMAND_COUNT; i++)
        print_values_of((enum tpd_command_id)i);
    for (int i = 0; i < TPD_COMMAND_COUNT; i++) {
        printf("        '%s '*) words='", tpd_commands[i].name);
        print_options_of((enum tpd_command_id)i);
        printf("' ;;\n");
    }
    printf("        esac\n    fi\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n}\n"
           "complete -o default -F _transposed transposed\n");
    return tpd_cmd_finish_output();
}

/* roff reads a dash as a hyphen, a backslash as an escape, and a leading point or quote as a request. */
static void print_roff(const char *text) {
    if (*text == '.' || *text == '\'')
        printf("\\&");
    for (; *text != '\0'; text++) {
        if (*text == '-')
            printf("\\-");
        else if (*text == '\\')
            printf("\\e");
        else
            putchar(*text);
    }
}

static void print_roff_item(const char *flag, const char *value, const char *help, const char *default_text) {
    printf(".TP\n\\fB");
    print_roff(flag);
    printf("\\fR");
    if (value != NULL) {
        printf(" \\fI");
        print_roff(value);
        printf("\\fR");
    }
    printf("\n");
    print_roff(help);
    if (default_text != NULL) {
        printf(" Default: \\fB");
        print_roff(default_text);
        printf("\\fR.");
    }
    printf("\n");
}

static void print_roff_options(enum tpd_command_id command) {
    printf(".SH OPTIONS OF %s\n", tpd_commands[command].name);
    for (const struct tpd_option *option = tpd_commands[command].options; option->name != NULL; option++) {
        char flag[64];
        if (option->letter != 0)
            (void)snprintf(flag, sizeof flag, "-%c, --%s", option->letter, option->name);
        else
            (void)snprintf(flag, sizeof flag, "--%s", option->name);
        print_roff_item(flag, option->value, option->help, NULL);
    }
}

/* A command and what it does, as a person types it. */
static void print_roff_example(const char *command, const char *what) {
    printf(".PP\n");
    print_roff(what);
    printf("\n.PP\n.nf\n    ");
    print_roff(command);
    printf("\n.fi\n");
}

int tpd_cmd_man(int argc, char **argv) {
    if (!takes_nothing(TPD_COMMAND_MAN, argc, argv))
        return TPD_EXIT_USAGE;
    printf(".TH TRANSPOSED 1 \"%s\" \"transposed %s\" \"User Commands\"\n.SH NAME\n"
           "transposed \\- transpose matrices over HTTP, on GPUs or the CPU\n"
           ".SH SYNOPSIS\n\\fBtransposed\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH COMMANDS\n",
           TPD_DATE, tpd_version());
    for (int i = 0; i < TPD_COMMAND_COUNT; i++)
        print_roff_item(tpd_commands[i].name, tpd_commands[i].usage[0] != '\0' ? tpd_commands[i].usage : NULL,
                        tpd_commands[i].summary, NULL);
    printf(".PP\nEvery command takes \\fB\\-h\\fR, \\fB\\-\\-help\\fR. \\fBtransposed \\-V\\fR, \\fB\\-\\-version\\fR is "
           "\\fBtransposed version\\fR.\n");
    for (int i = 0; i < TPD_COMMAND_COUNT; i++)
        if (tpd_commands[i].options->name != NULL)
            print_roff_options((enum tpd_command_id)i);
    printf(".SH KNOBS OF serve\n");
    for (int i = 0; i < TPD_KNOB_COUNT; i++) {
        struct tpd_knob_text text;
        tpd_knob_describe((enum tpd_knob)i, &text);
        print_roff_item(text.flag, text.value, text.help, text.default_text);
    }
    printf(
        ".SH ENVIRONMENT\n.TP\n\\fBTRANSPOSED_CONFIG\\fR\nThe configuration file, when \\fB\\-\\-config\\fR names none.\n"
        ".TP\n\\fBTRANSPOSED_\\fINAME\\fR\nA knob: its name in capitals, with underscores (\\fBTRANSPOSED_MAX_BODY_BYTES\\fR). "
        "Flags win over variables, variables over the file, the file over defaults.\n"
        ".TP\n\\fBNOTIFY_SOCKET\\fR, \\fBWATCHDOG_USEC\\fR, \\fBWATCHDOG_PID\\fR\nAs \\fBsd_notify\\fR(3) has them.\n"
        ".SH FILES\n.TP\n\\fI/etc/transposed/transposed.json\\fR\nThe configuration that the systemd unit names: one JSON object "
        "of knobs.\n"
        ".SH EXIT STATUS\n0 good, 1 the work failed, 2 the command line can't be understood.\n"
        ".SH SIGNALS\nSIGTERM and SIGINT drain and end; a second one ends at once. SIGHUP reads the configuration anew.\n"
        ".SH EXAMPLES\n");
    print_roff_example("transposed serve --listen 0.0.0.0:7070 --max-body-bytes 1GiB",
                       "Answer requests from everywhere, up to 1 GiB each:");
    print_roff_example("curl --data-binary @m.npy -o t.npy http://127.0.0.1:7070/v1/transpose", "Ask for a transpose:");
    print_roff_example("transposed run m.npy -o t.npy", "The same without a daemon:");
    print_roff_example("transposed run m.bin --rows 300 --cols 500 --dtype float64 --to json",
                       "Items alone, and the answer as text:");
    print_roff_example("transposed bench --device cpu --shape 4096x4096 --itemsize 4",
                       "How fast is this machine, and how much of a copy's speed is that?");
    print_roff_example("transposed serve --config new.json --check-config", "Is this file good?");
    printf(".SH SEE ALSO\n\\fBcurl\\fR(1), \\fBsystemd.service\\fR(5), \\fBnvidia\\-smi\\fR(1)\n");
    return tpd_cmd_finish_output();
}
