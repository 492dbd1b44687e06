/* bench_ask.c -- see bench_ask.h. */
#include "server/cmd/bench_ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/cmd/words.h"
#include "server/config/value.h"

enum { THREADS_MOST = 1024, TURNS_DEFAULT = 15 };
static const uint64_t budget_default_ns = 2000000000u;

#define TPD_BENCH_COPY false
#define TPD_BENCH_PLAIN true
const struct tpd_bench_row tpd_bench_grid[] = {
#define X(rows, cols, batch, MEASURE, g1, g2, g4, g8, g16, c1, c2, c4, c8, c16) \
    {{rows, cols, batch}, TPD_BENCH_##MEASURE, {{g1, g2, g4, g8, g16}, {c1, c2, c4, c8, c16}}},
#include "transposed/tbl/bench.def"
#undef X
};
const unsigned tpd_bench_grid_rows = sizeof tpd_bench_grid / sizeof tpd_bench_grid[0];
_Static_assert(sizeof tpd_bench_grid / sizeof tpd_bench_grid[0] <= TPD_BENCH_LIST_MOST, "the grid fits into the list of shapes");

static const uint32_t sizes[TPD_BENCH_SIZES] = {1, 2, 4, 8, 16};

void tpd_bench_ask_init(struct tpd_bench_ask *ask) {
    *ask = (struct tpd_bench_ask){.turns = TURNS_DEFAULT, .budget_ns = budget_default_ns};
}

static enum tpd_status check_room(const char *option, unsigned count, struct tpd_error *error) {
    if (count < TPD_BENCH_LIST_MOST)
        return TPD_OK;
    return tpd_fail(error, TPD_BAD_PARAMETER, "--%s is given more than %d times: split the work", option, TPD_BENCH_LIST_MOST);
}

/* Digits up to `end`, at least 1. */
static bool read_side(const char **at, uint64_t *side) {
    char digits[24];
    size_t length = strspn(*at, "0123456789");
    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, *at, length);
    digits[length] = '\0';
    *at += length;
    return tpd_value_parse_uint(digits, side) && *side != 0;
}

enum tpd_status tpd_bench_ask_shape(struct tpd_bench_ask *ask, const char *text, struct tpd_error *error) {
    struct tpd_bench_shape shape = {.batch = 1};
    const char *at = text;
    bool good = read_side(&at, &shape.rows) && *at++ == 'x' && read_side(&at, &shape.cols);
    if (good && *at == 'x') {
        at++;
        good = read_side(&at, &shape.batch);
    }
    if (!good || *at != '\0')
        return tpd_fail(error, TPD_BAD_PARAMETER, "--shape is %.40s: it takes ROWSxCOLS or ROWSxCOLSxBATCH, each 1 or more",
                        text);
    /* With the smallest item: the rest is checked once the item size is known. */
    const struct tpd_matrix matrix = {shape.rows, shape.cols, shape.batch, 1, TPD_DTYPE_OPAQUE};
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(&matrix, &bytes, error);
    if (status == TPD_OK)
        status = check_room("shape", ask->shapes, error);
    if (status == TPD_OK)
        ask->shape[ask->shapes++] = shape;
    return status;
}

enum tpd_status tpd_bench_ask_itemsize(struct tpd_bench_ask *ask, const char *text, struct tpd_error *error) {
    uint64_t size = 0;
    enum tpd_status status = tpd_args_uint("itemsize", text, 1, TPD_ITEMSIZE_MOST, &size, error);
    if (status == TPD_OK)
        status = check_room("itemsize", ask->itemsizes, error);
    if (status == TPD_OK)
        ask->itemsize[ask->itemsizes++] = (uint32_t)size;
    return status;
}

enum tpd_status tpd_bench_ask_strategy(struct tpd_bench_ask *ask, const char *text, struct tpd_error *error) {
    enum tpd_strategy_id id;
    if (strcmp(text, "all") == 0) {
        if (ask->strategies != 0)
            return tpd_fail(error, TPD_BAD_PARAMETER, "--strategy all stands alone: it is auto and every strategy");
        ask->every_strategy = true;
        ask->strategy[ask->strategies++] = TPD_STRATEGY_AUTO;
        for (int i = 0; i < TPD_STRATEGY_COUNT; i++)
            ask->strategy[ask->strategies++] = (enum tpd_strategy_id)i;
        return TPD_OK;
    }
    if (ask->every_strategy)
        return tpd_fail(error, TPD_BAD_PARAMETER, "--strategy all stands alone: it is auto and every strategy");
    enum tpd_status status = tpd_strategy_find(text, &id, error);
    if (status == TPD_OK)
        status = check_room("strategy", ask->strategies, error);
    if (status == TPD_OK)
        ask->strategy[ask->strategies++] = id;
    return status;
}

enum tpd_status tpd_bench_ask_device(struct tpd_bench_ask *ask, const char *text, struct tpd_error *error) {
    if (strlen(text) >= TPD_BENCH_DEVICE_BYTES || !tpd_word_is_device(text))
        return tpd_fail(error, TPD_UNKNOWN_DEVICE, "--device is %.40s: it takes auto, or what `transposed devices` lists", text);
    enum tpd_status status = check_room("device", ask->devices, error);
    if (status == TPD_OK)
        (void)snprintf(ask->device[ask->devices++], TPD_BENCH_DEVICE_BYTES, "%s", text);
    return status;
}

enum tpd_status tpd_bench_ask_threads(struct tpd_bench_ask *ask, const char *text, struct tpd_error *error) {
    uint64_t threads = 0;
    enum tpd_status status = tpd_args_uint("threads", text, 1, THREADS_MOST, &threads, error);
    if (status == TPD_OK)
        status = check_room("threads", ask->thread_counts, error);
    if (status == TPD_OK)
        ask->threads[ask->thread_counts++] = (uint32_t)threads;
    return status;
}

void tpd_bench_ask_complete(struct tpd_bench_ask *ask) {
    ask->is_grid = ask->shapes == 0;
    for (unsigned i = 0; ask->is_grid && i < tpd_bench_grid_rows; i++)
        ask->shape[ask->shapes++] = tpd_bench_grid[i].shape;
    if (ask->itemsizes == 0)
        while (ask->itemsizes < TPD_BENCH_SIZES) {
            ask->itemsize[ask->itemsizes] = sizes[ask->itemsizes];
            ask->itemsizes++;
        }
    if (ask->strategies == 0)
        ask->strategy[ask->strategies++] = TPD_STRATEGY_AUTO;
    if (ask->devices == 0)
        (void)snprintf(ask->device[ask->devices++], TPD_BENCH_DEVICE_BYTES, "auto");
    if (ask->thread_counts == 0)
        ask->threads[ask->thread_counts++] = 0;
}

void tpd_bench_shape_print(const struct tpd_bench_shape *shape, char text[TPD_BENCH_SHAPE_BYTES]) {
    int length = snprintf(text, TPD_BENCH_SHAPE_BYTES, "%" PRIu64 "x%" PRIu64, shape->rows, shape->cols);
    if (shape->batch != 1)
        (void)snprintf(text + length, TPD_BENCH_SHAPE_BYTES - (size_t)length, "x%" PRIu64, shape->batch);
}

bool tpd_bench_shape_fit(struct tpd_bench_shape *shape, uint32_t itemsize, uint64_t most_bytes) {
    for (;;) {
        const struct tpd_matrix matrix = {shape->rows, shape->cols, shape->batch, itemsize, TPD_DTYPE_OPAQUE};
        uint64_t bytes;
        if (tpd_matrix_bytes(&matrix, &bytes, NULL) == TPD_OK && bytes <= most_bytes)
            return true;
        uint64_t *longer = shape->batch > 1 ? &shape->batch : shape->rows >= shape->cols ? &shape->rows : &shape->cols;
        if (*longer == 1)
            return false;
        uint64_t half = *longer / 2;
        *longer = half > 2 ? half | (*longer & 1) : half;
    }
}

/* The row of the grid that a shape, scaled down, would only repeat: one that is so by itself, or an earlier one scaled down to
 * it. */
static const struct tpd_bench_shape *repeats(const struct tpd_bench_ask *ask, const struct tpd_bench_shape *asked,
                                             uint32_t itemsize, uint64_t most_bytes, const struct tpd_bench_shape *scaled) {
    bool is_later = false;
    for (unsigned i = 0; i < ask->shapes; i++) {
        struct tpd_bench_shape other = ask->shape[i];
        is_later |= memcmp(&other, asked, sizeof other) == 0;
        if (memcmp(&other, scaled, sizeof other) == 0)
            return &ask->shape[i];
        if (!is_later && tpd_bench_shape_fit(&other, itemsize, most_bytes) && memcmp(&other, scaled, sizeof other) == 0)
            return &ask->shape[i];
    }
    return NULL;
}

/* Its own bytes, the limit, and the way out, which a device's memory has not. */
static enum tpd_status refuse_named(const struct tpd_bench_shape *asked, uint32_t itemsize, uint64_t most_bytes, bool is_host,
                                    struct tpd_error *error) {
    const struct tpd_matrix matrix = {asked->rows, asked->cols, asked->batch, itemsize, TPD_DTYPE_OPAQUE};
    char text[TPD_BENCH_SHAPE_BYTES], way_out[128] = "input and output lie in the device's memory: name a smaller one";
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(&matrix, &bytes, error);
    if (status != TPD_OK)
        return status;
    tpd_bench_shape_print(asked, text);
    if (is_host)
        (void)snprintf(way_out, sizeof way_out,
                       "half of what --memory allows: give --memory %" PRIu64
                       " where the machine has as much, or name a smaller one",
                       2 * bytes);
    return tpd_fail_limit(error, TPD_TOO_LARGE, most_bytes, bytes,
                          "%s with items of %" PRIu32 " bytes has %" PRIu64 " bytes, one matrix may have %" PRIu64 " here, %s",
                          text, itemsize, bytes, most_bytes, way_out);
}

enum tpd_status tpd_bench_ask_fit(const struct tpd_bench_ask *ask, const struct tpd_bench_shape *asked, uint32_t itemsize,
                                  uint64_t most_bytes, bool is_host, struct tpd_bench_shape *shape, struct tpd_error *error) {
    char text[TPD_BENCH_SHAPE_BYTES], limit[TPD_VALUE_BYTES];
    *shape = *asked;
    bool fits = tpd_bench_shape_fit(shape, itemsize, most_bytes);
    bool as_asked = fits && memcmp(shape, asked, sizeof *shape) == 0;
    tpd_bench_shape_print(as_asked || !fits ? asked : shape, text);
    tpd_value_print_bytes(most_bytes, limit);
    if (!ask->is_grid && !as_asked)
        return refuse_named(asked, itemsize, most_bytes, is_host, error);
    if (!fits)
        return tpd_fail(error, TPD_TOO_LARGE, "nothing of its kind fits into %s", limit);
    const struct tpd_bench_shape *other = as_asked ? NULL : repeats(ask, asked, itemsize, most_bytes, shape);
    if (other != NULL) {
        char of[TPD_BENCH_SHAPE_BYTES];
        tpd_bench_shape_print(other, of);
        return tpd_fail(error, TPD_UNSUPPORTED, "scaled down to fit %s it is %s, as the row of %s has it", limit, text, of);
    }
    return TPD_OK;
}

double tpd_bench_bar(const struct tpd_bench_shape *shape, uint32_t itemsize, bool on_cpu, bool *is_of_plain) {
    *is_of_plain = false;
    for (unsigned i = 0; i < tpd_bench_grid_rows; i++) {
        const struct tpd_bench_row *row = &tpd_bench_grid[i];
        if (row->shape.rows != shape->rows || row->shape.cols != shape->cols || row->shape.batch != shape->batch)
            continue;
        *is_of_plain = row->bars_are_of_plain;
        for (unsigned size = 0; size < TPD_BENCH_SIZES; size++)
            if (sizes[size] == itemsize)
                return row->bar[on_cpu][size] / 100.0;
    }
    return 0;
}
