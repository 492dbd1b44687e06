/* config_read.c -- knobs from a JSON file and from the environment, into a copy that counts only when all of it is right. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "server/config/knob.h"
#include "transposed/alloc.h"
#include "transposed/config.h"

enum { FILE_MOST_BYTES = 1048576 };

/* "; did you mean listen?", or where all names are listed. */
static const char *hint(const char *name, char text[64]) {
    enum tpd_knob nearest = tpd_knob_nearest(name);
    if (nearest == TPD_KNOB_COUNT)
        return "`transposed serve --help` lists them all";
    (void)snprintf(text, 64, "did you mean %s?", tpd_knob_name(nearest));
    return text;
}

/* cJSON ends a string at \u0000 and says nothing, so such a file is refused before it is parsed. */
static bool has_nul(const char *text, size_t bytes) {
    return memchr(text, '\0', bytes) != NULL || memmem(text, bytes, "\\u0000", 6) != NULL;
}

static enum tpd_status set_from_json(struct tpd_config *config, enum tpd_knob knob, const cJSON *item, struct tpd_error *error) {
    const char *name = tpd_knob_name(knob);
    enum tpd_knob_type type = tpd_knob_row(knob)->type;
    bool counts = type == TPD_KNOB_IS_UINT || type == TPD_KNOB_IS_BYTES || type == TPD_KNOB_IS_TIME;
    char range[TPD_KNOB_RANGE_BYTES];
    tpd_knob_range(knob, range);
    if (cJSON_IsString(item))
        return tpd_config_set(config, knob, item->valuestring, TPD_SOURCE_FILE, error);
    if (cJSON_IsNumber(item) && counts) {
        char number[32];
        double value = item->valuedouble;
        /* A double holds every whole number up to 2^53; past it the digits of the file are gone. */
        if (!(value >= 0 && value <= 9007199254740992.0) || value != (double)(uint64_t)value)
            return tpd_fail(error, TPD_CONFIG, "%s = %g is no whole number up to 2^53: it takes %s", name, value, range);
        (void)snprintf(number, sizeof number, "%.0f", value);
        return tpd_config_set(config, knob, number, TPD_SOURCE_FILE, error);
    }
    const char *kind = cJSON_IsNumber(item)   ? "a number"
                       : cJSON_IsBool(item)   ? (cJSON_IsTrue(item) ? "true" : "false")
                       : cJSON_IsNull(item)   ? "null"
                       : cJSON_IsArray(item)  ? "an array"
                       : cJSON_IsObject(item) ? "an object"
                                              : "no value";
    return tpd_fail(error, TPD_CONFIG, "%s is %s: it takes %s, as a %sstring", name, kind, range, counts ? "number or " : "");
}

static enum tpd_status set_all(struct tpd_config *config, const cJSON *object, struct tpd_error *error) {
    bool seen[TPD_KNOB_COUNT] = {false};
    if (!cJSON_IsObject(object))
        return tpd_fail(error, TPD_CONFIG, "the file is no JSON object: write {\"knob\": value, ...}");
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        char text[64];
        enum tpd_knob knob = tpd_knob_find(item->string);
        if (knob == TPD_KNOB_COUNT)
            return tpd_fail(error, TPD_CONFIG, "'%.48s' is no knob: %s", item->string, hint(item->string, text));
        if (seen[knob])
            return tpd_fail(error, TPD_CONFIG, "%s is there twice: keep one", tpd_knob_name(knob));
        seen[knob] = true;
        enum tpd_status status = set_from_json(config, knob, item, error);
        if (status != TPD_OK)
            return status;
    }
    return TPD_OK;
}

/* text holds one NUL more than bytes says. */
static enum tpd_status parse(struct tpd_config *config, const char *text, size_t bytes, struct tpd_error *error) {
    const char *end = NULL;
    if (has_nul(text, bytes))
        return tpd_fail(error, TPD_CONFIG, "the file has a NUL character: no knob takes one");
    cJSON *json = cJSON_ParseWithLengthOpts(text, bytes + 1, &end, true);
    if (json == NULL) {
        cJSON *first = cJSON_ParseWithLengthOpts(text, bytes + 1, NULL, false);
        const char *why = first != NULL ? "is behind the object's end: the file is one object and nothing else"
                                        : "is no JSON: is a comma, a quote, a colon or a brace missing there or just before?";
        cJSON_Delete(first);
        size_t offset = end != NULL && end >= text && end <= text + bytes ? (size_t)(end - text) : bytes;
        size_t line = 1, start = 0;
        for (size_t i = 0; i < offset; i++)
            if (text[i] == '\n') {
                line++;
                start = i + 1;
            }
        enum tpd_status status = tpd_fail_at(error, TPD_CONFIG, offset, "line %zu, column %zu %s", line, offset - start + 1, why);
        tpd_error_line(error, line, offset - start + 1);
        return status;
    }
    enum tpd_status status = set_all(config, json, error);
    cJSON_Delete(json);
    return status;
}

static enum tpd_status read_all(const char *path, char *text, size_t *bytes, struct tpd_error *error) {
    /* A pipe that nobody writes to would hold up whoever opens it, and a reload is waited for by every signal. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat about;
    if (file < 0)
        return tpd_fail(error, TPD_IO, "can't be opened: %s", strerror(errno));
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
        (void)close(file);
        return tpd_fail(error, TPD_IO, "is no regular file: name one that can be read again at a reload");
    }
    *bytes = 0;
    ssize_t count = 0;
    while (*bytes <= FILE_MOST_BYTES) {
        count = read(file, text + *bytes, FILE_MOST_BYTES + 1 - *bytes);
        if (count > 0)
            *bytes += (size_t)count;
        else if (count == 0 || errno != EINTR)
            break;
    }
    int failure = count < 0 ? errno : 0;
    (void)close(file);
    if (failure != 0)
        return tpd_fail(error, TPD_IO, "can't be read: %s", strerror(failure));
    if (*bytes > FILE_MOST_BYTES)
        return tpd_fail_limit(error, TPD_CONFIG, FILE_MOST_BYTES, *bytes, "the file has more than 1MiB: is it the right one?");
    text[*bytes] = '\0';
    return TPD_OK;
}

void tpd_config_name_file(const char *path, struct tpd_error *error) {
    struct tpd_error named;
    /* The reason has to stay whole; of a long path the start is enough. */
    int path_bytes = (int)(sizeof error->text - 3 - strnlen(error->text, sizeof error->text - 3));
    (void)tpd_fail(&named, error->status, "%.*s: %s", path_bytes, path, error->text);
    memcpy(error->text, named.text, sizeof error->text);
}

enum tpd_status tpd_config_read_file(struct tpd_config *config, const char *path, struct tpd_error *error) {
    struct tpd_error detail;
    struct tpd_config draft = *config;
    size_t bytes = 0;
    char *text = tpd_alloc(FILE_MOST_BYTES + 2);
    if (text == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "%.80s: no memory to read it", path);
    enum tpd_status status = read_all(path, text, &bytes, &detail);
    if (status == TPD_OK)
        status = parse(&draft, text, bytes, &detail);
    tpd_free(text);
    if (status == TPD_OK) {
        *config = draft;
    } else if (error != NULL) {
        *error = detail;
        tpd_config_name_file(path, error);
    }
    return status;
}

/* A Kubernetes Service named `transposed` puts TRANSPOSED_SERVICE_HOST, TRANSPOSED_PORT=tcp://... and more of the kind into
 * every pod of its namespace. They are nobody's mistake, so they must not stop the daemon. */
static bool is_service_link(const char *name) {
    size_t length = strlen(name);
    const char *port = strstr(name, "PORT_");
    return strstr(name, "SERVICE_HOST") != NULL || strstr(name, "SERVICE_PORT") != NULL ||
           (length >= 4 && strcmp(name + length - 4, "PORT") == 0) || (port != NULL && isdigit((unsigned char)port[5]));
}

enum tpd_status tpd_config_read_environment(struct tpd_config *config, char *const *environment, struct tpd_error *error) {
    static const char prefix[] = "TRANSPOSED_";
    struct tpd_config draft = *config;
    for (; *environment != NULL; environment++) {
        const char *at = *environment + sizeof prefix - 1, *equals = strchr(*environment, '=');
        if (equals == NULL || strncmp(*environment, prefix, sizeof prefix - 1) != 0)
            continue;
        char name[64], original[64], text[64];
        size_t length = (size_t)(equals - at);
        if (length >= sizeof name)
            length = sizeof name - 1;
        bool shouts = equals - at == (ptrdiff_t)length;
        for (size_t i = 0; i < length; i++) {
            shouts = shouts && !islower((unsigned char)at[i]) && at[i] != '-';
            name[i] = (char)tolower((unsigned char)at[i]);
        }
        name[length] = '\0';
        (void)snprintf(original, sizeof original, "%.*s", (int)length, at);
        enum tpd_knob knob = shouts ? tpd_knob_find(name) : TPD_KNOB_COUNT;
        if (knob == TPD_KNOB_COUNT && (strcmp(original, "CONFIG") == 0 || is_service_link(original)))
            continue;
        if (knob == TPD_KNOB_COUNT) {
            const char *advice = hint(name, text);
            for (char *letter = text; advice == text && *letter != '\0'; letter++)
                if (letter >= text + strlen("did you mean "))
                    *letter = (char)toupper((unsigned char)*letter);
            return tpd_fail(error, TPD_CONFIG, "environment variable %s%s is no knob: %s", prefix, original, advice);
        }
        enum tpd_status status = tpd_config_set(&draft, knob, equals + 1, TPD_SOURCE_ENVIRONMENT, error);
        if (status != TPD_OK)
            return status;
    }
    *config = draft;
    return TPD_OK;
}
