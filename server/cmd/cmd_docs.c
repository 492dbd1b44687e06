/* cmd_docs.c -- bash completion and the manual page, both made from the tables. */
#include <stdio.h>
#include <string.h>

#include "server/cmd/cmd.h"
#include "server/cmd/knobs.h"
#include "transposed/transposed.h"

static void print_words_of(enum tpd_command_id command) {
    printf("--help");
    for (const struct tpd_option *option = tpd_commands[command].options; option->name != NULL; option++)
        printf(" --%s", option->name);
    for (int i = 0; command == TPD_COMMAND_SERVE && i < TPD_KNOB_COUNT; i++) {
        struct tpd_knob_text text;
        tpd_knob_describe((enum tpd_knob)i, &text);
        printf(" %s", text.flag);
    }
}

int tpd_cmd_completion(int argc, char **argv) {
    (void)argc;
    (void)argv;
    printf("# bash completion for transposed: source this file, or put it in /usr/share/bash-completion/completions/transposed\n"
           "_transposed() {\n    local word=${COMP_WORDS[COMP_CWORD]} words=''\n    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        "
           "words='");
    for (int i = 0; i < TPD_COMMAND_COUNT; i++)
        printf("%s%s", i == 0 ? "" : " ", tpd_commands[i].name);
    printf("'\n    else\n        case ${COMP_WORDS[1]} in\n");
    for (int i = 0; i < TPD_COMMAND_COUNT; i++) {
        printf("        %s) words='", tpd_commands[i].name);
        print_words_of((enum tpd_command_id)i);
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

static void print_roff_item(const char *flag, const char *value, const char *help) {
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
    printf("\n");
}

int tpd_cmd_man(int argc, char **argv) {
    (void)argc;
    (void)argv;
    printf(".TH TRANSPOSED 1 \"\" \"transposed %s\" \"User Commands\"\n.SH NAME\ntransposed \\- transpose matrices over HTTP, on "
           "GPUs or "
           "the CPU\n.SH SYNOPSIS\n\\fBtransposed\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH COMMANDS\n",
           tpd_version());
    for (int i = 0; i < TPD_COMMAND_COUNT; i++)
        print_roff_item(tpd_commands[i].name, tpd_commands[i].usage, tpd_commands[i].summary);
    for (int i = 0; i < TPD_COMMAND_COUNT; i++) {
        if (tpd_commands[i].options->name == NULL)
            continue;
        printf(".SH OPTIONS OF %s\n", tpd_commands[i].name);
        for (const struct tpd_option *option = tpd_commands[i].options; option->name != NULL; option++) {
            char flag[64];
            (void)snprintf(flag, sizeof flag, "--%s", option->name);
            print_roff_item(flag, option->value, option->help);
        }
    }
    printf(".SH KNOBS OF serve\nEach is also a variable, TRANSPOSED_ and the name in capitals, and a key of the configuration "
           "file.\n");
    for (int i = 0; i < TPD_KNOB_COUNT; i++) {
        struct tpd_knob_text text;
        tpd_knob_describe((enum tpd_knob)i, &text);
        print_roff_item(text.flag, text.value, text.help);
    }
    printf(".SH EXIT STATUS\n0 good, 1 the work failed, 2 the command line can't be understood.\n"
           ".SH SIGNALS\nSIGTERM and SIGINT drain and end; a second one ends at once. SIGHUP reads the configuration anew.\n");
    return tpd_cmd_finish_output();
}
