/* cases.c -- see cases.h. */
#include "cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "transposed/transposed.h"

struct shape {
    uint64_t rows, cols, batch;
    bool quick;
};

/* Generated below: each remainder that a side can leave against a tile of 32, once in the rows and once in the columns. */
enum { REMAINDERS = TPD_TILE_DEFAULT };

static const struct shape shapes[] = {
    /* nothing, one, a line */
    {0, 5, 1, true},
    {5, 0, 1, true},
    {0, 0, 0, true},
    {7, 9, 0, true},
    {1, 1, 1, true},
    {1, 1, 37, true},
    {1, 1000, 1, true},
    {1000, 1, 1, true},
    {1, 33, 5, true},
    {33, 1, 5, true},
    {1, 70001, 1, false},
    {70001, 1, 1, false},
    /* narrow, either way */
    {2, 301, 1, true},
    {301, 2, 1, true},
    {3, 257, 2, true},
    {257, 3, 2, true},
    {5, 130, 1, true},
    {130, 5, 1, true},
    {7, 129, 1, true},
    {129, 7, 1, true},
    {15, 127, 1, true},
    {127, 15, 1, true},
    {16, 128, 1, true},
    {128, 16, 1, true},
    {17, 96, 1, true},
    {96, 17, 1, true},
    {31, 65, 1, true},
    {65, 31, 1, true},
    {2, 40000, 1, false},
    {40000, 2, 1, false},
    {31, 5000, 1, false},
    {5000, 31, 1, false},
    /* powers of two, and one to either side */
    {31, 31, 1, true},
    {32, 32, 1, true},
    {33, 33, 1, true},
    {63, 65, 1, true},
    {64, 64, 1, true},
    {65, 63, 1, true},
    {127, 129, 1, false},
    {128, 128, 1, true},
    {129, 127, 1, true},
    {255, 257, 1, false},
    {256, 256, 1, false},
    {257, 255, 1, false},
    {511, 513, 1, false},
    {512, 512, 1, false},
    {1023, 1025, 1, false},
    {1024, 1024, 1, false},
    /* whole vectors of every item size, and edges of every tile */
    {16, 32, 1, true},
    {48, 16, 3, true},
    {144, 272, 1, true},
    {272, 144, 2, true},
    {80, 400, 1, true},
    {528, 656, 1, false},
    /* batches */
    {2, 3, 1000, true},
    {20, 24, 7, true},
    {32, 32, 5, true},
    {33, 40, 3, true},
    {100, 70, 2, true},
    {3, 2, 70000, false},
    {17, 19, 300, false},
    {64, 64, 33, false},
    /* more tiles a side than 65535, the limit of a grid's y and z */
    {1, 2097200, 1, false},
    {2097200, 1, 1, false},
    {2, 1048700, 1, false},
    {1048700, 2, 1, false},
    {17, 1048700, 1, false},
    {1048700, 17, 1, false},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Against these every tile is walked: whole tiles of the largest and edges of all. */
static const struct shape tile_shapes[] = {{130, 137, 1, true}, {129, 257, 2, false}};
enum { TILE_SHAPES = sizeof tile_shapes / sizeof *tile_shapes };

static const uint32_t itemsizes[] = {1, 2, 4, 8, 16, 3, 6, 12, 24, 4096};
enum { ITEMSIZES = sizeof itemsizes / sizeof *itemsizes };

/* 16, 32, 64, 128 either way. */
enum { TILE_SIDES = 4, TILES = TILE_SIDES * TILE_SIDES };

static struct shape shape_at(uint32_t index) {
    if (index < SHAPES)
        return shapes[index];
    index -= SHAPES;
    if (index >= REMAINDERS)
        return tile_shapes[index - REMAINDERS];
    /* 11 is odd: the columns meet every remainder as well, in another order. */
    struct shape remainder = {TPD_TILE_DEFAULT + index, 2 * TPD_TILE_DEFAULT + index * 11 % REMAINDERS, 1, true};
    return remainder;
}

struct tpd_cases tpd_cases_begin(unsigned which) {
    struct tpd_cases cases = {.which = which};
    return cases;
}

/* The cursor counts like an odometer: tiles turn fastest, shapes slowest. Tile 0 is the default. */
static void step(struct tpd_cases *cases) {
    bool all_tiles = cases->shape >= SHAPES + REMAINDERS && (cases->which & TPD_CASES_AUTO) == 0;
    if (++cases->tile <= (all_tiles ? TILES : 0))
        return;
    cases->tile = 0;
    if (++cases->strategy <= TPD_STRATEGY_AUTO)
        return;
    cases->strategy = 0;
    if (++cases->itemsize < ITEMSIZES)
        return;
    cases->itemsize = 0;
    cases->shape++;
}

static bool is_wanted(const struct tpd_cases *cases, const struct shape *shape, const struct tpd_case *one) {
    if ((cases->which & TPD_CASES_QUICK) != 0 && !shape->quick)
        return false;
    /* Records only where they stay below 1 MiB; the largest shapes, which are there for their grids, only with small items. */
    uint64_t items = shape->rows * shape->cols * shape->batch;
    if ((one->matrix.itemsize > 24 && items > 256) || (one->matrix.itemsize > 4 && items > 4194304))
        return false;
    if (one->strategy == TPD_STRATEGY_AUTO)
        return one->tile.rows == 0;
    if ((cases->which & TPD_CASES_AUTO) != 0)
        return false;
    const struct tpd_strategy *strategy = tpd_strategy_at(one->strategy);
    bool word = one->matrix.itemsize <= 16 && (one->matrix.itemsize & (one->matrix.itemsize - 1)) == 0;
    if (one->strategy == TPD_STRATEGY_VECTOR &&
        (one->matrix.rows * one->matrix.itemsize % 16 != 0 || one->matrix.cols * one->matrix.itemsize % 16 != 0))
        return false;
    if (one->strategy == TPD_STRATEGY_NARROW &&
        ((one->matrix.rows > 31 && one->matrix.cols > 31) || (one->matrix.itemsize > 24 && items != 0)))
        return false;
    if (one->strategy == TPD_STRATEGY_PACKED && items != 0 &&
        (one->matrix.rows < 2 || one->matrix.cols < 2 || one->matrix.rows * one->matrix.cols * one->matrix.itemsize > 40960))
        return false;
    return (word || strategy->any_itemsize) && (strategy->tiled || one->tile.rows == 0);
}

bool tpd_cases_next(struct tpd_cases *cases, struct tpd_case *next) {
    while (cases->shape < SHAPES + REMAINDERS + TILE_SHAPES) {
        struct shape shape = shape_at(cases->shape);
        struct tpd_case one = {.strategy = (enum tpd_strategy_id)cases->strategy};
        one.matrix.rows = shape.rows;
        one.matrix.cols = shape.cols;
        one.matrix.batch = shape.batch;
        one.matrix.itemsize = itemsizes[cases->itemsize];
        one.matrix.dtype = TPD_DTYPE_OPAQUE;
        if (cases->tile != 0) {
            one.tile.rows = (uint32_t)TPD_TILE_LEAST << ((cases->tile - 1) / TILE_SIDES);
            one.tile.cols = (uint32_t)TPD_TILE_LEAST << ((cases->tile - 1) % TILE_SIDES);
        }
        bool wanted = is_wanted(cases, &shape, &one);
        step(cases);
        if (wanted) {
            *next = one;
            return true;
        }
    }
    return false;
}

void tpd_case_name(const struct tpd_case *one, char *name, size_t bytes) {
    const char *strategy = one->strategy == TPD_STRATEGY_AUTO ? "auto" : tpd_strategy_at(one->strategy)->name;
    (void)snprintf(name, bytes, "%s tile %" PRIu32 "x%" PRIu32 ", %" PRIu64 " x %" PRIu64 " x %" PRIu64 " of %" PRIu32 " bytes",
                   strategy, one->tile.rows, one->tile.cols, one->matrix.batch, one->matrix.rows, one->matrix.cols,
                   one->matrix.itemsize);
}

/* True when the case was refused, and had to be. */
static bool is_refused(const struct tpd_backend *backend, struct tpd_device *device, const struct tpd_task *task,
                       const char *name) {
    struct tpd_error error;
    enum tpd_status status = backend->check(device, task, &error);
    if (status == TPD_OK)
        return false;
    struct tpd_device_info info;
    struct tpd_plan plan;
    backend->info(device, &info);
    ck_assert_msg(task->tile.rows != 0, "%s: %s", name, error.text);
    ck_assert_ok(tpd_strategy_plan(task->strategy, &task->matrix, task->tile, UINT64_MAX, &plan, &error), error);
    ck_assert_msg(status == TPD_UNSUPPORTED && plan.shared_bytes > info.shared_most_bytes, "%s: %s", name, error.text);
    return true;
}

void tpd_case_prove(const struct tpd_backend *backend, struct tpd_device *device, const struct tpd_case *one) {
    char name[128];
    struct tpd_error error;
    uint64_t bytes;
    tpd_case_name(one, name, sizeof name);
    ck_assert_ok(tpd_matrix_bytes(&one->matrix, &bytes, &error), error);
    if (bytes == 0)
        return;
    /* Another seed and another alignment for each shape. */
    uint64_t seed = one->matrix.rows * 0x9e3779b9u + one->matrix.cols * 0x85ebca6bu + one->matrix.itemsize;
    size_t misalign = seed % 7 == 0 ? 0 : seed % 64;
    struct tpd_guarded in = tpd_guarded_make((size_t)bytes, misalign), out = tpd_guarded_make((size_t)bytes, misalign ^ 3);
    unsigned char *expected = malloc((size_t)bytes), *before = malloc((size_t)bytes);
    ck_assert_ptr_nonnull(expected);
    ck_assert_ptr_nonnull(before);
    tpd_random_fill(before, (size_t)bytes, seed);
    memcpy(in.data, before, (size_t)bytes);
    struct tpd_task task = {.matrix = one->matrix, .in = in.data, .out = out.data, .strategy = one->strategy, .tile = one->tile};
    if (!is_refused(backend, device, &task, name)) {
        struct tpd_outcome outcome;
        enum tpd_status status = backend->run(device, &task, &outcome, &error);
        ck_assert_msg(status == TPD_OK, "%s: %s", name, error.text);
        tpd_transpose_ref(&one->matrix, before, expected);
        ck_assert_msg(memcmp(out.data, expected, (size_t)bytes) == 0, "%s: the output is not the transpose", name);
        ck_assert_msg(memcmp(in.data, before, (size_t)bytes) == 0, "%s: the input was written", name);
        if (one->strategy != TPD_STRATEGY_AUTO)
            ck_assert_str_eq(outcome.strategy, tpd_strategy_at(one->strategy)->name);
        tpd_guarded_check(&in);
        tpd_guarded_check(&out);
    }
    tpd_guarded_free(&in);
    tpd_guarded_free(&out);
    free(expected);
    free(before);
}
