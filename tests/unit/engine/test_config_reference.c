/* test_config_reference.c -- config/README.md is what the table says, and the example is a configuration.
 *
 * TPD_REGENERATE=1 in the environment writes the page anew.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "transposed/buf.h"
#include "transposed/config.h"

static const char page[] = "config/README.md";

START_TEST(page_is_up_to_date) {
    struct tpd_buf out;
    tpd_buf_init(&out, 1 << 20);
    ck_assert_int_eq(tpd_config_reference(&out), TPD_OK);
    if (getenv("TPD_REGENERATE") != NULL) {
        FILE *file = fopen(page, "we");
        ck_assert_ptr_nonnull(file);
        ck_assert_uint_eq(fwrite(out.data, 1, out.bytes, file), out.bytes);
        ck_assert_int_eq(fclose(file), 0);
    }
    FILE *file = fopen(page, "re");
    ck_assert_msg(file != NULL, "%s is missing: run this test with TPD_REGENERATE=1", page);
    char *there = malloc(out.bytes + 2);
    ck_assert_ptr_nonnull(there);
    size_t bytes = fread(there, 1, out.bytes + 1, file);
    (void)fclose(file);
    ck_assert_msg(bytes == out.bytes && memcmp(there, out.data, bytes) == 0,
                  "%s is not what include/transposed/tbl/config.def says: run this test with TPD_REGENERATE=1", page);
    free(there);
    tpd_buf_fini(&out);
}
END_TEST

START_TEST(every_knob_has_its_line) {
    struct tpd_buf out;
    tpd_buf_init(&out, 1 << 20);
    ck_assert_int_eq(tpd_config_reference(&out), TPD_OK);
    for (int i = 0; i < TPD_KNOB_COUNT; i++) {
        char start[80];
        (void)snprintf(start, sizeof start, "\n| `%s` | `", tpd_knob_name((enum tpd_knob)i));
        const char *line = strstr(out.data, start);
        ck_assert_msg(line != NULL, "no line for %s", tpd_knob_name((enum tpd_knob)i));
        ck_assert_msg(strstr(line + 1, start) == NULL, "two lines for %s", tpd_knob_name((enum tpd_knob)i));
    }
    tpd_buf_fini(&out);
}
END_TEST

START_TEST(examples_are_configurations) {
    static const char *const examples[] = {"config/transposed.json", "config/examples/gateway.json",
                                           "config/examples/cpu_only.json"};
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        struct tpd_config config;
        struct tpd_error error;
        tpd_config_defaults(&config);
        ck_assert_ok(tpd_config_read_file(&config, examples[i], &error), error);
        enum tpd_config_source from;
        ck_assert_ok(tpd_config_check(&config, &from, &error), error);
        if (i != 0)
            continue;
        /* The first one shows defaults, so that copying it changes nothing. */
        for (int knob = 0; knob < TPD_KNOB_COUNT; knob++) {
            struct tpd_config defaults;
            char text[2][TPD_CONFIG_TEXT_BYTES];
            tpd_config_defaults(&defaults);
            tpd_config_print(&defaults, (enum tpd_knob)knob, text[0], sizeof text[0]);
            tpd_config_print(&config, (enum tpd_knob)knob, text[1], sizeof text[1]);
            ck_assert_str_eq(text[0], text[1]);
        }
    }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("config reference");
    TCase *c = tcase_create("pages");
    tcase_add_test(c, page_is_up_to_date);
    tcase_add_test(c, every_knob_has_its_line);
    tcase_add_test(c, examples_are_configurations);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
