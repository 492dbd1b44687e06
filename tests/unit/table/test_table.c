/* test_table.c -- random tables through the mapped road: threads, windows, panels, padding; what is refused, and where. */
#include "table_texts.h"

static const struct {
    uint32_t threads;
    uint64_t chunk_bytes, window_bytes;
    uint32_t share; /* of the answer, that fits in memory: 1 all of it, n an n-th */
    bool memory;
    uint64_t flow;
} ways[] = {{1, 1 << 20, 0, 1, false, 0}, {1, 1 << 20, 0, 1, true, 0},  {3, 50, 0, 1, false, 0},      {4, 1, 0, 3, false, 0},
            {1, 1, 8192, 1, false, 0},    {2, 999, 4096, 2, false, 0},  {1, 1 << 20, 0, 7, false, 0}, {5, 10, 0, 1, true, 0},
            {1, 1 << 20, 0, 1, false, 1}, {1, 1 << 20, 0, 1, true, 300}};
enum { WAYS = sizeof ways / sizeof *ways };

static enum tpd_status transpose(const struct text *in, const struct tpd_table_options *options, int way, struct text *out,
                                 struct tpd_table_task *task, struct tpd_error *error) {
    enum { BEFORE = 100 };
    size_t behind = TPD_TEXT_PAD + TPD_FILLER_MOST;
    struct tpd_guarded memory = tpd_guarded_make(in->count + behind, 0);
    memcpy(memory.data, in->data, in->count);
    memset(memory.data + in->count, 0, TPD_TEXT_PAD);
    memcpy(memory.data + in->count + TPD_TEXT_PAD, options->filler, TPD_FILLER_MOST);
    int fd = ways[way].memory ? -1 : file_of(in, BEFORE);
    /* A column has 8 bytes a chunk; the answer has about the text's size. */
    uint64_t tables =
        (4 * ways[way].threads + 2) * (in->count + 1) * 8 + ways[way].threads * ((2 << 20) + ways[way].window_bytes);
    *task = (struct tpd_table_task){.fd = fd,
                                    .file_offset = BEFORE,
                                    .memory = memory.data,
                                    .bytes = in->count,
                                    .options = options,
                                    .delimiter = ',',
                                    .threads = ways[way].threads,
                                    .chunk_bytes = ways[way].chunk_bytes,
                                    .window_bytes = ways[way].window_bytes,
                                    .flow_bytes = ways[way].flow,
                                    .memory_bytes = ways[way].share == 1 ? UINT64_MAX : tables + in->count / ways[way].share + 1,
                                    .write = take,
                                    .self = out};
    *out = (struct text){.data = NULL};
    enum tpd_status status = tpd_table_transpose(task, error);
    if (fd >= 0)
        close(fd);
    tpd_guarded_check(&memory);
    tpd_guarded_free(&memory);
    return status;
}

static void check(size_t rows, size_t cols, bool ragged, uint64_t seed) {
    struct tpd_table_options options = {.ragged = ragged ? TPD_RAGGED_PAD : TPD_RAGGED_ERROR};
    const char *end = (tpd_random(&seed) & 1) != 0 ? "\n" : "\r\n";
    bool bom = (tpd_random(&seed) & 3) == 0, final_newline = (tpd_random(&seed) & 1) != 0;
    if (ragged && (tpd_random(&seed) & 1) != 0)
        memcpy(options.filler, "NA", 3);
    struct table table = random_table(rows, cols, ragged, &seed), other = turned(&table, options.filler);
    if (rows == 1)
        end = "\n"; /* a text without a line end says nothing of line ends */
    bool is_nothing = cols == 1 && table.cells[rows - 1][0] == '\0',
         becomes_nothing = rows == 1 && table.cells[cols - 1][0] == '\0';
    final_newline = final_newline || is_nothing;
    struct text in = spell(&table, end, final_newline, bom), wanted = spell(&other, end, final_newline || becomes_nothing, bom),
                got;
    for (int way = 0; way < WAYS; way++) {
        struct tpd_table_task task;
        struct tpd_error error = {.text = ""};
        ck_assert_ok(transpose(&in, &options, way, &got, &task, &error), error);
        ck_assert_uint_eq(task.rows, rows);
        ck_assert_uint_eq(task.cols, cols);
        ck_assert_uint_eq(task.answer_bytes, wanted.count);
        ck_assert_msg(got.count == wanted.count && memcmp(got.data, wanted.data, got.count) == 0, "%zu x %zu, way %d", rows, cols,
                      way);
        free(got.data);
    }
    free(in.data);
    free(wanted.data);
    free(table.cells);
    free(other.cells);
}

START_TEST(test_shapes) {
    static const size_t shapes[][2] = {{1, 1},   {1, 700}, {700, 1}, {2, 3},    {33, 70},  {70, 33},
                                       {300, 7}, {5, 256}, {5, 257}, {70, 300}, {3, 1000}, {150, 270}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (uint64_t seed = 1; seed <= 4; seed++)
            check(shapes[s][0], shapes[s][1], seed == 4, seed * 97 + s);
}
END_TEST

START_TEST(test_random) {
    uint64_t seed = 5;
    for (int i = 0; i < 60; i++)
        check(1 + tpd_random(&seed) % 60, 1 + tpd_random(&seed) % ((i & 3) == 0 ? 600 : 40), (i & 1) != 0, tpd_random(&seed));
}
END_TEST

/* The last line loses its line end where the first text had none, wherever parts of the answer's rows are cut. */
START_TEST(test_parts) {
    static const char in[48] = "1,2\r\n3,4\r\n5,6", wanted[] = "1,3,5\r\n2,4,6";
    struct tpd_table_options options = {.ragged = TPD_RAGGED_ERROR};
    const uint64_t tables = 2 * 2 * 8 + (2 << 20);
    for (uint64_t room = 1; room <= 16; room++) {
        struct text got = {.data = NULL};
        struct tpd_error error = {.text = ""};
        struct tpd_table_task task = {.fd = -1,
                                      .memory = (const unsigned char *)in,
                                      .bytes = 13,
                                      .options = &options,
                                      .delimiter = ',',
                                      .threads = 1,
                                      .chunk_bytes = 1 << 20,
                                      .memory_bytes = tables + room,
                                      .write = take,
                                      .self = &got};
        ck_assert_ok(tpd_table_transpose(&task, &error), error);
        ck_assert_uint_eq(task.passes, room < 7 ? 2 * ((7 + room - 1) / room) : room < 14 ? 2 : 1);
        ck_assert_msg(got.count == strlen(wanted) && memcmp(got.data, wanted, got.count) == 0, "in parts of %d: %.*s", (int)room,
                      (int)got.count, (const char *)got.data);
        free(got.data);
    }
}
END_TEST

/* Where a line end stands in quotes, a guess at a chunk's start is wrong: what is read from there is read again. */
START_TEST(test_quoted_lines) {
    struct text in = {.data = NULL}, got;
    for (int i = 0; i < 200; i++)
        add(&in, "\"a\n1,2,3\n\n\",b\n", 14);
    for (int way = 0; way < WAYS; way++) {
        struct tpd_table_options options = {.ragged = TPD_RAGGED_ERROR};
        struct tpd_table_task task;
        struct tpd_error error = {.text = ""};
        ck_assert_ok(transpose(&in, &options, way, &got, &task, &error), error);
        ck_assert_uint_eq(task.rows, 200);
        ck_assert_uint_eq(task.cols, 2);
        ck_assert_uint_eq(got.count, in.count);
        free(got.data);
    }
    free(in.data);
}
END_TEST

/* A row that only a wrong guess sees is no reason to fill the others up. */
START_TEST(test_quoted_long_lines) {
    struct text in = {.data = NULL}, got;
    for (int i = 0; i < 100; i++)
        add(&in, "\"a\n1,2,3,4\n5,6\",b\nc\n", 20);
    for (int way = 0; way < WAYS; way++) {
        struct tpd_table_options options = {.ragged = TPD_RAGGED_PAD};
        struct tpd_table_task task;
        struct tpd_error error = {.text = ""};
        ck_assert_ok(transpose(&in, &options, way, &got, &task, &error), error);
        ck_assert_uint_eq(task.rows, 200);
        ck_assert_uint_eq(task.cols, 2);
        free(got.data);
    }
    free(in.data);
}
END_TEST

START_TEST(test_refused) {
    static const struct {
        const char *tail;
        enum tpd_status status;
        uint64_t offset, line, column; /* within the tail, from 0, 1, 1 */
    } cases[] = {{"1,2\n3\n4,5\n", TPD_RAGGED, 5, 2, 2}, {"1,2\n3,4,5\n", TPD_RAGGED, 8, 2, 5},
                 {"1,\"2\n", TPD_TRUNCATED, 2, 1, 3},    {"\"1\"x,2\n", TPD_MALFORMED, 3, 1, 4},
                 {"1\r,2\n", TPD_MALFORMED, 1, 1, 2},    {"1,2\n\n", TPD_RAGGED, 4, 2, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int way = 0; way < WAYS; way++)
            for (uint64_t before = 0; before < 400; before += 133) {
                struct text in = {.data = NULL}, got;
                struct tpd_table_options options = {.ragged = TPD_RAGGED_ERROR};
                struct tpd_table_task task;
                struct tpd_error error = {.text = ""};
                for (uint64_t i = 0; i < before; i++)
                    add(&in, "aaaaaaaaa,bbbbbbbbb\n", 20);
                add(&in, cases[c].tail, strlen(cases[c].tail));
                ck_assert_int_eq(transpose(&in, &options, way, &got, &task, &error), cases[c].status);
                ck_assert_ptr_null(got.data);
                ck_assert_uint_eq(error.offset, before * 20 + cases[c].offset);
                ck_assert_uint_eq(error.line, before + cases[c].line);
                ck_assert_uint_eq(error.column, cases[c].column);
                free(in.data);
            }
}
END_TEST

START_TEST(test_limits) {
    struct text in = {.data = NULL}, got;
    struct tpd_table_options options = {.cells_most = 5};
    struct tpd_table_task task;
    struct tpd_error error = {.text = ""};
    add(&in, "1,2,3\n4,5,6\n", 12);
    ck_assert_int_eq(transpose(&in, &options, 0, &got, &task, &error), TPD_TOO_LARGE);
    ck_assert_uint_eq(error.actual, 6);
    options.cells_most = 6;
    ck_assert_ok(transpose(&in, &options, 0, &got, &task, &error), error);
    free(got.data);
    task = (struct tpd_table_task){
        .fd = -1,
        .memory = (const unsigned char
                       *)"1,2\n3,4\n                                                                                     ",
        .bytes = 8,
        .options = &options,
        .delimiter = ',',
        .threads = 1,
        .chunk_bytes = 1,
        .memory_bytes = 1000,
        .write = take,
        .self = &got};
    got = (struct text){.data = NULL};
    ck_assert_int_eq(tpd_table_transpose(&task, &error), TPD_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(error.text, "--memory"));
    free(in.data);
}
END_TEST

/* The nth allocation fails, n = 1 and on, until none does: a clear word, and nothing left behind. */
START_TEST(test_no_memory) {
    struct text in = {.data = NULL}, got;
    struct tpd_table_options options = {.ragged = TPD_RAGGED_PAD};
    for (int i = 0; i < 300; i++)
        add(&in, "1,2,,", 5);
    add(&in, "\n1,2\n", 5);
    for (int way = 0; way < WAYS; way++) {
        int failed = 1;
        for (uint64_t nth = 1; failed; nth++) {
            struct tpd_table_task task;
            struct tpd_error error = {.text = ""};
            tpd_heap_begin(nth);
            enum tpd_status status = transpose(&in, &options, way, &got, &task, &error);
            failed = tpd_heap_end();
            ck_assert_msg(status == (failed ? TPD_NO_MEMORY : TPD_OK), "%s: %s", tpd_status_slug(status), error.text);
            free(got.data);
        }
    }
    free(in.data);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("table");
    TCase *tests = tcase_create("table");
    tcase_add_test(tests, test_shapes);
    tcase_add_test(tests, test_random);
    tcase_add_test(tests, test_parts);
    tcase_add_test(tests, test_quoted_lines);
    tcase_add_test(tests, test_quoted_long_lines);
    tcase_add_test(tests, test_refused);
    tcase_add_test(tests, test_limits);
    tcase_add_test(tests, test_no_memory);
    suite_add_tcase(suite, tests);
    return tpd_harness_main(suite);
}
