/* test_strategies.c -- names, tiles, the rule behind `auto`, and launches described without a device. */
#include <string.h>

#include "harness.h"
#include "kernels/strategies/geometry.h"

static const uint64_t shared_most = 232448;
static const struct tpd_tile default_tile = {0, 0};

START_TEST(names_are_found) {
    struct tpd_error error;
    enum tpd_strategy_id id;
    for (int i = 0; i < TPD_STRATEGY_COUNT; i++) {
        const struct tpd_strategy *strategy = tpd_strategy_at((enum tpd_strategy_id)i);
        ck_assert_ok(tpd_strategy_find(strategy->name, &id, &error), error);
        ck_assert_int_eq(id, i);
        ck_assert_uint_gt(strlen(strategy->summary), 20);
    }
    ck_assert_ok(tpd_strategy_find("auto", &id, &error), error);
    ck_assert_int_eq(id, TPD_STRATEGY_AUTO);
    static const char *const unknown[] = {"", "Naive", "naive ", "padde", "paddedd", "%s%n"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        ck_assert_int_eq(tpd_strategy_find(unknown[i], &id, &error), TPD_UNKNOWN_STRATEGY);
        ck_assert_ptr_nonnull(strstr(error.text, unknown[i]));
        ck_assert_ptr_nonnull(
            strstr(error.text, "auto naive padded swapped rotated swizzled direct vector shifted narrow packed"));
    }
    ck_assert_int_eq(tpd_strategy_find("nothing", &id, NULL), TPD_UNKNOWN_STRATEGY);
}
END_TEST

START_TEST(tiles_are_read) {
    static const struct {
        const char *text;
        enum tpd_status status;
        uint32_t rows, cols;
        const char *says;
    } cases[] = {
        {"auto", TPD_OK, 0, 0, NULL},
        {"32x32", TPD_OK, 32, 32, NULL},
        {"16x128", TPD_OK, 16, 128, NULL},
        {"128x16", TPD_OK, 128, 16, NULL},
        {"8x32", TPD_UNSUPPORTED, 0, 0, "rows 8 is below the least, 16"},
        {"32x256", TPD_UNSUPPORTED, 0, 0, "cols 256 is past the most, 128"},
        {"48x32", TPD_UNSUPPORTED, 0, 0, "rows 48 is no power of two"},
        {"0x0", TPD_UNSUPPORTED, 0, 0, "rows 0"},
        {"999999999x32", TPD_UNSUPPORTED, 0, 0, "rows 999999999"},
        {"4294967328x32", TPD_BAD_PARAMETER, 0, 0, "4294967328x32"}, /* 2^32 + 32 */
        {"", TPD_BAD_PARAMETER, 0, 0, "ROWSxCOLS"},
        {"32", TPD_BAD_PARAMETER, 0, 0, "'32'"},
        {"32x", TPD_BAD_PARAMETER, 0, 0, "'32x'"},
        {"x32", TPD_BAD_PARAMETER, 0, 0, "'x32'"},
        {"32X32", TPD_BAD_PARAMETER, 0, 0, "'32X32'"},
        {"32x32 ", TPD_BAD_PARAMETER, 0, 0, "'32x32 '"},
        {"32x32x32", TPD_BAD_PARAMETER, 0, 0, "'32x32x32'"},
        {"-32x32", TPD_BAD_PARAMETER, 0, 0, "'-32x32'"},
        {"+32x32", TPD_BAD_PARAMETER, 0, 0, "'+32x32'"},
        {"AUTO", TPD_BAD_PARAMETER, 0, 0, "'AUTO'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_tile tile = {77, 77};
        struct tpd_error error = {.text = ""};
        ck_assert_msg(tpd_tile_parse(cases[i].text, &tile, &error) == cases[i].status, "'%s': %s", cases[i].text, error.text);
        if (cases[i].status == TPD_OK) {
            ck_assert_uint_eq(tile.rows, cases[i].rows);
            ck_assert_uint_eq(tile.cols, cases[i].cols);
        } else {
            ck_assert_msg(strstr(error.text, cases[i].says) != NULL, "'%s': %s", cases[i].text, error.text);
            ck_assert_uint_eq(tile.rows, 77);
        }
    }
}
END_TEST

static struct tpd_matrix shape(uint64_t rows, uint64_t cols, uint64_t batch, uint32_t itemsize) {
    struct tpd_matrix matrix = {rows, cols, batch, itemsize, TPD_DTYPE_OPAQUE};
    return matrix;
}

START_TEST(auto_follows_its_rule) {
    static const struct {
        uint64_t rows, cols;
        uint32_t itemsize;
        enum tpd_strategy_id id;
    } cases[] = {
        {100, 100, 1, TPD_STRATEGY_PADDED},    {112, 96, 1, TPD_STRATEGY_VECTOR},    {112, 100, 1, TPD_STRATEGY_PADDED},
        {300, 256, 1, TPD_STRATEGY_PADDED},    {999, 999, 1, TPD_STRATEGY_PADDED},   {64, 65, 4, TPD_STRATEGY_SHIFTED},
        {1300, 1301, 1, TPD_STRATEGY_SHIFTED}, {65, 24300, 1, TPD_STRATEGY_SHIFTED}, {65, 24100, 1, TPD_STRATEGY_PADDED},
        {33, 12001, 4, TPD_STRATEGY_SHIFTED},  {33, 11001, 4, TPD_STRATEGY_PADDED},  {300, 255, 2, TPD_STRATEGY_SHIFTED},
        {100, 100, 2, TPD_STRATEGY_PADDED},    {104, 96, 2, TPD_STRATEGY_VECTOR},    {100, 100, 4, TPD_STRATEGY_VECTOR},
        {101, 100, 4, TPD_STRATEGY_SHIFTED},   {63, 65, 4, TPD_STRATEGY_PADDED},     {100, 100, 8, TPD_STRATEGY_VECTOR},
        {101, 103, 16, TPD_STRATEGY_SHIFTED},  {15, 100, 4, TPD_STRATEGY_DIRECT},    {100, 15, 4, TPD_STRATEGY_DIRECT},
        {16, 16, 4, TPD_STRATEGY_VECTOR},      {100, 100, 3, TPD_STRATEGY_DIRECT},   {100, 100, 12, TPD_STRATEGY_DIRECT},
        {100, 100, 32, TPD_STRATEGY_DIRECT},   {0, 0, 4, TPD_STRATEGY_DIRECT},       {3, 256, 4, TPD_STRATEGY_NARROW},
        {3, 255, 4, TPD_STRATEGY_DIRECT},      {1024, 2, 1, TPD_STRATEGY_NARROW},    {1, 9999, 4, TPD_STRATEGY_DIRECT},
        {31, 999, 4, TPD_STRATEGY_NARROW},     {32, 999, 4, TPD_STRATEGY_PADDED},    {16, 1000, 4, TPD_STRATEGY_VECTOR},
        {17, 1000, 4, TPD_STRATEGY_NARROW},    {999, 16, 4, TPD_STRATEGY_NARROW},    {20, 1000, 4, TPD_STRATEGY_VECTOR},
        {3, 999, 12, TPD_STRATEGY_NARROW},     {999, 31, 3, TPD_STRATEGY_NARROW},    {3, 999, 65, TPD_STRATEGY_DIRECT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_matrix matrix = shape(cases[i].rows, cases[i].cols, 1, cases[i].itemsize);
        ck_assert_int_eq(tpd_strategy_choose(&matrix), cases[i].id);
        struct tpd_plan plan;
        struct tpd_error error;
        ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_AUTO, &matrix, default_tile, shared_most, &plan, &error), error);
        ck_assert_int_eq(plan.strategy, cases[i].id);
        /* Who names a tile gets one. */
        enum tpd_strategy_id tiled =
            cases[i].id == TPD_STRATEGY_DIRECT || cases[i].id == TPD_STRATEGY_NARROW ? cases[i].id : TPD_STRATEGY_PADDED;
        ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_AUTO, &matrix, (struct tpd_tile){32, 32}, shared_most, &plan, &error), error);
        ck_assert_int_eq(plan.strategy, tiled);
    }
}
END_TEST

START_TEST(plans_are_complete) {
    struct tpd_matrix matrix = shape(100, 65, 3, 4);
    struct tpd_plan plan;
    struct tpd_error error;
    ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_PADDED, &matrix, default_tile, shared_most, &plan, &error), error);
    ck_assert(plan.tile.rows == 32 && plan.tile.cols == 32 && plan.tile_is_default);
    ck_assert(plan.word_bytes == 4 && plan.words == 1 && plan.pitch == 33);
    ck_assert_uint_eq(plan.shared_bytes, 32 * 33 * 4);
    ck_assert_uint_eq(plan.blocks, 4 * 3 * 3);
    ck_assert_int_eq(memcmp(&plan.matrix, &matrix, sizeof matrix), 0);

    ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_SWIZZLED, &matrix, (struct tpd_tile){64, 16}, shared_most, &plan, &error), error);
    ck_assert(!plan.tile_is_default && plan.pitch == 16);
    ck_assert_uint_eq(plan.blocks, 2 * 5 * 3);
    struct tpd_geometry grid = tpd_geometry_of(&plan);
    ck_assert(grid.tiles_down == 2 && grid.tiles_across == 5 && grid.tile_rows_log2 == 6 && grid.tile_cols_log2 == 4);

    matrix = shape(100, 65, 3, 12);
    ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_DIRECT, &matrix, (struct tpd_tile){64, 16}, 0, &plan, &error), error);
    ck_assert(plan.word_bytes == 4 && plan.words == 3 && plan.tile.rows == 0 && plan.shared_bytes == 0 && plan.pitch == 0);
    ck_assert_uint_eq(plan.blocks, (100 * 65 * 3 * 3 + 255) / 256);

    static const uint32_t words[][2] = {{1, 1}, {3, 1}, {6, 2}, {24, 8}, {48, 16}, {4095, 1}, {4096, 16}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        matrix = shape(2, 2, 1, words[i][0]);
        ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_DIRECT, &matrix, default_tile, 0, &plan, &error), error);
        ck_assert_uint_eq(plan.word_bytes, words[i][1]);
        ck_assert_uint_eq(plan.words * plan.word_bytes, words[i][0]);
    }
    static const uint32_t pitches[5][2] = {{1, 36}, {2, 34}, {4, 33}, {8, 33}, {16, 33}};
    for (int i = 0; i < 5; i++) {
        matrix = shape(2, 2, 1, pitches[i][0]);
        ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_PADDED, &matrix, default_tile, shared_most, &plan, &error), error);
        ck_assert_uint_eq(plan.pitch, pitches[i][1]);
    }
}
END_TEST

START_TEST(no_items_no_blocks) {
    static const uint64_t empty[][3] = {{0, 5, 1}, {5, 0, 1}, {5, 5, 0}, {0, UINT64_MAX, UINT64_MAX}};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        for (int id = 0; id <= TPD_STRATEGY_AUTO; id++) {
            struct tpd_matrix matrix = shape(empty[i][0], empty[i][1], empty[i][2], 4);
            struct tpd_plan plan;
            struct tpd_error error;
            ck_assert_ok(tpd_strategy_plan((enum tpd_strategy_id)id, &matrix, default_tile, shared_most, &plan, &error), error);
            ck_assert_uint_eq(plan.blocks, 0);
        }
}
END_TEST

START_TEST(what_cannot_be_done_is_refused) {
    struct tpd_plan plan;
    struct tpd_error error;
    struct tpd_matrix matrix = shape(100, 100, 1, 12);
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++) {
        if (tpd_strategy_at((enum tpd_strategy_id)id)->any_itemsize)
            continue;
        ck_assert_int_eq(tpd_strategy_plan((enum tpd_strategy_id)id, &matrix, default_tile, shared_most, &plan, &error),
                         TPD_UNSUPPORTED);
        ck_assert_ptr_nonnull(strstr(error.text, "not of 12"));
    }
    matrix = shape(UINT64_C(1) << 32, UINT64_C(1) << 31, 1, 1); /* 2^63 */
    for (int id = 0; id <= TPD_STRATEGY_AUTO; id++)
        ck_assert_int_eq(tpd_strategy_plan((enum tpd_strategy_id)id, &matrix, default_tile, shared_most, &plan, &error),
                         TPD_SIZE_OVERFLOW);
    matrix = shape(1, INT64_MAX, 1, 1); /* one less: legal, and counted right */
    ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_NAIVE, &matrix, default_tile, shared_most, &plan, &error), error);
    ck_assert_uint_eq(plan.blocks, UINT64_C(1) << 58);
    ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_AUTO, &matrix, default_tile, shared_most, &plan, &error), error);
    ck_assert_uint_eq(plan.blocks, UINT64_C(1) << 55);
    matrix = shape(1, 1, 1, 0);
    ck_assert_int_eq(tpd_strategy_plan(TPD_STRATEGY_AUTO, &matrix, default_tile, shared_most, &plan, &error), TPD_UNSUPPORTED);

    matrix = shape(1000, 1000, 1, 16);
    ck_assert_int_eq(tpd_strategy_plan(TPD_STRATEGY_NAIVE, &matrix, (struct tpd_tile){128, 128}, shared_most, &plan, &error),
                     TPD_UNSUPPORTED);
    ck_assert_uint_eq(error.limit, shared_most);
    ck_assert_uint_eq(error.actual, 128 * 128 * 16);
    ck_assert_ptr_nonnull(strstr(error.text, "262144"));
    ck_assert_ptr_nonnull(strstr(error.text, "232448"));
    /* The very limit is allowed. */
    ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_NAIVE, &matrix, (struct tpd_tile){128, 128}, 262144, &plan, &error), error);
    static const struct tpd_tile wrong[] = {{0, 32}, {32, 0}, {8, 32}, {32, 256}, {33, 32}, {32, 0xffffffffu}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(tpd_strategy_plan(TPD_STRATEGY_PADDED, &matrix, wrong[i], shared_most, &plan, NULL), TPD_UNSUPPORTED);
}
END_TEST

/* `vector` names what it was given; a side of one vector, and a matrix without items, are whole vectors. */
START_TEST(vector_takes_whole_vectors) {
    static const struct {
        uint64_t rows, cols;
        uint32_t itemsize;
        bool takes;
    } cases[] = {
        {16, 16, 1, true},   {8, 8, 2, true},   {4, 4, 4, true},   {2, 2, 8, true},   {1, 1, 16, true},
        {17, 3, 16, true},   {16, 8, 1, false}, {8, 16, 1, false}, {7, 16, 2, false}, {8192, 6, 4, false},
        {6, 8192, 4, false}, {3, 2, 8, false},  {0, 16, 4, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_matrix matrix = shape(cases[i].rows, cases[i].cols, 3, cases[i].itemsize);
        struct tpd_plan plan;
        struct tpd_error error = {.text = ""};
        enum tpd_status status = tpd_strategy_plan(TPD_STRATEGY_VECTOR, &matrix, default_tile, shared_most, &plan, &error);
        ck_assert_msg(status == (cases[i].takes ? TPD_OK : TPD_UNSUPPORTED), "case %zu: %s", i, error.text);
        if (!cases[i].takes)
            ck_assert_msg(strstr(error.text, "whole 16 bytes") != NULL && strstr(error.text, "take auto") != NULL, "%s",
                          error.text);
    }
}
END_TEST

/* Its own tile, whatever the knob says, by what the matrix would leave empty. */
START_TEST(vector_has_a_shape_for_each) {
    static const struct {
        uint64_t rows, cols, batch;
        uint32_t itemsize;
        struct tpd_tile tile;
        uint64_t blocks;
    } cases[] = {
        {8192, 8192, 1, 4, {64, 64}, 16384},    {8192, 8192, 1, 1, {256, 256}, 1024},  {1024, 1024, 1, 4, {32, 32}, 512},
        {200, 100, 1000, 4, {32, 32}, 14000},   {4000000, 16, 1, 4, {256, 16}, 15625}, {16, 4000000, 1, 4, {16, 256}, 15625},
        {1000000, 256, 1, 4, {64, 64}, 62500},  {64, 1000000, 1, 1, {64, 64}, 7813},   {16, 4000000, 1, 1, {16, 1024}, 3907},
        {10000, 10000, 1, 8, {128, 32}, 24727}, {32, 32, 10001, 4, {32, 32}, 5001},    {4, 4, 3, 4, {32, 32}, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_matrix matrix = shape(cases[i].rows, cases[i].cols, cases[i].batch, cases[i].itemsize);
        struct tpd_plan plan;
        struct tpd_error error;
        ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_VECTOR, &matrix, (struct tpd_tile){16, 16}, shared_most, &plan, &error),
                     error);
        ck_assert_msg(plan.tile.rows == cases[i].tile.rows && plan.tile.cols == cases[i].tile.cols &&
                          plan.blocks == cases[i].blocks,
                      "case %zu: tile %ux%u, %llu blocks", i, plan.tile.rows, plan.tile.cols, (unsigned long long)plan.blocks);
        ck_assert(!plan.tile_is_default && plan.word_bytes == cases[i].itemsize && plan.threads % 32 == 0);
    }
}
END_TEST

/* Whatever the order of blocks, each tile of each matrix of a batch has one. */
START_TEST(every_order_meets_every_tile_once) {
    static const struct {
        bool goes_down, from_right;
        uint32_t band;
    } orders[] = {{false, false, 0}, {true, false, 0}, {true, true, 0}, {false, false, 1}, {true, true, 4}, {false, false, 9}};
    enum { DOWN = 7, ACROSS = 9, BATCH = 3 };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct tpd_geometry grid = {.tiles_down = DOWN, .tiles_across = ACROSS};
        bool met[BATCH][DOWN][ACROSS] = {{{false}}};
        grid.goes_down = orders[i].goes_down;
        grid.from_right = orders[i].from_right;
        grid.band = orders[i].band;
        for (uint64_t block = 0; block < DOWN * ACROSS * BATCH; block++) {
            uint64_t down, across, matrix = tpd_tile_of(grid, block, &down, &across);
            ck_assert(matrix < BATCH && down < DOWN && across < ACROSS && !met[matrix][down][across]);
            met[matrix][down][across] = true;
            ck_assert(orders[i].band == 0 || across / orders[i].band == block % (DOWN * ACROSS) / (DOWN * orders[i].band));
        }
    }
}
END_TEST

START_TEST(division_is_exact) {
    uint64_t seed = 5;
    for (int round = 0; round < 10000; round++) {
        uint64_t number = tpd_random(&seed) >> tpd_random(&seed) % 64, by = (tpd_random(&seed) >> tpd_random(&seed) % 64) | 1,
                 rest;
        uint64_t quotient = tpd_divide(number, by, &rest);
        ck_assert_uint_eq(quotient, number / by);
        ck_assert_uint_eq(rest, number % by);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("strategies");
    TCase *tests = tcase_create("strategies");
    tcase_add_test(tests, names_are_found);
    tcase_add_test(tests, tiles_are_read);
    tcase_add_test(tests, auto_follows_its_rule);
    tcase_add_test(tests, plans_are_complete);
    tcase_add_test(tests, no_items_no_blocks);
    tcase_add_test(tests, what_cannot_be_done_is_refused);
    tcase_add_test(tests, vector_has_a_shape_for_each);
    tcase_add_test(tests, vector_takes_whole_vectors);
    tcase_add_test(tests, division_is_exact);
    tcase_add_test(tests, every_order_meets_every_tile_once);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return tpd_harness_main(suite());
}
