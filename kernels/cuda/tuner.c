/* tuner.c -- times the ways to transpose on this GPU and fills a table with the fastest.
 *
 * A cell: what the strategies would choose for the matrix that stands for it is launched once each, then the variants of those
 * that are not hopeless; what is within half of the fastest is timed in turns, so that a change of clocks meets all alike, and
 * who falls behind drops out. The median of the turns counts, and the rule's way stays where nobody is faster by more than the
 * noise. All launches of a turn are one run of the stream with an event between two ways: nothing waits for the host but its end.
 * All of it in the pool's memory, and beside no run: nobody else is there. After a failed call the stream is drained, as after a
 * failed run.
 */
#include <string.h>

#include "kernels/cuda/cuda_device.h"
#include "transposed/alloc.h"
#include "transposed/clock.h"

enum {
    WAYS_MOST = 64,
    TURNS = 5,
    TURNS_ALL = 2, /* who is then behind by more than BEHIND_PERCENT takes no more */
    BEHIND_PERCENT = 8,
    BURST_MOST = 10,
    BURST_NS = 30000,    /* launches between two events last about so long: an event's grain is 0.5 us */
    HOPELESS_TIMES = 3,  /* a strategy so much slower than another: its variants won't make it up */
    SLOW_PERCENT = 50,   /* slower than the fastest by this, and by */
    SLOW_NS = 2000,      /* this: not worth the turns */
    EMPTY_TIMES = 2,     /* tiles that hold more than so many times the matrix: not worth a launch */
    NOISE_PERCENT = 2,   /* what two measurements of the same kernel differ by */
    FILL_BYTES = 4 << 20 /* random bytes, copied over and over where matrices will lie */
};

struct way {
    struct tpd_plan plan;
    bool due; /* it takes part in the next turn */
    uint32_t burst, turns;
    uint64_t last_ns, median_ns; /* of the last turn, of all; 0: none */
    uint64_t turn_ns[TURNS];
};

struct tuner {
    struct tpd_device *device;
    void *stream, *event[WAYS_MOST + 1]; /* before the first way and behind each */
    void *end;                           /* of a turn: what is waited for */
    void *random;                        /* page-locked: FILL_BYTES */
    unsigned char *in, *out;
    uint64_t filled_bytes, deadline_ns;
    int code; /* the first that was not 0 */
    const char *doing;
    uint32_t count; /* the first is the rule's */
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

static uint64_t with_percent(uint64_t ns, uint32_t percent) {
    return ns + ns * percent / 100;
}

static int launch(const struct tuner *tuner, const struct way *way) {
    return tuner->device->calls->kernel_launch(&way->plan, tuner->in, tuner->out, tuner->stream);
}

/* Nanoseconds a launch of those that are due, into last_ns. False: too late, or a call failed. */
static bool take_turn(struct tuner *tuner) {
    const struct tpd_cuda_calls *calls = tuner->device->calls;
    struct way *timed[WAYS_MOST];
    uint32_t count = 0;
    if (is_late(tuner))
        return false;
    int code = calls->event_record(tuner->event[0], tuner->stream);
    for (uint32_t i = 0; i < tuner->count && code == 0; i++) {
        struct way *way = &tuner->way[i];
        if (!way->due)
            continue;
        for (uint32_t n = 0; n < way->burst && code == 0; n++)
            code = launch(tuner, way);
        timed[count++] = way;
        if (code == 0)
            code = calls->event_record(tuner->event[count], tuner->stream);
    }
    if (code == 0)
        code = calls->event_record(tuner->end, tuner->stream);
    if (code == 0)
        code = calls->event_wait(tuner->end);
    for (uint32_t i = 0; i < count && code == 0; i++) {
        float milliseconds = 0;
        code = calls->event_elapsed(&milliseconds, tuner->event[i], tuner->event[i + 1]);
        const double ns = (double)milliseconds * 1e6 / timed[i]->burst;
        timed[i]->last_ns = ns < 1 ? 1 : (uint64_t)ns; /* 0 would mean: not measured */
    }
    return !failed(tuner, code, "timing kernels");
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

/* Tiles that are mostly empty. */
static bool is_empty(const struct tpd_plan *plan) {
    const double tiles = (double)plan->tiles_down * plan->tile.rows * (double)plan->tiles_across * plan->tile.cols;
    return tiles > EMPTY_TIMES * (double)plan->matrix.rows * (double)plan->matrix.cols;
}

static bool is_of(const struct tpd_tuning_cell *cell, enum tpd_strategy_id id) {
    return id == cell->best.strategy || id == cell->rule.strategy || (cell->next.ns != 0 && id == cell->next.strategy);
}

/* Every way once: some variants are what the strategy would have chosen. The first is the rule's. Where `among` has bytes, of its
 * strategies alone. */
static bool list_ways(struct tuner *tuner, const struct tpd_matrix *matrix, const struct tpd_tuning_cell *among) {
    const uint64_t shared_most_bytes = tuner->device->properties.shared_most_bytes;
    memset(tuner->way, 0, sizeof tuner->way);
    tuner->count = 1;
    if (tpd_strategy_plan(TPD_STRATEGY_AUTO, matrix, (struct tpd_tile){0, 0}, shared_most_bytes, &tuner->way[0].plan, NULL) !=
        TPD_OK)
        return false;
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        for (uint32_t variant = 0; variant < tpd_strategy_variants((enum tpd_strategy_id)id); variant++) {
            struct tpd_plan plan;
            if (tuner->count == WAYS_MOST || (among->bytes != 0 && !is_of(among, (enum tpd_strategy_id)id)) ||
                tpd_strategy_plan_variant((enum tpd_strategy_id)id, variant, matrix, shared_most_bytes, &plan, NULL) != TPD_OK ||
                is_empty(&plan))
                continue;
            bool is_new = true;
            for (uint32_t i = 0; i < tuner->count && is_new; i++)
                is_new = !is_same(&tuner->way[i].plan, &plan);
            tuner->way[tuner->count].plan = plan;
            tuner->count += is_new;
        }
    return true;
}

/* Of what was launched. */
static uint64_t least_ns(const struct tuner *tuner) {
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < tuner->count; i++)
        if (tuner->way[i].last_ns != 0 && tuner->way[i].last_ns < least)
            least = tuner->way[i].last_ns;
    return least;
}

static bool is_hopeless(const struct tuner *tuner, enum tpd_strategy_id id, uint64_t best_ns) {
    for (uint32_t i = 0; i < tuner->count; i++)
        if (tuner->way[i].plan.strategy == id && tuner->way[i].plan.variant == 0)
            return tuner->way[i].last_ns > HOPELESS_TIMES * best_ns;
    return false;
}

/* One launch each, after one that warms up: first what the strategies choose, then their variants. */
static bool try_once(struct tuner *tuner) {
    if (failed(tuner, launch(tuner, &tuner->way[0]), "timing kernels"))
        return false;
    for (uint32_t i = 0; i < tuner->count; i++) {
        tuner->way[i].burst = 1;
        tuner->way[i].due = tuner->way[i].plan.variant == 0;
    }
    if (!take_turn(tuner))
        return false;
    const uint64_t own_ns = least_ns(tuner);
    for (uint32_t i = 0; i < tuner->count; i++)
        tuner->way[i].due = tuner->way[i].plan.variant != 0 && !is_hopeless(tuner, tuner->way[i].plan.strategy, own_ns);
    if (!take_turn(tuner))
        return false;
    const uint64_t best_ns = least_ns(tuner);
    for (uint32_t i = 0; i < tuner->count; i++) {
        struct way *way = &tuner->way[i];
        way->due = i == 0 || (way->last_ns != 0 &&
                              (way->last_ns <= with_percent(best_ns, SLOW_PERCENT) || way->last_ns <= best_ns + SLOW_NS));
        const uint64_t burst = way->due ? BURST_NS / way->last_ns + 1 : 1;
        way->burst = burst < BURST_MOST ? (uint32_t)burst : BURST_MOST;
    }
    return true;
}

static uint64_t median(uint64_t *ns, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        const uint64_t moved = ns[i];
        uint32_t at = i;
        for (; at > 0 && ns[at - 1] > moved; at--)
            ns[at] = ns[at - 1];
        ns[at] = moved;
    }
    return ns[count / 2];
}

/* False as take_turn(). */
static bool take_turns(struct tuner *tuner) {
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t best_ns = UINT64_MAX;
        if (!take_turn(tuner))
            return false;
        for (uint32_t i = 0; i < tuner->count; i++) {
            struct way *way = &tuner->way[i];
            if (!way->due)
                continue;
            way->turn_ns[way->turns++] = way->last_ns;
            way->median_ns = median(way->turn_ns, way->turns);
            best_ns = way->median_ns < best_ns ? way->median_ns : best_ns;
        }
        for (uint32_t i = 1; i < tuner->count && turn + 1 == TURNS_ALL; i++)
            tuner->way[i].due &= tuner->way[i].median_ns <= with_percent(best_ns, BEHIND_PERCENT);
    }
    return true;
}

static struct tpd_tuning_way told(const struct way *way) {
    return (struct tpd_tuning_way){.strategy = way->plan.strategy, .variant = way->plan.variant, .ns = way->median_ns};
}

/* The fastest; but within the noise the rule's, then what a strategy chooses matrix by matrix, which suits more of them. */
static void decide(const struct tuner *tuner, struct tpd_tuning_cell *cell) {
    const struct way *way = tuner->way;
    uint32_t best = 0;
    for (uint32_t i = 1; i < tuner->count; i++)
        if (way[i].due && way[i].median_ns < way[best].median_ns)
            best = i;
    const uint64_t as_good_ns = with_percent(way[best].median_ns, NOISE_PERCENT);
    for (uint32_t i = 0; i < tuner->count; i++)
        if (way[i].due && way[best].plan.variant != 0 && way[i].plan.variant == 0 && way[i].median_ns <= as_good_ns)
            best = i;
    if (way[0].median_ns <= as_good_ns)
        best = 0;
    cell->best = told(&way[best]);
    cell->rule = told(&way[0]);
    for (uint32_t i = 0; i < tuner->count; i++)
        if (i != best && way[i].median_ns != 0 && (cell->next.ns == 0 || way[i].median_ns < cell->next.ns))
            cell->next = told(&way[i]);
}

/* The matrix that stands for a cell, where the cell has none. */
static void measure_cell(struct tuner *tuner, uint32_t size, bool aligned, enum tpd_tuning_shape shape,
                         struct tpd_tuning *table) {
    static const struct tpd_tuning_cell all = {.bytes = 0};
    struct tpd_tuning_cell *cell = &table->cell[size][aligned][shape];
    struct tpd_matrix matrix;
    uint64_t bytes;
    if (cell->bytes != 0 || !tpd_tuning_matrix(size, aligned, shape, &matrix) ||
        tpd_matrix_bytes(&matrix, &bytes, NULL) != TPD_OK)
        return;
    const uint64_t half = tuner->device->pool.bytes / 2 / TPD_POOL_ALIGNMENT * TPD_POOL_ALIGNMENT;
    if (bytes > half)
        return; /* nor will such a matrix lie here whole */
    if (bytes > tuner->filled_bytes)
        fill(tuner, bytes);
    tuner->out = tuner->in + half;
    /* The largest take long, and what is slow for large ones is slow for them. */
    const struct tpd_tuning_cell *among = shape == TPD_SHAPE_HUGE ? &table->cell[size][aligned][TPD_SHAPE_LARGE] : &all;
    if (tuner->code != 0 || !list_ways(tuner, &matrix, among) || !try_once(tuner) || !take_turns(tuner))
        return;
    decide(tuner, cell);
    cell->bytes = bytes;
    table->cells++;
}

/* Large ones first, for they gain most, then the rows of the table upwards; the huge ones last. */
static void measure_all(struct tuner *tuner, struct tpd_tuning *table) {
    for (int i = 0; i < TPD_SHAPE_COUNT; i++) {
        const int shape = (TPD_SHAPE_LARGE - i + TPD_SHAPE_COUNT) % TPD_SHAPE_COUNT;
        for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
            for (int aligned = 1; aligned >= 0; aligned--) {
                if (is_late(tuner) || tuner->code != 0)
                    return;
                measure_cell(tuner, size, aligned != 0, (enum tpd_tuning_shape)shape, table);
            }
    }
}

static void open_tuner(struct tuner *tuner) {
    const struct tpd_cuda_calls *calls = tuner->device->calls;
    int code = calls->device_use((int)tuner->device->index);
    if (code == 0)
        code = calls->stream_create(&tuner->stream);
    for (uint32_t i = 0; i <= WAYS_MOST && code == 0; i++)
        code = calls->event_create_quick(&tuner->event[i]);
    if (code == 0)
        code = calls->event_create(&tuner->end);
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

/* The memory that a stream reads which does not come to rest is left where it is. */
static enum tpd_status close_tuner(struct tuner *tuner, struct tpd_error *error) {
    struct tpd_device *device = tuner->device;
    const struct tpd_cuda_calls *calls = device->calls;
    struct tpd_error words = {.text = ""};
    enum tpd_status status = TPD_OK;
    if (tuner->code != 0)
        status = tpd_cuda_device_fail(device, tuner->code, tuner->doing, &words);
    enum tpd_status waited = TPD_OK;
    const bool at_rest = tuner->stream == NULL || tpd_cuda_drain(device, tuner->stream, &waited, &words);
    if (waited != TPD_OK)
        status = waited;
    int code = tuner->random != NULL && at_rest ? calls->host_free(tuner->random) : 0;
    if (tuner->stream != NULL)
        code = first_of(code, calls->stream_destroy(tuner->stream));
    for (uint32_t i = 0; i <= WAYS_MOST && tuner->event[i] != NULL; i++)
        code = first_of(code, calls->event_destroy(tuner->event[i]));
    if (tuner->end != NULL)
        code = first_of(code, calls->event_destroy(tuner->end));
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
