/* bank_addresses.c -- anybody's own addresses: a body of warp requests through the model.
 *
 * Strict: every key known and there once, every value of its kind, every error with the request's number and the lane's, both
 * from 0.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "server/banks/bank_lexer.h"
#include "transposed/bank_report.h"

#define EXAMPLE "{\"requests\":[{\"op\":\"load\",\"width\":4,\"addresses\":[0,128,...]}]}"

typedef void write_one(struct tpd_buf *out, size_t number, const struct tpd_request *request,
                       const struct tpd_bank_result *result, bool colour);

static enum tpd_status parse(const char *body, size_t bytes, cJSON **json, struct tpd_error *error) {
    const char *end = body;
    enum tpd_status status = tpd_bank_lex(body, bytes, error);
    *json = NULL;
    if (bytes == 0)
        return tpd_fail_at(error, TPD_TRUNCATED, 0, "the body is empty: send requests, as in " EXAMPLE);
    if (status != TPD_OK)
        return status;
    *json = cJSON_ParseWithLengthOpts(body, bytes, &end, false);
    size_t at = (size_t)(end - body);
    if (*json == NULL)
        return tpd_fail_at(error, TPD_MALFORMED, at, "the body is no JSON: send requests, as in " EXAMPLE);
    while (at < bytes && strchr(" \t\r\n", body[at]) != NULL)
        at++;
    if (at == bytes)
        return TPD_OK;
    cJSON_Delete(*json);
    *json = NULL;
    return tpd_fail_at(error, TPD_TRAILING, at, "the body goes on behind its JSON: send one object");
}

/* A whole number that a double holds exactly. */
static bool read_whole(const cJSON *item, uint64_t *number) {
    double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(value >= 0 && value <= 9007199254740992.0))
        return false;
    *number = (uint64_t)value;
    return value == (double)*number;
}

/* Finds the keys of an object, each at most once; a key that is not among them is refused. */
static enum tpd_status take_keys(const cJSON *object, const char *const *keys, const cJSON **found, size_t count,
                                 const char *where, struct tpd_error *error) {
    for (size_t i = 0; i < count; i++)
        found[i] = NULL;
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        size_t i = 0;
        while (i < count && strcmp(keys[i], item->string) != 0)
            i++;
        if (i == count)
            return tpd_fail(error, TPD_MALFORMED, "%sthe key \"%.40s\" is unknown", where, item->string);
        if (found[i] != NULL)
            return tpd_fail(error, TPD_MALFORMED, "%sthe key \"%s\" is there twice", where, keys[i]);
        found[i] = item;
    }
    return TPD_OK;
}

static enum tpd_status read_addresses(const cJSON *array, size_t number, struct tpd_request *request, struct tpd_error *error) {
    if (!cJSON_IsArray(array))
        return tpd_fail(error, TPD_MALFORMED, "request %zu: \"addresses\" has to be an array of %d byte offsets", number,
                        TPD_WARP);
    uint32_t lane = 0;
    for (const cJSON *item = array->child; item != NULL; item = item->next, lane++) {
        if (lane >= TPD_WARP || cJSON_IsNull(item))
            continue;
        if (!cJSON_IsNumber(item))
            return tpd_fail(error, TPD_MALFORMED,
                            "request %zu: lane %" PRIu32 ": an address is a byte offset, or null where the lane is inactive",
                            number, lane);
        if (!read_whole(item, &request->address[lane]))
            return tpd_fail(error, TPD_OUT_OF_RANGE,
                            "request %zu: lane %" PRIu32 ": address %.17g is no whole number from 0 to 9007199254740992", number,
                            lane, item->valuedouble);
        request->active |= 1u << lane;
    }
    if (lane != TPD_WARP)
        return tpd_fail(error, TPD_SHAPE_MISMATCH,
                        "request %zu: \"addresses\" has %" PRIu32 " entries: a warp has %d lanes, null for one that is inactive",
                        number, lane, TPD_WARP);
    return TPD_OK;
}

static enum tpd_status read_size(const cJSON *item, const char *name, size_t number, uint32_t *size, struct tpd_error *error) {
    uint64_t value;
    if (item == NULL || !cJSON_IsNumber(item))
        return tpd_fail(error, TPD_MALFORMED, "request %zu: \"%s\" has to be there, a number", number, name);
    if (!read_whole(item, &value) || value > UINT32_MAX)
        return tpd_fail(error, TPD_UNSUPPORTED, "request %zu: %s %.17g is none of %s", number, name, item->valuedouble,
                        name[0] == 'w' ? "1, 2, 4, 8 and 16 bytes" : "1, 2 and 4");
    *size = (uint32_t)value;
    return TPD_OK;
}

static enum tpd_status read_request(const cJSON *object, size_t number, struct tpd_request *request, struct tpd_error *error) {
    enum { OP, WIDTH, MATRICES, ADDRESSES, KEYS };
    static const char *const keys[KEYS] = {"op", "width", "matrices", "addresses"};
    const cJSON *found[KEYS];
    char where[40];
    *request = (struct tpd_request){.op = TPD_OP_LOAD};
    (void)snprintf(where, sizeof where, "request %zu: ", number);
    if (!cJSON_IsObject(object))
        return tpd_fail(error, TPD_MALFORMED, "request %zu is no object: send requests as in " EXAMPLE, number);
    enum tpd_status status = take_keys(object, keys, found, KEYS, where, error);
    if (status != TPD_OK)
        return status;
    if (!cJSON_IsString(found[OP]))
        return tpd_fail(error, TPD_MALFORMED, "%s\"op\" has to be there: load, store, ldmatrix or stmatrix", where);
    request->op = tpd_op_find(found[OP]->valuestring);
    if (request->op == TPD_OP_COUNT)
        return tpd_fail(error, TPD_UNSUPPORTED, "%sop \"%.40s\" is none of load, store, ldmatrix and stmatrix", where,
                        found[OP]->valuestring);
    bool matrix = request->op == TPD_OP_LDMATRIX || request->op == TPD_OP_STMATRIX;
    if (found[matrix ? WIDTH : MATRICES] != NULL)
        return tpd_fail(error, TPD_MALFORMED, "%s%s takes \"%s\" in place of \"%s\"", where, tpd_op_name(request->op),
                        keys[matrix ? MATRICES : WIDTH], keys[matrix ? WIDTH : MATRICES]);
    status = matrix ? read_size(found[MATRICES], "matrices", number, &request->matrices, error)
                    : read_size(found[WIDTH], "width", number, &request->width, error);
    return status != TPD_OK ? status : read_addresses(found[ADDRESSES], number, request, error);
}

static enum tpd_status answer_all(const cJSON *json, write_one *write, bool colour, struct tpd_buf *out,
                                  struct tpd_error *error) {
    enum { REQUESTS, BANK_BYTES, KEYS };
    static const char *const keys[KEYS] = {"requests", "bank_bytes"};
    const cJSON *found[KEYS];
    uint64_t bank_bytes = 4;
    size_t number = 0;
    if (!cJSON_IsObject(json))
        return tpd_fail(error, TPD_MALFORMED, "the body is no object: send requests, as in " EXAMPLE);
    enum tpd_status status = take_keys(json, keys, found, KEYS, "", error);
    if (status != TPD_OK)
        return status;
    if (!cJSON_IsArray(found[REQUESTS]))
        return tpd_fail(error, TPD_MALFORMED, "\"requests\" has to be there, an array: send them as in " EXAMPLE);
    if (found[BANK_BYTES] != NULL && !cJSON_IsNumber(found[BANK_BYTES]))
        return tpd_fail(error, TPD_MALFORMED, "\"bank_bytes\" has to be a number: 4, or 8");
    if (found[BANK_BYTES] != NULL && (!read_whole(found[BANK_BYTES], &bank_bytes) || (bank_bytes != 4 && bank_bytes != 8)))
        return tpd_fail(error, TPD_UNSUPPORTED, "bank_bytes %.17g is neither 4 nor 8", found[BANK_BYTES]->valuedouble);
    for (const cJSON *item = found[REQUESTS]->child; item != NULL; item = item->next, number++) {
        struct tpd_request request;
        struct tpd_bank_result result;
        struct tpd_error inner;
        if (number == TPD_BANKS_REQUESTS_MOST)
            return tpd_fail_limit(error, TPD_TOO_LARGE, TPD_BANKS_REQUESTS_MOST, (uint64_t)cJSON_GetArraySize(found[REQUESTS]),
                                  "the body has more than %d requests: send them in several bodies", TPD_BANKS_REQUESTS_MOST);
        status = read_request(item, number, &request, error);
        if (status != TPD_OK)
            return status;
        status = tpd_banks_shared(&request, (uint32_t)bank_bytes, &result, &inner);
        if (status != TPD_OK)
            return tpd_fail(error, status, "request %zu: %s", number, inner.text);
        write(out, number, &request, &result, colour);
    }
    return TPD_OK;
}

static enum tpd_status answer(const char *body, size_t bytes, write_one *write, bool colour, struct tpd_buf *out,
                              struct tpd_error *error) {
    cJSON *json;
    if (bytes > TPD_BANKS_BODY_BYTES_MOST)
        return tpd_fail_limit(error, TPD_TOO_LARGE, TPD_BANKS_BODY_BYTES_MOST, bytes,
                              "the body has %zu bytes, at most %d are read: send the requests in several bodies", bytes,
                              TPD_BANKS_BODY_BYTES_MOST);
    enum tpd_status status = parse(body, bytes, &json, error);
    if (status == TPD_OK)
        status = answer_all(json, write, colour, out, error);
    cJSON_Delete(json);
    return status;
}

static void write_json(struct tpd_buf *out, size_t number, const struct tpd_request *request,
                       const struct tpd_bank_result *result, bool colour) {
    (void)request;
    (void)colour;
    (void)tpd_buf_format(out,
                         "%s{\"wavefronts\":%" PRIu32 ",\"ideal\":%" PRIu32 ",\"excess\":%" PRIu32 ",\"degree\":%" PRIu32
                         ",\"phases\":%" PRIu32 ",\"busiest_bank\":",
                         number == 0 ? "" : ",\n", result->wavefronts, result->ideal, result->excess, result->degree,
                         result->phases);
    if (result->degree != 0)
        (void)tpd_buf_format(out, "%" PRIu32 ",\"lanes\":[", result->busiest_bank);
    else
        (void)tpd_buf_text(out, "null,\"lanes\":["); /* nobody asked */
    for (uint32_t lanes = result->lanes; lanes != 0; lanes &= lanes - 1)
        (void)tpd_buf_format(out, "%s%d", lanes == result->lanes ? "" : ",", __builtin_ctz(lanes));
    (void)tpd_buf_text(out, "]}");
}

enum tpd_status tpd_banks_addresses_json(const char *body, size_t bytes, struct tpd_buf *out, struct tpd_error *error) {
    (void)tpd_buf_text(out, "{\"requests\":[");
    enum tpd_status status = answer(body, bytes, write_json, false, out, error);
    (void)tpd_buf_text(out, "]}\n");
    return status;
}

/* "0-3,8,17-31", or "-" for none. */
static void add_lanes(struct tpd_buf *out, uint32_t lanes) {
    const char *comma = "";
    if (lanes == 0)
        (void)tpd_buf_text(out, "-");
    for (int lane = 0; lane < TPD_WARP; lane++) {
        int first = lane;
        if (!(lanes >> lane & 1))
            continue;
        while (lane + 1 < TPD_WARP && (lanes >> (lane + 1) & 1))
            lane++;
        (void)tpd_buf_format(out, first == lane ? "%s%d" : "%s%d-%d", comma, first, lane);
        comma = ",";
    }
}

static void write_table(struct tpd_buf *out, size_t number, const struct tpd_request *request,
                        const struct tpd_bank_result *result, bool colour) {
    uint32_t sectors = 0, ideal = 0;
    char shape[16], global[32] = "-";
    bool matrix = request->op == TPD_OP_LDMATRIX || request->op == TPD_OP_STMATRIX;
    (void)snprintf(shape, sizeof shape, matrix ? "x%" PRIu32 : "%" PRIu32, matrix ? request->matrices : request->width);
    if (!matrix && tpd_banks_global(request, &sectors, &ideal, NULL) == TPD_OK)
        (void)snprintf(global, sizeof global, "%" PRIu32 "/%" PRIu32, sectors, ideal);
    (void)tpd_buf_format(out, "%7zu  %-8s%6s%8d%8" PRIu32, number, tpd_op_name(request->op), shape,
                         __builtin_popcount(request->active), result->phases);
    const char *shade = result->excess == 0 ? "\033[32m" : result->wavefronts < 2 * result->ideal ? "\033[33m" : "\033[1;31m";
    (void)tpd_buf_format(out, "%s%12" PRIu32 "%s%7" PRIu32 "%8" PRIu32 "%8" PRIu32 "%9s", colour ? shade : "", result->wavefronts,
                         colour ? "\033[0m" : "", result->ideal, result->excess, result->degree, global);
    if (result->degree > 1)
        (void)tpd_buf_format(out, "%6" PRIu32 "  ", result->busiest_bank);
    else
        (void)tpd_buf_format(out, "%6s  ", "-");
    add_lanes(out, result->lanes);
    (void)tpd_buf_text(out, "\n");
}

enum tpd_status tpd_banks_addresses_table(const char *body, size_t bytes, bool colour, struct tpd_buf *out,
                                          struct tpd_error *error) {
    (void)tpd_buf_text(
        out,
        "                                              "
        "                                SECTORS  BUSIEST\n"
        "REQUEST  OP       WIDTH  ACTIVE  PHASES  WAVEFRONTS  IDEAL  EXCESS  DEGREE  IF GLOBAL BANK  LANES THAT MEET THERE\n");
    return answer(body, bytes, write_table, colour, out, error);
}
