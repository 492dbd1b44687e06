/* prometheus.c -- /metrics, in both text formats, from the table of families.
 *
 * The formats differ in a counter's family name, in what an info is, in exemplars and in the end mark; sample names and label
 * values are the same, so a scraper that changes its mind about Accept keeps its series.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/base/compiler.h"
#include "server/stats/stats_internal.h"

enum tpd_metric {
#define X(NAME, name, TYPE, unit, help) TPD_METRIC_##NAME,
#include "transposed/tbl/metrics.def"
#undef X
    TPD_METRIC_COUNT
};

enum metric_type { COUNTER, GAUGE, HISTOGRAM, INFO };

static const struct family {
    const char *name, *unit, *help;
    enum metric_type type;
} families[TPD_METRIC_COUNT] = {
#define X(NAME, name, TYPE, unit, help) [TPD_METRIC_##NAME] = {name, unit, help, TYPE},
#include "transposed/tbl/metrics.def"
#undef X
};

struct page {
    struct tpd_stats *stats;
    struct tpd_engine *engine;
    const struct tpd_config *config;
    bool openmetrics;
    struct tpd_buf *out; /* a failed add sticks: looked at once, at the end */
};

static const char *suffix(enum metric_type type) {
    return type == COUNTER ? "_total" : type == INFO ? "_info" : "";
}

static void add_family(struct page *page, enum tpd_metric metric) {
    static const char *const types[] = {"counter", "gauge", "histogram", "info"};
    const struct family *family = &families[metric];
    const char *tail = page->openmetrics ? "" : suffix(family->type);
    const char *type = family->type == INFO && !page->openmetrics ? "gauge" : types[family->type];
    (void)tpd_buf_format(page->out, "# HELP %s%s %s.\n# TYPE %s%s %s\n", family->name, tail, family->help, family->name, tail,
                         type);
    if (page->openmetrics && family->unit[0] != '\0')
        (void)tpd_buf_format(page->out, "# UNIT %s %s\n", family->name, family->unit);
}

/* The start of a sample; labels come as name, value, name, value, ..., NULL. extra is a suffix such as _bucket. */
static void add_name(struct page *page, enum tpd_metric metric, const char *extra, const char *const *labels) {
    (void)tpd_buf_format(page->out, "%s%s%s", families[metric].name, suffix(families[metric].type), extra);
    for (size_t i = 0; labels != NULL && labels[i] != NULL; i += 2) {
        (void)tpd_buf_format(page->out, "%s%s=\"", i == 0 ? "{" : ",", labels[i]);
        for (const char *at = labels[i + 1]; *at != '\0'; at++) {
            if (*at == '\\' || *at == '"' || *at == '\n')
                (void)tpd_buf_text(page->out, *at == '\n' ? "\\n" : *at == '"' ? "\\\"" : "\\\\");
            else
                (void)tpd_buf_add(page->out, at, 1);
        }
        (void)tpd_buf_text(page->out, "\"");
    }
    (void)tpd_buf_text(page->out, labels != NULL && labels[0] != NULL ? "} " : " ");
}

static void add_uint(struct page *page, enum tpd_metric metric, const char *const *labels, uint64_t value) {
    add_name(page, metric, "", labels);
    (void)tpd_buf_format(page->out, "%" PRIu64 "\n", value);
}

static void add_seconds(struct page *page, enum tpd_metric metric, const char *extra, const char *const *labels, double value) {
    add_name(page, metric, extra, labels);
    (void)tpd_buf_format(page->out, "%.9f\n", value);
}

/* A bound in the one form that both formats share: a float has a point or an exponent. */
static void bound_text(double bound, char text[32]) {
    int length = snprintf(text, 32, "%.15g", bound);
    if (strpbrk(text, ".e") == NULL && length > 0 && length < 29)
        memcpy(text + length, ".0", 3);
}

static void add_exemplar(struct page *page, uint32_t bucket) {
    struct tpd_exemplar exemplar;
    struct tpd_exemplar_slot *slot = &page->stats->exemplar[bucket];
    if (tpd_words_read(&slot->version, slot->word, &exemplar, sizeof exemplar) == 0)
        return;
    (void)tpd_buf_format(page->out, " # {trace_id=\"%s\"} %.9f %.3f", exemplar.trace_id, (double)exemplar.value_ns / 1e9,
                         (double)exemplar.at_unix_ns / 1e9);
}

/* counts has one place more than there are bounds: what is above all of them. pair: one label and its value, or NULLs. */
static void add_buckets(struct page *page, enum tpd_metric metric, const char *const *labels, const uint64_t *counts,
                        uint32_t bounds, double (*bound)(uint32_t bucket)) {
    const char *with_le[8] = {NULL};
    size_t used = 0;
    uint64_t sum = 0;
    char le[32];
    for (; labels != NULL && used < 4 && labels[used] != NULL; used += 2) {
        with_le[used] = labels[used];
        with_le[used + 1] = labels[used + 1];
    }
    with_le[used] = "le";
    with_le[used + 1] = le;
    for (uint32_t i = 0; i <= bounds; i++) {
        sum += counts[i];
        if (i < bounds)
            bound_text(bound(i), le);
        else
            memcpy(le, "+Inf", 5);
        add_name(page, metric, "_bucket", with_le);
        (void)tpd_buf_format(page->out, "%" PRIu64, sum);
        if (page->openmetrics && metric == TPD_METRIC_REQUEST_TIME)
            add_exemplar(page, i);
        (void)tpd_buf_text(page->out, "\n");
    }
    add_name(page, metric, "_count", labels);
    (void)tpd_buf_format(page->out, "%" PRIu64 "\n", sum);
}

static double request_bound(uint32_t bucket) {
    return (double)tpd_duration_bound(TPD_REQUEST_LEAST_NS, bucket) / 1e9;
}
static double stage_bound(uint32_t bucket) {
    return (double)tpd_duration_bound(TPD_STAGE_LEAST_NS, bucket) / 1e9;
}
static double kernel_bound(uint32_t bucket) {
    return (double)tpd_duration_bound(TPD_KERNEL_LEAST_NS, bucket) / 1e9;
}
static double size_bound(uint32_t bucket) {
    return (double)tpd_size_bound(bucket);
}

/* Adds one histogram's shards to what counts and sum hold. */
#define ADD_UP(stats, member, bounds, counts, sum_ns)                    \
    do {                                                                 \
        for (int bucket_ = 0; bucket_ <= (bounds); bucket_++)            \
            (counts)[bucket_] += tpd_sum(stats, member.bucket[bucket_]); \
        (sum_ns) += tpd_sum(stats, member.sum);                          \
    } while (0)

static void add_requests(struct page *page) {
    add_family(page, TPD_METRIC_REQUESTS);
    for (uint32_t endpoint = 0; endpoint < TPD_NAMES_MOST; endpoint++)
        for (uint32_t format = 0; format < TPD_FORMATS; format++)
            for (uint32_t code = 0; code < TPD_CODES_MOST; code++) {
                char text[16];
                uint64_t count = tpd_sum(page->stats, requests[endpoint][format][code]);
                if (count == 0)
                    continue;
                const char *labels[] = {
                    "endpoint", tpd_names_text(&page->stats->endpoints, endpoint), "format", tpd_format_name(format),
                    "code",     tpd_codes_text(page->stats, code, text),           NULL};
                add_uint(page, TPD_METRIC_REQUESTS, labels, count);
            }
}

static void add_durations(struct page *page) {
    uint64_t counts[TPD_DURATION_BOUNDS + 1] = {0}, sum = 0;
    add_family(page, TPD_METRIC_REQUEST_TIME);
    ADD_UP(page->stats, request, TPD_DURATION_BOUNDS, counts, sum);
    add_buckets(page, TPD_METRIC_REQUEST_TIME, NULL, counts, TPD_DURATION_BOUNDS, request_bound);
    add_seconds(page, TPD_METRIC_REQUEST_TIME, "_sum", NULL, (double)sum / 1e9);

    add_family(page, TPD_METRIC_STAGE_TIME);
    for (int i = 0; i < TPD_STAGE_COUNT; i++) {
        const char *labels[] = {"stage", tpd_stage_name((enum tpd_stage)i), NULL};
        memset(counts, 0, sizeof counts);
        sum = 0;
        ADD_UP(page->stats, stage[i], TPD_DURATION_BOUNDS, counts, sum);
        add_buckets(page, TPD_METRIC_STAGE_TIME, labels, counts, TPD_DURATION_BOUNDS, stage_bound);
        add_seconds(page, TPD_METRIC_STAGE_TIME, "_sum", labels, (double)sum / 1e9);
    }
}

static bool same_series(const struct tpd_row_name *a, const struct tpd_row_name *b) {
    return strcmp(a->strategy, b->strategy) == 0 && strcmp(a->device, b->device) == 0;
}

/* Rows are by item size as well; a series is the sum of those with one strategy and device, written where the first stands. */
static void add_kernels(struct page *page) {
    struct tpd_row_name names[TPD_ROWS_MOST];
    for (uint32_t i = 0; i < TPD_ROWS_MOST; i++)
        tpd_rows_name(page->stats, i, &names[i]);
    add_family(page, TPD_METRIC_KERNEL_TIME);
    for (uint32_t i = 0; i < TPD_ROWS_MOST; i++) {
        uint64_t counts[TPD_DURATION_BOUNDS + 1] = {0}, sum = 0, all = 0;
        uint32_t first = 0;
        while (!same_series(&names[first], &names[i]))
            first++;
        if (first != i)
            continue;
        for (uint32_t j = i; j < TPD_ROWS_MOST; j++)
            if (same_series(&names[j], &names[i]))
                ADD_UP(page->stats, row[j].kernel, TPD_DURATION_BOUNDS, counts, sum);
        for (int b = 0; b <= TPD_DURATION_BOUNDS; b++)
            all += counts[b];
        if (all == 0)
            continue;
        const char *labels[] = {"strategy", names[i].strategy, "device", names[i].device, NULL};
        add_buckets(page, TPD_METRIC_KERNEL_TIME, labels, counts, TPD_DURATION_BOUNDS, kernel_bound);
        add_seconds(page, TPD_METRIC_KERNEL_TIME, "_sum", labels, (double)sum / 1e9);
    }
}

static void add_sizes(struct page *page) {
    add_family(page, TPD_METRIC_MATRIX_BYTES);
    for (int i = 0; i < 2; i++) {
        uint64_t counts[TPD_SIZE_BOUNDS + 1] = {0}, sum = 0;
        const char *labels[] = {"direction", i == 0 ? "in" : "out", NULL};
        ADD_UP(page->stats, size[i], TPD_SIZE_BOUNDS, counts, sum);
        add_buckets(page, TPD_METRIC_MATRIX_BYTES, labels, counts, TPD_SIZE_BOUNDS, size_bound);
        add_name(page, TPD_METRIC_MATRIX_BYTES, "_sum", labels);
        (void)tpd_buf_format(page->out, "%" PRIu64 "\n", sum);
    }
}

static void add_load(struct page *page, const struct tpd_engine_counts *counts) {
    add_family(page, TPD_METRIC_INFLIGHT);
    add_uint(page, TPD_METRIC_INFLIGHT, NULL, tpd_stats_in_flight(page->stats));
    add_family(page, TPD_METRIC_QUEUE_DEPTH);
    add_uint(page, TPD_METRIC_QUEUE_DEPTH, NULL, counts->queued);
    add_family(page, TPD_METRIC_REJECTED);
    for (uint32_t i = 0; i < TPD_NAMES_MOST; i++) {
        uint64_t count = tpd_sum(page->stats, rejected[i]);
        const char *labels[] = {"reason", tpd_names_text(&page->stats->reasons, i), NULL};
        if (count != 0)
            add_uint(page, TPD_METRIC_REJECTED, labels, count);
    }
}

static void add_devices(struct page *page) {
    uint32_t count = tpd_engine_device_count(page->engine);
    struct tpd_device_info info;
    add_family(page, TPD_METRIC_DEVICE_UP);
    for (uint32_t i = 0; i < count; i++) {
        tpd_engine_device_info(page->engine, i, &info);
        const char *labels[] = {"device", info.id, NULL};
        if (info.state != TPD_STATE_ABSENT)
            add_uint(page, TPD_METRIC_DEVICE_UP, labels, info.state == TPD_STATE_READY);
    }
    add_family(page, TPD_METRIC_DEVICE_MEMORY);
    for (uint32_t i = 0; i < count; i++) {
        tpd_engine_device_info(page->engine, i, &info);
        if (info.state != TPD_STATE_READY || info.memory_pool_bytes == 0)
            continue;
        const char *used[] = {"device", info.id, "state", "used", NULL};
        const char *idle[] = {"device", info.id, "state", "free", NULL};
        uint64_t used_bytes = info.memory_used_bytes < info.memory_pool_bytes ? info.memory_used_bytes : info.memory_pool_bytes;
        add_uint(page, TPD_METRIC_DEVICE_MEMORY, used, used_bytes);
        add_uint(page, TPD_METRIC_DEVICE_MEMORY, idle, info.memory_pool_bytes - used_bytes);
    }
    struct tpd_device_error errors[64];
    uint32_t kinds = tpd_engine_device_errors(page->engine, errors, 64);
    add_family(page, TPD_METRIC_CUDA_ERRORS);
    for (uint32_t i = 0; i < kinds && i < 64; i++) {
        const char *labels[] = {"code", errors[i].name, NULL};
        add_uint(page, TPD_METRIC_CUDA_ERRORS, labels, errors[i].count);
    }
}

static void add_host(struct page *page, const struct tpd_engine_counts *counts) {
    uint64_t idle = counts->host_budget_bytes > counts->host_used_bytes ? counts->host_budget_bytes - counts->host_used_bytes : 0;
    const char *const states[] = {"used", "free", "cached", "pinned"};
    const uint64_t bytes[] = {counts->host_used_bytes, idle, counts->host_cached_bytes, counts->pinned_bytes};
    add_family(page, TPD_METRIC_HOST_MEMORY);
    for (int i = 0; i < 4; i++) {
        const char *labels[] = {"state", states[i], NULL};
        add_uint(page, TPD_METRIC_HOST_MEMORY, labels, bytes[i]);
    }
}

static void add_infos(struct page *page) {
    struct tpd_device_info info = {.id = ""};
    char tile[TPD_CONFIG_TEXT_BYTES], itemsize[16];
    bool found = false;
    for (uint32_t i = 0; i < tpd_engine_device_count(page->engine) && !found; i++) { /* the engine lists them by preference */
        tpd_engine_device_info(page->engine, i, &info);
        found = info.state == TPD_STATE_READY;
    }
    tpd_config_print(page->config, TPD_KNOB_tile, tile, sizeof tile);
    add_family(page, TPD_METRIC_STRATEGY);
    for (uint32_t i = 0; i < TPD_ITEM_CLASSES - 1 && found; i++) {
        uint32_t size = tpd_item_class_size(i);
        (void)snprintf(itemsize, sizeof itemsize, "%" PRIu32, size);
        const char *labels[] = {"itemsize", itemsize, "strategy", tpd_engine_chosen(page->engine, size, NULL), "tile", tile,
                                "device",   info.id,  NULL};
        add_uint(page, TPD_METRIC_STRATEGY, labels, 1);
    }
    add_family(page, TPD_METRIC_BUILD);
    const char *labels[] = {"version", TPD_VERSION, "compiler", TPD_COMPILER, "cuda", TPD_HAVE_CUDA ? "yes" : "no", NULL};
    add_uint(page, TPD_METRIC_BUILD, labels, 1);
}

static void add_process(struct page *page) {
    struct rusage usage;
    struct rlimit limit;
    uint64_t pages[2] = {0, 0}, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), fds = 0;
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        double seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
        add_family(page, TPD_METRIC_PROCESS_CPU);
        add_seconds(page, TPD_METRIC_PROCESS_CPU, "", NULL, seconds);
    }
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        int read = fscanf(file, "%" SCNu64 " %" SCNu64, &pages[0], &pages[1]);
        (void)fclose(file);
        if (read == 2) {
            add_family(page, TPD_METRIC_PROCESS_RSS);
            add_uint(page, TPD_METRIC_PROCESS_RSS, NULL, pages[1] * page_bytes);
            add_family(page, TPD_METRIC_PROCESS_VM);
            add_uint(page, TPD_METRIC_PROCESS_VM, NULL, pages[0] * page_bytes);
        }
    }
    DIR *folder = opendir("/proc/self/fd");
    if (folder != NULL) {
        for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
            fds += entry->d_name[0] != '.';
        (void)closedir(folder);
        add_family(page, TPD_METRIC_PROCESS_FDS);
        add_uint(page, TPD_METRIC_PROCESS_FDS, NULL, fds - (fds != 0)); /* without the one that counted */
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        add_family(page, TPD_METRIC_PROCESS_MAXFDS);
        add_uint(page, TPD_METRIC_PROCESS_MAXFDS, NULL, (uint64_t)limit.rlim_cur);
    }
    add_family(page, TPD_METRIC_PROCESS_START);
    add_name(page, TPD_METRIC_PROCESS_START, "", NULL);
    (void)tpd_buf_format(page->out, "%.2f\n", page->stats->process_start_seconds);
}

enum tpd_status tpd_stats_prometheus(struct tpd_stats *stats, struct tpd_engine *engine, const struct tpd_config *config,
                                     bool openmetrics, struct tpd_buf *out) {
    struct page page = {stats, engine, config, openmetrics, out};
    struct tpd_engine_counts counts;
    tpd_engine_counts(engine, &counts);
    add_requests(&page);
    add_durations(&page);
    add_kernels(&page);
    add_sizes(&page);
    add_load(&page, &counts);
    add_devices(&page);
    add_host(&page, &counts);
    add_infos(&page);
    add_process(&page);
    if (openmetrics)
        (void)tpd_buf_text(out, "# EOF\n");
    return out->status;
}
