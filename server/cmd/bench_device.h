/* bench_device.h -- which device a word means, and what the device is to know before it is timed. */
#ifndef TPD_BENCH_DEVICE_H
#define TPD_BENCH_DEVICE_H

#include "transposed/backend.h"

/* "cpu", "simt", "cuda", "cuda:N"; "auto" is the first back end that has a device. Fails with TPD_UNKNOWN_DEVICE and says why. */
enum tpd_status tpd_bench_find_device(const char *text, enum tpd_backend_id *id, uint32_t *index,
                                      struct tpd_error *error) TPD_CHECKED;

/* Measures which strategies `auto` is to take there, for as long as the daemon does by default; on a device whose strategies are
 * not chosen so, nothing. *table: returns owned, or NULL; the device borrows it until it is closed. Fails as tune() does. */
enum tpd_status tpd_bench_tune(const struct tpd_backend *backend, struct tpd_device *device, struct tpd_tuning **table,
                               struct tpd_error *error) TPD_CHECKED;

#endif
