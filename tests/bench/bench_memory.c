/* bench_memory.c -- what bounds a transpose on this machine: one core that reads a matrix, or writes one past the caches, in runs
 * of so many bytes a row, down the rows, as a transpose has to.
 *
 *     bench_memory [ROW_BYTES]
 *
 * GB/s of one direction, by the thread's own time; the median of seven.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "kernels/cpu/cpu.h"

enum { ROWS = 8192, REPEATS = 7 };

static unsigned char *map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("bench_memory: mmap");
        exit(1);
    }
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    memset(memory, 1, bytes);
    return memory;
}

static double now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static uint64_t read_run(const unsigned char *from, size_t bytes) {
    uint64_t words[8], all[8] = {0};
    for (size_t i = 0; i < bytes; i += sizeof words) {
        memcpy(words, from + i, sizeof words);
        for (int k = 0; k < 8; k++)
            all[k] ^= words[k];
    }
    return all[0] ^ all[1] ^ all[2] ^ all[3] ^ all[4] ^ all[5] ^ all[6] ^ all[7];
}

static int by_value(const void *a, const void *b) {
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static double measure(unsigned char *matrix, size_t pitch, size_t run, bool write) {
    static unsigned char line[1 << 16];
    static volatile uint64_t sink;
    double times[REPEATS];
    for (int k = 0; k < REPEATS; k++) {
        uint64_t sum = 0;
        double start = now();
        for (size_t c = 0; c < pitch; c += run)
            for (size_t r = 0; r < ROWS; r++) {
                if (write)
                    tpd_cpu_ops()->lines(matrix + r * pitch + c, line, run, true);
                else
                    sum ^= read_run(matrix + r * pitch + c, run);
            }
        tpd_cpu_ops()->publish();
        times[k] = now() - start;
        sink = sink ^ sum;
    }
    qsort(times, REPEATS, sizeof *times, by_value);
    return (double)(ROWS * pitch) / times[REPEATS / 2];
}

int main(int argc, char **argv) {
    static const size_t runs[] = {64, 128, 256, 512, 1024, 2048, 4096, 16384, 32768};
    const size_t pitch = argc > 1 ? strtoul(argv[1], NULL, 10) : 32768;
    if (pitch < 64 || pitch > 65536 || pitch % 64 != 0)
        return fprintf(stderr, "usage: bench_memory [ROW_BYTES], a multiple of 64 up to 65536\n"), 2;
    unsigned char *matrix = map(ROWS * pitch);
    printf("| bytes of a run, %d rows of %zu bytes | read GB/s | streamed write GB/s |\n|---|---|---|\n", ROWS, pitch);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        if (pitch % runs[i] == 0)
            printf("| %zu | %.1f | %.1f |\n", runs[i], measure(matrix, pitch, runs[i], false),
                   measure(matrix, pitch, runs[i], true));
    return 0;
}
