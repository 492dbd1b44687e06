/* safetensors_header.c -- {"__metadata__": {...}, "NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...} */
#include "server/codec/safetensors_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { RANK_MOST = 3, DTYPE_BYTES = 16 };

static const char *const dtypes[TPD_DTYPE_COUNT] = {
    [TPD_DTYPE_BOOL] = "BOOL",           [TPD_DTYPE_INT8] = "I8",       [TPD_DTYPE_UINT8] = "U8",
    [TPD_DTYPE_INT16] = "I16",           [TPD_DTYPE_UINT16] = "U16",    [TPD_DTYPE_FLOAT16] = "F16",
    [TPD_DTYPE_BFLOAT16] = "BF16",       [TPD_DTYPE_INT32] = "I32",     [TPD_DTYPE_UINT32] = "U32",
    [TPD_DTYPE_FLOAT32] = "F32",         [TPD_DTYPE_INT64] = "I64",     [TPD_DTYPE_UINT64] = "U64",
    [TPD_DTYPE_FLOAT64] = "F64",         [TPD_DTYPE_COMPLEX64] = "C64", [TPD_DTYPE_FLOAT8_E4M3] = "F8_E4M3",
    [TPD_DTYPE_FLOAT8_E5M2] = "F8_E5M2",
};

const char *tpd_safetensors_dtype(enum tpd_dtype dtype) {
    return dtypes[dtype];
}

/* One tensor, as the header has it. */
struct entry {
    char dtype[DTYPE_BYTES];
    const unsigned char *at, *name;
    size_t name_bytes;
    uint64_t shape[RANK_MOST], offsets[2];
    uint64_t rank;
    unsigned has;
};
enum { HAS_DTYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4, HAS_ALL = 7 };

struct reader {
    struct tpd_json_scan scan; /* its end lies behind the header's: what is missing there is malformed, as the body goes on */
    const unsigned char *at, *stop;
    const char *wanted;
    struct tpd_safetensors_header *header;
    struct entry found;
    uint64_t tensors, lengths; /* how many, and the sum of their bytes */
    bool is_found;
    char names[96]; /* the first few, for an error */
};

static bool take(struct reader *r, unsigned char mark) {
    r->at = tpd_json_space(r->at);
    if (*r->at != mark)
        return false;
    r->at = tpd_json_space(r->at + 1);
    return true;
}

static enum tpd_status expect(struct reader *r, unsigned char mark) {
    return take(r, mark) ? TPD_OK : tpd_json_fail(&r->scan, TPD_MALFORMED, r->at, "'%c' is expected in the header", mark);
}

/* A string; *inside is what its quotes hold. */
static enum tpd_status read_string(struct reader *r, const unsigned char **inside, size_t *bytes) {
    if (*r->at != '"')
        return tpd_json_fail(&r->scan, TPD_MALFORMED, r->at, "a string is expected in the header");
    const unsigned char *end = tpd_json_string(&r->scan, r->at);
    if (end == NULL)
        return r->scan.error->status;
    *inside = r->at + 1;
    *bytes = (size_t)(end - r->at) - 2;
    r->at = end;
    return TPD_OK;
}

/* [1, 2, 3]: the first `room` are kept, all are counted. */
static enum tpd_status read_numbers(struct reader *r, uint64_t *numbers, uint64_t room, uint64_t *count) {
    *count = 0;
    enum tpd_status status = expect(r, '[');
    if (status != TPD_OK || take(r, ']'))
        return status;
    do {
        const unsigned char *start = r->at;
        uint64_t value = 0;
        for (; *r->at >= '0' && *r->at <= '9'; r->at++)
            if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (uint64_t)(*r->at - '0'), &value))
                return tpd_json_fail(&r->scan, TPD_SIZE_OVERFLOW, start, "a number in the header is past 2^64 - 1");
        if (r->at == start || (*start == '0' && r->at - start > 1))
            return tpd_json_fail(&r->scan, TPD_MALFORMED, start, "a whole number that is not negative is expected in the header");
        if (*count < room)
            numbers[*count] = value;
        ++*count;
    } while (take(r, ','));
    return expect(r, ']');
}

static bool is(const unsigned char *text, size_t bytes, const char *word) {
    return bytes == strlen(word) && memcmp(text, word, bytes) == 0;
}

static enum tpd_status read_member(struct reader *r, struct entry *entry) {
    const unsigned char *key = NULL, *start = r->at, *value = NULL;
    size_t bytes = 0, value_bytes = 0;
    enum tpd_status status = read_string(r, &key, &bytes);
    if (status != TPD_OK)
        return status;
    unsigned bit = is(key, bytes, "dtype")          ? HAS_DTYPE
                   : is(key, bytes, "shape")        ? HAS_SHAPE
                   : is(key, bytes, "data_offsets") ? HAS_OFFSETS
                                                    : 0;
    if (bit == 0 || (entry->has & bit) != 0)
        return tpd_json_fail(&r->scan, TPD_MALFORMED, start, "key '%.*s' of a tensor %s", bytes < 40 ? (int)bytes : 40,
                             (const char *)key, bit == 0 ? "is none of dtype, shape, data_offsets" : "is there twice");
    entry->has |= bit;
    status = expect(r, ':');
    if (status != TPD_OK)
        return status;
    uint64_t count;
    if (bit == HAS_SHAPE)
        return read_numbers(r, entry->shape, RANK_MOST, &entry->rank);
    if (bit == HAS_DTYPE) {
        status = read_string(r, &value, &value_bytes);
        if (status == TPD_OK) /* one that is longer is none of ours, and shown as far as it goes */
            (void)snprintf(entry->dtype, sizeof entry->dtype, "%.*s", value_bytes < DTYPE_BYTES ? (int)value_bytes : DTYPE_BYTES,
                           (const char *)value);
        return status;
    }
    start = r->at;
    status = read_numbers(r, entry->offsets, 2, &count);
    if (status == TPD_OK && (count != 2 || entry->offsets[0] > entry->offsets[1]))
        return tpd_json_fail(&r->scan, TPD_MALFORMED, start, "data_offsets are two numbers, where the tensor begins and ends");
    return status;
}

static enum tpd_status read_tensor(struct reader *r, struct entry *entry) {
    entry->at = r->at;
    enum tpd_status status = expect(r, '{');
    if (status != TPD_OK)
        return status;
    do {
        status = read_member(r, entry);
        if (status != TPD_OK)
            return status;
    } while (take(r, ','));
    status = expect(r, '}');
    if (status == TPD_OK && entry->has != HAS_ALL)
        return tpd_json_fail(&r->scan, TPD_MALFORMED, entry->at, "a tensor lacks %s; it says dtype, shape and data_offsets",
                             (entry->has & HAS_DTYPE) == 0   ? "dtype"
                             : (entry->has & HAS_SHAPE) == 0 ? "shape"
                                                             : "data_offsets");
    if (status == TPD_OK && __builtin_add_overflow(r->lengths, entry->offsets[1] - entry->offsets[0], &r->lengths))
        return tpd_json_fail(&r->scan, TPD_SIZE_OVERFLOW, entry->at, "the tensors have more than 2^64 bytes");
    return status;
}

/* Strings by strings: kept as they are. */
static enum tpd_status read_metadata(struct reader *r) {
    const unsigned char *start = r->at, *inside;
    size_t bytes;
    if (r->header->metadata != NULL)
        return tpd_json_fail(&r->scan, TPD_MALFORMED, start, "__metadata__ is there twice");
    enum tpd_status status = expect(r, '{');
    if (status == TPD_OK && *r->at != '}')
        do {
            status = read_string(r, &inside, &bytes);
            if (status == TPD_OK)
                status = expect(r, ':');
            if (status == TPD_OK)
                status = read_string(r, &inside, &bytes);
        } while (status == TPD_OK && take(r, ','));
    if (status == TPD_OK && *(r->at = tpd_json_space(r->at)) != '}')
        status = tpd_json_fail(&r->scan, TPD_MALFORMED, r->at, "',' or '}' is expected in __metadata__, which holds strings");
    if (status != TPD_OK)
        return status;
    r->header->metadata = start;
    r->header->metadata_bytes = (size_t)(++r->at - start);
    return TPD_OK;
}

static void note_name(struct reader *r, const unsigned char *name, size_t bytes) {
    size_t at = strlen(r->names);
    int shown = bytes < 30 ? (int)bytes : 30;
    if (at + (size_t)shown + 6 < sizeof r->names)
        (void)snprintf(r->names + at, sizeof r->names - at, "%s%.*s", at != 0 ? ", " : "", shown, (const char *)name);
    else if (at + 6 < sizeof r->names && strcmp(r->names + at - 3, "...") != 0)
        memcpy(r->names + at, ", ...", sizeof ", ...");
}

static enum tpd_status read_pair(struct reader *r) {
    const unsigned char *start = r->at, *name = NULL;
    size_t bytes = 0;
    enum tpd_status status = read_string(r, &name, &bytes);
    if (status == TPD_OK)
        status = expect(r, ':');
    if (status != TPD_OK)
        return status;
    if (is(name, bytes, "__metadata__"))
        return read_metadata(r);
    struct entry entry = {.name = name, .name_bytes = bytes};
    status = read_tensor(r, &entry);
    if (status != TPD_OK)
        return status;
    r->tensors++;
    note_name(r, name, bytes);
    if (entry.offsets[1] > r->header->all)
        r->header->all = entry.offsets[1];
    if (r->wanted[0] != '\0' && !is(name, bytes, r->wanted))
        return TPD_OK;
    if (r->is_found && r->wanted[0] != '\0')
        return tpd_json_fail(&r->scan, TPD_MALFORMED, start, "tensor %.60s is there twice", r->wanted);
    r->is_found = true;
    r->found = entry;
    return TPD_OK;
}

/* What the entry says of the matrix, and whether it agrees with itself. */
static enum tpd_status fill(struct reader *r) {
    const struct entry *entry = &r->found;
    struct tpd_matrix *matrix = &r->header->matrix;
    struct tpd_error *error = r->scan.error;
    if (entry->rank < 2 || entry->rank > RANK_MOST)
        return tpd_fail(error, TPD_UNSUPPORTED,
                        "the tensor has %" PRIu64 " dimension%s; a matrix has 2 and a batch of them 3: reshape it first",
                        entry->rank, entry->rank == 1 ? "" : "s");
    if (entry->name_bytes >= TPD_TENSOR_NAME_BYTES)
        return tpd_fail_limit(error, TPD_UNSUPPORTED, TPD_TENSOR_NAME_BYTES - 1, entry->name_bytes,
                              "the tensor's name has %zu bytes, the most is %d", entry->name_bytes, TPD_TENSOR_NAME_BYTES - 1);
    memcpy(r->header->name, entry->name, entry->name_bytes);
    r->header->has_batch = entry->rank == 3;
    r->header->begin = entry->offsets[0];
    r->header->end = entry->offsets[1];
    int dtype = 0;
    while (dtype < TPD_DTYPE_COUNT && (dtypes[dtype] == NULL || strcmp(dtypes[dtype], entry->dtype) != 0))
        dtype++;
    if (dtype == TPD_DTYPE_COUNT)
        return tpd_fail(
            error, TPD_UNKNOWN_DTYPE,
            "the tensor's dtype %s is not read; BOOL, I8 to I64, U8 to U64, F8_E4M3, F8_E5M2, F16, BF16, F32, F64 and C64 are",
            entry->dtype);
    *matrix = (struct tpd_matrix){.rows = entry->shape[entry->rank - 2],
                                  .cols = entry->shape[entry->rank - 1],
                                  .batch = entry->rank == 3 ? entry->shape[0] : 1,
                                  .dtype = (enum tpd_dtype)dtype,
                                  .itemsize = tpd_dtype_itemsize((enum tpd_dtype)dtype)};
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(matrix, &bytes, error);
    if (status == TPD_OK && bytes != r->header->end - r->header->begin)
        return tpd_json_fail(&r->scan, TPD_SHAPE_MISMATCH, entry->at,
                             "the tensor's shape and dtype make %" PRIu64 " bytes, its data_offsets %" PRIu64, bytes,
                             r->header->end - r->header->begin);
    return status;
}

static enum tpd_status read_all(struct reader *r) {
    enum tpd_status status = TPD_OK;
    if (*r->at != '{')
        return tpd_json_fail(&r->scan, TPD_MALFORMED, r->at, "the header begins with '{'");
    r->at = tpd_json_space(r->at + 1);
    if (*r->at != '}')
        do
            status = read_pair(r);
        while (status == TPD_OK && take(r, ','));
    if (status == TPD_OK)
        status = expect(r, '}');
    if (status == TPD_OK && r->at < r->stop)
        status = tpd_json_fail(&r->scan, TPD_MALFORMED, r->at, "something other than space follows the header's object");
    if (status != TPD_OK)
        return status;
    if (r->lengths != r->header->all)
        return tpd_json_fail(&r->scan, TPD_MALFORMED, r->scan.text,
                             "the tensors overlap or leave holes: they have %" PRIu64 " bytes in %" PRIu64, r->lengths,
                             r->header->all);
    if (r->tensors == 0)
        return tpd_fail(r->scan.error, TPD_BAD_PARAMETER, "the file has no tensor: send one with a matrix in it");
    if (!r->is_found)
        return tpd_fail(r->scan.error, TPD_BAD_PARAMETER, "tensor is %.60s, which is not in the file; it has %s", r->wanted,
                        r->names);
    if (r->tensors > 1 && r->wanted[0] == '\0')
        return tpd_fail(r->scan.error, TPD_BAD_PARAMETER, "the file has %" PRIu64 " tensors, name one with tensor=NAME: %s",
                        r->tensors, r->names);
    return fill(r);
}

enum tpd_status tpd_safetensors_read(const unsigned char *text, size_t bytes, const char *wanted,
                                     struct tpd_safetensors_header *header, struct tpd_error *error) {
    struct tpd_error local = {0};
    struct reader r = {.scan = {text, text + bytes + 1, error != NULL ? error : &local},
                       .at = text,
                       .stop = text + bytes,
                       .wanted = wanted,
                       .header = header};
    memset(header, 0, sizeof *header);
    enum tpd_status status = read_all(&r);
    if (error != NULL && (error->has & TPD_ERROR_HAS_OFFSET) != 0 && status != TPD_OK) {
        error->offset += TPD_SAFETENSORS_PREFIX; /* of the body, in which the header begins there and has no lines */
        error->has &= ~(unsigned)TPD_ERROR_HAS_LINE;
    }
    return status;
}

enum tpd_status tpd_tensor_name(const char *text, char name[TPD_TENSOR_NAME_BYTES], struct tpd_error *error) {
    unsigned char quoted[TPD_TENSOR_NAME_BYTES + 2 + TPD_TEXT_PAD] = {0};
    struct tpd_error local = {0};
    size_t bytes = strlen(text);
    if (bytes == 0 || bytes >= TPD_TENSOR_NAME_BYTES)
        return tpd_fail_limit(error, TPD_BAD_PARAMETER, TPD_TENSOR_NAME_BYTES - 1, bytes,
                              "tensor has %zu bytes: a name has 1 to %d", bytes, TPD_TENSOR_NAME_BYTES - 1);
    quoted[0] = quoted[1 + bytes] = '"';
    memcpy(quoted + 1, text, bytes);
    struct tpd_json_scan scan = {quoted, quoted + bytes + 2, &local};
    if (tpd_json_string(&scan, quoted) != scan.end || strcmp(text, "__metadata__") == 0)
        return tpd_fail(error, TPD_BAD_PARAMETER, "tensor is %.60s: a name is UTF-8 as JSON spells it, and not __metadata__",
                        text);
    memcpy(name, text, bytes + 1);
    return TPD_OK;
}

size_t tpd_safetensors_write(const struct tpd_matrix *matrix, bool has_batch, uint64_t bytes, const char *name,
                             const unsigned char *metadata, size_t metadata_bytes, unsigned char *to, size_t room) {
    const char *front = metadata_bytes != 0 ? "{\"__metadata__\":" : "{";
    char back[192], shape[72];
    size_t at = TPD_SAFETENSORS_PREFIX;
    if (has_batch)
        (void)snprintf(shape, sizeof shape, "%" PRIu64 ",%" PRIu64 ",%" PRIu64, matrix->batch, matrix->rows, matrix->cols);
    else
        (void)snprintf(shape, sizeof shape, "%" PRIu64 ",%" PRIu64, matrix->rows, matrix->cols);
    (void)snprintf(back, sizeof back, "\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[0,%" PRIu64 "]}}",
                   dtypes[matrix->dtype], shape, bytes);
    size_t whole = at + strlen(front) + metadata_bytes + (metadata_bytes != 0 ? 2 : 1) + strlen(name) + strlen(back);
    whole = (whole + TPD_SAFETENSORS_ALIGNMENT - 1) / TPD_SAFETENSORS_ALIGNMENT * TPD_SAFETENSORS_ALIGNMENT;
    if (whole > room)
        return whole;
    memset(to, ' ', whole);
    for (int i = 0; i < TPD_SAFETENSORS_PREFIX; i++)
        to[i] = (unsigned char)((whole - TPD_SAFETENSORS_PREFIX) >> (8 * i));
#define ADD(text, length)                \
    do {                                 \
        memcpy(to + at, (text), length); \
        at += (length);                  \
    } while (0)
    ADD(front, strlen(front));
    if (metadata_bytes != 0) {
        ADD(metadata, metadata_bytes);
        ADD(",", 1);
    }
    ADD("\"", 1);
    ADD(name, strlen(name));
    ADD(back, strlen(back));
#undef ADD
    return whole;
}
