/* fake_cuda.c -- see fake_cuda.h. */
#include "fake_cuda_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "kernels/cuda/cuda_status.h"
#include "transposed/transposed.h"

struct fake_cuda_state fake = {.lock = PTHREAD_MUTEX_INITIALIZER};
__thread int fake_cuda_thread_device = -1;

/* Every counted call begins here, with the lock held after it; 0: go on. */
static int enter(void) {
    (void)pthread_mutex_lock(&fake.lock);
    fake.calls++;
    if (fake.dead != 0)
        return fake.dead;
    if (fake.nth == 0 || fake.calls != fake.nth)
        return 0;
    fake.failed = true;
    fake.pending = fake.code;
    if (tpd_cuda_is_sticky(fake.code)) {
        fake.dead = fake.code;
        for (int i = 0; i < HANDLES; i++)
            fake.handle[i].queued = 0; /* the context is gone and its work with it */
    }
    return fake.code;
}

static int leave(int code) {
    (void)pthread_mutex_unlock(&fake.lock);
    return code;
}

static int needs_device(int code) {
    if (code == 0 && fake_cuda_thread_device != 0)
        fake_mistake("a call from a thread that did not choose the device");
    return code;
}

static bool on_device(const void *pointer, uint64_t bytes) {
    return fake_lies_in(MEMORY, pointer, bytes);
}

static int device_count(int *count) {
    int code = enter();
    if (code == 0)
        code = fake.count_code;
    if (code == 0)
        *count = fake.count;
    return leave(code);
}

static int driver_version(int *version) {
    int code = enter();
    if (code == 0)
        *version = fake.driver_version;
    return leave(code);
}

static int runtime_version(int *version) {
    int code = enter();
    if (code == 0)
        *version = 13000;
    return leave(code);
}

static int device_properties(int device, struct tpd_cuda_properties *properties) {
    (void)device;
    int code = enter();
    if (code == 0) {
        memset(properties, 0, sizeof *properties);
        (void)snprintf(properties->name, sizeof properties->name, "Fake GPU");
        (void)snprintf(properties->uuid, sizeof properties->uuid, "GPU-00000000-0000-0000-0000-000000000000");
        properties->memory_total_bytes = fake.memory_bytes;
        properties->shared_most_bytes = 227 * 1024;
        properties->cache_bytes = 4096;
        properties->compute_capability = 90;
        properties->multiprocessors = 1;
        properties->maps_host = fake.maps_host;
    }
    return leave(code);
}

static int device_use(int device) {
    int code = enter();
    if (code == 0)
        fake_cuda_thread_device = device;
    return leave(code);
}

static int memory_info(uint64_t *free_bytes, uint64_t *total_bytes) {
    int code = needs_device(enter());
    if (code == 0)
        *free_bytes = *total_bytes = fake.memory_bytes;
    return leave(code);
}

static int allocate(void **memory, uint64_t bytes, enum kind kind) {
    int code = needs_device(enter());
    if (code == 0) {
        struct handle *handle = fake_make(kind);
        handle->memory = malloc(bytes);
        handle->bytes = bytes;
        if (handle->memory == NULL)
            abort();
        tpd_random_fill(handle->memory, bytes, bytes);
        *memory = handle->memory;
    }
    return leave(code);
}

static int memory_alloc(void **memory, uint64_t bytes) {
    return allocate(memory, bytes, MEMORY);
}
static int host_alloc(void **memory, uint64_t bytes) {
    return allocate(memory, bytes, HOST);
}

/* A handle is given back even when the call fails: on a dead context there is nothing else a caller could do. */
static int give_back(const void *pointer, enum kind kind) {
    int code = enter();
    for (int i = 0; i < HANDLES; i++) {
        struct handle *handle = &fake.handle[i];
        if (handle->kind != kind || (kind <= HOST ? (void *)handle->memory : (void *)handle) != pointer)
            continue;
        if (kind == STREAM && handle->queued != 0)
            fake_mistake("a stream was destroyed with work in it");
        free(handle->memory);
        free(handle->queue);
        memset(handle, 0, sizeof *handle);
        return leave(code);
    }
    fake_mistake("something unknown was given back");
    return leave(code);
}

static int memory_free(void *memory) {
    return give_back(memory, MEMORY);
}
static int host_free(void *memory) {
    return give_back(memory, HOST);
}
static int stream_destroy(void *stream) {
    return give_back(stream, STREAM);
}
static int event_destroy(void *event) {
    return give_back(event, EVENT);
}

static int stream_create(void **stream) {
    int code = needs_device(enter());
    if (code == 0) {
        struct handle *handle = fake_make(STREAM);
        handle->queue = calloc(OPERATIONS, sizeof *handle->queue);
        if (handle->queue == NULL)
            abort();
        *stream = handle;
    }
    return leave(code);
}

static int event_create(void **event) {
    int code = needs_device(enter());
    if (code == 0)
        *event = fake_make(EVENT);
    return leave(code);
}

static int stream_wait(void *stream) {
    int code = enter();
    if (code == 0) {
        if (fake_is(stream, STREAM))
            fake_wait_for(stream, NULL);
        else
            fake_mistake("a wait for something that is no stream");
        code = fake.dead;
    }
    return leave(code);
}

static int event_record(void *event, void *stream) {
    int code = enter();
    struct handle *handle = event;
    if (code == 0 && !fake_is(event, EVENT)) {
        fake_mistake("something that is no event was recorded");
    } else if (code == 0) {
        if (handle->stream != NULL && !handle->reached)
            fake_mistake("an event was recorded again before anybody saw it reached");
        handle->stream = stream;
        handle->reached = false;
        code = fake_enqueue(stream, (struct operation){.verb = RECORD, .event = handle});
    }
    return leave(code);
}

static int event_wait(void *event) {
    int code = enter();
    struct handle *handle = event;
    if (code == 0 && !fake_is(event, EVENT)) {
        fake_mistake("a wait for something that is no event");
    } else if (code == 0) {
        if (handle->stream != NULL)
            fake_wait_for(handle->stream, handle);
        code = fake.dead;
    }
    return leave(code);
}

/* While the device is slow it is never done before somebody waits. */
static int event_query(void *event) {
    int code = enter();
    struct handle *handle = event;
    if (code == 0 && !fake_is(event, EVENT)) {
        fake_mistake("a question for something that is no event");
    } else if (code == 0 && handle->stream != NULL) {
        if (fake.slow_ms == 0)
            fake_perform(handle->stream, handle);
        code = handle->reached ? 0 : TPD_CUDA_NOT_READY;
    }
    return leave(code);
}

static int rows_launch(const struct tpd_cuda_rows *rows, void *stream) {
    int code = needs_device(enter());
    const bool inside = code == 0 && on_device(rows->to, rows->row_bytes) && on_device(rows->from, rows->row_bytes);
    if (code == 0 && !fake.maps_host && !inside)
        fake_mistake("a kernel that copies rows of memory that it can't reach");
    else if (code == 0)
        code = fake_enqueue(stream, (struct operation){.verb = COPY, .rows = *rows});
    return leave(code);
}

static int stream_await(void *stream, void *event) {
    int code = enter();
    if (code == 0 && (!fake_is(event, EVENT) || ((struct handle *)event)->stream == NULL))
        fake_mistake("a stream that awaits something that was never recorded");
    else if (code == 0)
        code = fake_enqueue(stream, (struct operation){.verb = AWAIT, .event = event});
    return leave(code);
}

static int event_elapsed(float *milliseconds, void *from, void *to) {
    int code = enter();
    if (code == 0 && fake_is(from, EVENT) && fake_is(to, EVENT) && ((struct handle *)from)->reached &&
        ((struct handle *)to)->reached)
        *milliseconds =
            fake.price == NULL ? 0.25f : (float)(((struct handle *)to)->clock_ns - ((struct handle *)from)->clock_ns) * 1e-6f;
    else if (code == 0)
        code = 600; /* not ready */
    return leave(code);
}

/* One stretch of memory that begins and ends in one allocation of the kind: bytes of rows and what is between them. */
static uint64_t reach(uint64_t pitch, const struct tpd_cuda_rows *rows) {
    return (rows->rows - 1) * pitch + rows->row_bytes;
}

static int copy(const struct tpd_cuda_rows *rows, const void *device, uint64_t pitch, void *stream) {
    int code = needs_device(enter());
    if (code == 0 && (rows->rows == 0 || rows->row_bytes == 0 || rows->row_bytes > rows->to_pitch ||
                      rows->row_bytes > rows->from_pitch || !on_device(device, reach(pitch, rows))))
        fake_mistake("a copy out of device memory's bounds");
    else if (code == 0)
        code = fake_enqueue(stream, (struct operation){.verb = COPY, .rows = *rows});
    return leave(code);
}

static int copy_in_rows(const struct tpd_cuda_rows *rows, void *stream) {
    return copy(rows, rows->to, rows->to_pitch, stream);
}
static int copy_out_rows(const struct tpd_cuda_rows *rows, void *stream) {
    return copy(rows, rows->from, rows->from_pitch, stream);
}
static int copy_in(void *device, const void *host, uint64_t bytes, void *stream) {
    return copy_in_rows(&(struct tpd_cuda_rows){device, host, bytes, bytes, bytes, 1}, stream);
}
static int copy_out(void *host, const void *device, uint64_t bytes, void *stream) {
    return copy_out_rows(&(struct tpd_cuda_rows){host, device, bytes, bytes, bytes, 1}, stream);
}

int fake_cuda_call(const struct fake_call *call, void *stream) {
    int code = needs_device(enter());
    if (code == 0 && (!on_device(call->to, call->bytes) || (call->from != NULL && !on_device(call->from, call->bytes))))
        fake_mistake("a measurement out of device memory's bounds");
    else if (code == 0)
        code = fake_enqueue(stream, (struct operation){.verb = CALL, .call = *call});
    return leave(code);
}

static int kernels_prepare(uint64_t shared_most_bytes) {
    (void)shared_most_bytes;
    return leave(needs_device(enter()));
}

static int kernel_launch(const struct tpd_plan *plan, const void *in, void *out, void *stream) {
    int code = needs_device(enter());
    uint64_t bytes = 0;
    if (code == 0 &&
        (tpd_matrix_bytes(&plan->matrix, &bytes, NULL) != TPD_OK || bytes == 0 ||
         !(on_device(in, bytes) || fake_lies_in(HOST, in, bytes)) || !(on_device(out, bytes) || fake_lies_in(HOST, out, bytes))))
        fake_mistake("a kernel out of device memory's bounds");
    else if (code == 0)
        code = fake_enqueue(stream, (struct operation){.verb = LAUNCH, .rows = {.to = out, .from = in}, .plan = *plan});
    return leave(code);
}

static int kernel_occupancy(const struct tpd_plan *plan, uint32_t *registers, uint32_t *blocks) {
    int code = needs_device(enter());
    if (code == 0) {
        *registers = 40 + (uint32_t)plan->strategy;
        *blocks = 5;
    }
    return leave(code);
}

static int last_error(void) {
    (void)pthread_mutex_lock(&fake.lock);
    int code = fake.dead != 0 ? fake.dead : fake.pending;
    fake.pending = 0;
    return leave(code);
}

static const char *error_name(int code) {
    return code == 2 ? "cudaErrorMemoryAllocation" : "cudaErrorFake";
}

static const char *error_text(int code) {
    return code == 2 ? "out of memory" : "a fault made on purpose";
}

const struct tpd_cuda_calls fake_cuda = {
    .device_count = device_count,
    .driver_version = driver_version,
    .runtime_version = runtime_version,
    .device_properties = device_properties,
    .device_start = device_use,
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
    .event_create_quick = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_query = event_query,
    .event_elapsed = event_elapsed,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy_in_rows = copy_in_rows,
    .copy_out_rows = copy_out_rows,
    .rows_launch = rows_launch,
    .copy_within = fake_copy_within,
    .kernels_prepare = kernels_prepare,
    .kernel_launch = kernel_launch,
    .kernel_occupancy = kernel_occupancy,
    .measure_fill = fake_measure_fill,
    .measure_copy = fake_measure_copy,
    .measure_check = fake_measure_check,
    .last_error = last_error,
    .error_name = error_name,
    .error_text = error_text,
};
