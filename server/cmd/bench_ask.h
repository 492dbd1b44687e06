/* bench_ask.h -- what `transposed bench` was asked for: shapes, item sizes, strategies, devices, threads; and the standard grid.
 *
 * Ceiling: TPD_BENCH_LIST_MOST of each. Pure: no device, no clock.
 */
#ifndef TPD_BENCH_ASK_H
#define TPD_BENCH_ASK_H

#include "server/cmd/args.h"
#include "transposed/measure.h"

enum { TPD_BENCH_LIST_MOST = 64, TPD_BENCH_DEVICE_BYTES = 16, TPD_BENCH_SHAPE_BYTES = 72, TPD_BENCH_SIZES = 5 };

struct tpd_bench_shape {
    uint64_t rows, cols, batch;
};

/* A row of tbl/bench.def. */
struct tpd_bench_row {
    struct tpd_bench_shape shape;
    bool bars_are_of_plain;                /* shares of the plain copy, else of the device's own */
    unsigned char bar[2][TPD_BENCH_SIZES]; /* of a GPU, of a CPU: per cent by item size; 0: none */
};
extern const struct tpd_bench_row tpd_bench_grid[];
extern const unsigned tpd_bench_grid_rows;

struct tpd_bench_ask {
    struct tpd_bench_shape shape[TPD_BENCH_LIST_MOST];
    uint32_t itemsize[TPD_BENCH_LIST_MOST];
    enum tpd_strategy_id strategy[TPD_BENCH_LIST_MOST];
    char device[TPD_BENCH_LIST_MOST][TPD_BENCH_DEVICE_BYTES];
    uint32_t threads[TPD_BENCH_LIST_MOST]; /* 0: all cores */
    unsigned shapes, itemsizes, strategies, devices, thread_counts;
    bool is_grid;        /* nobody named a shape */
    bool every_strategy; /* nobody named one: those that a shape can't have are passed over in silence */
    uint32_t turns;
    uint64_t budget_ns;    /* of one row */
    uint64_t memory_bytes; /* of the host, for input and output together; 0: as much as is sensible */
    bool json;
    bool tune;
};

/* The words of one list, each option of which may be given again. Fail with TPD_BAD_PARAMETER and others: name option, value and
 * what it takes. */
void tpd_bench_ask_init(struct tpd_bench_ask *ask);
enum tpd_status tpd_bench_ask_shape(struct tpd_bench_ask *ask, const char *text, struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_bench_ask_itemsize(struct tpd_bench_ask *ask, const char *text, struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_bench_ask_strategy(struct tpd_bench_ask *ask, const char *text, struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_bench_ask_device(struct tpd_bench_ask *ask, const char *text, struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_bench_ask_threads(struct tpd_bench_ask *ask, const char *text, struct tpd_error *error) TPD_CHECKED;
/* Puts the defaults where nothing was given: the grid, five item sizes, auto, the first back end that is here is left open. */
void tpd_bench_ask_complete(struct tpd_bench_ask *ask);
/* All of the command line, and the defaults (bench_options.c). argv[0] is the command's own name. Fails as those above, and with
 * TPD_BAD_PARAMETER for more rows than are measured. */
enum tpd_status tpd_bench_ask_read(struct tpd_bench_ask *ask, int argc, char **argv, struct tpd_error *error) TPD_CHECKED;

/* "8191x8193", "32x32x10000" */
void tpd_bench_shape_print(const struct tpd_bench_shape *shape, char text[TPD_BENCH_SHAPE_BYTES]);
/* The largest shape of the same kind whose items take at most that many bytes: the longer side, or the batch, is halved as often
 * as it takes, and odd stays odd. False: not even the smallest fits. */
bool tpd_bench_shape_fit(struct tpd_bench_shape *shape, uint32_t itemsize, uint64_t most_bytes);
/* The shape to measure for one that was asked for: one of the grid is made as small as it has to be, one that somebody named is
 * done as it is or not at all. is_host: the limit comes from --memory. Fails with TPD_TOO_LARGE (a named one: its bytes, the
 * limit, the way out), with TPD_UNSUPPORTED for one that another row of the grid has already, and with TPD_SIZE_OVERFLOW. */
enum tpd_status tpd_bench_ask_fit(const struct tpd_bench_ask *ask, const struct tpd_bench_shape *asked, uint32_t itemsize,
                                  uint64_t most_bytes, bool is_host, struct tpd_bench_shape *shape,
                                  struct tpd_error *error) TPD_CHECKED;
/* The bar of a grid's shape as a share; 0: none. */
double tpd_bench_bar(const struct tpd_bench_shape *shape, uint32_t itemsize, bool on_cpu, bool *is_of_plain);

#endif
