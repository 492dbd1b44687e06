/* own_tiles.c -- which tile the strategies with tiles of their own take for a matrix, and which matrices they take. */
#include "kernels/strategies/own_tiles.h"

#include <inttypes.h>

#include "kernels/strategies/every_strategy.h" /* outside a dialect: the layouts */
#include "kernels/strategies/vectors.h"

enum { LARGE, SMALL, TALL, WIDE }; /* shapes of `vector`; `shifted` has the first two */

/* Blocks below which a GPU is not full: about two for each of an H200's 132 multiprocessors. */
enum { BLOCKS_FEW = 264 };
/* Large tiles of `shifted` below which small ones are faster, but of bytes: those would be too small. */
enum { SHIFTED_BLOCKS_FEW = 4 * BLOCKS_FEW };

/* A product that overflows has the right rest all the same: 16 divides 2^64. */
bool tpd_is_in_vectors(const struct tpd_matrix *matrix) {
    return matrix->rows * matrix->itemsize % TPD_VECTOR_BYTES == 0 && matrix->cols * matrix->itemsize % TPD_VECTOR_BYTES == 0;
}

static void count_tiles(struct tpd_plan *plan, uint64_t rows) {
    plan->tiles_down = tpd_divide_up(rows, plan->tile.rows);
    plan->tiles_across = tpd_divide_up(plan->matrix.cols, plan->tile.cols);
    /* The stores of neighbouring blocks then follow one another in memory: 0.95 to 0.98 of a copy on an H200 where the other
     * order has 0.91 to 0.95, at every item size, for squares, tall and wide matrices. */
    plan->goes_down = true;
}

/* Variants above 0: of `vector` and `shifted` their shapes, each in both orders of blocks, down first; of those that stage
 * matrices as they lie half and twice the bytes. */
enum { VECTOR_VARIANTS = 1 + 2 * SHAPES_VECTOR, SHIFTED_VARIANTS = 1 + 2 * SHAPES_SHIFTED, STAGED_VARIANTS = 3 };

uint32_t tpd_own_tiles_variants(enum tpd_strategy_id id) {
    return id == TPD_STRATEGY_VECTOR ? VECTOR_VARIANTS : id == TPD_STRATEGY_SHIFTED ? SHIFTED_VARIANTS : STAGED_VARIANTS;
}

static uint32_t staged_bytes(uint32_t bytes, uint32_t variant) {
    return variant == 0 ? bytes : variant == 1 ? bytes / 2 : bytes * 2;
}

/* Everything that follows from the shape, which is plan->kernel. */
static void shape_vector(struct tpd_plan *plan, uint32_t shape) {
    const uint32_t itemsize = plan->matrix.itemsize, tiles = TILES_VECTOR(itemsize, shape);
    plan->kernel = shape;
    plan->tile.rows = TILE_ROWS_VECTOR(itemsize, shape);
    plan->tile.cols = TILE_COLS_VECTOR(itemsize, shape);
    plan->pitch = plan->tile.rows;
    plan->shared_bytes = (uint64_t)tiles * plan->tile.rows * plan->tile.cols * itemsize;
    plan->threads = THREADS_VECTOR(itemsize, shape);
    count_tiles(plan, plan->matrix.rows);
    plan->blocks = tpd_divide_up(plan->tiles_down * plan->tiles_across * plan->matrix.batch, tiles);
}

/* How many times a matrix's items its tiles hold. */
static double waste_of(const struct tpd_plan *plan) {
    return (double)plan->tiles_down * plan->tile.rows / (double)plan->matrix.rows * (double)plan->tiles_across * plan->tile.cols /
           (double)plan->matrix.cols;
}

enum tpd_status tpd_own_tiles_VECTOR(struct tpd_plan *plan, struct tpd_error *error) {
    const struct tpd_matrix *matrix = &plan->matrix;
    plan->tile_is_default = false;
    shape_vector(plan, LARGE);
    if (tpd_matrix_items(matrix) == 0)
        return TPD_OK;
    if (!tpd_is_in_vectors(matrix))
        return tpd_fail(error, TPD_UNSUPPORTED,
                        "strategy vector takes rows and columns of whole 16 bytes, and %" PRIu64 " x %" PRIu64
                        " items of %" PRIu32 " bytes are not: take auto or shifted",
                        matrix->rows, matrix->cols, matrix->itemsize);
    if (plan->variant != 0) {
        shape_vector(plan, (plan->variant - 1) / 2);
        plan->goes_down = plan->variant % 2 != 0;
        return TPD_OK;
    }
    /* The large one, unless it would be emptier than another shape by more than an eighth, or leave most of the GPU idle. Tall
     * and wide tiles one beside the other would share the sectors of their short rows. */
    struct tpd_plan best = *plan;
    for (uint32_t shape = SMALL; shape <= WIDE; shape++) {
        struct tpd_plan other = *plan;
        shape_vector(&other, shape);
        if ((shape == TALL && other.tiles_across > 1) || (shape == WIDE && other.tiles_down > 1))
            continue;
        if (waste_of(&other) * 1.125 < waste_of(&best) || (shape == SMALL && best.blocks < BLOCKS_FEW))
            best = other;
    }
    *plan = best;
    return TPD_OK;
}

static void shape_shifted(struct tpd_plan *plan, uint32_t shape) {
    const uint32_t itemsize = plan->matrix.itemsize;
    plan->kernel = shape;
    plan->tile.rows = TILE_ROWS_SHIFTED(itemsize, shape);
    plan->tile.cols = TILE_COLS_SHIFTED(itemsize, shape);
    plan->pitch = LOADED_ROWS_SHIFTED(itemsize, shape);
    /* And a vector for what is not wanted. */
    plan->shared_bytes = (uint64_t)plan->pitch * plan->tile.cols * itemsize + TPD_VECTOR_BYTES;
    plan->threads = THREADS_SHIFTED(itemsize, shape);
    /* A row's last vector may begin as many items later as an output row begins after a sector. */
    count_tiles(plan, plan->matrix.rows + LATE_SHIFTED(itemsize) - 1);
    plan->blocks = plan->tiles_down * plan->tiles_across * plan->matrix.batch;
}

enum tpd_status tpd_own_tiles_SHIFTED(struct tpd_plan *plan, struct tpd_error *error) {
    (void)error;
    plan->tile_is_default = false;
    shape_shifted(plan, plan->variant == 0 ? LARGE : (plan->variant - 1) / 2);
    if (plan->variant != 0) {
        plan->goes_down = plan->variant % 2 != 0;
    } else if (tpd_matrix_items(&plan->matrix) != 0) {
        struct tpd_plan small = *plan;
        shape_shifted(&small, SMALL);
        if (waste_of(&small) * 1.125 < waste_of(plan) || (plan->matrix.itemsize > 1 && plan->blocks < SHIFTED_BLOCKS_FEW))
            *plan = small;
    }
    /* The last column of tiles is all ends, and would be what the GPU waits for. */
    plan->from_right = plan->goes_down;
    return TPD_OK;
}

/* Bytes of rows that a block of `narrow` stages, about, and its threads, the most: of 8, 16, 24 and 32 KiB, 128 and 256 threads
 * the best on an H200. Bytes of rows in are turned by more instructions, of which larger blocks hide more, and of 16 bytes a
 * row's piece would be short. */
enum { NARROW_BYTES = 8192, NARROW_BYTES_MOST = 32768, NARROW_THREADS = 128, NARROW_UNITS_LEAST = 32 };

/* The largest power of two that is not above number, which is not 0. */
static uint32_t power_below(uint64_t number) {
    uint32_t power = 1;
    while (power <= number / 2)
        power *= 2;
    return power;
}

enum tpd_status tpd_own_tiles_NARROW(struct tpd_plan *plan, struct tpd_error *error) {
    const struct tpd_matrix *matrix = &plan->matrix;
    const uint32_t word = plan->word_bytes, words = plan->words, unit = TPD_UNIT_WORDS(word);
    const bool rows_in = matrix->rows <= matrix->cols;
    const uint64_t few = rows_in ? matrix->rows : matrix->cols, row = (rows_in ? matrix->cols : matrix->rows) * words;
    plan->tile_is_default = false;
    if (tpd_matrix_items(matrix) == 0)
        return TPD_OK;
    if (few > TPD_FEW_MOST)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, TPD_FEW_MOST, few,
                              "strategy narrow takes at most %d rows or columns, and %" PRIu64 " x %" PRIu64
                              " has more of both: take auto, vector or shifted",
                              TPD_FEW_MOST, matrix->rows, matrix->cols);
    /* Units of a row: no more than a row has, with those that it may begin or end in. */
    const uint64_t most = tpd_divide_up(row, unit) + 32 / (unit * word), more = rows_in && word == 1 ? 2 : 1;
    const uint64_t units = more * staged_bytes(NARROW_BYTES, plan->variant) / (unit * word) / few;
    uint32_t across = power_below(units);
    if (across < NARROW_THREADS && NARROW_THREADS * few * unit * word <= NARROW_BYTES_MOST)
        across = NARROW_THREADS;
    while (across / 2 >= most && across / 2 >= NARROW_UNITS_LEAST)
        across /= 2;
    if (across < NARROW_UNITS_LEAST)
        across = NARROW_UNITS_LEAST;
    const uint32_t threads = (uint32_t)more * NARROW_THREADS;
    plan->threads = across < threads ? across : threads;
    plan->turns_log2 = TPD_LOG2(across / plan->threads);
    /* Rows in: whole items, and where that can be runs of records that end where a sector does; within the units of a row that
     * begins late. Rows out: all of them. */
    const bool even = words == 1 && row % unit == 0; /* no row begins late */
    plan->chunk = rows_in && !even ? (across * unit - (unit - 1)) / words * words : across * unit;
    if (rows_in && plan->chunk > 32 * words)
        plan->chunk -= plan->chunk % (32 * words);
    if (plan->chunk < words)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, (uint64_t)across * unit * word, matrix->itemsize,
                              "strategy narrow takes items of at most %" PRIu32 " bytes here, not of %" PRIu32
                              ": take auto or direct",
                              across * unit * word, matrix->itemsize);
    const uint32_t items = plan->chunk / words, sector = 32 / word;
    plan->tile.rows = rows_in ? (uint32_t)few : items;
    plan->tile.cols = rows_in ? items : (uint32_t)few;
    plan->pitch = rows_in ? items : (uint32_t)few;
    const uint64_t chunks = tpd_divide_up(rows_in ? row : row + sector - 1, plan->chunk);
    plan->tiles_down = rows_in ? 1 : chunks;
    plan->tiles_across = rows_in ? chunks : 1;
    plan->blocks = chunks * matrix->batch;
    plan->kernel = (rows_in ? 0 : 2) + (few * words % 2 == 0 ? 1 : 0);
    /* Records: what the units hold, the vectors in which they begin and end and one for what is not wanted; the early ones. */
    const uint32_t vector = TPD_VECTOR_ITEMS(word), record = (uint32_t)few * words;
    const uint32_t early = rows_in ? tpd_round_up(unit - 1, words) : sector;
    const uint32_t staged = ((across * unit + early) / words + 2) * record + 4 * vector;
    plan->shared_bytes = (uint64_t)tpd_round_up(tpd_staged(staged, word, plan->kernel % 2 != 0) + unit, vector) * word;
    return TPD_OK;
}

/* Bytes that a block of `packed` stages: about, and the most; and what it has at least, but for the last. */
enum { PACKED_BYTES = 16384, PACKED_BYTES_MOST = 40960 };

enum tpd_status tpd_own_tiles_PACKED(struct tpd_plan *plan, struct tpd_error *error) {
    const struct tpd_matrix *matrix = &plan->matrix;
    const uint32_t word = plan->word_bytes, words = plan->words;
    plan->tile_is_default = false;
    if (tpd_matrix_items(matrix) == 0)
        return TPD_OK;
    const uint64_t bytes = matrix->rows * matrix->cols * matrix->itemsize;
    if (bytes > PACKED_BYTES_MOST || matrix->rows < 2 || matrix->cols < 2)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, PACKED_BYTES_MOST, bytes,
                              "strategy packed takes matrices of 2 x 2 items to %d bytes, and %" PRIu64 " x %" PRIu64
                              " of %" PRIu32 " bytes is none: take auto",
                              PACKED_BYTES_MOST, matrix->rows, matrix->cols, matrix->itemsize);
    /* As many as fill the bytes, and the GPU; where that can be, so many that the next block's begin in a sector of their own. */
    uint64_t most = staged_bytes(PACKED_BYTES, plan->variant) / bytes, shared_out = matrix->batch / BLOCKS_FEW;
    uint32_t even = 1;
    while (bytes * even % 32 != 0)
        even *= 2;
    uint32_t chunk = (uint32_t)(shared_out < most ? shared_out : most);
    if (chunk > even)
        chunk -= chunk % even;
    plan->chunk = chunk > 0 ? chunk : 1;
    plan->tile.rows = (uint32_t)matrix->rows;
    plan->tile.cols = plan->pitch = (uint32_t)matrix->cols;
    plan->tiles_down = plan->tiles_across = 1;
    plan->blocks = tpd_divide_up(matrix->batch, plan->chunk);
    plan->kernel = matrix->cols * words % 2 == 0 ? 1 : 0;
    const uint32_t vector = TPD_VECTOR_ITEMS(word), staged = (uint32_t)(plan->chunk * bytes / word) + 3 * vector;
    plan->shared_bytes = (uint64_t)tpd_round_up(tpd_staged(staged, word, plan->kernel != 0), vector) * word;
    return TPD_OK;
}
