/* test_bank_report.c -- questions to the bank model: how parameters are read, what answers hold, what is refused. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "transposed/bank_report.h"

static struct tpd_error error;

static enum tpd_banks_parameter find(const char *name) {
    int i = 0;
    while (strcmp(tpd_banks_parameter_name((enum tpd_banks_parameter)i), name) != 0)
        ck_assert_int_lt(++i, TPD_BANKS_PARAMETERS);
    return (enum tpd_banks_parameter)i;
}

/* "stride=5&itemsize=4", as in a query. */
static enum tpd_status ask_of(const char *text, struct tpd_banks_ask *ask) {
    char copy[256], *rest = copy, *word;
    enum tpd_status status = TPD_OK;
    (void)snprintf(copy, sizeof copy, "%s", text);
    tpd_banks_ask_init(ask);
    while (status == TPD_OK && (word = strsep(&rest, "&")) != NULL && *word != '\0') {
        char *value = strchr(word, '=');
        *value++ = '\0';
        status = tpd_banks_ask_set(ask, find(word), value, &error);
    }
    return status != TPD_OK ? status : tpd_banks_ask_check(ask, &error);
}

static cJSON *json_of(const char *text) {
    struct tpd_banks_ask ask;
    struct tpd_buf out;
    ck_assert_ok(ask_of(text, &ask), error);
    tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
    ck_assert_ok(tpd_banks_json(&ask, &out, &error), error);
    cJSON *json = cJSON_Parse(out.data);
    ck_assert_msg(json != NULL, "%s: %s", text, out.data);
    tpd_buf_fini(&out);
    return json;
}

static double number_at(const cJSON *json, const char *path) {
    char copy[128], *rest = copy, *word;
    (void)snprintf(copy, sizeof copy, "%s", path);
    while ((word = strsep(&rest, ".")) != NULL) {
        json = cJSON_GetObjectItemCaseSensitive(json, word);
        ck_assert_msg(json != NULL, "%s is missing at %s", path, word);
    }
    ck_assert_msg(cJSON_IsNumber(json), "%s is no number", path);
    return json->valuedouble;
}

START_TEST(every_key_of_the_contract) {
    static const char *const questions[] = {"strategy=naive&itemsize=4", "tile=32x32&pitch=34&itemsize=4",
                                            "stride=5&itemsize=4",       "record=12&offset=4",
                                            "strategy=direct",           "tile=8x8&planes=3"};
    static const char *const keys[] = {"strategy",   "itemsize", "tile",   "pitch",        "rows",  "cols",
                                       "bank_bytes", "shared",   "global", "shared_bytes", "advice"};
    static const char *const shared[] = {"requests", "wavefronts", "ideal", "excess", "degree"}, *const global[] = {"requests",
                                                                                                                    "sectors",
                                                                                                                    "ideal"};
    for (size_t q = 0; q < sizeof questions / sizeof *questions; q++) {
        cJSON *json = json_of(questions[q]);
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            ck_assert_msg(cJSON_HasObjectItem(json, keys[i]), "%s: no %s", questions[q], keys[i]);
        for (int op = 0; op < 2; op++) {
            char path[64];
            for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
                (void)snprintf(path, sizeof path, "shared.%s.%s", op == 0 ? "load" : "store", shared[i]);
                (void)number_at(json, path);
            }
            for (size_t i = 0; i < sizeof global / sizeof *global; i++) {
                (void)snprintf(path, sizeof path, "global.%s.%s", op == 0 ? "load" : "store", global[i]);
                (void)number_at(json, path);
            }
        }
        cJSON_Delete(json);
    }
}
END_TEST

START_TEST(figures) {
    static const struct {
        const char *question, *path;
        double value;
    } cases[] = {
        {"strategy=naive&itemsize=4", "shared.load.degree", 32},
        {"strategy=naive&itemsize=4", "shared.load.conflicts_per_request", 31},
        {"strategy=naive&itemsize=8", "shared.load.conflicts_per_request", 30},
        {"strategy=naive&itemsize=4", "shared.load.requests", 2048},
        {"strategy=naive&itemsize=4&bank_bytes=8", "shared.load.degree", 16},
        {"strategy=naive&itemsize=4&bank_width=8", "shared.load.degree", 16},
        {"strategy=padded&itemsize=1", "pitch", 36},
        {"strategy=padded&itemsize=1", "shared.load.excess", 0},
        {"strategy=padded&itemsize=16&arch=75", "occupancy.resident_blocks", 3},
        {"strategy=swapped", "global.store.sectors", 32 * 2048},
        {"strategy=direct", "shared_bytes", 0},
        {"strategy=rotated&rows=1000000000&cols=1000000000&tile=128x128", "blocks", 8},
        {"tile=32x32&pitch=34", "shared.load.degree", 2},
        {"tile=32x32&pitch=33", "shared.load.excess", 0},
        {"tile=32x48&pitch=33", "shared.load.excess", 0},
        {"tile=32x32&pitch=33", "shared_bytes", 32 * 33 * 4},
        {"tile=16x16&planes=2&plane_pitch=300", "shared_bytes", 2 * 300 * 4},
        {"stride=5", "shared.load.degree", 1},
        {"stride=32", "shared.store.wavefronts", 32},
        {"stride=32&group=32", "shared.load.wavefronts", 1},
        {"stride=32&group=8", "shared.load.wavefronts", 4},
        {"stride=0", "global.load.sectors", 1},
        {"record=16&offset=8", "shared.load.degree", 4},
        {"record=16&offset=8", "global.load.sectors", 16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cJSON *json = json_of(cases[i].question);
        double found = number_at(json, cases[i].path);
        ck_assert_msg(found == cases[i].value, "%s: %s is %f", cases[i].question, cases[i].path, found);
        cJSON_Delete(json);
    }
}
END_TEST

/* Narrow items: by the column that the request begins in. At a pitch of 33 bytes the mean is 1.75, at 33 halves 1.5. */
START_TEST(first_columns) {
    static const struct {
        const char *question;
        int count, sum;
    } cases[] = {{"stride=33&itemsize=1", 4, 7},
                 {"stride=33&itemsize=2", 2, 3},
                 {"stride=32&itemsize=1", 4, 32},
                 {"stride=33&itemsize=4", 1, 1},
                 {"stride=3&itemsize=1&bank_bytes=8", 8, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cJSON *json = json_of(cases[i].question), *columns = cJSON_GetObjectItem(json, "by_column"), *one;
        int sum = 0;
        cJSON_ArrayForEach(one, columns) sum += one->valueint;
        ck_assert_int_eq(cJSON_GetArraySize(columns), cases[i].count);
        ck_assert_int_eq(sum, cases[i].sum);
        cJSON_Delete(json);
    }
}
END_TEST

START_TEST(ranges_are_rows) {
    cJSON *json = json_of("stride=1..64&itemsize=4"), *rows = cJSON_GetObjectItem(json, "rows"), *row;
    int stride = 1;
    ck_assert_int_eq(cJSON_GetArraySize(rows), 64);
    cJSON_ArrayForEach(row, rows) {
        int degree = stride & -stride;
        ck_assert_int_eq((int)number_at(row, "stride"), stride);
        ck_assert_int_eq((int)number_at(row, "shared.load.degree"), degree > 32 ? 32 : degree);
        stride++;
    }
    cJSON_Delete(json);
    json = json_of("reduce=256");
    rows = cJSON_GetObjectItem(json, "rows");
    ck_assert_int_eq(cJSON_GetArraySize(rows), 8);
    ck_assert_int_eq((int)number_at(cJSON_GetArrayItem(rows, 2), "shared.load.degree"), 8);
    ck_assert_int_eq((int)number_at(cJSON_GetArrayItem(rows, 2), "sequential_wavefronts"), 1);
    cJSON_Delete(json);
}
END_TEST

START_TEST(every_strategy_in_one_table) {
    struct tpd_banks_ask ask;
    struct tpd_buf out;
    tpd_banks_ask_init(&ask);
    ask.every_strategy = ask.every_itemsize = true;
    for (int colour = 0; colour < 2; colour++) {
        tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
        ck_assert_ok(tpd_banks_table(&ask, colour != 0, &out, &error), error);
        for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
            ck_assert_ptr_nonnull(strstr(out.data, tpd_strategy_at((enum tpd_strategy_id)id)->name));
        ck_assert_int_eq(strchr(out.data, '\033') != NULL, colour);
        ck_assert_ptr_nonnull(strstr(out.data, "32/1"));
        tpd_buf_fini(&out);
    }
    /* Where one can't, its line says why and the others are there. */
    ask.tile = (struct tpd_tile){24, 24};
    tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
    ck_assert_ok(tpd_banks_table(&ask, false, &out, &error), error);
    ck_assert_ptr_nonnull(strstr(out.data, "power of two"));
    ck_assert_ptr_nonnull(strstr(out.data, "direct"));
    tpd_buf_fini(&out);
}
END_TEST

START_TEST(tables_of_each_kind) {
    static const char *const questions[][2] = {{"tile=32x32", "load by columns"},
                                               {"tile=16x16&planes=4", "4 planes"},
                                               {"stride=1..9&itemsize=1", "BY FIRST COLUMN"},
                                               {"record=12", "record"},
                                               {"stride=2&group=4&offset=8", "4 neighbouring lanes"},
                                               {"reduce=64", "SEQUENTIAL"},
                                               {"strategy=naive", "A pitch of 33 items"}};
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        struct tpd_banks_ask ask;
        struct tpd_buf out;
        ck_assert_ok(ask_of(questions[i][0], &ask), error);
        tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
        ck_assert_ok(tpd_banks_table(&ask, false, &out, &error), error);
        ck_assert_msg(strstr(out.data, questions[i][1]) != NULL, "%s: %s", questions[i][0], out.data);
        tpd_buf_fini(&out);
    }
}
END_TEST

START_TEST(svg_documents) {
    static const char *const questions[] = {"strategy=naive",
                                            "strategy=direct",
                                            "strategy=padded&itemsize=16&tile=128x16",
                                            "strategy=rotated&itemsize=1&request=9&side=store",
                                            "tile=128x128&itemsize=2",
                                            "tile=16x8&planes=4",
                                            "stride=33",
                                            "stride=7&group=3&itemsize=16",
                                            "record=36&side=store",
                                            "tile=32x48&pitch=33",
                                            "tile=1x1",
                                            "stride=0",
                                            "tile=3x5&bank_bytes=8"};
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        struct tpd_banks_ask ask;
        struct tpd_buf out;
        ck_assert_ok(ask_of(questions[i], &ask), error);
        tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
        ck_assert_ok(tpd_banks_svg(&ask, &out, &error), error);
        ck_assert_int_eq(strncmp(out.data, "<svg xmlns=", 11), 0);
        ck_assert_str_eq(out.data + out.bytes - 7, "</svg>\n");
        ck_assert_ptr_nonnull(strstr(out.data, "<title id=\"title\">"));
        ck_assert_ptr_nonnull(strstr(out.data, "<desc id=\"desc\">"));
        ck_assert_ptr_nonnull(strstr(out.data, "aria-labelledby=\"title desc\""));
        tpd_buf_fini(&out);
    }
}
END_TEST

START_TEST(refusals) {
    static const struct {
        const char *question;
        enum tpd_status status;
        const char *words;
    } cases[] = {
        {"itemsize=3", TPD_UNSUPPORTED, "itemsize=3"},
        {"itemsize=0", TPD_UNSUPPORTED, "1 to 16"},
        {"itemsize=x", TPD_BAD_PARAMETER, "itemsize=x"},
        {"itemsize=-1", TPD_BAD_PARAMETER, "whole number"},
        {"itemsize=99999999999999999999", TPD_BAD_PARAMETER, "itemsize"},
        {"itemsize=32", TPD_UNSUPPORTED, "1 to 16"},
        {"strategy=nope", TPD_UNKNOWN_STRATEGY, "nope"},
        {"tile=32", TPD_BAD_PARAMETER, "ROWSxCOLS"},
        {"tile=0x4", TPD_UNSUPPORTED, "1 to 128"},
        {"tile=129x4", TPD_UNSUPPORTED, "1 to 128"},
        {"tile=32x32x", TPD_BAD_PARAMETER, "tile"},
        {"tile=128x128&planes=2", TPD_UNSUPPORTED, "16384"},
        {"stride=5..1", TPD_BAD_PARAMETER, "1..64"},
        {"stride=1..", TPD_BAD_PARAMETER, "stride"},
        {"stride=1..1025", TPD_UNSUPPORTED, "1024"},
        {"stride=65537", TPD_UNSUPPORTED, "65536"},
        {"stride=1x", TPD_BAD_PARAMETER, "stride"},
        {"stride=2&record=8", TPD_BAD_PARAMETER, "stride and record"},
        {"stride=2&strategy=naive", TPD_BAD_PARAMETER, "stride says nothing"},
        {"strategy=naive&pitch=33", TPD_BAD_PARAMETER, "pitch says nothing"},
        {"tile=32x32&rows=4", TPD_BAD_PARAMETER, "rows says nothing"},
        {"reduce=100", TPD_UNSUPPORTED, "power of two"},
        {"reduce=2048", TPD_UNSUPPORTED, "32 to 1024"},
        {"bank_bytes=6", TPD_UNSUPPORTED, "bank_bytes=6"},
        {"bank_width=6", TPD_UNSUPPORTED, "bank_width=6"},
        {"bank_bytes=8&bank_width=8", TPD_BAD_PARAMETER, "two names"},
        {"arch=61", TPD_UNSUPPORTED, "75|80"},
        {"arch=91", TPD_UNSUPPORTED, "arch=91: the limits of 75|80|86|89|90|100|120 are known"},
        {"arch=87", TPD_UNSUPPORTED, "75|80"},
        {"strategy=vector&tile=64x64", TPD_UNSUPPORTED, "tile=64x64 says nothing to strategy=vector"},
        {"tile=32x16&strategy=direct&itemsize=4", TPD_UNSUPPORTED, "has none: leave tile out, or take padded"},
        {"side=up", TPD_BAD_PARAMETER, "load, store"},
        {"group=33", TPD_UNSUPPORTED, "1 to 32"},
        {"group=0", TPD_UNSUPPORTED, "1 to 32"},
        {"side=ldmatrix", TPD_BAD_PARAMETER, "side"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_banks_ask ask;
        enum tpd_status status = ask_of(cases[i].question, &ask);
        ck_assert_msg(status == cases[i].status, "%s: %s", cases[i].question, tpd_status_slug(status));
        ck_assert_msg(strstr(error.text, cases[i].words) != NULL, "%s: %s", cases[i].question, error.text);
    }
    static const char *const taken[] = {"strategy=vector&tile=auto", "strategy=auto&tile=64x64", "tile=auto", "strategy=direct"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        struct tpd_banks_ask ask;
        ck_assert_ok(ask_of(taken[i], &ask), error);
    }
    /* What only the model sees. */
    static const char *const later[][2] = {
        {"strategy=naive&tile=24x24", "power of two"}, {"record=10&itemsize=4", "lane 1"}, {"offset=2&itemsize=4", "lane 0"}};
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        struct tpd_banks_ask ask;
        struct tpd_buf out;
        ck_assert_ok(ask_of(later[i][0], &ask), error);
        tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
        ck_assert_int_eq(tpd_banks_json(&ask, &out, &error), TPD_UNSUPPORTED);
        ck_assert_msg(strstr(error.text, later[i][1]) != NULL, "%s: %s", later[i][0], error.text);
        ck_assert_int_eq(tpd_banks_svg(&ask, &out, &error), TPD_UNSUPPORTED);
        tpd_buf_fini(&out);
    }
    static const char *const pictures[][2] = {{"stride=1..4", "one stride"},
                                              {"reduce=64", "one thing"},
                                              {"tile=64x1&planes=128", "at most 256 rows"},
                                              {"tile=32x32&request=32", "0 to 31"},
                                              {"strategy=padded&request=400", "0 to 31"}};
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
        struct tpd_banks_ask ask;
        struct tpd_buf out;
        ck_assert_ok(ask_of(pictures[i][0], &ask), error);
        tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
        ck_assert_int_eq(tpd_banks_svg(&ask, &out, &error), TPD_UNSUPPORTED);
        ck_assert_msg(strstr(error.text, pictures[i][1]) != NULL, "%s: %s", pictures[i][0], error.text);
        tpd_buf_fini(&out);
    }
}
END_TEST

static bool told(void *context, const struct tpd_plan *plan, uint32_t *registers, uint32_t *blocks) {
    *registers = 99;
    *blocks = 2;
    return plan->strategy == *(enum tpd_strategy_id *)context;
}

/* What the help and the refusal list is the table, and an answer is of the one that was asked for. */
START_TEST(architectures_are_listed) {
    char list[64] = "";
    const struct tpd_architecture *at;
    for (unsigned i = 0; (at = tpd_architecture_at(i)) != NULL; i++) {
        char question[32], name[16];
        struct tpd_banks_ask ask;
        (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s%u", i == 0 ? "" : "|", at->capability);
        (void)snprintf(question, sizeof question, "arch=%u", at->capability);
        (void)snprintf(name, sizeof name, "\"sm_%u\"", at->capability);
        struct tpd_buf out;
        ck_assert_ok(ask_of(question, &ask), error);
        tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
        ck_assert_ok(tpd_banks_json(&ask, &out, &error), error);
        ck_assert_ptr_nonnull(strstr(out.data, name));
        tpd_buf_fini(&out);
    }
    struct tpd_banks_ask ask;
    ck_assert_int_eq(ask_of("arch=1", &ask), TPD_UNSUPPORTED);
    ck_assert_msg(strstr(error.text, list) != NULL, "%s is not %s", error.text, list);
}
END_TEST

/* Who can ask a driver is asked, unless the client names an architecture. */
START_TEST(drivers_are_asked) {
    enum tpd_strategy_id known = TPD_STRATEGY_NAIVE;
    static const struct {
        const char *question, *has;
    } cases[] = {{"strategy=naive",
                  "\"registers\":99,\"resident_blocks\":2,\"resident_threads\":512,\"limit\":\"registers\",\"by_device\":true"},
                 {"strategy=padded", "\"by_device\":false"},
                 {"strategy=naive&arch=90", "\"by_device\":false"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_banks_ask ask;
        struct tpd_buf out;
        ck_assert_ok(ask_of(cases[i].question, &ask), error);
        ask.driver = told;
        ask.driver_context = &known;
        tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
        ck_assert_ok(tpd_banks_json(&ask, &out, &error), error);
        ck_assert_msg(strstr(out.data, cases[i].has) != NULL, "%s: %s", cases[i].question, out.data);
        tpd_buf_fini(&out);
    }
}
END_TEST

/* Every allocation of every writer may fail, is told, and leaks nothing. */
START_TEST(no_memory_is_said) {
    typedef enum tpd_status writer(const struct tpd_banks_ask *ask, struct tpd_buf *out, struct tpd_error *error);
    static writer *const writers[] = {tpd_banks_json, tpd_banks_svg};
    for (int w = 0; w < 2; w++) {
        int failed = 1;
        for (uint64_t nth = 1; failed; nth++) {
            struct tpd_banks_ask ask;
            struct tpd_buf out;
            ck_assert_ok(ask_of("strategy=padded", &ask), error);
            tpd_heap_begin(nth);
            tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
            enum tpd_status status = writers[w](&ask, &out, &error);
            if (status == TPD_OK)
                status = out.status;
            tpd_buf_fini(&out);
            failed = tpd_heap_end();
            ck_assert_int_eq(status, failed ? TPD_NO_MEMORY : TPD_OK);
            ck_assert_uint_le(nth, 100);
        }
    }
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("bank_report");
    TCase *tests = tcase_create("report");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_key_of_the_contract);
    tcase_add_test(tests, figures);
    tcase_add_test(tests, first_columns);
    tcase_add_test(tests, ranges_are_rows);
    tcase_add_test(tests, every_strategy_in_one_table);
    tcase_add_test(tests, tables_of_each_kind);
    tcase_add_test(tests, svg_documents);
    tcase_add_test(tests, refusals);
    tcase_add_test(tests, architectures_are_listed);
    tcase_add_test(tests, drivers_are_asked);
    tcase_add_test(tests, no_memory_is_said);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
