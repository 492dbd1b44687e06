/* tuning_text.c -- a table as text, and back.
 *
 *   transposed-tuning 1
 *   device NAME; UUID; driver N; runtime N; build TEXT       a section: what it holds for
 *   host NAME; threads N                                     of the crossover; nothing behind the word: not measured
 *   at SECONDS                                               since 1970
 *   crossover N N N N N N                                    bytes, by item size
 *   cell SIZE aligned|any SHAPE BYTES WAY WAY WAY            best, next, rule
 *   end HASH                                                 of the section's bytes before this line, 16 hexadecimal digits
 *
 * A WAY is STRATEGY VARIANT NS; "- 0 0": there is none.
 *
 * One space between words, one section after the other. The hash tells damage from age: a section of another device or build may
 * name strategies that nobody here knows, and is kept as it is.
 */
#include <inttypes.h>
#include <string.h>

#include "transposed/tuning.h"

static const char magic[] = "transposed-tuning ", version_line[] = "transposed-tuning 1\n";
enum { HASH_DIGITS = 16, DIGITS_MOST = 19, SHOWN_MOST = 90 };

/* FNV-1a, 64 bits: against accidents, not against people, who could at worst make transposes slow. */
static uint64_t hash_of(const char *bytes, size_t count) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* ---- writing ---- */

static void write_way(struct tpd_buf *out, const struct tpd_tuning_way *way) {
    if (way->ns == 0)
        (void)tpd_buf_text(out, " - 0 0");
    else
        (void)tpd_buf_format(out, " %s %" PRIu32 " %" PRIu64, tpd_strategy_at(way->strategy)->name, way->variant, way->ns);
}

static void write_section(const struct tpd_tuning *table, struct tpd_buf *out) {
    const size_t start = out->bytes;
    (void)tpd_buf_format(out, "device %s\nhost%s%s\nat %" PRIu64 "\ncrossover", table->device, table->host[0] != '\0' ? " " : "",
                         table->host, table->at_unix_s);
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
        (void)tpd_buf_format(out, " %" PRIu64, table->crossover_bytes[size]);
    (void)tpd_buf_text(out, "\n");
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
        for (uint32_t aligned = 0; aligned < 2; aligned++)
            for (uint32_t shape = 0; shape < TPD_SHAPE_COUNT; shape++) {
                const struct tpd_tuning_cell *cell = &table->cell[size][aligned][shape];
                if (cell->bytes == 0)
                    continue;
                (void)tpd_buf_format(out, "cell %s %s %s %" PRIu64, tpd_tuning_size_name(size), aligned != 0 ? "aligned" : "any",
                                     tpd_tuning_shape_name((enum tpd_tuning_shape)shape), cell->bytes);
                write_way(out, &cell->best);
                write_way(out, &cell->next);
                write_way(out, &cell->rule);
                (void)tpd_buf_text(out, "\n");
            }
    if (out->status == TPD_OK)
        (void)tpd_buf_format(out, "end %016" PRIx64 "\n", hash_of(out->data + start, out->bytes - start));
}

/* ---- reading ---- */

struct reader {
    const char *at, *end;
    uint64_t line; /* of `at`, from 1 */
};

struct section {
    const char *start, *end; /* of its lines, but for the last */
    uint64_t line;
};

static enum tpd_status damaged(uint64_t line, const char *what, struct tpd_error *error) {
    enum tpd_status status = tpd_fail(error, TPD_MALFORMED, "line %" PRIu64 ": %s", line, what);
    tpd_error_line(error, line, 1);
    return status;
}

/* Takes a text that comes next. */
static bool take(struct reader *reader, const char *text) {
    const size_t length = strlen(text);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, text, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static bool take_line_end(struct reader *reader) {
    reader->line++;
    return take(reader, "\n");
}

static bool take_number(struct reader *reader, uint64_t *number) {
    const char *start = reader->at;
    *number = 0;
    for (; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9' && reader->at - start < DIGITS_MOST; reader->at++)
        *number = *number * 10 + (uint64_t)(*reader->at - '0');
    return reader->at != start;
}

/* What is left of the line, without its end, which is taken. */
static bool take_rest(struct reader *reader, char text[TPD_TUNING_KEY_BYTES]) {
    const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    const size_t length = end != NULL ? (size_t)(end - reader->at) : TPD_TUNING_KEY_BYTES;
    if (length >= TPD_TUNING_KEY_BYTES || memchr(reader->at, '\0', length) != NULL)
        return false;
    memcpy(text, reader->at, length);
    text[length] = '\0';
    reader->at = end;
    return take_line_end(reader);
}

/* The next word, to a space or the line's end, which stay. */
static bool take_word(struct reader *reader, char word[32]) {
    size_t length = 0;
    for (; reader->at<reader->end && * reader->at> ' ' && *reader->at < 0x7f; reader->at++)
        if (length < 31)
            word[length++] = *reader->at;
        else
            return false;
    word[length] = '\0';
    return length != 0;
}

static enum tpd_status next_section(struct reader *reader, struct section *section, struct tpd_error *error) {
    *section = (struct section){.start = reader->at, .line = reader->line};
    while (reader->at < reader->end && !(reader->at != section->start && take(reader, "end "))) {
        const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
        reader->at = end != NULL ? end + 1 : reader->end;
        reader->line++;
        section->end = reader->at;
    }
    if (reader->at == reader->end)
        return tpd_fail(error, TPD_TRUNCATED, "it ends in line %" PRIu64 ", within a section", reader->line);
    uint64_t hash = 0;
    for (int i = 0; i < HASH_DIGITS && reader->at < reader->end; i++, reader->at++) {
        const char digit = *reader->at;
        hash = hash << 4 | (uint64_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    if (!take_line_end(reader) || hash != hash_of(section->start, (size_t)(section->end - section->start)))
        return damaged(section->line, "this section's bytes are not those that were written", error);
    return TPD_OK;
}

bool tpd_tuning_is_text(const char *text, size_t bytes) {
    const size_t length = sizeof version_line - 1;
    return memcmp(text, version_line, bytes < length ? bytes : length) == 0;
}

static enum tpd_status begin(struct reader *reader, const char *text, size_t bytes, struct tpd_error *error) {
    *reader = (struct reader){.at = text, .end = text + bytes, .line = 1};
    if (bytes > TPD_TUNING_TEXT_MOST)
        return tpd_fail_limit(error, TPD_TOO_LARGE, TPD_TUNING_TEXT_MOST, bytes, "it has more than %d bytes",
                              TPD_TUNING_TEXT_MOST);
    if (!tpd_tuning_is_text(text, bytes))
        return tpd_fail(error, TPD_UNSUPPORTED,
                        take(reader, magic) ? "it is a tuning file of another version"
                                            : "it is no tuning file: name another tune_file");
    if (!take(reader, version_line))
        return tpd_fail(error, TPD_TRUNCATED, "it ends in its first line");
    reader->line = 2;
    return TPD_OK;
}

static bool take_way(struct reader *reader, struct tpd_tuning_way *way) {
    char name[32];
    uint64_t variant;
    *way = (struct tpd_tuning_way){.ns = 0};
    if (take(reader, " - 0 0"))
        return true;
    if (!take(reader, " ") || !take_word(reader, name) || tpd_strategy_find(name, &way->strategy, NULL) != TPD_OK ||
        way->strategy == TPD_STRATEGY_AUTO || !take(reader, " ") || !take_number(reader, &variant) ||
        variant >= tpd_strategy_variants(way->strategy) || !take(reader, " ") || !take_number(reader, &way->ns))
        return false;
    way->variant = (uint32_t)variant;
    return way->ns != 0;
}

static bool take_cell(struct reader *reader, struct tpd_tuning *table) {
    char name[32];
    uint32_t size = 0, shape = 0;
    uint64_t bytes;
    if (!take_word(reader, name))
        return false;
    while (size < TPD_TUNING_SIZES && strcmp(name, tpd_tuning_size_name(size)) != 0)
        size++;
    const bool aligned = take(reader, " aligned ");
    if (size == TPD_TUNING_SIZES || !(aligned || take(reader, " any ")) || !take_word(reader, name))
        return false;
    while (shape < TPD_SHAPE_COUNT && strcmp(name, tpd_tuning_shape_name((enum tpd_tuning_shape)shape)) != 0)
        shape++;
    if (shape == TPD_SHAPE_COUNT || !take(reader, " ") || !take_number(reader, &bytes) || bytes == 0)
        return false;
    struct tpd_tuning_cell *cell = &table->cell[size][aligned][shape];
    if (cell->bytes != 0)
        return false; /* said twice */
    cell->bytes = bytes;
    table->cells++;
    return take_way(reader, &cell->best) && take_way(reader, &cell->next) && take_way(reader, &cell->rule) &&
           cell->best.ns != 0 && cell->rule.ns != 0 && take_line_end(reader);
}

/* A section that is ours, behind its first line. */
static bool take_section(struct reader *reader, struct tpd_tuning *table) {
    if (!(take(reader, "host ") || take(reader, "host")) || !take_rest(reader, table->host))
        return false;
    if (!take(reader, "at ") || !take_number(reader, &table->at_unix_s) || !take_line_end(reader) || !take(reader, "crossover"))
        return false;
    for (uint32_t size = 0; size < TPD_TUNING_SIZES; size++)
        if (!take(reader, " ") || !take_number(reader, &table->crossover_bytes[size]))
            return false;
    if (!take_line_end(reader))
        return false;
    while (take(reader, "cell "))
        if (!take_cell(reader, table))
            return false;
    return reader->at == reader->end;
}

static size_t common_length(const char *a, const char *b) {
    size_t length = 0;
    while (a[length] != '\0' && a[length] == b[length])
        length++;
    return length;
}

/* From the start of the "; "-separated part in which `at` is. */
static const char *part_of(const char *key, size_t at) {
    while (at > 0 && !(at >= 2 && key[at - 1] == ' ' && key[at - 2] == ';'))
        at--;
    return key + at;
}

static int shown(const char *part) {
    const size_t length = strcspn(part, ";");
    return length < SHOWN_MOST ? (int)length : SHOWN_MOST;
}

static enum tpd_status not_found(const char *nearest, const char *device, struct tpd_error *error) {
    if (nearest[0] == '\0')
        return tpd_fail(error, TPD_NOT_FOUND, "it holds no measurement yet");
    const size_t at = common_length(nearest, device);
    const char *was = part_of(nearest, at), *is = part_of(device, at);
    return tpd_fail(error, TPD_NOT_FOUND, "it was measured for '%.*s', and this is '%.*s'", shown(was), was, shown(is), is);
}

static void forget(struct tpd_tuning *table) {
    char device[TPD_TUNING_KEY_BYTES];
    memcpy(device, table->device, sizeof device);
    memset(table, 0, sizeof *table);
    memcpy(table->device, device, sizeof device);
}

enum tpd_status tpd_tuning_read(const char *text, size_t bytes, struct tpd_tuning *table, struct tpd_error *error) {
    struct reader reader;
    struct section section;
    char device[TPD_TUNING_KEY_BYTES], nearest[TPD_TUNING_KEY_BYTES] = "";
    forget(table);
    enum tpd_status status = begin(&reader, text, bytes, error);
    while (status == TPD_OK && reader.at < reader.end) {
        status = next_section(&reader, &section, error);
        if (status != TPD_OK)
            break;
        struct reader inside = {.at = section.start, .end = section.end, .line = section.line};
        if (!take(&inside, "device ") || !take_rest(&inside, device))
            return damaged(section.line, "a section begins with 'device' and what it holds for", error);
        if (strcmp(device, table->device) == 0) {
            if (take_section(&inside, table))
                return TPD_OK;
            forget(table);
            return damaged(inside.line, "this can't be read, or is said twice", error);
        }
        if (common_length(device, table->device) >= common_length(nearest, table->device))
            memcpy(nearest, device, sizeof nearest);
    }
    return status != TPD_OK ? status : not_found(nearest, table->device, error);
}

enum tpd_status tpd_tuning_write(const struct tpd_tuning *table, const char *old, size_t old_bytes, struct tpd_buf *out) {
    struct reader reader;
    struct section section;
    char device[TPD_TUNING_KEY_BYTES];
    (void)tpd_buf_text(out, version_line);
    write_section(table, out);
    if (old == NULL || begin(&reader, old, old_bytes, NULL) != TPD_OK)
        return out->status;
    for (uint32_t kept = 1;
         kept < TPD_TUNING_SECTIONS_MOST && reader.at < reader.end && next_section(&reader, &section, NULL) == TPD_OK;) {
        struct reader inside = {.at = section.start, .end = section.end};
        const size_t length = (size_t)(reader.at - section.start);
        if (!take(&inside, "device ") || !take_rest(&inside, device) || strcmp(device, table->device) == 0 ||
            out->bytes + length > TPD_TUNING_TEXT_MOST)
            continue;
        (void)tpd_buf_add(out, section.start, length);
        kept++;
    }
    return out->status;
}
