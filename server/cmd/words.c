/* words.c -- see words.h; the words are the tables'. */
#include "server/cmd/words.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *kind, *word;
} words[] = {
#define X(NAME, name, type, suffixes, summary) {"FORMAT", name},
#include "transposed/tbl/codecs.def"
#undef X
#define X(NAME, name, itemsize, KIND, npy, v2) {"DTYPE", name},
#include "transposed/tbl/dtypes.def"
#undef X
    {"STRATEGY", "auto"},
#define X(NAME, name, TILED, ITEMSIZES, summary) {"STRATEGY", name},
#include "transposed/tbl/strategies.def"
#undef X
    {"DEVICE", "auto"},
#define X(NAME, name, PRESENT, summary) {"DEVICE", name},
#include "transposed/tbl/backends.def"
#undef X
    {"DEVICES", "auto"},  {"DEVICES", "none"}, {"DEVICES", "cuda:0"},
#define X(NAME, name, handler, options, usage, summary) {"COMMAND", name},
#include "transposed/tbl/commands.def"
#undef X
};

bool tpd_word_at(const char *kind, unsigned index, char word[TPD_WORD_BYTES]) {
    if (strchr(kind, '|') != NULL) {
        for (; index > 0 && *kind != '\0'; index--) {
            kind += strcspn(kind, "|");
            kind += *kind == '|';
        }
        (void)snprintf(word, TPD_WORD_BYTES, "%.*s", (int)strcspn(kind, "|"), kind);
        return *kind != '\0';
    }
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].kind, kind) == 0 && index-- == 0) {
            (void)snprintf(word, TPD_WORD_BYTES, "%s", words[i].word);
            return true;
        }
    }
    return false;
}

bool tpd_word_is_device(const char *text) {
    char word[TPD_WORD_BYTES];
    for (unsigned i = 0; tpd_word_at("DEVICE", i, word); i++) {
        size_t length = strlen(word);
        if (strncmp(text, word, length) != 0)
            continue;
        const char *behind = text + length;
        if (*behind == '\0')
            return true;
        size_t digits = *behind == ':' && i != 0 ? strspn(behind + 1, "0123456789") : 0;
        if (digits != 0 && behind[1 + digits] == '\0')
            return true;
    }
    return false;
}
