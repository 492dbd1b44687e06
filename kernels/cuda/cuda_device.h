/* cuda_device.h -- what an open GPU is made of; for the files of the CUDA back end alone.
 *
 * Owns: the context's pool and lanes. A lane has a stream a direction and one for kernels, so that each is timed by itself, and
 * slots: the events of a panel that is under way. Threads: `lock` guards what stands below it; a busy lane belongs to its run.
 */
#ifndef TPD_CUDA_DEVICE_H
#define TPD_CUDA_DEVICE_H

#include "kernels/cuda/cuda_driver.h"
#include "kernels/cuda/device_pool.h"
#include "transposed/backend.h"

/* Each stage between two of its own: its stream may wait before it. */
enum tpd_cuda_event {
    TPD_CUDA_IN_BEGINS,
    TPD_CUDA_IN_ENDS,
    TPD_CUDA_KERNEL_BEGINS,
    TPD_CUDA_KERNEL_ENDS,
    TPD_CUDA_OUT_BEGINS,
    TPD_CUDA_OUT_ENDS,
    TPD_CUDA_EVENTS
};
enum tpd_cuda_stream { TPD_CUDA_STREAM_IN, TPD_CUDA_STREAM_KERNEL, TPD_CUDA_STREAM_OUT, TPD_CUDA_STREAMS };
enum {
    TPD_CUDA_LANES_DEFAULT = 4, /* the engine keeps one for bodies that are still arriving */
    TPD_CUDA_LANES_MOST = 32,
    /* Panels of one run under way: one in, one in the kernel, one out, and one that is queued while the host looks. */
    TPD_CUDA_SLOTS = 4,
    /* Of a small matrix that isn't page-locked: copied here by the CPU, where kernels reach it. */
    TPD_CUDA_STAGE_BYTES = 64 << 10,
    TPD_CUDA_UNEVEN_BYTES = 4 << 20 /* up to here the same is measured of all shapes alike */
};

/* Sizes at which a way is ahead: up to the first, and again from the second on. 0 and UINT64_MAX: at none. */
struct tpd_cuda_sizes {
    uint64_t most_bytes, again_bytes;
};

struct tpd_cuda_lane {
    void *stream[TPD_CUDA_STREAMS];
    void *event[TPD_CUDA_SLOTS][TPD_CUDA_EVENTS];
    void *stage; /* input, then output; NULL where kernels don't reach host memory */
    bool busy;
};

/* How a matrix goes through a device. */
enum tpd_cuda_way {
    TPD_CUDA_MAPPED, /* the kernel reads and writes the host's memory */
    TPD_CUDA_WHOLE,  /* copy in, kernel, copy out, one after the other */
    TPD_CUDA_PANELS, /* the same in pieces that overlap */
    TPD_CUDA_WAYS
};

/* What copies the side of a panel that is rows. A kernel does with shorter rows, so there may be more panels. */
enum tpd_cuda_rows_by {
    TPD_CUDA_ROWS_ENGINE,
    TPD_CUDA_ROWS_IN,  /* a kernel; cut so that these are the input's, where either cut would do */
    TPD_CUDA_ROWS_OUT, /* a kernel; the output's */
    TPD_CUDA_ROWS_BYS
};

struct tpd_device {
    const struct tpd_cuda_calls *calls;
    uint32_t index;
    struct tpd_cuda_properties properties;
    uint32_t driver_version, runtime_version;
    const struct tpd_tuning *tuning; /* borrowed; NULL: AUTO goes by rule */
    unsigned char *memory;
    struct tpd_device_pool pool;
    pthread_mutex_t lock;
    pthread_cond_t lane_free;
    bool lost;
    char reason[384];
    /* Measured at the start, as in struct tpd_device_info; `uneven`: where rows begin within vectors. */
    struct tpd_cuda_sizes mapped, mapped_uneven;
    uint64_t panels_least_bytes;
    enum tpd_cuda_rows_by rows_by;
    uint64_t panel_most_bytes; /* of one panel: an equal share of half of the pool */
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

/* Fails with TPD_DEVICE_LOST and the reason: of a device that is lost. */
enum tpd_status tpd_cuda_device_lost(struct tpd_device *device, struct tpd_error *error) TPD_CHECKED;
/* Waits after a failure: whatever was enqueued still reads and writes the caller's memory and ours. False: the stream does not
 * come to rest; the device is given up then, rather than its memory handed to somebody else. *status is TPD_OK, or what the wait
 * failed with. */
bool tpd_cuda_drain(struct tpd_device *device, void *stream, enum tpd_status *status, struct tpd_error *error);
/* tpd_pool_acquire() of the device's pool, which knows that it was stopped and not why. */
enum tpd_status tpd_cuda_acquire(struct tpd_device *device, uint64_t bytes, uint64_t deadline_ns, uint64_t *offset,
                                 struct tpd_error *error) TPD_CHECKED;

/* cuda_ways.c: which way up to which size, by measuring on a device that has its pool, lanes and kernels. */
enum tpd_status tpd_cuda_measure_ways(struct tpd_device *device, struct tpd_error *error) TPD_CHECKED;
struct tpd_panels;
void tpd_cuda_panels_begin(struct tpd_panels *panels, const struct tpd_device *device, const struct tpd_task *task);
bool tpd_cuda_can_map(const struct tpd_device *device, const struct tpd_task *task, uint64_t bytes);
/* Its panels are runs of bytes, or rows so long that the bus takes them for such: both directions go at full speed. */
bool tpd_cuda_panels_are_runs(const struct tpd_device *device, const struct tpd_task *task);

/* backend_cuda.c: how a matrix, or a part of one, is transposed here. */
enum tpd_status tpd_cuda_plan(const struct tpd_device *device, enum tpd_strategy_id strategy, const struct tpd_matrix *matrix,
                              struct tpd_tile tile, struct tpd_plan *plan, struct tpd_error *error) TPD_CHECKED;

/* cuda_run.c: a task on a lane that is the caller's, by the plan of the whole matrix. */
struct tpd_cuda_run {
    struct tpd_device *device;
    const struct tpd_cuda_lane *lane;
    const struct tpd_task *task;
    const struct tpd_plan *plan;
    uint64_t bytes;
    enum tpd_cuda_way way;
};
/* Fails with what a call answered (after the lane is drained), what the flow answered, or as tpd_pool_acquire(). */
enum tpd_status tpd_cuda_run(const struct tpd_cuda_run *run, struct tpd_outcome *outcome, struct tpd_error *error) TPD_CHECKED;

/* tuner.c: behind tune of the back end's table. */
enum tpd_status tpd_cuda_tune(struct tpd_device *device, uint64_t budget_ns, struct tpd_tuning *table,
                              struct tpd_error *error) TPD_CHECKED;
/* measure_cuda.c: behind `measure` of the back end's table. */
enum tpd_status tpd_cuda_measure(struct tpd_device *device, const struct tpd_measure *ask, struct tpd_measurement *result,
                                 struct tpd_error *error);

#endif
