/* bank_ask.c -- the parameters of a question to the bank model: read one by one, then checked together. */
#include <inttypes.h>
#include <string.h>

#include "transposed/bank_report.h"

static const struct {
    const char *name, *value;
    uint64_t least, most;
} parameters[TPD_BANKS_PARAMETERS] = {
#define X(NAME, name, flag, value, least, most, help) [TPD_BANKS_##NAME] = {name, value, least, most},
#include "transposed/tbl/banks.def"
#undef X
};

const char *tpd_banks_parameter_name(enum tpd_banks_parameter parameter) {
    return parameters[parameter].name;
}

void tpd_banks_ask_init(struct tpd_banks_ask *ask) {
    *ask = (struct tpd_banks_ask){.strategy = TPD_STRATEGY_AUTO, .side = TPD_OP_LOAD};
    ask->number[TPD_BANKS_ITEMSIZE] = 4;
    ask->number[TPD_BANKS_ROWS] = ask->number[TPD_BANKS_COLS] = 256;
    ask->number[TPD_BANKS_PLANES] = ask->number[TPD_BANKS_GROUP] = ask->number[TPD_BANKS_STRIDE] = ask->stride_last = 1;
    ask->number[TPD_BANKS_BANK_BYTES] = 4;
    ask->number[TPD_BANKS_ARCH] = TPD_ARCHITECTURE_DEFAULT;
}

/* Behind the digits at text; NULL when there are none or the number passes 2^63. */
static const char *read_number(const char *text, uint64_t *number) {
    const char *at = text;
    *number = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*number, (uint64_t)10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(*at - '0'), number) || *number > INT64_MAX)
            return NULL;
    return at != text ? at : NULL;
}

static enum tpd_status read_range(struct tpd_banks_ask *ask, const char *text, struct tpd_error *error) {
    uint64_t first = 0, last = 0;
    const char *at = read_number(text, &first);
    last = first;
    if (at != NULL && at[0] == '.' && at[1] == '.')
        at = read_number(at + 2, &last);
    if (at == NULL || *at != '\0' || first > last)
        return tpd_fail(error, TPD_BAD_PARAMETER, "stride=%.40s can't be read: give a number of items, or a range as in 1..64",
                        text);
    if (last > TPD_BANKS_STRIDE_MOST || last - first >= TPD_BANKS_STRIDES_MOST)
        return tpd_fail_limit(error, TPD_UNSUPPORTED,
                              last > TPD_BANKS_STRIDE_MOST ? TPD_BANKS_STRIDE_MOST : TPD_BANKS_STRIDES_MOST,
                              last > TPD_BANKS_STRIDE_MOST ? last : last - first + 1,
                              "stride=%.40s: a stride has at most %d items, and a range %d of them", text, TPD_BANKS_STRIDE_MOST,
                              TPD_BANKS_STRIDES_MOST);
    ask->number[TPD_BANKS_STRIDE] = first;
    ask->stride_last = last;
    return TPD_OK;
}

static enum tpd_status read_tile(struct tpd_banks_ask *ask, const char *text, struct tpd_error *error) {
    uint64_t rows = 0, cols = 0;
    const char *at = read_number(text, &rows);
    if (at != NULL && *at == 'x')
        at = read_number(at + 1, &cols);
    else
        at = NULL;
    if (strcmp(text, "auto") == 0)
        return TPD_OK; /* 0 x 0 */
    if (at == NULL || *at != '\0')
        return tpd_fail(error, TPD_BAD_PARAMETER, "tile=%.40s can't be read: give ROWSxCOLS, as in 32x32, or auto", text);
    if (rows == 0 || cols == 0 || rows > TPD_TILE_SIDE_MOST || cols > TPD_TILE_SIDE_MOST)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, TPD_TILE_SIDE_MOST, rows > cols ? rows : cols,
                              "tile=%.40s: a side has 1 to %d items", text, TPD_TILE_SIDE_MOST);
    ask->tile = (struct tpd_tile){(uint32_t)rows, (uint32_t)cols};
    return TPD_OK;
}

static enum tpd_status read_side(struct tpd_banks_ask *ask, const char *text, struct tpd_error *error) {
    enum tpd_op op = tpd_op_find(text);
    if (op != TPD_OP_LOAD && op != TPD_OP_STORE)
        return tpd_fail(error, TPD_BAD_PARAMETER, "side=%.40s is none of load, store", text);
    ask->side = op;
    return TPD_OK;
}

static enum tpd_status check_words(enum tpd_banks_parameter parameter, uint64_t number, struct tpd_error *error) {
    const char *name = parameters[parameter].name;
    if (parameter == TPD_BANKS_ITEMSIZE && (number & (number - 1)) != 0)
        return tpd_fail(error, TPD_UNSUPPORTED, "%s=%" PRIu64 ": a lane moves 1, 2, 4, 8 or 16 bytes at once", name, number);
    if ((parameter == TPD_BANKS_BANK_BYTES || parameter == TPD_BANKS_BANK_WIDTH) && number != 4 && number != 8)
        return tpd_fail(error, TPD_UNSUPPORTED, "%s=%" PRIu64 ": a bank has 4 bytes, or had 8 (compute capability 3.x)", name,
                        number);
    if (parameter == TPD_BANKS_REDUCE && (number & (number - 1)) != 0)
        return tpd_fail(error, TPD_UNSUPPORTED, "%s=%" PRIu64 " is no power of two: a tree halves its threads", name, number);
    /* A device takes its family's nearest below; a question about one that isn't in the table would get another's answer. */
    const struct tpd_architecture *architecture = tpd_architecture_find((uint32_t)number);
    if (parameter == TPD_BANKS_ARCH && (architecture == NULL || architecture->capability != number))
        return tpd_fail(error, TPD_UNSUPPORTED, "%s=%" PRIu64 ": the limits of %s are known, give one of them", name, number,
                        parameters[parameter].value);
    return TPD_OK;
}

enum tpd_status tpd_banks_ask_set(struct tpd_banks_ask *ask, enum tpd_banks_parameter parameter, const char *text,
                                  struct tpd_error *error) {
    ask->given |= 1u << parameter;
    switch (parameter) {
    case TPD_BANKS_STRATEGY:
        return tpd_strategy_find(text, &ask->strategy, error);
    case TPD_BANKS_TILE:
        return read_tile(ask, text, error);
    case TPD_BANKS_STRIDE:
        return read_range(ask, text, error);
    case TPD_BANKS_SIDE:
        return read_side(ask, text, error);
    default:
        break;
    }
    uint64_t number = 0, least = parameters[parameter].least, most = parameters[parameter].most;
    const char *end = read_number(text, &number);
    if (end == NULL || *end != '\0')
        return tpd_fail(error, TPD_BAD_PARAMETER, "%s=%.40s can't be read: give a whole number from %" PRIu64 " to %" PRIu64,
                        parameters[parameter].name, text, least, most);
    if (number < least || number > most)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, number < least ? least : most, number,
                              "%s=%.40s is out of range: give a whole number from %" PRIu64 " to %" PRIu64,
                              parameters[parameter].name, text, least, most);
    ask->number[parameter == TPD_BANKS_BANK_WIDTH ? TPD_BANKS_BANK_BYTES : parameter] = number;
    return check_words(parameter, number, error);
}

#define BIT(NAME) (1u << TPD_BANKS_##NAME)

#define BIT_EVERY (BIT(ITEMSIZE) | BIT(BANK_BYTES) | BIT(BANK_WIDTH))

/* What each kind of question takes; every one has an item size and banks. */
static const struct {
    const char *name;
    unsigned taken;
} kinds[] = {
    [TPD_BANKS_OF_STRATEGY] = {"a strategy",
                               BIT(STRATEGY) | BIT(TILE) | BIT(ROWS) | BIT(COLS) | BIT(ARCH) | BIT(REQUEST) | BIT(SIDE)},
    [TPD_BANKS_OF_TILE] = {"a bare tile", BIT(TILE) | BIT(PITCH) | BIT(PLANES) | BIT(PLANE_PITCH) | BIT(REQUEST) | BIT(SIDE)},
    [TPD_BANKS_OF_LINE] = {"one request", BIT(STRIDE) | BIT(RECORD) | BIT(OFFSET) | BIT(GROUP) | BIT(SIDE)},
    [TPD_BANKS_OF_REDUCTION] = {"a reduction", BIT(REDUCE)},
};

static enum tpd_banks_kind kind_of(unsigned given) {
    if (given & BIT(STRATEGY))
        return TPD_BANKS_OF_STRATEGY;
    if (given & (BIT(STRIDE) | BIT(RECORD) | BIT(OFFSET) | BIT(GROUP)))
        return TPD_BANKS_OF_LINE;
    if (given & BIT(REDUCE))
        return TPD_BANKS_OF_REDUCTION;
    return given & (BIT(TILE) | BIT(PITCH) | BIT(PLANES) | BIT(PLANE_PITCH)) ? TPD_BANKS_OF_TILE : TPD_BANKS_OF_STRATEGY;
}

static enum tpd_status check_tile(struct tpd_banks_ask *ask, struct tpd_error *error) {
    uint64_t *number = ask->number;
    if (ask->tile.rows == 0)
        ask->tile = (struct tpd_tile){TPD_TILE_DEFAULT, TPD_TILE_DEFAULT};
    if (!(ask->given & BIT(PITCH)))
        number[TPD_BANKS_PITCH] = ask->tile.cols;
    uint64_t plane = ask->tile.rows * number[TPD_BANKS_PITCH];
    if (!(ask->given & BIT(PLANE_PITCH)))
        number[TPD_BANKS_PLANE_PITCH] = plane;
    uint64_t items = number[TPD_BANKS_PLANES] * ask->tile.rows * ask->tile.cols;
    if (items > TPD_TILE_ITEMS_MOST)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, TPD_TILE_ITEMS_MOST, items,
                              "the tile has %" PRIu64 " items, at most %d are described", items, TPD_TILE_ITEMS_MOST);
    return TPD_OK;
}

enum tpd_status tpd_banks_ask_check(struct tpd_banks_ask *ask, struct tpd_error *error) {
    ask->kind = kind_of(ask->given);
    unsigned beside = ask->given & ~(kinds[ask->kind].taken | BIT_EVERY);
    if (beside != 0)
        return tpd_fail(error, TPD_BAD_PARAMETER, "%s says nothing about %s: leave it out, or ask about something else",
                        parameters[__builtin_ctz(beside)].name, kinds[ask->kind].name);
    if (ask->kind == TPD_BANKS_OF_LINE && (ask->given & BIT(STRIDE)) && (ask->given & BIT(RECORD)))
        return tpd_fail(error, TPD_BAD_PARAMETER,
                        "stride and record are both there: give the stride in items, or the record in bytes");
    if ((ask->given & BIT(BANK_BYTES)) && (ask->given & BIT(BANK_WIDTH)))
        return tpd_fail(error, TPD_BAD_PARAMETER, "bank_bytes and bank_width are two names of one thing: give one of them");
    if (ask->kind == TPD_BANKS_OF_STRATEGY)
        return tpd_tile_suits(ask->tile, ask->strategy, error);
    return ask->kind == TPD_BANKS_OF_TILE ? check_tile(ask, error) : TPD_OK;
}
