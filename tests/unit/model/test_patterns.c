/* test_patterns.c -- strides, records, reductions and bare tiles; what is advised is tried; a tile's map is its kernel's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "transposed/patterns.h"

static const uint32_t itemsizes[5] = {1, 2, 4, 8, 16};

static uint32_t gcd(uint32_t a, uint32_t b) {
    return b == 0 ? a : gcd(b, a % b);
}

static struct tpd_bank_result shared_of(const struct tpd_request *request, uint32_t bank_bytes) {
    struct tpd_bank_result result;
    struct tpd_error error;
    ck_assert_ok(tpd_banks_shared(request, bank_bytes, &result, &error), error);
    return result;
}

/* A stride of words meets gcd(stride, 32) lanes in a bank; every lane another word. */
START_TEST(strides) {
    for (uint32_t stride = 1; stride <= 64; stride++) {
        struct tpd_line line = {.width = 4, .step_bytes = 4 * stride, .group = 1};
        struct tpd_request request = tpd_line_request(&line, TPD_OP_LOAD);
        ck_assert_uint_eq(shared_of(&request, 4).degree, gcd(stride, 32));
        line.width = 8; /* two phases of half-warps, each of 16 lanes and 16 pairs of banks */
        line.step_bytes = 8 * stride;
        request = tpd_line_request(&line, TPD_OP_STORE);
        ck_assert_uint_eq(shared_of(&request, 4).wavefronts, 2 * gcd(stride, 16));
    }
}
END_TEST

START_TEST(groups_are_multicast) {
    for (uint32_t group = 1; group <= 32; group++) {
        struct tpd_line line = {.width = 4, .offset_bytes = 64, .step_bytes = 128, .group = group};
        struct tpd_request request = tpd_line_request(&line, TPD_OP_LOAD);
        ck_assert_uint_eq(shared_of(&request, 4).wavefronts, (31 / group) + 1);
        ck_assert_uint_eq(request.address[0], 64);
        ck_assert_uint_eq(request.address[31], 64 + 31 / group * 128);
    }
}
END_TEST

START_TEST(records) {
    /* Three floats a record are free, four meet 4 ways, eight 8 ways; a padding float frees them. */
    static const uint32_t cases[][2] = {{12, 1}, {16, 4}, {20, 1}, {32, 8}, {36, 1}, {128, 32}, {8, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_line line = {.width = 4, .offset_bytes = 4, .step_bytes = cases[i][0], .group = 1};
        struct tpd_request request = tpd_line_request(&line, TPD_OP_LOAD);
        ck_assert_uint_eq(shared_of(&request, 4).degree, cases[i][1]);
    }
}
END_TEST

START_TEST(reductions) {
    static const uint32_t interleaved[] = {2, 4, 8, 8, 8, 4, 2, 1}; /* of 256 threads: 2s-way until lanes run out */
    uint32_t stride = 1;
    for (size_t i = 0; i < sizeof interleaved / sizeof *interleaved; i++, stride *= 2) {
        struct tpd_request request = tpd_reduction_request(256, stride, true, 4);
        ck_assert_uint_eq(shared_of(&request, 4).wavefronts, interleaved[i]);
        ck_assert_int_eq(__builtin_popcount(request.active), stride <= 4 ? 32 : 128 / (int)stride);
        request = tpd_reduction_request(256, stride, false, 4);
        ck_assert_uint_eq(shared_of(&request, 4).wavefronts, 1);
        ck_assert_int_eq(__builtin_popcount(request.active), stride >= 32 ? 32 : (int)stride);
    }
}
END_TEST

static void sum(const struct tpd_bare_tile *tile, struct tpd_shared_sum shared[2]) {
    struct tpd_global_sum global[2];
    struct tpd_error error;
    ck_assert_ok(tpd_bare_tile_sums(tile, 4, shared, global, &error), error);
    for (int op = 0; op < 2; op++) {
        ck_assert_uint_eq(shared[op].requests, (tile->planes * tile->rows * tile->cols + 31) / 32);
        ck_assert_uint_eq(global[op].requests, shared[op].requests);
        ck_assert_uint_ge(global[op].sectors, global[op].ideal);
    }
}

/* A bare tile and a strategy that lays it out so are one. */
START_TEST(bare_tiles_are_the_strategies) {
    for (uint32_t rows = 16; rows <= 64; rows *= 2)
        for (uint32_t cols = 16; cols <= 64; cols *= 2)
            for (int i = 0; i < 5; i++)
                for (int id = TPD_STRATEGY_NAIVE; id <= TPD_STRATEGY_PADDED; id++) {
                    struct tpd_matrix matrix = {rows, cols, 1, itemsizes[i], TPD_DTYPE_OPAQUE};
                    struct tpd_shared_sum shared[2];
                    struct tpd_figures figures;
                    struct tpd_plan plan;
                    struct tpd_error error;
                    ck_assert_ok(tpd_strategy_plan((enum tpd_strategy_id)id, &matrix, (struct tpd_tile){rows, cols}, UINT64_MAX,
                                                   &plan, &error),
                                 error);
                    ck_assert_ok(tpd_banks_of_plan(&plan, &figures, &error), error);
                    struct tpd_bare_tile tile = {1, rows, cols, plan.pitch, 0, itemsizes[i]};
                    sum(&tile, shared);
                    for (int op = 0; op < 2; op++) {
                        ck_assert_uint_eq(shared[op].wavefronts, figures.shared[op].wavefronts);
                        ck_assert_uint_eq(shared[op].degree, figures.shared[op].degree);
                    }
                }
}
END_TEST

/* The rule by item size: 4 x odd bytes up to 4, one more item above; and every lesser pitch has a conflict. */
START_TEST(least_pitches) {
    static const uint32_t least[5] = {36, 34, 33, 33, 33};
    for (int i = 0; i < 5; i++) {
        struct tpd_bare_tile tile = {1, 32, 32, 32, 0, itemsizes[i]};
        struct tpd_shared_sum shared[2];
        ck_assert(tpd_bare_tile_pad(&tile, 4));
        ck_assert_uint_eq(tile.pitch, least[i]);
        for (uint32_t pitch = 32; pitch < 2 * 32 + 8; pitch++) {
            struct tpd_bare_tile tried = {1, 32, 32, pitch, 0, itemsizes[i]};
            uint32_t bytes = pitch * itemsizes[i];
            bool clean = itemsizes[i] <= 4 ? bytes % 8 == 4 : pitch % 2 == 1;
            sum(&tried, shared);
            ck_assert_msg((shared[0].excess == 0 && shared[1].excess == 0) == clean, "%u bytes, pitch %u", itemsizes[i], pitch);
        }
    }
    struct tpd_bare_tile narrow = {1, 16, 16, 16, 0, 4}, before = narrow;
    ck_assert(!tpd_bare_tile_pad(&narrow, 4));
    ck_assert_int_eq(memcmp(&narrow, &before, sizeof narrow), 0);
}
END_TEST

START_TEST(planes_have_a_pitch_too) {
    struct tpd_bare_tile tile = {4, 16, 32, 32, 512, 4};
    struct tpd_shared_sum shared[2];
    sum(&tile, shared);
    ck_assert_uint_eq(shared[TPD_OP_STORE].excess, 0);
    ck_assert_uint_eq(shared[TPD_OP_LOAD].degree, 32);
    ck_assert(tpd_bare_tile_pad(&tile, 4));
    sum(&tile, shared);
    ck_assert_uint_eq(shared[TPD_OP_LOAD].excess + shared[TPD_OP_STORE].excess, 0);
    /* The order of a load: planes first, then rows, then columns. */
    struct tpd_request request = tpd_bare_tile_request(&tile, TPD_OP_LOAD, 0);
    ck_assert_uint_eq(request.address[1], tile.plane_pitch * 4);
    ck_assert_uint_eq(request.address[4], tile.pitch * 4);
    request = tpd_bare_tile_request(&tile, TPD_OP_LOAD, 2);
    ck_assert_uint_eq(request.address[0], 4);
}
END_TEST

static uint32_t number_behind(const char *text, const char *words) {
    const char *at = strstr(text, words);
    ck_assert_msg(at != NULL, "no '%s' in: %s", words, text);
    return (uint32_t)strtoul(at + strlen(words), NULL, 10);
}

/* Every pitch that is advised is taken, and has to keep what was said. */
START_TEST(advice_is_true) {
    static const uint32_t sides[] = {8, 16, 32, 40, 96};
    for (int r = 0; r < 5; r++)
        for (int c = 0; c < 5; c++)
            for (int i = 0; i < 5; i++) {
                uint32_t rows = sides[r], cols = sides[c];
                struct tpd_bare_tile tile = {1, rows, cols, cols, 0, itemsizes[i]};
                struct tpd_shared_sum shared[2];
                char text[TPD_ADVICE_BYTES];
                sum(&tile, shared);
                tpd_advise_tile(&tile, 4, shared, text);
                ck_assert_uint_lt(strlen(text), sizeof text - 1);
                if (shared[0].excess == 0 && shared[1].excess == 0) {
                    ck_assert_ptr_nonnull(strstr(text, "free of conflicts on both sides"));
                    ck_assert_ptr_null(strstr(text, "no pitch"));
                    continue;
                }
                if (strstr(text, "no pitch") != NULL) {
                    for (tile.pitch = cols; tile.pitch < cols + 128 / itemsizes[i]; tile.pitch++) {
                        sum(&tile, shared);
                        ck_assert_uint_gt(shared[0].excess + shared[1].excess, 0);
                    }
                    if (strstr(text, "take a tile of ") == NULL)
                        continue;
                    tile.rows = number_behind(text, "take a tile of ");
                    tile.cols = (rows + 31) / 32 * 32 == tile.rows ? (cols + 31) / 32 * 32 : 0;
                }
                tile.pitch = number_behind(text, "a pitch of ");
                sum(&tile, shared);
                ck_assert_msg(shared[0].excess + shared[1].excess == 0, "%ux%u of %u bytes: %s", rows, cols, itemsizes[i], text);
            }
}
END_TEST

START_TEST(advice_on_strategies) {
    static const char *const words[TPD_STRATEGY_COUNT] = {
        [TPD_STRATEGY_NAIVE] = "a pitch of 33 items (132 bytes) is the least",
        [TPD_STRATEGY_PADDED] = "free of conflicts on both sides, and both global sides",
        [TPD_STRATEGY_SWAPPED] = "the global store is strided: 32 sectors a request where 4 would do; read columns",
        [TPD_STRATEGY_ROTATED] = "free of conflicts on both sides",
        [TPD_STRATEGY_SWIZZLED] = "free of conflicts on both sides",
        [TPD_STRATEGY_DIRECT] = "the global load is strided: 32 sectors a request where 4 would do; stage a tile",
    };
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++) {
        struct tpd_matrix matrix =
            tpd_strategy_fit((enum tpd_strategy_id)id, (struct tpd_matrix){256, 256, 1, 4, TPD_DTYPE_OPAQUE});
        struct tpd_figures figures;
        struct tpd_plan plan;
        struct tpd_error error;
        char text[TPD_ADVICE_BYTES];
        ck_assert_ok(tpd_strategy_plan((enum tpd_strategy_id)id, &matrix, (struct tpd_tile){0, 0}, UINT64_MAX, &plan, &error),
                     error);
        ck_assert_ok(tpd_banks_of_plan(&plan, &figures, &error), error);
        tpd_advise_plan(&figures, 4, text);
        ck_assert_msg(words[id] == NULL || strstr(text, words[id]) != NULL, "%s: %s", plan.shared_bytes ? "tiled" : "direct",
                      text);
    }
}
END_TEST

START_TEST(advice_on_lines) {
    char text[TPD_ADVICE_BYTES];
    tpd_advise_line(&(struct tpd_line){4, 0, 128, 1}, 4, text);
    ck_assert_str_eq(text, "32-way at worst; the next step that is free of conflicts has 132 bytes");
    tpd_advise_line(&(struct tpd_line){1, 0, 33, 1}, 4, text); /* free where it begins, not elsewhere */
    ck_assert_str_eq(text, "2-way at worst; the next step that is free of conflicts has 36 bytes");
    tpd_advise_line(&(struct tpd_line){4, 0, 0, 1}, 4, text);
    ck_assert_ptr_nonnull(strstr(text, "free of conflicts"));
}
END_TEST

/* A map says where the kernel's own stores and loads go: item by item, for every strategy, size and tile. */
START_TEST(maps_are_the_kernels) {
    static uint32_t place[TPD_TILE_MOST * TPD_TILE_MOST];
    static const struct tpd_tile tiles[] = {{32, 32}, {16, 64}, {128, 16}, {128, 128}};
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        for (int i = 0; i < 5; i++)
            for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++) {
                struct tpd_matrix matrix = {128, 128, 1, itemsizes[i], TPD_DTYPE_OPAQUE};
                struct tpd_tile_map map = {.place = place};
                struct tpd_plan plan;
                struct tpd_error error;
                bool tiled = tpd_strategy_at((enum tpd_strategy_id)id)->tiled;
                if (tpd_strategy_at((enum tpd_strategy_id)id)->own_tiles)
                    continue; /* below */
                ck_assert_ok(tpd_strategy_plan((enum tpd_strategy_id)id, &matrix, tiled ? tiles[t] : (struct tpd_tile){0, 0},
                                               UINT64_MAX, &plan, &error),
                             error);
                ck_assert_ok(tpd_tile_map(&plan, 3, &map, &error), error);
                ck_assert_uint_ne(map.global[TPD_OP_LOAD].active, 0);
                if (!tiled)
                    continue;
                uint32_t items = tiles[t].rows * tiles[t].cols, item = itemsizes[i];
                for (uint32_t n = 0; n < items; n++) {
                    ck_assert_uint_eq(place[n] % item, 0);
                    ck_assert_uint_lt(place[n], plan.shared_bytes);
                    if (id == TPD_STRATEGY_NAIVE || id == TPD_STRATEGY_PADDED || id == TPD_STRATEGY_SWAPPED)
                        ck_assert_uint_eq(place[n], (n / tiles[t].cols * plan.pitch + n % tiles[t].cols) * item);
                    if (n % tiles[t].cols != 0 && id != TPD_STRATEGY_ROTATED && id != TPD_STRATEGY_SWIZZLED)
                        ck_assert_uint_gt(place[n], place[n - 1]);
                }
                /* The fourth store takes the items that the fourth global load brought. */
                for (uint32_t lane = 0; lane < TPD_WARP && item * plan.words == plan.word_bytes; lane++) {
                    uint64_t index = map.global[TPD_OP_LOAD].address[lane] / item, row = index / 128, col = index % 128;
                    ck_assert_uint_eq(map.shared[TPD_OP_STORE].address[lane], place[row * tiles[t].cols + col]);
                }
                ck_assert_uint_eq(map.shared_requests, items / TPD_WARP);
            }
}
END_TEST

/* Tiles of a strategy's own lie transposed and move several items at once: each item has a place, and no two have the same. */
START_TEST(maps_of_own_tiles_are_one_to_one) {
    enum { SIDE = 512 };
    static const uint64_t shapes[][2] = {{SIDE, SIDE}, {SIDE, 16}, {16, SIDE}};
    uint32_t *place = malloc(SIDE * SIDE * sizeof *place);
    unsigned char *taken = malloc(TPD_SHARED_OWN_MOST);
    ck_assert(place != NULL && taken != NULL);
    for (int id = 0; id < TPD_STRATEGY_COUNT; id++)
        for (int i = 0; i < 5; i++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                struct tpd_matrix matrix = {shapes[s][0], shapes[s][1], 1, itemsizes[i], TPD_DTYPE_OPAQUE};
                matrix = tpd_strategy_fit((enum tpd_strategy_id)id, matrix);
                struct tpd_tile_map map = {.place = place};
                struct tpd_plan plan;
                struct tpd_error error;
                if (!tpd_strategy_at((enum tpd_strategy_id)id)->own_tiles)
                    continue;
                ck_assert_ok(
                    tpd_strategy_plan((enum tpd_strategy_id)id, &matrix, (struct tpd_tile){0, 0}, UINT64_MAX, &plan, &error),
                    error);
                if (plan.tile.rows > matrix.rows || plan.tile.cols > matrix.cols)
                    continue; /* no whole tile */
                ck_assert_ok(tpd_tile_map(&plan, 0, &map, &error), error);
                memset(taken, 0, TPD_SHARED_OWN_MOST);
                for (uint32_t n = 0; n < plan.tile.rows * plan.tile.cols; n++) {
                    ck_assert_uint_eq(place[n] % itemsizes[i], 0);
                    ck_assert_uint_lt(place[n], plan.shared_bytes);
                    ck_assert_uint_eq(taken[place[n]], 0);
                    taken[place[n]] = 1;
                }
            }
    free(place);
    free(taken);
}
END_TEST

START_TEST(no_memory_is_said) {
    static uint32_t place[32 * 32];
    struct tpd_matrix matrix = {64, 64, 1, 4, TPD_DTYPE_OPAQUE};
    struct tpd_tile_map map = {.place = place};
    struct tpd_plan plan;
    struct tpd_error error;
    ck_assert_ok(tpd_strategy_plan(TPD_STRATEGY_PADDED, &matrix, (struct tpd_tile){0, 0}, UINT64_MAX, &plan, &error), error);
    int failed = 1;
    for (uint64_t nth = 1; failed; nth++) {
        tpd_heap_begin(nth);
        enum tpd_status status = tpd_tile_map(&plan, 0, &map, &error);
        failed = tpd_heap_end();
        ck_assert_int_eq(status, failed ? TPD_NO_MEMORY : TPD_OK);
        ck_assert_uint_le(nth, 20);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("patterns");
    TCase *tests = tcase_create("patterns");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, strides);
    tcase_add_test(tests, groups_are_multicast);
    tcase_add_test(tests, records);
    tcase_add_test(tests, reductions);
    tcase_add_test(tests, bare_tiles_are_the_strategies);
    tcase_add_test(tests, least_pitches);
    tcase_add_test(tests, planes_have_a_pitch_too);
    tcase_add_test(tests, advice_is_true);
    tcase_add_test(tests, advice_on_strategies);
    tcase_add_test(tests, advice_on_lines);
    tcase_add_test(tests, maps_are_the_kernels);
    tcase_add_test(tests, maps_of_own_tiles_are_one_to_one);
    tcase_add_test(tests, no_memory_is_said);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
