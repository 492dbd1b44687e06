/* vectors.h -- 16 bytes at a time in registers: what the strategies with 16-byte accesses do to items between them.
 *
 * Compiled by the C compiler and, for the device, by nvcc, which turns every loop here into registers and their names: all
 * counts and item sizes have to be constants there.
 */
#ifndef TPD_VECTORS_H
#define TPD_VECTORS_H

#include "kernels/strategies/geometry.h"

#ifdef __CUDA_ARCH__
#define TPD_UNROLL_ALL _Pragma("unroll")
#define TPD_UNROLL_NONE _Pragma("unroll 1")
#else
#define TPD_UNROLL_ALL
#define TPD_UNROLL_NONE
#endif

enum { TPD_VECTOR_BYTES = 16 };

struct tpd_vector {
    uint32_t word[4];
};

/* Items of half a vector. */
#define TPD_HALF_ITEMS(itemsize) ((itemsize) < 8 ? 8u / (itemsize) : 1u)

/* Items a vector. */
#define TPD_VECTOR_ITEMS(itemsize) (16u / (itemsize))

/* Words a unit, which is what a lane moves of a row: 4 bytes, or a word where that is more. */
#define TPD_UNIT_WORDS(itemsize) ((itemsize) < 4 ? 4u / (itemsize) : 1u)

/* The place of a word in memory that is staged as it lies, padded by a unit each line of 128 bytes or not at all. */
TPD_BOTH uint32_t tpd_staged(uint32_t word, uint32_t itemsize, bool padded) {
    return word + (padded ? word / (128 / itemsize) * TPD_UNIT_WORDS(itemsize) : 0);
}

/* Four of the eight bytes of low (0 to 3) and high (4 to 7): hexadecimal digit n of `select`, the lowest first, names byte n. */
TPD_BOTH uint32_t tpd_permute(uint32_t low, uint32_t high, uint32_t select) {
#ifdef __CUDA_ARCH__
    return __byte_perm(low, high, select);
#else
    const uint64_t bytes = (uint64_t)high << 32 | low;
    uint32_t result = 0;
    for (uint32_t n = 0; n < 4; n++)
        result |= (uint32_t)(bytes >> (select >> 4 * n & 7) * 8 & 0xff) << 8 * n;
    return result;
#endif
}

/* The lower word of high:low shifted right by `bits`, which are below 32. */
TPD_BOTH uint32_t tpd_shift_right(uint32_t low, uint32_t high, uint32_t bits) {
#ifdef __CUDA_ARCH__
    return __funnelshift_r(low, high, bits);
#else
    return (uint32_t)(((uint64_t)high << 32 | low) >> bits);
#endif
}

/* The higher word of high:low shifted left by `bits`, which are below 32. */
TPD_BOTH uint32_t tpd_shift_left(uint32_t low, uint32_t high, uint32_t bits) {
#ifdef __CUDA_ARCH__
    return __funnelshift_l(low, high, bits);
#else
    return (uint32_t)(((uint64_t)high << 32 | low) << bits >> 32);
#endif
}

/* Four words of four bytes: word n becomes byte n of each. */
TPD_BOTH void tpd_transpose_bytes(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d) {
    const uint32_t ab01 = tpd_permute(*a, *b, 0x5140), ab23 = tpd_permute(*a, *b, 0x7362);
    const uint32_t cd01 = tpd_permute(*c, *d, 0x5140), cd23 = tpd_permute(*c, *d, 0x7362);
    *a = tpd_permute(ab01, cd01, 0x5410);
    *b = tpd_permute(ab01, cd01, 0x7632);
    *c = tpd_permute(ab23, cd23, 0x5410);
    *d = tpd_permute(ab23, cd23, 0x7632);
}

TPD_BOTH void tpd_swap_words(uint32_t *a, uint32_t *b) {
    const uint32_t was = *a;
    *a = *b;
    *b = was;
}

/* The place, in vectors, of a chunk of a row of a transposed tile that has `chunks` a row, all powers of two: in line, XORed
 * within each line of 128 bytes with a key that counts the squares from left to right, of which there are `across`.
 *
 * A quarter of a warp, which is one phase of a 16-byte access, stores to `across` squares, or 8 of them, and takes further
 * chunks where those are fewer: keys keep as many chunks apart. It loads 8 neighbouring chunks of a row, or of the rows that
 * share a line and a key. So every phase meets the 8 chunks of a line once. (The row itself for a key: 16-way conflicts.) */
TPD_BOTH uint32_t tpd_place_vector(uint32_t row, uint32_t chunk, uint32_t chunks, uint32_t across, uint32_t itemsize) {
    return (row * chunks + chunk) ^ (row / TPD_VECTOR_ITEMS(itemsize) * (across < 8 ? 8 / across : 1) & 7);
}

/* Transposes a square of items, as many vectors as a vector has items: vector r is row r, and then column r.
 * Below a word first the items within words, in squares of words; then the words, which costs a GPU nothing. */
TPD_BOTH void tpd_transpose_block(struct tpd_vector *block, uint32_t itemsize) {
    if (itemsize == 1) {
        TPD_UNROLL_ALL for (uint32_t r = 0; r < 16; r += 4) {
            TPD_UNROLL_ALL for (uint32_t w = 0; w < 4; w++)
                tpd_transpose_bytes(&block[r].word[w], &block[r + 1].word[w], &block[r + 2].word[w], &block[r + 3].word[w]);
        }
        TPD_UNROLL_ALL for (uint32_t m = 0; m < 4; m++) {
            TPD_UNROLL_ALL for (uint32_t r = 0; r < 4; r++) {
                TPD_UNROLL_ALL for (uint32_t w = r + 1; w < 4; w++)
                    tpd_swap_words(&block[4 * r + m].word[w], &block[4 * w + m].word[r]);
            }
        }
    } else if (itemsize == 2) {
        TPD_UNROLL_ALL for (uint32_t r = 0; r < 8; r += 2) {
            TPD_UNROLL_ALL for (uint32_t w = 0; w < 4; w++) {
                const uint32_t even = block[r].word[w], odd = block[r + 1].word[w];
                block[r].word[w] = tpd_permute(even, odd, 0x5410);
                block[r + 1].word[w] = tpd_permute(even, odd, 0x7632);
            }
        }
        TPD_UNROLL_ALL for (uint32_t m = 0; m < 2; m++) {
            TPD_UNROLL_ALL for (uint32_t r = 0; r < 4; r++) {
                TPD_UNROLL_ALL for (uint32_t w = r + 1; w < 4; w++)
                    tpd_swap_words(&block[2 * r + m].word[w], &block[2 * w + m].word[r]);
            }
        }
    } else if (itemsize == 4) {
        TPD_UNROLL_ALL for (uint32_t r = 0; r < 4; r++) {
            TPD_UNROLL_ALL for (uint32_t w = r + 1; w < 4; w++) tpd_swap_words(&block[r].word[w], &block[w].word[r]);
        }
    } else if (itemsize == 8) {
        tpd_swap_words(&block[0].word[2], &block[1].word[0]);
        tpd_swap_words(&block[0].word[3], &block[1].word[1]);
    }
}

/* Bytes shift to shift + 15 of the 32 that low and high hold; shift below 16, a multiple of the item size. */
TPD_BOTH struct tpd_vector tpd_vector_between(struct tpd_vector low, struct tpd_vector high, uint32_t shift, uint32_t itemsize) {
    uint32_t word[8] = {low.word[0],  low.word[1],  low.word[2],  low.word[3],
                        high.word[0], high.word[1], high.word[2], high.word[3]};
    struct tpd_vector result;
    if (itemsize <= 8) {
        TPD_UNROLL_ALL for (uint32_t n = 0; n < 6; n++) word[n] = (shift & 8) != 0 ? word[n + 2] : word[n];
    }
    if (itemsize <= 4) {
        TPD_UNROLL_ALL for (uint32_t n = 0; n < 5; n++) word[n] = (shift & 4) != 0 ? word[n + 1] : word[n];
    }
    TPD_UNROLL_ALL for (uint32_t n = 0; n < 4; n++) {
        if (itemsize >= 4)
            result.word[n] = word[n];
        else
            result.word[n] = tpd_shift_right(word[n], word[n + 1], shift % 4 * 8);
    }
    return result;
}

/* The same of the 24 bytes that three halves hold; shift below 8, item size 1, 2 or 4. */
TPD_BOTH struct tpd_vector tpd_vector_among(const uint64_t *half, uint32_t shift, uint32_t itemsize) {
    uint32_t word[6];
    struct tpd_vector result;
    TPD_UNROLL_ALL for (uint32_t n = 0; n < 3; n++) {
        word[2 * n] = (uint32_t)half[n];
        word[2 * n + 1] = (uint32_t)(half[n] >> 32);
    }
    TPD_UNROLL_ALL for (uint32_t n = 0; n < 5; n++) word[n] = (shift & 4) != 0 ? word[n + 1] : word[n];
    TPD_UNROLL_ALL for (uint32_t n = 0; n < 4; n++) result.word[n] =
        itemsize == 4 ? word[n] : tpd_shift_right(word[n], word[n + 1], shift % 4 * 8);
    return result;
}

#endif
