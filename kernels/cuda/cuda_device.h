/* cuda_device.h -- what an open GPU is made of; for the files of the CUDA back end alone.
 *
 * Owns: the context's pool and lanes. Threads: `lock` guards what stands below it; a busy lane belongs to its run.
 */
#ifndef TPD_CUDA_DEVICE_H
#define TPD_CUDA_DEVICE_H

#include "kernels/cuda/cuda_driver.h"
#include "kernels/cuda/device_pool.h"
#include "transposed/backend.h"

enum tpd_cuda_event { TPD_CUDA_START, TPD_CUDA_IN, TPD_CUDA_KERNEL, TPD_CUDA_OUT, TPD_CUDA_EVENTS };
enum { TPD_CUDA_LANES_DEFAULT = 3, TPD_CUDA_LANES_MOST = 32 };

struct tpd_cuda_lane {
    void *stream;
    void *event[TPD_CUDA_EVENTS];
    bool busy;
};

struct tpd_device {
    const struct tpd_cuda_calls *calls;
    uint32_t index;
    struct tpd_cuda_properties properties;
    uint32_t driver_version, runtime_version;
    unsigned char *memory;
    struct tpd_device_pool pool;
    pthread_mutex_t lock;
    pthread_cond_t lane_free;
    bool lost;
    char reason[384];
    uint32_t lane_count;
    struct tpd_cuda_lane lane[TPD_CUDA_LANES_MOST];
    unsigned char warm[64]; /* where warming copies to: it has to outlive a stream that fails */
};

const struct tpd_cuda_calls *tpd_cuda_calls_in_use(void); /* NULL: none in this build */

enum tpd_status tpd_cuda_open(uint32_t index, const struct tpd_device_options *options, struct tpd_device **opened,
                              struct tpd_error *error) TPD_CHECKED;
void tpd_cuda_close(struct tpd_device *device);
/* Makes an open device that is not lost the calling thread's; false when there is none. */
bool tpd_cuda_use_open_device(void);

/* Words for a code that a call on the device answered; a sticky one loses the device. */
enum tpd_status tpd_cuda_device_fail(struct tpd_device *device, int code, const char *doing, struct tpd_error *error);
/* For good; wakes who waits for a lane or for memory. The first reason stays: later ones are its echo. */
void tpd_cuda_device_lose(struct tpd_device *device, const char *reason);

#endif
