/* shifted_phases.h -- what a block of `shifted` does (no guard: strategy_shifted.h includes it in the middle of its kernel).
 *
 * With IS_WHOLE the tile lies within the matrix, and so does what it loads beside it: INSIDE() asks nothing.
 */
PHASE(thread) {
    struct tpd_vector square[SQUARES][V];
    TPD_UNROLL_ALL for (uint32_t s = 0; s < SQUARES; s++) {
        const uint32_t k = s * HANDS + thread, row = k / ACROSS * V, col = k % ACROSS * V;
        uint64_t at = in_first + row * grid.cols + col;
        TPD_UNROLL_ALL for (uint32_t n = 0; n < V; n++) {
            const bool inside = INSIDE(row + n >= first && row + n < end && col < cols);
#if ITEMSIZE == 16
            square[s][n] = GLOBAL_LOAD16(inside, at);
#elif ITEMSIZE == 8
            const uint64_t low = GLOBAL_LOAD(inside, at), high = GLOBAL_LOAD(inside && INSIDE(at + 1 < grid.moves), at + 1);
            square[s][n].word[0] = (uint32_t)low;
            square[s][n].word[1] = (uint32_t)(low >> 32);
            square[s][n].word[2] = (uint32_t)high;
            square[s][n].word[3] = (uint32_t)(high >> 32);
#else
            const uint32_t shift = (uint32_t)at % HALF;
            uint64_t half[3];
            TPD_UNROLL_ALL for (uint32_t h = 0; h < 3; h++) half[h] =
                GLOBAL_LOAD8(inside && INSIDE(at - shift + (h + 1) * HALF <= grid.moves), at - shift + h * HALF);
            square[s][n] = tpd_vector_among(half, shift * ITEMSIZE, ITEMSIZE);
#endif
            at += grid.cols;
        }
    }
    TPD_UNROLL_ALL for (uint32_t s = 0; s < SQUARES; s++) {
        const uint32_t k = s * HANDS + thread, chunk = k / ACROSS, col = k % ACROSS * V;
        tpd_transpose_block(square[s], ITEMSIZE);
        TPD_UNROLL_ALL for (uint32_t n = 0; n < V; n++)
            SHARED_STORE16(tpd_place_vector(col + n, chunk, CHUNKS, ACROSS, ITEMSIZE), square[s][n]);
    }
}
BARRIER();
#if !IS_WHOLE && ITEMSIZE < 8
/* The input's last items, where they are no whole half: one tile has them, or two. */
const uint64_t tail = grid.moves / HALF * HALF;
if (tail != grid.moves && (matrix * grid.rows + above + end) * grid.cols > tail) {
    PHASE(thread) {
        const uint64_t item = tail + thread;
        uint64_t begins = (matrix * grid.rows + above + end - 1) * grid.cols;
        uint32_t row = end - 1;
        /* A row has a single item at least, so that fewer than a half's lie in fewer rows. */
        for (uint32_t n = 1; n < HALF && item < begins; n++) {
            begins -= grid.cols;
            row--;
        }
        const uint64_t col = item - begins - left;
        const bool wanted = item < grid.moves && row >= first && row < end && col < cols;
        const uint32_t r = row % LOADED, c = (uint32_t)col % COLS;
        const uint32_t place = tpd_place_vector(c, r / V, CHUNKS, ACROSS, ITEMSIZE) * V + r % V;
        SHARED_STORE(wanted ? place : NOWHERE, GLOBAL_LOAD(wanted, item));
    }
    BARRIER();
}
#endif
PHASE(thread) {
    /* A thread has the same place in each of its columns. */
    const uint32_t j = thread % CHUNKS * V;
    uint64_t out_row = out_first + thread / CHUNKS * grid.rows;
    TPD_UNROLL_ALL for (uint32_t n = 0; n < VECTORS; n++) {
        /* LATE_MOST divides `above`. */
        const uint32_t col = n * (HANDS / CHUNKS) + thread / CHUNKS, begins = LATE_MOST - (uint32_t)out_row % LATE_MOST;
        const uint32_t row = j + begins, low = row / V % CHUNKS, high = (low + 1) % CHUNKS;
        const bool inside = j < ROWS && INSIDE(col < cols && row >= first && row + V <= end);
        struct tpd_vector part = SHARED_LOAD16(tpd_place_vector(col, low, CHUNKS, ACROSS, ITEMSIZE));
#if ITEMSIZE == 8
        /* Of the next vector the first item is enough, and takes as many wavefronts as all of it: lanes meet every other two
         * banks. */
        const struct tpd_vector after = SHARED_LOAD_HALF(tpd_place_vector(col, high, CHUNKS, ACROSS, ITEMSIZE));
        part = tpd_vector_between(part, after, begins % V * ITEMSIZE, ITEMSIZE);
#elif ITEMSIZE < 8
        const struct tpd_vector after = SHARED_LOAD16(tpd_place_vector(col, high, CHUNKS, ACROSS, ITEMSIZE));
        part = tpd_vector_between(part, after, begins % V * ITEMSIZE, ITEMSIZE);
#else
        (void)high;
#endif
        GLOBAL_STORE16(inside, out_row + row, part);
        out_row += HANDS / CHUNKS * grid.rows;
    }
#if !IS_WHOLE && ITEMSIZE < 16
    /* The vectors in which an output row begins and ends, where they are not whole. */
    if (down == 0 || end < LOADED) {
        TPD_UNROLL_NONE for (uint32_t edge = 0; edge < 2; edge++) {
            TPD_UNROLL_NONE for (uint32_t col = thread; col - thread < COLS; col += HANDS) {
                const uint64_t out_col = out_first + col * grid.rows;
                const uint32_t begins = LATE_MOST - (uint32_t)out_col % LATE_MOST, row = edge == 0 ? first : end - 1;
                const uint32_t last = (row - begins) / V * V, at = begins + last;
                const bool both = edge == 1 && down == 0 && (first - begins) / V * V == last;
                const bool cut = col < cols && row >= begins && last < ROWS && (at < first || at + V > end);
#if ITEMSIZE < 4
                /* In whole words, and the word in which the row begins or ends item by item. */
                const uint32_t low = at / V % CHUNKS, high = (low + 1) % CHUNKS,
                               cut_word = ((edge == 0 ? first : end) - at) / UNIT;
                const struct tpd_vector part = tpd_vector_between(
                    SHARED_LOAD16(tpd_place_vector(col % COLS, low, CHUNKS, ACROSS, ITEMSIZE)),
                    SHARED_LOAD16(tpd_place_vector(col % COLS, high, CHUNKS, ACROSS, ITEMSIZE)), begins % V * ITEMSIZE, ITEMSIZE);
                uint32_t word = part.word[0];
                TPD_UNROLL_ALL for (uint32_t w = 0; w < 4; w++) {
                    const uint32_t row_of = at + w * UNIT;
                    GLOBAL_STORE4(cut && !both && row_of >= first && row_of + UNIT <= end, out_col + row_of, part.word[w]);
                    word = w == cut_word ? part.word[w] : word;
                }
                const uint32_t word_of = at + cut_word * UNIT;
                const bool is_stored =
                    cut_word == 4 || (word_of >= first && word_of + UNIT <= end) || (both && cut_word == (first - at) / UNIT);
                TPD_UNROLL_ALL for (uint32_t n = 0; n < UNIT; n++)
                    GLOBAL_STORE(cut && !is_stored && word_of + n >= first && word_of + n < end, out_col + word_of + n,
                                 (ITEM)(word >> 8 * ITEMSIZE * n));
#else
                TPD_UNROLL_ALL for (uint32_t n = 0; n < V; n++) {
                    const uint32_t r = (at + n) % LOADED;
                    const uint32_t place = tpd_place_vector(col % COLS, r / V, CHUNKS, ACROSS, ITEMSIZE) * V + r % V;
                    GLOBAL_STORE(cut && !both && at + n >= first && at + n < end, out_col + at + n, SHARED_LOAD(place));
                }
#endif
            }
        }
    }
#endif
}
