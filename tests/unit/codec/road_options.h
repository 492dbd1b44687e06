/* road_options.h -- what a test's body goes the codecs' road with: blocks from the heap. */
#ifndef TPD_ROAD_OPTIONS_H
#define TPD_ROAD_OPTIONS_H

#include "tests/golden/codec_road.h"

static inline struct tpd_encode_options to_heap(enum tpd_nonfinite nonfinite) {
    struct tpd_encode_options options = {.memory = tpd_memory_heap(), .nonfinite = nonfinite};
    return options;
}

static inline struct tpd_decode_options from_heap(void) {
    struct tpd_decode_options options = {.memory = tpd_memory_heap(), .body_most_bytes = 1 << 26};
    return options;
}

#endif
