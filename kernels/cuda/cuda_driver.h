/* cuda_driver.h -- every CUDA call that the back end makes, as one table of functions.
 *
 * backend_cuda.c and its helpers see nothing of CUDA but this; cuda_calls.c and launch.cu are the only files that
 * include cuda_runtime.h. So the back end's logic compiles and is tested on machines without CUDA, against a device
 * that fails on purpose. A code is the runtime's own number; 0 is success.
 * Threads: every function from any thread, as the runtime's own.
 */
#ifndef TPD_CUDA_DRIVER_H
#define TPD_CUDA_DRIVER_H

#include "transposed/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tpd_cuda_properties {
    char name[128];
    char uuid[48]; /* as nvidia-smi -L prints it */
    uint64_t memory_total_bytes;
    uint64_t shared_most_bytes;  /* a block, after opting in */
    uint64_t cache_bytes;        /* L2 */
    uint32_t compute_capability; /* major * 10 + minor */
    uint32_t multiprocessors;
    bool maps_host; /* kernels reach page-locked host memory by the host's own addresses */
};

enum { TPD_CUDA_NOT_READY = 600 /* cudaErrorNotReady: an answer, not a failure */ };

/* Rows of row_bytes; a pitch is the bytes from one row to the next. */
struct tpd_cuda_rows {
    void *to;
    const void *from;
    uint64_t to_pitch, from_pitch, row_bytes, rows;
};

/* Streams and events are the runtime's handles, looked at by nobody here. Device pointers are never read on the host. */
struct tpd_cuda_calls {
    int (*device_count)(int *count); /* leaves *count as it was when it fails */
    int (*driver_version)(int *version);
    int (*runtime_version)(int *version);
    int (*device_properties)(int device, struct tpd_cuda_properties *properties);
    int (*device_start)(int device); /* makes the context (blocking waits) and makes it the calling thread's */
    int (*device_use)(int device);   /* makes it the calling thread's */
    int (*memory_info)(uint64_t *free_bytes, uint64_t *total_bytes);
    int (*memory_alloc)(void **memory, uint64_t bytes);
    int (*memory_free)(void *memory);
    int (*host_alloc)(void **memory, uint64_t bytes); /* page-locked for every device, and mapped */
    int (*host_free)(void *memory);
    int (*stream_create)(void **stream);
    int (*stream_destroy)(void *stream);
    int (*stream_wait)(void *stream);               /* until all its work is done */
    int (*stream_await)(void *stream, void *event); /* what comes later in the stream comes after the event's last record */
    int (*event_create)(void **event);
    int (*event_create_quick)(void **event); /* one whose end nobody sleeps for: reached sooner */
    int (*event_destroy)(void *event);
    int (*event_record)(void *event, void *stream);
    int (*event_wait)(void *event);
    int (*event_query)(void *event); /* 0: reached; TPD_CUDA_NOT_READY */
    int (*event_elapsed)(float *milliseconds, void *from, void *to);
    int (*copy_in)(void *device, const void *host, uint64_t bytes, void *stream);
    int (*copy_out)(void *host, const void *device, uint64_t bytes, void *stream);
    int (*copy_in_rows)(const struct tpd_cuda_rows *rows, void *stream);
    int (*copy_out_rows)(const struct tpd_cuda_rows *rows, void *stream);
    /* The same, either direction, by a kernel: where kernels reach host memory. */
    int (*rows_launch)(const struct tpd_cuda_rows *rows, void *stream);
    int (*copy_within)(void *to, const void *from, uint64_t bytes, void *stream); /* both on the device */
    /* Loads every kernel, and lets those whose tile is not compiled in have that much shared memory; once a device. */
    int (*kernels_prepare)(uint64_t shared_most_bytes);
    int (*kernel_launch)(const struct tpd_plan *plan, const void *in, void *out, void *stream);
    /* Of the kernel that the plan launches: registers a thread, and blocks that one multiprocessor holds at once. */
    int (*kernel_occupancy)(const struct tpd_plan *plan, uint32_t *registers, uint32_t *blocks);
    /* For measurements; measure_kernels.h says what each does. */
    int (*measure_fill)(void *memory, uint64_t bytes, uint64_t seed, void *stream);
    int (*measure_copy)(void *to, const void *from, uint64_t bytes, void *stream);
    int (*measure_check)(const struct tpd_matrix *matrix, const void *in, const void *out, void *wrong, void *stream);
    int (*last_error)(void);             /* answers and clears what is not sticky */
    const char *(*error_name)(int code); /* static text */
    const char *(*error_text)(int code); /* static text */
};

#if TPD_HAVE_CUDA
extern const struct tpd_cuda_calls tpd_cuda_runtime; /* the real one */
#endif

/* Borrows calls until the next call; NULL brings back the runtime's. Only while no device is open. */
void tpd_cuda_use(const struct tpd_cuda_calls *calls);

/* launch.cu: behind kernels_prepare, kernel_launch and kernel_occupancy of the runtime's table. */
int tpd_cuda_kernels_prepare(uint64_t shared_most_bytes);
int tpd_cuda_kernel_launch(const struct tpd_plan *plan, const void *in, void *out, void *stream);
int tpd_cuda_rows_launch(const struct tpd_cuda_rows *rows, void *stream); /* rows.cu */
int tpd_cuda_kernel_occupancy(const struct tpd_plan *plan, uint32_t *registers, uint32_t *blocks);

#ifdef __cplusplus
}
#endif

#endif
