/* fake_cuda.c -- see fake_cuda.h. */
#include "fake_cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_measure.h"
#include "harness.h"
#include "kernels/cuda/cuda_status.h"
#include "transposed/transposed.h"

enum { HANDLES = 256, OPERATIONS = 512 };
enum kind { NONE, MEMORY, HOST, STREAM, EVENT };
enum verb { COPY, LAUNCH, RECORD, CALL };

struct operation {
    enum verb verb;
    void *to;
    const void *from;
    uint64_t bytes;
    struct tpd_plan plan;
    struct fake_call call;
    struct handle *event;
};

struct handle {
    enum kind kind;
    unsigned char *memory;
    uint64_t bytes;
    struct operation *queue; /* a stream's */
    uint32_t queued;
    struct handle *stream; /* where an event was recorded last */
    bool reached;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct handle handle[HANDLES];
    uint64_t memory_bytes, nth, calls;
    int code, pending, dead;
    int count_code, count, driver_version;
    uint32_t slow_ms, mistakes, waiting, most_waiting;
    char mistake[128];
    bool failed, loses_item;
} fake;

/* A thread's device, as CUDA keeps it: -1 until it chose one. */
static __thread int thread_device = -1;

static void mistake(const char *what) {
    fake.mistakes++;
    if (fake.mistake[0] == '\0')
        (void)snprintf(fake.mistake, sizeof fake.mistake, "%s", what);
}

/* Every counted call begins here, with the lock held after it; 0: go on. */
static int enter(void) {
    (void)pthread_mutex_lock(&lock);
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
    (void)pthread_mutex_unlock(&lock);
    return code;
}

static int needs_device(int code) {
    if (code == 0 && thread_device != 0)
        mistake("a call from a thread that did not choose the device");
    return code;
}

static struct handle *make(enum kind kind) {
    for (int i = 0; i < HANDLES; i++)
        if (fake.handle[i].kind == NONE) {
            memset(&fake.handle[i], 0, sizeof fake.handle[i]);
            fake.handle[i].kind = kind;
            return &fake.handle[i];
        }
    abort();
}

static bool is(const void *pointer, enum kind kind) {
    const struct handle *handle = pointer;
    return handle >= fake.handle && handle < fake.handle + HANDLES && handle->kind == kind;
}

static bool on_device(const void *pointer, uint64_t bytes) {
    const unsigned char *at = pointer;
    for (int i = 0; i < HANDLES; i++) {
        const struct handle *handle = &fake.handle[i];
        if (handle->kind == MEMORY && at >= handle->memory && at < handle->memory + handle->bytes)
            return bytes <= (uint64_t)(handle->memory + handle->bytes - at);
    }
    return false;
}

static void perform(struct handle *stream) {
    for (uint32_t i = 0; i < stream->queued; i++) {
        struct operation *operation = &stream->queue[i];
        switch (operation->verb) {
        case COPY:
            memcpy(operation->to, operation->from, operation->bytes);
            break;
        case LAUNCH:
            tpd_transpose_ref(&operation->plan.matrix, operation->from, operation->to);
            if (fake.loses_item)
                ((unsigned char *)operation->to)[0] ^= 1;
            break;
        case CALL:
            operation->call.act(&operation->call);
            break;
        case RECORD:
            operation->event->reached = true;
            break;
        }
    }
    stream->queued = 0;
}

/* Lets other threads in while the device "works", as a real wait does. */
static void wait_for(struct handle *stream) {
    fake.waiting++;
    if (fake.waiting > fake.most_waiting)
        fake.most_waiting = fake.waiting;
    if (fake.slow_ms != 0 && stream->queued > 1) {
        struct timespec time = {fake.slow_ms / 1000, (long)(fake.slow_ms % 1000) * 1000000};
        (void)pthread_mutex_unlock(&lock);
        (void)nanosleep(&time, NULL);
        (void)pthread_mutex_lock(&lock);
    }
    fake.waiting--;
    if (fake.dead == 0)
        perform(stream);
}

static int enqueue(void *stream, struct operation operation) {
    struct handle *handle = stream;
    if (!is(stream, STREAM) || handle->queued == OPERATIONS) {
        mistake("work for something that is no stream");
        return 400;
    }
    handle->queue[handle->queued++] = operation;
    return 0;
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
        properties->memory_total_bytes = fake.memory_bytes;
        properties->shared_most_bytes = 227 * 1024;
        properties->cache_bytes = 4096;
        properties->compute_capability = 90;
        properties->multiprocessors = 1;
    }
    return leave(code);
}

static int device_use(int device) {
    int code = enter();
    if (code == 0)
        thread_device = device;
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
        struct handle *handle = make(kind);
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
            mistake("a stream was destroyed with work in it");
        free(handle->memory);
        free(handle->queue);
        memset(handle, 0, sizeof *handle);
        return leave(code);
    }
    mistake("something unknown was given back");
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
        struct handle *handle = make(STREAM);
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
        *event = make(EVENT);
    return leave(code);
}

static int stream_wait(void *stream) {
    int code = enter();
    if (code == 0) {
        if (is(stream, STREAM))
            wait_for(stream);
        else
            mistake("a wait for something that is no stream");
        code = fake.dead;
    }
    return leave(code);
}

static int event_record(void *event, void *stream) {
    int code = enter();
    struct handle *handle = event;
    if (code == 0 && !is(event, EVENT)) {
        mistake("something that is no event was recorded");
    } else if (code == 0) {
        handle->stream = stream;
        handle->reached = false;
        code = enqueue(stream, (struct operation){.verb = RECORD, .event = handle});
    }
    return leave(code);
}

static int event_wait(void *event) {
    int code = enter();
    struct handle *handle = event;
    if (code == 0 && !is(event, EVENT)) {
        mistake("a wait for something that is no event");
    } else if (code == 0) {
        if (handle->stream != NULL)
            wait_for(handle->stream);
        code = fake.dead;
    }
    return leave(code);
}

static int event_elapsed(float *milliseconds, void *from, void *to) {
    int code = enter();
    if (code == 0 && is(from, EVENT) && is(to, EVENT) && ((struct handle *)from)->reached && ((struct handle *)to)->reached)
        *milliseconds = 0.25f;
    else if (code == 0)
        code = 600; /* not ready */
    return leave(code);
}

static int copy_in(void *device, const void *host, uint64_t bytes, void *stream) {
    int code = needs_device(enter());
    if (code == 0 && !on_device(device, bytes))
        mistake("a copy out of device memory's bounds");
    else if (code == 0)
        code = enqueue(stream, (struct operation){.verb = COPY, .to = device, .from = host, .bytes = bytes});
    return leave(code);
}

static int copy_out(void *host, const void *device, uint64_t bytes, void *stream) {
    int code = needs_device(enter());
    if (code == 0 && !on_device(device, bytes))
        mistake("a copy out of device memory's bounds");
    else if (code == 0)
        code = enqueue(stream, (struct operation){.verb = COPY, .to = host, .from = device, .bytes = bytes});
    return leave(code);
}

int fake_cuda_call(const struct fake_call *call, void *stream) {
    int code = needs_device(enter());
    if (code == 0 && (!on_device(call->to, call->bytes) || (call->from != NULL && !on_device(call->from, call->bytes))))
        mistake("a measurement out of device memory's bounds");
    else if (code == 0)
        code = enqueue(stream, (struct operation){.verb = CALL, .call = *call});
    return leave(code);
}

static int kernels_prepare(uint64_t shared_most_bytes) {
    (void)shared_most_bytes;
    return leave(needs_device(enter()));
}

static int kernel_launch(const struct tpd_plan *plan, const void *in, void *out, void *stream) {
    int code = needs_device(enter());
    uint64_t bytes = 0;
    if (code == 0 && (tpd_matrix_bytes(&plan->matrix, &bytes, NULL) != TPD_OK || bytes == 0 || !on_device(in, bytes) ||
                      !on_device(out, bytes)))
        mistake("a kernel out of device memory's bounds");
    else if (code == 0)
        code = enqueue(stream, (struct operation){.verb = LAUNCH, .to = out, .from = in, .plan = *plan});
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
    (void)pthread_mutex_lock(&lock);
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
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_elapsed = event_elapsed,
    .copy_in = copy_in,
    .copy_out = copy_out,
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

void fake_cuda_reset(uint64_t memory_bytes, uint64_t nth, int code) {
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < HANDLES; i++) { /* what a failed test left */
        free(fake.handle[i].memory);
        free(fake.handle[i].queue);
    }
    memset(&fake, 0, sizeof fake);
    fake.memory_bytes = memory_bytes;
    fake.nth = nth;
    fake.code = code;
    fake.count = 1;
    fake.driver_version = 13000;
    thread_device = -1;
    (void)pthread_mutex_unlock(&lock);
}

void fake_cuda_machine(int count_code, int count, int version) {
    fake.count_code = count_code;
    fake.count = count;
    fake.driver_version = version;
}

void fake_cuda_slow(uint32_t milliseconds) {
    fake.slow_ms = milliseconds;
}

void fake_cuda_fail_later(uint64_t nth, int code) {
    fake.nth = fake.calls + nth;
    fake.code = code;
}

void fake_cuda_lose_item(void) {
    fake.loses_item = true;
}

bool fake_cuda_failed(void) {
    return fake.failed;
}

uint64_t fake_cuda_calls(void) {
    return fake.calls;
}

uint32_t fake_cuda_held(void) {
    uint32_t held = 0;
    for (int i = 0; i < HANDLES; i++)
        held += fake.handle[i].kind != NONE;
    return held;
}

uint32_t fake_cuda_queued(void) {
    uint32_t queued = 0;
    for (int i = 0; i < HANDLES; i++)
        queued += fake.handle[i].queued;
    return queued;
}

uint32_t fake_cuda_mistakes(void) {
    return fake.mistakes;
}

const char *fake_cuda_mistake(void) {
    return fake.mistake;
}

uint32_t fake_cuda_most_streams(void) {
    return fake.most_waiting;
}
