/* files.c -- see files.h. */
#include "server/cmd/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transposed/alloc.h"
#include "transposed/clock.h"

enum { WRITE_MOST = 1 << 20, PROGRESS_LEAST_NS = 300000000, PROGRESS_STEP_NS = 100000000, BAR = 30 };

enum tpd_status tpd_source_open(const char *path, struct tpd_source *source, struct tpd_error *error) {
    *source = (struct tpd_source){.fd = STDIN_FILENO, .name = "standard input"};
    if (strcmp(path, "-") != 0) {
        source->name = path;
        source->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (source->fd < 0)
            return tpd_fail(error, TPD_IO, "%.120s can't be read: %s", path, strerror(errno));
    }
    struct stat about;
    if (fstat(source->fd, &about) == 0 && S_ISREG(about.st_mode)) {
        off_t at = lseek(source->fd, 0, SEEK_CUR);
        /* Files that the system makes up as they are read say 0. */
        source->has_bytes = about.st_size > 0 && at >= 0 && at <= about.st_size;
        source->start = source->has_bytes ? (uint64_t)at : 0;
        source->bytes = source->has_bytes ? (uint64_t)(about.st_size - at) : 0;
    }
    return TPD_OK;
}

enum tpd_status tpd_source_read(struct tpd_source *source, void *bytes, size_t most, size_t *got, struct tpd_error *error) {
    ssize_t count;
    do
        count = read(source->fd, bytes, most);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return tpd_fail(error, TPD_IO, "%.120s can't be read: %s", source->name, strerror(errno));
    *got = (size_t)count;
    return TPD_OK;
}

void tpd_source_close(struct tpd_source *source) {
    if (source->fd > STDERR_FILENO)
        (void)close(source->fd);
    source->fd = -1;
}

enum tpd_status tpd_sink_write(struct tpd_sink *sink, const void *bytes, size_t count, struct tpd_error *error) {
    for (const unsigned char *at = bytes; count != 0;) {
        ssize_t written = write(sink->fd, at, count < WRITE_MOST ? count : WRITE_MOST);
        if (written > 0) {
            at += written;
            count -= (size_t)written;
            sink->written_bytes += (uint64_t)written;
        } else if (written == 0 || errno != EINTR) {
            return tpd_fail(error, TPD_IO, "%.120s can't be written: %s (after %" PRIu64 " bytes)", sink->name,
                            written == 0 ? "it takes no more" : strerror(errno), sink->written_bytes);
        }
    }
    return TPD_OK;
}

/* The temporary file has to lie beside its target: a rename does not cross file systems. */
static char *temporary_beside(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0, bytes = strlen(path) + 16;
    char *name = tpd_alloc(bytes);
    if (name != NULL)
        (void)snprintf(name, bytes, "%.*s.%s.XXXXXX", (int)folder, path, path + folder);
    return name;
}

static enum tpd_status fail_to_make(const struct tpd_sink *sink, struct tpd_error *error) {
    return tpd_fail(error, TPD_IO, "%.120s can't be made: %s", sink->name, strerror(errno));
}

enum tpd_status tpd_sink_open(const char *path, struct tpd_sink *sink, struct tpd_error *error) {
    *sink = (struct tpd_sink){.fd = STDOUT_FILENO, .name = "standard output"};
    if (strcmp(path, "-") == 0)
        return TPD_OK;
    sink->name = path;
    struct stat about;
    bool is_there = stat(path, &about) == 0;
    if (is_there && !S_ISREG(about.st_mode)) {
        sink->fd = open(path, O_WRONLY | O_CLOEXEC);
        return sink->fd >= 0 ? TPD_OK : fail_to_make(sink, error);
    }
    mode_t mask = umask(0);
    (void)umask(mask);
    sink->mode = is_there ? about.st_mode & 07777 : 0666 & ~mask;
    /* A link stays a link: what it points to is replaced. */
    char *real = is_there ? realpath(path, NULL) : NULL;
    if (is_there && real == NULL)
        return fail_to_make(sink, error);
    sink->target = tpd_strdup(real != NULL ? real : path);
    free(real);
    sink->temporary = sink->target != NULL ? temporary_beside(sink->target) : NULL;
    sink->fd = -1;
    enum tpd_status status =
        sink->temporary != NULL ? TPD_OK : tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for a file name");
    if (status == TPD_OK) {
        sink->fd = mkostemp(sink->temporary, O_CLOEXEC);
        status = sink->fd >= 0 ? TPD_OK : fail_to_make(sink, error);
    }
    if (status != TPD_OK) {
        tpd_free(sink->temporary);
        tpd_free(sink->target);
        sink->temporary = sink->target = NULL;
    }
    return status;
}

enum tpd_status tpd_sink_close(struct tpd_sink *sink, enum tpd_status status, struct tpd_error *error) {
    if (sink->fd > STDERR_FILENO) {
        if (status == TPD_OK && sink->temporary != NULL && fchmod(sink->fd, (mode_t)sink->mode) != 0)
            status = fail_to_make(sink, error);
        if (close(sink->fd) != 0 && status == TPD_OK) /* a full disk may say so only here */
            status = fail_to_make(sink, error);
    }
    if (sink->temporary != NULL && status == TPD_OK && rename(sink->temporary, sink->target) != 0)
        status = fail_to_make(sink, error);
    if (sink->temporary != NULL && status != TPD_OK)
        (void)unlink(sink->temporary);
    tpd_free(sink->temporary);
    tpd_free(sink->target);
    *sink = (struct tpd_sink){.fd = -1};
    return status;
}

enum tpd_status tpd_file_write(const char *path, const void *bytes, size_t count, struct tpd_error *error) {
    struct tpd_sink sink;
    enum tpd_status status = tpd_sink_open(path, &sink, error);
    if (status == TPD_OK)
        status = tpd_sink_close(&sink, tpd_sink_write(&sink, bytes, count, error), error);
    return status;
}

void tpd_progress_begin(struct tpd_progress *progress, const char *what, uint64_t total_bytes) {
    *progress = (struct tpd_progress){
        .what = what, .total_bytes = total_bytes, .started_ns = tpd_clock_ns(), .live = isatty(STDERR_FILENO) != 0};
}

void tpd_progress_add(struct tpd_progress *progress, uint64_t bytes) {
    progress->done_bytes += bytes;
    uint64_t now = tpd_clock_ns();
    if (!progress->live || now - progress->started_ns < PROGRESS_LEAST_NS || now - progress->drawn_ns < PROGRESS_STEP_NS)
        return;
    double mib = (double)progress->done_bytes / 1048576.0;
    double rate = mib / ((double)(now - progress->started_ns) / 1e9);
    progress->drawn_ns = now;
    if (progress->total_bytes == 0) {
        (void)fprintf(stderr, "\r\033[K%s %.0f MiB, %.0f MiB/s", progress->what, mib, rate);
        return;
    }
    double share = (double)progress->done_bytes / (double)progress->total_bytes;
    int filled = share < 1 ? (int)(share * BAR) : BAR;
    (void)fprintf(stderr, "\r\033[K%s [%.*s%*s] %3.0f %%, %.0f MiB/s", progress->what, filled, "##############################",
                  BAR - filled, "", 100 * (share < 1 ? share : 1), rate);
}

void tpd_progress_end(struct tpd_progress *progress) {
    if (progress->drawn_ns != 0)
        (void)fputs("\r\033[K", stderr);
}
