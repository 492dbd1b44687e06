/* tuner.c -- times the ways to transpose on this GPU and fills a table with the fastest.
 *
 * A cell: every way that the strategies have for the matrix that stands for it is launched once (the last launch before warms
 * caches and clocks), the hopeless are dropped, and the rest is timed in turns, so that a change of clocks meets all alike. The
 * median of the turns counts, and the rule's way stays where nobody is faster by more than the noise.
 * All of it in the pool's memory, before the first run: nobody else is there. After a failed call the stream is drained, as after
 * a failed run.
 */
#include <string.h>

#include "kernels/cuda/cuda_device.h"
#include "transposed/alloc.h"
#include "transposed/clock.h"

enum {
    WAYS_MOST = 64,
    TURNS = 5,
    BURST_MOST = 20,
    BURST_NS = 60000,      /* launches between two events last about so long: an event's grain is 0.5 us */
    HOPELESS_PERCENT = 50, /* slower than the fastest so far by this, and by */
    HOPELESS_NS = 2000,    /* this: not worth the turns */
    NOISE_PERCENT = 2,     /* what two measurements of the same kernel differ by */
    FILL_BYTES = 4 << 20   /* random bytes, copied over and over where matrices will lie */
};

struct way {
    enum tpd_strategy_id strategy;
    struct tpd_plan plan;
    uint64_t once_ns, median_ns;
    uint64_t turn_ns[TURNS];
    uint32_t burst;
    bool stays;
};

struct tuner {
    struct tpd_device *device;
    void *stream, *from, *to;
    void *random; /* page-locked: FILL_BYTES */
    unsigned char *in, *out;
    uint64_t filled_bytes, deadline_ns;
    int code; /* the first that was not 0 */
    const char *doing;
    uint32_t count;
    struct way way[WAYS_MOST];
};

static bool is_late(const struct tuner *tuner) {
    return tpd_clock_ns() >= tuner->deadline_ns;
}

static bool failed(struct tuner *tuner, int code, const char *doing) {
    tuner->code = code;
    tuner->doing = doing;
    return code != 0;
}

/* Nanoseconds a launch, of so many one after the other. */
static uint64_t time_ns(struct tuner *tuner, const struct tpd_plan *plan, uint32_t warm, uint32_t burst) {
    const struct tpd_cuda_calls *calls = tuner->device->calls;
    float milliseconds = 0;
    int code = 0;
    for (uint32_t i = 0; i < warm && code == 0; i++)
        code = calls->kernel_launch(plan, tuner->in, tuner->out, tuner->stream);
    if (code == 0)
        code = calls->event_record(tuner->from, tuner->stream);
    for (uint32_t i = 0; i < burst && code == 0; i++)
        code = calls->kernel_launch(plan, tuner->in, tuner->out, tuner->stream);
    if (code == 0)
        code = calls->event_record(tuner->to, tuner->stream);
    if (code == 0)
        code = calls->event_wait(tuner->to);
    if (code == 0)
        code = calls->event_elapsed(&milliseconds, tuner->from, tuner->to);
    if (failed(tuner, code, "timing a kernel"))
        return 0;
    const double ns = (double)milliseconds * 1e6 / burst;
    return ns < 1 ? 1 : (uint64_t)ns; /* 0 would mean: not measured */
}

/* So that what is moved is nobody's zeros, which some memories are quicker with. */
static void fill(struct tuner *tuner, uint64_t bytes) {
    const struct tpd_cuda_calls *calls = tuner->device->calls;
    int code = 0;
    for (uint64_t at = tuner->filled_bytes; at < bytes && code == 0; at += FILL_BYTES) {
        const uint64_t left = bytes - at;
        code = calls->copy_in(tuner->in + at, tuner->random, left < FILL_BYTES ? left : FILL_BYTES, tuner->stream);
    }
    if (code == 0)
        code = calls->stream_wait(tuner->stream);
    if (!failed(tuner, code, "copying random bytes"))
        tuner->filled_bytes = bytes;
}

static bool is_same(const struct tpd_plan *a, const struct tpd_plan *b) {
    return a->strategy == b->strategy && a->kernel == b->kernel && a->tile.rows == b->tile.rows && a->tile.cols == b->tile.cols &&
           a->threads == b->threads && a->chunk == b->chunk && a->turns_log2 == b->turns_log2 && a->goes_down == b->goes_down &&
           a->shared_bytes == b->shared_bytes && a->blocks == b->blocks;
}

/* Every way once: some variants are what the strategy would have chosen. */
static void list_ways(struct tuner *tuner, const struct tpd_matrix *matrix) {
    tuner->count = 0;
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        for (uint32_t variant = 0; variant < tpd_strategy_variants((enum tpd_strategy_id)id); variant++) {
            struct way *way = &tuner->way[tuner->count];
            if (tuner->count == WAYS_MOST ||
                tpd_strategy_plan_variant((enum tpd_strategy_id)id, variant, matrix, tuner->device->properties.shared_most_bytes,
                                          &way->plan, NULL) != TPD_OK)
                continue;
            bool is_new = true;
            for (uint32_t i = 0; i < tuner->count && is_new; i++)
                is_new = !is_same(&tuner->way[i].plan, &way->plan);
            way->strategy = (enum tpd_strategy_id)id;
            tuner->count += is_new;
        }
}

static uint64_t with_percent(uint64_t ns, uint32_t percent) {
    return ns + ns * percent / 100;
}

/* One launch each. False: too late, or a call failed. */
static bool try_once(struct tuner *tuner, uint32_t rule) {
    uint64_t best_ns = UINT64_MAX;
    for (uint32_t i = 0; i < tuner->count; i++) {
        struct way *way = &tuner->way[i];
        if (is_late(tuner))
            return false;
        way->once_ns = time_ns(tuner, &way->plan, 1, 1);
        if (tuner->code != 0)
            return false;
        best_ns = way->once_ns < best_ns ? way->once_ns : best_ns;
        const uint64_t burst = BURST_NS / way->once_ns + 1;
        way->burst = burst < BURST_MOST ? (uint32_t)burst : BURST_MOST;
    }
    for (uint32_t i = 0; i < tuner->count; i++)
        tuner->way[i].stays = i == rule || tuner->way[i].once_ns <= with_percent(best_ns, HOPELESS_PERCENT) ||
                              tuner->way[i].once_ns <= best_ns + HOPELESS_NS;
    return true;
}

static uint64_t median(uint64_t *ns) {
    for (int i = 1; i < TURNS; i++) {
        const uint64_t moved = ns[i];
        int at = i;
        for (; at > 0 && ns[at - 1] > moved; at--)
            ns[at] = ns[at - 1];
        ns[at] = moved;
    }
    return ns[TURNS / 2];
}

static bool take_turns(struct tuner *tuner) {
    for (int turn = 0; turn < TURNS; turn++)
        for (uint32_t i = 0; i < tuner->count; i++) {
            struct way *way = &tuner->way[i];
            if (!way->stays)
                continue;
            if (is_late(tuner))
                return false;
            way->turn_ns[turn] = time_ns(tuner, &way->plan, 0, way->burst);
            if (tuner->code != 0)
                return false;
        }
    for (uint32_t i = 0; i < tuner->count; i++)
        tuner->way[i].median_ns = tuner->way[i].stays ? median(tuner->way[i].turn_ns) : UINT64_MAX;
    return true;
}

static struct tpd_tuning_way told(const struct way *way) {
    return (struct tpd_tuning_way){.strategy = way->strategy, .variant = way->plan.variant, .ns = way->median_ns};
}

/* The fastest; but within the noise the rule's, then what a strategy chooses matrix by matrix, which suits more of them. */
static void decide(const struct tuner *tuner, uint32_t rule, struct tpd_tuning_cell *cell) {
    uint32_t fastest = 0;
    for (uint32_t i = 1; i < tuner->count; i++)
        if (tuner->way[i].median_ns < tuner->way[fastest].median_ns)
            fastest = i;
    const uint64_t as_good_ns = with_percent(tuner->way[fastest].median_ns, NOISE_PERCENT);
    uint32_t best = fastest;
    for (uint32_t i = 0; i < tuner->count; i++)
        if (tuner->way[best].plan.variant != 0 && tuner->way[i].plan.variant == 0 && tuner->way[i].median_ns <= as_good_ns)
            best = i;
    if (tuner->way[rule].median_ns <= as_good_ns)
        best = rule;
    cell->best = told(&tuner->way[best]);
    cell->rule = told(&tuner->way[rule]);
    for (uint32_t i = 0; i < tuner->count; i++)
        if (i != best && tuner->way[i].stays && (cell->next.ns == 0 || tuner->way[i].median_ns < cell->next.ns))
            cell->next = told(&tuner->way[i]);
}

static void measure(struct tuner *tuner, const struct tpd_matrix *matrix, uint64_t bytes, struct tpd_tuning *table,
                    struct tpd_tuning_cell *cell) {
    struct tpd_plan plan;
    list_ways(tuner, matrix);
    if (tpd_strategy_plan(TPD_STRATEGY_AUTO, matrix, (struct tpd_tile){0, 0}, tuner->device->properties.shared_most_bytes, &plan,
                          NULL) != TPD_OK)
        return;
    uint32_t rule = 0;
    while (rule < tuner->count && !is_same(&tuner->way[rule].plan, &plan))
        rule++;
    if (rule == tuner->count || !try_once(tuner, rule) || !take_turns(tuner))
        return;
    decide(tuner, rule, cell);
    cell->bytes = bytes;
    table->cells++;
}

/* The next cell that has none. */
static void measure_cell(struct tuner *tuner, uint32_t size, bool aligned, enum tpd_tuning_shape shape,
                         struct tpd_tuning *table) {
    struct tpd_tuning_cell *cell = &table->cell[size][aligned][shape];
    struct tpd_matrix matrix;
    uint64_t bytes;
    if (cell->bytes != 0 || !tpd_tuning_matrix(size, aligned, shape, &matrix) ||
        tpd_matrix_bytes(&matrix, &bytes, NULL) != TPD_OK)
        return;
    const uint64_t half = tuner->device->pool.bytes / 2 / TPD_POOL_ALIGNMENT * TPD_POOL_ALIGNMENT;
    if (bytes > half)
        return; /* nor will such a matrix be asked for here */
    if (bytes > tuner->filled_bytes)
        fill(tuner, bytes);
    tuner->out = tuner->in + half;
    if (tuner->code == 0)
        measure(tuner, &matrix, bytes, table, cell);
}

static void measure_all(struct tuner *tuner, struct tpd_tuning *table) {
    for (int shape = 0; shape < TPD_SHAPE_COUNT; shape++)
        for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
            for (int aligned = 1; aligned >= 0; aligned--) {
                if (is_late(tuner) || tuner->code != 0)
                    return;
                measure_cell(tuner, size, aligned != 0, (enum tpd_tuning_shape)shape, table);
            }
}

static void open_tuner(struct tuner *tuner) {
    const struct tpd_cuda_calls *calls = tuner->device->calls;
    int code = calls->device_use((int)tuner->device->index);
    if (code == 0)
        code = calls->stream_create(&tuner->stream);
    if (code == 0)
        code = calls->event_create(&tuner->from);
    if (code == 0)
        code = calls->event_create(&tuner->to);
    if (code == 0)
        code = calls->host_alloc(&tuner->random, FILL_BYTES);
    if (failed(tuner, code, "making a stream, its events and page-locked memory"))
        return;
    uint32_t *word = tuner->random, state = 1;
    for (uint32_t i = 0; i < FILL_BYTES / sizeof *word; i++)
        word[i] = state = state * 1664525u + 1013904223u;
}

static int first_of(int code, int later) {
    return code != 0 ? code : later;
}

/* A stream that does not come to rest still reads our memory and writes to the pool: the device is given up, as after a run, and
 * the memory left where it is. */
static enum tpd_status close_tuner(struct tuner *tuner, struct tpd_error *error) {
    struct tpd_device *device = tuner->device;
    const struct tpd_cuda_calls *calls = device->calls;
    struct tpd_error words = {.text = ""};
    enum tpd_status status = TPD_OK;
    bool at_rest = true;
    if (tuner->code != 0)
        status = tpd_cuda_device_fail(device, tuner->code, tuner->doing, &words);
    int code = tuner->stream != NULL ? calls->stream_wait(tuner->stream) : 0;
    if (code != 0) {
        status = tpd_cuda_device_fail(device, code, "waiting for the tuner's stream", &words);
        at_rest = status == TPD_DEVICE_LOST || calls->stream_wait(tuner->stream) == 0;
    }
    if (!at_rest) {
        tpd_cuda_device_lose(device, words.text);
        status = TPD_DEVICE_LOST;
    }
    code = tuner->random != NULL && at_rest ? calls->host_free(tuner->random) : 0;
    if (tuner->stream != NULL)
        code = first_of(code, calls->stream_destroy(tuner->stream));
    if (tuner->from != NULL)
        code = first_of(code, calls->event_destroy(tuner->from));
    if (tuner->to != NULL)
        code = first_of(code, calls->event_destroy(tuner->to));
    if (code != 0 && status == TPD_OK)
        status = tpd_cuda_device_fail(device, code, "giving back what the tuner had", &words);
    else if (code != 0)
        (void)calls->last_error();
    if (status != TPD_OK && error != NULL)
        *error = words;
    return status;
}

enum tpd_status tpd_cuda_tune(struct tpd_device *device, uint64_t budget_ns, struct tpd_tuning *table, struct tpd_error *error) {
    device->tuning = NULL;
    if (budget_ns != 0) {
        struct tuner *tuner = tpd_alloc_zero(1, sizeof *tuner);
        if (tuner == NULL)
            return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for a tuner");
        tuner->device = device;
        tuner->in = device->memory;
        tuner->deadline_ns = tpd_clock_ns() + budget_ns;
        open_tuner(tuner);
        if (tuner->code == 0)
            measure_all(tuner, table);
        enum tpd_status status = close_tuner(tuner, error);
        tpd_free(tuner);
        if (status != TPD_OK)
            return status;
    }
    device->tuning = table;
    return TPD_OK;
}
