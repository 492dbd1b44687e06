/* staged.h -- memory staged as it lies, for the strategies that do so: how their kernels reach it (no guard: see kernel.h).
 *
 * Depends on ITEMSIZE, and on SHAPE: where that is odd the staged words are padded by a unit each line of 128 bytes.
 */
#undef STAGED
#undef STAGED4
#undef UNIT_ITEM
#undef UNIT_LOAD
#undef UNIT_STORE
#undef UNIT_WORD
#undef UNIT_WITH
#undef RECORDS_LOAD
#undef RECORDS_STORE

/* Where word `number` lies. */
#define STAGED(number) tpd_staged(number, ITEMSIZE, SHAPE % 2 != 0)
/* The same of unit `number`, of 4 bytes, as the place of SHARED_LOAD4. */
#define STAGED4(number) tpd_staged(number, 4, SHAPE % 2 != 0)
/* A unit of a row, and word n of it. */
#if ITEMSIZE < 4
#define UNIT_ITEM uint32_t
#define UNIT_LOAD GLOBAL_LOAD4
#define UNIT_STORE GLOBAL_STORE4
#define UNIT_WORD(unit, n) ((ITEM)((unit) >> 8 * ITEMSIZE * (n)))
#define UNIT_WITH(unit, n, word) ((unit) | (uint32_t)(word) << 8 * ITEMSIZE * (n))
#else
#define UNIT_ITEM ITEM
#define UNIT_LOAD GLOBAL_LOAD
#define UNIT_STORE GLOBAL_STORE
#define UNIT_WORD(unit, n) (unit)
#define UNIT_WITH(unit, n, word) (word)
#endif
/* A vector of the staged records, whose first word is number `word`: padding parts it. */
#if SHAPE % 2 == 0 || ITEMSIZE == 16
#define RECORDS_LOAD(vector, number) (vector) = SHARED_LOAD16(STAGED(number) / TPD_VECTOR_ITEMS(ITEMSIZE))
#define RECORDS_STORE(number, vector) SHARED_STORE16(STAGED(number) / TPD_VECTOR_ITEMS(ITEMSIZE), vector)
#elif ITEMSIZE == 8
#define RECORDS_LOAD(vector, number)                              \
    TPD_UNROLL_ALL for (uint32_t half = 0; half < 2; half++) {    \
        const uint64_t word = SHARED_LOAD(STAGED(number) + half); \
        (vector).word[2 * half] = (uint32_t)word;                 \
        (vector).word[2 * half + 1] = (uint32_t)(word >> 32);     \
    }
#define RECORDS_STORE(number, vector)                        \
    TPD_UNROLL_ALL for (uint32_t half = 0; half < 2; half++) \
        SHARED_STORE(STAGED(number) + half, (uint64_t)(vector).word[2 * half + 1] << 32 | (vector).word[2 * half])
#else
#define RECORDS_LOAD(vector, number)                                              \
    TPD_UNROLL_ALL for (uint32_t unit = 0; unit < 4; unit++)(vector).word[unit] = \
        SHARED_LOAD4(STAGED(number) / TPD_UNIT_WORDS(ITEMSIZE) + unit)
#define RECORDS_STORE(number, vector)                        \
    TPD_UNROLL_ALL for (uint32_t unit = 0; unit < 4; unit++) \
        SHARED_STORE4(STAGED(number) / TPD_UNIT_WORDS(ITEMSIZE) + unit, (vector).word[unit])
#endif
