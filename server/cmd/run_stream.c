/* run_stream.c -- input and output of `transposed run` as streams, with gzip and zstd taken off and put on. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "server/cmd/cmd.h"
#include "server/cmd/run.h"

enum tpd_status tpd_run_receive(struct tpd_run *run, tpd_pack_take *take, void *self, struct tpd_error *error) {
    struct tpd_packer *packer = NULL;
    struct tpd_progress progress;
    enum tpd_status status = TPD_OK;
    size_t got = run->head_bytes;
    if (run->packing_in != TPD_PACKING_NONE)
        status = tpd_packer_open(run->packing_in, true, take, self, &packer, error);
    tpd_progress_begin(&progress, "reading", run->source.bytes);
    while (status == TPD_OK && got != 0) {
        tpd_progress_add(&progress, got);
        status = packer != NULL ? tpd_packer_push(packer, run->chunk, got, error) : take(self, run->chunk, got, error);
        if (status == TPD_OK)
            status = tpd_source_read(&run->source, run->chunk, TPD_RUN_CHUNK_BYTES, &got, error);
    }
    if (status == TPD_OK && packer != NULL)
        status = tpd_packer_finish(packer, error);
    tpd_progress_end(&progress);
    tpd_packer_close(packer);
    return status;
}

static enum tpd_status to_sink(void *self, const void *bytes, size_t count, struct tpd_error *error) {
    struct tpd_run *run = self;
    return tpd_sink_write(&run->sink, bytes, count, error);
}

/* A mapped file that becomes shorter, or can't be read, is a signal where its bytes are used: nothing is left to do but to say
 * so. */
static const char *volatile unfinished;

static void say_lost_file(int number) {
    static const char text[] =
        "transposed run: the input can't be read to its end: it became shorter meanwhile, or its disk fails (io)\n";
    (void)number;
    if (unfinished != NULL)
        (void)unlink(unfinished);
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    _exit(TPD_EXIT_FAILED);
}

enum tpd_status tpd_run_open_output(struct tpd_run *run, struct tpd_error *error) {
    const struct sigaction lost = {.sa_handler = say_lost_file};
    enum tpd_status status = tpd_sink_open(run->out, &run->sink, error);
    unfinished = run->sink.temporary;
    (void)sigaction(SIGBUS, &lost, NULL);
    if (status == TPD_OK && run->packing_out != TPD_PACKING_NONE)
        status = tpd_packer_open(run->packing_out, false, to_sink, run, &run->packer, error);
    return status;
}

enum tpd_status tpd_run_put(void *self, const void *bytes, size_t count, struct tpd_error *error) {
    struct tpd_run *run = self;
    return run->packer != NULL ? tpd_packer_push(run->packer, bytes, count, error) : to_sink(self, bytes, count, error);
}

enum tpd_status tpd_run_close_output(struct tpd_run *run, enum tpd_status status, struct tpd_error *error) {
    if (status == TPD_OK && run->packer != NULL)
        status = tpd_packer_finish(run->packer, error);
    tpd_packer_close(run->packer);
    run->packer = NULL;
    unfinished = NULL;
    return tpd_sink_close(&run->sink, status, error);
}
