/* test_table_long.c -- tables of long rows: panels that are read on, made and written at once, and answers that flow. */
#include "table_texts.h"

/* A few long rows: the answer leaves in parts, and each part is read on from where the one before stopped. */
START_TEST(test_long_rows) {
    uint64_t seed = 7;
    for (size_t rows = 1; rows <= 4; rows++)
        for (uint32_t threads = 1; threads <= 3; threads++) {
            struct tpd_table_options options = {.ragged = rows == 4 ? TPD_RAGGED_PAD : TPD_RAGGED_ERROR, .filler = "NA"};
            struct table table = random_table(rows, 60000, rows == 4, &seed), other = turned(&table, options.filler);
            struct text in = spell(&table, "\n", true, false), wanted = spell(&other, "\n", true, false), got = {.data = NULL};
            struct tpd_error error = {.text = ""};
            int fd = file_of(&in, 0);
            struct tpd_table_task task = {.fd = fd,
                                          .bytes = in.count,
                                          .options = &options,
                                          .delimiter = ',',
                                          .threads = threads,
                                          .memory_bytes = UINT64_MAX,
                                          .chunk_bytes = 1,
                                          .panel_bytes = 4000,
                                          .write = take,
                                          .self = &got};
            ck_assert_ok(tpd_table_transpose(&task, &error), error);
            ck_assert_uint_eq(task.passes, 1);
            ck_assert_uint_eq(got.count, wanted.count);
            ck_assert_mem_eq(got.data, wanted.data, wanted.count);
            close(fd);
            free(got.data);
            free(in.data);
            free(wanted.data);
            free(table.cells);
            free(other.cells);
        }
}
END_TEST

/* Takes so many bytes, and then no more. */
struct narrow {
    struct text text;
    size_t most;
};

static enum tpd_status take_some(void *self, const void *bytes, size_t count, struct tpd_error *error) {
    struct narrow *narrow = self;
    if (narrow->text.count + count > narrow->most)
        return tpd_fail(error, TPD_IO, "it takes no more");
    return take(&narrow->text, bytes, count, error);
}

/* Panels that several threads make and write at once: where the output fails, or memory does, all of them stop. */
START_TEST(test_panels_fail) {
    uint64_t seed = 8;
    struct tpd_table_options options = {.ragged = TPD_RAGGED_ERROR};
    struct table table = random_table(3, 30000, false, &seed), other = turned(&table, "");
    struct text in = spell(&table, "\n", true, false), wanted = spell(&other, "\n", true, false);
    int fd = file_of(&in, 0);
    struct narrow got;
    struct tpd_table_task task = {.fd = fd,
                                  .bytes = in.count,
                                  .options = &options,
                                  .delimiter = ',',
                                  .threads = 3,
                                  .memory_bytes = UINT64_MAX,
                                  .chunk_bytes = 1,
                                  .panel_bytes = 4000,
                                  .write = take_some,
                                  .self = &got};
    for (size_t tenths = 0; tenths <= 10; tenths++) {
        struct tpd_error error = {.text = ""};
        got = (struct narrow){.most = wanted.count * tenths / 10};
        enum tpd_status status = tpd_table_transpose(&task, &error);
        ck_assert_int_eq(status, tenths < 10 ? TPD_IO : TPD_OK);
        ck_assert_str_eq(error.text, tenths < 10 ? "it takes no more" : "");
        ck_assert_uint_le(got.text.count, wanted.count);
        ck_assert(got.text.count == 0 || memcmp(got.text.data, wanted.data, got.text.count) == 0);
        free(got.text.data);
    }
    int failed = 1;
    for (uint64_t nth = 1; failed; nth++) {
        struct tpd_error error = {.text = ""};
        got = (struct narrow){.most = SIZE_MAX};
        tpd_heap_begin(nth);
        enum tpd_status status = tpd_table_transpose(&task, &error);
        failed = tpd_heap_end();
        ck_assert_msg(status == (failed ? TPD_NO_MEMORY : TPD_OK), "%s: %s", tpd_status_slug(status), error.text);
        ck_assert(failed || got.text.count == wanted.count);
        free(got.text.data);
    }
    close(fd);
    free(in.data);
    free(wanted.data);
    free(table.cells);
    free(other.cells);
}
END_TEST

static enum tpd_status flow(const struct text *in, uint64_t flow_bytes, struct text *got, struct tpd_error *error) {
    struct tpd_table_options options = {.ragged = TPD_RAGGED_ERROR};
    int fd = file_of(in, 0);
    struct tpd_table_task task = {.fd = fd,
                                  .bytes = in->count,
                                  .options = &options,
                                  .delimiter = ',',
                                  .threads = 1,
                                  .memory_bytes = UINT64_MAX,
                                  .chunk_bytes = 1 << 20,
                                  .panel_bytes = 4 << 20,
                                  .flow_bytes = flow_bytes,
                                  .write = take,
                                  .self = got};
    *got = (struct text){.data = NULL};
    *error = (struct tpd_error){.text = ""};
    enum tpd_status status = tpd_table_transpose(&task, error);
    close(fd);
    return status;
}

/* A few long rows, made from the answer's start to its end: the same as by the survey of columns, whatever the cells' sizes, and
 * where only the first row is long; and the same words where a row is too short. */
START_TEST(test_flow) {
    enum { COLS = 700, HUGE_CELL = 5 << 20 };
    static char cell[HUGE_CELL];
    static const size_t rows_of[] = {1, 2, 20, 63, 64, 65, 200};
    uint64_t seed = 9;
    memset(cell, 'z', sizeof cell);
    for (size_t which = 0; which < sizeof rows_of / sizeof *rows_of; which++) {
        for (int kind = 0; kind < 4; kind++) {
            const size_t rows = rows_of[which];
            struct text in = {.data = NULL}, got, wanted;
            struct tpd_error error, other;
            for (size_t r = 0; r < rows; r++) {
                for (size_t c = 0; c < (size_t)(COLS - (kind == 3 && r + 1 == rows && rows > 1)); c++) {
                    uint64_t bytes = tpd_random(&seed) % 40, dice = tpd_random(&seed) % 4096;
                    if (kind == 1 && dice < 2)
                        bytes = dice == 0 && in.count < 40 << 20 ? HUGE_CELL - bytes : 700000 + bytes;
                    if (kind == 1 && in.count > 80 << 20)
                        bytes = 3;
                    if (kind == 2)
                        bytes = r == 0 ? 300 : bytes % 3;
                    add(&in, ",", c != 0);
                    add(&in, cell, bytes);
                }
                add(&in, "\n", r + 1 < rows || kind % 2 == 0);
            }
            enum tpd_status status = flow(&in, 1, &got, &error), without = flow(&in, 0, &wanted, &other);
            ck_assert_int_eq(status, kind == 3 && rows > 1 ? TPD_RAGGED : TPD_OK);
            ck_assert_int_eq(status, without);
            ck_assert_str_eq(error.text, other.text);
            ck_assert_uint_eq(error.offset, other.offset);
            ck_assert_uint_eq(got.count, wanted.count);
            ck_assert(got.count == 0 || memcmp(got.data, wanted.data, got.count) == 0);
            free(in.data);
            free(got.data);
            free(wanted.data);
        }
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("table_long");
    TCase *tests = tcase_create("table_long");
    tcase_add_test(tests, test_long_rows);
    tcase_add_test(tests, test_panels_fail);
    tcase_add_test(tests, test_flow);
    suite_add_tcase(suite, tests);
    return tpd_harness_main(suite);
}
