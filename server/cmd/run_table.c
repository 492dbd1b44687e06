/* run_table.c -- `transposed run` on a table of text that stays one: the file is mapped, and no engine is started. */
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/cmd/run.h"
#include "server/engine/host_pool.h"
#include "server/table/table.h"
#include "transposed/clock.h"
#include "transposed/crew.h"

enum {
    WINDOW_MOST_BYTES = 32 << 20 /* twice the largest cell */,
    WINDOW_LEAST_BYTES = 1 << 20,
    PANEL_BYTES = 4 << 20,
    FLOW_BYTES = 64 << 10
};

/* Of a limited address space, what stays for stacks, libraries and the heap. */
#define SPARE_BYTES ((uint64_t)96 << 20)

uint32_t tpd_run_threads(const struct tpd_run *run) {
    cpu_set_t set;
    CPU_ZERO(&set);
    uint64_t threads = run->threads;
    if (threads == 0)
        threads = sched_getaffinity(0, sizeof set, &set) == 0 ? (uint64_t)CPU_COUNT(&set) : 1;
    return threads < TPD_CREW_MOST ? (uint32_t)threads : TPD_CREW_MOST;
}

/* What the address space has left, and its limit; UINT64_MAX where it is not limited. */
static uint64_t space_left(uint64_t *most) {
    struct rlimit limit;
    unsigned long long pages = 0;
    *most = UINT64_MAX;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    *most = limit.rlim_cur;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%19llu", &pages) != 1)
            pages = 0;
        (void)fclose(file);
    }
    uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE) + SPARE_BYTES;
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

bool tpd_run_is_table(const struct tpd_run *run) {
    const struct tpd_job *job = &run->job;
    const struct tpd_decode_options *decode = &run->decode;
    return (job->format_in == TPD_CODEC_CSV || job->format_in == TPD_CODEC_TSV) && job->format_out == job->format_in &&
           !job->strategy_is_explicit && (!run->names_device || strcmp(job->device, "cpu") == 0) && !decode->has_dtype &&
           !decode->has_itemsize && !decode->has_rows && !decode->has_cols && !decode->has_batch;
}

/* Text that comes as a stream, whole in memory. */
struct text {
    unsigned char *data;
    size_t bytes, room;
    uint64_t most, space; /* space: the limit of address space that left no more; 0: none did */
};

enum { BEHIND_BYTES = TPD_TEXT_PAD + TPD_FILLER_MOST };

static enum tpd_status keep(void *self, const void *bytes, size_t count, struct tpd_error *error) {
    enum { FIRST_BYTES = 4 << 20 };
    struct text *text = self;
    if (count + BEHIND_BYTES > text->room - text->bytes) {
        uint64_t room = 2 * (uint64_t)text->room > FIRST_BYTES ? 2 * (uint64_t)text->room : FIRST_BYTES;
        room = room < text->most ? room : text->most;
        if (count + BEHIND_BYTES > room - text->bytes && text->space != 0)
            return tpd_fail_limit(error, TPD_TOO_LARGE, text->most, text->bytes + count,
                                  "the input has more than %" PRIu64 " bytes, which is what may be held of a stream where this "
                                  "process may have %" PRIu64 " bytes of address space (ulimit -v %" PRIu64
                                  "): give a plain file, or raise that limit",
                                  text->most, text->space, text->space / 1024);
        if (count + BEHIND_BYTES > room - text->bytes)
            return tpd_fail_limit(error, TPD_TOO_LARGE, text->most, text->bytes + count,
                                  "the input has more than %" PRIu64
                                  " bytes, which is what may be held of a stream: give a plain file, or allow more --memory",
                                  text->most);
        void *more = text->data == NULL ? mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                        : mremap(text->data, text->room, room, MREMAP_MAYMOVE);
        if (more == MAP_FAILED)
            return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for %" PRIu64 " bytes of text", room);
        (void)madvise(more, room, MADV_HUGEPAGE);
        text->data = more;
        text->room = room;
    }
    memcpy(text->data + text->bytes, bytes, count);
    text->bytes += count;
    return TPD_OK;
}

struct show {
    struct tpd_run *run;
    struct tpd_progress progress;
    atomic_flag is_drawing;
};

static void show_plan(void *self, const struct tpd_table_plan *plan) {
    const struct show *show = self;
    (void)fprintf(stderr,
                  "transposed run: %s has %.1f MiB, more than may be held at once: %" PRIu32 " readings of it, some %.0f s\n",
                  show->run->source.name, (double)plan->bytes / 1048576, plan->passes + 1, plan->seconds + 0.5);
}

static void show_progress(void *self, uint64_t done_bytes, uint64_t all_bytes) {
    struct show *show = self;
    if (!show->progress.live || atomic_flag_test_and_set(&show->is_drawing))
        return;
    show->progress.total_bytes = all_bytes;
    if (done_bytes > show->progress.done_bytes)
        tpd_progress_add(&show->progress, done_bytes - show->progress.done_bytes);
    atomic_flag_clear(&show->is_drawing);
}

static enum tpd_status put(void *self, const void *bytes, size_t count, struct tpd_error *error) {
    const struct show *show = self;
    return tpd_run_put(show->run, bytes, count, error);
}

static void say(const struct tpd_run *run, const struct tpd_table_task *task, uint64_t total_ns) {
    (void)fprintf(stderr,
                  "%" PRIu64 "x%" PRIu64 " cells, %s to %s, %" PRIu32 " threads, %" PRIu32
                  " passes: survey %.3f ms, fill %.3f ms, write %.3f ms, total %.3f ms\n",
                  task->rows, task->cols, tpd_codec_name(run->job.format_in), tpd_codec_name(run->job.format_out), task->threads,
                  task->passes, (double)task->survey_ns / 1e6, (double)task->fill_ns / 1e6, (double)task->write_ns / 1e6,
                  (double)total_ns / 1e6);
}

enum tpd_status tpd_run_table(struct tpd_run *run, struct tpd_error *error) {
    uint64_t start_ns = tpd_clock_ns();
    struct show show = {.run = run, .is_drawing = ATOMIC_FLAG_INIT};
    uint64_t most, space = space_left(&most), memory = run->memory_bytes != 0 ? run->memory_bytes : tpd_host_memory_default();
    struct tpd_table_task task = {.fd = -1,
                                  .options = &run->decode.table,
                                  .delimiter = run->job.format_in == TPD_CODEC_TSV ? '\t' : ',',
                                  .threads = tpd_run_threads(run),
                                  .memory_bytes = memory < space ? memory : space,
                                  .space_bytes = memory < space ? 0 : most,
                                  .chunk_bytes = 1 << 20,
                                  .panel_bytes = PANEL_BYTES,
                                  .flow_bytes = FLOW_BYTES,
                                  .write = put,
                                  .expect = show_plan,
                                  .progress = show_progress,
                                  .self = &show};
    struct text text = {.most = task.memory_bytes, .space = task.space_bytes};
    enum tpd_status status = TPD_OK;
    bool is_plain = run->source.has_bytes && run->packing_in == TPD_PACKING_NONE;
    if (is_plain) {
        task.fd = run->source.fd;
        task.file_offset = run->source.start;
        task.bytes = run->source.bytes;
        /* The mapped file can be given back page by page and costs no memory; but where address space is limited, it counts. */
        uint64_t share = space / 4 / task.threads;
        share = share < WINDOW_MOST_BYTES ? share : WINDOW_MOST_BYTES;
        task.window_bytes = task.bytes <= space / 2 ? 0 : share > WINDOW_LEAST_BYTES ? share : WINDOW_LEAST_BYTES;
    } else {
        status = tpd_run_receive(run, keep, &text, error);
        if (status == TPD_OK && text.data == NULL)
            status = keep(&text, "", 0, error);
        if (status == TPD_OK) {
            memset(text.data + text.bytes, 0, TPD_TEXT_PAD);
            memcpy(text.data + text.bytes + TPD_TEXT_PAD, task.options->filler, strlen(task.options->filler));
            task.memory = text.data;
            task.bytes = text.bytes;
            task.memory_bytes -= text.room < task.memory_bytes ? text.room : task.memory_bytes;
        }
    }
    if (status == TPD_OK)
        status = tpd_run_open_output(run, error);
    if (status == TPD_OK) {
        tpd_progress_begin(&show.progress, "transposing", 0);
        status = tpd_table_transpose(&task, error);
        tpd_progress_end(&show.progress);
        status = tpd_run_close_output(run, status, error);
    }
    if (text.data != NULL)
        (void)munmap(text.data, text.room);
    if (status == TPD_OK && run->verbose)
        say(run, &task, tpd_clock_ns() - start_ns);
    return status;
}
