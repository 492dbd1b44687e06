/* args.c -- see args.h. */
#include "server/cmd/args.h"

#include <inttypes.h>
#include <string.h>

void tpd_args_init(struct tpd_args *args, int argc, char **argv, const struct tpd_option *options, bool takes_knobs) {
    *args = (struct tpd_args){.argc = argc, .argv = argv, .options = options, .takes_knobs = takes_knobs, .at = 1};
}

static int wrong(struct tpd_error *error, const char *word, const char *what) {
    (void)tpd_fail(error, TPD_BAD_PARAMETER, "%.60s %s", word, what);
    return TPD_ARG_WRONG;
}

/* The value behind '=' or in the next word; but a next word that looks like an option is one: the value was forgotten. */
static bool take_value(struct tpd_args *args, const char *equals) {
    if (equals != NULL) {
        args->value = equals + 1;
        return true;
    }
    if (args->at >= args->argc || (args->argv[args->at][0] == '-' && args->argv[args->at][1] != '\0'))
        return false;
    args->value = args->argv[args->at++];
    return true;
}

static int find_long(const struct tpd_args *args, const char *name, size_t length) {
    for (int i = 0; args->options[i].name != NULL; i++) {
        const char *option = args->options[i].name;
        size_t at = 0;
        while (at < length && (option[at] == name[at] || (option[at] == '-' && name[at] == '_')))
            at++;
        if (at == length && option[at] == '\0')
            return i;
    }
    return TPD_ARG_WRONG;
}

static bool find_knob(struct tpd_args *args, const char *name, size_t length) {
    char text[64];
    if (!args->takes_knobs || length >= sizeof text)
        return false;
    memcpy(text, name, length);
    text[length] = '\0';
    args->knob = tpd_knob_find(text);
    return args->knob != TPD_KNOB_COUNT;
}

static int next_long(struct tpd_args *args, const char *word, struct tpd_error *error) {
    const char *name = word + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    if (length == 4 && memcmp(name, "help", 4) == 0 && equals == NULL)
        return TPD_ARG_HELP;
    if (equals == NULL && strncmp(name, "no-", 3) == 0 && find_knob(args, name + 3, length - 3) && tpd_knob_has_off(args->knob)) {
        args->value = "off";
        return TPD_ARG_KNOB;
    }
    int found = find_long(args, name, length);
    if (found == TPD_ARG_WRONG && find_knob(args, name, length))
        found = TPD_ARG_KNOB;
    if (found == TPD_ARG_WRONG)
        return wrong(error, word, "is not an option here; --help lists those that are");
    bool wants_value = found == TPD_ARG_KNOB || args->options[found].value != NULL;
    if (!wants_value && equals != NULL)
        return wrong(error, word, "takes no value");
    if (wants_value && !take_value(args, equals))
        return wrong(error, word, "needs a value behind it (one that begins with a dash: behind an =)");
    return found;
}

static int next_short(struct tpd_args *args, const char *word, struct tpd_error *error) {
    if (strcmp(word, "-h") == 0)
        return TPD_ARG_HELP;
    for (int i = 0; args->options[i].name != NULL; i++) {
        if (args->options[i].letter == 0 || args->options[i].letter != word[1])
            continue;
        if (args->options[i].value == NULL) {
            if (word[2] != '\0')
                return wrong(error, word, "takes no value");
        } else if (word[2] != '\0') {
            args->value = word + 2;
        } else if (!take_value(args, NULL)) {
            return wrong(error, word, "needs a value behind it (one that begins with a dash: without a space)");
        }
        return i;
    }
    return wrong(error, word, "is not an option here; --help lists those that are");
}

int tpd_args_next(struct tpd_args *args, struct tpd_error *error) {
    args->value = NULL;
    if (args->at >= args->argc)
        return TPD_ARG_END;
    const char *word = args->argv[args->at++];
    if (args->only_operands || word[0] != '-' || word[1] == '\0') {
        args->value = word;
        return TPD_ARG_OPERAND;
    }
    if (strcmp(word, "--") == 0) {
        args->only_operands = true;
        return tpd_args_next(args, error);
    }
    return word[1] == '-' ? next_long(args, word, error) : next_short(args, word, error);
}

enum tpd_status tpd_args_flags(struct tpd_args *args, unsigned *given, struct tpd_error *error) {
    *given = 0;
    for (int found; (found = tpd_args_next(args, error)) != TPD_ARG_END;) {
        if (found == TPD_ARG_OPERAND)
            return tpd_fail(error, TPD_BAD_PARAMETER, "%.60s is one word too many", args->value);
        if (found < 0)
            return TPD_BAD_PARAMETER;
        *given |= 1u << found;
    }
    return TPD_OK;
}

enum tpd_status tpd_args_uint(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *value,
                              struct tpd_error *error) {
    uint64_t sum = 0;
    bool good = text[0] != '\0';
    for (const char *at = text; good && *at != '\0'; at++) {
        good = *at >= '0' && *at <= '9' && !__builtin_mul_overflow(sum, (uint64_t)10, &sum) &&
               !__builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum);
    }
    if (!good || sum < least || sum > most)
        return tpd_fail(error, TPD_BAD_PARAMETER, "--%s is %.40s: it takes a whole number from %" PRIu64 " to %" PRIu64, option,
                        text, least, most);
    *value = sum;
    return TPD_OK;
}
