/* test_tuning_file.c -- where the tuning file is, what is read as one, and that a reader never sees half of it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "harness.h"
#include "server/engine/tuning_file.h"
#include "transposed/alloc.h"

static char folder[64], path[TPD_TUNING_PATH_BYTES];
static struct tpd_error error;

static void begin(void) {
    (void)snprintf(folder, sizeof folder, "/tmp/tpd-tuning-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/deep/er/tuning", folder);
}

static void end(void) {
    char command[160];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static struct tpd_tuning table_of(const char *device, uint64_t seed) {
    struct tpd_tuning table;
    memset(&table, 0, sizeof table);
    (void)snprintf(table.device, sizeof table.device, "%s", device);
    table.at_unix_s = seed;
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
        for (int shape = 0; shape < TPD_SHAPE_COUNT; shape++, table.cells++)
            table.cell[size][0][shape] = (struct tpd_tuning_cell){
                .bytes = seed, .best = {TPD_STRATEGY_PADDED, 0, seed}, .rule = {TPD_STRATEGY_PADDED, 0, seed}};
    return table;
}

static enum tpd_status read_back(const char *device, struct tpd_tuning *table) {
    struct tpd_buf text;
    tpd_buf_init(&text, TPD_TUNING_TEXT_MOST);
    (void)snprintf(table->device, sizeof table->device, "%s", device);
    enum tpd_status status = tpd_tuning_file_read(path, &text, &error);
    if (status == TPD_OK)
        status = tpd_tuning_read(text.data, text.bytes, table, &error);
    tpd_buf_fini(&text);
    return status;
}

static void put_text(const char *text) {
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(places) {
    static const char *const variables[] = {"CACHE_DIRECTORY", "STATE_DIRECTORY", "XDG_CACHE_HOME", "HOME"};
    static const char *const expected[] = {"/c/tuning", "/s/tuning", "/x/transposed/tuning", "/h/.cache/transposed/tuning", ""};
    (void)setenv("CACHE_DIRECTORY", "/c:/d", 1);
    (void)setenv("STATE_DIRECTORY", "/s", 1);
    (void)setenv("XDG_CACHE_HOME", "/x", 1);
    (void)setenv("HOME", "/h", 1);
    for (int i = 0; i < 5; i++) {
        ck_assert_ok(tpd_tuning_file_path("auto", path, &error), error);
        ck_assert_str_eq(path, expected[i]);
        if (i < 4)
            (void)(i % 2 != 0 ? unsetenv(variables[i]) : setenv(variables[i], i == 0 ? "" : "relative/path", 1));
    }
    ck_assert_ok(tpd_tuning_file_path("none", path, &error), error);
    ck_assert_str_eq(path, "");
    ck_assert_ok(tpd_tuning_file_path("/etc/x", path, &error), error);
    ck_assert_str_eq(path, "/etc/x");
    char *longer = malloc(TPD_TUNING_PATH_BYTES + 1);
    memset(longer, 'a', TPD_TUNING_PATH_BYTES);
    longer[0] = '/';
    longer[TPD_TUNING_PATH_BYTES] = '\0';
    (void)setenv("HOME", longer, 1);
    ck_assert_int_eq(tpd_tuning_file_path("auto", path, &error), TPD_TOO_LARGE);
    free(longer);
}
END_TEST

START_TEST(is_kept_beside_others) {
    struct tpd_tuning one = table_of("one", 5), two = table_of("two", 7), back;
    struct stat about;
    ck_assert_int_eq(read_back("one", &back), TPD_NOT_FOUND);
    ck_assert_ok(tpd_tuning_file_write(path, &one, &error), error);
    ck_assert_ok(tpd_tuning_file_write(path, &two, &error), error);
    ck_assert_ok(read_back("one", &back), error);
    ck_assert_uint_eq(back.at_unix_s, 5);
    ck_assert_ok(read_back("two", &back), error);
    ck_assert_uint_eq(back.at_unix_s, 7);
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_uint_eq(about.st_mode & 0777, 0644);
    /* No temporary file is left. */
    char command[160];
    (void)snprintf(command, sizeof command, "test $(ls -A '%s/deep/er' | wc -l) = 1", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* A damaged or cut one of ours is replaced; what is somebody else's never is. */
START_TEST(whose_file_it_is) {
    struct tpd_tuning one = table_of("one", 5), back;
    char there[64];
    ck_assert_ok(tpd_tuning_file_write(path, &one, &error), error);
    static const char *const ours[] = {"", "transposed-tun", "transposed-tuning 1\n",
                                       "transposed-tuning 1\ndevice one\nrubbish\n"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        put_text(ours[i]);
        ck_assert_int_ne(read_back("one", &back), TPD_OK);
        ck_assert_ok(tpd_tuning_file_write(path, &one, &error), error);
        ck_assert_ok(read_back("one", &back), error);
    }
    static const char *const others[] = {"root:x:0:0\n", "{}", "transposed-tuning 9\n", "\n"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        put_text(others[i]);
        ck_assert_int_eq(read_back("one", &back), TPD_UNSUPPORTED);
        ck_assert_int_eq(tpd_tuning_file_write(path, &one, &error), TPD_UNSUPPORTED);
        FILE *file = fopen(path, "r");
        size_t bytes = fread(there, 1, sizeof there, file);
        (void)fclose(file);
        ck_assert_uint_eq(bytes, strlen(others[i]));
        ck_assert_mem_eq(there, others[i], bytes);
    }
}
END_TEST

START_TEST(hostile_files) {
    struct tpd_tuning one = table_of("one", 5), back;
    ck_assert_ok(tpd_tuning_file_write(path, &one, &error), error);
    ck_assert_int_eq(truncate(path, (off_t)1 << 40), 0); /* a hole of a tebibyte */
    ck_assert_int_eq(read_back("one", &back), TPD_TOO_LARGE);
    ck_assert_int_eq(tpd_tuning_file_write(path, &one, &error), TPD_TOO_LARGE);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(read_back("one", &back), TPD_IO);
    ck_assert_int_eq(tpd_tuning_file_write(path, &one, &error), TPD_IO);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(read_back("one", &back), TPD_IO);
    ck_assert_int_eq(tpd_tuning_file_write(path, &one, &error), TPD_IO);
    static const char *const paths[] = {"/dev/zero", "/dev/null", "/dev/full", "/proc/self/mem", "/nowhere-at-all/\n/x", "/"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        (void)snprintf(path, sizeof path, "%s", paths[i]);
        ck_assert_int_ne(read_back("one", &back), TPD_OK);
        if (i != 4)
            ck_assert_int_ne(tpd_tuning_file_write(path, &one, &error), TPD_OK);
    }
    (void)snprintf(path, sizeof path, "/proc/no/tuning"); /* folders that can't be made */
    ck_assert_int_eq(tpd_tuning_file_write(path, &one, &error), TPD_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "can't be made"));
}
END_TEST

/* Two daemons that start together, and a third that reads: it always reads a whole file. */
static atomic_bool stop;

static void *write_on(void *seed) {
    struct tpd_tuning mine = table_of((const char *)seed, 9);
    while (!atomic_load(&stop)) {
        struct tpd_error why = {.text = ""};
        if (tpd_tuning_file_write(path, &mine, &why) != TPD_OK)
            return seed;
    }
    return NULL;
}

START_TEST(readers_see_whole_files) {
    pthread_t writers[2];
    char names[2][4] = {"one", "two"};
    struct tpd_tuning one = table_of("one", 9), back;
    void *failed;
    ck_assert_ok(tpd_tuning_file_write(path, &one, &error), error);
    atomic_store(&stop, false);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&writers[i], NULL, write_on, names[i]), 0);
    for (int i = 0; i < 400; i++) {
        enum tpd_status status = read_back("three", &back);
        ck_assert_msg(status == TPD_NOT_FOUND && strstr(error.text, "was measured for") != NULL, "%s", error.text);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_join(writers[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
}
END_TEST

START_TEST(without_memory) {
    struct tpd_tuning one = table_of("one", 5), two = table_of("two", 7), back;
    ck_assert_ok(tpd_tuning_file_write(path, &one, &error), error);
    uint64_t nth = 1;
    for (bool failed = true; failed; nth++) {
        tpd_heap_begin(nth);
        enum tpd_status status = tpd_tuning_file_write(path, &two, &error);
        failed = tpd_heap_end() != 0;
        ck_assert_int_eq(status, failed ? TPD_NO_MEMORY : TPD_OK);
        ck_assert_ok(read_back("one", &back), error);
    }
    ck_assert_uint_gt(nth, 3);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("tuning_file");
    TCase *tests = tcase_create("tuning_file");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, places);
    tcase_add_test(tests, is_kept_beside_others);
    tcase_add_test(tests, whose_file_it_is);
    tcase_add_test(tests, hostile_files);
    tcase_add_test(tests, readers_see_whole_files);
    tcase_add_test(tests, without_memory);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
