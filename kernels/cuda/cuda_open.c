/* cuda_open.c -- makes a GPU ready (context, pool, lanes, warm kernels), gives it back, and gives it up. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_status.h"
#include "transposed/alloc.h"

static const uint64_t pool_default_most = UINT64_C(16) << 30;
static const uint64_t pool_least = UINT64_C(1) << 16;
enum { WARM_BYTES = 64 /* 2 x 2 items of 16 bytes */ };

#if TPD_HAVE_CUDA
static const struct tpd_cuda_calls *const default_calls = &tpd_cuda_runtime;
#else
static const struct tpd_cuda_calls *const default_calls = NULL;
#endif
static const struct tpd_cuda_calls *chosen_calls;

void tpd_cuda_use(const struct tpd_cuda_calls *calls) {
    chosen_calls = calls;
}

const struct tpd_cuda_calls *tpd_cuda_calls_in_use(void) {
    return chosen_calls != NULL ? chosen_calls : default_calls;
}

/* Bit n: device n is open and not lost. Page-locked memory is asked for in the context of one of them; without one, asking
 * would start a context on a GPU that nobody chose. */
static atomic_uint_fast32_t open_devices;

bool tpd_cuda_use_open_device(void) {
    const struct tpd_cuda_calls *calls = tpd_cuda_calls_in_use();
    uint_fast32_t devices = atomic_load(&open_devices);
    if (calls == NULL || devices == 0)
        return false;
    uint32_t index = (uint32_t)__builtin_ctzl((unsigned long)devices);
    int code = calls->device_use((int)index);
    if (code != 0)
        (void)tpd_cuda_fail(calls, code, index, "choosing the device in this thread", NULL);
    return code == 0;
}

void tpd_cuda_device_lose(struct tpd_device *device, const char *reason) {
    atomic_fetch_and(&open_devices, ~((uint_fast32_t)1 << device->index));
    (void)pthread_mutex_lock(&device->lock);
    if (!device->lost) {
        device->lost = true;
        (void)snprintf(device->reason, sizeof device->reason, "%s", reason);
    }
    (void)pthread_cond_broadcast(&device->lane_free);
    (void)pthread_mutex_unlock(&device->lock);
    tpd_pool_stop(&device->pool);
}

enum tpd_status tpd_cuda_device_fail(struct tpd_device *device, int code, const char *doing, struct tpd_error *error) {
    struct tpd_error words;
    enum tpd_status status = tpd_cuda_fail(device->calls, code, device->index, doing, &words);
    if (status == TPD_DEVICE_LOST)
        tpd_cuda_device_lose(device, words.text);
    if (error != NULL)
        *error = words;
    return status;
}

enum tpd_status tpd_cuda_device_lost(struct tpd_device *device, struct tpd_error *error) {
    (void)pthread_mutex_lock(&device->lock);
    enum tpd_status status = tpd_fail(error, TPD_DEVICE_LOST, "%s", device->reason);
    (void)pthread_mutex_unlock(&device->lock);
    return status;
}

bool tpd_cuda_drain(struct tpd_device *device, void *stream, enum tpd_status *status, struct tpd_error *error) {
    int code = device->calls->stream_wait(stream);
    *status = TPD_OK;
    if (code == 0)
        return true;
    *status = tpd_cuda_device_fail(device, code, "waiting for a stream to come to rest", error);
    if (*status == TPD_DEVICE_LOST || device->calls->stream_wait(stream) == 0)
        return true;
    tpd_cuda_device_lose(device, error->text);
    *status = TPD_DEVICE_LOST;
    return false;
}

enum tpd_status tpd_cuda_acquire(struct tpd_device *device, uint64_t bytes, uint64_t deadline_ns, uint64_t *offset,
                                 struct tpd_error *error) {
    enum tpd_status status = tpd_pool_acquire(&device->pool, bytes, deadline_ns, offset, error);
    return status == TPD_DEVICE_LOST ? tpd_cuda_device_lost(device, error) : status;
}

static enum tpd_status open_pool(struct tpd_device *device, uint64_t asked, struct tpd_error *error) {
    const struct tpd_cuda_calls *calls = device->calls;
    uint64_t free_bytes = 0, total_bytes = 0;
    int code = calls->memory_info(&free_bytes, &total_bytes);
    if (code != 0)
        return tpd_cuda_device_fail(device, code, "reading free memory", error);
    uint64_t bytes = asked;
    if (bytes == 0)
        bytes = free_bytes / 2 < pool_default_most ? free_bytes / 2 : pool_default_most;
    if (bytes < pool_least)
        return tpd_fail_limit(error, TPD_CONFIG, pool_least, bytes,
                              "cuda:%u: a pool of %" PRIu64 " bytes is under the least of %" PRIu64
                              ": raise device_memory_bytes, or free memory on the GPU",
                              device->index, bytes, pool_least);
    if (bytes > free_bytes)
        return tpd_fail_limit(error, TPD_NO_MEMORY, free_bytes, bytes,
                              "cuda:%u: device_memory_bytes is %" PRIu64 " and the GPU has %" PRIu64
                              " bytes free: ask for less, or for 0",
                              device->index, bytes, free_bytes);
    void *memory = NULL;
    code = calls->memory_alloc(&memory, bytes);
    if (code != 0)
        return tpd_cuda_device_fail(device, code, "taking the memory pool", error);
    device->memory = memory;
    device->pool.bytes = bytes - bytes % TPD_POOL_ALIGNMENT;
    /* So that two runs in panels can be under way; the least pool still has room for an item of the most bytes. */
    device->panel_most_bytes = bytes / (2 * 2 * TPD_CUDA_SLOTS);
    device->panel_most_bytes -= device->panel_most_bytes % TPD_POOL_ALIGNMENT;
    return TPD_OK;
}

static enum tpd_status open_lanes(struct tpd_device *device, uint32_t asked, struct tpd_error *error) {
    uint32_t most = asked == 0 ? TPD_CUDA_LANES_DEFAULT : asked < TPD_CUDA_LANES_MOST ? asked : TPD_CUDA_LANES_MOST;
    while (device->lane_count < most) {
        struct tpd_cuda_lane *lane = &device->lane[device->lane_count++]; /* counted first: close() skips what is NULL */
        int code = 0;
        for (int i = 0; i < TPD_CUDA_STREAMS && code == 0; i++)
            code = device->calls->stream_create(&lane->stream[i]);
        for (int i = 0; i < TPD_CUDA_SLOTS * TPD_CUDA_EVENTS && code == 0; i++)
            code = (i % TPD_CUDA_EVENTS == TPD_CUDA_OUT_ENDS ? device->calls->event_create : device->calls->event_create_quick)(
                &lane->event[i / TPD_CUDA_EVENTS][i % TPD_CUDA_EVENTS]);
        if (code == 0 && device->properties.maps_host)
            code = device->calls->host_alloc(&lane->stage, (uint64_t)2 * TPD_CUDA_STAGE_BYTES);
        if (code != 0)
            return tpd_cuda_device_fail(device, code, "making streams and events", error);
    }
    return TPD_OK;
}

/* Drivers load a kernel when it is first launched (milliseconds): that is done here, on a 2 x 2 matrix of zeros, for every
 * kernel a request can ask for, and both copy directions are used once. */
static enum tpd_status warm(struct tpd_device *device, struct tpd_tile tile, struct tpd_error *error) {
    const struct tpd_cuda_calls *calls = device->calls;
    void *stream = device->lane[0].stream[TPD_CUDA_STREAM_KERNEL];
    static const unsigned char zeros[WARM_BYTES];
    int code = calls->kernels_prepare(device->properties.shared_most_bytes);
    if (code == 0)
        code = calls->copy_in(device->memory, zeros, sizeof zeros, stream);
    if (code != 0)
        return tpd_cuda_device_fail(device, code, "loading the kernels", error);
    const struct tpd_tile tiles[] = {{0, 0}, tile};
    const int tile_count = tile.rows != 0 || tile.cols != 0 ? 2 : 1;
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++) {
        for (uint32_t itemsize = 1; itemsize <= 16; itemsize *= 2) {
            for (int i = 0; i < tile_count; i++) {
                struct tpd_matrix matrix = {.rows = 2, .cols = 2, .batch = 1, .itemsize = itemsize, .dtype = TPD_DTYPE_OPAQUE};
                struct tpd_plan plan;
                if (tpd_strategy_plan((enum tpd_strategy_id)id, &matrix, tiles[i], device->properties.shared_most_bytes, &plan,
                                      NULL) != TPD_OK)
                    continue; /* a tile that this strategy or item size can't have here: a request for it is refused the same way
                               */
                code = calls->kernel_launch(&plan, device->memory, device->memory + TPD_POOL_ALIGNMENT, stream);
                if (code != 0)
                    return tpd_cuda_device_fail(device, code, "warming a kernel", error);
            }
        }
    }
    for (uint32_t word = 1; word <= 16 && code == 0; word *= 2) {
        const struct tpd_cuda_rows rows = {device->memory + TPD_POOL_ALIGNMENT, device->memory, word, word, word, 1};
        code = calls->rows_launch(&rows, stream);
    }
    if (code == 0)
        code = calls->copy_out(device->warm, device->memory + TPD_POOL_ALIGNMENT, WARM_BYTES, stream);
    if (code == 0)
        code = calls->stream_wait(stream);
    return code != 0 ? tpd_cuda_device_fail(device, code, "warming the kernels", error) : TPD_OK;
}

/* Frees what there is. On a lost device every call fails and the process's end gives the memory back. */
void tpd_cuda_close(struct tpd_device *device) {
    if (device == NULL)
        return;
    const struct tpd_cuda_calls *calls = device->calls;
    int failed = calls->device_use((int)device->index);
    for (uint32_t i = 0; i < device->lane_count; i++) {
        struct tpd_cuda_lane *lane = &device->lane[i];
        for (int j = 0; j < TPD_CUDA_STREAMS; j++)
            if (lane->stream[j] != NULL)
                failed |= calls->stream_wait(lane->stream[j]);
        for (int j = 0; j < TPD_CUDA_STREAMS; j++)
            if (lane->stream[j] != NULL)
                failed |= calls->stream_destroy(lane->stream[j]);
        for (int j = 0; j < TPD_CUDA_SLOTS * TPD_CUDA_EVENTS; j++)
            if (lane->event[j / TPD_CUDA_EVENTS][j % TPD_CUDA_EVENTS] != NULL)
                failed |= calls->event_destroy(lane->event[j / TPD_CUDA_EVENTS][j % TPD_CUDA_EVENTS]);
        if (lane->stage != NULL)
            failed |= calls->host_free(lane->stage);
    }
    if (device->memory != NULL)
        failed |= calls->memory_free(device->memory);
    if (failed != 0)
        (void)calls->last_error();
    atomic_fetch_and(&open_devices, ~((uint_fast32_t)1 << device->index));
    (void)pthread_cond_destroy(&device->lane_free);
    (void)pthread_mutex_destroy(&device->lock);
    tpd_pool_fini(&device->pool);
    tpd_free(device);
}

static enum tpd_status open_parts(struct tpd_device *device, const struct tpd_device_options *options, struct tpd_error *error) {
    const struct tpd_cuda_calls *calls = device->calls;
    int code = calls->device_start((int)device->index);
    if (code != 0)
        return tpd_cuda_device_fail(device, code, "making the context", error);
    code = calls->device_properties((int)device->index, &device->properties);
    if (code != 0)
        return tpd_cuda_device_fail(device, code, "reading the GPU's properties", error);
    int driver = 0, runtime = 0;
    code = calls->driver_version(&driver);
    if (code == 0)
        code = calls->runtime_version(&runtime);
    if (code != 0)
        return tpd_cuda_device_fail(device, code, "reading the driver's version", error);
    device->driver_version = (uint32_t)driver;
    device->runtime_version = (uint32_t)runtime;
    enum tpd_status status = open_pool(device, options->device_memory_bytes, error);
    if (status == TPD_OK)
        status = open_lanes(device, options->lanes, error);
    if (status == TPD_OK)
        status = warm(device, options->tile, error);
    if (status == TPD_OK)
        status = tpd_cuda_measure_ways(device, error);
    return status;
}

enum tpd_status tpd_cuda_open(uint32_t index, const struct tpd_device_options *options, struct tpd_device **opened,
                              struct tpd_error *error) {
    *opened = NULL;
    const struct tpd_cuda_calls *calls = tpd_cuda_calls_in_use();
    if (calls == NULL || index >= TPD_DEVICES_MOST)
        return tpd_fail(error, TPD_UNKNOWN_DEVICE, "there is no cuda:%" PRIu32 " here", index);
    struct tpd_device *device = tpd_alloc_zero(1, sizeof *device);
    if (device == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for cuda:%" PRIu32, index);
    device->calls = calls;
    device->index = index;
    enum tpd_status status = tpd_pool_init(&device->pool, 0, error);
    if (status != TPD_OK) {
        tpd_free(device);
        return status;
    }
    status = tpd_pool_condition_init(&device->lock, &device->lane_free, error);
    if (status != TPD_OK) {
        tpd_pool_fini(&device->pool);
        tpd_free(device);
        return status;
    }
    status = open_parts(device, options, error);
    if (status != TPD_OK) {
        tpd_cuda_close(device);
        return status;
    }
    atomic_fetch_or(&open_devices, (uint_fast32_t)1 << index);
    *opened = device;
    return TPD_OK;
}
