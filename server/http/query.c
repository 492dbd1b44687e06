/* query.c -- the parameters of a transpose: each at most once, none unknown, numbers strict. */
#include <stdio.h>
#include <string.h>

#include "server/http/http_internal.h"

struct reading {
    struct tpd_exchange *request;
    unsigned seen; /* bit n: parameter n */
    enum tpd_status status;
};

static enum tpd_status read_number(const char *name, const char *value, uint64_t *number, bool *has, struct tpd_error *error) {
    size_t digits = strspn(value, "0123456789");
    if (digits == 0 || value[digits] != '\0')
        return tpd_fail(error, TPD_BAD_PARAMETER, "%s=%.40s is not a number: give decimal digits alone", name, value);
    if (!tpd_parse_uint(value, number))
        return tpd_fail(error, TPD_SIZE_OVERFLOW, "%s=%.40s does not fit 64 bits", name, value);
    *has = true;
    return TPD_OK;
}

static enum tpd_status read_rows(struct tpd_exchange *r, const char *value) {
    return read_number("rows", value, &r->decode.rows, &r->decode.has_rows, &r->refusal);
}

static enum tpd_status read_cols(struct tpd_exchange *r, const char *value) {
    return read_number("cols", value, &r->decode.cols, &r->decode.has_cols, &r->refusal);
}

static enum tpd_status read_batch(struct tpd_exchange *r, const char *value) {
    return read_number("batch", value, &r->decode.batch, &r->decode.has_batch, &r->refusal);
}

static enum tpd_status read_dtype(struct tpd_exchange *r, const char *value) {
    r->decode.has_dtype = true;
    return tpd_dtype_find(value, &r->decode.dtype, &r->refusal);
}

static enum tpd_status read_itemsize(struct tpd_exchange *r, const char *value) {
    uint64_t bytes = 0;
    enum tpd_status status = read_number("itemsize", value, &bytes, &r->decode.has_itemsize, &r->refusal);
    if (status == TPD_OK && (bytes == 0 || bytes > TPD_ITEMSIZE_MOST))
        return tpd_fail_limit(&r->refusal, TPD_UNSUPPORTED, TPD_ITEMSIZE_MOST, bytes, "itemsize=%.40s: an item has 1 to %d bytes",
                              value, TPD_ITEMSIZE_MOST);
    r->decode.itemsize = (uint32_t)bytes;
    return status;
}

static enum tpd_status read_strategy(struct tpd_exchange *r, const char *value) {
    enum tpd_status status = tpd_strategy_find(value, &r->job.strategy, &r->refusal);
    r->job.strategy_is_explicit = status == TPD_OK && r->job.strategy != TPD_STRATEGY_AUTO;
    return status;
}

static enum tpd_status read_tile(struct tpd_exchange *r, const char *value) {
    r->job.tile_is_explicit = true;
    return tpd_tile_parse(value, &r->job.tile, &r->refusal);
}

static enum tpd_status read_device(struct tpd_exchange *r, const char *value) {
    if (value[0] == '\0' || strlen(value) >= sizeof r->job.device)
        return tpd_fail(&r->refusal, TPD_UNKNOWN_DEVICE,
                        "device=%.40s is no device here: /healthz lists those that are, auto takes any", value);
    memcpy(r->job.device, value, strlen(value) + 1);
    return TPD_OK;
}

static enum tpd_status read_nonfinite(struct tpd_exchange *r, const char *value) {
    static const char *const words[] = {"error", "null", "string"}; /* by enum tpd_nonfinite */
    for (int i = 0; i < 3; i++)
        if (strcmp(value, words[i]) == 0) {
            r->job.encode.nonfinite = (enum tpd_nonfinite)i;
            return TPD_OK;
        }
    return tpd_fail(&r->refusal, TPD_BAD_PARAMETER, "nonfinite=%.40s is not one of error, null, string", value);
}

static enum tpd_status read_tensor(struct tpd_exchange *r, const char *value) {
    enum tpd_status status = tpd_tensor_name(value, r->decode.tensor, &r->refusal);
    memcpy(r->job.encode.tensor, r->decode.tensor, sizeof r->job.encode.tensor);
    return status;
}

static enum tpd_status read_delimiter(struct tpd_exchange *r, const char *value) {
    enum tpd_status status = tpd_table_option_parse("delimiter", value, &r->decode.table, &r->refusal);
    r->job.encode.has_delimiter = status == TPD_OK;
    r->job.encode.delimiter = r->decode.table.delimiter;
    return status;
}

static enum tpd_status read_quotes(struct tpd_exchange *r, const char *value) {
    return tpd_table_option_parse("quotes", value, &r->decode.table, &r->refusal);
}

static enum tpd_status read_ragged(struct tpd_exchange *r, const char *value) {
    return tpd_table_option_parse("ragged", value, &r->decode.table, &r->refusal);
}

static enum tpd_status read_filler(struct tpd_exchange *r, const char *value) {
    return tpd_table_option_parse("filler", value, &r->decode.table, &r->refusal);
}

static const struct {
    const char *name;
    enum tpd_status (*read)(struct tpd_exchange *request, const char *value);
} parameters[] = {
    {"rows", read_rows},           {"cols", read_cols},           {"batch", read_batch},   {"dtype", read_dtype},
    {"itemsize", read_itemsize},   {"strategy", read_strategy},   {"tile", read_tile},     {"device", read_device},
    {"nonfinite", read_nonfinite}, {"delimiter", read_delimiter}, {"quotes", read_quotes}, {"ragged", read_ragged},
    {"filler", read_filler},       {"tensor", read_tensor},
};
enum { PARAMETERS = sizeof parameters / sizeof parameters[0] };

/* Each parameter once, and with a value. */
static enum tpd_status check_once(unsigned *seen, unsigned number, const char *key, const char *value, struct tpd_error *error) {
    bool twice = (*seen & 1u << number) != 0;
    *seen |= 1u << number;
    if (twice)
        return tpd_fail(error, TPD_BAD_PARAMETER, "the parameter %s is there twice: give it once", key);
    if (value == NULL)
        return tpd_fail(error, TPD_BAD_PARAMETER, "the parameter %s has no value: write %s=VALUE", key, key);
    return TPD_OK;
}

/* Names all that are taken: a list that is cut would keep its reader from the rest. */
static enum tpd_status unknown(const char *key, const char *const *taken, unsigned count, struct tpd_error *error) {
    char list[288] = "no parameter is";
    size_t at = 0;
    for (unsigned i = 0; i < count && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", taken[i]);
    if (count != 0 && at < sizeof list)
        (void)snprintf(list + at, sizeof list - at, count == 1 ? " is" : " are");
    return tpd_fail(error, TPD_BAD_PARAMETER, "the parameter \"%.60s\" is unknown: %s taken here", key, list);
}

static enum tpd_status unknown_of_transpose(const char *key, struct tpd_error *error) {
    const char *taken[PARAMETERS];
    for (unsigned i = 0; i < PARAMETERS; i++)
        taken[i] = parameters[i].name;
    return unknown(key, taken, PARAMETERS, error);
}

/* What is between two '&' that follow one another, or before the first. */
static bool is_nothing(const char *key, const char *value) {
    return key[0] == '\0' && value == NULL;
}

static enum MHD_Result read_one(void *self, enum MHD_ValueKind kind, const char *key, const char *value) {
    struct reading *reading = self;
    struct tpd_error *error = &reading->request->refusal;
    (void)kind;
    if (is_nothing(key, value))
        return MHD_YES;
    unsigned i = 0;
    while (i < PARAMETERS && strcmp(parameters[i].name, key) != 0)
        i++;
    if (i == PARAMETERS)
        reading->status = unknown_of_transpose(key, error);
    else
        reading->status = check_once(&reading->seen, i, key, value, error);
    if (reading->status == TPD_OK)
        reading->status = parameters[i].read(reading->request, value);
    return reading->status == TPD_OK ? MHD_YES : MHD_NO;
}

enum tpd_status tpd_query_read(struct tpd_exchange *request) {
    struct reading reading = {.request = request, .status = TPD_OK};
    (void)MHD_get_connection_values(request->connection->mhd, MHD_GET_ARGUMENT_KIND, read_one, &reading);
    if (reading.status != TPD_OK)
        return reading.status;
    if (request->decode.has_dtype && request->decode.has_itemsize)
        return tpd_fail(&request->refusal, TPD_BAD_PARAMETER, "dtype and itemsize are both there: give one of them");
    return TPD_OK;
}

bool tpd_query_is(const char *name, const char *key) {
    while (*name != '\0' && (*name == *key || (*name == '_' && *key == '-'))) {
        name++;
        key++;
    }
    return *name == *key;
}

struct checking {
    struct tpd_exchange *request;
    const char *const *taken;
    unsigned count, seen; /* bit n: taken[n] */
    enum tpd_status status;
};

static enum MHD_Result check_one(void *self, enum MHD_ValueKind kind, const char *key, const char *value) {
    struct checking *checking = self;
    struct tpd_error *error = &checking->request->refusal;
    (void)kind;
    if (is_nothing(key, value))
        return MHD_YES;
    unsigned i = 0;
    while (i < checking->count && !tpd_query_is(checking->taken[i], key))
        i++;
    if (i == checking->count)
        checking->status = unknown(key, checking->taken, checking->count, error);
    else
        checking->status = check_once(&checking->seen, i, key, value, error);
    return checking->status == TPD_OK ? MHD_YES : MHD_NO;
}

enum tpd_status tpd_query_check(struct tpd_exchange *request, const char *const *taken, unsigned count) {
    struct checking checking = {.request = request, .taken = taken, .count = count, .status = TPD_OK};
    (void)MHD_get_connection_values(request->connection->mhd, MHD_GET_ARGUMENT_KIND, check_one, &checking);
    return checking.status;
}
