/* test_tuning_text.c -- a table as text: it comes back, damage and age are told apart, and nothing hostile is believed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "transposed/transposed.h"

static struct tpd_error error;
static struct tpd_tuning table;

static void put(uint32_t itemsize, bool aligned, enum tpd_tuning_shape shape, enum tpd_strategy_id id, uint32_t variant) {
    struct tpd_tuning_cell *cell = &table.cell[tpd_tuning_size(itemsize)][aligned][shape];
    table.cells += cell->bytes == 0;
    *cell = (struct tpd_tuning_cell){
        .bytes = 1000 + (uint64_t)shape, .best = {id, variant, 50}, .next = {TPD_STRATEGY_NAIVE, 0, 70}, .rule = {id, 0, 60}};
}

static void fill(uint64_t seed) {
    memset(&table, 0, sizeof table);
    (void)snprintf(table.device, sizeof table.device, "GPU %lu; GPU-1234; driver 13000; runtime 13000; build 1",
                   (unsigned long)seed);
    (void)snprintf(table.host, sizeof table.host, "CPU; threads 2");
    table.at_unix_s = 1700000000 + seed;
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++) {
        table.crossover_bytes[size] = tpd_random(&seed) % 100000;
        for (int aligned = 0; aligned < 2; aligned++)
            for (int shape = 0; shape < TPD_SHAPE_COUNT; shape++) {
                enum tpd_strategy_id id = (enum tpd_strategy_id)(tpd_random(&seed) % TPD_STRATEGY_COUNT);
                if (tpd_random(&seed) % 4 == 0)
                    continue;
                put(tpd_tuning_itemsize(size), aligned != 0, (enum tpd_tuning_shape)shape, id,
                    (uint32_t)(tpd_random(&seed) % tpd_strategy_variants(id)));
                if (tpd_random(&seed) % 8 == 0)
                    table.cell[size][aligned][shape].next = (struct tpd_tuning_way){.ns = 0};
            }
    }
}

static bool is_same_way(const struct tpd_tuning_way *a, const struct tpd_tuning_way *b) {
    return a->ns == b->ns && (a->ns == 0 || (a->strategy == b->strategy && a->variant == b->variant));
}

static void check_same(const struct tpd_tuning *a, const struct tpd_tuning *b) {
    ck_assert_str_eq(a->device, b->device);
    ck_assert_str_eq(a->host, b->host);
    ck_assert_uint_eq(a->at_unix_s, b->at_unix_s);
    ck_assert_uint_eq(a->cells, b->cells);
    ck_assert_mem_eq(a->crossover_bytes, b->crossover_bytes, sizeof a->crossover_bytes);
    const struct tpd_tuning_cell *left = &a->cell[0][0][0], *right = &b->cell[0][0][0];
    for (size_t i = 0; i < sizeof a->cell / sizeof *left; i++)
        ck_assert(left[i].bytes == right[i].bytes && is_same_way(&left[i].best, &right[i].best) &&
                  is_same_way(&left[i].next, &right[i].next) && is_same_way(&left[i].rule, &right[i].rule));
}

static struct tpd_tuning back;

static enum tpd_status read_for(const char *device, const char *text, size_t bytes) {
    memset(&back, 0xa5, sizeof back);
    (void)snprintf(back.device, sizeof back.device, "%s", device);
    error = (struct tpd_error){.text = ""};
    enum tpd_status status = tpd_tuning_read(text, bytes, &back, &error);
    ck_assert_str_eq(back.device, device);
    if (status != TPD_OK) {
        ck_assert_uint_eq(back.cells, 0);
        ck_assert_str_ne(error.text, "");
    }
    return status;
}

START_TEST(text_comes_back) {
    struct tpd_buf text, both;
    for (uint64_t seed = 1; seed < 40; seed++) {
        tpd_buf_init(&text, TPD_TUNING_TEXT_MOST);
        tpd_buf_init(&both, TPD_TUNING_TEXT_MOST);
        fill(seed);
        if (seed % 5 == 0)
            table.host[0] = '\0';
        ck_assert_int_eq(tpd_tuning_write(&table, NULL, 0, &text), TPD_OK);
        ck_assert(tpd_tuning_is_text(text.data, text.bytes));
        ck_assert_ok(read_for(table.device, text.data, text.bytes), error);
        check_same(&table, &back);
        struct tpd_tuning first = table;
        fill(seed + 1000);
        ck_assert_int_eq(tpd_tuning_write(&table, text.data, text.bytes, &both), TPD_OK);
        ck_assert_ok(read_for(table.device, both.data, both.bytes), error);
        check_same(&table, &back);
        ck_assert_ok(read_for(first.device, both.data, both.bytes), error);
        check_same(&first, &back);
        /* Written again: it takes the place of the older one. */
        tpd_buf_clear(&text);
        ck_assert_int_eq(tpd_tuning_write(&table, both.data, both.bytes, &text), TPD_OK);
        ck_assert_uint_eq(text.bytes, both.bytes);
        tpd_buf_fini(&text);
        tpd_buf_fini(&both);
    }
}
END_TEST

/* No byte can be lost or changed unnoticed, and a table that is refused is empty. */
START_TEST(damage_is_noticed) {
    struct tpd_buf text;
    tpd_buf_init(&text, TPD_TUNING_TEXT_MOST);
    fill(4);
    ck_assert_int_eq(tpd_tuning_write(&table, NULL, 0, &text), TPD_OK);
    for (size_t bytes = 0; bytes < text.bytes; bytes += bytes < 600 ? 1 : 37) {
        char *part = malloc(bytes + 1); /* of that size, for the sanitizer */
        memcpy(part, text.data, bytes);
        enum tpd_status status = read_for(table.device, part, bytes);
        ck_assert_msg(status == TPD_TRUNCATED || status == TPD_NOT_FOUND || status == TPD_MALFORMED, "%zu bytes: %s", bytes,
                      tpd_status_slug(status));
        ck_assert(status != TPD_NOT_FOUND || bytes == strlen("transposed-tuning 1\n"));
        free(part);
    }
    uint64_t state = 11;
    for (int i = 0; i < 4000; i++) {
        size_t at = tpd_random(&state) % text.bytes;
        char was = text.data[at];
        text.data[at] = (char)(was ^ (1 << tpd_random(&state) % 8));
        ck_assert_int_ne(read_for(table.device, text.data, text.bytes), TPD_OK);
        text.data[at] = was;
    }
    ck_assert_ok(read_for(table.device, text.data, text.bytes), error);
    tpd_buf_fini(&text);
}
END_TEST

/* A section whose hash is right, whatever it says. */
static enum tpd_status read_section(const char *lines) {
    struct tpd_buf text;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *at = lines; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    tpd_buf_init(&text, TPD_TUNING_TEXT_MOST);
    (void)tpd_buf_format(&text, "transposed-tuning 1\n%send %016lx\n", lines, (unsigned long)hash);
    enum tpd_status status = read_for("D", text.data, text.bytes);
    tpd_buf_fini(&text);
    return status;
}

#define HEAD "device D\nhost\nat 5\ncrossover 1 2 3 4 5 6\n"
#define CELL "cell 4 aligned large 100 vector 1 50 - 0 0 vector 0 60\n"

START_TEST(hostile_sections) {
    static const char *const bad[] = {
        "",
        "end\n",
        "device \n",
        "nodevice D\n" CELL,
        "device D\n",
        "device D\nhost\nat 5\n",
        "device D\nhost\nat x\ncrossover 1 2 3 4 5 6\n",
        "device D\nhost\nat 5\ncrossover 1 2 3 4 5\n",
        "device D\nhost\nat 99999999999999999999\ncrossover 1 2 3 4 5 6\n",
        HEAD CELL CELL,
        HEAD "cell 3 aligned large 100 vector 1 50 - 0 0 vector 0 60\n",
        HEAD "cell 4 crooked large 100 vector 1 50 - 0 0 vector 0 60\n",
        HEAD "cell 4 aligned gigantic 100 vector 1 50 - 0 0 vector 0 60\n",
        HEAD "cell 4 aligned large 0 vector 1 50 - 0 0 vector 0 60\n",
        HEAD "cell 4 aligned large 100 auto 0 50 - 0 0 vector 0 60\n",
        HEAD "cell 4 aligned large 100 fastest 0 50 - 0 0 vector 0 60\n",
        HEAD "cell 4 aligned large 100 vector 200 50 - 0 0 vector 0 60\n",
        HEAD "cell 4 aligned large 100 vector 4294967296 50 - 0 0 vector 0 60\n",
        HEAD "cell 4 aligned large 100 vector -1 50 - 0 0 vector 0 60\n",
        HEAD "cell 4 aligned large 100 vector 1 0 - 0 0 vector 0 60\n",
        HEAD "cell 4 aligned large 100 - 0 0 - 0 0 vector 0 60\n",
        HEAD "cell 4 aligned large 100 vector 1 50 - 0 0 - 0 0\n",
        HEAD "cell 4 aligned large 100 vector 1 50 - 0 0 vector 0 60 \n",
        HEAD "cell  4 aligned large 100 vector 1 50 - 0 0 vector 0 60\n",
        HEAD "cell 4 aligned large 100 vector 1 50\n",
        HEAD "cell 4 aligned wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww 1\n",
        HEAD "more\n" CELL,
    };
    ck_assert_ok(read_section(HEAD CELL), error);
    ck_assert_uint_eq(back.cells, 1);
    ck_assert_uint_eq(back.cell[2][1][TPD_SHAPE_LARGE].best.variant, 1);
    ck_assert_ok(read_section(HEAD), error);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        enum tpd_status status = read_section(bad[i]);
        ck_assert_msg(status == TPD_MALFORMED || status == TPD_TRUNCATED || status == TPD_NOT_FOUND, "case %zu: %s", i,
                      tpd_status_slug(status));
        ck_assert_msg(status != TPD_NOT_FOUND || strncmp(bad[i], "device D\n", 9) != 0, "case %zu", i);
    }
}
END_TEST

START_TEST(what_a_text_is_not) {
    ck_assert_int_eq(read_for("D", "", 0), TPD_TRUNCATED);
    ck_assert_int_eq(read_for("D", "root:x:0:0:root\n", 16), TPD_UNSUPPORTED);
    ck_assert_int_eq(read_for("D", "transposed-tuning 2\ndevice D\n", 29), TPD_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "version"));
    ck_assert(!tpd_tuning_is_text("#!/bin/sh\n", 10));
    ck_assert(tpd_tuning_is_text("", 0));
    char *huge = calloc(1, TPD_TUNING_TEXT_MOST + 1);
    ck_assert_int_eq(read_for("D", huge, TPD_TUNING_TEXT_MOST + 1), TPD_TOO_LARGE);
    free(huge);
}
END_TEST

/* Age is told from damage, and by what it differs. */
START_TEST(age_is_named) {
    struct tpd_buf text;
    tpd_buf_init(&text, TPD_TUNING_TEXT_MOST);
    fill(4);
    ck_assert_int_eq(tpd_tuning_write(&table, NULL, 0, &text), TPD_OK);
    ck_assert_int_eq(read_for("GPU 4; GPU-1234; driver 13010; runtime 13000; build 1", text.data, text.bytes), TPD_NOT_FOUND);
    ck_assert_str_eq(error.text, "it was measured for 'driver 13000', and this is 'driver 13010'");
    ck_assert_int_eq(read_for("GPU 4; GPU-1234; driver 13000; runtime 13000; build 2+3", text.data, text.bytes), TPD_NOT_FOUND);
    ck_assert_str_eq(error.text, "it was measured for 'build 1', and this is 'build 2+3'");
    ck_assert_int_eq(read_for("Other", text.data, text.bytes), TPD_NOT_FOUND);
    tpd_buf_fini(&text);
}
END_TEST

/* Many devices, of which the newest stay; damaged sections and all behind them are dropped. */
START_TEST(sections_are_bounded) {
    struct tpd_buf text[2];
    int now = 0;
    tpd_buf_init(&text[0], TPD_TUNING_TEXT_MOST);
    tpd_buf_init(&text[1], TPD_TUNING_TEXT_MOST);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        fill(seed);
        struct tpd_buf *to = &text[1 - now];
        tpd_buf_clear(to);
        ck_assert_int_eq(tpd_tuning_write(&table, text[now].data, text[now].bytes, to), TPD_OK);
        ck_assert_uint_le(to->bytes, TPD_TUNING_TEXT_MOST);
        now = 1 - now;
    }
    for (uint64_t seed = 1; seed <= 50; seed++) {
        fill(seed);
        enum tpd_status status = read_for(table.device, text[now].data, text[now].bytes);
        ck_assert_int_eq(status, seed > 50 - TPD_TUNING_SECTIONS_MOST ? TPD_OK : TPD_NOT_FOUND);
    }
    tpd_buf_fini(&text[0]);
    tpd_buf_fini(&text[1]);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("tuning_text");
    TCase *tests = tcase_create("tuning_text");
    tcase_add_test(tests, text_comes_back);
    tcase_add_test(tests, damage_is_noticed);
    tcase_add_test(tests, hostile_sections);
    tcase_add_test(tests, what_a_text_is_not);
    tcase_add_test(tests, age_is_named);
    tcase_add_test(tests, sections_are_bounded);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
