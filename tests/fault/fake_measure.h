/* fake_measure.h -- the fake GPU's calls for measurements, which its table in fake_cuda.c names. */
#ifndef TPD_FAKE_MEASURE_H
#define TPD_FAKE_MEASURE_H

#include "kernels/cuda/cuda_driver.h"

/* Something to do once its stream is waited for; bytes: of `to`, and of `from` where there is one. */
struct fake_call {
    void (*act)(const struct fake_call *call);
    void *to;
    const void *from;
    uint64_t bytes, seed;
    struct tpd_matrix matrix;
    void *wrong;
};
/* fake_cuda.c: counts as one call of the driver's, holds `to` and `from` to the device's bounds, and puts it on the stream. */
int fake_cuda_call(const struct fake_call *call, void *stream);

int fake_copy_within(void *to, const void *from, uint64_t bytes, void *stream);
int fake_measure_fill(void *memory, uint64_t bytes, uint64_t seed, void *stream);
int fake_measure_copy(void *to, const void *from, uint64_t bytes, void *stream);
int fake_measure_check(const struct tpd_matrix *matrix, const void *in, const void *out, void *wrong, void *stream);

#endif
