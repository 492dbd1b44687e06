/* peer_rows.c -- see peer_rows.h. */
#include "peer_rows.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transposed/clock.h"

enum { SHAPES_MOST = 1024, SIZES_MOST = 5, THREADS_MOST = 16, REPEATS_MOST = 1000, REPEATS_SLOW = 3, SLOW = 3, BURST_MOST = 50 };
static const uint64_t burst_bytes = UINT64_C(64) << 20;

struct shape {
    uint64_t rows, cols, batch;
    uint32_t itemsize; /* 0: each of those asked for */
};
static const struct shape grid[] = {
#define X(rows, cols, batch, MEASURE, g1, g2, g4, g8, g16, c1, c2, c4, c8, c16) {rows, cols, batch, 0},
#include "transposed/tbl/bench.def"
#undef X
};

static struct {
    struct shape shape[SHAPES_MOST];
    uint32_t size[SIZES_MOST], thread[THREADS_MOST];
    unsigned shapes, sizes, threads, repeats;
    uint64_t memory_bytes;
    double seconds, stop_after;
} asked = {.repeats = 15, .seconds = 2, .stop_after = 1e9};

static struct {
    char text[512][160]; /* cells left out, as JSON */
    unsigned count;
} left_out;

static int usage(const char *option, const char *value) {
    (void)fprintf(stderr,
                  "--%s %s is not understood\nusage: [--shape RxC[xB][:N]] ... [--itemsize 1|2|4|8|16] ... [--threads N] ... "
                  "[--repeats N] [--seconds S] [--memory BYTES] [--stop-after S]\n",
                  option, value);
    return 2;
}

static bool read_shape(const char *text) {
    struct shape *shape = &asked.shape[asked.shapes];
    int end = 0;
    shape->batch = 1;
    if (asked.shapes == SHAPES_MOST || strchr(text, '-') != NULL)
        return false;
    if (sscanf(text, "%" SCNu64 "x%" SCNu64 "%n", &shape->rows, &shape->cols, &end) < 2)
        return false;
    text += end;
    if (*text == 'x' && sscanf(text, "x%" SCNu64 "%n", &shape->batch, &end) == 1)
        text += end;
    shape->itemsize = 0;
    if (*text == ':' && sscanf(text, ":%" SCNu32 "%n", &shape->itemsize, &end) == 1)
        text += end;
    if (*text != '\0' || shape->itemsize > 16 || (shape->itemsize & (shape->itemsize - 1)) != 0)
        return false;
    asked.shapes++;
    uint64_t most = UINT64_C(1) << 40;
    return shape->rows - 1 < most && shape->cols - 1 < most && shape->batch - 1 < most && shape->rows * shape->cols < most &&
           shape->rows * shape->cols * shape->batch < most;
}

static bool read_option(int option, const char *text) {
    unsigned long number = strtoul(text, NULL, 10);
    switch (option) {
    case 's':
        return read_shape(text);
    case 'i':
        if (asked.sizes == SIZES_MOST || number == 0 || number > 16 || (number & (number - 1)) != 0)
            return false;
        asked.size[asked.sizes++] = (uint32_t)number;
        return true;
    case 't':
        if (asked.threads == THREADS_MOST || number - 1 >= 1024)
            return false;
        asked.thread[asked.threads++] = (uint32_t)number;
        return true;
    case 'r':
        asked.repeats = (unsigned)number;
        return number - REPEATS_SLOW <= REPEATS_MOST - REPEATS_SLOW;
    case 'm':
        asked.memory_bytes = strtoull(text, NULL, 10);
        return asked.memory_bytes != 0;
    case 'b':
        asked.seconds = strtod(text, NULL);
        return asked.seconds > 0;
    default:
        asked.stop_after = strtod(text, NULL);
        return asked.stop_after > 0;
    }
}

static int read_line(int argc, char **argv) {
    static const struct option options[] = {
        {"shape", required_argument, NULL, 's'},      {"itemsize", required_argument, NULL, 'i'},
        {"threads", required_argument, NULL, 't'},    {"repeats", required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 'b'},    {"memory", required_argument, NULL, 'm'},
        {"stop-after", required_argument, NULL, 'a'}, {NULL, 0, NULL, 0},
    };
    int found, index = 0;
    while ((found = getopt_long(argc, argv, "", options, &index)) != -1)
        if (found == '?')
            return 2;
        else if (!read_option(found, optarg))
            return usage(options[index].name, optarg);
    if (optind < argc)
        return usage("", argv[optind]);
    if (asked.shapes == 0) {
        memcpy(asked.shape, grid, sizeof grid);
        asked.shapes = sizeof grid / sizeof grid[0];
    }
    for (uint32_t size = 1; asked.sizes < SIZES_MOST && (asked.sizes == 0 || size != 1) && size <= 16; size *= 2)
        asked.size[asked.sizes++] = size;
    if (asked.threads == 0)
        asked.thread[asked.threads++] = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (asked.memory_bytes == 0)
        asked.memory_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    return 0;
}

static int by_value(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *times, unsigned count) {
    qsort(times, count, sizeof times[0], by_value);
    return count % 2 != 0 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}

static void name_cell(const struct peer_cell *cell, char name[80]) {
    int end = snprintf(name, 80, "%" PRIu64 "x%" PRIu64, cell->rows, cell->cols);
    if (cell->batch != 1)
        end += snprintf(name + end, 80 - (size_t)end, "x%" PRIu64, cell->batch);
    (void)snprintf(name + end, 80 - (size_t)end, ":%" PRIu32, cell->itemsize);
}

static void leave_out(const struct peer_cell *cell, const char *reason) {
    char name[80];
    name_cell(cell, name);
    if (left_out.count < sizeof left_out.text / sizeof left_out.text[0])
        (void)snprintf(left_out.text[left_out.count++], sizeof left_out.text[0], "{\"cell\": \"%s\", \"reason\": \"%s\"}", name,
                       reason);
}

/* Our times and the copy's in turns, after a warm-up; a slow one gets few. */
static void print_row(const struct peer *peer, const struct peer_cell *cell, bool first) {
    static double ours[REPEATS_MOST], copies[REPEATS_MOST];
    uint64_t ends = tpd_clock_ns() + (uint64_t)(asked.seconds * 1e9);
    unsigned count = 0, most = asked.repeats;
    (void)peer->transpose();
    (void)peer->copy();
    do {
        copies[count] = peer->copy();
        ours[count] = peer->transpose();
        if (count == 0 && ours[0] > SLOW * copies[0])
            most = REPEATS_SLOW;
        count++;
    } while (count < most && (count < REPEATS_SLOW || tpd_clock_ns() < ends));
    double middle = median(ours, count), copy = median(copies, count);
    char threads[16] = "null", name[80];
    if (cell->threads != 0)
        (void)snprintf(threads, sizeof threads, "%" PRIu32, cell->threads);
    printf("%s{\"device\": \"%s\", \"itemsize\": %" PRIu32 ", \"rows\": %" PRIu64 ", \"cols\": %" PRIu64 ", \"batch\": %" PRIu64
           ", \"strategy\": \"%s\", \"tile\": null, \"seconds_median\": %.9g, \"seconds_min\": %.9g, \"repeats\": %u, \"bytes\": "
           "%" PRIu64
           ", \"bytes_per_second\": %.6g, \"copy_seconds_median\": %.9g, \"share_of_copy\": %.4f, \"wavefronts\": null, "
           "\"sectors\": null, \"verified\": true, \"threads\": %s}",
           first ? "\n" : ",\n", peer->device, cell->itemsize, cell->rows, cell->cols, cell->batch, peer->name, middle, ours[0],
           count, cell->bytes, 2 * (double)cell->bytes / middle, copy, copy / middle, threads);
    (void)fflush(stdout);
    name_cell(cell, name);
    (void)fprintf(stderr, "%s %s: %.1f us, %.3f of copy\n", peer->name, name, middle * 1e6, copy / middle);
}

/* 0: a row was printed; 1: left out; 2: wrong. */
static int do_cell(const struct peer *peer, const struct peer_cell *cell, uint64_t stop_ns, bool first) {
    const char *why = NULL;
    if (tpd_clock_ns() > stop_ns)
        why = "not begun: --stop-after had passed";
    else if (cell->threads != 0 && 2 * cell->bytes > asked.memory_bytes)
        why = "input and output take more than --memory allows";
    if (why != NULL) {
        leave_out(cell, why);
        return 1;
    }
    int rc = 0;
    why = peer->prepare(cell);
    if (why != NULL) {
        leave_out(cell, why);
        rc = 1;
    } else if (!peer->is_right()) {
        leave_out(cell, "WRONG: items are not where they belong");
        rc = 2;
    } else {
        print_row(peer, cell, first);
    }
    peer->release();
    return rc;
}

static struct peer_cell cell_of(const struct shape *shape, uint32_t itemsize, uint32_t threads) {
    struct peer_cell cell = {.rows = shape->rows, .cols = shape->cols, .batch = shape->batch, .itemsize = itemsize};
    if (shape->itemsize != 0)
        cell.itemsize = shape->itemsize;
    cell.bytes = cell.rows * cell.cols * cell.batch * cell.itemsize;
    cell.threads = threads;
    uint64_t burst = burst_bytes / cell.bytes;
    cell.burst = (uint32_t)(burst < 1 ? 1 : burst < BURST_MOST ? burst : BURST_MOST);
    return cell;
}

int peer_main(int argc, char **argv, const struct peer *peer) {
    char device_name[128] = "";
    int rc = read_line(argc, argv);
    if (rc != 0)
        return rc;
    const char *why = peer->open(device_name);
    const char *commit = getenv("TRANSPOSED_COMMIT");
    printf("{\"device\": \"%s%s%s\", \"commit\": \"%s\", \"reference\": \"%s\", \"peer\": \"%s\", ", peer->device,
           device_name[0] != '\0' ? " " : "", device_name, commit != NULL ? commit : "unknown", peer->reference, peer->name);
    if (why != NULL) {
        (void)fprintf(stderr, "skipped: %s\n", why);
        printf("\"rows\": [], \"left_out\": [], \"skipped\": \"%s\"}\n", why);
        return 77;
    }
    bool on_cpu = strcmp(peer->device, "cpu") == 0;
    uint64_t stop_ns = tpd_clock_ns() + (uint64_t)(asked.stop_after * 1e9);
    unsigned wrong = 0, done = 0;
    printf("\"rows\": [");
    for (unsigned i = 0; i < asked.shapes; i++)
        for (unsigned j = 0; j < (asked.shape[i].itemsize != 0 ? 1 : asked.sizes); j++)
            for (unsigned k = 0; k < (on_cpu ? asked.threads : 1); k++) {
                struct peer_cell cell = cell_of(&asked.shape[i], asked.size[j], on_cpu ? asked.thread[k] : 0);
                int how = do_cell(peer, &cell, stop_ns, done == 0);
                done += how == 0;
                wrong += how == 2;
            }
    printf("], \"left_out\": [");
    for (unsigned i = 0; i < left_out.count; i++)
        printf("%s%s", i == 0 ? "\n" : ",\n", left_out.text[i]);
    printf("]}\n");
    return wrong != 0 ? 1 : 0;
}
