/* measure.c -- the turns of a measurement, the same for every device. */
#include "transposed/measure.h"

#include "transposed/clock.h"

static const uint64_t burst_bytes = UINT64_C(64) << 20;

uint32_t tpd_measure_burst(uint64_t bytes) {
    const uint64_t burst = burst_bytes / bytes;
    return burst < 1 ? 1 : burst < TPD_MEASURE_BURST_MOST ? (uint32_t)burst : TPD_MEASURE_BURST_MOST;
}

enum tpd_status tpd_measure_in_turns(const struct tpd_measure *ask, tpd_measure_once *once, void *context,
                                     struct tpd_measurement *result, struct tpd_error *error) {
    static const enum tpd_measured order[] = {TPD_MEASURED_COPY, TPD_MEASURED_PLAIN, TPD_MEASURED_TRANSPOSE};
    const uint64_t ends_ns = tpd_clock_ns() + ask->budget_ns;
    uint32_t most = ask->turns;
    double warm;
    result->turns = 0;
    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++) {
        enum tpd_status status = once(context, order[i], &warm, error);
        if (status != TPD_OK)
            return status;
    }
    do {
        for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++) {
            enum tpd_status status = once(context, order[i], &result->seconds[order[i]][result->turns], error);
            if (status != TPD_OK)
                return status;
        }
        if (result->turns++ == 0 &&
            result->seconds[TPD_MEASURED_TRANSPOSE][0] > TPD_MEASURE_SLOW * result->seconds[TPD_MEASURED_COPY][0])
            most = TPD_MEASURE_TURNS_LEAST;
    } while (result->turns < most && (result->turns < TPD_MEASURE_TURNS_LEAST || tpd_clock_ns() < ends_ns));
    return TPD_OK;
}
