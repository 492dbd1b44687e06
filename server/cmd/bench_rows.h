/* bench_rows.h -- what `transposed bench` prints: a line of a table or an object of JSON for each row, and a table of strategies.
 *
 * Pure writers into a tpd_buf, which keeps its own failure.
 */
#ifndef TPD_BENCH_ROWS_H
#define TPD_BENCH_ROWS_H

#include "server/cmd/bench_ask.h"
#include "transposed/banks.h"
#include "transposed/buf.h"

/* One row: a shape, an item size, a strategy, on a device. */
struct tpd_bench_result {
    char device[TPD_BENCH_DEVICE_BYTES];
    bool on_cpu;
    uint32_t threads;                          /* 0: not a CPU's */
    struct tpd_bench_shape shape, asked_shape; /* asked_shape: the grid's, before it was scaled down */
    uint32_t itemsize;
    uint64_t bytes;
    bool is_auto;
    const char *strategy;
    struct tpd_tile tile;
    bool verified;
    uint32_t turns;
    double median_s[TPD_MEASURED_COUNT], least_s;
    uint64_t cache_least_bytes, cache_most_bytes;
    double bar; /* 0: none */
    bool bar_is_of_plain;
    bool has_shared, has_global; /* the bank model's averages of a warp's request, by enum tpd_op */
    double wavefronts[2], wavefronts_ideal, sectors[2], sectors_ideal;
};

/* From a measurement: medians and shares. The rest is the caller's. Reorders the measurement's times. */
void tpd_bench_result_fill(struct tpd_bench_result *result, struct tpd_measurement *measurement);
/* The bank model's figures of the kernel that ran; none where there is no such strategy (a CPU's path). */
void tpd_bench_result_model(struct tpd_bench_result *result);
/* Share of the copy that the bars are of, or of the plain one. */
double tpd_bench_share(const struct tpd_bench_result *result, enum tpd_measured of);
/* "warm": both lie in the cache from one turn to the next; "cold": hardly any of them does; "mixed"; "unknown". */
const char *tpd_bench_cache(const struct tpd_bench_result *result);

void tpd_bench_head(struct tpd_buf *out);
void tpd_bench_line(struct tpd_buf *out, const struct tpd_bench_result *result);
void tpd_bench_json(struct tpd_buf *out, const struct tpd_bench_result *result);
/* The other table, of `--strategy all`: a line a cell with the copy, what auto takes and its share, the bar, the best, and the
 * share of every strategy. count results of one cell. */
void tpd_bench_cells_head(struct tpd_buf *out);
void tpd_bench_cell_line(struct tpd_buf *out, const struct tpd_bench_result *results, unsigned count);

#endif
