/* value.c -- one table of units for each kind, read by the parser and by the printer. */
#include "server/config/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t size;
};

/* From the largest down: the printer takes the first that divides. */
static const struct unit sizes[] = {
    {"TiB", UINT64_C(1) << 40}, {"GiB", 1u << 30}, {"MiB", 1u << 20}, {"KiB", 1u << 10}, {"B", 1}};
static const struct unit times[] = {
    {"h", UINT64_C(3600000000000)}, {"m", UINT64_C(60000000000)}, {"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
enum { SIZES = sizeof sizes / sizeof sizes[0], TIMES = sizeof times / sizeof times[0] };

/* The digits at the start; NULL when there are none or they overflow. */
static const char *digits(const char *text, uint64_t *value) {
    const char *at = text;
    *value = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*value, (uint64_t)10, value) || __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value))
            return NULL;
    return at != text ? at : NULL;
}

static bool scaled(const char *name, const struct unit *units, int count, uint64_t *value) {
    for (int i = 0; i < count; i++)
        if (strcmp(name, units[i].name) == 0)
            return !__builtin_mul_overflow(*value, units[i].size, value);
    return false;
}

bool tpd_value_parse_uint(const char *text, uint64_t *value) {
    const char *end = digits(text, value);
    return end != NULL && *end == '\0';
}

bool tpd_value_parse_bytes(const char *text, uint64_t *value) {
    const char *end = digits(text, value);
    return end != NULL && (*end == '\0' || scaled(end, sizes, SIZES, value));
}

bool tpd_value_parse_time(const char *text, uint64_t *value) {
    const char *end = digits(text, value);
    return end != NULL && (*end == '\0' ? *value == 0 : scaled(end, times, TIMES, value));
}

const char *tpd_value_word(const char *words, uint32_t index, int *length) {
    for (; index > 0; index--) {
        const char *bar = strchr(words, '|');
        if (bar == NULL)
            break;
        words = bar + 1;
    }
    *length = (int)strcspn(words, "|");
    return words;
}

bool tpd_value_parse_word(const char *text, const char *words, uint32_t *index) {
    size_t length = strlen(text);
    for (*index = 0;; (*index)++) {
        size_t word = strcspn(words, "|");
        if (word == length && memcmp(words, text, length) == 0)
            return true;
        if (words[word] == '\0')
            return false;
        words += word + 1;
    }
}

static void print(uint64_t value, const struct unit *units, const char *zero, char text[TPD_VALUE_BYTES]) {
    while (value % units->size != 0) /* the last unit is 1 and divides everything */
        units++;
    if (value == 0)
        (void)snprintf(text, TPD_VALUE_BYTES, "%s", zero);
    else
        (void)snprintf(text, TPD_VALUE_BYTES, "%" PRIu64 "%s", value / units->size, units->name);
}

void tpd_value_print_bytes(uint64_t value, char text[TPD_VALUE_BYTES]) {
    print(value, sizes, "0", text);
}

void tpd_value_print_time(uint64_t value, char text[TPD_VALUE_BYTES]) {
    print(value, times, "0s", text);
}
