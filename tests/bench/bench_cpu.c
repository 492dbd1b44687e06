/* bench_cpu.c -- the CPU back end against a copy of the same bytes, and against OpenBLAS where it is installed.
 *
 *     bench_cpu [--threads N] [--mib N] [--repeats N] [--clock wall|cpu] [--shape ROWSxCOLSxITEMSIZE]...
 *
 * Without shapes: the cells that have a bar, powers of two beside their neighbours, and small ones. The reference is the back
 * end's own copy of a 1 x N matrix: the same threads and the same kind of stores (past the caches where the matrix outgrows
 * them). Copy, transpose and peer take turns; a share is the median of the pairs' ratios, with the quartiles as its spread. Every
 * row is checked before it is timed. --clock cpu counts the process's own time: for a machine that others use as well.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "transposed/clock.h"
#include "transposed/transposed.h"

enum { REPEATS_MOST = 4000, SHAPES_MOST = 64, ROW_MAJOR = 101, TRANSPOSE = 112 };

typedef void somatcopy(int order, int trans, int rows, int cols, float alpha, const float *a, int lda, float *b, int ldb);
typedef void domatcopy(int order, int trans, int rows, int cols, double alpha, const double *a, int lda, double *b, int ldb);

struct cell {
    uint64_t rows, cols;
    uint32_t itemsize;
    double bar; /* least share of a copy; 0: none is asked for */
};

static const struct cell cells[] = {
    {8192, 8192, 4, 0.80},   {4096, 4096, 4, 0.80},  {16384, 4096, 4, 0.80},  {8191, 8193, 4, 0.72},  {1000000, 64, 4, 0.75},
    {64, 1000000, 4, 0.75},  {3, 20000000, 4, 0.75}, {20000000, 3, 4, 0.75},  {16, 4000000, 4, 0.75}, {4000000, 16, 4, 0},
    {16384, 16384, 1, 0.65}, {8192, 8192, 1, 0.65},  {16384, 16384, 2, 0.70}, {8192, 8192, 2, 0.70},  {8192, 8192, 8, 0.80},
    {4096, 4096, 16, 0.80},  {4096, 4096, 12, 0},    {7, 20000000, 2, 0},     {20000000, 7, 2, 0},    {5, 20000000, 1, 0},
    {20000000, 5, 1, 0},     {1000, 1000, 4, 0.50},  {1000, 1000, 8, 0},      {256, 256, 4, 0},       {32, 32, 4, 0},
    {3, 100, 4, 0},
};

struct bench {
    const struct tpd_backend *cpu;
    struct tpd_device *device;
    unsigned char *in, *out, *expected;
    size_t room;
    int repeats;
    clockid_t clock;
    somatcopy *single;
    domatcopy *twice;
};

static void *map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("bench_cpu: mmap");
        exit(1);
    }
    (void)madvise(memory, bytes, MADV_HUGEPAGE); /* as the daemon's buffers are; small pages only cost speed */
    return memory;
}

static double now(const struct bench *bench) {
    struct timespec time;
    (void)clock_gettime(bench->clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double run(const struct bench *bench, const struct tpd_matrix *matrix) {
    struct tpd_task task = {.matrix = *matrix, .in = bench->in, .out = bench->out, .strategy = TPD_STRATEGY_AUTO};
    struct tpd_outcome outcome;
    struct tpd_error error;
    double start = now(bench);
    if (bench->cpu->run(bench->device, &task, &outcome, &error) != TPD_OK) {
        fprintf(stderr, "bench_cpu: %s\n", error.text);
        exit(1);
    }
    return now(bench) - start;
}

static double run_peer(const struct bench *bench, const struct tpd_matrix *matrix) {
    const int rows = (int)matrix->rows, cols = (int)matrix->cols;
    void *in = bench->in, *out = bench->out;
    double start = now(bench);
    if (matrix->itemsize == 4)
        bench->single(ROW_MAJOR, TRANSPOSE, rows, cols, 1.0f, in, cols, out, rows);
    else
        bench->twice(ROW_MAJOR, TRANSPOSE, rows, cols, 1.0, in, cols, out, rows);
    return now(bench) - start;
}

static int by_value(const void *a, const void *b) {
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Sorts, and answers the value at this part of the way through. */
static double at_part(double *values, int count, double part) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[(int)(part * (count - 1) + 0.5)];
}

static int row(const struct bench *bench, const struct cell *cell) {
    static double shares[REPEATS_MOST], times[REPEATS_MOST], copies[REPEATS_MOST], peers[REPEATS_MOST];
    const struct tpd_matrix matrix = {cell->rows, cell->cols, 1, cell->itemsize, TPD_DTYPE_OPAQUE};
    uint64_t bytes;
    if (tpd_matrix_bytes(&matrix, &bytes, NULL) != TPD_OK || bytes == 0 || bytes > bench->room)
        return 0;
    const struct tpd_matrix copy = {1, bytes, 1, 1, TPD_DTYPE_OPAQUE};
    memset(bench->out, 0xa5, bytes);
    (void)run(bench, &matrix);
    tpd_transpose_ref(&matrix, bench->in, bench->expected);
    if (memcmp(bench->out, bench->expected, bytes) != 0) {
        printf("%" PRIu64 " x %" PRIu64 " of %" PRIu32 " bytes: WRONG\n", matrix.rows, matrix.cols, matrix.itemsize);
        return 1;
    }
    const bool peer = (matrix.itemsize == 4 && bench->single != NULL) || (matrix.itemsize == 8 && bench->twice != NULL);
    int count = bytes < 1 << 20 ? bench->repeats * 50 : bytes < 16 << 20 ? bench->repeats * 5 : bench->repeats;
    count = count > REPEATS_MOST ? REPEATS_MOST : count;
    for (int i = 0; i < count; i++) {
        copies[i] = run(bench, &copy);
        times[i] = run(bench, &matrix);
        shares[i] = copies[i] / times[i];
        peers[i] = peer ? run_peer(bench, &matrix) / times[i] : 0;
    }
    double ns = at_part(times, count, 0.5);
    double share = at_part(shares, count, 0.5);
    printf("| %" PRIu64 " x %" PRIu64 " | %" PRIu32 " | %.3f | %.1f | %.1f | %.2f (%.2f to %.2f) |", matrix.rows, matrix.cols,
           matrix.itemsize, ns / 1e3, 2.0 * (double)bytes / ns, 2.0 * (double)bytes / at_part(copies, count, 0.5), share,
           at_part(shares, count, 0.25), at_part(shares, count, 0.75));
    if (cell->bar > 0)
        printf(" %.2f %s |", cell->bar, share >= cell->bar ? "met" : "missed");
    else
        printf(" |");
    if (peer)
        printf(" %.1f x |\n", at_part(peers, count, 0.5));
    else
        printf(" |\n");
    fflush(stdout);
    return 0;
}

/* 2^k beside its neighbours: the worst of the two ratios of time an item, which a cliff would make large. */
static void cliff(const struct bench *bench, int k, uint32_t itemsize) {
    static double ratios[REPEATS_MOST];
    const uint64_t side = (uint64_t)1 << k;
    if ((side + 1) * (side + 1) * itemsize > bench->room)
        return;
    int count = bench->repeats * (k < 11 ? 20 : k < 12 ? 4 : 1);
    count = count > REPEATS_MOST ? REPEATS_MOST : count;
    for (int i = 0; i < count; i++) {
        const struct tpd_matrix less = {side - 1, side - 1, 1, itemsize, TPD_DTYPE_OPAQUE},
                                even = {side, side, 1, itemsize, TPD_DTYPE_OPAQUE},
                                more = {side + 1, side + 1, 1, itemsize, TPD_DTYPE_OPAQUE};
        double below = run(bench, &less) / (double)(less.rows * less.rows), above;
        ratios[i] = run(bench, &even) / (double)(side * side);
        above = run(bench, &more) / (double)(more.rows * more.rows);
        ratios[i] /= below < above ? below : above;
    }
    printf("| %" PRIu64 " | %" PRIu32 " | %.2f (%.2f to %.2f) |\n", side, itemsize, at_part(ratios, count, 0.5),
           at_part(ratios, count, 0.25), at_part(ratios, count, 0.75));
    fflush(stdout);
}

static bool shape_of(const char *text, struct cell *cell) {
    int end = 0;
    *cell = (struct cell){0};
    return sscanf(text, "%" SCNu64 "x%" SCNu64 "x%" SCNu32 "%n", &cell->rows, &cell->cols, &cell->itemsize, &end) == 3 &&
           text[end] == '\0';
}

int main(int argc, char **argv) {
    static struct cell asked[SHAPES_MOST];
    size_t shapes = 0;
    struct bench bench = {
        .cpu = tpd_backend_at(TPD_BACKEND_CPU), .room = (size_t)512 << 20, .repeats = 11, .clock = CLOCK_MONOTONIC};
    struct tpd_device_options options = {0};
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        const unsigned long number = strtoul(value, NULL, 10);
        if (strcmp(argv[i], "--threads") == 0)
            options.cpu_threads = (uint32_t)number;
        else if (strcmp(argv[i], "--mib") == 0 && number >= 1 && number <= 65536)
            bench.room = (size_t)number << 20;
        else if (strcmp(argv[i], "--repeats") == 0 && number >= 1 && number <= 1000)
            bench.repeats = (int)number;
        else if (strcmp(argv[i], "--clock") == 0 && (strcmp(value, "wall") == 0 || strcmp(value, "cpu") == 0))
            bench.clock = value[0] == 'w' ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
        else if (strcmp(argv[i], "--shape") == 0 && shapes < SHAPES_MOST && shape_of(value, &asked[shapes]))
            shapes++;
        else
            return fprintf(stderr, "usage: bench_cpu [--threads N] [--mib N] [--repeats N] [--clock wall|cpu] "
                                   "[--shape ROWSxCOLSxITEMSIZE]...\n"),
                   2;
    }
    struct tpd_error error;
    if (bench.cpu->open(0, &options, &bench.device, &error) != TPD_OK)
        return fprintf(stderr, "bench_cpu: %s\n", error.text), 1;
    struct tpd_device_info info;
    bench.cpu->info(bench.device, &info);
    void *blas = dlopen("libopenblas.so.0", RTLD_NOW);
    if (blas != NULL) {
        *(void **)&bench.single = dlsym(blas, "cblas_somatcopy");
        *(void **)&bench.twice = dlsym(blas, "cblas_domatcopy");
    }
    printf("%s, %s, %" PRIu32 " threads, %s clock\n\n", info.name, info.instructions, info.multiprocessors,
           bench.clock == CLOCK_MONOTONIC ? "wall" : "process");
    bench.in = map(bench.room);
    bench.out = map(bench.room);
    bench.expected = map(bench.room);
    for (size_t i = 0; i < bench.room; i += 8) {
        uint64_t word = (i + 1) * 0x9e3779b97f4a7c15u;
        memcpy(bench.in + i, &word, 8);
    }

    int wrong = 0;
    printf("| shape | item bytes | median us | GB/s | copy GB/s | share of the copy | bar | OpenBLAS omatcopy takes |\n"
           "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < (shapes != 0 ? shapes : sizeof cells / sizeof *cells); i++)
        wrong += row(&bench, shapes != 0 ? &asked[i] : &cells[i]);
    if (shapes == 0) {
        printf("\n| side 2^k | item bytes | time an item beside the better of 2^k - 1 and 2^k + 1 |\n|---|---|---|\n");
        for (int k = 9; k <= 14; k++)
            cliff(&bench, k, 4);
        for (int k = 9; k <= 14; k++)
            cliff(&bench, k, 1);
    }
    if (blas != NULL)
        (void)dlclose(blas);
    bench.cpu->close(bench.device);
    return wrong != 0;
}
