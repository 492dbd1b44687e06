/* own_tiles.c -- which tile the strategies with tiles of their own take for a matrix, and which matrices they take. */
#include "kernels/strategies/own_tiles.h"

#include <inttypes.h>

#include "kernels/strategies/every_strategy.h" /* outside a dialect: the layouts */
#include "kernels/strategies/vectors.h"

enum { SQUARE, SMALL, TALL, WIDE }; /* shapes of `vector` */

/* Blocks below which a GPU is not full: about two for each of an H200's 132 multiprocessors. */
enum { BLOCKS_FEW = 264 };

/* A product that overflows has the right rest all the same: 16 divides 2^64. */
bool tpd_is_in_vectors(const struct tpd_matrix *matrix) {
    return matrix->rows * matrix->itemsize % TPD_VECTOR_BYTES == 0 && matrix->cols * matrix->itemsize % TPD_VECTOR_BYTES == 0;
}

static void count_tiles(struct tpd_plan *plan, uint64_t rows) {
    plan->tiles_down = tpd_divide_up(rows, plan->tile.rows);
    plan->tiles_across = tpd_divide_up(plan->matrix.cols, plan->tile.cols);
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
    shape_vector(plan, SQUARE);
    if (tpd_matrix_items(matrix) == 0)
        return TPD_OK;
    if (!tpd_is_in_vectors(matrix))
        return tpd_fail(error, TPD_UNSUPPORTED,
                        "strategy vector takes rows and columns of whole 16 bytes, and %" PRIu64 " x %" PRIu64
                        " items of %" PRIu32 " bytes are not: take auto or shifted",
                        matrix->rows, matrix->cols, matrix->itemsize);
    /* The square, unless it would be emptier than another shape by more than an eighth, or leave most of the GPU idle. Tall and
     * wide tiles one beside the other would share the sectors of their short rows. */
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

enum tpd_status tpd_own_tiles_SHIFTED(struct tpd_plan *plan, struct tpd_error *error) {
    (void)error;
    const uint32_t itemsize = plan->matrix.itemsize;
    plan->tile_is_default = false;
    plan->tile.rows = TILE_ROWS_SHIFTED(itemsize, 0);
    plan->tile.cols = TILE_COLS_SHIFTED(itemsize, 0);
    plan->pitch = LOADED_ROWS_SHIFTED(itemsize);
    /* And a vector for what is not wanted. */
    plan->shared_bytes = (uint64_t)plan->pitch * plan->tile.cols * itemsize + TPD_VECTOR_BYTES;
    plan->threads = THREADS_SHIFTED(itemsize, 0);
    /* A row's last vector may begin as many items later as an output row begins after a sector. */
    count_tiles(plan, plan->matrix.rows + LATE_SHIFTED(itemsize) - 1);
    plan->blocks = plan->tiles_down * plan->tiles_across * plan->matrix.batch;
    return TPD_OK;
}
