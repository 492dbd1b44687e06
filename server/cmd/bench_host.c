/* bench_host.c -- see bench_host.h. */
#include "server/cmd/bench_host.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/engine/host_pool.h"
#include "transposed/clock.h"
#include "transposed/transposed.h"

enum { BLOCK_ITEMS = 1024, POISON = 0xa5, LONG_NS = 10000000 };
static const size_t huge_bytes = 2 << 20;

uint64_t tpd_bench_host_memory(void) {
    uint64_t most = tpd_host_memory_default();
    unsigned long long kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1 && kib * 512 < most)
            most = kib * 512;
    if (file != NULL)
        (void)fclose(file);
    return most;
}

enum tpd_status tpd_bench_host_init(struct tpd_bench_host *host, uint32_t threads, struct tpd_error *error) {
    *host = (struct tpd_bench_host){0};
    return tpd_copy_crew_create(threads, &host->crew, error);
}

static void give_memory(struct tpd_bench_host *host) {
    if (host->in != NULL)
        (void)munmap(host->in, 2 * host->room_bytes);
    host->in = host->out = NULL;
    host->room_bytes = host->filled_bytes = 0;
}

void tpd_bench_host_fini(struct tpd_bench_host *host) {
    give_memory(host);
    tpd_copy_crew_destroy(host->crew);
    host->crew = NULL;
}

/* Pages as the daemon's buffers have them; touched before anything is timed, by the fill and by the poison. */
static enum tpd_status take_memory(struct tpd_bench_host *host, size_t bytes, struct tpd_error *error) {
    if (bytes > host->room_bytes) {
        size_t room = bytes + (huge_bytes - bytes % huge_bytes) % huge_bytes;
        give_memory(host);
        void *memory = mmap(NULL, 2 * room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return tpd_fail_limit(error, TPD_NO_MEMORY, 0, 2 * room, "the system gave no %zu bytes for input and output",
                                  2 * room);
        (void)madvise(memory, 2 * room, MADV_HUGEPAGE); /* refused: small pages, slower */
        host->in = memory;
        host->out = host->in + room;
        host->room_bytes = room;
    }
    for (; host->filled_bytes < bytes; host->filled_bytes += sizeof(uint64_t)) {
        uint64_t word = (host->filled_bytes + 1) * 0x9e3779b97f4a7c15u;
        word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
        word ^= word >> 27;
        memcpy(host->in + host->filled_bytes, &word, sizeof word);
    }
    memset(host->out, POISON, bytes);
    return TPD_OK;
}

/* One block: gathered, transposed by the oracle, compared row by row. */
static uint64_t block_wrong(const struct tpd_matrix *block, const unsigned char *in, size_t in_pitch, const unsigned char *out,
                            size_t out_pitch) {
    static unsigned char gathered[BLOCK_ITEMS * 16], expected[BLOCK_ITEMS * 16];
    const size_t size = block->itemsize;
    uint64_t wrong = 0;
    for (uint64_t row = 0; row < block->rows; row++)
        memcpy(gathered + row * block->cols * size, in + row * in_pitch, block->cols * size);
    tpd_transpose_ref(block, gathered, expected);
    for (uint64_t col = 0; col < block->cols; col++) {
        const unsigned char *row = out + col * out_pitch, *wanted = expected + col * block->rows * size;
        for (uint64_t i = 0; memcmp(row, wanted, block->rows * size) != 0 && i < block->rows; i++)
            wrong += memcmp(row + i * size, wanted + i * size, size) != 0;
    }
    return wrong;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

uint64_t tpd_bench_count_wrong(const struct tpd_matrix *matrix, const unsigned char *in, const unsigned char *out) {
    const uint64_t size = matrix->itemsize, items = size <= 16 ? BLOCK_ITEMS : BLOCK_ITEMS * 16 / size;
    const uint64_t side = items >= 1024 ? 32 : 2;
    const uint64_t high = least(matrix->rows, matrix->cols < side ? items / matrix->cols : side);
    const uint64_t wide = least(matrix->cols, items / high);
    uint64_t wrong = 0;
    for (uint64_t n = 0; n < matrix->batch; n++) {
        const uint64_t first = n * matrix->rows * matrix->cols * size;
        for (uint64_t row = 0; row < matrix->rows; row += high)
            for (uint64_t col = 0; col < matrix->cols; col += wide) {
                const struct tpd_matrix block = {least(high, matrix->rows - row), least(wide, matrix->cols - col), 1,
                                                 matrix->itemsize, TPD_DTYPE_OPAQUE};
                wrong += block_wrong(&block, in + first + (row * matrix->cols + col) * size, matrix->cols * size,
                                     out + first + (col * matrix->rows + row) * size, matrix->rows * size);
            }
    }
    return wrong;
}

/* The cores' own second-level caches are certain. The third level is shared, and a virtual machine is told the whole socket's. */
static void look_at_caches(const struct tpd_backend *backend, struct tpd_device *device, struct tpd_measurement *result) {
    struct tpd_device_info info;
    backend->info(device, &info);
    long second = sysconf(_SC_LEVEL2_CACHE_SIZE), third = sysconf(_SC_LEVEL3_CACHE_SIZE);
    result->cache_least_bytes = second > 0 ? (uint64_t)second * info.multiprocessors : 0;
    result->cache_most_bytes = third > 0 ? (uint64_t)third : result->cache_least_bytes;
}

struct measuring {
    struct tpd_bench_host *host;
    const struct tpd_backend *backend;
    struct tpd_device *device;
    struct tpd_task task;
    struct tpd_outcome outcome;
    size_t bytes;
    uint32_t burst; /* of transposes */
};

static enum tpd_status once(void *context, enum tpd_measured what, double *seconds, struct tpd_error *error) {
    struct measuring *at = context;
    const uint32_t burst = what == TPD_MEASURED_TRANSPOSE ? at->burst : tpd_measure_burst(at->bytes);
    enum tpd_status status = TPD_OK;
    uint64_t begin = tpd_clock_ns();
    for (uint32_t i = 0; i < burst && status == TPD_OK; i++) {
        if (what == TPD_MEASURED_TRANSPOSE)
            status = at->backend->run(at->device, &at->task, &at->outcome, error);
        else
            tpd_copy_crew_run(at->host->crew, at->host->out, at->host->in, at->bytes, what == TPD_MEASURED_COPY);
    }
    *seconds = (double)(tpd_clock_ns() - begin) / 1e9 / burst;
    return status;
}

enum tpd_status tpd_bench_host_measure(struct tpd_bench_host *host, const struct tpd_backend *backend, struct tpd_device *device,
                                       const struct tpd_measure *ask, struct tpd_measurement *result, struct tpd_error *error) {
    struct measuring at = {.host = host,
                           .backend = backend,
                           .device = device,
                           .task = {.matrix = ask->matrix, .strategy = ask->strategy, .tile = ask->tile}};
    uint64_t bytes;
    memset(result, 0, sizeof *result);
    enum tpd_status status = tpd_matrix_bytes(&ask->matrix, &bytes, error);
    if (status == TPD_OK)
        status = backend->check(device, &at.task, error);
    if (status == TPD_OK)
        status = take_memory(host, bytes, error);
    if (status != TPD_OK)
        return status;
    at.bytes = bytes;
    at.task.in = host->in;
    at.task.out = host->out;
    const uint64_t begin_ns = tpd_clock_ns();
    status = backend->run(device, &at.task, &at.outcome, error);
    const uint64_t first_ns = tpd_clock_ns() - begin_ns;
    at.burst = tpd_measure_burst(bytes);
    if (at.burst * first_ns > LONG_NS) /* the runner's, which no clock has trouble with */
        at.burst = first_ns < LONG_NS ? (uint32_t)(LONG_NS / first_ns) : 1;
    if (status != TPD_OK)
        return status;
    result->strategy = at.outcome.strategy;
    result->tile = at.outcome.tile;
    result->wrong_items = tpd_bench_count_wrong(&ask->matrix, host->in, host->out);
    look_at_caches(backend, device, result);
    return result->wrong_items == 0 ? tpd_measure_in_turns(ask, once, &at, result, error) : TPD_OK;
}
