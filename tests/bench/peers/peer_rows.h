/* peer_rows.h -- what the peers written in C share: command line, turns, rows and the JSON that `transposed bench` prints too.
 *
 *     PEER [--shape RxC[xB][:N]] ... [--itemsize N] ... [--threads N] ... [--repeats N] [--seconds S] [--memory BYTES]
 * [--stop-after S]
 *
 * As peer.py, for those in Python. Exit 0 good, 1 a result was wrong, 2 usage, 77 skipped.
 */
#ifndef TPD_PEER_ROWS_H
#define TPD_PEER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peer_cell {
    uint64_t rows, cols, batch, bytes;
    uint32_t itemsize, threads; /* threads: 0 on a GPU */
    uint32_t burst;             /* calls in a row that one time is the average of */
};

/* A cell's life: prepare, is_right, then transpose and copy in turns, release. */
struct peer {
    const char *name, *reference;
    const char *device;                               /* "cuda:0", "cpu" */
    const char *(*open)(char *device_name);           /* NULL, or why this peer can't run here; room for 128 bytes */
    const char *(*prepare)(const struct peer_cell *); /* NULL, or why it has nothing for the cell */
    bool (*is_right)(void);                           /* transposes into poisoned memory and compares every item */
    double (*transpose)(void);                        /* seconds of one */
    double (*copy)(void);
    void (*release)(void);
};

int peer_main(int argc, char **argv, const struct peer *peer);

#endif
