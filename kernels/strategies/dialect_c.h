/* dialect_c.h -- the strategies' words for the C compiler: a PHASE is a loop over a block's threads, each access a call.
 *
 * Gives `tpd_kernels` (kernel.h). The calls are the lane-by-lane runner's: kernels/banks/simt.h, to be included before.
 */
#ifndef TPD_DIALECT_C_H
#define TPD_DIALECT_C_H

#include "kernels/strategies/vectors.h"

#include "kernels/strategies/every_strategy.h" /* the layouts */

typedef void (*tpd_kernel_pointer)(struct tpd_simt *simt, struct tpd_geometry grid);
#define KERNEL_POINTER(kernel) (kernel)

typedef struct {
    uint64_t half[2];
} tpd_item16;
#define ITEM16 tpd_item16

#define KERNEL(NAME) static void KERNEL_NAME(NAME, ITEMSIZE, TILE_KIND)(struct tpd_simt * simt, const struct tpd_geometry grid)
#define KERNEL_OWN(NAME) KERNEL(NAME)
#define BLOCK (simt->block)
#define PHASE(thread) for (uint32_t thread = tpd_simt_phase(simt); thread < simt->plan.threads; thread = tpd_simt_next(simt))
#define BARRIER() tpd_simt_barrier(simt)
#define UNROLL

/* The tile itself is the runner's. */
#define TILE_FIXED(pitch_) const uint32_t pitch = (pitch_)
#define TILE_ANY(pitch_) const uint32_t pitch = (pitch_)
#define TILE_VECTORS() ((void)0)

#define CALL_(name, size) name##_##size
#define CALL(name, size) CALL_(name, size)
#define GLOBAL_LOAD(active, index) CALL(tpd_lane_global_load, ITEMSIZE)(simt, active, index)
#define GLOBAL_STORE(active, index, item) CALL(tpd_lane_global_store, ITEMSIZE)(simt, active, index, item)
#define SHARED_LOAD(index) CALL(tpd_lane_shared_load, ITEMSIZE)(simt, index)
#define SHARED_STORE(index, item) CALL(tpd_lane_shared_store, ITEMSIZE)(simt, index, item)

#define GLOBAL_LOAD4(active, index) tpd_lane_global_load_4(simt, active, (index)*ITEMSIZE / 4)
#define GLOBAL_STORE4(active, index, unit) tpd_lane_global_store_4(simt, active, (index)*ITEMSIZE / 4, unit)
#define SHARED_LOAD4(place) tpd_lane_shared_load_4(simt, place)
#define SHARED_STORE4(place, unit) tpd_lane_shared_store_4(simt, place, unit)
#define GLOBAL_LOAD8(active, index) tpd_lane_global_load_8(simt, active, (index)*ITEMSIZE / 8)
#define GLOBAL_LOAD16(active, index) tpd_lane_global_load_vector(simt, active, (index)*ITEMSIZE)
#define GLOBAL_STORE16(active, index, vector) tpd_lane_global_store_vector(simt, active, (index)*ITEMSIZE, vector)
#define SHARED_LOAD16(place) tpd_lane_shared_load_vector(simt, place)
#define SHARED_STORE16(place, vector) tpd_lane_shared_store_vector(simt, place, vector)
#define SHARED_LOAD_HALF(place) tpd_lane_shared_load_half(simt, place)

/* Items are moved by memcpy: a client's matrix may begin at any byte. */
#define LANE_CALLS(size, item_type)                                                                                       \
    static inline item_type tpd_lane_global_load_##size(struct tpd_simt *simt, bool active, uint64_t index) {             \
        item_type item = {0};                                                                                             \
        tpd_simt_touch(simt, TPD_SIMT_GLOBAL_LOAD, size, active, index *size);                                            \
        if (active && tpd_simt_inside(simt, index * size, size) && simt->in != NULL)                                      \
            memcpy(&item, simt->in + index * size, size);                                                                 \
        return item;                                                                                                      \
    }                                                                                                                     \
    static inline void tpd_lane_global_store_##size(struct tpd_simt *simt, bool active, uint64_t index, item_type item) { \
        tpd_simt_touch(simt, TPD_SIMT_GLOBAL_STORE, size, active, index *size);                                           \
        if (active && tpd_simt_inside(simt, index * size, size) && simt->out != NULL)                                     \
            memcpy(simt->out + index * size, &item, size);                                                                \
    }                                                                                                                     \
    static inline item_type tpd_lane_shared_load_##size(struct tpd_simt *simt, uint32_t index) {                          \
        item_type item;                                                                                                   \
        tpd_simt_touch(simt, TPD_SIMT_SHARED_LOAD, size, true, (uint64_t)index *size);                                    \
        memcpy(&item, simt->shared + (size_t)index * size, size);                                                         \
        return item;                                                                                                      \
    }                                                                                                                     \
    static inline void tpd_lane_shared_store_##size(struct tpd_simt *simt, uint32_t index, item_type item) {              \
        tpd_simt_touch(simt, TPD_SIMT_SHARED_STORE, size, true, (uint64_t)index *size);                                   \
        memcpy(simt->shared + (size_t)index * size, &item, size);                                                         \
    }

LANE_CALLS(1, uint8_t)
LANE_CALLS(2, uint16_t)
LANE_CALLS(4, uint32_t)
LANE_CALLS(8, uint64_t)
LANE_CALLS(16, tpd_item16)

static inline struct tpd_vector tpd_lane_global_load_vector(struct tpd_simt *simt, bool active, uint64_t address) {
    struct tpd_vector vector = {{0}};
    tpd_simt_touch(simt, TPD_SIMT_GLOBAL_LOAD, sizeof vector, active, address);
    if (active && tpd_simt_inside(simt, address, sizeof vector) && simt->in != NULL)
        memcpy(&vector, simt->in + address, sizeof vector);
    return vector;
}

static inline void tpd_lane_global_store_vector(struct tpd_simt *simt, bool active, uint64_t address, struct tpd_vector vector) {
    tpd_simt_touch(simt, TPD_SIMT_GLOBAL_STORE, sizeof vector, active, address);
    if (active && tpd_simt_inside(simt, address, sizeof vector) && simt->out != NULL)
        memcpy(simt->out + address, &vector, sizeof vector);
}

static inline struct tpd_vector tpd_lane_shared_load_vector(struct tpd_simt *simt, uint32_t place) {
    struct tpd_vector vector;
    tpd_simt_touch(simt, TPD_SIMT_SHARED_LOAD, sizeof vector, true, (uint64_t)place * sizeof vector);
    memcpy(&vector, simt->shared + (size_t)place * sizeof vector, sizeof vector);
    return vector;
}

static inline struct tpd_vector tpd_lane_shared_load_half(struct tpd_simt *simt, uint32_t place) {
    const uint64_t half = tpd_lane_shared_load_8(simt, 2 * place);
    const struct tpd_vector vector = {{(uint32_t)half, (uint32_t)(half >> 32), 0, 0}};
    return vector;
}

static inline void tpd_lane_shared_store_vector(struct tpd_simt *simt, uint32_t place, struct tpd_vector vector) {
    tpd_simt_touch(simt, TPD_SIMT_SHARED_STORE, sizeof vector, true, (uint64_t)place * sizeof vector);
    memcpy(simt->shared + (size_t)place * sizeof vector, &vector, sizeof vector);
}

#include "kernels/strategies/kernel.h"

#endif
