/* panels.c -- see panels.h. How large a panel is: small enough that there are several, large enough for the bus. */
#include "kernels/cuda/panels.h"

enum {
    TARGET_LEAST = 1 << 20, /* bytes of a panel: a smaller one is gone before the next is asked for */
    NEARLY_SQUARE = 4,      /* one side has at most so many times the other's items */
    STEP = 128,
    STEP_LEAST = 16 /* lines are cut at multiples of these: whole sectors, whole 16-byte vectors of any item */
};

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Down to a step, as far as that leaves something. */
static uint64_t in_steps(uint64_t lines) {
    uint64_t step = lines >= STEP ? STEP : lines >= STEP_LEAST ? STEP_LEAST : 1;
    return lines - lines % step;
}

static bool is_by_rows(const struct tpd_matrix *matrix, const struct tpd_panels_wish *wish) {
    const uint64_t rows = matrix->rows, cols = matrix->cols;
    if (rows / NEARLY_SQUARE <= cols && cols / NEARLY_SQUARE <= rows)
        return wish->rows_first || wish->in_order;
    return rows > cols || wish->in_order;
}

void tpd_panels_begin(struct tpd_panels *panels, const struct tpd_matrix *matrix, const struct tpd_panels_wish *wish) {
    const uint64_t itemsize = matrix->itemsize, one = matrix->rows * matrix->cols * itemsize, most_bytes = wish->most_bytes;
    uint64_t target = smaller(one * matrix->batch / wish->count, wish->target_bytes);
    target = smaller(larger(target, TARGET_LEAST), most_bytes);
    *panels = (struct tpd_panels){.matrix = *matrix};
    if (one <= target) {
        panels->group = target / one;
        return;
    }
    panels->by_rows = is_by_rows(matrix, wish);
    const uint64_t lines = panels->by_rows ? matrix->rows : matrix->cols;
    const uint64_t items = panels->by_rows ? matrix->cols : matrix->rows, line_bytes = items * itemsize;
    uint64_t along = larger(target / line_bytes, (wish->strip_bytes + itemsize - 1) / itemsize);
    panels->across = items;
    if (along > most_bytes / line_bytes)
        along = most_bytes / line_bytes;
    if (along == 0) { /* not even one line fits */
        along = larger(smaller(wish->strip_bytes, most_bytes) / itemsize, 1);
        panels->across = in_steps(most_bytes / (along * itemsize));
    }
    panels->along = smaller(in_steps(along), lines);
    panels->least = panels->along >= 4 * STEP_LEAST ? in_steps(panels->along / 4) : panels->along;
}

/* A quarter, a half, then whole ones; the last ones are halves of what is left. */
static uint64_t lines_of(const struct tpd_panels *panels, uint64_t left) {
    uint64_t lines = panels->along;
    if (panels->at_matrix == 0 && panels->made < 2)
        lines = larger(in_steps(lines >> (2 - panels->made)), panels->least);
    if (panels->at_matrix + 1 == panels->matrix.batch && lines > left / 2)
        lines = larger(in_steps(left / 2), panels->least);
    return smaller(lines, left);
}

static void next_of_matrix(struct tpd_panels *panels, struct tpd_panel *panel) {
    const struct tpd_matrix *matrix = &panels->matrix;
    const uint64_t lines = panels->by_rows ? matrix->rows : matrix->cols;
    const uint64_t items = panels->by_rows ? matrix->cols : matrix->rows;
    /* All pieces of the same lines have as many of them: which is why the number goes on only with the next lines. */
    const uint64_t along = lines_of(panels, lines - panels->at_line);
    const uint64_t across = smaller(panels->across, items - panels->at_item);
    *panel = (struct tpd_panel){.matrix = panels->at_matrix, .matrices = 1};
    panel->row = panels->by_rows ? panels->at_line : panels->at_item;
    panel->col = panels->by_rows ? panels->at_item : panels->at_line;
    panel->rows = panels->by_rows ? along : across;
    panel->cols = panels->by_rows ? across : along;
    panels->at_item += across;
    if (panels->at_item < items)
        return;
    panels->at_item = 0;
    panels->at_line += along;
    panels->made++;
    if (panels->at_line == lines) {
        panels->at_line = 0;
        panels->at_matrix++;
    }
}

bool tpd_panels_next(struct tpd_panels *panels, struct tpd_panel *panel) {
    const struct tpd_matrix *matrix = &panels->matrix;
    const uint64_t itemsize = matrix->itemsize, left = matrix->batch - panels->at_matrix;
    if (left == 0)
        return false;
    if (panels->group != 0) {
        *panel = (struct tpd_panel){
            .matrix = panels->at_matrix,
            .matrices = smaller(panels->group, left),
            .rows = matrix->rows,
            .cols = matrix->cols,
        };
        panels->at_matrix += panel->matrices;
    } else {
        next_of_matrix(panels, panel);
    }
    const uint64_t last = panel->matrix + panel->matrices - 1;
    panel->in_end_bytes =
        ((last * matrix->rows + panel->row + panel->rows - 1) * matrix->cols + panel->col + panel->cols) * itemsize;
    return true;
}

uint64_t tpd_panels_most_bytes(const struct tpd_panels *panels) {
    const struct tpd_matrix *matrix = &panels->matrix;
    if (panels->group != 0)
        return smaller(panels->group, matrix->batch) * matrix->rows * matrix->cols * matrix->itemsize;
    return panels->along * panels->across * matrix->itemsize;
}

uint64_t tpd_panels_row_bytes(const struct tpd_panels *panels) {
    return panels->group != 0 ? UINT64_MAX : panels->along * panels->matrix.itemsize;
}

bool tpd_panels_is_one(const struct tpd_panels *panels) {
    return panels->group >= panels->matrix.batch;
}
