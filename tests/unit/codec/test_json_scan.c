/* test_json_scan.c -- JSON's tokens at every alignment: what is read eight bytes at a time must see each single byte. */
#include <string.h>

#include "harness.h"
#include "server/codec/json_scan.h"

enum { LENGTH_MOST = 40 };

/* The token, then pad, in a buffer whose end is guarded. Answers how many bytes were taken, or -1 and where it failed. */
static int scan(const unsigned char *token, size_t bytes, size_t misalign, struct tpd_error *error) {
    struct tpd_guarded guarded = tpd_guarded_make(bytes + TPD_TEXT_PAD, misalign);
    memcpy(guarded.data, token, bytes);
    memset(guarded.data + bytes, 0, TPD_TEXT_PAD);
    struct tpd_json_scan s = {guarded.data, guarded.data + bytes, error};
    const unsigned char *end = tpd_json_scalar(&s, guarded.data);
    int taken = end != NULL ? (int)(end - guarded.data) : -1;
    tpd_guarded_check(&guarded);
    tpd_guarded_free(&guarded);
    return taken;
}

/* Every byte value at every place of a string: taken, the end, or refused there. */
START_TEST(test_string_bytes) {
    struct tpd_error error;
    for (int length = 1; length <= LENGTH_MOST; length += 3)
        for (int at = 0; at < length; at++)
            for (int byte = 0; byte < 256; byte++) {
                unsigned char token[LENGTH_MOST + 2];
                memset(token, 'a' + at % 26, sizeof token);
                token[0] = token[length + 1] = '"';
                token[1 + at] = (unsigned char)byte;
                int taken = scan(token, (size_t)length + 2, (size_t)(at % 8), &error);
                if (byte == '"')
                    ck_assert_int_eq(taken, at + 2);
                else if (byte ==
                         '\\') /* what follows is an escape or none: 'b', 'f', 'n', 'r', 't', or the final quote, then open */
                    ck_assert(taken == -1 || taken == length + 2);
                else if (byte >= 0x20 && byte < 0x80)
                    ck_assert_int_eq(taken, length + 2);
                else {
                    ck_assert_int_eq(taken, -1);
                    ck_assert_uint_eq(error.offset, (uint64_t)at + 1);
                    ck_assert_int_eq(error.status, TPD_MALFORMED);
                }
            }
}
END_TEST

/* Digits of every number up to 40, ended by every byte there is. */
START_TEST(test_number_bytes) {
    struct tpd_error error;
    for (int length = 1; length <= LENGTH_MOST; length++)
        for (int byte = 0; byte < 256; byte++) {
            unsigned char token[LENGTH_MOST + 1];
            for (int i = 0; i < length; i++)
                token[i] = (unsigned char)('1' + (i * 7 + length) % 9);
            token[length] = (unsigned char)byte;
            int taken = scan(token, (size_t)length + 1, (size_t)(length % 8), &error);
            if (byte >= '0' && byte <= '9')
                ck_assert_int_eq(taken, length + 1);
            else if (byte == '.' || byte == 'e' || byte == 'E')
                ck_assert_int_eq(error.status, TPD_TRUNCATED);
            else
                ck_assert_int_eq(taken, length);
        }
}
END_TEST

/* UTF-8: every scalar value is taken; overlong forms, surrogates and what is past U+10FFFF are not. */
START_TEST(test_utf8) {
    struct tpd_error error;
    uint64_t state = 9;
    for (int i = 0; i < 200000; i++) {
        uint32_t code = i < 2000 ? (uint32_t)i + 0x80 : (uint32_t)(tpd_random(&state) % 0x120000);
        unsigned char token[8] = {'"'};
        size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        bool over = bytes < 4 && (tpd_random(&state) & 7) == 0; /* one byte more than it needs */
        bytes += over;
        static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
        for (size_t b = bytes; b-- > 0; code >>= b == 0 ? 0 : 6)
            token[1 + b] = (unsigned char)(b == 0 ? leads[bytes] | code : 0x80 | (code & 0x3f));
        token[1 + bytes] = '"';
        uint32_t value = 0; /* what it decodes to, read back */
        for (size_t b = 0; b < bytes; b++)
            value = b == 0 ? token[1] & (bytes == 1 ? 0x7fu : 0x7fu >> bytes) : value << 6 | (token[1 + b] & 0x3fu);
        bool good =
            !over && value < 0x110000 && (value < 0xd800 || value > 0xdfff) && value >= 0x20 && value != '"' && value != '\\';
        if (bytes == 1 && (value == '"' || value == '\\'))
            continue;
        ck_assert_msg((scan(token, bytes + 2, 0, &error) == (int)bytes + 2) == good, "U+%04X in %zu bytes", value, bytes);
    }
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("json_scan");
    TCase *c = tcase_create("tokens");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_string_bytes);
    tcase_add_test(c, test_number_bytes);
    tcase_add_test(c, test_utf8);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
