/* fake_cuda.h -- a GPU in plain C that fails its Nth call: for the CUDA back end's tests on machines without one.
 *
 * Lazier than a real one: copies and kernels wait in their stream until somebody waits for it, so that a missing wait, or
 * memory handed back too early, shows as wrong bytes. The kernel is the oracle. Device memory is host memory that only
 * the fake touches, with bounds checked at every copy and launch.
 * Threads: any. Ceiling: 256 live handles.
 */
#ifndef TPD_FAKE_CUDA_H
#define TPD_FAKE_CUDA_H

#include "kernels/cuda/cuda_driver.h"

extern const struct tpd_cuda_calls fake_cuda;

/* A fresh device with that much memory; the nth call from now on answers code instead of working (0: none does). After a
 * sticky code every later call answers it too. last_error() and the two text calls are not counted. */
void fake_cuda_reset(uint64_t memory_bytes, uint64_t nth, int code);
/* What device_count() and driver_version() say from now on. */
void fake_cuda_machine(int count_code, int count, int driver_version);
/* Milliseconds that each kernel takes. */
void fake_cuda_slow(uint32_t milliseconds);
/* The nth call from now on answers code, as fake_cuda_reset() has it. */
void fake_cuda_fail_later(uint64_t nth, int code);
/* From now on every kernel gets its first item wrong. */
void fake_cuda_lose_item(void);
bool fake_cuda_failed(void);       /* the nth call came */
uint64_t fake_cuda_calls(void);    /* so far */
uint32_t fake_cuda_held(void);     /* memory, streams and events not given back */
uint32_t fake_cuda_queued(void);   /* copies and kernels that nobody waited for */
uint32_t fake_cuda_mistakes(void); /* out of bounds, unknown handle, freed while in use */
const char *fake_cuda_mistake(void);
uint32_t fake_cuda_most_streams(void); /* streams that were waited for at the same time, at most */

#endif
