/* bank_probe.cu -- launches, once each and in a fixed order, what check_banks.py has a profiler count.
 *
 *     bank_probe strategies [FROM COUNT]   every strategy x item size x tile x shape
 *     bank_probe patterns [FROM COUNT]     the warp requests of bank_patterns.c, each many times by one warp
 *
 * Prints CSV: a line a launch, with the kernel's name and the model's sums for the whole grid; FROM and COUNT are a window of
 * those lines. Where there is no GPU the lines come all the same, and the exit status is 77.
 */
#include <cuda_runtime.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bank_kernels.h"
#include "kernels/cuda/cuda_driver.h"

/* Enough rounds for the counters' own noise to be a small share. */
static const uint32_t repeats = 512;

static bool has_device;
static uint64_t shared_most_bytes = 227u << 10; /* as an H200 has it; the device's own where there is one */
static uint64_t window_first, window_count = UINT64_MAX, lines;

static void must(int code, const char *what) {
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "bank_probe: %s: %s\n", what, cudaGetErrorString(static_cast<cudaError_t>(code)));
    exit(EXIT_FAILURE);
}

static void must_do(enum tpd_status status, const char *what, const struct tpd_error *error) {
    if (status == TPD_OK)
        return;
    fprintf(stderr, "bank_probe: %s: %s\n", what, error->text);
    exit(EXIT_FAILURE);
}

/* Whether the next line is in the window. */
static bool is_next_wanted(void) {
    const uint64_t line = lines++;
    return line >= window_first && line - window_first < window_count;
}

static void print_header(void) {
    printf("kernel,kind,name,op,itemsize,tile,rows,cols,batch,active,addresses,repeats");
    for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++) {
        const char *name = op == TPD_OP_LOAD ? "load" : "store";
        printf(",%s_requests,%s_wavefronts,%s_ideal,%s_excess,%s_sectors", name, name, name, name, name);
    }
    printf("\n");
}

static void print_sums(const struct tpd_shared_sum shared[2], const struct tpd_global_sum global[2]) {
    for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++)
        printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, shared[op].requests, shared[op].wavefronts,
               shared[op].ideal, shared[op].excess, global[op].sectors);
    printf("\n");
}

/* As kernel.h names them. */
static const char *const strategy_names[TPD_STRATEGY_COUNT] = {
#define X(NAME, name, TILED, ITEMSIZES, summary) #NAME,
#include "transposed/tbl/strategies.def"
#undef X
};

/* The kind of kernel, as kernel.h names it. */
static const char *kind_of(const struct tpd_plan *plan) {
    static const char *const own[TPD_KERNELS_MOST] = {"OWN_0", "OWN_1", "OWN_2", "OWN_3"};
    return tpd_strategy_at(plan->strategy)->own_tiles ? own[plan->kernel] : plan->kernel == 0 ? "FIXED" : "ANY";
}

static void probe_plan(const struct tpd_plan *plan, void *in, void *out) {
    struct tpd_figures figures;
    struct tpd_error error;
    const struct tpd_matrix *matrix = &plan->matrix;
    must_do(tpd_banks_of_plan(plan, &figures, &error), "model", &error);
    if (figures.blocks != plan->blocks) {
        fprintf(stderr, "bank_probe: the model sampled %" PRIu64 " of %" PRIu64 " blocks: take a smaller shape\n", figures.blocks,
                plan->blocks);
        exit(EXIT_FAILURE);
    }
    printf("tpd_kernel_%s_%" PRIu32 "_%s,strategy,%s,,%" PRIu32 ",%" PRIu32 "x%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
           ",,,1",
           strategy_names[plan->strategy], plan->word_bytes, kind_of(plan), tpd_strategy_at(plan->strategy)->name,
           matrix->itemsize, plan->tile.rows, plan->tile.cols, matrix->rows, matrix->cols, matrix->batch);
    print_sums(figures.shared, figures.global);
    if (!has_device)
        return;
    must(tpd_cuda_kernel_launch(plan, in, out, NULL), "launch");
    must(cudaDeviceSynchronize(), "run");
}

/* Small enough for the model to walk every block of every plan, also where a unit test does so under sanitizers. */
static void probe_strategies(void) {
    static const struct tpd_tile tiles[] = {{0, 0}, {64, 32}, {16, 32}, {32, 16}, {64, 64}};
    static const uint64_t shapes[][2] = {{256, 256}, {241, 255}};
    const size_t bytes = 256 * 256 * 16;
    void *in = NULL, *out = NULL;
    if (has_device) {
        must(tpd_cuda_runtime.kernels_prepare(shared_most_bytes), "kernels");
        must(cudaMalloc(&in, bytes), "memory");
        must(cudaMalloc(&out, bytes), "memory");
        must(cudaMemset(in, 0x5a, bytes), "fill");
        must(cudaMemset(out, 0xa5, bytes), "fill");
    }
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        for (uint32_t itemsize = 1; itemsize <= 16; itemsize *= 2)
            for (const struct tpd_tile &tile : tiles)
                for (const uint64_t *shape : shapes) {
                    struct tpd_plan plan;
                    struct tpd_error error;
                    struct tpd_matrix matrix = {shape[0], shape[1], 1, itemsize, TPD_DTYPE_OPAQUE};
                    const enum tpd_strategy_id strategy = static_cast<enum tpd_strategy_id>(id);
                    if (tile.rows != 0 && !tpd_strategy_at(strategy)->tiled)
                        continue;
                    matrix = tpd_strategy_fit(strategy, matrix);
                    must_do(tpd_strategy_plan(strategy, &matrix, tile, shared_most_bytes, &plan, &error), "plan", &error);
                    if (is_next_wanted())
                        probe_plan(&plan, in, out);
                }
    must(has_device ? cudaFree(in) : cudaSuccess, "free");
    must(has_device ? cudaFree(out) : cudaSuccess, "free");
}

static const struct {
    const char *name;
    tpd_probe_kernel *kernel;
    enum tpd_op op;
    uint32_t width, matrices;
    int architecture; /* the least that has the instruction */
} kernels[] = {
#define ACCESSES(width)                                              \
    {"bank_ld_" #width, bank_ld_##width, TPD_OP_LOAD, width, 0, 50}, \
        {"bank_st_" #width, bank_st_##width, TPD_OP_STORE, width, 0, 50},
#define MATRICES(n)                                                   \
    {"bank_ldmatrix_" #n, bank_ldmatrix_##n, TPD_OP_LOAD, 16, n, 75}, \
        {"bank_stmatrix_" #n, bank_stmatrix_##n, TPD_OP_STORE, 16, n, 90},
    ACCESSES(1) ACCESSES(2) ACCESSES(4) ACCESSES(8) ACCESSES(16) MATRICES(1) MATRICES(2) MATRICES(4)};

static void launch_pattern(const struct tpd_pattern *pattern, tpd_probe_kernel *kernel, int architecture, uint32_t *sink) {
    cudaFuncAttributes attributes;
    must(cudaFuncGetAttributes(&attributes, kernel), "kernel");
    if (attributes.ptxVersion < architecture) {
        fprintf(stderr, "bank_probe: %s: not made for architecture %d\n", pattern->name, attributes.ptxVersion);
        return;
    }
    struct tpd_probe probe = {};
    for (uint32_t lane = 0; lane < TPD_WARP; lane++)
        probe.address[lane] = static_cast<uint32_t>(pattern->request.address[lane]);
    probe.active = pattern->request.active;
    probe.repeats = repeats;
    kernel<<<1, TPD_WARP, TPD_PATTERN_BYTES>>>(probe, sink);
    must(cudaGetLastError(), "launch");
    must(cudaDeviceSynchronize(), "run");
}

static void probe_pattern(const struct tpd_pattern *pattern, uint32_t *sink) {
    const struct tpd_request *request = &pattern->request;
    struct tpd_bank_result result;
    struct tpd_error error;
    must_do(tpd_pattern_expect(pattern, &result, &error), pattern->name, &error);
    struct tpd_shared_sum shared[2] = {};
    const struct tpd_global_sum global[2] = {};
    struct tpd_shared_sum *sum = &shared[request->op];
    sum->requests = repeats;
    sum->wavefronts = static_cast<uint64_t>(repeats) * result.wavefronts;
    sum->ideal = static_cast<uint64_t>(repeats) * result.ideal;
    sum->excess = static_cast<uint64_t>(repeats) * result.excess;
    for (const auto &one : kernels) {
        if (one.op != request->op || one.width != request->width || one.matrices != pattern->matrices)
            continue;
        printf("%s,%s,%s,%s,%" PRIu32 ",,,,,%08" PRIx32 ",", one.name, pattern->family, pattern->name,
               request->op == TPD_OP_LOAD ? "load" : "store", request->width, request->active);
        for (uint32_t lane = 0; lane < TPD_WARP; lane++)
            printf("%s%" PRIx64, lane == 0 ? "" : " ", request->address[lane]);
        printf(",%" PRIu32, repeats);
        print_sums(shared, global);
        if (has_device)
            launch_pattern(pattern, one.kernel, one.architecture, sink);
    }
}

static void probe_patterns(void) {
    static struct tpd_pattern patterns[TPD_PATTERNS_MOST];
    const uint32_t count = tpd_patterns_make(patterns);
    uint32_t *sink = NULL;
    if (has_device)
        must(cudaMalloc(&sink, sizeof *sink), "memory");
    for (uint32_t n = 0; n < count; n++)
        if (is_next_wanted())
            probe_pattern(&patterns[n], sink);
    if (has_device)
        must(cudaFree(sink), "free");
}

int main(int argc, char **argv) {
    const bool strategies = argc >= 2 && strcmp(argv[1], "strategies") == 0;
    if ((!strategies && (argc < 2 || strcmp(argv[1], "patterns") != 0)) || (argc != 2 && argc != 4)) {
        fprintf(stderr, "usage: bank_probe strategies|patterns [FROM COUNT]\n");
        return 2;
    }
    if (argc == 4) {
        window_first = strtoull(argv[2], NULL, 10);
        window_count = strtoull(argv[3], NULL, 10);
    }
    int count = 0;
    has_device = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
    if (has_device) {
        struct tpd_cuda_properties properties;
        must(tpd_cuda_runtime.device_start(0), "context");
        must(tpd_cuda_runtime.device_properties(0, &properties), "properties");
        shared_most_bytes = properties.shared_most_bytes;
    }
    print_header();
    if (strategies)
        probe_strategies();
    else
        probe_patterns();
    if (!has_device)
        fprintf(stderr, "waived: no GPU here: nothing was launched\n");
    return has_device ? EXIT_SUCCESS : 77;
}
