/* tuning_file.h -- where measurements of strategies are kept from one start to the next, and how they get there and back.
 *
 * Threads: one. Ceiling: TPD_TUNING_TEXT_MOST bytes are read; more is refused.
 */
#ifndef TPD_TUNING_FILE_H
#define TPD_TUNING_FILE_H

#include "transposed/tuning.h"

enum { TPD_TUNING_PATH_BYTES = 4096 };

/* The path that the knob tune_file means: `none` or nothing: ""; `auto`: transposed/tuning below the first of CACHE_DIRECTORY and
 * STATE_DIRECTORY (systemd's, without the folder of our own), XDG_CACHE_HOME, and HOME/.cache that is an absolute path; "" where
 * there is none. Fails with TPD_TOO_LARGE. */
enum tpd_status tpd_tuning_file_path(const char *knob, char path[TPD_TUNING_PATH_BYTES], struct tpd_error *error) TPD_CHECKED;
/* The file's bytes, into a buffer that is empty. Fails with TPD_NOT_FOUND (there is none), TPD_IO (can't be read, or is no
 * regular file), TPD_TOO_LARGE, TPD_NO_MEMORY. */
enum tpd_status tpd_tuning_file_read(const char *path, struct tpd_buf *text, struct tpd_error *error) TPD_CHECKED;
/* Puts the table into the file, beside what it has of other devices: under a temporary name first, so that a reader sees the old
 * file or the new one. Makes the folders. Leaves alone what is no tuning file. Fails with TPD_UNSUPPORTED (that), TPD_IO,
 * TPD_NO_MEMORY. */
enum tpd_status tpd_tuning_file_write(const char *path, const struct tpd_tuning *table, struct tpd_error *error) TPD_CHECKED;

#endif
