/* test_life.c -- where a configuration comes from, what a reload may change, what the service manager hears. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness.h"
#include "server/life/notify.h"
#include "server/life/sources.h"

static struct tpd_error error;
static bool flags_are_wrong;

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(flags_win_over_environment_over_file) {
    char path[] = "/tmp/tpd-life-XXXXXX";
    ck_assert_int_ge(close(mkstemp(path)), 0);
    write_file(path, "{\"queue_depth\": 11, \"recent\": 12, \"cpu_threads\": 13}");
    ck_assert_int_eq(setenv("TRANSPOSED_RECENT", "22", 1) | setenv("TRANSPOSED_CPU_THREADS", "23", 1), 0);
    struct tpd_sources sources = {.path = path};
    sources.flags[TPD_KNOB_cpu_threads] = "33";
    struct tpd_config config;
    ck_assert_ok(tpd_sources_load(&sources, &config, &flags_are_wrong, &error), error);
    ck_assert_uint_eq(config.queue_depth, 11);
    ck_assert_uint_eq(config.recent, 22);
    ck_assert_uint_eq(config.cpu_threads, 33);
    ck_assert_int_eq(config.source[TPD_KNOB_queue_depth], TPD_SOURCE_FILE);
    ck_assert_int_eq(config.source[TPD_KNOB_recent], TPD_SOURCE_ENVIRONMENT);
    ck_assert_int_eq(config.source[TPD_KNOB_cpu_threads], TPD_SOURCE_FLAG);
    ck_assert_int_eq(config.source[TPD_KNOB_listen], TPD_SOURCE_DEFAULT);
    (void)unlink(path);
    ck_assert_int_eq(tpd_sources_load(&sources, &config, &flags_are_wrong, &error), TPD_IO);
    ck_assert(!flags_are_wrong);
}
END_TEST

START_TEST(a_wrong_flag_is_told_from_a_wrong_variable) {
    struct tpd_sources sources = {.path = NULL};
    struct tpd_config config;
    sources.flags[TPD_KNOB_strategy] = "nosuch";
    ck_assert_int_eq(tpd_sources_load(&sources, &config, &flags_are_wrong, &error), TPD_CONFIG);
    ck_assert(flags_are_wrong);
    ck_assert_ptr_nonnull(strstr(error.text, "nosuch"));
    ck_assert_ptr_nonnull(strstr(error.text, "the command line"));
    sources.flags[TPD_KNOB_strategy] = NULL;
    ck_assert_int_eq(setenv("TRANSPOSED_STRATEGY", "nosuch", 1), 0);
    ck_assert_int_eq(tpd_sources_load(&sources, &config, &flags_are_wrong, &error), TPD_CONFIG);
    ck_assert(!flags_are_wrong);
    ck_assert_int_eq(unsetenv("TRANSPOSED_STRATEGY") | setenv("TRANSPOSED_LISTEN", "nosuchhost:1", 1), 0);
    ck_assert_int_eq(tpd_sources_load(&sources, &config, &flags_are_wrong, &error), TPD_CONFIG);
    ck_assert(!flags_are_wrong);
    sources.flags[TPD_KNOB_listen] = "127.0.0.1:99999";
    ck_assert_int_eq(tpd_sources_load(&sources, &config, &flags_are_wrong, &error), TPD_CONFIG);
    ck_assert(flags_are_wrong);
}
END_TEST

START_TEST(a_reload_keeps_what_is_fixed) {
    struct tpd_config old, new;
    char names[64], few[10];
    tpd_config_defaults(&old);
    new = old;
    ck_assert_uint_eq(tpd_sources_keep_fixed(&new, &old, names, sizeof names), 0);
    ck_assert_ok(tpd_config_set(&new, TPD_KNOB_listen, "127.0.0.1:1", TPD_SOURCE_FILE, &error), error);
    ck_assert_ok(tpd_config_set(&new, TPD_KNOB_queue_depth, "3", TPD_SOURCE_FILE, &error), error);
    ck_assert_ok(tpd_config_set(&new, TPD_KNOB_log_level, "debug", TPD_SOURCE_FILE, &error), error);
    struct tpd_config same = new;
    ck_assert_uint_eq(tpd_sources_keep_fixed(&same, &old, few, sizeof few), 2);
    ck_assert_str_eq(few, "listen");
    ck_assert_uint_eq(tpd_sources_keep_fixed(&new, &old, names, sizeof names), 2);
    ck_assert_str_eq(names, "listen, queue_depth");
    ck_assert_str_eq(new.listen, old.listen);
    ck_assert_uint_eq(new.queue_depth, old.queue_depth);
    ck_assert_int_eq(new.source[TPD_KNOB_listen], TPD_SOURCE_DEFAULT);
    ck_assert_uint_ne(new.log_level, old.log_level);
}
END_TEST

/* A manager's socket; abstract names begin with '@'. */
static int listen_as_manager(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    memcpy(address.sun_path, name, strlen(name));
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                     0);
    ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
    return fd;
}

static void expect_message(int fd, const char *text) {
    char message[256];
    ssize_t bytes = recv(fd, message, sizeof message - 1, MSG_DONTWAIT);
    ck_assert_int_gt((int)bytes, 0);
    message[bytes] = '\0';
    ck_assert_ptr_eq(strstr(message, text), message);
}

START_TEST(the_manager_hears) {
    char name[64];
    (void)snprintf(name, sizeof name, _i == 0 ? "@tpd-notify-%d" : "/tmp/tpd-notify-%d", (int)getpid());
    int fd = listen_as_manager(name);
    ck_assert_int_eq(setenv("WATCHDOG_USEC", "3000000", 1), 0);
    struct tpd_notify notify;
    ck_assert_ok(tpd_notify_open(&notify, &error), error);
    ck_assert_uint_eq(notify.watchdog_ns, 1500000000);
    tpd_notify_send(&notify, "READY=1");
    expect_message(fd, "READY=1");
    tpd_notify_reloading(&notify);
    expect_message(fd, "RELOADING=1\nMONOTONIC_USEC=");
    tpd_notify_close(&notify);
    ck_assert_int_eq(setenv("WATCHDOG_PID", "1", 1), 0);
    ck_assert_ok(tpd_notify_open(&notify, &error), error);
    ck_assert_uint_eq(notify.watchdog_ns, 0);
    tpd_notify_close(&notify);
    (void)close(fd);
    (void)unlink(name);
}
END_TEST

START_TEST(without_a_manager_nothing_happens) {
    struct tpd_notify notify;
    ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
    ck_assert_ok(tpd_notify_open(&notify, &error), error);
    tpd_notify_send(&notify, "READY=1");
    tpd_notify_close(&notify);
    static const char *const wrong[] = {"relative", "@", "/nobody/is/here"};
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(setenv("NOTIFY_SOCKET", wrong[i], 1), 0);
        ck_assert_int_eq(tpd_notify_open(&notify, &error), TPD_IO);
        ck_assert_ptr_nonnull(strstr(error.text, wrong[i]));
    }
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("life");
    TCase *all = tcase_create("life");
    tcase_add_test(all, flags_win_over_environment_over_file);
    tcase_add_test(all, a_wrong_flag_is_told_from_a_wrong_variable);
    tcase_add_test(all, a_reload_keeps_what_is_fixed);
    tcase_add_loop_test(all, the_manager_hears, 0, 2);
    tcase_add_test(all, without_a_manager_nothing_happens);
    suite_add_tcase(made, all);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
