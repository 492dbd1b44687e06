/* test_pack.c -- gzip and zstd: there and back in pieces, members one after another, cut and broken streams, a limit on the way.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "server/pack/pack.h"

struct bytes {
    unsigned char *data;
    size_t count, room, most; /* most: more is refused */
};

static enum tpd_status take(void *self, const void *bytes, size_t count, struct tpd_error *error) {
    struct bytes *to = self;
    if (count > to->most - to->count)
        return tpd_fail(error, TPD_TOO_LARGE, "more than %zu bytes", to->most);
    if (to->data == NULL || to->count + count > to->room) {
        to->room = 2 * (to->count + count) + 1;
        to->data = realloc(to->data, to->room);
    }
    memcpy(to->data + to->count, bytes, count);
    to->count += count;
    return TPD_OK;
}

static enum tpd_status through(enum tpd_packing packing, bool unpack, const unsigned char *from, size_t count, size_t piece,
                               struct bytes *to, struct tpd_error *error) {
    struct tpd_packer *packer;
    to->data = NULL;
    to->count = 0;
    enum tpd_status status = tpd_packer_open(packing, unpack, take, to, &packer, error);
    for (size_t at = 0; at < count && status == TPD_OK; at += piece)
        status = tpd_packer_push(packer, from + at, count - at < piece ? count - at : piece, error);
    if (status == TPD_OK)
        status = tpd_packer_finish(packer, error);
    tpd_packer_close(packer);
    return status;
}

/* Half random, half repeated: it shrinks, and not to nothing. */
static unsigned char *some(size_t count, uint64_t seed) {
    unsigned char *data = malloc(count + 1);
    tpd_random_fill(data, count / 2, seed);
    memset(data + count / 2, 'x', count - count / 2);
    return data;
}

START_TEST(test_there_and_back) {
    static const size_t counts[] = {0, 1, 1000, 262143, 262144, 262145, 3000000};
    static const size_t pieces[] = {1 << 30, 65536, 777};
    for (int packing = TPD_PACKING_GZIP; packing < TPD_PACKING_COUNT; packing++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
                unsigned char *data = some(counts[c], c + 1);
                struct bytes packed = {.most = SIZE_MAX}, plain = {.most = SIZE_MAX};
                struct tpd_error error = {.text = ""};
                ck_assert_ok(through((enum tpd_packing)packing, false, data, counts[c], pieces[p], &packed, &error), error);
                ck_assert(tpd_packing_by_magic(packed.data, packed.count) == (enum tpd_packing)packing);
                ck_assert_ok(through((enum tpd_packing)packing, true, packed.data, packed.count, pieces[p], &plain, &error),
                             error);
                ck_assert_uint_eq(plain.count, counts[c]);
                ck_assert(counts[c] == 0 || memcmp(plain.data, data, counts[c]) == 0);
                free(plain.data);
                /* Twice behind one another is twice as much. */
                packed.data = realloc(packed.data, 2 * packed.count);
                memcpy(packed.data + packed.count, packed.data, packed.count);
                ck_assert_ok(through((enum tpd_packing)packing, true, packed.data, 2 * packed.count, pieces[p], &plain, &error),
                             error);
                ck_assert_uint_eq(plain.count, 2 * counts[c]);
                free(plain.data);
                free(packed.data);
                free(data);
            }
}
END_TEST

START_TEST(test_broken) {
    unsigned char *data = some(100000, 3);
    for (int packing = TPD_PACKING_GZIP; packing < TPD_PACKING_COUNT; packing++) {
        struct bytes packed = {.most = SIZE_MAX}, plain = {.most = SIZE_MAX};
        struct tpd_error error = {.text = ""};
        ck_assert_ok(through((enum tpd_packing)packing, false, data, 100000, 1 << 30, &packed, &error), error);
        for (size_t cut = 0; cut < packed.count; cut += cut < 40 ? 1 : packed.count / 7) {
            ck_assert_int_eq(through((enum tpd_packing)packing, true, packed.data, cut, 999, &plain, &error), TPD_TRUNCATED);
            free(plain.data);
        }
        packed.data[packed.count / 2] ^= 0x55;
        ck_assert_int_eq(through((enum tpd_packing)packing, true, packed.data, packed.count, 999, &plain, &error), TPD_MALFORMED);
        free(plain.data);
        ck_assert_int_eq(through((enum tpd_packing)packing, true, data, 1000, 999, &plain, &error), TPD_MALFORMED);
        free(plain.data);
        free(packed.data);
    }
    free(data);
}
END_TEST

/* A whole frame of one byte, whose header asks for a window of 256 MiB. */
START_TEST(test_window) {
    static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x90, 0x09, 0x00, 0x00, 'a'};
    struct bytes plain = {.most = SIZE_MAX};
    struct tpd_error error = {.text = ""};
    ck_assert_int_eq(through(TPD_PACKING_ZSTD, true, frame, sizeof frame, 999, &plain, &error), TPD_TOO_LARGE);
    ck_assert_msg(strstr(error.text, "134217728 bytes") != NULL, "%s", error.text);
    free(plain.data);
}
END_TEST

/* A gigabyte of nothing in a few kilobytes: whoever takes it says when to stop. */
START_TEST(test_bomb) {
    enum { MIB = 1 << 20 };
    unsigned char *zeros = calloc(1, MIB);
    for (int packing = TPD_PACKING_GZIP; packing < TPD_PACKING_COUNT; packing++) {
        struct bytes packed = {.most = SIZE_MAX}, plain = {.most = 4 * MIB};
        struct tpd_error error = {.text = ""};
        struct tpd_packer *packer;
        ck_assert_ok(tpd_packer_open((enum tpd_packing)packing, false, take, &packed, &packer, &error), error);
        for (int i = 0; i < 64; i++)
            ck_assert_ok(tpd_packer_push(packer, zeros, MIB, &error), error);
        ck_assert_ok(tpd_packer_finish(packer, &error), error);
        tpd_packer_close(packer);
        ck_assert_uint_lt(packed.count, MIB);
        ck_assert_int_eq(through((enum tpd_packing)packing, true, packed.data, packed.count, 1 << 30, &plain, &error),
                         TPD_TOO_LARGE);
        ck_assert_uint_le(plain.count, 4 * MIB);
        free(plain.data);
        free(packed.data);
    }
    free(zeros);
}
END_TEST

START_TEST(test_names) {
    static const struct {
        const char *accept;
        enum tpd_packing packing;
    } accepts[] = {{NULL, TPD_PACKING_NONE},
                   {"", TPD_PACKING_NONE},
                   {"identity", TPD_PACKING_NONE},
                   {"gzip", TPD_PACKING_GZIP},
                   {"gzip, deflate, br", TPD_PACKING_GZIP},
                   {"gzip, zstd", TPD_PACKING_ZSTD},
                   {"gzip;q=1, zstd;q=0.5", TPD_PACKING_GZIP},
                   {"gzip;q=0", TPD_PACKING_NONE},
                   {"*", TPD_PACKING_ZSTD},
                   {"zstd;q=0, *", TPD_PACKING_GZIP},
                   {"identity;q=1, gzip;q=0.5", TPD_PACKING_NONE},
                   {"br", TPD_PACKING_NONE}};
    for (size_t i = 0; i < sizeof accepts / sizeof *accepts; i++)
        ck_assert_msg(tpd_packing_accept(accepts[i].accept) == accepts[i].packing, "%s",
                      accepts[i].accept != NULL ? accepts[i].accept : "nothing");
    ck_assert(tpd_packing_by_path("a/b.csv.gz") == TPD_PACKING_GZIP && tpd_packing_bare("a/b.csv.gz") == 7);
    ck_assert(tpd_packing_by_path("b.ZST") == TPD_PACKING_ZSTD && tpd_packing_by_path(".gz") == TPD_PACKING_NONE);
    ck_assert(tpd_packing_by_name("GZip") == TPD_PACKING_GZIP && tpd_packing_by_name("x-gzip") == TPD_PACKING_GZIP &&
              tpd_packing_by_name("br") == TPD_PACKING_COUNT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("pack");
    TCase *tests = tcase_create("pack");
    tcase_add_test(tests, test_there_and_back);
    tcase_add_test(tests, test_broken);
    tcase_add_test(tests, test_bomb);
    tcase_add_test(tests, test_window);
    tcase_add_test(tests, test_names);
    suite_add_tcase(suite, tests);
    return tpd_harness_main(suite);
}
