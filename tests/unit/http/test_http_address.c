/* test_http_address.c -- where a listener may listen: Unix sockets, inherited descriptors, IPv6, and what is no address. */
#include <sys/stat.h>
#include <sys/un.h>

#include "http_fixture.h"

static void set_up(void) {
    fixture_init(&fixture);
}

static int open_unix(const char *path) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

START_TEST(unix_and_inherited) {
    char folder[] = "/tmp/tpd-http-XXXXXX", path[64], knob[80];
    struct stat file;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    snprintf(knob, sizeof knob, "unix:%s", path);
    /* A socket that a daemon left behind, and a listening one that somebody hands over. */
    int stale = socket(AF_UNIX, SOCK_STREAM, 0), given = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    ck_assert_int_eq(bind(stale, (struct sockaddr *)&at, sizeof at), 0);
    close(stale);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(bind(given, (struct sockaddr *)&any, sizeof any), 0);
    ck_assert_int_eq(listen(given, 16), 0);
    fixture_set(&fixture, "listen", knob);
    snprintf(knob, sizeof knob, "fd:%d", given);
    fixture_set(&fixture, "admin_listen", knob);
    fixture_set(&fixture, "max_connections_per_ip", "1");
    fixture_start(&fixture);
    ck_assert_int_eq(stat(path, &file), 0);
    ck_assert_uint_eq(file.st_mode & 0777, 0660);
    int first = open_unix(path), second = open_unix(path); /* no address, no count */
    round_trip(first, 9, 4, "", "");
    round_trip(second, 900, 400, "", "");
    close(first);
    close(second);
    int admin = client_try(tpd_http_admin_address(fixture.http));
    ck_assert(client_text(admin, "GET /livez HTTP/1.1\r\nHost: t\r\n\r\n"));
    expect_reply(admin, 200, NULL);
    close(admin);
    char admin_address[128];
    snprintf(admin_address, sizeof admin_address, "%s", tpd_http_admin_address(fixture.http));
    tpd_http_stop_listening(fixture.http);
    ck_assert_int_eq(open_unix(path), -1);
    tpd_http_destroy(fixture.http);
    fixture.http = NULL;
    ck_assert_int_ne(stat(path, &file), 0);
    admin = client_try(admin_address); /* still the giver's: waits for whoever takes it next */
    ck_assert_int_ge(admin, 0);
    close(admin);
    close(given);
    rmdir(folder);
}
END_TEST

/* What can't be bound is told what would help. */
START_TEST(taken_addresses) {
    struct tpd_error error;
    fixture_start(&fixture);
    struct tpd_config config = fixture.config;
    struct tpd_world world = {.engine = fixture.world.engine, .stats = fixture.world.stats};
    struct tpd_http *http;
    atomic_init(&world.config, &config);
    const char *const cases[][2] = {{tpd_http_data_address(fixture.http), "0: any free one"},
                                    {"192.0.2.1:7070", "no interface of this machine"}}; /* a block that no machine has */
    for (int i = 0; i < 2; i++) {
        snprintf(config.listen, sizeof config.listen, "%s", cases[i][0]);
        ck_assert_int_eq(tpd_http_create(&world, &http, &error), TPD_IO);
        ck_assert_msg(strstr(error.text, cases[i][0]) != NULL && strstr(error.text, cases[i][1]) != NULL, "%s", error.text);
    }
}
END_TEST

START_TEST(bad_addresses) {
    static const char *const bad[] = {
        "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:http", "[::1:80",     "::1:80", "unix:", "unix:s",
        "fd:",       "fd:x",       "fd:12345",        "256.0.0.1:80",   "[1.2.3.4]:80"};
    struct tpd_error error;
    fixture_start(&fixture);
    struct tpd_config config = fixture.config;
    struct tpd_world world = {.engine = fixture.world.engine, .stats = fixture.world.stats};
    struct tpd_http *http;
    atomic_init(&world.config, &config);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(config.listen, sizeof config.listen, "%s", bad[i]);
        enum tpd_status status = tpd_http_create(&world, &http, &error);
        ck_assert_msg(status == TPD_CONFIG || status == TPD_IO, "%s: %s", bad[i], tpd_status_slug(status));
        ck_assert_msg(strstr(error.text, bad[i]) != NULL && strstr(error.text, "listen") != NULL, "%s", error.text);
    }
    snprintf(config.listen, sizeof config.listen, "%s", tpd_http_data_address(fixture.http)); /* taken */
    ck_assert_int_eq(tpd_http_create(&world, &http, &error), TPD_IO);
    snprintf(config.listen, sizeof config.listen, "[::1]:0");
    snprintf(config.admin_listen, sizeof config.admin_listen, "off");
    if (tpd_http_create(&world, &http, &error) == TPD_OK) { /* a machine without IPv6 says no */
        ck_assert_int_eq(strncmp(tpd_http_data_address(http), "[::1]:", 6), 0);
        ck_assert_str_eq(tpd_http_admin_address(http), "");
        tpd_http_destroy(http);
    }
}
END_TEST

int main(void) {
    TCase *tests;
    Suite *suite = fixture_suite("http_address", set_up, &tests);
    tcase_add_test(tests, unix_and_inherited);
    tcase_add_test(tests, bad_addresses);
    tcase_add_test(tests, taken_addresses);
    return tpd_harness_main(suite);
}
