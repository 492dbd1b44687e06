/* test_golden.c -- golden/: NAME.in.FORMAT must become NAME.out.FORMAT, byte for byte; golden_refuse/: SLUG--WHAT.FORMAT must be
 * refused with that slug. NAME.params holds the query. Each body goes in whole, and in pieces of 1, 7 and 4096 bytes, with its
 * size known and not. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "tests/golden/codec_road.h"

enum { FILE_MOST = 1 << 20 };

struct params {
    struct tpd_decode_options decode;
    struct tpd_encode_options encode;
    enum tpd_codec_id to;
};

static size_t load(const char *path, unsigned char *bytes) {
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s can't be opened", path);
    size_t count = fread(bytes, 1, FILE_MOST, file);
    ck_assert_msg(count < FILE_MOST, "%s is too long", path);
    fclose(file);
    return count;
}

static void set(struct params *p, const char *key, const char *value) {
    struct tpd_error error;
    struct tpd_decode_options *d = &p->decode;
    uint64_t number = strtoull(value, NULL, 10);
    if (strcmp(key, "rows") == 0)
        d->has_rows = true, d->rows = number;
    else if (strcmp(key, "cols") == 0)
        d->has_cols = true, d->cols = number;
    else if (strcmp(key, "batch") == 0)
        d->has_batch = true, d->batch = number;
    else if (strcmp(key, "itemsize") == 0)
        d->has_itemsize = true, d->itemsize = (uint32_t)number;
    else if (strcmp(key, "most") == 0)
        d->body_most_bytes = number;
    else if (strcmp(key, "nonfinite") == 0)
        p->encode.nonfinite = value[0] == 's' ? TPD_NONFINITE_STRING : TPD_NONFINITE_NULL;
    else if (strcmp(key, "tensor") == 0) {
        ck_assert_ok(tpd_tensor_name(value, d->tensor, &error), error);
        memcpy(p->encode.tensor, d->tensor, sizeof d->tensor);
    } else if (strcmp(key, "to") == 0)
        p->to = tpd_codec_by_name(value);
    else if (strcmp(key, "dtype") == 0) {
        ck_assert_ok(tpd_dtype_find(value, &d->dtype, &error), error);
        d->has_dtype = p->encode.has_dtype = true;
        p->encode.dtype = d->dtype;
    } else {
        ck_assert_ok(tpd_table_option_parse(key, value, &d->table, &error), error);
        p->encode.has_delimiter = d->table.has_delimiter;
        p->encode.delimiter = d->table.delimiter;
    }
}

static struct params params_of(const char *folder, const char *stem) {
    struct params p = {.to = TPD_CODEC_COUNT};
    p.decode.memory = p.encode.memory = tpd_memory_heap();
    p.decode.body_most_bytes = FILE_MOST;
    char path[512], text[512], *at = NULL;
    snprintf(path, sizeof path, "%s/%s.params", folder, stem);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return p;
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    fclose(file);
    for (char *word = strtok_r(text, "&\n", &at); word != NULL; word = strtok_r(NULL, "&\n", &at)) {
        char *equals = strchr(word, '=');
        ck_assert_ptr_nonnull(equals);
        *equals = '\0';
        set(&p, word, equals + 1);
    }
    return p;
}

static const struct {
    size_t piece;
    bool known;
} ways[] = {{0, true}, {0, false}, {1, false}, {7, true}, {4096, true}};
enum { WAYS = sizeof ways / sizeof *ways };

/* The files of a folder that a name's middle picks. */
static int walk(const char *folder, void (*each)(const char *folder, const char *name)) {
    int count = 0;
    DIR *dir = opendir(folder);
    ck_assert_msg(dir != NULL, "%s can't be opened", folder);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (tpd_codec_by_path(entry->d_name) == TPD_CODEC_COUNT || strstr(entry->d_name, ".out.") != NULL)
            continue;
        each(folder, entry->d_name);
        count++;
    }
    closedir(dir);
    return count;
}

static void golden(const char *folder, const char *name) {
    char stem[256], path[600];
    const char *dot = strstr(name, ".in.");
    if (dot == NULL) /* the generator, read-me files */
        return;
    snprintf(stem, sizeof stem, "%.*s", (int)(dot - name), name);
    struct params p = params_of(folder, stem);
    unsigned char *body = malloc(FILE_MOST), *wanted = malloc(FILE_MOST);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    size_t bytes = load(path, body), wanted_bytes = 0;
    for (int i = 0; i < TPD_CODEC_COUNT && p.to == TPD_CODEC_COUNT; i++) {
        snprintf(path, sizeof path, "%s/%s.out.%s", folder, stem, tpd_codec_name((enum tpd_codec_id)i));
        FILE *file = fopen(path, "rb");
        if (file != NULL) {
            fclose(file);
            p.to = (enum tpd_codec_id)i;
            wanted_bytes = load(path, wanted);
        }
    }
    ck_assert_msg(p.to != TPD_CODEC_COUNT, "%s has no .out file", stem);
    for (int w = 0; w < WAYS; w++) {
        struct tpd_encoded answer;
        struct tpd_error error = {0};
        p.decode.has_content_bytes = ways[w].known;
        p.decode.content_bytes = bytes;
        enum tpd_status status =
            codec_road(tpd_codec_by_path(name), p.to, &p.decode, &p.encode, body, bytes, ways[w].piece, NULL, &answer, &error);
        ck_assert_msg(status == TPD_OK, "%s: %s: %s", name, tpd_status_slug(status), error.text);
        ck_assert_msg(answer.bytes == wanted_bytes && memcmp(answer.start, wanted, wanted_bytes) == 0,
                      "%s: %zu bytes, not %zu: %.*s", name, answer.bytes, wanted_bytes, (int)answer.bytes,
                      (const char *)answer.start);
        tpd_encoded_release(&answer);
    }
    free(body);
    free(wanted);
}

static void refused(const char *folder, const char *name) {
    char stem[256], slug[64], path[600];
    const char *dashes = strstr(name, "--");
    ck_assert_msg(dashes != NULL, "%s has no slug", name);
    snprintf(slug, sizeof slug, "%.*s", (int)(dashes - name), name);
    snprintf(stem, sizeof stem, "%.*s", (int)(strrchr(name, '.') - name), name);
    ck_assert_msg(tpd_status_find(slug) != TPD_STATUS_COUNT, "%s: there is no slug %s", name, slug);
    struct params p = params_of(folder, stem);
    enum tpd_codec_id in = tpd_codec_by_path(name);
    unsigned char *body = malloc(FILE_MOST);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    size_t bytes = load(path, body);
    for (int w = 0; w < WAYS; w++) {
        struct tpd_encoded answer;
        struct tpd_error error = {0};
        p.decode.has_content_bytes = ways[w].known;
        p.decode.content_bytes = bytes;
        tpd_heap_begin(0);
        enum tpd_status status = codec_road(in, p.to != TPD_CODEC_COUNT ? p.to : in, &p.decode, &p.encode, body, bytes,
                                            ways[w].piece, NULL, &answer, &error);
        ck_assert_msg(status == tpd_status_find(slug), "%s: %s: %s", name, tpd_status_slug(status), error.text);
        ck_assert_int_eq(error.status, status);
        ck_assert_msg(strlen(error.text) > 20, "%s: '%s' says too little", name, error.text);
        ck_assert_msg((error.has & TPD_ERROR_HAS_OFFSET) == 0 || error.offset <= bytes, "%s: offset %llu", name,
                      (unsigned long long)error.offset);
        bool placed = status == TPD_MALFORMED || status == TPD_TRUNCATED || status == TPD_TRAILING || status == TPD_RAGGED;
        ck_assert_msg(!placed || (error.has & TPD_ERROR_HAS_OFFSET) != 0, "%s: no offset in '%s'", name, error.text);
        bool is_text = in == TPD_CODEC_JSON || in == TPD_CODEC_CSV || in == TPD_CODEC_TSV;
        ck_assert_msg(!placed || !is_text || (error.has & TPD_ERROR_HAS_LINE) != 0, "%s: no line in '%s'", name, error.text);
        ck_assert_int_eq(tpd_heap_end(), 0);
    }
    free(body);
}

START_TEST(test_golden_files) {
    ck_assert_int_ge(walk("tests/golden", golden), 80);
}
END_TEST

START_TEST(test_refused_files) {
    ck_assert_int_ge(walk("tests/golden_refuse", refused), 120);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("golden");
    TCase *c = tcase_create("files");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_golden_files);
    tcase_add_test(c, test_refused_files);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
