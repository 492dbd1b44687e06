/* own_tiles.c -- which tile the strategies with tiles of their own take for a matrix, and which matrices they take. */
#include "kernels/strategies/own_tiles.h"

#include <inttypes.h>

#include "kernels/strategies/every_strategy.h" /* outside a dialect: the layouts */
#include "kernels/strategies/vectors.h"

/* A product that overflows has the right rest all the same: 16 divides 2^64. */
bool tpd_is_in_vectors(const struct tpd_matrix *matrix) {
    return matrix->rows * matrix->itemsize % TPD_VECTOR_BYTES == 0 && matrix->cols * matrix->itemsize % TPD_VECTOR_BYTES == 0;
}

enum tpd_status tpd_own_tiles_VECTOR(struct tpd_plan *plan, struct tpd_error *error) {
    const struct tpd_matrix *matrix = &plan->matrix;
    if (tpd_matrix_items(matrix) != 0 && !tpd_is_in_vectors(matrix))
        return tpd_fail(error, TPD_UNSUPPORTED,
                        "strategy vector takes rows and columns of whole 16 bytes, and %" PRIu64 " x %" PRIu64
                        " items of %" PRIu32 " bytes are not: take auto",
                        matrix->rows, matrix->cols, matrix->itemsize);
    const uint32_t itemsize = matrix->itemsize;
    plan->tile.rows = TILE_ROWS_VECTOR(itemsize, plan->kernel);
    plan->tile.cols = TILE_COLS_VECTOR(itemsize, plan->kernel);
    plan->tile_is_default = false;
    plan->pitch = plan->tile.rows;
    plan->shared_bytes = (uint64_t)plan->tile.rows * plan->tile.cols * itemsize;
    plan->threads = THREADS_VECTOR(itemsize, plan->kernel);
    return TPD_OK;
}
