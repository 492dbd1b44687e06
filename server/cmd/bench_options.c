/* bench_options.c -- the options of `transposed bench`, and its command line read by them. */
#include <inttypes.h>

#include "server/cmd/bench_ask.h"
#include "server/cmd/cmd.h"
#include "server/config/value.h"
#include "transposed/measure.h"

enum { ROWS_MOST = 65536 };

enum option { SHAPE, ITEMSIZE, STRATEGY, DEVICE, THREADS, REPEATS, SECONDS, MEMORY, TUNE, JSON };
const struct tpd_option tpd_options_bench[] = {
    [SHAPE] = {"shape", 0, "ROWSxCOLS[xBATCH]", "A shape in place of the standard grid; may be given again"},
    [ITEMSIZE] = {"itemsize", 0, "N", "Bytes of an item (default 1, 2, 4, 8 and 16); may be given again"},
    [STRATEGY] = {"strategy", 0, "STRATEGY", "Tile strategy (default auto); may be given again; all: auto and each of them"},
    [DEVICE] = {"device", 0, "DEVICE", "auto, cpu, cuda, cuda:N or simt (default auto); may be given again"},
    [THREADS] = {"threads", 0, "N", "Threads of the CPU (default all cores); may be given again"},
    [REPEATS] = {"repeats", 0, "N", "Times of each row, in turns with the copies (default 15)"},
    [SECONDS] = {"seconds", 0, "N", "What the times of one row may take together (default 2)"},
    [MEMORY] = {"memory", 0, "BYTES", "Host memory for input and output together (default half of what is free)"},
    [TUNE] = {"tune", 0, NULL, "Time a GPU's strategies first, as the daemon's first start does: auto goes by that, not by rule"},
    [JSON] = {"json", 0, NULL, "Print JSON for programs"},
    {NULL, 0, NULL, NULL},
};

static enum tpd_status set_option(struct tpd_bench_ask *ask, int option, const char *text, struct tpd_error *error) {
    uint64_t number = 0;
    enum tpd_status status = TPD_OK;
    switch (option) {
    case SHAPE:
        return tpd_bench_ask_shape(ask, text, error);
    case ITEMSIZE:
        return tpd_bench_ask_itemsize(ask, text, error);
    case STRATEGY:
        return tpd_bench_ask_strategy(ask, text, error);
    case DEVICE:
        return tpd_bench_ask_device(ask, text, error);
    case THREADS:
        return tpd_bench_ask_threads(ask, text, error);
    case REPEATS:
        status = tpd_args_uint("repeats", text, TPD_MEASURE_TURNS_LEAST, TPD_MEASURE_TURNS_MOST, &number, error);
        ask->turns = (uint32_t)number;
        break;
    case SECONDS:
        status = tpd_args_uint("seconds", text, 1, 3600, &number, error);
        ask->budget_ns = number * 1000000000u;
        break;
    case MEMORY:
        if (!tpd_value_parse_bytes(text, &ask->memory_bytes) || ask->memory_bytes < 4096)
            return tpd_fail(error, TPD_BAD_PARAMETER, "--memory is %.40s: it takes 4KiB or more, in bytes or with KiB, MiB, GiB",
                            text);
        break;
    case TUNE:
        ask->tune = true;
        break;
    default:
        ask->json = true;
    }
    return status;
}

enum tpd_status tpd_bench_ask_read(struct tpd_bench_ask *ask, int argc, char **argv, struct tpd_error *error) {
    struct tpd_args args;
    enum tpd_status status = TPD_OK;
    tpd_bench_ask_init(ask);
    tpd_args_init(&args, argc, argv, tpd_options_bench, false);
    for (int found; status == TPD_OK && (found = tpd_args_next(&args, error)) != TPD_ARG_END;) {
        if (found == TPD_ARG_OPERAND)
            status = tpd_fail(error, TPD_BAD_PARAMETER, "%.60s is one word too many: a shape is --shape ROWSxCOLS", args.value);
        else
            status = found < 0 ? TPD_BAD_PARAMETER : set_option(ask, found, args.value, error);
    }
    if (status != TPD_OK)
        return status;
    tpd_bench_ask_complete(ask);
    uint64_t rows = (uint64_t)ask->shapes * ask->itemsizes * ask->strategies * ask->devices * ask->thread_counts;
    if (rows > ROWS_MOST)
        return tpd_fail(error, TPD_BAD_PARAMETER, "that makes %" PRIu64 " rows and at most %d are measured: split the work", rows,
                        ROWS_MOST);
    return TPD_OK;
}
