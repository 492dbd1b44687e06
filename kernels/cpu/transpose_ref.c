/* transpose_ref.c -- the oracle: what every other transpose is compared with. So plain that reading it proves it. */
#include <string.h>

#include "transposed/transposed.h"

void tpd_transpose_ref(const struct tpd_matrix *matrix, const void *in, void *out) {
    const size_t rows = matrix->rows, cols = matrix->cols, size = matrix->itemsize;
    for (size_t b = 0; b < matrix->batch; b++)
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < cols; c++)
                memcpy((unsigned char *)out + ((b * cols + c) * rows + r) * size,
                       (const unsigned char *)in + ((b * rows + r) * cols + c) * size, size);
}
