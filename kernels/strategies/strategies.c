/* strategies.c -- the strategy table's readers: names, tiles, the rule behind `auto`, and what a launch looks like. */
#include "transposed/strategy.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/strategies/own_tiles.h"
#include "transposed/banks.h" /* TPD_SECTOR_BYTES */

#include "kernels/strategies/every_strategy.h" /* outside a dialect: the layouts */

enum { ITEMSIZES_WORDS, ITEMSIZES_ANY };
enum { TILES_NONE, TILES_KNOB, TILES_OWN };

/* What `auto` asks of a matrix: a side for which it takes `shifted`, and the whole for which it takes it in any case; for
 * `narrow` the other side, and items of which a block has many a row. */
enum { SHIFTED_LEAST_BYTES = 256, SHIFTED_ENOUGH_BYTES = 3 << 19, NARROW_LEAST_BYTES = 1024, STAGED_ITEMSIZE_MOST = 64 };
/* And for `packed` of a batch: how many matrices, of how many bytes. */
enum { PACKED_LEAST = 32, PACKED_MOST_BYTES = 40960 };

static const struct tpd_strategy strategies[TPD_STRATEGY_COUNT] = {
#define X(NAME, name, TILES, ITEMSIZES, summary)                                                     \
    [TPD_STRATEGY_##NAME] = {name, summary, TILES_##TILES == TILES_KNOB, TILES_##TILES == TILES_OWN, \
                             ITEMSIZES_##ITEMSIZES == ITEMSIZES_ANY},
#include "transposed/tbl/strategies.def"
#undef X
};

static const char names[] = "auto"
#define X(NAME, name, TILES, ITEMSIZES, summary) " " name
#include "transposed/tbl/strategies.def"
#undef X
    ;

const struct tpd_strategy *tpd_strategy_at(enum tpd_strategy_id id) {
    return &strategies[id];
}

enum tpd_status tpd_strategy_find(const char *name, enum tpd_strategy_id *id, struct tpd_error *error) {
    int i = 0;
    while (i < TPD_STRATEGY_COUNT && strcmp(strategies[i].name, name) != 0)
        i++;
    if (i == TPD_STRATEGY_COUNT && strcmp(name, "auto") != 0)
        return tpd_fail(error, TPD_UNKNOWN_STRATEGY, "strategy '%.32s' is none of: %s", name, names);
    *id = (enum tpd_strategy_id)i; /* TPD_STRATEGY_AUTO is TPD_STRATEGY_COUNT */
    return TPD_OK;
}

/* Reads 1 to 9 digits. Answers what follows, NULL when there is none or too many. */
static const char *read_side(const char *text, uint32_t *side) {
    const char *at = text;
    *side = 0;
    for (; *at >= '0' && *at <= '9' && at - text < 9; at++)
        *side = *side * 10 + (uint32_t)(*at - '0');
    return at != text ? at : NULL;
}

static bool is_power_of_two(uint32_t number) {
    return (number & (number - 1)) == 0;
}

static enum tpd_status check_side(uint32_t side, const char *which, struct tpd_error *error) {
    if (side < TPD_TILE_LEAST)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, TPD_TILE_LEAST, side,
                              "tile %s %" PRIu32 " is below the least, %d: take 16, 32, 64 or 128", which, side, TPD_TILE_LEAST);
    if (side > TPD_TILE_MOST)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, TPD_TILE_MOST, side,
                              "tile %s %" PRIu32 " is past the most, %d: take 16, 32, 64 or 128", which, side, TPD_TILE_MOST);
    if (!is_power_of_two(side))
        return tpd_fail(error, TPD_UNSUPPORTED, "tile %s %" PRIu32 " is no power of two: take 16, 32, 64 or 128", which, side);
    return TPD_OK;
}

static enum tpd_status check_tile(struct tpd_tile tile, struct tpd_error *error) {
    enum tpd_status status = check_side(tile.rows, "rows", error);
    return status != TPD_OK ? status : check_side(tile.cols, "cols", error);
}

enum tpd_status tpd_tile_parse(const char *text, struct tpd_tile *tile, struct tpd_error *error) {
    struct tpd_tile read = {0, 0};
    if (strcmp(text, "auto") != 0) {
        const char *at = read_side(text, &read.rows);
        if (at != NULL)
            at = *at == 'x' ? read_side(at + 1, &read.cols) : NULL;
        if (at == NULL || *at != '\0')
            return tpd_fail(error, TPD_BAD_PARAMETER, "tile '%.32s' is neither auto nor ROWSxCOLS, such as 32x64", text);
        enum tpd_status status = check_tile(read, error);
        if (status != TPD_OK)
            return status;
    }
    *tile = read;
    return TPD_OK;
}

enum tpd_status tpd_tile_suits(struct tpd_tile tile, enum tpd_strategy_id id, struct tpd_error *error) {
    if (tile.rows == 0 || id == TPD_STRATEGY_AUTO || strategies[id].tiled)
        return TPD_OK;
    return tpd_fail(error, TPD_UNSUPPORTED,
                    "tile=%" PRIu32 "x%" PRIu32
                    " says nothing to strategy=%s, which %s: leave tile out, or take padded, swizzled or another strategy that "
                    "takes one",
                    tile.rows, tile.cols, strategies[id].name, strategies[id].own_tiles ? "cuts tiles of its own" : "has none");
}

/* The largest power of two up to 16 that divides the item size: what one access can move. */
static uint32_t word_of(uint32_t itemsize) {
    uint32_t lowest_bit = itemsize & (~itemsize + 1);
    return lowest_bit < 16 ? lowest_bit : 16;
}

enum tpd_strategy_id tpd_strategy_choose(const struct tpd_matrix *matrix) {
    const uint64_t narrow = matrix->rows < matrix->cols ? matrix->rows : matrix->cols;
    const uint64_t wide = matrix->rows < matrix->cols ? matrix->cols : matrix->rows;
    const bool vectors = word_of(matrix->itemsize) == matrix->itemsize && tpd_is_in_vectors(matrix);
    /* Columns of bytes are collected faster from whole records than from rows of a vector or two. */
    const bool long_tiles = narrow >= TPD_TILE_LEAST && vectors && (matrix->rows <= matrix->cols || matrix->itemsize > 2);
    if (narrow >= 2 && narrow <= TPD_FEW_MOST && !long_tiles && matrix->itemsize <= STAGED_ITEMSIZE_MOST &&
        wide >= NARROW_LEAST_BYTES / matrix->itemsize)
        return TPD_STRATEGY_NARROW;
    if (!vectors && matrix->batch >= PACKED_LEAST && narrow >= 2 && wide <= PACKED_MOST_BYTES / matrix->itemsize / narrow)
        return TPD_STRATEGY_PACKED;
    /* Half of a narrower tile would be empty. */
    if (narrow < TPD_TILE_LEAST || word_of(matrix->itemsize) != matrix->itemsize)
        return TPD_STRATEGY_DIRECT;
    /* Items of 16 bytes are vectors wherever they lie, and still better stored by whole sectors. */
    const bool in_sectors = matrix->rows * matrix->itemsize % TPD_SECTOR_BYTES == 0;
    if (vectors && (in_sectors || matrix->itemsize < 16 || narrow * matrix->itemsize < SHIFTED_LEAST_BYTES))
        return TPD_STRATEGY_VECTOR;
    /* Its tiles are large, and those at the ends of columns have more to do: with bytes, most of all. */
    const bool is_wide = narrow * matrix->itemsize >= SHIFTED_LEAST_BYTES && matrix->itemsize > 1;
    if (is_wide || tpd_matrix_items(matrix) >= SHIFTED_ENOUGH_BYTES / matrix->itemsize)
        return TPD_STRATEGY_SHIFTED;
    /* All three clean layouts are within a few per cent of each other on an H200, this one ahead at every item size
     * but on odd pitches (tests/gpu/RESULTS.md): its index takes the fewest instructions. */
    return TPD_STRATEGY_PADDED;
}

struct tpd_matrix tpd_strategy_fit(enum tpd_strategy_id id, struct tpd_matrix matrix) {
    enum { FEW = 7, SIDE = 32 };
    if (id == TPD_STRATEGY_VECTOR && !tpd_is_in_vectors(&matrix)) {
        matrix.rows += (TPD_TILE_LEAST - matrix.rows % TPD_TILE_LEAST) % TPD_TILE_LEAST;
        matrix.cols += (TPD_TILE_LEAST - matrix.cols % TPD_TILE_LEAST) % TPD_TILE_LEAST;
    }
    if (id == TPD_STRATEGY_NARROW && matrix.rows > TPD_FEW_MOST && matrix.cols > TPD_FEW_MOST) {
        matrix.cols = matrix.rows * matrix.cols / FEW;
        matrix.rows = FEW;
    }
    if (id == TPD_STRATEGY_PACKED && (matrix.rows < 2 || matrix.cols < 2 || matrix.rows * matrix.cols > SIDE * SIDE)) {
        matrix.batch = (matrix.rows * matrix.cols * matrix.batch + SIDE * SIDE - 1) / (SIDE * SIDE);
        matrix.rows = matrix.cols = SIDE;
    }
    return matrix;
}

/* What a strategy's header or own_tiles.c says of a plan whose matrix and words are known: tile, threads, pitch, kernel. */
#define PITCH_OF_NONE(NAME)
#define PITCH_OF_OWN(NAME)
#define PITCH_OF_KNOB(NAME)                                          \
    static uint32_t pitch_##NAME(uint32_t cols, uint32_t itemsize) { \
        (void)itemsize;                                              \
        return PITCH_##NAME(cols, itemsize);                         \
    }
#define X(NAME, name, TILES, ITEMSIZES, summary) PITCH_OF_##TILES(NAME)
#include "transposed/tbl/strategies.def"
#undef X

static const struct {
    uint32_t (*pitch)(uint32_t cols, uint32_t itemsize);
    tpd_own_tiles *own;
} layouts[TPD_STRATEGY_COUNT] = {
#define LAYOUT_NONE(NAME) [TPD_STRATEGY_##NAME] = {NULL, NULL},
#define LAYOUT_KNOB(NAME) [TPD_STRATEGY_##NAME] = {pitch_##NAME, NULL},
#define LAYOUT_OWN(NAME) [TPD_STRATEGY_##NAME] = {NULL, tpd_own_tiles_##NAME},
#define X(NAME, name, TILES, ITEMSIZES, summary) LAYOUT_##TILES(NAME)
#include "transposed/tbl/strategies.def"
#undef X
};

/* Who names a tile wants a strategy that takes one. */
static enum tpd_strategy_id choose(const struct tpd_matrix *matrix, struct tpd_tile tile) {
    enum tpd_strategy_id id = tpd_strategy_choose(matrix);
    if (id == TPD_STRATEGY_NARROW || !strategies[id].own_tiles)
        return id; /* a tile would be half empty, or the item size has none */
    return tile.rows != 0 || tile.cols != 0 ? TPD_STRATEGY_PADDED : id;
}

/* Variants of the strategies that take a tile: the default one, and these. */
static const struct tpd_tile knob_tiles[] = {{64, 64}, {32, 64}};
enum { KNOB_TILES = sizeof knob_tiles / sizeof knob_tiles[0] };

uint32_t tpd_strategy_variants(enum tpd_strategy_id id) {
    return strategies[id].tiled ? 1 + KNOB_TILES : strategies[id].own_tiles ? tpd_own_tiles_variants(id) : 1;
}

static enum tpd_status plan_tile(struct tpd_plan *plan, struct tpd_tile tile, uint64_t shared_most_bytes,
                                 struct tpd_error *error) {
    const struct tpd_matrix *matrix = &plan->matrix;
    if (tile.rows == 0 && tile.cols == 0)
        tile.rows = tile.cols = TPD_TILE_DEFAULT;
    enum tpd_status status = check_tile(tile, error);
    if (status != TPD_OK)
        return status;
    plan->tile = tile;
    plan->tile_is_default = tile.rows == TPD_TILE_DEFAULT && tile.cols == TPD_TILE_DEFAULT;
    plan->kernel = plan->tile_is_default ? 0 : 1;
    plan->pitch = layouts[plan->strategy].pitch(tile.cols, matrix->itemsize);
    plan->shared_bytes = (uint64_t)tile.rows * plan->pitch * matrix->itemsize;
    if (plan->shared_bytes > shared_most_bytes)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, shared_most_bytes, plan->shared_bytes,
                              "tile %" PRIu32 "x%" PRIu32 " of %" PRIu32 "-byte items takes %" PRIu64
                              " bytes of shared memory, and a block has at most %" PRIu64 ": take a smaller tile",
                              tile.rows, tile.cols, matrix->itemsize, plan->shared_bytes, shared_most_bytes);
    plan->tiles_down = tpd_divide_up(matrix->rows, tile.rows);
    plan->tiles_across = tpd_divide_up(matrix->cols, tile.cols);
    /* No more tiles than items, whose number tpd_matrix_bytes() has passed. */
    plan->blocks = plan->tiles_down * plan->tiles_across * matrix->batch;
    return TPD_OK;
}

static enum tpd_status plan_any(enum tpd_strategy_id id, uint32_t variant, const struct tpd_matrix *matrix, struct tpd_tile tile,
                                uint64_t shared_most_bytes, struct tpd_plan *plan, struct tpd_error *error) {
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(matrix, &bytes, error);
    if (status != TPD_OK)
        return status;
    if (id == TPD_STRATEGY_AUTO)
        id = choose(matrix, tile);
    const struct tpd_strategy *strategy = &strategies[id];
    uint32_t word = word_of(matrix->itemsize);
    if (word != matrix->itemsize && !strategy->any_itemsize)
        return tpd_fail(error, TPD_UNSUPPORTED,
                        "strategy %s takes items of 1, 2, 4, 8 or 16 bytes, not of %" PRIu32 ": take auto or direct",
                        strategy->name, matrix->itemsize);
    struct tpd_plan made = {
        .strategy = id, .matrix = *matrix, .tile_is_default = true, .word_bytes = word, .threads = TPD_STRATEGY_THREADS};
    made.variant = variant;
    made.words = matrix->itemsize / word;
    if (strategy->tiled) {
        status = plan_tile(&made, tile, shared_most_bytes, error);
    } else if (layouts[id].own != NULL) {
        status = layouts[id].own(&made, error);
    } else
        made.blocks = tpd_divide_up(bytes / word, TPD_STRATEGY_THREADS);
    if (bytes == 0)
        made.blocks = 0;
    if (status == TPD_OK)
        *plan = made;
    return status;
}

enum tpd_status tpd_strategy_plan(enum tpd_strategy_id id, const struct tpd_matrix *matrix, struct tpd_tile tile,
                                  uint64_t shared_most_bytes, struct tpd_plan *plan, struct tpd_error *error) {
    return plan_any(id, 0, matrix, tile, shared_most_bytes, plan, error);
}

enum tpd_status tpd_strategy_plan_variant(enum tpd_strategy_id id, uint32_t variant, const struct tpd_matrix *matrix,
                                          uint64_t shared_most_bytes, struct tpd_plan *plan, struct tpd_error *error) {
    const bool is_tile = variant != 0 && strategies[id].tiled;
    return plan_any(id, variant, matrix, is_tile ? knob_tiles[variant - 1] : (struct tpd_tile){0, 0}, shared_most_bytes, plan,
                    error);
}

struct tpd_geometry tpd_geometry_of(const struct tpd_plan *plan) {
    const struct tpd_matrix *matrix = &plan->matrix;
    struct tpd_geometry grid = {
        .rows = matrix->rows, .cols = matrix->cols, .words = plan->words, .moves = tpd_matrix_items(matrix) * plan->words};
    grid.hands = plan->threads;
    grid.goes_down = plan->goes_down;
    grid.from_right = plan->from_right;
    grid.band = plan->band;
    grid.chunk = plan->chunk;
    grid.turns_log2 = plan->turns_log2;
    if (plan->tile.rows != 0) {
        grid.tiles_down = plan->tiles_down;
        grid.tiles_across = plan->tiles_across;
        grid.tiles = plan->tiles_down * plan->tiles_across * matrix->batch;
        grid.tile_rows_log2 = TPD_LOG2(plan->tile.rows);
        grid.tile_cols_log2 = TPD_LOG2(plan->tile.cols);
        grid.pitch = plan->pitch;
    }
    return grid;
}
