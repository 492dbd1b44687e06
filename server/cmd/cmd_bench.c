/* cmd_bench.c -- `transposed bench`: every cell of a grid, checked and then timed on the devices asked for. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commit.h"
#include "server/cmd/bench_device.h"
#include "server/cmd/bench_host.h"
#include "server/cmd/bench_rows.h"
#include "server/cmd/cmd.h"
#include "server/config/value.h"
#include "transposed/alloc.h"
#include "transposed/transposed.h"

enum {
    TEXT_BYTES_MOST = 64 << 20,
    SIMT_BYTES = 256 << 10, /* of a matrix of the grid: the runner takes some tenths of a second for it */
};

struct bench {
    struct tpd_bench_ask ask;
    struct tpd_bench_result results[TPD_BENCH_LIST_MOST]; /* of the cell at hand */
    unsigned cell_rows;
    struct tpd_measurement *measurement;
    struct tpd_buf out, left_out;
    unsigned total, done, rows, wrong, left;
    bool failed, live;
    char devices[256], reference[512], described[TPD_BENCH_DEVICE_BYTES]; /* described: whose table is being printed */
    /* The device that is open. */
    const struct tpd_backend *backend;
    struct tpd_device *device;
    struct tpd_device_info info;
    struct tpd_tuning *tuning; /* by which it goes; NULL: by rule */
    struct tpd_bench_host host;
    uint64_t most_bytes; /* of one matrix */
    uint32_t threads;
};

static volatile sig_atomic_t stopped;
static void on_signal(int number) {
    stopped = number;
}

/* ---- what is said meanwhile ---- */

static void show_progress(const struct bench *bench, const struct tpd_bench_shape *shape, uint32_t itemsize,
                          const char *strategy) {
    char text[TPD_BENCH_SHAPE_BYTES];
    if (!bench->live)
        return;
    tpd_bench_shape_print(shape, text);
    (void)fprintf(stderr, "\r\033[K[%u/%u] %s %s:%" PRIu32 " %s", bench->done + 1, bench->total, bench->info.id, text, itemsize,
                  strategy);
    (void)fflush(stderr);
}

static void wipe_progress(const struct bench *bench) {
    if (bench->live)
        (void)fputs("\r\033[K", stderr);
}

/* What is ready of the table goes out at once; JSON waits for its end. */
static void let_out(struct bench *bench) {
    if (bench->ask.json || bench->out.bytes == 0)
        return;
    wipe_progress(bench);
    (void)fwrite(bench->out.data, 1, bench->out.bytes, stdout);
    (void)fflush(stdout);
    tpd_buf_clear(&bench->out);
}

static void leave_out(struct bench *bench, const char *device, const char *cell, const char *reason) {
    if (bench->ask.json) {
        (void)tpd_buf_format(&bench->left_out, "%s{\"device\":\"%s\",\"cell\":\"%s\",\"reason\":", bench->left == 0 ? "" : ",",
                             device, cell);
        (void)tpd_buf_json_string(&bench->left_out, reason);
        (void)tpd_buf_text(&bench->left_out, "}");
    } else {
        (void)tpd_buf_format(&bench->left_out, "- %s %s: %s\n", device, cell, reason);
    }
    bench->left++;
}

static void append(char *list, size_t room, const char *text) {
    size_t length = strlen(list);
    if (strstr(list, text) == NULL)
        (void)snprintf(list + length, room - length, "%s%s", length != 0 ? "; " : "", text);
}

/* ---- one row ---- */

static void name_row(char name[128], const struct tpd_bench_shape *shape, uint32_t itemsize, enum tpd_strategy_id strategy) {
    char text[TPD_BENCH_SHAPE_BYTES];
    tpd_bench_shape_print(shape, text);
    (void)snprintf(name, 128, "%s:%" PRIu32 "%s%s", text, itemsize, strategy != TPD_STRATEGY_AUTO ? " " : "",
                   strategy != TPD_STRATEGY_AUTO ? tpd_strategy_at(strategy)->name : "");
}

static enum tpd_status measure(struct bench *bench, struct tpd_bench_result *result, enum tpd_strategy_id strategy,
                               struct tpd_error *error) {
    const struct tpd_measure ask = {
        .matrix = {result->shape.rows, result->shape.cols, result->shape.batch, result->itemsize, TPD_DTYPE_OPAQUE},
        .strategy = strategy,
        .turns = bench->ask.turns,
        .budget_ns = bench->ask.budget_ns,
    };
    enum tpd_status status = tpd_matrix_bytes(&ask.matrix, &result->bytes, error);
    if (status == TPD_OK && bench->backend->measure != NULL)
        status = bench->backend->measure(bench->device, &ask, bench->measurement, error);
    else if (status == TPD_OK)
        status = tpd_bench_host_measure(&bench->host, bench->backend, bench->device, &ask, bench->measurement, error);
    if (status == TPD_OK) {
        tpd_bench_result_fill(result, bench->measurement);
        tpd_bench_result_model(result);
    }
    return status;
}

/* Before the device's first row: a table without rows tells nobody anything. */
static void describe(struct bench *bench) {
    char name[160], limit[TPD_VALUE_BYTES];
    const bool host = bench->backend->measure == NULL;
    const char *reference =
        host ? "copy: non-temporal stores, as many threads; plain: memcpy, as many threads; in turns with the transpose"
             : "copy: cudaMemcpyAsync device to device; plain: a kernel of 16-byte copies; CUDA events, in turns with the "
               "transpose";
    const char *check = host ? "the oracle, in blocks that stay in the cache" : "a kernel of its own, by three divisions an item";
    (void)snprintf(name, sizeof name, "%s %s", bench->info.id, bench->info.name);
    append(bench->devices, sizeof bench->devices, name);
    append(bench->reference, sizeof bench->reference, reference);
    if (bench->ask.json || strcmp(bench->described, bench->info.id) == 0)
        return;
    memcpy(bench->described, bench->info.id, sizeof bench->described);
    tpd_value_print_bytes(bench->most_bytes, limit);
    (void)tpd_buf_format(&bench->out, "%s%s, commit %s. Shares are of the copy's time and the plain copy's: %s.\n",
                         bench->rows == 0 ? "" : "\n", name, TPD_COMMIT, reference);
    (void)tpd_buf_format(
        &bench->out,
        "Medians of %" PRIu32 " turns at most, %" PRIu64 " s a row, after a warm-up; GB/s are bytes read and written; random "
        "data; every item checked before it is timed, by %s.\n"
        "cache: warm, input and output stay in it from one turn to the next; cold, they are larger than it and come from "
        "memory; mixed, between (on a CPU: what a shared L3 gives is not known).\n",
        bench->ask.turns, bench->ask.budget_ns / 1000000000u, check);
    if (bench->ask.is_grid)
        (void)tpd_buf_format(&bench->out, "A matrix may take %s here: larger shapes of the grid are scaled down.\n", limit);
    (void)tpd_buf_text(&bench->out, "\n");
    if (bench->ask.every_strategy)
        tpd_bench_cells_head(&bench->out);
    else
        tpd_bench_head(&bench->out);
}

static void print_row(struct bench *bench, const struct tpd_bench_result *result) {
    describe(bench);
    if (bench->ask.json) {
        (void)tpd_buf_text(&bench->out, bench->rows == 0 ? "\n" : ",\n");
        tpd_bench_json(&bench->out, result);
    } else if (!bench->ask.every_strategy) {
        tpd_bench_line(&bench->out, result);
    }
    bench->results[bench->cell_rows++] = *result;
    bench->rows++;
    bench->wrong += !result->verified;
    let_out(bench);
}

static enum tpd_status do_row(struct bench *bench, const struct tpd_bench_shape *asked, uint32_t itemsize,
                              enum tpd_strategy_id strategy, struct tpd_error *error) {
    struct tpd_bench_result result = {.asked_shape = *asked, .itemsize = itemsize, .is_auto = strategy == TPD_STRATEGY_AUTO};
    memcpy(result.device, bench->info.id, sizeof result.device);
    result.on_cpu = bench->threads != 0;
    result.threads = bench->threads;
    enum tpd_status status =
        tpd_bench_ask_fit(&bench->ask, asked, itemsize, bench->most_bytes, bench->backend->measure == NULL, &result.shape, error);
    if (status != TPD_OK)
        return status;
    show_progress(bench, &result.shape, itemsize, strategy == TPD_STRATEGY_AUTO ? "auto" : tpd_strategy_at(strategy)->name);
    result.bar = tpd_bench_bar(&result.shape, itemsize, result.on_cpu, &result.bar_is_of_plain);
    if (strcmp(bench->info.kind, "simt") == 0)
        result.bar = 0; /* bars are of hardware */
    status = measure(bench, &result, strategy, error);
    if (status == TPD_OK)
        print_row(bench, &result);
    return status;
}

/* False: the device is gone, or somebody wants an end. */
static bool do_strategies(struct bench *bench, const struct tpd_bench_shape *shape, uint32_t itemsize) {
    for (unsigned i = 0; i < bench->ask.strategies; i++) {
        const enum tpd_strategy_id strategy = bench->ask.strategy[i];
        struct tpd_error error;
        char name[128];
        if (stopped != 0)
            return false;
        enum tpd_status status = do_row(bench, shape, itemsize, strategy, &error);
        bench->done++;
        if (status == TPD_OK)
            continue;
        name_row(name, shape, itemsize, strategy);
        /* Of all strategies nobody expects that each takes every shape. */
        if (!(status == TPD_UNSUPPORTED && bench->ask.every_strategy && strategy != TPD_STRATEGY_AUTO))
            leave_out(bench, bench->info.id, name, error.text);
        bench->failed |= status != TPD_UNSUPPORTED && !(status == TPD_TOO_LARGE && bench->ask.is_grid);
        if (status == TPD_DEVICE_LOST)
            return false;
    }
    return true;
}

static bool do_cell(struct bench *bench, const struct tpd_bench_shape *shape, uint32_t itemsize) {
    bench->cell_rows = 0;
    bool goes_on = do_strategies(bench, shape, itemsize);
    if (bench->ask.every_strategy && !bench->ask.json && bench->cell_rows != 0) {
        tpd_bench_cell_line(&bench->out, bench->results, bench->cell_rows);
        let_out(bench);
    }
    return goes_on;
}

/* ---- one device ---- */

static enum tpd_status open_device(struct bench *bench, const char *text, uint32_t threads, struct tpd_error *error) {
    enum tpd_backend_id id = TPD_BACKEND_CPU;
    uint32_t index = 0;
    enum tpd_status status = tpd_bench_find_device(text, &id, &index, error);
    if (status != TPD_OK)
        return status;
    struct tpd_device_options options = {.cpu_threads = id == TPD_BACKEND_CPU ? threads : 0,
                                         .lanes = id == TPD_BACKEND_CUDA ? 1 : 0};
    bench->backend = tpd_backend_at(id);
    status = bench->backend->open(index, &options, &bench->device, error);
    if (status != TPD_OK)
        return status;
    bench->backend->info(bench->device, &bench->info);
    bench->threads = id == TPD_BACKEND_CPU ? bench->info.multiprocessors : 0;
    if (bench->ask.tune)
        status = tpd_bench_tune(bench->backend, bench->device, &bench->tuning, error);
    if (status != TPD_OK)
        return status;
    if (bench->backend->measure != NULL) {
        bench->most_bytes = (bench->info.memory_pool_bytes - 4096) / 2;
        return TPD_OK;
    }
    bench->most_bytes = (bench->ask.memory_bytes != 0 ? bench->ask.memory_bytes : tpd_bench_host_memory()) / 2;
    if (id == TPD_BACKEND_SIMT && bench->ask.is_grid && bench->most_bytes > SIMT_BYTES)
        bench->most_bytes = SIMT_BYTES;
    return tpd_bench_host_init(&bench->host, bench->threads != 0 ? bench->threads : 1, error);
}

static void close_device(struct bench *bench) {
    tpd_bench_host_fini(&bench->host);
    if (bench->device != NULL)
        bench->backend->close(bench->device);
    bench->device = NULL;
    tpd_free(bench->tuning);
    bench->tuning = NULL;
}

/* True: a CPU, for which the number of threads makes a difference. */
static bool do_device(struct bench *bench, const char *text, uint32_t threads) {
    struct tpd_error error;
    bool goes_on = open_device(bench, text, threads, &error) == TPD_OK, on_cpu = bench->threads != 0;
    if (!goes_on) {
        leave_out(bench, text, "all of it", error.text);
        bench->failed = true;
    }
    for (unsigned i = 0; goes_on && i < bench->ask.shapes; i++)
        for (unsigned j = 0; goes_on && j < bench->ask.itemsizes; j++)
            goes_on = do_cell(bench, &bench->ask.shape[i], bench->ask.itemsize[j]);
    close_device(bench);
    return on_cpu;
}

static void do_all(struct bench *bench) {
    for (unsigned i = 0; i < bench->ask.devices && stopped == 0; i++)
        for (unsigned j = 0; j < bench->ask.thread_counts && stopped == 0; j++)
            if (!do_device(bench, bench->ask.device[i], bench->ask.threads[j]))
                break;
    if (stopped != 0) {
        leave_out(bench, "every device", "the rest", "stopped by a signal");
        bench->failed = true;
    }
    wipe_progress(bench);
}

static int finish(struct bench *bench) {
    const char *left_out = bench->left_out.data != NULL ? bench->left_out.data : "";
    if (bench->ask.json) {
        struct tpd_buf head;
        tpd_buf_init(&head, 4096);
        (void)tpd_buf_text(&head, "{\"device\":");
        (void)tpd_buf_json_string(&head, bench->devices);
        (void)tpd_buf_format(&head, ",\"commit\":\"%s\",\"reference\":\"%s\",\"rows\":[", TPD_COMMIT, bench->reference);
        printf("%s%s],\"left_out\":[%s]}\n", head.data != NULL ? head.data : "", bench->out.data != NULL ? bench->out.data : "",
               left_out);
        bench->failed |= head.status != TPD_OK;
        tpd_buf_fini(&head);
    } else {
        let_out(bench);
        if (bench->left != 0 && bench->rows != 0)
            printf("\nLeft out:\n%s", left_out);
    }
    int rc = tpd_cmd_finish_output();
    if (bench->out.status != TPD_OK || bench->left_out.status != TPD_OK)
        (void)fprintf(stderr, "transposed bench: the system gave no memory for all of the text\n");
    if (bench->rows == 0)
        (void)fprintf(stderr, "transposed bench: nothing was measured\n%s%s", bench->ask.json ? "" : left_out, "");
    if (bench->wrong != 0)
        (void)fprintf(stderr, "transposed bench: %u rows are WRONG: what they give is no transpose\n", bench->wrong);
    bool good = rc == TPD_EXIT_GOOD && !bench->failed && bench->rows != 0 && bench->wrong == 0 && bench->out.status == TPD_OK &&
                bench->left_out.status == TPD_OK;
    return good ? TPD_EXIT_GOOD : TPD_EXIT_FAILED;
}

int tpd_cmd_bench(int argc, char **argv) {
    static struct bench bench; /* the lists alone are some KiB */
    struct tpd_error error;
    if (tpd_bench_ask_read(&bench.ask, argc, argv, &error) != TPD_OK)
        return tpd_cmd_usage(TPD_COMMAND_BENCH, &error);
    const struct sigaction act = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}; /* a second one ends at once */
    (void)sigaction(SIGINT, &act, NULL);
    (void)sigaction(SIGTERM, &act, NULL);
    const struct tpd_bench_ask *ask = &bench.ask;
    bench.live = isatty(STDERR_FILENO) != 0;
    bench.total = ask->shapes * ask->itemsizes * ask->strategies * ask->devices * ask->thread_counts;
    bench.measurement = tpd_alloc_zero(1, sizeof *bench.measurement);
    int rc = TPD_EXIT_FAILED;
    if (bench.measurement != NULL) {
        tpd_buf_init(&bench.out, TEXT_BYTES_MOST);
        tpd_buf_init(&bench.left_out, TEXT_BYTES_MOST);
        do_all(&bench);
        rc = finish(&bench);
    } else {
        (void)fprintf(stderr, "transposed bench: the system gave no memory for the times\n");
    }
    tpd_buf_fini(&bench.out);
    tpd_buf_fini(&bench.left_out);
    tpd_free(bench.measurement);
    return rc;
}
