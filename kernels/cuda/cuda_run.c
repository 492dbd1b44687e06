/* cuda_run.c -- one task on one lane, in each of the three ways.
 *
 * A run takes, in one piece, all the device memory that it will need, so that two runs never hold one half each and wait for the
 * other. After a failed call the lane's streams are drained before the caller gets its buffers back: nothing of ours touches
 * them afterwards.
 */
#include <string.h>

#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/panels.h"
#include "transposed/clock.h"

/* Panels; all but COUNT in bytes. A pipeline of COUNT fills and drains in little time: the first and last are smaller still. */
enum {
    COUNT = 8,
    COUNT_BY_KERNEL = 16,
    TARGET_BYTES = 64 << 20,
    IN_ORDER_BYTES = 16 << 20,
    STRIP_BYTES = 16 << 10, /* a copy engine's: 1.6 times as long for them as for a plain copy, 2.5 at 4 KiB (H200) */
    SHORT_STRIP_BYTES = 1 << 10,
    KERNEL_ROW_BYTES = 256 << 10 /* from here on rows are plain copies enough for an engine, and few for a kernel's warps */
};

enum {
    MAPPED_ALIGNMENT = 16, /* bytes: a kernel's largest access */
    SHORT_BYTES = 4 << 20, /* of a run that is over before a sleeping thread would be awake again */
    SPIN_NS = 250000       /* how long to look for the end of such a run before going to sleep after all */
};

/* Kernels reach the caller's own memory. */
static bool is_reached(const struct tpd_task *task) {
    return task->pinned && (((uintptr_t)task->in | (uintptr_t)task->out) & (MAPPED_ALIGNMENT - 1)) == 0;
}

bool tpd_cuda_can_map(const struct tpd_device *device, const struct tpd_task *task, uint64_t bytes) {
    return device->properties.maps_host && (bytes <= TPD_CUDA_STAGE_BYTES || is_reached(task));
}

static void drain(struct tpd_device *device, const struct tpd_cuda_lane *lane) {
    enum tpd_status waited;
    struct tpd_error words;
    for (int i = 0; i < TPD_CUDA_STREAMS; i++)
        (void)tpd_cuda_drain(device, lane->stream[i], &waited, &words);
}

static int add_time(const struct tpd_cuda_calls *calls, void *const event[TPD_CUDA_EVENTS], enum tpd_cuda_event begins,
                    uint64_t *sum_ns) {
    float milliseconds = 0;
    int code = calls->event_elapsed(&milliseconds, event[begins], event[begins + 1]);
    if (code == 0 && milliseconds > 0)
        *sum_ns += (uint64_t)((double)milliseconds * 1e6);
    return code;
}

static int add_times(const struct tpd_cuda_calls *calls, void *const event[TPD_CUDA_EVENTS], struct tpd_outcome *outcome) {
    int code = add_time(calls, event, TPD_CUDA_IN_BEGINS, &outcome->h2d_ns);
    if (code == 0)
        code = add_time(calls, event, TPD_CUDA_KERNEL_BEGINS, &outcome->kernel_ns);
    if (code == 0)
        code = add_time(calls, event, TPD_CUDA_OUT_BEGINS, &outcome->d2h_ns);
    return code;
}

/* A short run is waited for awake: to be woken costs more than it takes. Else by the stream, which has nothing after it. */
static int wait_for_run(const struct tpd_cuda_run *run, void *event, void *stream) {
    const struct tpd_cuda_calls *calls = run->device->calls;
    const bool is_short = run->bytes <= SHORT_BYTES;
    uint64_t until_ns = is_short ? tpd_clock_ns() + SPIN_NS : 0;
    int code = TPD_CUDA_NOT_READY;
    while (is_short && code == TPD_CUDA_NOT_READY && tpd_clock_ns() < until_ns)
        code = calls->event_query(event);
    return code == TPD_CUDA_NOT_READY ? calls->stream_wait(stream) : code;
}

/* The kernel between two events; the code of the first call that failed. */
static int launch(const struct tpd_cuda_calls *calls, const struct tpd_plan *plan, const void *in, void *out,
                  void *const event[TPD_CUDA_EVENTS], void *stream) {
    int code = calls->event_record(event[TPD_CUDA_KERNEL_BEGINS], stream);
    if (code == 0)
        code = calls->kernel_launch(plan, in, out, stream);
    if (code == 0)
        code = calls->event_record(event[TPD_CUDA_KERNEL_ENDS], stream);
    return code;
}

/* ---- mapped ---- */

/* The bus wants long runs of both sides at once: blocks that are under way together then cover a page of each row they read, and
 * of each they write. Tile rows or columns one after the other touch another page of one side with every block: 63 and 54 ms a
 * GiB where bands of 4 to 64 tiles take 26 (H200, PCIe 5; 22.5 is both directions at once). */
enum { BAND_BYTES = 4096 };

static struct tpd_plan in_bands(const struct tpd_plan *plan) {
    struct tpd_plan banded = *plan;
    const uint64_t row_bytes = (uint64_t)plan->tile.cols * plan->matrix.itemsize;
    if (plan->tiles_across > 1 && row_bytes != 0)
        banded.band = row_bytes < BAND_BYTES ? (uint32_t)(BAND_BYTES / row_bytes) : 1;
    return banded;
}

static int run_mapped(const struct tpd_cuda_run *run, struct tpd_outcome *outcome) {
    const struct tpd_cuda_calls *calls = run->device->calls;
    const struct tpd_cuda_lane *lane = run->lane;
    const struct tpd_task *task = run->task;
    const bool is_staged = !is_reached(task);
    const void *in = task->in;
    void *out = task->out;
    if (is_staged) {
        uint64_t start_ns = tpd_clock_ns();
        in = memcpy(lane->stage, task->in, run->bytes);
        out = (unsigned char *)lane->stage + TPD_CUDA_STAGE_BYTES;
        outcome->h2d_ns = tpd_clock_ns() - start_ns;
    }
    const struct tpd_plan plan = in_bands(run->plan);
    int code = launch(calls, &plan, in, out, lane->event[0], lane->stream[TPD_CUDA_STREAM_KERNEL]);
    if (code == 0)
        code = wait_for_run(run, lane->event[0][TPD_CUDA_KERNEL_ENDS], lane->stream[TPD_CUDA_STREAM_KERNEL]);
    if (code == 0)
        code = add_time(calls, lane->event[0], TPD_CUDA_KERNEL_BEGINS, &outcome->kernel_ns);
    if (code == 0 && is_staged) {
        uint64_t start_ns = tpd_clock_ns();
        memcpy(task->out, out, run->bytes);
        outcome->d2h_ns = tpd_clock_ns() - start_ns;
    }
    return code;
}

/* ---- whole ---- */

static int run_whole(const struct tpd_cuda_run *run, unsigned char *in, unsigned char *out, struct tpd_outcome *outcome) {
    const struct tpd_cuda_calls *calls = run->device->calls;
    void *const *event = run->lane->event[0], *stream = run->lane->stream[TPD_CUDA_STREAM_KERNEL];
    int code = calls->event_record(event[TPD_CUDA_IN_BEGINS], stream);
    if (code == 0)
        code = calls->copy_in(in, run->task->in, run->bytes, stream);
    if (code == 0)
        code = calls->event_record(event[TPD_CUDA_IN_ENDS], stream);
    if (code == 0)
        code = launch(calls, run->plan, in, out, event, stream);
    if (code == 0)
        code = calls->event_record(event[TPD_CUDA_OUT_BEGINS], stream);
    if (code == 0)
        code = calls->copy_out(run->task->out, out, run->bytes, stream);
    if (code == 0)
        code = calls->event_record(event[TPD_CUDA_OUT_ENDS], stream);
    if (code == 0)
        code = wait_for_run(run, event[TPD_CUDA_OUT_ENDS], stream);
    return code == 0 ? add_times(calls, event, outcome) : code;
}

/* ---- panels ---- */

static bool rows_go_by_kernel(const struct tpd_device *device, const struct tpd_task *task) {
    return device->rows_by != TPD_CUDA_ROWS_ENGINE && task->pinned && device->properties.maps_host;
}

void tpd_cuda_panels_begin(struct tpd_panels *panels, const struct tpd_device *device, const struct tpd_task *task) {
    const bool by_kernel = rows_go_by_kernel(device, task);
    const struct tpd_panels_wish wish = {
        .most_bytes = device->panel_most_bytes,
        /* What is left to do when a body's end has come is a part of a panel. */
        .target_bytes = task->flow != NULL ? IN_ORDER_BYTES : TARGET_BYTES,
        .strip_bytes = by_kernel || task->flow != NULL ? SHORT_STRIP_BYTES : STRIP_BYTES,
        .count = by_kernel ? COUNT_BY_KERNEL : COUNT,
        .rows_first = by_kernel && device->rows_by == TPD_CUDA_ROWS_OUT,
        .in_order = task->flow != NULL,
    };
    tpd_panels_begin(panels, &task->matrix, &wish);
}

bool tpd_cuda_panels_are_runs(const struct tpd_device *device, const struct tpd_task *task) {
    struct tpd_panels panels;
    tpd_cuda_panels_begin(&panels, device, task);
    return !tpd_panels_is_one(&panels) && tpd_panels_row_bytes(&panels) >= KERNEL_ROW_BYTES;
}

struct pipeline {
    const struct tpd_cuda_run *run;
    struct tpd_outcome *outcome;
    unsigned char *memory; /* of the slots: input and output each */
    uint64_t room;         /* bytes of one of these */
    uint64_t begun, ended; /* panels */
};

/* As a matrix of its own. What was asked for is taken where it takes a rectangle of that shape: the last may be a single column.
 */
static enum tpd_status plan_panel(const struct tpd_cuda_run *run, const struct tpd_panel *panel, struct tpd_plan *plan,
                                  struct tpd_error *error) {
    const struct tpd_task *task = run->task;
    struct tpd_matrix matrix = task->matrix;
    matrix.rows = panel->rows;
    matrix.cols = panel->cols;
    matrix.batch = panel->matrices;
    if (tpd_cuda_plan(run->device, task->strategy, &matrix, task->tile, plan, NULL) == TPD_OK)
        return TPD_OK;
    return tpd_cuda_plan(run->device, TPD_STRATEGY_AUTO, &matrix, (struct tpd_tile){0, 0}, plan, error);
}

static int copy_rows(const struct tpd_cuda_run *run, const struct tpd_cuda_rows *rows,
                     int (*by_engine)(const struct tpd_cuda_rows *rows, void *stream), void *stream) {
    if (rows->row_bytes < KERNEL_ROW_BYTES && rows_go_by_kernel(run->device, run->task))
        return run->device->calls->rows_launch(rows, stream);
    return by_engine(rows, stream);
}

static int copy_panel_in(const struct pipeline *line, const struct tpd_panel *panel, unsigned char *in) {
    const struct tpd_cuda_run *run = line->run;
    const struct tpd_matrix *matrix = &run->task->matrix;
    const uint64_t itemsize = matrix->itemsize;
    const unsigned char *from = (const unsigned char *)run->task->in +
                                ((panel->matrix * matrix->rows + panel->row) * matrix->cols + panel->col) * itemsize;
    void *stream = run->lane->stream[TPD_CUDA_STREAM_IN];
    const uint64_t row_bytes = panel->cols * itemsize, rows = panel->rows * panel->matrices;
    if (panel->cols == matrix->cols)
        return run->device->calls->copy_in(in, from, row_bytes * rows, stream);
    const struct tpd_cuda_rows copy = {in, from, row_bytes, matrix->cols * itemsize, row_bytes, rows};
    return copy_rows(run, &copy, run->device->calls->copy_in_rows, stream);
}

static int copy_panel_out(const struct pipeline *line, const struct tpd_panel *panel, const unsigned char *out) {
    const struct tpd_cuda_run *run = line->run;
    const struct tpd_matrix *matrix = &run->task->matrix;
    const uint64_t itemsize = matrix->itemsize;
    unsigned char *to =
        (unsigned char *)run->task->out + ((panel->matrix * matrix->cols + panel->col) * matrix->rows + panel->row) * itemsize;
    void *stream = run->lane->stream[TPD_CUDA_STREAM_OUT];
    const uint64_t row_bytes = panel->rows * itemsize, rows = panel->cols * panel->matrices;
    if (panel->rows == matrix->rows)
        return run->device->calls->copy_out(to, out, row_bytes * rows, stream);
    const struct tpd_cuda_rows copy = {to, out, matrix->rows * itemsize, row_bytes, row_bytes, rows};
    return copy_rows(run, &copy, run->device->calls->copy_out_rows, stream);
}

static int begin_panel(struct pipeline *line, const struct tpd_panel *panel, const struct tpd_plan *plan) {
    const uint64_t slot = line->begun % TPD_CUDA_SLOTS;
    const struct tpd_cuda_lane *lane = line->run->lane;
    const struct tpd_cuda_calls *calls = line->run->device->calls;
    void *const *event = lane->event[slot], *const *stream = lane->stream;
    unsigned char *in = line->memory + 2 * slot * line->room, *out = in + line->room;
    line->begun++;
    int code = calls->event_record(event[TPD_CUDA_IN_BEGINS], stream[TPD_CUDA_STREAM_IN]);
    if (code == 0)
        code = copy_panel_in(line, panel, in);
    if (code == 0)
        code = calls->event_record(event[TPD_CUDA_IN_ENDS], stream[TPD_CUDA_STREAM_IN]);
    if (code == 0)
        code = calls->stream_await(stream[TPD_CUDA_STREAM_KERNEL], event[TPD_CUDA_IN_ENDS]);
    if (code == 0)
        code = launch(calls, plan, in, out, event, stream[TPD_CUDA_STREAM_KERNEL]);
    if (code == 0)
        code = calls->stream_await(stream[TPD_CUDA_STREAM_OUT], event[TPD_CUDA_KERNEL_ENDS]);
    if (code == 0)
        code = calls->event_record(event[TPD_CUDA_OUT_BEGINS], stream[TPD_CUDA_STREAM_OUT]);
    if (code == 0)
        code = copy_panel_out(line, panel, out);
    if (code == 0)
        code = calls->event_record(event[TPD_CUDA_OUT_ENDS], stream[TPD_CUDA_STREAM_OUT]);
    return code;
}

/* The oldest one: its slot is free afterwards. */
static int end_panel(struct pipeline *line) {
    const struct tpd_cuda_calls *calls = line->run->device->calls;
    const uint64_t slot = line->ended % TPD_CUDA_SLOTS;
    void *const *event = line->run->lane->event[slot];
    int code = calls->event_wait(event[TPD_CUDA_OUT_ENDS]);
    if (code == 0)
        code = add_times(calls, event, line->outcome);
    line->ended++;
    return code;
}

/* TPD_OK and a code that is not 0: a call failed. */
static enum tpd_status run_panels(struct pipeline *line, struct tpd_panels *panels, int *code, struct tpd_error *error) {
    const struct tpd_task *task = line->run->task;
    struct tpd_panel panel;
    struct tpd_plan plan;
    uint64_t largest = 0;
    enum tpd_status status = TPD_OK;
    while (*code == 0 && tpd_panels_next(panels, &panel)) {
        if (line->begun - line->ended == TPD_CUDA_SLOTS)
            *code = end_panel(line);
        if (*code == 0 && task->flow != NULL)
            status = task->flow->await(task->flow, panel.in_end_bytes, error);
        if (status == TPD_OK)
            status = plan_panel(line->run, &panel, &plan, error);
        if (status != TPD_OK)
            return status;
        /* What the run did is what it did with its largest panels. */
        const uint64_t items = tpd_matrix_items(&plan.matrix);
        if (items > largest) {
            largest = items;
            line->outcome->strategy = tpd_strategy_at(plan.strategy)->name;
            line->outcome->tile = plan.tile;
        }
        if (*code == 0)
            *code = begin_panel(line, &panel, &plan);
    }
    while (*code == 0 && line->ended < line->begun)
        *code = end_panel(line);
    return status;
}

/* ---- all of them ---- */

enum tpd_status tpd_cuda_run(const struct tpd_cuda_run *run, struct tpd_outcome *outcome, struct tpd_error *error) {
    struct tpd_device *device = run->device;
    struct tpd_panels panels;
    struct pipeline line = {.run = run, .outcome = outcome};
    enum tpd_status status = TPD_OK;
    uint64_t offset = 0, need = 0;
    if (run->way == TPD_CUDA_WHOLE) {
        need = 2 * tpd_pool_room(run->bytes);
    } else if (run->way == TPD_CUDA_PANELS) {
        tpd_cuda_panels_begin(&panels, device, run->task);
        line.room = tpd_pool_room(tpd_panels_most_bytes(&panels));
        need = 2 * TPD_CUDA_SLOTS * line.room;
    }
    if (need != 0) {
        uint64_t started_ns = tpd_clock_ns();
        status = tpd_cuda_acquire(device, need, run->task->deadline_ns, &offset, error);
        outcome->wait_ns += tpd_clock_ns() - started_ns;
    }
    if (status != TPD_OK)
        return status;
    unsigned char *memory = device->memory + offset;
    const char *doing = "choosing the device in this thread";
    int code = device->calls->device_use((int)device->index);
    if (code == 0) {
        doing = "transposing";
        line.memory = memory;
        if (run->way == TPD_CUDA_MAPPED)
            code = run_mapped(run, outcome);
        else if (run->way == TPD_CUDA_WHOLE)
            code = run_whole(run, memory, memory + need / 2, outcome);
        else
            status = run_panels(&line, &panels, &code, error);
    }
    if (code != 0)
        status = tpd_cuda_device_fail(device, code, doing, error);
    if (status != TPD_OK)
        drain(device, run->lane);
    if (need != 0)
        tpd_pool_release(&device->pool, offset);
    return status;
}
