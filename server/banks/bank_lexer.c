/* bank_lexer.c -- see bank_lexer.h. cJSON takes every control byte for white space, 007 and 1. for numbers, ends a string at
 * \u0000, and goes a thousand levels deep. */
#include "server/banks/bank_lexer.h"

#include <string.h>

struct lexer {
    const char *at, *end;
    const char *wrong; /* what stands at `at` and must not */
    bool open;         /* a string that never ends */
};

static bool is_digit(const struct lexer *lexer) {
    return lexer->at < lexer->end && *lexer->at >= '0' && *lexer->at <= '9';
}

static bool skip(struct lexer *lexer, const char *any) {
    if (lexer->at >= lexer->end || *lexer->at == '\0' || strchr(any, *lexer->at) == NULL)
        return false;
    lexer->at++;
    return true;
}

static bool digits(struct lexer *lexer) {
    bool some = is_digit(lexer);
    while (is_digit(lexer))
        lexer->at++;
    return some;
}

static void number(struct lexer *lexer) {
    (void)skip(lexer, "-");
    bool good = skip(lexer, "0") ? !is_digit(lexer) : digits(lexer);
    if (good && skip(lexer, "."))
        good = digits(lexer);
    if (good && skip(lexer, "eE")) {
        (void)skip(lexer, "+-");
        good = digits(lexer);
    }
    if (!good)
        lexer->wrong = "a number is not written as JSON has it";
}

static void string(struct lexer *lexer) {
    for (lexer->at++; lexer->at < lexer->end && *lexer->at != '"'; lexer->at++) {
        if ((unsigned char)*lexer->at < 0x20)
            lexer->wrong = "a control byte stands in a string";
        else if (*lexer->at == '\\' && lexer->end - lexer->at >= 6 && memcmp(lexer->at, "\\u0000", 6) == 0)
            lexer->wrong = "a string holds \\u0000";
        if (lexer->wrong != NULL)
            return;
        if (*lexer->at == '\\' && lexer->at + 1 < lexer->end)
            lexer->at++;
    }
    lexer->open = lexer->at >= lexer->end;
    lexer->at += lexer->at < lexer->end;
}

enum tpd_status tpd_bank_lex(const char *body, size_t bytes, struct tpd_error *error) {
    struct lexer lexer = {.at = body, .end = body + bytes};
    int depth = 0;
    while (lexer.at < lexer.end && lexer.wrong == NULL) {
        unsigned char byte = (unsigned char)*lexer.at;
        if (byte == '"') {
            string(&lexer);
        } else if (byte == '-' || is_digit(&lexer)) {
            number(&lexer);
        } else if (byte >= 0x7f || (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r')) {
            lexer.wrong = "a byte stands outside of a string that JSON has no use for";
        } else if ((byte == '[' || byte == '{') && ++depth > TPD_BANK_DEPTH_MOST) {
            lexer.wrong = "arrays and objects are nested deeper than a body of requests is";
        } else {
            depth -= byte == ']' || byte == '}';
            lexer.at++;
        }
    }
    if (lexer.wrong != NULL)
        return tpd_fail_at(error, TPD_MALFORMED, (uint64_t)(lexer.at - body), "%s", lexer.wrong);
    if (lexer.open || depth > 0)
        return tpd_fail_at(error, TPD_TRUNCATED, bytes, "the body ends before its JSON does");
    return TPD_OK;
}
