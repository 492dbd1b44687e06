/* bench_cpu.c -- the CPU back end against a copy of the same bytes: a table over shapes and item sizes.
 *
 *     bench_cpu [--threads N] [--mib N] [--repeats N]
 *
 * The reference is the back end's own copy of a 1 x N matrix, with the same threads and the same kind of stores, in turns with
 * the transpose. GB/s are bytes read and written; times are the least of the repeats. Every row is checked before it is timed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "transposed/clock.h"
#include "transposed/transposed.h"

struct bench {
    const struct tpd_backend *cpu;
    struct tpd_device *device;
    unsigned char *in, *out, *expected;
    size_t room;
    int repeats;
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

static uint64_t run(const struct bench *bench, const struct tpd_matrix *matrix, struct tpd_outcome *outcome) {
    struct tpd_task task = {.matrix = *matrix, .in = bench->in, .out = bench->out, .strategy = TPD_STRATEGY_AUTO};
    struct tpd_error error;
    uint64_t start = tpd_clock_ns();
    if (bench->cpu->run(bench->device, &task, outcome, &error) != TPD_OK) {
        fprintf(stderr, "bench_cpu: %s\n", error.text);
        exit(1);
    }
    return tpd_clock_ns() - start;
}

static int row(const struct bench *bench, struct tpd_matrix matrix) {
    uint64_t bytes, copy_ns = UINT64_MAX, ns = UINT64_MAX;
    struct tpd_outcome outcome, ignored;
    if (tpd_matrix_bytes(&matrix, &bytes, NULL) != TPD_OK || bytes == 0 || bytes > bench->room)
        return 0;
    const struct tpd_matrix copy = {1, bytes, 1, 1, TPD_DTYPE_OPAQUE};
    memset(bench->out, 0xa5, bytes);
    (void)run(bench, &matrix, &outcome);
    tpd_transpose_ref(&matrix, bench->in, bench->expected);
    if (memcmp(bench->out, bench->expected, bytes) != 0) {
        printf("%" PRIu64 " x %" PRIu64 " of %" PRIu32 " bytes: WRONG\n", matrix.rows, matrix.cols, matrix.itemsize);
        return 1;
    }
    int times = bytes < 1 << 20 ? bench->repeats * 100 : bench->repeats;
    for (int i = 0; i < times; i++) {
        uint64_t now = run(bench, &copy, &ignored);
        copy_ns = now < copy_ns ? now : copy_ns;
        now = run(bench, &matrix, &outcome);
        ns = now < ns ? now : ns;
    }
    printf("%9" PRIu64 " x %9" PRIu64 " %4" PRIu32 "  %-8s %11.1f us %7.2f GB/s   copy %7.2f   share %.2f\n", matrix.rows,
           matrix.cols, matrix.itemsize, outcome.strategy, (double)ns / 1e3, 2.0 * (double)bytes / (double)ns,
           2.0 * (double)bytes / (double)copy_ns, (double)copy_ns / (double)ns);
    fflush(stdout);
    return 0;
}

static uint64_t root(uint64_t value) {
    uint64_t side = 1;
    while ((side + 1) * (side + 1) <= value)
        side++;
    return side;
}

int main(int argc, char **argv) {
    struct bench bench = {.cpu = tpd_backend_at(TPD_BACKEND_CPU), .room = (size_t)256 << 20, .repeats = 7};
    struct tpd_device_options options = {0};
    for (int i = 1; i + 1 < argc; i += 2) {
        unsigned long value = strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--threads") == 0)
            options.cpu_threads = (uint32_t)value;
        else if (strcmp(argv[i], "--mib") == 0 && value >= 1 && value <= 65536)
            bench.room = (size_t)value << 20;
        else if (strcmp(argv[i], "--repeats") == 0 && value >= 1 && value <= 1000)
            bench.repeats = (int)value;
        else
            return fprintf(stderr, "usage: bench_cpu [--threads N] [--mib N] [--repeats N]\n"), 2;
    }
    struct tpd_error error;
    if (bench.cpu->open(0, &options, &bench.device, &error) != TPD_OK)
        return fprintf(stderr, "bench_cpu: %s\n", error.text), 1;
    struct tpd_device_info info;
    bench.cpu->info(bench.device, &info);
    printf("%s, %" PRIu32 " threads\n", info.name, info.multiprocessors);
    bench.in = map(bench.room);
    bench.out = map(bench.room);
    bench.expected = map(bench.room);
    for (size_t i = 0; i < bench.room; i += 8) {
        uint64_t word = (i + 1) * 0x9e3779b97f4a7c15u;
        memcpy(bench.in + i, &word, 8);
    }

    int wrong = 0;
    static const uint32_t itemsizes[] = {1, 2, 4, 8, 16, 12};
    static const uint64_t narrow[] = {2, 3, 8, 31, 64, 1000};
    for (size_t s = 0; s < sizeof itemsizes / sizeof *itemsizes; s++) {
        const uint32_t size = itemsizes[s];
        const uint64_t items = bench.room / size;
        uint64_t side = root(items), power = (uint64_t)1 << (63 - __builtin_clzll(side));
        wrong += row(&bench, (struct tpd_matrix){32, 32, 1, size, TPD_DTYPE_OPAQUE});
        wrong += row(&bench, (struct tpd_matrix){256, 256, 1, size, TPD_DTYPE_OPAQUE});
        wrong += row(&bench, (struct tpd_matrix){1024, 1024, 1, size, TPD_DTYPE_OPAQUE});
        wrong += row(&bench, (struct tpd_matrix){power, power, 1, size, TPD_DTYPE_OPAQUE});
        wrong += row(&bench, (struct tpd_matrix){power - 1, power + 1, 1, size, TPD_DTYPE_OPAQUE});
        wrong += row(&bench, (struct tpd_matrix){power + 1, power - 1, 1, size, TPD_DTYPE_OPAQUE});
        for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
            wrong += row(&bench, (struct tpd_matrix){narrow[i], items / narrow[i], 1, size, TPD_DTYPE_OPAQUE});
            wrong += row(&bench, (struct tpd_matrix){items / narrow[i], narrow[i], 1, size, TPD_DTYPE_OPAQUE});
        }
    }
    bench.cpu->close(bench.device);
    return wrong != 0;
}
