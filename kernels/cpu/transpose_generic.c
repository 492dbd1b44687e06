/* transpose_generic.c -- the inner loops in plain C, for every item size and every processor. */
#include <string.h>

#include "kernels/cpu/cpu.h"

enum { GROUP = 16 }; /* rows walked together: that many read streams, and runs of that many items written */

/* size is a constant wherever this is inlined with one, so memcpy becomes one or two moves of any bit pattern. */
static inline __attribute__((always_inline)) void fill(const struct tpd_cpu_block *block, size_t size) {
    for (size_t r = 0; r < block->rows; r += GROUP) {
        size_t group = block->rows - r < GROUP ? block->rows - r : GROUP;
        for (size_t c = 0; c < block->cols; c++) {
            const unsigned char *src = block->src + r * block->src_pitch + c * size;
            unsigned char *dst = block->dst + c * block->dst_pitch + r * size;
            for (size_t i = 0; i < group; i++)
                memcpy(dst + i * size, src + i * block->src_pitch, size);
        }
    }
}

#include "kernels/cpu/fill_sizes.h"

void tpd_cpu_fill_any(const struct tpd_cpu_block *block) {
    switch (block->itemsize) { /* records that are often met; the rest pays for a call an item */
    case 3:
        fill(block, 3);
        break;
    case 6:
        fill(block, 6);
        break;
    case 12:
        fill(block, 12);
        break;
    case 24:
        fill(block, 24);
        break;
    case 32:
        fill(block, 32);
        break;
    default:
        fill(block, block->itemsize);
    }
}

#define INLINE static inline __attribute__((always_inline))

INLINE void line_out(unsigned char *dst, const unsigned char *src, bool stream) {
    (void)stream;
    memcpy(dst, src, TPD_CPU_LINE);
}

#include "kernels/cpu/leave.h"

static void publish(void) {}

const struct tpd_cpu_ops tpd_cpu_portable = {"portable", 16, FILL_SIZES, tpd_cpu_fill_any, leave, copy_lines, trade, publish};
