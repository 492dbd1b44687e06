/* measure.h -- times of a transpose, and of two copies of as many bytes, in a device's own memory: what `transposed bench` asks
 * for.
 *
 * A back end whose device has memory of its own fills `measure` in its table; for the others the host's memory is the device's.
 * Before anything is timed the result is compared with what belongs there, item by item; memory is random data before, and the
 * output holds other random data, so that what is not written shows.
 */
#ifndef TRANSPOSED_MEASURE_H
#define TRANSPOSED_MEASURE_H

#include "transposed/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tpd_measured {
    TPD_MEASURED_TRANSPOSE,
    TPD_MEASURED_COPY,  /* the device's own: what a transpose can hope for */
    TPD_MEASURED_PLAIN, /* a kernel that copies; memcpy on a CPU */
    TPD_MEASURED_COUNT
};

enum {
    TPD_MEASURE_TURNS_LEAST = 3,
    TPD_MEASURE_TURNS_MOST = 1000,
    TPD_MEASURE_SLOW = 3,       /* times the copy's: from here on the least number of turns does */
    TPD_MEASURE_BURST_MOST = 50 /* see tpd_measure_burst() */
};

struct tpd_measure {
    struct tpd_matrix matrix; /* with items */
    enum tpd_strategy_id strategy;
    struct tpd_tile tile;
    uint32_t turns;     /* LEAST to MOST: a turn is one time of each */
    uint64_t budget_ns; /* then no further turn begins, once there are LEAST */
};

struct tpd_measurement {
    const char *strategy; /* what ran, as tpd_outcome has it */
    struct tpd_tile tile;
    uint64_t wrong_items; /* not 0: nothing was timed */
    /* Of the cache before the device's memory: what it holds for certain, and what it may hold at most; 0: not known. */
    uint64_t cache_least_bytes, cache_most_bytes;
    uint32_t turns;
    double seconds[TPD_MEASURED_COUNT][TPD_MEASURE_TURNS_MOST]; /* of one transpose or copy, each of the turns */
};

/* How many in a row one time is the average of: as many as move 64 MiB, so that a small matrix is not timed by its launch. */
uint32_t tpd_measure_burst(uint64_t bytes);

/* Does one burst of it and says how many seconds one took. */
typedef enum tpd_status tpd_measure_once(void *context, enum tpd_measured what, double *seconds, struct tpd_error *error);
/* A warm-up of each and then the turns, copies first; fills turns and seconds. Fails as once() does. */
enum tpd_status tpd_measure_in_turns(const struct tpd_measure *ask, tpd_measure_once *once, void *context,
                                     struct tpd_measurement *result, struct tpd_error *error) TPD_CHECKED;

#ifdef __cplusplus
}
#endif

#endif
