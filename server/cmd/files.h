/* files.h -- a file or a pipe in, a file or a pipe out, for `transposed run`. */
#ifndef TPD_FILES_H
#define TPD_FILES_H

#include "transposed/status.h"

struct tpd_source {
    int fd;
    const char *name; /* for messages */
    bool has_bytes;   /* a regular file: its size is known */
    uint64_t start;   /* where in it the input begins: a descriptor may come from somebody who has read some of it */
    uint64_t bytes;
};

/* "-" is standard input. Fails with TPD_IO: names the file and why. */
enum tpd_status tpd_source_open(const char *path, struct tpd_source *source, struct tpd_error *error) TPD_CHECKED;
/* As many bytes as there are, up to most; 0 at the end. */
enum tpd_status tpd_source_read(struct tpd_source *source, void *bytes, size_t most, size_t *got,
                                struct tpd_error *error) TPD_CHECKED;
void tpd_source_close(struct tpd_source *source);

/* Where the answer goes. A regular file appears whole or not at all: through a temporary file beside it and a rename. "-" is
 * standard output; a path that is no regular file (a device, a pipe) is written straight. Fails with TPD_IO. */
struct tpd_sink {
    int fd;
    const char *name;         /* for messages */
    char *temporary, *target; /* owned; NULL: written straight */
    unsigned mode;
    uint64_t written_bytes;
};
enum tpd_status tpd_sink_open(const char *path, struct tpd_sink *sink, struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_sink_write(struct tpd_sink *sink, const void *bytes, size_t count, struct tpd_error *error) TPD_CHECKED;
/* Closes it, always: the file takes its place when `status` says that all of it was written, else nothing of it stays.
 * Answers status, or why the file could not be made. */
enum tpd_status tpd_sink_close(struct tpd_sink *sink, enum tpd_status status, struct tpd_error *error) TPD_CHECKED;

/* All of it in one. */
enum tpd_status tpd_file_write(const char *path, const void *bytes, size_t count, struct tpd_error *error) TPD_CHECKED;

/* A bar on standard error, when that is a terminal and the work is large enough for somebody to wait. */
struct tpd_progress {
    const char *what;
    uint64_t done_bytes, total_bytes, started_ns, drawn_ns; /* total 0: not known */
    bool live;
};
void tpd_progress_begin(struct tpd_progress *progress, const char *what, uint64_t total_bytes);
void tpd_progress_add(struct tpd_progress *progress, uint64_t bytes);
void tpd_progress_end(struct tpd_progress *progress); /* wipes the bar */

#endif
