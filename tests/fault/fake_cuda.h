/* fake_cuda.h -- a GPU in plain C that fails its Nth call: for the CUDA back end's tests on machines without one.
 *
 * Lazier than a real one: copies and kernels wait in their stream until somebody waits for it, and go no further than the event
 * that is waited for, so that a missing wait, or memory handed back too early, shows as wrong bytes. The kernel is the oracle.
 * Device memory is host memory that only the fake touches, with bounds checked at every copy and launch. Threads: any. Ceiling:
 * 512 live handles.
 */
#ifndef TPD_FAKE_CUDA_H
#define TPD_FAKE_CUDA_H

#include "kernels/cuda/cuda_driver.h"

extern const struct tpd_cuda_calls fake_cuda;

/* A fresh device with that much memory; the nth call from now on answers code instead of working (0: none does). After a
 * sticky code every later call answers it too. last_error() and the two text calls are not counted. */
void fake_cuda_reset(uint64_t memory_bytes, uint64_t nth, int code);
/* The same for the calls from now on, on the device as it is. */
void fake_cuda_fail(uint64_t nth, int code);
/* What device_count() and driver_version() say from now on. */
void fake_cuda_machine(int count_code, int count, int driver_version);
/* Whether kernels reach page-locked host memory (true at first); asked once, when the device is opened. */
void fake_cuda_map(bool maps_host);
/* Milliseconds that each kernel takes. */
void fake_cuda_slow(uint32_t milliseconds);
/* While it is set a kernel takes the nanoseconds that it says, by the events' clock alone, and moves nothing. NULL: as before. */
void fake_cuda_price(uint64_t (*price)(const struct tpd_plan *plan));
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
