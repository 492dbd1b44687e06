/* test_files.c -- a file appears whole or not at all. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "server/cmd/files.h"

static char folder[64];
static struct tpd_error error;

static void enter(void) {
    (void)snprintf(folder, sizeof folder, "/tmp/tpd-files-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void leave(void) {
    DIR *listing = opendir(".");
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;)
        (void)unlink(entry->d_name);
    closedir(listing);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

static unsigned count_files(void) {
    unsigned count = 0;
    DIR *listing = opendir(".");
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(listing);
    return count;
}

static void expect(const char *path, const void *bytes, size_t count) {
    struct tpd_source source;
    unsigned char *back = malloc(count + 1);
    size_t at = 0, got = 1;
    ck_assert_ok(tpd_source_open(path, &source, &error), error);
    while (got != 0) {
        ck_assert_ok(tpd_source_read(&source, back + at, count + 1 - at, &got, &error), error);
        at += got;
    }
    ck_assert_uint_eq(at, count);
    ck_assert(memcmp(back, bytes, count) == 0);
    tpd_source_close(&source);
    free(back);
}

START_TEST(written_and_read_back) {
    static unsigned char bytes[3000001];
    struct stat about;
    tpd_random_fill(bytes, sizeof bytes, 11);
    ck_assert_ok(tpd_file_write("new", bytes, sizeof bytes, &error), error);
    expect("new", bytes, sizeof bytes);
    /* An old file keeps its mode, and a link stays a link. */
    ck_assert_int_eq(chmod("new", 0640), 0);
    ck_assert_int_eq(symlink("new", "link"), 0);
    ck_assert_ok(tpd_file_write("link", bytes + 1, 5, &error), error);
    expect("new", bytes + 1, 5);
    ck_assert_int_eq(stat("new", &about), 0);
    ck_assert_int_eq(about.st_mode & 07777, 0640);
    ck_assert_int_eq(lstat("link", &about), 0);
    ck_assert(S_ISLNK(about.st_mode));
    ck_assert_ok(tpd_file_write("empty", bytes, 0, &error), error);
    expect("empty", bytes, 0);
    ck_assert_uint_eq(count_files(), 3);
}
END_TEST

START_TEST(a_failed_write_leaves_the_old_file) {
    static unsigned char bytes[200000];
    struct rlimit limit = {100000, 100000};
    ck_assert_ok(tpd_file_write("old", "old", 3, &error), error);
    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(tpd_file_write("old", bytes, sizeof bytes, &error), TPD_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "old"));
    ck_assert_ptr_nonnull(strstr(error.text, strerror(EFBIG)));
    expect("old", "old", 3);
    ck_assert_uint_eq(count_files(), 1);
}
END_TEST

START_TEST(what_is_no_file_is_named) {
    struct tpd_source source;
    ck_assert_int_eq(tpd_source_open("absent", &source, &error), TPD_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "absent"));
    ck_assert_int_eq(tpd_file_write("no/such/folder", "x", 1, &error), TPD_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "no/such/folder"));
    ck_assert_ok(tpd_file_write("/dev/null", "x", 1, &error), error);
    ck_assert_int_eq(tpd_file_write("/dev/full", "x", 1, &error), TPD_IO);
    ck_assert_ptr_nonnull(strstr(error.text, strerror(ENOSPC)));
}
END_TEST

START_TEST(a_closed_pipe_is_an_error) {
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)close(ends[0]);
    int saved = dup(STDOUT_FILENO);
    ck_assert_int_ge(dup2(ends[1], STDOUT_FILENO), 0);
    enum tpd_status status = tpd_file_write("-", "x", 1, &error);
    ck_assert_int_ge(dup2(saved, STDOUT_FILENO), 0);
    ck_assert_int_eq(status, TPD_IO);
    ck_assert_ptr_nonnull(strstr(error.text, strerror(EPIPE)));
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("files");
    TCase *all = tcase_create("files");
    tcase_add_checked_fixture(all, enter, leave);
    tcase_add_test(all, written_and_read_back);
    tcase_add_test(all, a_failed_write_leaves_the_old_file);
    tcase_add_test(all, what_is_no_file_is_named);
    tcase_add_test(all, a_closed_pipe_is_an_error);
    suite_add_tcase(made, all);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
