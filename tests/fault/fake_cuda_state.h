/* fake_cuda_state.h -- what the fake GPU is made of; for its own three files alone. */
#ifndef TPD_FAKE_CUDA_STATE_H
#define TPD_FAKE_CUDA_STATE_H

#include <pthread.h>

#include "fake_cuda.h"
#include "fake_measure.h"

enum { HANDLES = 512, OPERATIONS = 1024 };
enum kind { NONE, MEMORY, HOST, STREAM, EVENT };
enum verb { COPY, LAUNCH, RECORD, AWAIT, CALL };

struct operation {
    enum verb verb;
    struct tpd_cuda_rows rows;
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
    bool working;          /* in fake_perform(): a circle of waits would never end */
    struct handle *stream; /* where an event was recorded last */
    bool reached;
    uint64_t clock_ns; /* of a stream, by what kernels cost; of an event, when it was reached */
};

struct fake_cuda_state {
    pthread_mutex_t lock;
    struct handle handle[HANDLES];
    uint64_t memory_bytes, nth, calls;
    int code, pending, dead;
    int count_code, count, driver_version;
    uint32_t slow_ms, mistakes, waiting, most_waiting;
    char mistake[128];
    bool failed, maps_host, loses_item;
    uint64_t (*price)(const struct tpd_plan *plan);
};
extern struct fake_cuda_state fake;
extern __thread int fake_cuda_thread_device; /* as CUDA keeps it: -1 until the thread chose one */

/* fake_cuda_work.c; every one with the lock held. */
void fake_mistake(const char *what); /* one more; the first is kept in words */
struct handle *fake_make(enum kind kind);
bool fake_is(const void *pointer, enum kind kind);
bool fake_lies_in(enum kind kind, const void *pointer, uint64_t bytes);
int fake_enqueue(void *stream, struct operation operation); /* answers the driver's code */
void fake_perform(struct handle *stream, const struct handle *until);
void fake_wait_for(struct handle *stream, const struct handle *until);

#endif
