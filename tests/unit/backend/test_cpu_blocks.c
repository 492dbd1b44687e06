/* test_cpu_blocks.c -- the CPU back end's plans and inner loops against the oracle: shapes, item sizes, alignments, tiles. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "kernels/cpu/cpu.h"
#include "transposed/transposed.h"

static struct tpd_error error;

static void prove(const struct tpd_cpu_ops *ops, const struct tpd_cpu_limits *limits, const struct tpd_matrix *matrix,
                  size_t misalign_in, size_t misalign_out) {
    uint64_t bytes;
    ck_assert_ok(tpd_matrix_bytes(matrix, &bytes, &error), error);
    struct tpd_guarded in = tpd_guarded_make(bytes, misalign_in), out = tpd_guarded_make(bytes, misalign_out);
    unsigned char *expected = malloc(bytes);
    ck_assert_ptr_nonnull(expected);
    tpd_random_fill(in.data, bytes, matrix->rows * 131 + matrix->cols * 7 + matrix->itemsize);
    tpd_transpose_ref(matrix, in.data, expected);
    struct tpd_cpu_plan plan;
    _Alignas(TPD_CPU_LINE) static unsigned char tiles[2][TPD_CPU_TILE_MOST];
    struct tpd_cpu_worker worker = {.tile = {tiles[0], tiles[1]}};
    tpd_cpu_plan(&plan, ops, matrix, in.data, out.data, limits);
    ck_assert_uint_le(plan.tile_bytes, limits->tile_bytes);
    tpd_cpu_run(&plan, &worker);
    ck_assert_msg(memcmp(out.data, expected, bytes) == 0,
                  "%s: %llu x %llu x %llu of %u bytes, in + %zu, out + %zu, stream %zu, tile %zu, %u threads", ops->name,
                  (unsigned long long)matrix->batch, (unsigned long long)matrix->rows, (unsigned long long)matrix->cols,
                  matrix->itemsize, misalign_in, misalign_out, limits->stream_from_bytes, limits->tile_bytes, limits->threads);
    tpd_guarded_check(&in);
    tpd_guarded_check(&out);
    tpd_guarded_free(&in);
    tpd_guarded_free(&out);
    free(expected);
}

/* The inner loops that this processor runs, all of them. */
static const struct tpd_cpu_ops *const every_ops[] = {
    &tpd_cpu_portable,
#if defined(__x86_64__)
    &tpd_cpu_avx2,
    &tpd_cpu_avx512,
#elif defined(__aarch64__)
    &tpd_cpu_neon,
#endif
};

/* In the cache, cut for two threads or not; streamed, in the largest tile and in the smallest. */
static void prove_all(const struct tpd_matrix *matrix, size_t misalign_in, size_t misalign_out) {
    for (size_t i = 0; i < sizeof every_ops / sizeof *every_ops; i++) {
        if (!tpd_cpu_runs(every_ops[i]))
            continue;
        prove(every_ops[i], &(struct tpd_cpu_limits){SIZE_MAX, TPD_CPU_TILE_MOST, 2}, matrix, misalign_in, misalign_out);
        prove(every_ops[i], &(struct tpd_cpu_limits){SIZE_MAX, TPD_CPU_TILE_MOST, 1}, matrix, misalign_in, misalign_out);
        prove(every_ops[i], &(struct tpd_cpu_limits){0, TPD_CPU_TILE_MOST, 2}, matrix, misalign_in, misalign_out);
        prove(every_ops[i], &(struct tpd_cpu_limits){0, TPD_CPU_TILE_LEAST, 2}, matrix, misalign_in, misalign_out);
    }
}

static const uint32_t itemsizes[] = {1, 2, 4, 8, 16, 3, 5, 7, 12, 15, 17, 24, 255, 257};
enum { ITEMSIZES = sizeof itemsizes / sizeof *itemsizes };

START_TEST(every_residue) {
    struct tpd_matrix matrix = {.batch = 1, .itemsize = itemsizes[_i]};
    const uint64_t rows = matrix.itemsize == 1 ? 34 : 18, cols = 18; /* past the largest vector block of that item size */
    for (matrix.rows = 1; matrix.rows <= rows; matrix.rows++)
        for (matrix.cols = 1; matrix.cols <= cols; matrix.cols++)
            prove_all(&matrix, matrix.rows % 5, matrix.cols % 7);
}
END_TEST

START_TEST(every_place_in_a_line) {
    const uint32_t size = itemsizes[_i];
    struct tpd_matrix panel = {.rows = 13, .cols = 200, .batch = 1, .itemsize = size};
    struct tpd_matrix strip = {.rows = 1100 / size + 67, .cols = 19, .batch = 1, .itemsize = size};
    for (size_t misalign = 0; misalign<TPD_CPU_LINE; misalign += size> 16 ? 5 : 1) {
        prove_all(&panel, TPD_CPU_LINE - 1 - misalign, misalign);
        prove_all(&strip, misalign * 5 % TPD_CPU_LINE, misalign);
    }
}
END_TEST

/* Several blocks, strips, panels and pieces each way, and a little more or less. */
START_TEST(many_blocks) {
    static const struct tpd_matrix shapes[] = {{1700, 300, 1, 0, 0}, {1025, 257, 2, 0, 0}, {40, 3001, 1, 0, 0},
                                               {3, 30011, 1, 0, 0},  {30011, 3, 1, 0, 0},  {1500, 97, 1, 0, 0},
                                               {513, 1024, 1, 0, 0}, {1333, 900, 1, 0, 0}, {2049, 1021, 1, 0, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct tpd_matrix matrix = shapes[i];
        matrix.itemsize = itemsizes[_i];
        if (matrix.rows * matrix.cols * matrix.itemsize <= 4u << 20)
            prove_all(&matrix, i, 3 * i);
    }
}
END_TEST

/* Small items whose output rows begin on lines: blocks of every height and width, and a last one that is less. */
static const struct tpd_matrix gathered[] = {
    {1088, 1500, 1, 1, 0}, {1280, 1024, 1, 1, 0}, {1088, 2081, 1, 1, 0}, {1088, 1030, 2, 1, 0}, {544, 513, 1, 2, 0},
    {640, 1100, 1, 2, 0},  {1088, 4200, 1, 1, 0}, {544, 4113, 1, 2, 0},  {272, 2050, 1, 4, 0},  {304, 140, 3, 4, 0}};

START_TEST(gathered_rows) {
    static const unsigned char in[TPD_CPU_LINE];
    _Alignas(TPD_CPU_LINE) static unsigned char out[TPD_CPU_LINE];
    const struct tpd_matrix *matrix = &gathered[_i];
    for (size_t i = 0; i < sizeof every_ops / sizeof *every_ops; i++) {
        const struct tpd_cpu_limits middle = {0, 144 * 1024, 2};
        struct tpd_cpu_plan plan;
        tpd_cpu_plan(&plan, every_ops[i], matrix, in, out, &(struct tpd_cpu_limits){0, TPD_CPU_TILE_MOST, 2});
        ck_assert_int_eq(plan.gather != 0, matrix->itemsize < 4 || every_ops[i]->vector_bytes == TPD_CPU_LINE);
        if (tpd_cpu_runs(every_ops[i]))
            prove(every_ops[i], &middle, matrix, (size_t)_i % 5, 0);
    }
    prove_all(matrix, (size_t)_i * 3 % 7, 0);
}
END_TEST

START_TEST(batches) {
    static const struct tpd_matrix shapes[] = {
        {2, 3, 4001, 0, 0}, {7, 5, 300, 0, 0}, {33, 65, 17, 0, 0}, {1, 9, 33, 0, 0}, {130, 129, 3, 0, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct tpd_matrix matrix = shapes[i];
        matrix.itemsize = itemsizes[_i];
        if (matrix.itemsize > 24)
            matrix.batch = 1 + matrix.batch / 10;
        prove_all(&matrix, 2 * i, i);
    }
}
END_TEST

/* A value that went through a float register might come back quieted, flushed or with another sign of zero. */
START_TEST(every_bit_pattern) {
    unsigned char bytes[256], bytes_out[256];
    uint16_t *halves = malloc(65536 * sizeof *halves), *halves_out = malloc(65536 * sizeof *halves);
    static const uint64_t odd[16] = {0x7ff0000000000001, 0xfff0000000000001, 0x7ff8000000000123, 0x8000000000000000,
                                     0x0000000000000001, 0x7fa00000ffa00000, 0x7f80000180000000, 0xffbfffff00000001,
                                     0x7ff4000000000000, 0xfff7ffffffffffff, 0x000fffffffffffff, 0x8000000000000001,
                                     0x7ff0000000000000, 0xfff0000000000000, 0x7fc0000100000000, 0x3ff0000000000000};
    uint64_t odd_out[16];
    ck_assert(halves != NULL && halves_out != NULL);
    for (int i = 0; i < 256; i++)
        bytes[i] = (unsigned char)i;
    for (int i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    struct tpd_matrix matrix = {.rows = 16, .cols = 16, .batch = 1, .itemsize = 1};
    ck_assert_ok(tpd_transpose(&matrix, bytes, bytes_out, &error), error);
    for (int i = 0; i < 256; i++)
        ck_assert_int_eq(bytes_out[i], i % 16 * 16 + i / 16);
    matrix.rows = matrix.cols = 256;
    matrix.itemsize = 2;
    ck_assert_ok(tpd_transpose(&matrix, halves, halves_out, &error), error);
    for (int i = 0; i < 65536; i++)
        ck_assert_int_eq(halves_out[i], i % 256 * 256 + i / 256);
    matrix.rows = matrix.cols = 4;
    matrix.itemsize = 8;
    ck_assert_ok(tpd_transpose(&matrix, odd, odd_out, &error), error);
    for (int i = 0; i < 16; i++)
        ck_assert_uint_eq(odd_out[i], odd[i % 4 * 4 + i / 4]);
    matrix.cols = 8;
    matrix.itemsize = 4;
    uint32_t words[32], words_out[32];
    memcpy(words, odd, sizeof words);
    ck_assert_ok(tpd_transpose(&matrix, words, words_out, &error), error);
    for (int i = 0; i < 32; i++)
        ck_assert_uint_eq(words_out[i], words[i % 4 * 8 + i / 4]);
    free(halves);
    free(halves_out);
}
END_TEST

static Suite *suite(void) {
    Suite *all = suite_create("cpu_blocks");
    TCase *exact = tcase_create("exact");
    tcase_add_loop_test(exact, every_residue, 0, ITEMSIZES);
    tcase_add_loop_test(exact, every_place_in_a_line, 0, ITEMSIZES);
    tcase_add_loop_test(exact, many_blocks, 0, ITEMSIZES);
    tcase_add_loop_test(exact, gathered_rows, 0, (int)(sizeof gathered / sizeof *gathered));
    tcase_add_loop_test(exact, batches, 0, ITEMSIZES);
    tcase_add_test(exact, every_bit_pattern);
    suite_add_tcase(all, exact);
    return all;
}

int main(void) {
    return tpd_harness_main(suite());
}
