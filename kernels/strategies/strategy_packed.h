/* strategy_packed.h -- many small matrices: a block stages whole ones as they lie in memory, and collects their transposes.
 *
 * Input and output of a batch are the same run of memory: what moves stays within its matrix. So both global sides go along that
 * run, 16 bytes a load and a unit of 4 bytes, or a word where that is more, a store; whatever the shape. Each word of the output
 * is looked for in the staged matrices. Neighbouring lanes look as many units apart as a row has words: free of conflicts
 * where that is odd. Where it is even (shape 1) each line of 128 bytes is padded by a unit (staged.h).
 */
#ifndef KERNEL
#define SHAPES_PACKED 2
#define THREADS_PACKED(itemsize, shape) 256u
#define RESIDENT_PACKED(itemsize, shape) 1
#elif TILE_IS_OWN && SHAPE < SHAPES_PACKED

#include "kernels/strategies/staged.h"

KERNEL_OWN(PACKED) {
    enum { V = TPD_VECTOR_ITEMS(ITEMSIZE), UNIT = TPD_UNIT_WORDS(ITEMSIZE), HANDS = THREADS_PACKED(ITEMSIZE, SHAPE) };
    const uint32_t rows = (uint32_t)grid.rows, cols = (uint32_t)grid.cols, words = grid.words;
    const uint64_t begin = BLOCK * grid.chunk * rows * cols * words, left = grid.moves - begin;
    const uint32_t count = left < (uint64_t)grid.chunk * rows * cols * words ? (uint32_t)left : grid.chunk * rows * cols * words;
    const uint32_t lift = (uint32_t)begin % V;
    TILE_VECTORS();
    PHASE(thread) {
        const uint32_t parts = (lift + count + V - 1) / V; /* also a place for what is not wanted */
        UNROLL for (uint32_t turn = 0; turn * HANDS < parts; turn++) {
            const uint32_t part = turn * HANDS + thread;
            const bool inside = part < parts && begin - lift + part * V + V <= grid.moves;
            const struct tpd_vector loaded = GLOBAL_LOAD16(inside, begin - lift + part * V);
            RECORDS_STORE((inside ? part : parts) * V, loaded);
        }
        /* The input's last words, where they are no whole vector. */
        if (V > 1 && begin + count > grid.moves / V * V) {
            const uint64_t item = grid.moves / V * V + thread;
            const bool wanted = item >= begin && item < begin + count;
            const uint32_t place = wanted ? lift + (uint32_t)(item - begin) : parts * V;
            SHARED_STORE(STAGED(place), GLOBAL_LOAD(wanted, item));
        }
    }
    BARRIER();
    PHASE(thread) {
        const uint32_t of_items = tpd_reciprocal(rows * cols), of_rows = tpd_reciprocal(rows);
        const uint32_t early = (uint32_t)begin % UNIT, units = (early + count + UNIT - 1) / UNIT;
        UNROLL for (uint32_t turn = 0; turn * HANDS < units; turn++) {
            const uint32_t unit = turn * HANDS + thread;
            const bool inside = unit * UNIT >= early && unit * UNIT - early + UNIT <= count;
            const uint32_t from = inside ? unit * UNIT - early : 0;
            UNIT_ITEM collected = {0};
            TPD_UNROLL_ALL for (uint32_t n = 0; n < UNIT; n++) {
                const uint32_t word = from + n, item = words == 1 ? word : word / words;
                const uint32_t matrix = tpd_multiply_high(item, of_items) * rows * cols, rest = item - matrix;
                const uint32_t col = tpd_multiply_high(rest, of_rows), row = rest - col * rows;
                const uint32_t place = lift + (matrix + row * cols + col) * words + (word - item * words);
                collected = UNIT_WITH(collected, n, SHARED_LOAD(STAGED(place)));
            }
            UNIT_STORE(inside, begin - early + unit * UNIT, collected);
        }
        /* The units in which the block's words begin and end, where they are not whole. */
        if (UNIT > 1 && (early != 0 || (early + count) % UNIT != 0)) {
            const bool head = thread < UNIT;
            const uint32_t at = (head ? 0 : (early + count) / UNIT * UNIT) + thread % UNIT;
            /* One unit may hold both ends: the first has it. */
            const bool twice = !head && early != 0 && (early + count) / UNIT == 0;
            const bool cut = head ? early != 0 : (early + count) % UNIT != 0;
            const bool wanted = thread < 2 * UNIT && cut && !twice && at >= early && at - early < count;
            const uint32_t word = wanted ? at - early : 0, item = words == 1 ? word : word / words;
            const uint32_t matrix = tpd_multiply_high(item, of_items) * rows * cols, rest = item - matrix;
            const uint32_t col = tpd_multiply_high(rest, of_rows), row = rest - col * rows;
            const uint32_t place = lift + (matrix + row * cols + col) * words + (word - item * words);
            GLOBAL_STORE(wanted, begin - early + at, SHARED_LOAD(STAGED(place)));
        }
    }
}

#endif
