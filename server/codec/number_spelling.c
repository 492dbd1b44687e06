/* number_spelling.c -- see number_spelling.h. */
#include "server/codec/number_spelling.h"

#include <string.h>
#include <strings.h>

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static void skip_blanks(const char **text, size_t *bytes) {
    while (*bytes != 0 && is_blank(**text))
        ++*text, --*bytes;
    while (*bytes != 0 && is_blank((*text)[*bytes - 1]))
        --*bytes;
}

static void skip_plus(const char **text, size_t *bytes) {
    if (*bytes > 1 && **text == '+' && (*text)[1] != '-' && (*text)[1] != '+')
        ++*text, --*bytes;
}

void tpd_spelling_trim(const char **text, size_t *bytes) {
    if (*bytes > 1 && **text == '"' && (*text)[*bytes - 1] == '"')
        ++*text, *bytes -= 2;
    skip_blanks(text, bytes);
    skip_plus(text, bytes);
}

static const struct {
    enum tpd_word word;
    const char *letters;
} json[] = {{TPD_WORD_NULL, "null"},
            {TPD_WORD_TRUE, "true"},
            {TPD_WORD_FALSE, "false"},
            {TPD_WORD_NAN, "\"NaN\""},
            {TPD_WORD_INFINITY, "\"Infinity\""},
            {TPD_WORD_MINUS_INFINITY, "\"-Infinity\""}},
  plain[] = {{TPD_WORD_NAN, "nan"},
             {TPD_WORD_NAN, "-nan"},
             {TPD_WORD_INFINITY, "inf"},
             {TPD_WORD_INFINITY, "infinity"},
             {TPD_WORD_MINUS_INFINITY, "-inf"},
             {TPD_WORD_MINUS_INFINITY, "-infinity"},
             {TPD_WORD_TRUE, "true"},
             {TPD_WORD_FALSE, "false"}};

enum tpd_word tpd_spelling_word(enum tpd_spelling spelling, const char *text, size_t bytes) {
    if (spelling == TPD_SPELLING_JSON) {
        for (size_t i = 0; i < sizeof json / sizeof *json; i++)
            if (strlen(json[i].letters) == bytes && memcmp(json[i].letters, text, bytes) == 0)
                return json[i].word;
        return TPD_WORD_NONE;
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strlen(plain[i].letters) == bytes && strncasecmp(plain[i].letters, text, bytes) == 0)
            return plain[i].word;
    return TPD_WORD_NONE;
}

static void part(const char *from, const char *to, const char **at, size_t *bytes) {
    *at = from;
    *bytes = (size_t)(to - from);
    skip_blanks(at, bytes);
    skip_plus(at, bytes);
}

/* [re, im]; or a real number. */
static bool json_pair(const char *text, size_t bytes, struct tpd_pair *pair) {
    if (bytes == 0 || text[0] != '[') {
        pair->re = text;
        pair->re_bytes = bytes;
        return true;
    }
    const char *end = text + bytes - 1, *comma = memchr(text, ',', bytes);
    if (bytes < 2 || *end != ']' || comma == NULL)
        return false;
    pair->re = text + 1;
    pair->re_bytes = (size_t)(comma - pair->re);
    pair->im = comma + 1;
    pair->im_bytes = (size_t)(end - pair->im);
    skip_blanks(&pair->re, &pair->re_bytes);
    skip_blanks(&pair->im, &pair->im_bytes);
    return true;
}

/* Two numbers with blanks between them; or a real one. */
static bool market_pair(const char *text, size_t bytes, struct tpd_pair *pair) {
    const char *end = text + bytes, *gap = text;
    while (gap < end && !is_blank(*gap))
        gap++;
    part(text, gap, &pair->re, &pair->re_bytes);
    if (gap < end)
        part(gap, end, &pair->im, &pair->im_bytes);
    return true;
}

/* (re+imj), re-imj, imj, re; also with +- between the parts, as numpy.savetxt once wrote. */
static bool plain_pair(const char *text, size_t bytes, struct tpd_pair *pair) {
    if (bytes > 1 && text[0] == '(' && text[bytes - 1] == ')') {
        text++;
        bytes -= 2;
        skip_blanks(&text, &bytes);
    }
    if (bytes == 0)
        return false;
    const char *end = text + bytes - 1, *sign = NULL;
    if (*end != 'j' && *end != 'J' && *end != 'i') {
        part(text, end + 1, &pair->re, &pair->re_bytes);
        return true;
    }
    for (const char *at = end; at > text + 1 && sign == NULL;)
        if ((*--at == '+' || *at == '-') && at[-1] != 'e' && at[-1] != 'E')
            sign = at;
    if (sign != NULL) {
        const char *stop = sign - (sign - text > 1 && *sign == '-' && sign[-1] == '+');
        part(text, stop, &pair->re, &pair->re_bytes);
    }
    part(sign != NULL ? sign : text, end, &pair->im, &pair->im_bytes);
    return true;
}

bool tpd_spelling_pair(enum tpd_spelling spelling, const char *text, size_t bytes, struct tpd_pair *pair) {
    *pair = (struct tpd_pair){NULL, NULL, 0, 0};
    return spelling == TPD_SPELLING_JSON     ? json_pair(text, bytes, pair)
           : spelling == TPD_SPELLING_MARKET ? market_pair(text, bytes, pair)
                                             : plain_pair(text, bytes, pair);
}
