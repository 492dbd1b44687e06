/* tuning_file.c -- see tuning_file.h. */
#include "server/engine/tuning_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

enum { CHUNK_BYTES = 1 << 16 };

/* Of a list with ':' the first. */
static bool put(char path[TPD_TUNING_PATH_BYTES], const char *folder, const char *below) {
    const int length = (int)strcspn(folder, ":");
    return snprintf(path, TPD_TUNING_PATH_BYTES, "%.*s%s/tuning", length, folder, below) < TPD_TUNING_PATH_BYTES;
}

enum tpd_status tpd_tuning_file_path(const char *knob, char path[TPD_TUNING_PATH_BYTES], struct tpd_error *error) {
    static const struct {
        const char *variable, *below;
    } places[] = {
        {"CACHE_DIRECTORY", ""}, {"STATE_DIRECTORY", ""}, {"XDG_CACHE_HOME", "/transposed"}, {"HOME", "/.cache/transposed"}};
    bool fits = true;
    path[0] = '\0';
    if (strcmp(knob, "auto") != 0) {
        if (strcmp(knob, "none") != 0)
            fits = snprintf(path, TPD_TUNING_PATH_BYTES, "%s", knob) < TPD_TUNING_PATH_BYTES;
    } else {
        for (size_t i = 0; i < sizeof places / sizeof places[0] && path[0] == '\0'; i++) {
            const char *folder = getenv(places[i].variable);
            if (folder != NULL && folder[0] == '/')
                fits = put(path, folder, places[i].below);
        }
    }
    return fits ? TPD_OK
                : tpd_fail(error, TPD_TOO_LARGE, "its path has more than %d bytes: name a shorter tune_file",
                           TPD_TUNING_PATH_BYTES - 1);
}

/* A pipe or a device would be waited for, or never end. */
enum tpd_status tpd_tuning_file_read(const char *path, struct tpd_buf *text, struct tpd_error *error) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return tpd_fail(error, errno == ENOENT ? TPD_NOT_FOUND : TPD_IO, "it can't be opened: %s", strerror(errno));
    struct stat about;
    enum tpd_status status = TPD_OK;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        status = tpd_fail(error, TPD_IO, "it is no regular file: name another tune_file");
    else if (about.st_size > TPD_TUNING_TEXT_MOST)
        status =
            tpd_fail_limit(error, TPD_TOO_LARGE, TPD_TUNING_TEXT_MOST, (uint64_t)about.st_size,
                           "it has %lld bytes, over the most of %d: remove it", (long long)about.st_size, TPD_TUNING_TEXT_MOST);
    char chunk[CHUNK_BYTES];
    for (ssize_t count = 1; status == TPD_OK && count > 0;) {
        count = read(fd, chunk, sizeof chunk);
        if (count < 0 && errno == EINTR)
            count = 1;
        else if (count < 0)
            status = tpd_fail(error, TPD_IO, "it can't be read: %s", strerror(errno));
        else if (tpd_buf_add(text, chunk, (size_t)count) != TPD_OK)
            status = tpd_fail(error, text->status, "it can't be held: %s", tpd_status_meaning(text->status));
    }
    (void)close(fd);
    return status;
}

/* The folders above the file; an existing one is none of our business. */
static void make_folders(const char *path) {
    char folder[TPD_TUNING_PATH_BYTES];
    (void)snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0700);
        *slash = '/';
    }
}

static enum tpd_status can_not(const char *what, struct tpd_error *error) {
    return tpd_fail(error, TPD_IO, "it can't be %s: %s", what, strerror(errno));
}

static enum tpd_status write_all(int fd, const struct tpd_buf *text, struct tpd_error *error) {
    for (size_t at = 0; at < text->bytes;) {
        ssize_t count = write(fd, text->data + at, text->bytes - at);
        if (count < 0 && errno != EINTR)
            return can_not("written", error);
        at += count > 0 ? (size_t)count : 0;
    }
    return TPD_OK;
}

static enum tpd_status replace(const char *path, const struct tpd_buf *text, struct tpd_error *error) {
    char other[TPD_TUNING_PATH_BYTES + 8];
    (void)snprintf(other, sizeof other, "%s.XXXXXX", path);
    make_folders(path);
    int fd = mkostemp(other, O_CLOEXEC);
    if (fd < 0)
        return can_not("made", error);
    enum tpd_status status = write_all(fd, text, error);
    if (status == TPD_OK && fchmod(fd, 0644) != 0)
        status = can_not("made readable", error);
    if (close(fd) != 0 && status == TPD_OK)
        status = can_not("written", error);
    if (status == TPD_OK && rename(other, path) != 0)
        status = can_not("put in its place", error);
    if (status != TPD_OK)
        (void)unlink(other);
    return status;
}

enum tpd_status tpd_tuning_file_write(const char *path, const struct tpd_tuning *table, struct tpd_error *error) {
    struct tpd_buf old, text;
    tpd_buf_init(&old, TPD_TUNING_TEXT_MOST);
    tpd_buf_init(&text, TPD_TUNING_TEXT_MOST);
    /* What is there by now: another daemon may have written since it was read. */
    enum tpd_status status = tpd_tuning_file_read(path, &old, error);
    if (status == TPD_NOT_FOUND)
        status = TPD_OK;
    if (status == TPD_OK && old.bytes != 0 && !tpd_tuning_is_text(old.data, old.bytes))
        status = tpd_fail(error, TPD_UNSUPPORTED, "it is there and no tuning file: name another tune_file");
    if (status == TPD_OK) {
        status = tpd_tuning_write(table, old.data, old.bytes, &text);
        if (status != TPD_OK)
            status = tpd_fail(error, status, "it can't be composed: %s", tpd_status_meaning(status));
    }
    if (status == TPD_OK)
        status = replace(path, &text, error);
    tpd_buf_fini(&old);
    tpd_buf_fini(&text);
    return status;
}
