/* main.c -- the process begins here and at once asks the table of subcommands. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/cmd/cmd.h"

/* Somebody may have closed standard input, output or error: the next file that is opened would be in its place, and what is
 * meant for people would go there. They are opened the wrong way round, so that reading and writing fail as before. */
static void keep_standard_files(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(EXIT_FAILURE);
}

int main(int argc, char **argv) {
    keep_standard_files();
    return tpd_cmd_main(argc, argv);
}
