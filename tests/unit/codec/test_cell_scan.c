/* test_cell_scan.c -- every loop of the scan against a reader that looks at one byte at a time; batches, rows, ends, refusals. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "server/codec/cell_scan.h"

enum { TEXT_MOST = 4096, CELLS_MOST = TEXT_MOST + 1 };

struct found {
    enum tpd_status status;
    size_t count, rows;
    struct tpd_cell cells[CELLS_MOST];
    size_t row_ends[CELLS_MOST];
};

/* One byte at a time, by the words of cell_scan.h. */
static void read_plainly(const char *text, size_t bytes, char delimiter, bool quotes, struct found *f) {
    size_t at = 0;
    memset(f, 0, sizeof *f);
    while (at < bytes || (bytes != 0 && text[bytes - 1] != '\n' && at == bytes)) {
        size_t start = at, length;
        bool quoted = quotes && at < bytes && text[at] == '"';
        if (quoted) {
            at++;
            for (;;) {
                while (at < bytes && text[at] != '"')
                    at++;
                if (at == bytes) {
                    f->status = TPD_TRUNCATED;
                    return;
                }
                at++;
                if (at == bytes || text[at] != '"')
                    break;
                at++;
            }
            bool crlf = at + 1 < bytes && text[at] == '\r' && text[at + 1] == '\n';
            if (at < bytes && text[at] != delimiter && text[at] != '\n' && !crlf) {
                f->status = TPD_MALFORMED;
                return;
            }
            length = at - start;
            at += crlf;
        } else {
            while (at < bytes && text[at] != delimiter && text[at] != '\n')
                at++;
            length = at - start;
            if (at < bytes && text[at] == '\n' && length != 0 && text[at - 1] == '\r')
                length--;
            if (length != 0 && text[start + length - 1] == '\r') {
                f->status = TPD_MALFORMED;
                return;
            }
        }
        f->cells[f->count++] = tpd_cell_of(start, length);
        if (at == bytes || text[at] == '\n')
            f->row_ends[f->rows++] = f->count;
        at++;
    }
}

static void scan(const unsigned char *text, size_t bytes, char delimiter, bool quotes, uint32_t most, uint32_t rows_most,
                 struct found *f) {
    struct tpd_cell_scan s = {.text = text,
                              .first = text,
                              .at = text,
                              .end = text + bytes,
                              .delimiter = (unsigned char)delimiter,
                              .quotes = quotes,
                              .is_whole = true};
    struct tpd_cell_batch batch;
    struct tpd_error error = {.text = ""};
    const unsigned char *bad = NULL;
    memset(f, 0, sizeof *f);
    ck_assert_ok(tpd_cell_batch_init(&batch, most, &error), error);
    while (!s.is_done && f->status == TPD_OK) {
        f->status = tpd_cell_scan(&s, &batch, rows_most, &bad, &error);
        if (f->status != TPD_OK) {
            ck_assert(bad >= text && bad <= text + bytes && error.text[0] != '\0');
            break;
        }
        ck_assert_uint_le(batch.count, most + TPD_SCAN_BLOCK);
        ck_assert_uint_le(batch.rows, rows_most);
        ck_assert_msg(batch.count != 0 || s.is_done, "a scan without end");
        for (uint32_t i = 0; i < batch.rows; i++)
            f->row_ends[f->rows++] = f->count + batch.row_ends[i];
        memcpy(f->cells + f->count, batch.cells, batch.count * sizeof *batch.cells);
        f->count += batch.count;
    }
    tpd_cell_batch_fini(&batch);
}

static const char *const names[] = {"base", "avx2", "avx512"};

static void compare(const char *text, size_t bytes, char delimiter, bool quotes, uint64_t *seed) {
    static struct found wanted, got;
    struct tpd_guarded guarded = tpd_guarded_make(bytes, 1);
    memcpy(guarded.data, text, bytes);
    read_plainly(text, bytes, delimiter, quotes, &wanted);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct tpd_scan_code *code = tpd_scan_code(names[i]);
        if (code == NULL)
            continue;
        tpd_scan_use(code);
        uint32_t most = (uint32_t)(tpd_random(seed) % 200) + 1,
                 rows_most = (tpd_random(seed) & 1) != 0 ? UINT32_MAX : (uint32_t)(tpd_random(seed) % 5) + 1;
        scan(guarded.data, bytes, delimiter, quotes, most, rows_most, &got);
        ck_assert_msg(got.status == wanted.status, "%s: status %d, wanted %d: %.*s", names[i], (int)got.status,
                      (int)wanted.status, (int)bytes, text);
        if (wanted.status != TPD_OK)
            continue;
        ck_assert_msg(got.count == wanted.count && got.rows == wanted.rows, "%s: %zu cells in %zu rows, wanted %zu in %zu: %.*s",
                      names[i], got.count, got.rows, wanted.count, wanted.rows, (int)bytes, text);
        ck_assert_mem_eq(got.cells, wanted.cells, got.count * sizeof *got.cells);
        ck_assert_mem_eq(got.row_ends, wanted.row_ends, got.rows * sizeof *got.row_ends);
    }
    tpd_scan_use(NULL);
    uint64_t marks = 0;
    for (size_t i = 0; i < bytes; i++)
        marks += text[i] == delimiter || text[i] == '\n';
    ck_assert_uint_eq(tpd_cell_marks(guarded.data, bytes, (unsigned char)delimiter), marks);
    tpd_guarded_check(&guarded);
    tpd_guarded_free(&guarded);
}

/* Letters that are common, rare, or near a block's edge: every text is a new mix. */
START_TEST(test_random) {
    static const char *const alphabets[] = {"ab,\n",       "a,,\n\"\"", "abcdefghijklmnop,\r\n",
                                            "\"\"\"\",\n", "a\r\n,\"",  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,\n\""};
    static char text[TEXT_MOST];
    uint64_t seed = 42;
    for (int round = 0; round < 6000; round++) {
        const char *letters = alphabets[tpd_random(&seed) % (sizeof alphabets / sizeof *alphabets)];
        size_t bytes = tpd_random(&seed) % ((round & 7) == 0 ? TEXT_MOST : 300), kinds = strlen(letters);
        for (size_t i = 0; i < bytes; i++)
            text[i] = letters[tpd_random(&seed) % kinds];
        compare(text, bytes, ',', (round & 3) != 0, &seed);
    }
}
END_TEST

/* Well-formed cells, quoted or not: most texts above are refused early. */
START_TEST(test_well_formed) {
    static const char *const cells[] = {"",
                                        "x",
                                        "12.5",
                                        "\"a;b\"",
                                        "\"\"",
                                        "\"\"\"\"",
                                        "\"line\nline\"",
                                        "\"\r\n\"",
                                        "it's 5\" wide",
                                        "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz"};
    static char text[TEXT_MOST];
    uint64_t seed = 7;
    for (int round = 0; round < 4000; round++) {
        size_t bytes = 0, most = tpd_random(&seed) % (TEXT_MOST - 100);
        const char *end = (round & 1) != 0 ? "\r\n" : "\n";
        while (bytes < most) {
            const char *cell = cells[tpd_random(&seed) % (sizeof cells / sizeof *cells)];
            const char *behind = tpd_random(&seed) % 5 == 0 ? end : ";";
            memcpy(text + bytes, cell, strlen(cell));
            bytes += strlen(cell);
            memcpy(text + bytes, behind, strlen(behind));
            bytes += strlen(behind);
        }
        compare(text, bytes, ';', true, &seed);
    }
}
END_TEST

START_TEST(test_longest_cell) {
    const size_t most = TPD_CELL_BYTES_MOST;
    unsigned char *text = malloc(most + 16);
    struct found *f = malloc(sizeof *f);
    memset(text, 'a', most + 16);
    text[most] = ',';
    for (int quoted = 0; quoted < 2; quoted++) {
        text[most + 1] = 'a';
        text[0] = quoted ? '"' : 'a';
        text[most - 1] = quoted ? '"' : 'a';
        text[most] = ',';
        scan(text, most + 2, ',', true, 10, UINT32_MAX, f);
        ck_assert_int_eq(f->status, TPD_OK);
        ck_assert_uint_eq(f->count, 2);
        ck_assert_uint_eq(tpd_cell_bytes(f->cells[0]), most);
        text[most - 1] = 'a';
        text[most] = quoted ? '"' : 'a';
        text[most + 1] = ',';
        scan(text, most + 3, ',', true, 10, UINT32_MAX, f);
        ck_assert_int_eq(f->status, TPD_TOO_LARGE);
    }
    free(text);
    free(f);
}
END_TEST

/* A part of a table: what ends in it is found, the rest is left. */
START_TEST(test_part) {
    static const char text[] = "ab,cd\nef,\"g\nh\",ij";
    struct tpd_cell_batch batch;
    struct tpd_error error;
    const unsigned char *base = (const unsigned char *)text, *bad;
    ck_assert_ok(tpd_cell_batch_init(&batch, 100, &error), error);
    for (size_t end = 0; end <= strlen(text); end++) {
        struct tpd_cell_scan s = {.text = base, .first = base, .at = base, .end = base + end, .delimiter = ',', .quotes = true};
        static const size_t ends[] = {2, 5, 8, 14};
        size_t wanted = 0;
        while (wanted < 4 && ends[wanted] < end)
            wanted++;
        ck_assert_ok(tpd_cell_scan(&s, &batch, UINT32_MAX, &bad, &error), error);
        ck_assert_uint_eq(batch.count, wanted);
        ck_assert_uint_eq((size_t)(s.at - base), wanted == 0 ? 0 : ends[wanted - 1] + 1);
        ck_assert(!s.is_done);
    }
    tpd_cell_batch_fini(&batch);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cell_scan");
    TCase *tests = tcase_create("cell_scan");
    tcase_add_test(tests, test_random);
    tcase_add_test(tests, test_well_formed);
    tcase_add_test(tests, test_longest_cell);
    tcase_add_test(tests, test_part);
    suite_add_tcase(suite, tests);
    return tpd_harness_main(suite);
}
