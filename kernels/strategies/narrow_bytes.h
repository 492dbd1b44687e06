/* narrow_bytes.h -- a unit of every row <-> a run of records, in registers, for items of 1 and 2 bytes (no guard:
 * strategy_narrow.h includes it in the middle of its kernel).
 *
 * A unit has UNIT items, so UNIT records, and these are `few` units, from number `run` of the staged ones on: record c begins
 * c * few items after. Rows are taken UNIT at a time, a square of items that is transposed to UNIT pieces, each a unit long, of
 * UNIT records. Where record c begins within a unit its pieces are shifted there; the unit in which it begins ends the record
 * before it.
 */
#if SHAPE < 2 && ITEMSIZE == 2
{
    /* The first items of the units, in pairs; then the second ones: with an odd `few` the first record ends half a unit. */
    const uint32_t half = few / 2 + few % 2;
    const uint32_t head = GLOBAL_LOAD4(inside, at);
    uint32_t left = head, second = GLOBAL_LOAD4(inside && few > 1, at + row_words);
    uint32_t third = GLOBAL_LOAD4(inside && few > 2, at + 2 * row_words);
    TPD_UNROLL_NONE for (uint32_t k = 0; k < few / 2; k++) {
        const uint32_t right = second, next = third, row = 2 * k + 3;
        second = GLOBAL_LOAD4(inside && row < few, at + row * row_words);
        third = GLOBAL_LOAD4(inside && row + 1 < few, at + (row + 1) * row_words);
        SHARED_STORE4(STAGED4(run + k), tpd_permute(left, right, 0x5410));
        SHARED_STORE4(STAGED4(run + half + k),
                      few % 2 != 0 ? tpd_permute(right, next, 0x7632) : tpd_permute(left, right, 0x7632));
        left = next;
    }
    if (few % 2 != 0)
        SHARED_STORE4(STAGED4(run + half - 1), tpd_permute(left, head, 0x7610));
}
#elif SHAPE < 2
if (few == 3) {
    const uint32_t a = GLOBAL_LOAD4(inside, at), b = GLOBAL_LOAD4(inside, at + row_words),
                   c = GLOBAL_LOAD4(inside, at + 2 * row_words);
    const uint32_t ab01 = tpd_permute(a, b, 0x5140), ab23 = tpd_permute(a, b, 0x7362);
    SHARED_STORE4(STAGED4(run), tpd_permute(ab01, c, 0x2410));
    SHARED_STORE4(STAGED4(run + 1), tpd_permute(tpd_permute(ab01, c, 0x0053), ab23, 0x5410));
    SHARED_STORE4(STAGED4(run + 2), tpd_permute(c, ab23, 0x3762));
} else if (few <= 4) {
    uint32_t w[4];
    TPD_UNROLL_ALL for (uint32_t r = 0; r < 4; r++) w[r] = GLOBAL_LOAD4(inside && r < few, at + r * row_words);
    tpd_transpose_bytes(&w[0], &w[1], &w[2], &w[3]);
    if (few == 1) {
        SHARED_STORE4(STAGED4(run), w[0] | w[1] << 8 | w[2] << 16 | w[3] << 24);
    } else if (few == 2) {
        SHARED_STORE4(STAGED4(run), w[0] | w[1] << 16);
        SHARED_STORE4(STAGED4(run + 1), w[2] | w[3] << 16);
    } else {
        TPD_UNROLL_ALL for (uint32_t c = 0; c < 4; c++) SHARED_STORE4(STAGED4(run + c), w[c]);
    }
} else if (few <= 8) {
    /* All eight rows are on their way at once. */
    const uint32_t rest = few - 4;
    uint32_t first[4], second[4], begun[5];
    TPD_UNROLL_ALL for (uint32_t c = 0; c < 4; c++) first[c] = GLOBAL_LOAD4(inside, at + c * row_words);
    TPD_UNROLL_ALL for (uint32_t c = 0; c < 4; c++) second[c] = GLOBAL_LOAD4(inside && c < rest, at + (4 + c) * row_words);
    tpd_transpose_bytes(&first[0], &first[1], &first[2], &first[3]);
    tpd_transpose_bytes(&second[0], &second[1], &second[2], &second[3]);
    TPD_UNROLL_ALL for (uint32_t c = 0; c < 4; c++) begun[c] = tpd_shift_left(0, first[c], c * few % 4 * 8);
    begun[4] = 0;
    TPD_UNROLL_ALL for (uint32_t c = 0; c < 4; c++) {
        /* A record of `few` bytes, from `off` of its first unit on: two units and, where it reaches so far, a third. */
        const uint32_t off = c * few % 4, unit_of = c * few / 4;
        const uint32_t last = tpd_shift_left(first[c], second[c], off * 8), over = tpd_shift_left(second[c], 0, off * 8);
        if (off == 0)
            SHARED_STORE4(STAGED4(run + unit_of), begun[c]);
        SHARED_STORE4(STAGED4(run + unit_of + 1), rest + off < 4 ? last | begun[c + 1] : last);
        if (rest + off > 4)
            SHARED_STORE4(STAGED4(run + unit_of + 2), over | begun[c + 1]);
    }
} else {
    const uint32_t groups = (few + 3) / 4, rest = few - 4 * (groups - 1); /* rest: items of a record's last piece */
    uint32_t piece[4], before[4], begun[4];
    uint64_t from = at;
    TPD_UNROLL_ALL for (uint32_t c = 0; c < 4; c++) before[c] = begun[c] = 0;
    TPD_UNROLL_NONE for (uint32_t group = 0; group < groups; group++) {
        TPD_UNROLL_ALL for (uint32_t c = 0; c < 4; c++) {
            piece[c] = GLOBAL_LOAD4(inside && 4 * group + c < few, from);
            from += row_words;
        }
        tpd_transpose_bytes(&piece[0], &piece[1], &piece[2], &piece[3]);
        if (group + 1 < groups) {
            TPD_UNROLL_ALL for (uint32_t c = 0; c < 4; c++) {
                const uint32_t off = c * few % 4, unit_of = c * few / 4 + group;
                const uint32_t joined = tpd_shift_left(before[c], piece[c], off * 8);
                if (group == 0 && off != 0)
                    begun[c] = joined;
                else
                    SHARED_STORE4(STAGED4(run + unit_of), joined);
                before[c] = piece[c];
            }
        }
    }
    TPD_UNROLL_ALL for (uint32_t c = 0; c < 4; c++) {
        const uint32_t off = c * few % 4, unit_of = c * few / 4 + groups - 1, follows = c < 3 ? begun[c < 3 ? c + 1 : 0] : 0;
        const uint32_t last = tpd_shift_left(before[c], piece[c], off * 8), over = tpd_shift_left(piece[c], 0, off * 8);
        SHARED_STORE4(STAGED4(run + unit_of), rest + off < 4 ? last | follows : last);
        if (rest + off > 4)
            SHARED_STORE4(STAGED4(run + unit_of + 1), over | follows);
    }
}
#else
{
    const uint32_t groups = (few + UNIT - 1) / UNIT;
    uint32_t have[UNIT];
    TPD_UNROLL_ALL for (uint32_t c = 0; c < UNIT; c++) have[c] = SHARED_LOAD4(STAGED4(run + c * few / UNIT));
    TPD_UNROLL_NONE for (uint32_t group = 0; group < groups; group++) {
        uint32_t w[4];
        TPD_UNROLL_ALL for (uint32_t c = 0; c < UNIT; c++) {
            const uint32_t next = SHARED_LOAD4(STAGED4(run + c * few / UNIT + group + 1));
            w[c] = tpd_shift_right(have[c], next, c * few % UNIT * ITEMSIZE * 8);
            have[c] = next;
        }
#if ITEMSIZE == 1
        tpd_transpose_bytes(&w[0], &w[1], &w[2], &w[3]);
#else
        w[2] = w[0];
        w[0] = tpd_permute(w[2], w[1], 0x5410);
        w[1] = tpd_permute(w[2], w[1], 0x7632);
#endif
        TPD_UNROLL_ALL for (uint32_t c = 0; c < UNIT; c++) {
            const uint32_t row = group * UNIT + c;
            GLOBAL_STORE4(inside && row < few, at + row * row_words, w[c]);
        }
    }
}
#endif
