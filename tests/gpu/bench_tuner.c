/* bench_tuner.c -- runs the tuner on the GPU, and holds what it chose against the rule and against every way, measured longer.
 *
 *     bench_tuner [BUDGET_MS]       1500 unless said
 *
 * Prints Markdown, a row a cell. The tuner has its budget once, as at a daemon's first start; then as often as it takes to fill
 * the table, as at later ones. Then every way of every cell is timed anew: two launches each, and for those within twice the
 * fastest the median of REPEATS bursts between two events, in turns. Exit status 1: the budget was overrun by more than a tenth.
 */
#include <cuda_runtime.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda_driver.h"
#include "kernels/cuda/measure_kernels.h"
#include "transposed/clock.h"
#include "transposed/transposed.h"

enum { REPEATS = 15, BURST_MOST = 50, WAYS_MOST = 64, STARTS_MOST = 20 };
static const double burst_s = 150e-6, hopeless = 2;

struct way {
    struct tpd_plan plan;
    float times[REPEATS];
    double median_s; /* 0: hopeless */
    int burst;
};

static cudaStream_t stream;
static cudaEvent_t from, to;
static unsigned char *device_in, *device_out;
static struct tpd_tuning table;
static struct way ways[WAYS_MOST];

static void must(cudaError_t code, const char *what) {
    if (code == cudaSuccess)
        return;
    printf("%s: %s\n", what, cudaGetErrorString(code));
    exit(EXIT_FAILURE);
}

static void need(enum tpd_status status, const struct tpd_error *error) {
    if (status == TPD_OK)
        return;
    printf("%s\n", error->text);
    exit(EXIT_FAILURE);
}

static int by_value(const void *a, const void *b) {
    float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

static float time_s(const struct tpd_plan *plan, int burst) {
    float ms;
    must(cudaEventRecord(from, stream), "event");
    for (int i = 0; i < burst; i++)
        must((cudaError_t)tpd_cuda_kernel_launch(plan, device_in, device_out, stream), "launch");
    must(cudaEventRecord(to, stream), "event");
    must(cudaEventSynchronize(to), "run");
    must(cudaEventElapsedTime(&ms, from, to), "time");
    return ms * 1e-3F / (float)burst;
}

static int list_ways(const struct tpd_matrix *matrix, uint64_t shared_most_bytes) {
    int count = 0;
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        for (uint32_t variant = 0; variant < tpd_strategy_variants((enum tpd_strategy_id)id) && count < WAYS_MOST; variant++)
            count += tpd_strategy_plan_variant((enum tpd_strategy_id)id, variant, matrix, shared_most_bytes, &ways[count].plan,
                                               NULL) == TPD_OK;
    return count;
}

/* All of them; answers which is the fastest. */
static int measure(int count) {
    double fastest = 1;
    for (int i = 0; i < count; i++) {
        (void)time_s(&ways[i].plan, 1);
        ways[i].median_s = (double)time_s(&ways[i].plan, 1);
        fastest = ways[i].median_s < fastest ? ways[i].median_s : fastest;
    }
    for (int i = 0; i < count; i++) {
        int burst = (int)(burst_s / ways[i].median_s) + 1;
        ways[i].burst = burst < BURST_MOST ? burst : BURST_MOST;
        if (ways[i].median_s > hopeless * fastest)
            ways[i].median_s = 0;
    }
    for (int repeat = 0; repeat < REPEATS; repeat++)
        for (int i = 0; i < count; i++)
            if (ways[i].median_s > 0)
                ways[i].times[repeat] = time_s(&ways[i].plan, ways[i].burst);
    int best = -1;
    for (int i = 0; i < count; i++) {
        if (!(ways[i].median_s > 0))
            continue;
        qsort(ways[i].times, REPEATS, sizeof ways[i].times[0], by_value);
        ways[i].median_s = (double)ways[i].times[REPEATS / 2];
        if (best < 0 || ways[i].median_s < ways[best].median_s)
            best = i;
    }
    return best;
}

static int find(const struct tpd_tuning_way *way, int count) {
    int i = 0;
    while (i < count && !(ways[i].plan.strategy == way->strategy && ways[i].plan.variant == way->variant))
        i++;
    return i;
}

static void print_way(const struct tpd_plan *plan, double seconds) {
    printf(" %s", tpd_strategy_at(plan->strategy)->name);
    if (plan->variant != 0)
        printf(" %ux%u %s", plan->tile.rows, plan->tile.cols, plan->goes_down ? "down" : "across");
    if (seconds > 0)
        printf(" | %.2f |", seconds * 1e6);
    else
        printf(" | slow |");
}

struct sums {
    int cells, better, worse, missed; /* than the rule by over 2 %; slower than the best by over 3 % */
    double against_rule, against_best;
};

static void compare(uint32_t size, bool aligned, enum tpd_tuning_shape shape, uint64_t shared_most_bytes, struct sums *sums) {
    const struct tpd_tuning_cell *cell = &table.cell[size][aligned][shape];
    struct tpd_matrix matrix;
    if (cell->bytes == 0 || !tpd_tuning_matrix(size, aligned, shape, &matrix))
        return;
    const int count = list_ways(&matrix, shared_most_bytes), best = measure(count);
    const int chosen = find(&cell->best, count), rule = find(&cell->rule, count);
    const double of_rule = ways[rule].median_s > 0 ? ways[rule].median_s / ways[chosen].median_s : hopeless;
    const double of_best = ways[best].median_s / ways[chosen].median_s;
    printf("| %s | %s | %s | %" PRIu64 "x%" PRIu64, tpd_tuning_size_name(size), tpd_tuning_shape_name(shape),
           aligned ? "yes" : "no", matrix.rows, matrix.cols);
    if (matrix.batch > 1)
        printf("x%" PRIu64, matrix.batch);
    printf(" |");
    print_way(&ways[chosen].plan, ways[chosen].median_s);
    printf(" %.0f |", 2e-9 * (double)cell->bytes / ways[chosen].median_s);
    print_way(&ways[rule].plan, ways[rule].median_s);
    printf(" %.2f |", of_rule);
    print_way(&ways[best].plan, ways[best].median_s);
    printf(" %.2f |\n", of_best);
    sums->cells++;
    sums->better += of_rule > 1.02;
    sums->worse += of_rule < 0.98;
    sums->missed += of_best < 0.97;
    sums->against_rule += of_rule;
    sums->against_best += of_best;
}

/* The tuner itself, on a device that is opened for it as a daemon does. Answers the seconds of its first go. */
static double tune(uint64_t budget_ns) {
    const struct tpd_backend *cuda = tpd_backend_at(TPD_BACKEND_CUDA);
    const struct tpd_device_options options = {.lanes = 0};
    double first_s = 0;
    uint32_t starts = 0, before;
    do {
        struct tpd_device *device;
        struct tpd_error error;
        need(cuda->open(0, &options, &device, &error), &error);
        const uint64_t started_ns = tpd_clock_ns();
        before = table.cells;
        need(cuda->tune(device, budget_ns, &table, &error), &error);
        const double taken_s = 1e-9 * (double)(tpd_clock_ns() - started_ns);
        first_s = starts == 0 ? taken_s : first_s;
        printf("- start %u: %.3f s, budget %.3f s; %u cells measured, %u in the table\n", ++starts, taken_s,
               1e-9 * (double)budget_ns, table.cells - before, table.cells);
        cuda->close(device);
    } while (table.cells != before && starts < STARTS_MOST);
    return first_s;
}

int main(int argc, char **argv) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("waived: no GPU here\n");
        return 77;
    }
    const uint64_t budget_ns = argc > 1 ? strtoull(argv[1], NULL, 10) * 1000000 : 1500000000;
    struct tpd_cuda_properties properties;
    must((cudaError_t)tpd_cuda_runtime.device_start(0), "context");
    must((cudaError_t)tpd_cuda_runtime.device_properties(0, &properties), "properties");
    printf("%s, build %s.\n\n", properties.name, tpd_tuning_build());
    const double first_s = tune(budget_ns);

    uint64_t most = 0;
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
        for (int i = 0; i < 2 * TPD_SHAPE_COUNT; i++)
            if (table.cell[size][i % 2][i / 2].bytes > most)
                most = table.cell[size][i % 2][i / 2].bytes;
    must((cudaError_t)tpd_cuda_runtime.kernels_prepare(properties.shared_most_bytes), "kernels");
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    must(cudaEventCreate(&from), "event");
    must(cudaEventCreate(&to), "event");
    must(cudaMalloc((void **)&device_in, most), "device memory");
    must(cudaMalloc((void **)&device_out, most), "device memory");
    must((cudaError_t)tpd_cuda_measure_fill(device_in, most, 8192, stream), "random bytes");
    printf("\nEvery way measured longer: median of %d bursts, in turns; µs a launch. \"of rule\": how many times as fast as the "
           "rule's; "
           "\"of best\": share of the fastest of all.\n\n"
           "| item bytes | shape | aligned | measured | chosen | µs | GB/s | rule | µs | of rule | best of all | µs | of best |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
           REPEATS);
    struct sums sums = {0};
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
        for (int shape = 0; shape < TPD_SHAPE_COUNT; shape++)
            for (int aligned = 1; aligned >= 0; aligned--)
                compare(size, aligned != 0, (enum tpd_tuning_shape)shape, properties.shared_most_bytes, &sums);
    if (sums.cells != 0)
        printf("\n%d cells: faster than the rule by over 2 %% in %d, slower in %d, %.3f times as fast in the mean; %.3f of the "
               "best in the "
               "mean, under 0.97 in %d.\n",
               sums.cells, sums.better, sums.worse, sums.against_rule / sums.cells, sums.against_best / sums.cells, sums.missed);
    must(cudaFree(device_in), "free");
    must(cudaFree(device_out), "free");
    return first_s <= 1.1e-9 * (double)budget_ns ? EXIT_SUCCESS : EXIT_FAILURE;
}
