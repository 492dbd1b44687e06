/* test_bank_measured.c -- the model against what Nsight Compute counted on a GPU, launch by launch.
 *
 * bank_measured.csv is written by tests/gpu/check_banks.py. Counters may lie above the model by their own noise, and never below.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "transposed/banks.h"

static const char path[] = "tests/unit/model/bank_measured.csv"; /* from the root, where tests run */
static const char header[] = "kind,name,op,itemsize,tile,rows,cols,batch,active,addresses,repeats,load_requests,load_wavefronts,"
                             "load_conflicts,load_sectors,"
                             "store_requests,store_wavefronts,store_conflicts,store_sectors\n";
enum {
    KIND,
    NAME,
    OP,
    ITEMSIZE,
    TILE,
    ROWS,
    COLS,
    BATCH,
    ACTIVE,
    ADDRESSES,
    REPEATS,
    LOAD,
    STORE = LOAD + 4,
    FIELDS = STORE + 4
};
/* From LOAD and STORE on. */
enum { REQUESTS, WAVEFRONTS, CONFLICTS, SECTORS };
enum { NOISE_PERCENT = 3 };

struct line {
    char *field[FIELDS];
};

static void split(struct line *line, char *text) {
    text[strcspn(text, "\n")] = '\0';
    char *rest = text;
    for (int i = 0; i < FIELDS; i++) {
        line->field[i] = strsep(&rest, ",");
        ck_assert_msg(line->field[i] != NULL, "fewer than %d fields: %s", FIELDS, text);
    }
    ck_assert_msg(rest == NULL, "more than %d fields: %s", FIELDS, text);
}

static uint64_t number(const char *text, int base) {
    char *end;
    uint64_t value = strtoull(text, &end, base);
    ck_assert_msg(end != text && (*end == '\0' || *end == ' '), "no number: '%s'", text);
    return value;
}

/* noise_of: what the counter's own noise is a share of. An empty field is one that no counter saw. */
static void compare(const struct line *line, int field, uint64_t model, uint64_t noise_of) {
    if (line->field[field][0] == '\0')
        return;
    uint64_t counter = number(line->field[field], 10);
    ck_assert_msg(counter >= model && counter - model <= noise_of * NOISE_PERCENT / 100,
                  "%s %s %s %s %sx%s: field %d: model %" PRIu64 ", counter %" PRIu64, line->field[KIND], line->field[NAME],
                  line->field[ITEMSIZE], line->field[TILE], line->field[ROWS], line->field[COLS], field, model, counter);
}

static void compare_strategy(const struct line *line) {
    struct tpd_matrix matrix = {.rows = number(line->field[ROWS], 10), .cols = number(line->field[COLS], 10)};
    matrix.batch = number(line->field[BATCH], 10);
    matrix.itemsize = (uint32_t)number(line->field[ITEMSIZE], 10);
    matrix.dtype = TPD_DTYPE_OPAQUE;
    enum tpd_strategy_id id;
    struct tpd_tile tile = {0, 0};
    struct tpd_plan plan;
    struct tpd_figures figures;
    struct tpd_error error;
    ck_assert_ok(tpd_strategy_find(line->field[NAME], &id, &error), error);
    if (tpd_strategy_at(id)->tiled)
        ck_assert_ok(tpd_tile_parse(line->field[TILE], &tile, &error), error);
    ck_assert_ok(tpd_strategy_plan(id, &matrix, tile, UINT64_MAX, &plan, &error), error);
    ck_assert_ok(tpd_banks_of_plan(&plan, &figures, &error), error);
    ck_assert_uint_eq(figures.blocks, plan.blocks);
    for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++) {
        const struct tpd_shared_sum *shared = &figures.shared[op];
        int first = op == TPD_OP_LOAD ? LOAD : STORE;
        compare(line, first + REQUESTS, shared->requests, 0);
        compare(line, first + WAVEFRONTS, shared->wavefronts, shared->wavefronts);
        compare(line, first + CONFLICTS, shared->excess, shared->wavefronts);
        compare(line, first + SECTORS, figures.global[op].sectors, figures.global[op].sectors);
    }
}

static void compare_request(const struct line *line) {
    enum tpd_op op = tpd_op_find(line->field[KIND]); /* a matrix op by its name; the others by what they do */
    bool is_matrix = op == TPD_OP_LDMATRIX || op == TPD_OP_STMATRIX;
    bool is_store = strcmp(line->field[OP], "store") == 0;
    ck_assert_msg(is_store || strcmp(line->field[OP], "load") == 0, "neither a load nor a store: '%s'", line->field[OP]);
    struct tpd_request request = {.op = is_matrix ? op : is_store ? TPD_OP_STORE : TPD_OP_LOAD};
    request.width = (uint32_t)number(line->field[ITEMSIZE], 10);
    request.active = (uint32_t)number(line->field[ACTIVE], 16);
    request.matrices = is_matrix ? (uint32_t)__builtin_popcount(request.active) / 8 : 0;
    char *rest = line->field[ADDRESSES];
    for (uint32_t lane = 0; lane < TPD_WARP; lane++) {
        const char *address = strsep(&rest, " ");
        ck_assert_msg(address != NULL, "fewer than 32 addresses: %s", line->field[NAME]);
        request.address[lane] = number(address, 16);
    }
    struct tpd_bank_result result;
    struct tpd_error error;
    ck_assert_ok(tpd_banks_shared(&request, 4, &result, &error), error);
    uint64_t repeats = number(line->field[REPEATS], 10);
    int first = is_store ? STORE : LOAD;
    ck_assert_msg(line->field[first + WAVEFRONTS][0] != '\0', "nothing was counted: %s", line->field[NAME]);
    if (!is_matrix)
        compare(line, first + REQUESTS, repeats, 0);
    compare(line, first + WAVEFRONTS, repeats * result.wavefronts, repeats * result.wavefronts);
    compare(line, first + CONFLICTS, repeats * result.excess, repeats * result.wavefronts);
}

START_TEST(model_equals_the_counters) {
    FILE *file = fopen(path, "r");
    ck_assert(file != NULL);
    char text[1024];
    ck_assert_msg(fgets(text, sizeof text, file) != NULL && text[0] == '#', "no first line that says where this was measured");
    ck_assert(fgets(text, sizeof text, file) != NULL);
    ck_assert_str_eq(text, header);
    uint32_t strategies = 0, requests = 0;
    while (fgets(text, sizeof text, file) != NULL) {
        struct line line;
        split(&line, text);
        bool is_strategy = strcmp(line.field[KIND], "strategy") == 0;
        if (is_strategy)
            compare_strategy(&line);
        else
            compare_request(&line);
        strategies += is_strategy;
        requests += !is_strategy;
    }
    (void)fclose(file);
    ck_assert_uint_ge(strategies, 200);
    ck_assert_uint_ge(requests, 600);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("bank_measured");
    TCase *tests = tcase_create("measured");
    tcase_add_test(tests, model_equals_the_counters);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        printf("waived: %s is not there: tests/gpu/check_banks.py writes it on a machine with a GPU\n", path);
        return 77;
    }
    (void)fclose(file);
    return tpd_harness_main(suite());
}
