/* codecs.c -- the table of formats: by name, type, file name and first bytes; and what leaves with a payload. */
#include <string.h>
#include <strings.h>

#include "server/codec/codec_internal.h"
#include "transposed/alloc.h"

static const struct row {
    const char *name, *type, *suffixes;
    const struct tpd_codec_ops *ops;
} rows[TPD_CODEC_COUNT] = {
#define X(NAME, name, type, suffixes, summary) [TPD_CODEC_##NAME] = {name, type, suffixes, &tpd_codec_ops_##NAME},
#include "transposed/tbl/codecs.def"
#undef X
};

const struct tpd_codec_ops *tpd_codec_at(enum tpd_codec_id id) {
    return (unsigned)id < TPD_CODEC_COUNT ? rows[id].ops : NULL;
}

const char *tpd_codec_name(enum tpd_codec_id id) {
    return (unsigned)id < TPD_CODEC_COUNT ? rows[id].name : "none";
}

const char *tpd_codec_type(enum tpd_codec_id id) {
    return (unsigned)id < TPD_CODEC_COUNT ? rows[id].type : "";
}

enum tpd_codec_id tpd_codec_by_name(const char *name) {
    int i = 0;
    while (i < TPD_CODEC_COUNT && strcmp(rows[i].name, name) != 0)
        i++;
    return (enum tpd_codec_id)i;
}

enum tpd_codec_id tpd_codec_by_type(const char *type) {
    type += strspn(type, " \t");
    size_t length = strcspn(type, "; \t");
    /* Only white space may stand between the type and its parameters. */
    const char *rest = type + length + strspn(type + length, " \t");
    int i = 0;
    while (i < TPD_CODEC_COUNT && (strlen(rows[i].type) != length || strncasecmp(rows[i].type, type, length) != 0))
        i++;
    return *rest == '\0' || *rest == ';' ? (enum tpd_codec_id)i : TPD_CODEC_COUNT;
}

enum tpd_codec_id tpd_codec_by_path(const char *path) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash != NULL ? slash : path, '.');
    if (dot == NULL || strchr(dot, ' ') != NULL)
        return TPD_CODEC_COUNT;
    size_t length = strlen(dot);
    for (int i = 0; i < TPD_CODEC_COUNT; i++)
        for (const char *at = rows[i].suffixes; *at != '\0'; at++)
            if (*at == ' ' && strncasecmp(at + 1, dot, length) == 0 && at[1 + length] == ' ')
                return (enum tpd_codec_id)i;
    return TPD_CODEC_COUNT;
}

enum tpd_codec_id tpd_codec_sniff(const unsigned char *head, size_t head_bytes, const struct tpd_decode_options *options) {
    int i = 0;
    while (i < TPD_CODEC_COUNT && !rows[i].ops->sniff(head, head_bytes, options))
        i++;
    return (enum tpd_codec_id)i;
}

const char *tpd_codec_guess(const unsigned char *head, size_t head_bytes) {
    static const char *const words[] = {"null", "true", "false"};
    size_t i = 0;
    while (i < head_bytes && head[i] != '\0' && strchr(" \t\r\n", head[i]) != NULL)
        i++;
    if (i == head_bytes)
        return i == 0 ? "it is empty" : "it begins with nothing but space";
    if (head_bytes >= 4 && memcmp(head, "PK\x03\x04", 4) == 0)
        return "it is an archive, as numpy.savez makes; save one array alone, numpy.save('a.npy', a)";
    bool bare = head[i] == '"' || head[i] == '-' || (head[i] >= '0' && head[i] <= '9');
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        bare = bare || (head_bytes - i >= strlen(words[w]) && memcmp(head + i, words[w], strlen(words[w])) == 0);
    return bare ? "it begins with a bare value; in JSON a matrix is an array of rows, [[1,2],[3,4]], or an object with data" : "";
}

void tpd_payload_release(struct tpd_payload *payload) {
    tpd_block_release(&payload->items);
    tpd_block_release(&payload->text);
}

void tpd_encoded_release(struct tpd_encoded *encoded) {
    tpd_block_release(&encoded->block);
    encoded->start = NULL;
    encoded->bytes = 0;
}

enum tpd_status tpd_decoder_make(size_t bytes, struct tpd_decoder **decoder, struct tpd_error *error) {
    *decoder = tpd_alloc_zero(1, bytes);
    return *decoder != NULL ? TPD_OK : tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for a decoder");
}
