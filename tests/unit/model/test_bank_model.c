/* test_bank_model.c -- the model against what was measured on an H200, request by request. */
#include <string.h>

#include "harness.h"
#include "transposed/banks.h"

static const uint32_t all_lanes = 0xffffffffu;

/* Lane n asks for base + n * stride bytes. */
static struct tpd_request strided(enum tpd_op op, uint32_t width, uint64_t base, uint64_t stride) {
    struct tpd_request request = {.op = op, .width = width, .active = all_lanes};
    for (uint32_t lane = 0; lane < TPD_WARP; lane++)
        request.address[lane] = base + lane * stride;
    return request;
}

static struct tpd_bank_result shared_of(const struct tpd_request *request, uint32_t bank_bytes) {
    struct tpd_bank_result result;
    struct tpd_error error;
    memset(&result, 0xa5, sizeof result);
    ck_assert_ok(tpd_banks_shared(request, bank_bytes, &result, &error), error);
    ck_assert_uint_eq(result.excess, result.wavefronts - result.ideal);
    return result;
}

static const uint32_t widths[5] = {1, 2, 4, 8, 16};

START_TEST(rows_are_ideal) {
    static const uint32_t ideal[5] = {1, 1, 1, 2, 4};
    for (int i = 0; i < 5; i++)
        for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++) {
            struct tpd_request request = strided((enum tpd_op)op, widths[i], 4096, widths[i]);
            struct tpd_bank_result result = shared_of(&request, 4);
            ck_assert_uint_eq(result.phases, ideal[i]);
            ck_assert_uint_eq(result.wavefronts, ideal[i]);
            ck_assert_uint_eq(result.ideal, ideal[i]);
            ck_assert_uint_eq(result.degree, 1);
            ck_assert_uint_eq(result.lanes, 0);
        }
}
END_TEST

START_TEST(columns_by_pitch) {
    /* Columns of a 32-item tile: summed over all 32 of them, at a pitch of 32, 33 and with the column XORed with the row. */
    static const uint32_t naive[5] = {8, 16, 32, 32, 32}, xored[5] = {1, 1, 1, 2, 4};
    static const double pitch33[5] = {1.75, 1.5, 1, 2, 4};
    for (int i = 0; i < 5; i++) {
        uint32_t size = widths[i], sum33 = 0;
        for (uint32_t col = 0; col < 32; col++) {
            struct tpd_request request = strided(TPD_OP_LOAD, size, col * size, 32 * size);
            ck_assert_uint_eq(shared_of(&request, 4).wavefronts, naive[i]);
            request = strided(TPD_OP_LOAD, size, col * size, 33 * size);
            sum33 += shared_of(&request, 4).wavefronts;
            for (uint32_t row = 0; row < 32; row++)
                request.address[row] = (row * 32 + (col ^ row)) * size;
            ck_assert_uint_eq(shared_of(&request, 4).wavefronts, xored[i]);
        }
        ck_assert_msg((double)sum33 / 32 == pitch33[i], "%u bytes at a pitch of 33: mean %f", size, (double)sum33 / 32);
    }
}
END_TEST

START_TEST(words_are_multicast) {
    struct tpd_request request = strided(TPD_OP_LOAD, 4, 128, 0); /* one word for all */
    ck_assert_uint_eq(shared_of(&request, 4).wavefronts, 1);
    request = strided(TPD_OP_LOAD, 1, 0, 1); /* 8 words, each of 4 lanes */
    ck_assert_uint_eq(shared_of(&request, 4).wavefronts, 1);
    request = strided(TPD_OP_STORE, 2, 2, 0); /* and a store of one word: undefined, but no conflict */
    ck_assert_uint_eq(shared_of(&request, 4).wavefronts, 1);
    for (uint32_t lane = 0; lane < TPD_WARP; lane++)
        request.address[lane] = lane % 2 * 128; /* two words of one bank, 16 lanes each */
    struct tpd_bank_result result = shared_of(&request, 4);
    ck_assert_uint_eq(result.wavefronts, 2);
    ck_assert_uint_eq(result.degree, 2);
    ck_assert_uint_eq(result.lanes, all_lanes);
}
END_TEST

START_TEST(busiest_bank_is_named) {
    struct tpd_request request = strided(TPD_OP_LOAD, 4, 0, 4);
    request.address[3] = 4 * (32 * 5 + 17);
    request.address[9] = 4 * (32 * 9 + 17);
    struct tpd_bank_result result = shared_of(&request, 4);
    ck_assert_uint_eq(result.wavefronts, 3);
    ck_assert_uint_eq(result.excess, 2);
    ck_assert_uint_eq(result.degree, 3);
    ck_assert_uint_eq(result.busiest_bank, 17);
    ck_assert_uint_eq(result.lanes, 1u << 3 | 1u << 9 | 1u << 17);
}
END_TEST

START_TEST(equal_neighbours_merge_phases) {
    static const struct {
        uint32_t width, distance, phases, wavefronts;
    } cases[] = {{8, 1, 1, 1}, {8, 2, 1, 1}, {16, 1, 2, 2}, {16, 2, 2, 2}, {8, 4, 2, 2}, {16, 4, 4, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tpd_request request = strided(TPD_OP_LOAD, cases[i].width, 0, 0);
        for (uint32_t lane = 0; lane < TPD_WARP; lane++) /* lane and lane ^ distance agree, the others are packed */
            request.address[lane] =
                ((lane & (cases[i].distance - 1)) + lane / (2 * cases[i].distance) * cases[i].distance) * cases[i].width;
        struct tpd_bank_result result = shared_of(&request, 4);
        ck_assert_msg(result.phases == cases[i].phases && result.wavefronts == cases[i].wavefronts,
                      "%u bytes, lanes %u apart agree: %u phases, %u wavefronts", cases[i].width, cases[i].distance,
                      result.phases, result.wavefronts);
        request.op = TPD_OP_STORE;
        ck_assert_uint_eq(shared_of(&request, 4).phases, cases[i].width / 4);
        ck_assert_uint_eq(shared_of(&request, 4).wavefronts, cases[i].width / 4);
        request.op = TPD_OP_LOAD; /* one lane that disagrees undoes it */
        request.address[31] += 4096;
        ck_assert_uint_eq(shared_of(&request, 4).phases, cases[i].width / 4);
    }
}
END_TEST

START_TEST(inactive_lanes_equal_anything) {
    struct tpd_request request = strided(TPD_OP_LOAD, 8, 0, 8);
    request.active = 0x55555555u; /* each active lane's neighbour sits out */
    request.address[1] = 3;       /* and is not looked at, not even misaligned */
    struct tpd_bank_result result = shared_of(&request, 4);
    ck_assert_uint_eq(result.phases, 1);
    ck_assert_uint_eq(result.wavefronts, 2); /* 16 lanes over 256 bytes: each bank has one word of either half */
    request.active = 0x0000ffffu;            /* the second half-warp has nothing to do */
    result = shared_of(&(struct tpd_request){.op = TPD_OP_STORE, .width = 8, .active = 0xffffu}, 4);
    ck_assert_uint_eq(result.phases, 2);
    ck_assert_uint_eq(result.ideal, 1);
    request.active = 0;
    result = shared_of(&request, 4);
    ck_assert_uint_eq(result.wavefronts, 0);
    ck_assert_uint_eq(result.ideal, 0);
    ck_assert_uint_eq(result.degree, 0);
}
END_TEST

START_TEST(banks_of_eight_bytes) {
    struct tpd_request request = strided(TPD_OP_LOAD, 8, 0, 8);
    struct tpd_bank_result result = shared_of(&request, 8);
    ck_assert_uint_eq(result.phases, 1);
    ck_assert_uint_eq(result.wavefronts, 1);
    request = strided(TPD_OP_LOAD, 4, 0, 8); /* 2-way where banks have 4 bytes */
    ck_assert_uint_eq(shared_of(&request, 8).wavefronts, 1);
    ck_assert_uint_eq(shared_of(&request, 4).wavefronts, 2);
    request = strided(TPD_OP_LOAD, 16, 0, 16);
    ck_assert_uint_eq(shared_of(&request, 8).phases, 2);
    request = strided(TPD_OP_LOAD, 4, 0, 256);
    ck_assert_uint_eq(shared_of(&request, 8).degree, 32);
}
END_TEST

START_TEST(refusals_name_what_is_wrong) {
    struct tpd_bank_result result;
    struct tpd_error error;
    uint32_t sectors, ideal;
    struct tpd_request request = strided(TPD_OP_LOAD, 4, 0, 4);
    request.address[13] = 54;
    ck_assert_int_eq(tpd_banks_shared(&request, 4, &result, &error), TPD_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "lane 13"));
    ck_assert_ptr_nonnull(strstr(error.text, "54"));
    ck_assert_int_eq(tpd_banks_global(&request, &sectors, &ideal, &error), TPD_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "lane 13"));
    request = strided(TPD_OP_LOAD, 16, 8, 16);
    ck_assert_int_eq(tpd_banks_shared(&request, 4, &result, &error), TPD_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "lane 0"));
    for (uint32_t width = 0; width < 40; width++) {
        bool good = width == 1 || width == 2 || width == 4 || width == 8 || width == 16;
        request = strided(TPD_OP_LOAD, width, 0, 0);
        ck_assert_int_eq(tpd_banks_shared(&request, 4, &result, NULL), good ? TPD_OK : TPD_UNSUPPORTED);
    }
    request = strided(TPD_OP_LOAD, 4, 0, 4);
    for (uint32_t bank_bytes = 0; bank_bytes < 20; bank_bytes++)
        ck_assert_int_eq(tpd_banks_shared(&request, bank_bytes, &result, NULL),
                         bank_bytes == 4 || bank_bytes == 8 ? TPD_OK : TPD_UNSUPPORTED);
}
END_TEST

START_TEST(random_requests_keep_their_bounds) {
    /* Whatever is asked: at least a wavefront a phase that has work, at most one a lane and phase; permuting lanes within a phase
     * changes nothing. */
    uint64_t seed = 20240611;
    for (int round = 0; round < 2000; round++) {
        uint32_t width = widths[tpd_random(&seed) % 5];
        struct tpd_request request = {.op = TPD_OP_STORE, .width = width, .active = (uint32_t)tpd_random(&seed)};
        for (uint32_t lane = 0; lane < TPD_WARP; lane++)
            request.address[lane] = tpd_random(&seed) % 512 * width;
        struct tpd_bank_result result = shared_of(&request, 4);
        ck_assert_uint_ge(result.wavefronts, result.ideal);
        ck_assert_uint_le(result.wavefronts, (uint32_t)__builtin_popcount(request.active));
        ck_assert_uint_le(result.ideal, result.phases);
        ck_assert_uint_le(result.degree, TPD_WARP / result.phases);
        struct tpd_request turned = request;
        uint32_t lanes = TPD_WARP / result.phases;
        turned.active = 0;
        for (uint32_t lane = 0; lane < TPD_WARP; lane++) {
            uint32_t to = lane / lanes * lanes + (lane + 3) % lanes;
            turned.address[to] = request.address[lane];
            turned.active |= (request.active >> lane & 1) << to;
        }
        ck_assert_uint_eq(shared_of(&turned, 4).wavefronts, result.wavefronts);
    }
}
END_TEST

/* Row r of matrix m lies r * pitch bytes on, the matrices one behind the other. */
static struct tpd_request matrices(enum tpd_op op, uint32_t count, uint64_t pitch) {
    struct tpd_request request = strided(op, 0, 0, pitch);
    request.matrices = count;
    return request;
}

START_TEST(matrix_rows_are_a_phase) {
    static const struct {
        uint64_t pitch;
        uint32_t of_phase; /* wavefronts */
    } cases[] = {{16, 1}, {32, 2}, {64, 4}, {128, 8}, {144, 1}, {80, 1}, {48, 1}, {96, 2}, {256, 8}, {0, 1}};
    for (int op = TPD_OP_LDMATRIX; op <= TPD_OP_STMATRIX; op++)
        for (uint32_t count = 1; count <= 4; count *= 2)
            for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct tpd_request request = matrices((enum tpd_op)op, count, cases[i].pitch);
                if (count < 4) /* the lanes behind the last matrix are not looked at */
                    request.address[31] = 3;
                struct tpd_bank_result result = shared_of(&request, 4);
                ck_assert_uint_eq(result.phases, count);
                ck_assert_uint_eq(result.ideal, count);
                ck_assert_msg(result.wavefronts == count * cases[i].of_phase, "x%u at a pitch of %llu: %u wavefronts", count,
                              (unsigned long long)cases[i].pitch, result.wavefronts);
            }
    /* Nothing merges: all rows of x4 in one place are four wavefronts still. */
    struct tpd_request request = matrices(TPD_OP_LDMATRIX, 4, 0);
    ck_assert_uint_eq(shared_of(&request, 4).wavefronts, 4);
    request = matrices(TPD_OP_LDMATRIX, 4, 16);
    for (uint32_t row = 0; row < 8; row++) /* the third matrix alone conflicts, in the last banks */
        request.address[16 + row] = 128 * row + 112;
    struct tpd_bank_result result = shared_of(&request, 4);
    ck_assert_uint_eq(result.wavefronts, 11);
    ck_assert_uint_eq(result.degree, 8);
    ck_assert_uint_eq(result.busiest_bank, 28);
    ck_assert_uint_eq(result.lanes, 0xff0000u);
}
END_TEST

START_TEST(matrix_refusals) {
    struct tpd_bank_result result;
    struct tpd_error error;
    uint32_t sectors, ideal;
    for (uint32_t count = 0; count < 40; count++) {
        struct tpd_request request = matrices(TPD_OP_LDMATRIX, count, 16);
        ck_assert_int_eq(tpd_banks_shared(&request, 4, &result, NULL),
                         count == 1 || count == 2 || count == 4 ? TPD_OK : TPD_UNSUPPORTED);
    }
    struct tpd_request request = matrices(TPD_OP_STMATRIX, 2, 16);
    request.address[9] = 24;
    ck_assert_int_eq(tpd_banks_shared(&request, 4, &result, &error), TPD_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "lane 9"));
    request = matrices(TPD_OP_STMATRIX, 2, 16);
    request.active = ~(1u << 15);
    ck_assert_int_eq(tpd_banks_shared(&request, 4, &result, &error), TPD_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "lane 15"));
    ck_assert_ptr_nonnull(strstr(error.text, "row 7 of matrix 1"));
    request.active = 0xffff; /* all that is needed */
    ck_assert_ok(tpd_banks_shared(&request, 4, &result, &error), error);
    ck_assert_int_eq(tpd_banks_shared(&request, 8, &result, &error), TPD_UNSUPPORTED);
    ck_assert_int_eq(tpd_banks_global(&request, &sectors, &ideal, &error), TPD_UNSUPPORTED);
}
END_TEST

START_TEST(ops_have_names) {
    static const char *const names[] = {"load", "store", "ldmatrix", "stmatrix"};
    for (int op = 0; op < TPD_OP_COUNT; op++) {
        ck_assert_str_eq(tpd_op_name((enum tpd_op)op), names[op]);
        ck_assert_int_eq(tpd_op_find(names[op]), op);
    }
    ck_assert_int_eq(tpd_op_find("LOAD"), TPD_OP_COUNT);
    ck_assert_int_eq(tpd_op_find(""), TPD_OP_COUNT);
}
END_TEST

/* However a request is served: every word of every lane once, a lane a phase, and as many lines as the model counts. */
START_TEST(schedules_serve_each_word_once) {
    uint64_t seed = 77;
    for (int round = 0; round < 2000; round++) {
        uint32_t width = widths[tpd_random(&seed) % 5], bank_bytes = tpd_random(&seed) % 4 == 0 ? 8 : 4, served[TPD_WARP] = {0};
        struct tpd_request request = {.op = (enum tpd_op)(tpd_random(&seed) % 2), .width = width};
        struct tpd_bank_schedule schedule;
        struct tpd_error error;
        request.active = (uint32_t)tpd_random(&seed);
        for (uint32_t lane = 0; lane < TPD_WARP; lane++)
            request.address[lane] = tpd_random(&seed) % 100 * width;
        ck_assert_ok(tpd_banks_schedule(&request, bank_bytes, &schedule, &error), error);
        struct tpd_bank_result result = shared_of(&request, bank_bytes);
        ck_assert_uint_eq(schedule.result.wavefronts, result.wavefronts);
        ck_assert_uint_le(result.wavefronts, TPD_WARP);
        for (uint32_t n = 0; n < result.wavefronts; n++) {
            const struct tpd_bank_wavefront *wavefront = &schedule.wavefront[n];
            ck_assert_uint_lt(wavefront->phase, result.phases);
            uint32_t any = 0;
            for (uint32_t bank = 0; bank < TPD_BANKS; bank++)
                for (uint32_t lanes = wavefront->lanes[bank]; lanes != 0; lanes &= lanes - 1) {
                    uint32_t lane = (uint32_t)__builtin_ctz(lanes);
                    uint64_t from_first = (bank + TPD_BANKS - request.address[lane] / bank_bytes % TPD_BANKS) % TPD_BANKS;
                    ck_assert_uint_lt(from_first, width > bank_bytes ? width / bank_bytes : 1);
                    ck_assert_uint_eq(lane / (TPD_WARP / result.phases), wavefront->phase);
                    served[lane]++;
                    any++;
                }
            ck_assert_uint_gt(any, 0);
        }
        for (uint32_t lane = 0; lane < TPD_WARP; lane++)
            ck_assert_uint_eq(served[lane], request.active >> lane & 1 ? (width > bank_bytes ? width / bank_bytes : 1) : 0);
    }
}
END_TEST

static void expect_sectors(const struct tpd_request *request, uint32_t sectors, uint32_t ideal) {
    uint32_t found, fewest;
    struct tpd_error error;
    ck_assert_ok(tpd_banks_global(request, &found, &fewest, &error), error);
    ck_assert_uint_eq(found, sectors);
    ck_assert_uint_eq(fewest, ideal);
}

START_TEST(sectors) {
    for (int i = 0; i < 5; i++) {
        struct tpd_request request = strided(TPD_OP_LOAD, widths[i], 1u << 20, widths[i]);
        expect_sectors(&request, widths[i], widths[i]);
        request = strided(TPD_OP_LOAD, widths[i], UINT64_C(1) << 40, 4096);
        expect_sectors(&request, 32, widths[i]);
        request = strided(TPD_OP_LOAD, widths[i], 48, 0); /* one item for all */
        expect_sectors(&request, 1, 1);
    }
    struct tpd_request request = strided(TPD_OP_LOAD, 4, 16, 4); /* 128 bytes from the middle of a sector */
    expect_sectors(&request, 5, 4);
    request.active = 0;
    expect_sectors(&request, 0, 0);
    request.active = 0x101;
    expect_sectors(&request, 2, 1);
}
END_TEST

static Suite *suite(void) {
    Suite *suite = suite_create("bank_model");
    TCase *tests = tcase_create("model");
    tcase_add_test(tests, rows_are_ideal);
    tcase_add_test(tests, columns_by_pitch);
    tcase_add_test(tests, words_are_multicast);
    tcase_add_test(tests, busiest_bank_is_named);
    tcase_add_test(tests, equal_neighbours_merge_phases);
    tcase_add_test(tests, inactive_lanes_equal_anything);
    tcase_add_test(tests, banks_of_eight_bytes);
    tcase_add_test(tests, refusals_name_what_is_wrong);
    tcase_add_test(tests, random_requests_keep_their_bounds);
    tcase_add_test(tests, matrix_rows_are_a_phase);
    tcase_add_test(tests, matrix_refusals);
    tcase_add_test(tests, ops_have_names);
    tcase_add_test(tests, schedules_serve_each_word_once);
    tcase_add_test(tests, sectors);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) {
    return tpd_harness_main(suite());
}
