/* cuda_rig.h -- what the CUDA back end's tests on the fake GPU share: the back end, and a device that is opened and closed. */
#ifndef TPD_CUDA_RIG_H
#define TPD_CUDA_RIG_H

#include "fake_cuda.h"
#include "harness.h"
#include "transposed/transposed.h"

extern const struct tpd_backend tpd_backend_cuda;
static const struct tpd_backend *const cuda = &tpd_backend_cuda;

static inline void use_fake(void) {
    tpd_cuda_use(&fake_cuda);
}

static inline struct tpd_device *open_with(struct tpd_device_options options) {
    struct tpd_device *device = NULL;
    struct tpd_error error = {0};
    ck_assert_ok(cuda->open(0, &options, &device, &error), error);
    return device;
}

/* Nothing is under way any more, nothing is held, and nothing was done that a GPU would not forgive. */
static inline void close_clean(struct tpd_device *device) {
    struct tpd_device_info info;
    cuda->info(device, &info);
    ck_assert_uint_eq(info.memory_used_bytes, 0);
    ck_assert_uint_eq(fake_cuda_queued(), 0);
    cuda->close(device);
    ck_assert_msg(fake_cuda_mistakes() == 0, "%s", fake_cuda_mistake());
    ck_assert_msg(fake_cuda_held() == 0, "%u handles kept", fake_cuda_held());
}

#endif
