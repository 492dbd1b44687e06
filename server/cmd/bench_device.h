/* bench_device.h -- which device a word means. */
#ifndef TPD_BENCH_DEVICE_H
#define TPD_BENCH_DEVICE_H

#include "transposed/backend.h"

/* "cpu", "simt", "cuda", "cuda:N"; "auto" is the first back end that has a device. Fails with TPD_UNKNOWN_DEVICE and says why. */
enum tpd_status tpd_bench_find_device(const char *text, enum tpd_backend_id *id, uint32_t *index,
                                      struct tpd_error *error) TPD_CHECKED;

#endif
