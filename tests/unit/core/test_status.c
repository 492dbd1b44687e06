/* test_status.c -- the status table, and errors that keep their words and numbers. */
#include <string.h>

#include "harness.h"
#include "transposed/status.h"

START_TEST(table_is_sound) {
    for (int i = 0; i < TPD_STATUS_COUNT; i++) {
        enum tpd_status status = (enum tpd_status)i;
        const char *slug = tpd_status_slug(status);
        ck_assert_uint_gt(strlen(slug), 0);
        ck_assert_uint_eq(strspn(slug, "abcdefghijklmnopqrstuvwxyz-"), strlen(slug));
        ck_assert_int_eq(tpd_status_find(slug), status); /* also: no slug twice */
        ck_assert_uint_gt(strlen(tpd_status_meaning(status)), 0);
        int http = tpd_status_http(status);
        ck_assert(status == TPD_OK ? http == 200 : http >= 400 && http <= 599);
        /* Retry-After belongs to 429 and 503, and to nothing else. */
        ck_assert_int_eq(tpd_status_retryable(status), http == 429 || http == 503);
    }
    ck_assert_int_eq(TPD_OK, 0);
    ck_assert_int_eq(tpd_status_find("no-such-slug"), TPD_STATUS_COUNT);
    ck_assert_int_eq(tpd_status_find(""), TPD_STATUS_COUNT);
}
END_TEST

START_TEST(no_status_is_a_fault) {
    ck_assert_str_eq(tpd_status_slug(TPD_STATUS_COUNT), "internal");
    ck_assert_int_eq(tpd_status_http(TPD_STATUS_COUNT), 500);
    ck_assert(!tpd_status_retryable(TPD_STATUS_COUNT));
}
END_TEST

START_TEST(fail_fills) {
    struct tpd_error error;
    memset(&error, 0xa5, sizeof error);
    ck_assert_int_eq(tpd_fail(&error, TPD_RAGGED, "row %d has %d cells", 3, 4), TPD_RAGGED);
    ck_assert_int_eq(error.status, TPD_RAGGED);
    ck_assert_str_eq(error.text, "row 3 has 4 cells");
    ck_assert_uint_eq(error.has, 0);
    ck_assert_uint_eq(error.limit + error.actual + error.offset + error.line + error.column, 0);

    ck_assert_int_eq(tpd_fail_at(&error, TPD_TRUNCATED, UINT64_MAX, "ends"), TPD_TRUNCATED);
    ck_assert_uint_eq(error.has, TPD_ERROR_HAS_OFFSET);
    ck_assert_uint_eq(error.offset, UINT64_MAX);
    tpd_error_line(&error, 7, 9);
    ck_assert_uint_eq(error.has, TPD_ERROR_HAS_OFFSET | TPD_ERROR_HAS_LINE);
    ck_assert_uint_eq(error.line, 7);
    ck_assert_uint_eq(error.column, 9);

    ck_assert_int_eq(tpd_fail_limit(&error, TPD_TOO_LARGE, 10, 11, "%s", "over"), TPD_TOO_LARGE);
    ck_assert_uint_eq(error.has, TPD_ERROR_HAS_LIMIT);
    ck_assert_uint_eq(error.limit, 10);
    ck_assert_uint_eq(error.actual, 11);
    ck_assert_uint_eq(error.offset, 0);
}
END_TEST

START_TEST(nobody_asks) {
    ck_assert_int_eq(tpd_fail(NULL, TPD_RAGGED, "x"), TPD_RAGGED);
    ck_assert_int_eq(tpd_fail_at(NULL, TPD_RAGGED, 1, "x"), TPD_RAGGED);
    ck_assert_int_eq(tpd_fail_limit(NULL, TPD_RAGGED, 1, 2, "x"), TPD_RAGGED);
    tpd_error_line(NULL, 1, 2);
}
END_TEST

START_TEST(long_text_is_marked) {
    struct tpd_error error;
    char text[600];
    memset(text, 'a', sizeof text);
    for (size_t length = sizeof error.text - 2; length < sizeof error.text + 2; length++) {
        text[length] = '\0';
        (void)tpd_fail(&error, TPD_MALFORMED, "%s", text);
        text[length] = 'a';
        bool fits = length < sizeof error.text;
        ck_assert_uint_eq(strlen(error.text), fits ? length : sizeof error.text - 1);
        ck_assert_int_eq(strcmp(error.text + strlen(error.text) - 3, "...") == 0, !fits);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *all = suite_create("status");
    TCase *core = tcase_create("core");
    tcase_add_test(core, table_is_sound);
    tcase_add_test(core, no_status_is_a_fault);
    tcase_add_test(core, fail_fills);
    tcase_add_test(core, nobody_asks);
    tcase_add_test(core, long_text_is_marked);
    suite_add_tcase(all, core);
    return all;
}

int main(void) {
    return tpd_harness_main(suite());
}
