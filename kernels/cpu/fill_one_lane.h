/* fill_one_lane.h -- the network in registers of 16 bytes, which are one lane each: the same on every instruction set.
 *
 * The including file defines PART (the register), load_part(src), store_part(dst, part), and unpack_low_1(size, a, b) and
 * unpack_high_1(size, a, b).
 */

/* The last bytes of the input, where 16 are no longer there. */
INLINE PART load_end(const unsigned char *src, const unsigned char *end) {
    unsigned char whole[16] = {0};
    memcpy(whole, src, (size_t)(end - src) < 16 ? (size_t)(end - src) : 16);
    return load_part(whole);
}

INLINE PART with_lane_1(PART vector, size_t lane, PART part) {
    (void)vector;
    (void)lane;
    return part;
}

INLINE void store_1(unsigned char *dst, PART vector, size_t bytes) {
    (void)bytes;
    store_part(dst, vector);
}

#define LANES 1
#define VECTOR PART
#define NET(name) name##_1
#include "kernels/cpu/fill_network.h"
