/* cuda_calls.c -- the CUDA runtime behind cuda_driver.h's table. */
#include <cuda_runtime.h>
#include <stdio.h>

#include "kernels/cuda/cuda_driver.h"
#include "kernels/cuda/measure_kernels.h"

static int device_count(int *count) {
    return (int)cudaGetDeviceCount(count);
}
static int driver_version(int *version) {
    return (int)cudaDriverGetVersion(version);
}
static int runtime_version(int *version) {
    return (int)cudaRuntimeGetVersion(version);
}

static void print_uuid(const cudaUUID_t *uuid, char *text, size_t room) {
    const unsigned char *byte = (const unsigned char *)uuid->bytes;
    (void)snprintf(text, room, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", byte[0], byte[1],
                   byte[2], byte[3], byte[4], byte[5], byte[6], byte[7], byte[8], byte[9], byte[10], byte[11], byte[12], byte[13],
                   byte[14], byte[15]);
}

static int device_properties(int device, struct tpd_cuda_properties *properties) {
    struct cudaDeviceProp found;
    cudaError_t code = cudaGetDeviceProperties(&found, device);
    if (code != cudaSuccess)
        return (int)code;
    (void)snprintf(properties->name, sizeof properties->name, "%.*s", (int)sizeof properties->name - 1, found.name);
    print_uuid(&found.uuid, properties->uuid, sizeof properties->uuid);
    properties->memory_total_bytes = found.totalGlobalMem;
    properties->shared_most_bytes = found.sharedMemPerBlockOptin;
    properties->cache_bytes = (uint64_t)found.l2CacheSize;
    properties->compute_capability = (uint32_t)(found.major * 10 + found.minor);
    properties->multiprocessors = (uint32_t)found.multiProcessorCount;
    properties->maps_host = found.canMapHostMemory != 0 && found.unifiedAddressing != 0;
    return 0;
}

/* Blocking waits: a worker that waits for the GPU must not burn the core that another one decodes a body on. */
static int device_start(int device) {
    cudaError_t code = cudaInitDevice(device, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid);
    return code != cudaSuccess ? (int)code : (int)cudaSetDevice(device);
}

static int device_use(int device) {
    return (int)cudaSetDevice(device);
}

static int memory_info(uint64_t *free_bytes, uint64_t *total_bytes) {
    size_t free_size = 0, total_size = 0;
    cudaError_t code = cudaMemGetInfo(&free_size, &total_size);
    *free_bytes = free_size;
    *total_bytes = total_size;
    return (int)code;
}

static int memory_alloc(void **memory, uint64_t bytes) {
    return (int)cudaMalloc(memory, (size_t)bytes);
}
static int memory_free(void *memory) {
    return (int)cudaFree(memory);
}
static int host_alloc(void **memory, uint64_t bytes) {
    return (int)cudaHostAlloc(memory, (size_t)bytes, cudaHostAllocPortable | cudaHostAllocMapped);
}
static int host_free(void *memory) {
    return (int)cudaFreeHost(memory);
}

/* Non-blocking: not ordered after the default stream, which an embedding program may use. */
static int stream_create(void **stream) {
    return (int)cudaStreamCreateWithFlags((cudaStream_t *)stream, cudaStreamNonBlocking);
}
static int stream_destroy(void *stream) {
    return (int)cudaStreamDestroy(stream);
}
static int stream_wait(void *stream) {
    return (int)cudaStreamSynchronize(stream);
}
static int stream_await(void *stream, void *event) {
    return (int)cudaStreamWaitEvent(stream, event, 0);
}
static int event_create(void **event) {
    return (int)cudaEventCreateWithFlags((cudaEvent_t *)event, cudaEventBlockingSync);
}
static int event_create_quick(void **event) {
    return (int)cudaEventCreate((cudaEvent_t *)event);
}
static int event_destroy(void *event) {
    return (int)cudaEventDestroy(event);
}
static int event_record(void *event, void *stream) {
    return (int)cudaEventRecord(event, stream);
}
static int event_wait(void *event) {
    return (int)cudaEventSynchronize(event);
}
static int event_query(void *event) {
    return (int)cudaEventQuery(event);
}
static int event_elapsed(float *milliseconds, void *from, void *to) {
    return (int)cudaEventElapsedTime(milliseconds, from, to);
}

static int copy_in(void *device, const void *host, uint64_t bytes, void *stream) {
    return (int)cudaMemcpyAsync(device, host, (size_t)bytes, cudaMemcpyHostToDevice, stream);
}

static int copy_out(void *host, const void *device, uint64_t bytes, void *stream) {
    return (int)cudaMemcpyAsync(host, device, (size_t)bytes, cudaMemcpyDeviceToHost, stream);
}

/* A pitch has a limit (2^31 - 1): rows that are further apart than that are few, and each is a copy of its own. */
static int copy_rows(const struct tpd_cuda_rows *rows, enum cudaMemcpyKind kind, void *stream) {
    if (rows->to_pitch <= INT32_MAX && rows->from_pitch <= INT32_MAX)
        return (int)cudaMemcpy2DAsync(rows->to, (size_t)rows->to_pitch, rows->from, (size_t)rows->from_pitch,
                                      (size_t)rows->row_bytes, (size_t)rows->rows, kind, stream);
    cudaError_t code = cudaSuccess;
    for (uint64_t i = 0; i < rows->rows && code == cudaSuccess; i++)
        code = cudaMemcpyAsync((char *)rows->to + i * rows->to_pitch, (const char *)rows->from + i * rows->from_pitch,
                               (size_t)rows->row_bytes, kind, stream);
    return (int)code;
}

static int copy_in_rows(const struct tpd_cuda_rows *rows, void *stream) {
    return copy_rows(rows, cudaMemcpyHostToDevice, stream);
}
static int copy_out_rows(const struct tpd_cuda_rows *rows, void *stream) {
    return copy_rows(rows, cudaMemcpyDeviceToHost, stream);
}

static int copy_within(void *to, const void *from, uint64_t bytes, void *stream) {
    return (int)cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, stream);
}

static int last_error(void) {
    return (int)cudaGetLastError();
}
static const char *error_name(int code) {
    return cudaGetErrorName((cudaError_t)code);
}
static const char *error_text(int code) {
    return cudaGetErrorString((cudaError_t)code);
}

const struct tpd_cuda_calls tpd_cuda_runtime = {
    .device_count = device_count,
    .driver_version = driver_version,
    .runtime_version = runtime_version,
    .device_properties = device_properties,
    .device_start = device_start,
    .device_use = device_use,
    .memory_info = memory_info,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_wait = stream_wait,
    .stream_await = stream_await,
    .event_create = event_create,
    .event_create_quick = event_create_quick,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_query = event_query,
    .event_elapsed = event_elapsed,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy_in_rows = copy_in_rows,
    .copy_out_rows = copy_out_rows,
    .rows_launch = tpd_cuda_rows_launch,
    .copy_within = copy_within,
    .kernels_prepare = tpd_cuda_kernels_prepare,
    .kernel_launch = tpd_cuda_kernel_launch,
    .kernel_occupancy = tpd_cuda_kernel_occupancy,
    .measure_fill = tpd_cuda_measure_fill,
    .measure_copy = tpd_cuda_measure_copy,
    .measure_check = tpd_cuda_measure_check,
    .last_error = last_error,
    .error_name = error_name,
    .error_text = error_text,
};
