/* fake_cuda_knobs.c -- how a test sets the fake GPU up, and what it asks it afterwards. */
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_state.h"

void fake_cuda_reset(uint64_t memory_bytes, uint64_t nth, int code) {
    (void)pthread_mutex_lock(&fake.lock);
    for (int i = 0; i < HANDLES; i++) { /* what a failed test left */
        free(fake.handle[i].memory);
        free(fake.handle[i].queue);
    }
    const struct fake_cuda_state fresh = {.lock = PTHREAD_MUTEX_INITIALIZER};
    (void)pthread_mutex_unlock(&fake.lock); /* one thread is here: what the lock is made of begins anew as well */
    fake = fresh;
    (void)pthread_mutex_lock(&fake.lock);
    fake.memory_bytes = memory_bytes;
    fake.nth = nth;
    fake.code = code;
    fake.count = 1;
    fake.maps_host = true;
    fake.driver_version = 13000;
    fake_cuda_thread_device = -1;
    (void)pthread_mutex_unlock(&fake.lock);
}

void fake_cuda_fail(uint64_t nth, int code) {
    fake.nth = nth == 0 ? 0 : fake.calls + nth;
    fake.code = code;
}

void fake_cuda_machine(int count_code, int count, int version) {
    fake.count_code = count_code;
    fake.count = count;
    fake.driver_version = version;
}

void fake_cuda_map(bool maps_host) {
    fake.maps_host = maps_host;
}

void fake_cuda_slow(uint32_t milliseconds) {
    fake.slow_ms = milliseconds;
}

void fake_cuda_price(uint64_t (*price)(const struct tpd_plan *plan)) {
    fake.price = price;
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
