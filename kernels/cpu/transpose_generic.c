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

static void fill_1(const struct tpd_cpu_block *block) {
    fill(block, 1);
}
static void fill_2(const struct tpd_cpu_block *block) {
    fill(block, 2);
}
static void fill_4(const struct tpd_cpu_block *block) {
    fill(block, 4);
}
static void fill_8(const struct tpd_cpu_block *block) {
    fill(block, 8);
}
static void fill_16(const struct tpd_cpu_block *block) {
    fill(block, 16);
}

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

static void lines(unsigned char *dst, const unsigned char *src, size_t bytes, bool stream) {
    (void)stream;
    memcpy(dst, src, bytes);
}

static void publish(void) {}

const struct tpd_cpu_ops tpd_cpu_portable = {"portable", {fill_1, fill_2, fill_4, fill_8, fill_16}, lines, publish};

const struct tpd_cpu_ops *tpd_cpu_ops(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return &tpd_cpu_avx2;
#endif
    return &tpd_cpu_portable;
}
