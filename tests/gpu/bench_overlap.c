/* bench_overlap.c -- do the runs of one device overlap? Host to host, one caller at a time against one a lane.
 *
 * Prints Markdown. A run alone is copy-in, kernel and copy-out in turn; runs that overlap use both directions of the bus at
 * once. Every caller has page-locked buffers of its own with random bytes, and its last answer is checked against the oracle.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "transposed/clock.h"
#include "transposed/transposed.h"

enum { CALLERS_MOST = 8, RUNS = 12 };

static const struct tpd_backend *cuda;
static struct tpd_device *device;
static struct tpd_matrix matrix;
static uint64_t bytes;

struct caller {
    pthread_t thread;
    unsigned char *in, *out;
    uint64_t h2d_ns, kernel_ns, d2h_ns;
    bool is_right;
};

static void *call(void *self) {
    struct caller *caller = self;
    struct tpd_error error;
    struct tpd_outcome outcome = {0};
    struct tpd_task task = {
        .matrix = matrix, .in = caller->in, .out = caller->out, .pinned = true, .strategy = TPD_STRATEGY_AUTO};
    caller->h2d_ns = caller->kernel_ns = caller->d2h_ns = 0;
    for (int i = 0; i < RUNS; i++) {
        if (cuda->run(device, &task, &outcome, &error) != TPD_OK) {
            printf("run: %s\n", error.text);
            exit(EXIT_FAILURE);
        }
        caller->h2d_ns += outcome.h2d_ns;
        caller->kernel_ns += outcome.kernel_ns;
        caller->d2h_ns += outcome.d2h_ns;
    }
    return NULL;
}

/* Seconds a run, over all callers. */
static double measure(struct caller *callers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        memset(callers[i].out, 0xa5, bytes);
    uint64_t start_ns = tpd_clock_ns();
    for (uint32_t i = 0; i < count; i++)
        if (pthread_create(&callers[i].thread, NULL, call, &callers[i]) != 0)
            exit(EXIT_FAILURE);
    for (uint32_t i = 0; i < count; i++)
        (void)pthread_join(callers[i].thread, NULL);
    return (double)(tpd_clock_ns() - start_ns) * 1e-9 / (RUNS * count);
}

int main(void) {
    struct tpd_error error;
    cuda = tpd_backend_at(TPD_BACKEND_CUDA);
    if (cuda == NULL || cuda->count(&error) == 0) {
        printf("waived: %s\n", cuda == NULL ? "built without CUDA" : error.text);
        return 77;
    }
    static const uint64_t sides[] = {1024, 4096, 8192};
    struct tpd_device_options options = {.device_memory_bytes = (uint64_t)4 << 30};
    struct tpd_device_info info;
    if (cuda->open(0, &options, &device, &error) != TPD_OK) {
        printf("open: %s\n", error.text);
        return EXIT_FAILURE;
    }
    cuda->info(device, &info);
    uint32_t count = info.lanes < CALLERS_MOST ? info.lanes : CALLERS_MOST;
    printf("%s, %" PRIu32
           " lanes; page-locked host memory to page-locked host memory, float32, %d runs a caller; GB/s of input.\n\n"
           "| rows×cols | callers | ms a run | GB/s | h2d + kernel + d2h of one run, ms | against one caller | answers |\n"
           "|---|---|---|---|---|---|---|\n",
           info.name, count, RUNS);
    bool all_right = true;
    for (size_t s = 0; s < sizeof sides / sizeof sides[0]; s++) {
        struct caller callers[CALLERS_MOST];
        matrix = (struct tpd_matrix){sides[s], sides[s], 1, 4, TPD_DTYPE_FLOAT32};
        bytes = sides[s] * sides[s] * 4;
        unsigned char *expected = malloc(bytes);
        for (uint32_t i = 0; i < count; i++) {
            callers[i].in = cuda->host_alloc(bytes);
            callers[i].out = cuda->host_alloc(bytes);
            if (expected == NULL || callers[i].in == NULL || callers[i].out == NULL)
                return EXIT_FAILURE;
            tpd_random_fill(callers[i].in, bytes, sides[s] + i);
        }
        double alone = 0;
        for (uint32_t n = 1; n <= count; n += count > 1 ? count - 1 : 1) {
            (void)measure(callers, n); /* warms up */
            double seconds = measure(callers, n);
            bool is_right = true;
            for (uint32_t i = 0; i < n; i++) {
                tpd_transpose_ref(&matrix, callers[i].in, expected);
                is_right = is_right && memcmp(expected, callers[i].out, bytes) == 0;
            }
            alone = n == 1 ? seconds : alone;
            printf("| %" PRIu64 "×%" PRIu64 " | %" PRIu32 " | %.3f | %.1f | %.3f + %.3f + %.3f | %.2f × | %s |\n", sides[s],
                   sides[s], n, seconds * 1e3, (double)bytes / seconds * 1e-9, (double)callers[0].h2d_ns * 1e-6 / RUNS,
                   (double)callers[0].kernel_ns * 1e-6 / RUNS, (double)callers[0].d2h_ns * 1e-6 / RUNS, alone / seconds,
                   is_right ? "right" : "WRONG");
            all_right = all_right && is_right;
        }
        for (uint32_t i = 0; i < count; i++) {
            cuda->host_free(callers[i].in, bytes);
            cuda->host_free(callers[i].out, bytes);
        }
        free(expected);
    }
    cuda->close(device);
    return all_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
