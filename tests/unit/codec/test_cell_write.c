/* test_cell_write.c -- rows of cells as text: every number of columns round the blocks' edges, short cells and long ones, exact
 * to the byte. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "server/codec/cell_write.h"

enum { TEXT_BYTES = 1000 };

static void check(uint64_t rows, uint64_t cols, unsigned longest, const char *before, const char *behind, uint64_t seed) {
    struct tpd_guarded text = tpd_guarded_make(TEXT_BYTES + TPD_CELL_COPY, 0);
    struct tpd_cell *cells = malloc((rows * cols + 1) * sizeof *cells);
    tpd_random_fill(text.data, text.bytes, seed);
    size_t bytes = 0, marks = strlen(before) + strlen(behind) + (cols != 0 ? cols - 1 : 0);
    for (uint64_t i = 0; i < rows * cols; i++) {
        size_t length = tpd_random(&seed) % (longest + 1);
        cells[i] = tpd_cell_of(tpd_random(&seed) % (TEXT_BYTES + 1 - length), length);
        bytes += length;
    }
    bytes += rows * marks;
    const struct tpd_cell_rows what = {text.data, cells, rows, cols, ',', before, behind};
    ck_assert_uint_eq(tpd_cell_rows_bytes(&what), bytes);
    struct tpd_guarded got = tpd_guarded_make(bytes, seed % 64);
    unsigned char *wanted = malloc(bytes + 1), *at = wanted;
    for (uint64_t r = 0; r < rows; r++) {
        memcpy(at, before, strlen(before));
        at += strlen(before);
        for (uint64_t c = 0; c < cols; c++) {
            struct tpd_cell cell = cells[r * cols + c];
            if (c != 0)
                *at++ = ',';
            memcpy(at, text.data + tpd_cell_offset(cell), tpd_cell_bytes(cell));
            at += tpd_cell_bytes(cell);
        }
        memcpy(at, behind, strlen(behind));
        at += strlen(behind);
    }
    ck_assert_ptr_eq(tpd_cell_rows_write(&what, got.data), got.data + bytes);
    ck_assert_msg(bytes == 0 || memcmp(got.data, wanted, bytes) == 0, "%llu x %llu, cells up to %u", (unsigned long long)rows,
                  (unsigned long long)cols, longest);
    tpd_guarded_check(&got);
    tpd_guarded_free(&got);
    tpd_guarded_free(&text);
    free(wanted);
    free(cells);
}

START_TEST(test_edges) {
    static const unsigned longest[] = {0, 1, 3, 16, 40};
    for (uint64_t cols = 0; cols <= 290; cols++)
        for (size_t l = 0; l < sizeof longest / sizeof *longest; l++)
            check(1 + cols % 70, cols, longest[l], (cols & 1) != 0 ? "[" : "", (cols & 1) != 0 ? "]," : "\n", cols * 31 + l);
}
END_TEST

START_TEST(test_shapes) {
    static const uint64_t shapes[][2] = {{0, 0},    {0, 5},    {5, 0},     {1, 1},     {1, 5000},
                                         {5000, 1}, {65, 129}, {130, 257}, {9, 20000}, {40, 3000}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        check(shapes[s][0], shapes[s][1], 9, "", "\r\n", s);
        check(shapes[s][0], shapes[s][1], 1, "[", "],", s + 100);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cell_write");
    TCase *tests = tcase_create("cell_write");
    tcase_add_test(tests, test_edges);
    tcase_add_test(tests, test_shapes);
    suite_add_tcase(suite, tests);
    return tpd_harness_main(suite);
}
