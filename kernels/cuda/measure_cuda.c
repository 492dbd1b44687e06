/* measure_cuda.c -- what a transpose that stays on the GPU takes, beside the driver's copy and a copy kernel: by events, in
 * turns.
 *
 * Input, output and the count of wrong items are one piece of the pool; the stream is the measurement's own, so that lanes stay
 * free for runs. The check is a kernel of three plain divisions an item that shares nothing with the strategies.
 */
#include <inttypes.h>
#include <string.h>

#include "kernels/cuda/cuda_device.h"
#include "transposed/measure.h"

struct measuring {
    struct tpd_device *device;
    struct tpd_plan plan;
    uint64_t bytes;
    unsigned char *in, *out, *count; /* in the pool */
    void *stream, *from, *to;
    uint64_t wrong; /* where the count is copied to */
};

static int launch(const struct measuring *at, enum tpd_measured what) {
    const struct tpd_cuda_calls *calls = at->device->calls;
    if (what == TPD_MEASURED_TRANSPOSE)
        return calls->kernel_launch(&at->plan, at->in, at->out, at->stream);
    if (what == TPD_MEASURED_COPY)
        return calls->copy_within(at->out, at->in, at->bytes, at->stream);
    return calls->measure_copy(at->out, at->in, at->bytes, at->stream);
}

static enum tpd_status once(void *context, enum tpd_measured what, double *seconds, struct tpd_error *error) {
    struct measuring *at = context;
    const struct tpd_cuda_calls *calls = at->device->calls;
    const uint32_t burst = tpd_measure_burst(at->bytes);
    float milliseconds = 0;
    int code = calls->event_record(at->from, at->stream);
    for (uint32_t i = 0; i < burst && code == 0; i++)
        code = launch(at, what);
    if (code == 0)
        code = calls->event_record(at->to, at->stream);
    if (code == 0)
        code = calls->event_wait(at->to);
    if (code == 0)
        code = calls->event_elapsed(&milliseconds, at->from, at->to);
    *seconds = (double)milliseconds * 1e-3 / burst;
    return code == 0 ? TPD_OK : tpd_cuda_device_fail(at->device, code, "timing", error);
}

static int check(struct measuring *at) {
    const struct tpd_cuda_calls *calls = at->device->calls;
    static const uint64_t none = 0;
    int code = calls->measure_fill(at->in, at->bytes, 1, at->stream);
    if (code == 0)
        code = calls->measure_fill(at->out, at->bytes, at->bytes, at->stream);
    if (code == 0)
        code = calls->copy_in(at->count, &none, sizeof none, at->stream);
    if (code == 0)
        code = launch(at, TPD_MEASURED_TRANSPOSE);
    if (code == 0)
        code = calls->measure_check(&at->plan.matrix, at->in, at->out, at->count, at->stream);
    if (code == 0)
        code = calls->copy_out(&at->wrong, at->count, sizeof at->wrong, at->stream);
    return code == 0 ? calls->stream_wait(at->stream) : code;
}

static enum tpd_status measure(struct measuring *at, const struct tpd_measure *ask, struct tpd_measurement *result,
                               struct tpd_error *error) {
    const struct tpd_cuda_calls *calls = at->device->calls;
    int code = calls->stream_create(&at->stream);
    if (code == 0)
        code = calls->event_create(&at->from);
    if (code == 0)
        code = calls->event_create(&at->to);
    if (code != 0)
        return tpd_cuda_device_fail(at->device, code, "making a stream and its events", error);
    code = check(at);
    if (code != 0)
        return tpd_cuda_device_fail(at->device, code, "checking a transpose", error);
    result->wrong_items = at->wrong;
    return at->wrong == 0 ? tpd_measure_in_turns(ask, once, at, result, error) : TPD_OK;
}

/* Nothing of ours may be under way when the memory goes back. */
static void end(struct measuring *at) {
    const struct tpd_cuda_calls *calls = at->device->calls;
    enum tpd_status waited;
    struct tpd_error words;
    if (at->stream != NULL)
        (void)tpd_cuda_drain(at->device, at->stream, &waited, &words);
    int failed = at->from != NULL ? calls->event_destroy(at->from) : 0;
    failed |= at->to != NULL ? calls->event_destroy(at->to) : 0;
    failed |= at->stream != NULL ? calls->stream_destroy(at->stream) : 0;
    if (failed != 0)
        (void)calls->last_error();
}

enum tpd_status tpd_cuda_measure(struct tpd_device *device, const struct tpd_measure *ask, struct tpd_measurement *result,
                                 struct tpd_error *error) {
    struct measuring at = {.device = device};
    uint64_t offset;
    memset(result, 0, sizeof *result);
    enum tpd_status status = tpd_matrix_bytes(&ask->matrix, &at.bytes, error);
    if (status == TPD_OK)
        status = tpd_cuda_plan(device, ask->strategy, &ask->matrix, ask->tile, &at.plan, error);
    if (status != TPD_OK)
        return status;
    const uint64_t room = tpd_pool_room(at.bytes);
    if (at.bytes == 0 || 2 * room + TPD_POOL_ALIGNMENT > device->pool.bytes)
        return tpd_fail_limit(error, TPD_TOO_LARGE, device->pool.bytes / 2, at.bytes,
                              "the matrix has %" PRIu64 " bytes: it and its transpose have to fit into the pool of %" PRIu64
                              " bytes on cuda:%" PRIu32,
                              at.bytes, device->pool.bytes, device->index);
    status = tpd_cuda_acquire(device, 2 * room + TPD_POOL_ALIGNMENT, 0, &offset, error);
    if (status != TPD_OK)
        return status;
    at.in = device->memory + offset;
    at.out = at.in + room;
    at.count = at.out + room;
    result->strategy = tpd_strategy_at(at.plan.strategy)->name;
    result->tile = at.plan.tile;
    result->cache_least_bytes = result->cache_most_bytes = device->properties.cache_bytes;
    int code = device->calls->device_use((int)device->index);
    status = code == 0 ? measure(&at, ask, result, error)
                       : tpd_cuda_device_fail(device, code, "choosing the device in this thread", error);
    end(&at);
    tpd_pool_release(&device->pool, offset);
    return status;
}
