/* tuning.c -- shapes, the matrix that stands for each, and how a table answers for a matrix. */
#include "transposed/tuning.h"

#include "kernels/strategies/kernels_hash.h"
#include "kernels/strategies/own_tiles.h"
#include "kernels/strategies/vectors.h"

enum sides { SIDES_ROWS, SIDES_COLS, SIDES_MATRIX, SIDES_TOTAL };

static const struct {
    const char *name, *meaning;
    enum sides sides;
    uint64_t least, most, side, bytes;
} shapes[TPD_SHAPE_COUNT] = {
#define X(NAME, name, SIDES, least, most, side, bytes, meaning) \
    [TPD_SHAPE_##NAME] = {name, meaning, SIDES_##SIDES, least, most, side, bytes},
#include "transposed/tbl/tuning.def"
#undef X
};

/* The last: an item size that no strategy moves in one access. 12: three words, an odd number, of 4 bytes. */
static const uint32_t itemsizes[TPD_TUNING_SIZES] = {1, 2, 4, 8, 16, 12};
static const char *const size_names[TPD_TUNING_SIZES] = {"1", "2", "4", "8", "16", "other"};
enum { SIZE_OTHER = TPD_TUNING_SIZES - 1 };

/* From here on a matrix is called long; up to there a batch's matrices are not. */
enum { LONG_TIMES = 16, EVEN_TIMES = 8 };
/* A way that is fixed may cover so much more than the matrix, in 64ths, than the strategy's own choice does. */
enum { COVER_MORE = 3 };

const char *tpd_tuning_shape_name(enum tpd_tuning_shape shape) {
    return shapes[shape].name;
}

const char *tpd_tuning_shape_meaning(enum tpd_tuning_shape shape) {
    return shapes[shape].meaning;
}

uint32_t tpd_tuning_size(uint32_t itemsize) {
    uint32_t size = 0;
    while (size < SIZE_OTHER && itemsizes[size] != itemsize)
        size++;
    return size;
}

uint32_t tpd_tuning_itemsize(uint32_t size) {
    return itemsizes[size];
}

const char *tpd_tuning_size_name(uint32_t size) {
    return size_names[size];
}

const char *tpd_tuning_build(void) {
    return TPD_VERSION "+" TPD_KERNELS_HASH;
}

static bool is_between(uint64_t number, uint32_t shape) {
    return number >= shapes[shape].least && number <= shapes[shape].most;
}

enum tpd_tuning_shape tpd_tuning_shape_of(const struct tpd_matrix *matrix, bool *aligned) {
    const bool rows_few = matrix->rows <= matrix->cols;
    const uint64_t few = rows_few ? matrix->rows : matrix->cols, other = rows_few ? matrix->cols : matrix->rows;
    *aligned = tpd_tuning_size(matrix->itemsize) != SIZE_OTHER && tpd_is_in_vectors(matrix);
    if (few < 2 || matrix->batch == 0)
        return TPD_SHAPE_COUNT;
    const uint64_t bytes = matrix->rows * matrix->cols * matrix->itemsize;
    const bool is_even = other / few < EVEN_TIMES, is_long = other / few >= LONG_TIMES;
    for (uint32_t shape = 0; shape < TPD_SHAPE_COUNT; shape++) {
        switch (shapes[shape].sides) {
        case SIDES_ROWS:
        case SIDES_COLS:
            if (rows_few == (shapes[shape].sides == SIDES_ROWS) && is_between(few, shape) && (few <= TPD_FEW_MOST || is_long))
                return (enum tpd_tuning_shape)shape;
            break;
        case SIDES_MATRIX:
            if (matrix->batch > 1 && is_even && is_between(bytes, shape))
                return (enum tpd_tuning_shape)shape;
            break;
        case SIDES_TOTAL:
            if (is_between(bytes * matrix->batch, shape))
                return (enum tpd_tuning_shape)shape;
            break;
        }
    }
    return TPD_SHAPE_COUNT;
}

/* The whole square root of a number below 2^40. */
static uint64_t root_of(uint64_t number) {
    uint64_t root = 0;
    for (uint64_t bit = 1 << 19; bit > 0; bit /= 2)
        if ((root + bit) * (root + bit) <= number)
            root += bit;
    return root;
}

/* Both sides of a square: whole vectors, or odd and two apart. */
static void set_square(struct tpd_matrix *matrix, uint64_t side, bool aligned) {
    matrix->rows = aligned ? side - side % TPD_VECTOR_BYTES : side - side % 2 - 1;
    matrix->cols = aligned ? matrix->rows : matrix->rows + 2;
}

bool tpd_tuning_matrix(uint32_t size, bool aligned, enum tpd_tuning_shape shape, struct tpd_matrix *matrix) {
    const uint32_t itemsize = itemsizes[size], vector = aligned ? TPD_VECTOR_ITEMS(itemsize) : 1;
    const uint64_t items = shapes[shape].bytes / itemsize;
    uint64_t side = shapes[shape].side;
    if (size == SIZE_OTHER ? aligned : itemsize == TPD_VECTOR_BYTES && !aligned)
        return false;
    *matrix = (struct tpd_matrix){.rows = 0, .cols = 0, .batch = 1, .itemsize = itemsize, .dtype = TPD_DTYPE_OPAQUE};
    switch (shapes[shape].sides) {
    case SIDES_ROWS:
    case SIDES_COLS:
        side -= side % vector;
        if (side < shapes[shape].least)
            return false;
        matrix->rows = side;
        matrix->cols = items / side;
        matrix->cols = aligned ? matrix->cols - matrix->cols % TPD_VECTOR_BYTES : matrix->cols | 1;
        if (shapes[shape].sides == SIDES_COLS)
            *matrix = tpd_matrix_transposed(matrix);
        break;
    case SIDES_MATRIX:
        side = aligned ? (side + vector - 1) / vector * vector : side;
        while ((side * side - 1) * itemsize < shapes[shape].least)
            side *= 2;
        matrix->rows = aligned ? side : side - 1;
        matrix->cols = aligned ? side : side + 1;
        matrix->batch = items / (matrix->rows * matrix->cols);
        break;
    case SIDES_TOTAL:
        set_square(matrix, root_of(items), aligned);
        break;
    }
    return true;
}

const struct tpd_tuning_cell *tpd_tuning_find(const struct tpd_tuning *table, const struct tpd_matrix *matrix) {
    bool aligned;
    if (table == NULL || table->cells == 0)
        return NULL;
    const enum tpd_tuning_shape shape = tpd_tuning_shape_of(matrix, &aligned);
    if (shape == TPD_SHAPE_COUNT)
        return NULL;
    const struct tpd_tuning_cell *cell = &table->cell[tpd_tuning_size(matrix->itemsize)][aligned][shape];
    return cell->bytes != 0 ? cell : NULL;
}

/* Items that a plan's tiles cover. */
static double cover_of(const struct tpd_plan *plan) {
    return (double)plan->tiles_down * plan->tile.rows * (double)plan->tiles_across * plan->tile.cols;
}

/* What was best for the matrix that stands for a shape need not suit all of them: a fixed way whose tiles would be emptier than
 * those of the strategy's own choice gives way to it. */
static bool plan_way(const struct tpd_tuning_way *way, const struct tpd_matrix *matrix, uint64_t shared_most_bytes,
                     struct tpd_plan *plan) {
    struct tpd_plan own;
    if (tpd_strategy_plan_variant(way->strategy, 0, matrix, shared_most_bytes, &own, NULL) != TPD_OK)
        return false;
    if (way->variant == 0 ||
        tpd_strategy_plan_variant(way->strategy, way->variant, matrix, shared_most_bytes, plan, NULL) != TPD_OK ||
        cover_of(plan) * 64 > cover_of(&own) * (64 + COVER_MORE))
        *plan = own;
    return true;
}

enum tpd_status tpd_tuning_plan(const struct tpd_tuning *table, enum tpd_strategy_id id, const struct tpd_matrix *matrix,
                                struct tpd_tile tile, uint64_t shared_most_bytes, struct tpd_plan *plan,
                                struct tpd_error *error) {
    if (id == TPD_STRATEGY_AUTO && tile.rows == 0 && tile.cols == 0) {
        uint64_t bytes;
        enum tpd_status status = tpd_matrix_bytes(matrix, &bytes, error);
        if (status != TPD_OK)
            return status;
        const struct tpd_tuning_cell *cell = tpd_tuning_find(table, matrix);
        if (cell != NULL && plan_way(&cell->best, matrix, shared_most_bytes, plan))
            return TPD_OK;
    }
    return tpd_strategy_plan(id, matrix, tile, shared_most_bytes, plan, error);
}
