/* delimited_options.c -- what a request or a flag says of a table of text. */
#include <string.h>

#include "server/codec/delimited.h"

static enum tpd_status parse_delimiter(const char *text, struct tpd_table_options *options, struct tpd_error *error) {
    static const struct {
        const char *name;
        unsigned char letter;
    } names[] = {{"tab", '\t'}, {"\\t", '\t'}, {"comma", ','}, {"semicolon", ';'}, {"colon", ':'}, {"pipe", '|'}, {"space", ' '}};
    options->has_delimiter = true;
    options->delimiter = (unsigned char)text[0];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, text) == 0) {
            options->delimiter = names[i].letter;
            return TPD_OK;
        }
    if (text[0] != '\0' && text[1] == '\0' && strchr("\r\n\"", text[0]) == NULL)
        return TPD_OK;
    return tpd_fail(
        error, TPD_BAD_PARAMETER,
        "delimiter is \"%.40s\": it takes one byte that is no line end and no quote, or one of tab, comma, semicolon, "
        "colon, pipe, space",
        text);
}

/* A filler that would fall in two, or end a line, is not one cell. */
static enum tpd_status parse_filler(const char *text, struct tpd_table_options *options, struct tpd_error *error) {
    size_t length = strlen(text);
    if (length >= sizeof options->filler)
        return tpd_fail_limit(error, TPD_BAD_PARAMETER, sizeof options->filler - 1, length,
                              "filler has %zu bytes, the most is %zu", length, sizeof options->filler - 1);
    if (text[strcspn(text, "\r\n\"")] != '\0')
        return tpd_fail(error, TPD_BAD_PARAMETER, "filler is \"%.40s\": it takes plain text without quotes and line ends", text);
    memcpy(options->filler, text, length + 1);
    return TPD_OK;
}

enum tpd_status tpd_table_option_parse(const char *name, const char *text, struct tpd_table_options *options,
                                       struct tpd_error *error) {
    if (strcmp(name, "delimiter") == 0)
        return parse_delimiter(text, options, error);
    if (strcmp(name, "filler") == 0)
        return parse_filler(text, options, error);
    bool is_quotes = strcmp(name, "quotes") == 0;
    if (!is_quotes && strcmp(name, "ragged") != 0)
        return tpd_fail(error, TPD_BAD_PARAMETER, "%.40s is no option of a table: delimiter, quotes, ragged and filler are",
                        name);
    const char *const *words = is_quotes ? (const char *const[]){"on", "off"} : (const char *const[]){"error", "pad"};
    bool is_second = strcmp(text, words[1]) == 0;
    if (!is_second && strcmp(text, words[0]) != 0)
        return tpd_fail(error, TPD_BAD_PARAMETER, "%s is \"%.40s\": it takes %s or %s", name, text, words[0], words[1]);
    if (is_quotes)
        options->quotes_off = is_second;
    else
        options->ragged = is_second ? TPD_RAGGED_PAD : TPD_RAGGED_ERROR;
    return TPD_OK;
}
