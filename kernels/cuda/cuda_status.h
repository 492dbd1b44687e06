/* cuda_status.h -- what a CUDA error code means for us, how many there were, and why there is no device.
 *
 * Threads: any. Ceiling: 64 different codes are told apart; later ones count as the last of them.
 */
#ifndef TPD_CUDA_STATUS_H
#define TPD_CUDA_STATUS_H

#include "kernels/cuda/cuda_driver.h"
#include "transposed/backend.h"

/* True for the codes after which a context is dead until the process ends. */
bool tpd_cuda_is_sticky(int code);
/* TPD_OK, TPD_NO_MEMORY, TPD_DEVICE_LOST (sticky), else TPD_DEVICE_FAULT. */
enum tpd_status tpd_cuda_status(int code);

/* Counts code, clears it in the runtime when it can be cleared, and words it: "cuda:0: doing: text (name)".
 * A code that outlives its clearing is sticky, whatever its number: then TPD_DEVICE_LOST. */
enum tpd_status tpd_cuda_fail(const struct tpd_cuda_calls *calls, int code, uint32_t device, const char *doing,
                              struct tpd_error *error);

/* Why device_count() failed with code, and what to do; fills error with TPD_UNKNOWN_DEVICE. Counts nothing: a machine
 * without a GPU is no fault. */
void tpd_cuda_no_device(const struct tpd_cuda_calls *calls, int code, struct tpd_error *error);

/* One row a code, in order of first sight; answers how many rows were filled. */
uint32_t tpd_cuda_errors(struct tpd_device_error *list, uint32_t most);

#endif
