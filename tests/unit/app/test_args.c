/* test_args.c -- options, values, knobs and operands as they are typed. */
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "server/cmd/cmd.h"

static const struct tpd_option options[] = {{"output", 'o', "OUT", "Where to"},
                                            {"verbose", 'v', NULL, "More words"},
                                            {"bank-bytes", 0, "N", "Bytes"},
                                            {NULL, 0, NULL, NULL}};

static struct tpd_error error;

/* Cuts a command line at its spaces; the words live until the next call. */
static struct tpd_args args_of(const char *text, bool knobs) {
    static char line[256];
    static char *words[32];
    int count = 0;
    (void)snprintf(line, sizeof line, "%s", text);
    char *rest = line;
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        words[count++] = word;
    words[count] = NULL;
    struct tpd_args args;
    tpd_args_init(&args, count, words, options, knobs);
    return args;
}

START_TEST(values_in_every_spelling) {
    const char *line = "run --bank-bytes 4 --bank_bytes=4 --output a --output=b -o c -od -v --verbose - x -- --output";
    struct tpd_args args = args_of(line, false);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(tpd_args_next(&args, &error), 2);
        ck_assert_str_eq(args.value, "4");
    }
    const char *expected[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(tpd_args_next(&args, &error), 0);
        ck_assert_str_eq(args.value, expected[i]);
    }
    ck_assert_int_eq(tpd_args_next(&args, &error), 1);
    ck_assert_int_eq(tpd_args_next(&args, &error), 1);
    const char *operands[] = {"-", "x", "--output"};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(tpd_args_next(&args, &error), TPD_ARG_OPERAND);
        ck_assert_str_eq(args.value, operands[i]);
    }
    ck_assert_int_eq(tpd_args_next(&args, &error), TPD_ARG_END);
    ck_assert_int_eq(tpd_args_next(&args, &error), TPD_ARG_END);
}
END_TEST

START_TEST(wrong_words_are_named) {
    static const char *const wrong[] = {"--nothing", "--verbose=1",      "-x",  "-vx",   "--output",    "-o",
                                        "--outpu",   "--max-body-bytes", "--=", "--o=1", "--bank_byte", "--bank-bytes-",
                                        "--bank"};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "run %s", wrong[i]);
        struct tpd_args args = args_of(line, false);
        ck_assert_msg(tpd_args_next(&args, &error) == TPD_ARG_WRONG, "%s was taken", wrong[i]);
        ck_assert_ptr_nonnull(strstr(error.text, wrong[i]));
    }
}
END_TEST

START_TEST(knobs_are_options) {
    const char *line = "serve --max-body-bytes=5MiB --no-tune --listen 127.0.0.1:0 --no-listen --no-tune=on --no-nothing --help";
    struct tpd_args args = args_of(line, true);
    ck_assert_int_eq(tpd_args_next(&args, &error), TPD_ARG_KNOB);
    ck_assert_int_eq(args.knob, TPD_KNOB_max_body_bytes);
    ck_assert_str_eq(args.value, "5MiB");
    ck_assert_int_eq(tpd_args_next(&args, &error), TPD_ARG_KNOB);
    ck_assert_int_eq(args.knob, TPD_KNOB_tune);
    ck_assert_str_eq(args.value, "off");
    ck_assert_int_eq(tpd_args_next(&args, &error), TPD_ARG_KNOB);
    ck_assert_int_eq(args.knob, TPD_KNOB_listen);
    ck_assert_str_eq(args.value, "127.0.0.1:0");
    for (int i = 0; i < 3; i++) /* no switch, a value, no knob */
        ck_assert_int_eq(tpd_args_next(&args, &error), TPD_ARG_WRONG);
    ck_assert_int_eq(tpd_args_next(&args, &error), TPD_ARG_HELP);
}
END_TEST

START_TEST(numbers_have_a_range) {
    static const char *const wrong[] = {"",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "0x1",
                                        "1e3",
                                        "18446744073709551616",
                                        "18446744073709551615",
                                        "11",
                                        "99999999999999999999999"};
    uint64_t value = 77;
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ck_assert_msg(tpd_args_uint("rows", wrong[i], 0, 10, &value, &error) == TPD_BAD_PARAMETER, "%s was taken", wrong[i]);
        ck_assert_uint_eq(value, 77);
    }
    ck_assert_ptr_nonnull(strstr(error.text, "--rows"));
    ck_assert_ok(tpd_args_uint("rows", "0010", 0, 10, &value, &error), error);
    ck_assert_uint_eq(value, 10);
    ck_assert_ok(tpd_args_uint("rows", "18446744073709551615", 0, UINT64_MAX, &value, &error), error);
    ck_assert_uint_eq(value, UINT64_MAX);
}
END_TEST

START_TEST(the_table_of_commands_is_whole) {
    for (int i = 0; i < TPD_COMMAND_COUNT; i++) {
        ck_assert_ptr_nonnull(tpd_commands[i].handler);
        ck_assert_int_ne(tpd_commands[i].summary[0], '\0');
        ck_assert_int_ne(tpd_commands[i].summary[strlen(tpd_commands[i].summary) - 1], '.');
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(tpd_commands[i].name, tpd_commands[j].name);
        for (const struct tpd_option *option = tpd_commands[i].options; option->name != NULL; option++)
            ck_assert_msg(i != TPD_COMMAND_SERVE || tpd_knob_find(option->name) == TPD_KNOB_COUNT, "--%s is a knob too",
                          option->name);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("args");
    TCase *all = tcase_create("args");
    tcase_add_test(all, values_in_every_spelling);
    tcase_add_test(all, wrong_words_are_named);
    tcase_add_test(all, knobs_are_options);
    tcase_add_test(all, numbers_have_a_range);
    tcase_add_test(all, the_table_of_commands_is_whole);
    suite_add_tcase(made, all);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
