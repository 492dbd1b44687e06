/* backend.h -- a device that transposes: the small table of functions every back end fills.
 *
 * A device keeps its lanes (stream, buffers, events) inside and hands one to each run(); so several runs overlap
 * and the caller never sees a lane. run() blocks its thread until the output is complete.
 * Threads: open and close from one thread; everything else from any thread at once.
 * A device that failed for good answers TPD_DEVICE_LOST from then on and says so in its info; it never answers TPD_OK
 * with wrong bytes, and never ends the process.
 */
#ifndef TRANSPOSED_BACKEND_H
#define TRANSPOSED_BACKEND_H

#include "transposed/tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tpd_backend_id {
#define X(NAME, name, PRESENT, summary) TPD_BACKEND_##NAME,
#include "transposed/tbl/backends.def"
#undef X
    TPD_BACKEND_COUNT
};

enum tpd_device_state { TPD_STATE_READY, TPD_STATE_LOST, TPD_STATE_ABSENT };
const char *tpd_device_state_name(enum tpd_device_state state); /* "ready", "lost", "absent" */

enum { TPD_DEVICES_MOST = 32 };

struct tpd_device_info {
    char id[16];      /* "cpu", "cuda:0", "simt" */
    const char *kind; /* the back end's name */
    char name[128];   /* "NVIDIA H200", "AMD EPYC ..." */
    char uuid[48];    /* "GPU-..."; "" where a device has none */
    char reason[384]; /* why it is lost or absent; "" when ready */
    enum tpd_device_state state;
    uint64_t memory_total_bytes;              /* of the device */
    uint64_t memory_pool_bytes;               /* taken by us at the start; 0 where the host's memory is used */
    uint64_t memory_used_bytes;               /* of the pool, by running jobs */
    uint64_t shared_most_bytes;               /* shared memory a block may opt in to */
    uint32_t compute_capability;              /* major * 10 + minor; 0 when not CUDA */
    uint32_t multiprocessors;                 /* or cores */
    const char *instructions;                 /* what the CPU's inner loops are made of: "avx512"; NULL elsewhere */
    uint32_t lanes;                           /* runs that overlap */
    uint32_t driver_version, runtime_version; /* as CUDA numbers them; 0 when not CUDA */
    /* Measured at the start: up to here kernels work on the host's memory itself (0: never), and from here on again
     * (UINT64_MAX: never); and from here on a matrix goes in panels (UINT64_MAX: never by choice). */
    uint64_t mapped_most_bytes, mapped_again_bytes, panels_least_bytes;
};

struct tpd_device_options {
    uint64_t device_memory_bytes; /* pool to take at the start; 0 = the back end's default */
    uint32_t cpu_threads;         /* 0 = all cores */
    uint32_t lanes;               /* 0 = the back end's default */
    struct tpd_tile tile;         /* kernels to warm besides the default tile */
};

/* Of a run whose input is still arriving. The run calls, in its own thread. */
struct tpd_flow {
    /* Comes back when the first `bytes` of the input are there; anything but TPD_OK ends the run with it. */
    enum tpd_status (*await)(struct tpd_flow *self, uint64_t bytes, struct tpd_error *error);
};

/* One transpose: in and out do not overlap; in_bytes == out_bytes == tpd_matrix_bytes(); never without items. */
struct tpd_task {
    struct tpd_matrix matrix;      /* the input's */
    const void *in;                /* borrows, host memory, item-aligned or not */
    void *out;                     /* borrows, host memory */
    bool pinned;                   /* both are page-locked, by host_alloc() */
    enum tpd_strategy_id strategy; /* or TPD_STRATEGY_AUTO; a back end without strategies ignores AUTO and refuses the rest */
    struct tpd_tile tile;
    uint64_t deadline_ns;  /* tpd_clock_ns() by which a lane must be had; 0 = wait */
    struct tpd_flow *flow; /* borrows; NULL: all of the input is there; or for a back end that flows */
};

struct tpd_outcome {
    const char *strategy; /* what ran: a strategy's name, or the CPU path's ("blocked", "generic", "copy") */
    struct tpd_tile tile; /* 0 x 0 when none */
    uint64_t wait_ns;     /* for a lane */
    /* Measured, by CUDA events on the streams or a monotonic clock: how long each was busy. They overlap where a matrix goes in
     * panels; a kernel that works on the host's memory itself is all kernel. */
    uint64_t h2d_ns, kernel_ns, d2h_ns;
};

struct tpd_device_error {
    int code;         /* the driver's own number */
    const char *name; /* static text, "cudaErrorIllegalAddress" */
    uint64_t count;
};

struct tpd_measure; /* measure.h */
struct tpd_measurement;
struct tpd_device; /* each back end's own */

struct tpd_backend {
    const char *name;
    /* How many devices this machine has. 0 with *error filled says why there is none. */
    uint32_t (*count)(struct tpd_error *error);
    /* Returns owned. Context, pool, lanes and warm kernels are made here. */
    enum tpd_status (*open)(uint32_t index, const struct tpd_device_options *options, struct tpd_device **device,
                            struct tpd_error *error);
    void (*close)(struct tpd_device *device); /* takes; NULL is ignored */
    void (*info)(struct tpd_device *device, struct tpd_device_info *info);
    /* Could this ever run here? TPD_UNSUPPORTED (strategy, item size, tile), TPD_TOO_LARGE (names limit and actual). */
    enum tpd_status (*check)(struct tpd_device *device, const struct tpd_task *task, struct tpd_error *error);
    /* Fails as check() does, with TPD_DEADLINE, TPD_DEVICE_FAULT (this run failed, the device is fine), TPD_DEVICE_LOST. */
    enum tpd_status (*run)(struct tpd_device *device, const struct tpd_task *task, struct tpd_outcome *outcome,
                           struct tpd_error *error);
    /* Optional (NULL): page-locked host memory that every device of this back end reads at full speed. */
    void *(*host_alloc)(size_t bytes);
    void (*host_free)(void *memory, size_t bytes);
    /* Optional (NULL): the driver's errors so far, one row a code; answers how many rows were filled. */
    uint32_t (*errors)(struct tpd_device_error *list, uint32_t most);
    /* Optional (NULL): what the driver says of the kernel that a plan launches: registers a thread, blocks that one
     * multiprocessor holds at once. Fails with TPD_UNSUPPORTED (more shared memory than a block may have) and as run() does. */
    enum tpd_status (*occupancy)(struct tpd_device *device, const struct tpd_plan *plan, uint32_t *registers, uint32_t *blocks,
                                 struct tpd_error *error);
    /* Optional (NULL: the device works in the host's memory): checks a transpose in the device's own memory and times it beside
     * copies of as many bytes. Fails as check() and run() do. */
    enum tpd_status (*measure)(struct tpd_device *device, const struct tpd_measure *ask, struct tpd_measurement *result,
                               struct tpd_error *error);
    /* Optional (NULL): takes up a table, by which AUTO without a tile goes from now on, and before that measures what the table
     * lacks, for about budget_ns (0: nothing). Beside no run(). Borrows the table until the next call or close, unless it fails:
     * as run() does; then the rules hold, and what was measured is not to be relied on. */
    enum tpd_status (*tune)(struct tpd_device *device, uint64_t budget_ns, struct tpd_tuning *table, struct tpd_error *error);
    bool flows; /* run() heeds task->flow */
};

/* NULL when the back end is not compiled in. */
const struct tpd_backend *tpd_backend_at(enum tpd_backend_id id);
const char *tpd_backend_name(enum tpd_backend_id id);
const char *tpd_backend_summary(enum tpd_backend_id id);

#ifdef __cplusplus
}
#endif

#endif
