/* peer_gpu.h -- what the peers written in C for GPUs share: device memory, data, the check, the copy, times by events. */
#ifndef TPD_PEER_GPU_H
#define TPD_PEER_GPU_H

#include "peer_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const char peer_gpu_reference[];

/* NULL, or why there is no GPU. */
const char *peer_gpu_open(char *device_name);
/* Memory for the cell, random items in `in`, poison in `out`. finite: every item is a normal floating-point number, or two, for
 * a library that computes with them. NULL, or why not. */
const char *peer_gpu_prepare(const struct peer_cell *cell, bool finite);
/* Puts one transpose of the cell, from in to out, on the stream; false: it failed. */
typedef bool peer_gpu_work(const void *in, void *out, void *stream);
bool peer_gpu_is_right(peer_gpu_work *work);
double peer_gpu_time(peer_gpu_work *work);
double peer_gpu_copy(void);
void peer_gpu_release(void);

#ifdef __cplusplus
}
#endif

#endif
