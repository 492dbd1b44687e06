/* main.c -- the process begins here and at once asks the table of subcommands. */
#include "server/cmd/cmd.h"

int main(int argc, char **argv) {
    return tpd_cmd_main(argc, argv);
}
