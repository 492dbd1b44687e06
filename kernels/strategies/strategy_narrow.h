/* strategy_narrow.h -- few rows or few columns, records <-> rows: whole records are staged as they lie in memory.
 *
 * One side of such a transpose is records: `few` items each, one record after the other, a run of memory without a gap. The
 * other is `few` long rows. A block takes a chunk of every row, and the records of those items.
 *   Shapes 0 and 1, rows in: each row's chunk is loaded along the row, and its words are put where they lie in their records;
 *   the records leave 16 bytes an access.
 *   Shapes 2 and 3, rows out: the records come 16 bytes an access, and each row's words are collected from them.
 * Row accesses move a unit: 4 bytes, or a word where that is more. Neighbouring lanes have neighbouring units of a row, whose
 * words lie in shared memory as many units apart as a record has words: free of conflicts where that is odd. Where it is even
 * (shapes 1 and 3) each line of 128 bytes is padded by a unit (staged.h).
 *
 * Items below 4 bytes, in rows that begin at units: a thread takes the same unit of every row, and so a few neighbouring records,
 * which are a run of as many whole units. It turns one into the other in registers (narrow_bytes.h) and never touches single
 * words. Else, rows begin anywhere. A loaded row is loaded from where memory begins a unit; what comes too early or too late is
 * put into the records before and after, which nobody stores. A stored row is cut where memory begins a sector of 32 bytes, as
 * `shifted` does: chunks begin `late` words before their place, and a block loads the records of SECTOR words more. The ends of
 * rows and of the records, where they are no whole unit or vector, are moved word by word.
 */
#ifndef KERNEL
#define SHAPES_NARROW 4
#define THREADS_NARROW(itemsize, shape) 256u /* the most */
/* Warps that wait for memory in turn are its speed; records of 16-byte items are better waited for eight at once. */
#define EIGHTHS_NARROW_(itemsize, shape) \
    ((itemsize) == 16 && (shape) >= 2 ? 4 : (itemsize) == 1 && (shape) < 2 ? TPD_RESIDENT_EIGHTHS : 8)
#define RESIDENT_NARROW(itemsize, shape) (TPD_RESIDENT_THREADS * EIGHTHS_NARROW_(itemsize, shape) / 8 / 256)
#elif TILE_IS_OWN && SHAPE < SHAPES_NARROW

#include "kernels/strategies/staged.h"

KERNEL_OWN(NARROW) {
    enum { V = TPD_VECTOR_ITEMS(ITEMSIZE), UNIT = TPD_UNIT_WORDS(ITEMSIZE), SECTOR = 32 / ITEMSIZE, ROWS_IN = SHAPE < 2 };
    const uint32_t few = (uint32_t)(ROWS_IN ? grid.rows : grid.cols), words = grid.words;
    const uint64_t row_words = (ROWS_IN ? grid.cols : grid.rows) * words;
    uint64_t chunk;
    const uint64_t matrix = tpd_divide(BLOCK, grid.tiles_down * grid.tiles_across, &chunk);
    const uint64_t begin = chunk * grid.chunk, rows_first = matrix * few * row_words + begin;
    const uint32_t turns = 1u << grid.turns_log2;
    TILE_VECTORS();
#if SHAPE < 2
    const bool whole = row_words - begin >= grid.chunk;
    const uint32_t count = whole ? grid.chunk : (uint32_t)(row_words - begin);
    const uint64_t out_first = matrix * few * row_words + begin * few, out_end = out_first + count * few;
    /* Records for what comes too early; then the records, which lie in their parts as they will in memory. */
    const uint32_t early = tpd_round_up(UNIT - 1, words), margin = tpd_round_up(early * few, V);
    const uint32_t records = margin + (uint32_t)out_first % V;
#if ITEMSIZE >= 4
    if (words == 1) {
        PHASE(thread) {
            uint32_t row = 0, unit = thread;
            uint64_t at = rows_first;
            UNROLL for (uint32_t round = 0; round < few << grid.turns_log2; round++) {
                SHARED_STORE(STAGED(records + unit * few + row), GLOBAL_LOAD(whole || unit < count, at + unit));
                const bool is_last = ++row == few;
                row = is_last ? 0 : row;
                at = is_last ? rows_first : at + row_words;
                unit += is_last ? grid.hands : 0;
            }
        }
        BARRIER();
    } else
#else
    if (words == 1 && row_words % UNIT == 0) {
        PHASE(thread) {
            TPD_UNROLL_NONE for (uint32_t turn = 0; turn < turns; turn++) {
                const uint32_t unit = turn * grid.hands + thread, run = records / UNIT + unit * few;
                const bool inside = whole || unit * UNIT < count;
                const uint64_t at = rows_first + unit * UNIT;
#include "kernels/strategies/narrow_bytes.h"
            }
        }
        BARRIER();
    } else
#endif
    {
        const uint32_t lift = records - early * few;
        PHASE(thread) {
            TPD_UNROLL_NONE for (uint32_t round = 0; round < few << grid.turns_log2; round++) {
                const uint32_t row = round >> grid.turns_log2, unit = (round & (turns - 1)) * grid.hands + thread;
                const uint64_t at = rows_first + row * row_words;
                const uint32_t late = (uint32_t)at % UNIT;
                const uint64_t from = at - late + unit * UNIT;
                const bool inside = unit * UNIT < count + late && from + UNIT <= grid.moves;
                const UNIT_ITEM loaded = UNIT_LOAD(inside, from);
                TPD_UNROLL_ALL for (uint32_t n = 0; n < UNIT; n++) {
                    const uint32_t word = unit * UNIT + n + early - late, item = words == 1 ? word : word / words;
                    const uint32_t place = lift + (item * few + row) * words + (word - item * words);
                    SHARED_STORE(STAGED(place), UNIT_WORD(loaded, n));
                }
            }
        }
        BARRIER();
        /* The input's last words, where they are no whole unit. */
        const uint64_t tail = grid.moves / UNIT * UNIT, in_matrix = matrix * few * row_words;
        if (tail != grid.moves && in_matrix + few * row_words > tail && begin + count + UNIT > row_words) {
            PHASE(thread) {
                const uint64_t at = tail + thread;
                uint64_t word;
                const uint64_t row = tpd_divide(at - in_matrix, row_words, &word);
                const bool wanted = at >= in_matrix && at < grid.moves && word >= begin && word - begin < count;
                const uint32_t from = wanted ? (uint32_t)(word - begin) + early : 0, item = from / words;
                const uint32_t place = wanted ? lift + (item * few + (uint32_t)row) * words + (from - item * words) : 0;
                SHARED_STORE(STAGED(place), GLOBAL_LOAD(wanted, at));
            }
            BARRIER();
        }
    }
    PHASE(thread) {
        const uint64_t first = out_first / V * V;
        /* Vectors that the records fill: from `filled` to before `parts`. */
        const uint32_t filled = out_first % V != 0 ? 1 : 0, parts = (uint32_t)(out_end / V - first / V);
        UNROLL for (uint32_t turn = 0; turn * grid.hands < parts; turn++) {
            const uint32_t vector = turn * grid.hands + thread;
            const bool inside = vector >= filled && vector < parts;
            struct tpd_vector part;
            RECORDS_LOAD(part, margin + (inside ? vector : 0) * V);
            GLOBAL_STORE16(inside, first + vector * V, part);
        }
        if (V > 1 && (out_first % V != 0 || out_end % V != 0)) {
            const bool head = thread < V, other = thread < 2 * V;
            const uint64_t at = (head ? first : out_end / V * V) + thread % V;
            /* One vector may hold both ends: the first has it. */
            const bool twice = !head && first == out_end / V * V && out_first % V != 0;
            const bool cut = head ? out_first % V != 0 : out_end % V != 0;
            const bool wanted = other && cut && !twice && at >= out_first && at < out_end;
            const uint32_t place = wanted ? margin + (uint32_t)(at - first) : margin;
            GLOBAL_STORE(wanted, at, SHARED_LOAD(STAGED(place)));
        }
    }
#else
    const uint64_t low = (begin > SECTOR ? begin - SECTOR : 0) / words; /* the first item of each row that is staged */
    const uint64_t high = begin + grid.chunk < row_words ? (begin + grid.chunk + words - 1) / words : grid.rows;
    const uint64_t in_first = (matrix * grid.rows + low) * few * words, in_end = (matrix * grid.rows + high) * few * words;
    const uint32_t lift = (uint32_t)in_first % V, skipped = (uint32_t)(begin - low * words);
    PHASE(thread) {
        enum { AT_ONCE = ITEMSIZE == 16 ? 8 : 4 }; /* loads that are on their way before the first is stored */
        const uint64_t first = in_first - lift, tail = grid.moves / V * V;
        const uint32_t parts = (uint32_t)((in_end - first + V - 1) / V); /* also a place for what is not wanted */
        const uint32_t loads = in_end > tail ? (uint32_t)((tail - first) / V) : parts;
        for (uint32_t turn = 0; turn * grid.hands < loads; turn += AT_ONCE) {
            struct tpd_vector part[AT_ONCE];
            TPD_UNROLL_ALL for (uint32_t n = 0; n < AT_ONCE; n++) {
                const uint32_t vector = (turn + n) * grid.hands + thread;
                part[n] = GLOBAL_LOAD16(vector < loads, first + vector * V);
            }
            TPD_UNROLL_ALL for (uint32_t n = 0; n < AT_ONCE; n++) {
                const uint32_t vector = (turn + n) * grid.hands + thread;
                RECORDS_STORE((vector < loads ? vector : parts) * V, part[n]);
            }
        }
        /* The input's last words, where they are no whole vector. */
        if (V > 1 && in_end > tail) {
            const uint64_t item = tail + thread;
            const uint32_t place = item < in_end ? (uint32_t)(item - first) : parts * V;
            SHARED_STORE(STAGED(place), GLOBAL_LOAD(item < in_end, item));
        }
    }
    BARRIER();
#if ITEMSIZE >= 4
    if (words == 1) {
        const uint32_t reach = (uint32_t)(high - low); /* staged items of a row */
        PHASE(thread) {
            if (row_words % SECTOR == 0) { /* no row begins late */
                TPD_UNROLL_NONE for (uint32_t turn = 0; turn < turns; turn++) {
                    const uint32_t unit = turn * grid.hands + thread, from = skipped + unit;
                    const bool inside = from < reach;
                    const uint32_t record = lift + (inside ? from : 0) * few;
                    uint64_t at = rows_first + unit;
                    UNROLL for (uint32_t row = 0; row < few; row++) {
                        GLOBAL_STORE(inside, at, SHARED_LOAD(STAGED(record + row)));
                        at += row_words;
                    }
                }
            } else {
                UNROLL for (uint32_t round = 0; round < few << grid.turns_log2; round++) {
                    const uint32_t row = round >> grid.turns_log2, unit = (round & (turns - 1)) * grid.hands + thread;
                    const uint64_t at = rows_first + row * row_words;
                    const uint32_t late = (uint32_t)at % SECTOR, from = skipped + unit - late;
                    const bool inside = from < reach; /* below 0, numbers come round again */
                    GLOBAL_STORE(inside, at + unit - late, SHARED_LOAD(STAGED(lift + (inside ? from : 0) * few + row)));
                }
            }
        }
    } else
#else
    if (words == 1 && row_words % UNIT == 0) {
        const bool whole = begin + grid.chunk <= row_words;
        PHASE(thread) {
            TPD_UNROLL_NONE for (uint32_t turn = 0; turn < turns; turn++) {
                const uint32_t unit = turn * grid.hands + thread;
                const bool inside = whole || begin + unit * UNIT < row_words;
                const uint32_t run = (lift + (inside ? skipped + unit * UNIT : 0) * few) / UNIT;
                const uint64_t at = rows_first + unit * UNIT;
#include "kernels/strategies/narrow_bytes.h"
            }
        }
    } else
#endif
    {
        PHASE(thread) {
            UNROLL for (uint32_t round = 0; round < few << grid.turns_log2; round++) {
                const uint32_t row = round >> grid.turns_log2, unit = (round & (turns - 1)) * grid.hands + thread;
                const uint64_t out_row = (matrix * few + row) * row_words, ahead = begin + unit * UNIT;
                const uint32_t late = (uint32_t)(out_row + begin) % SECTOR;
                const bool inside = ahead >= late && ahead - late + UNIT <= row_words;
                const uint32_t from = inside ? skipped + unit * UNIT - late : 0;
                UNIT_ITEM collected = {0};
                TPD_UNROLL_ALL for (uint32_t n = 0; n < UNIT; n++) {
                    const uint32_t word = from + n, item = words == 1 ? word : word / words;
                    const uint32_t place = lift + (item * few + row) * words + (word - item * words);
                    collected = UNIT_WITH(collected, n, SHARED_LOAD(STAGED(place)));
                }
                UNIT_STORE(inside, out_row + ahead - late, collected);
            }
            /* The units in which a row begins and ends, where they are not whole. */
            if (UNIT > 1 && (chunk == 0 || begin + grid.chunk + SECTOR > row_words)) {
                for (uint32_t turn = 0; turn * grid.hands < few * 2 * UNIT; turn++) {
                    const uint32_t n = turn * grid.hands + thread, row = n / (2 * UNIT) % few;
                    const uint64_t out_row = (matrix * few + row) * row_words;
                    const uint32_t late = (uint32_t)(out_row + begin) % SECTOR;
                    const bool head = n / UNIT % 2 == 0;
                    const uint64_t cut = (head ? out_row : out_row + row_words) / UNIT * UNIT + n % UNIT, word = cut - out_row;
                    const bool even = (head ? out_row : out_row + row_words) % UNIT == 0;
                    /* One unit may hold both ends: the first has it. */
                    const bool twice = !head && out_row % UNIT != 0 && out_row / UNIT == (out_row + row_words) / UNIT;
                    const bool wanted = n < few * 2 * UNIT && !even && !twice && cut >= out_row && word < row_words &&
                                        word + late >= begin && word + late - begin < grid.chunk;
                    const uint32_t from = wanted ? (uint32_t)(word - low * words) : 0, item = from / words;
                    const uint32_t place = lift + (item * few + row) * words + (from - item * words);
                    GLOBAL_STORE(wanted, cut, SHARED_LOAD(STAGED(place)));
                }
            }
        }
    }
#endif
}

#endif
