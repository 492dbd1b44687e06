/* fake_cuda_work.c -- the fake GPU's handles, and the work that lies in its streams until somebody waits for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_cuda_state.h"
#include "transposed/transposed.h"

void fake_mistake(const char *what) {
    fake.mistakes++;
    if (fake.mistake[0] == '\0')
        (void)snprintf(fake.mistake, sizeof fake.mistake, "%s", what);
}

struct handle *fake_make(enum kind kind) {
    for (int i = 0; i < HANDLES; i++)
        if (fake.handle[i].kind == NONE) {
            memset(&fake.handle[i], 0, sizeof fake.handle[i]);
            fake.handle[i].kind = kind;
            return &fake.handle[i];
        }
    abort();
}

bool fake_is(const void *pointer, enum kind kind) {
    const struct handle *handle = pointer;
    return handle >= fake.handle && handle < fake.handle + HANDLES && handle->kind == kind;
}

/* Page-locked host memory is what kernels reach as well, and copies' device side is not. */
bool fake_lies_in(enum kind kind, const void *pointer, uint64_t bytes) {
    const unsigned char *at = pointer;
    for (int i = 0; i < HANDLES; i++) {
        const struct handle *handle = &fake.handle[i];
        if (handle->kind == kind && at >= handle->memory && at < handle->memory + handle->bytes)
            return bytes <= (uint64_t)(handle->memory + handle->bytes - at);
    }
    return false;
}

/* Only as far as that event (NULL: to the end): whoever waits for too little sees work undone. What the stream itself waits
 * for is done first, in its own stream. */
void fake_perform(struct handle *stream, const struct handle *until) {
    if (stream->working) {
        fake_mistake("streams wait for each other in a circle");
        return;
    }
    stream->working = true;
    uint32_t done = 0;
    while (done < stream->queued && (until == NULL || !until->reached)) {
        struct operation *operation = &stream->queue[done++];
        const struct tpd_cuda_rows *rows = &operation->rows;
        switch (operation->verb) {
        case COPY:
            for (uint64_t i = 0; i < rows->rows; i++)
                memcpy((unsigned char *)rows->to + i * rows->to_pitch, (const unsigned char *)rows->from + i * rows->from_pitch,
                       rows->row_bytes);
            break;
        case LAUNCH:
            if (fake.price != NULL) {
                stream->clock_ns += fake.price(&operation->plan);
                break;
            }
            tpd_transpose_ref(&operation->plan.matrix, rows->from, rows->to);
            if (fake.loses_item)
                ((unsigned char *)rows->to)[0] ^= 1;
            break;
        case CALL:
            operation->call.act(&operation->call);
            break;
        case RECORD:
            operation->event->clock_ns = stream->clock_ns;
            operation->event->reached = true;
            break;
        case AWAIT:
            if (!operation->event->reached && operation->event->stream != NULL)
                fake_perform(operation->event->stream, operation->event);
            break;
        }
    }
    stream->queued -= done;
    memmove(stream->queue, stream->queue + done, stream->queued * sizeof stream->queue[0]);
    stream->working = false;
}

/* Lets other threads in while the device "works", as a real wait does. */
void fake_wait_for(struct handle *stream, const struct handle *until) {
    fake.waiting++;
    if (fake.waiting > fake.most_waiting)
        fake.most_waiting = fake.waiting;
    if (fake.slow_ms != 0 && stream->queued > 1) {
        struct timespec time = {fake.slow_ms / 1000, (long)(fake.slow_ms % 1000) * 1000000};
        (void)pthread_mutex_unlock(&fake.lock);
        (void)nanosleep(&time, NULL);
        (void)pthread_mutex_lock(&fake.lock);
    }
    fake.waiting--;
    if (fake.dead == 0)
        fake_perform(stream, until);
}

int fake_enqueue(void *stream, struct operation operation) {
    struct handle *handle = stream;
    if (!fake_is(stream, STREAM) || handle->queued == OPERATIONS) {
        fake_mistake("work for something that is no stream");
        return 400;
    }
    handle->queue[handle->queued++] = operation;
    return 0;
}
