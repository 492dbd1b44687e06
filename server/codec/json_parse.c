/* json_parse.c -- the two forms of a JSON matrix, an array or an object, and what their shape is. */
#include "server/codec/json_parse.h"

#include <inttypes.h>
#include <string.h>

#include "server/codec/codec_internal.h"

enum { KEY_DATA = 1, KEY_ROWS = 2, KEY_COLS = 4, KEY_BATCH = 8, KEY_SHAPE = 16, KEY_DTYPE = 32 };

static const struct {
    const char *name;
    unsigned bit;
} keys[] = {{"data", KEY_DATA},   {"rows", KEY_ROWS},   {"cols", KEY_COLS},
            {"batch", KEY_BATCH}, {"shape", KEY_SHAPE}, {"dtype", KEY_DTYPE}};

struct body {
    const struct tpd_json_scan *scan;
    const struct tpd_decode_options *options;
    const unsigned char *at;
    const unsigned char *data_at;
    struct tpd_json_array array;
    const char *pairs; /* the complex dtype whose [re, im] the array's lowest level was; NULL: it is as it was written */
    unsigned has;      /* keys, or-ed; all of it 0 for an array */
    uint64_t said[3];  /* batch, rows, cols, as the object says them */
    bool says[3];
    char dtype[TPD_FORM_DTYPE_BYTES];
};

enum { BATCH, ROWS, COLS };

/* The letters of a string that was read, up to `room` of them, with the escapes undone that write one of ours; any other is as
 * good as '?', which is in no name. */
static size_t letters(const unsigned char *at, const unsigned char *end, char *to, size_t room) {
    size_t count = 0;
    while (at < end && count < room) {
        unsigned letter = *at++;
        if (letter == '\\' && *at++ == 'u') {
            letter = 0;
            for (int i = 0; i < 4; i++, at++)
                letter = letter * 16 + (*at <= '9' ? *at - 48u : (*at | 0x20) - 87u) /* '0', and 'a' less 10 */;
            letter = letter != 0 && letter < 0x80 ? letter : '?';
        } else if (letter == '\\') {
            letter = '?';
        }
        to[count++] = (char)letter;
    }
    return count;
}

static enum tpd_status read_count(struct body *b, uint64_t *value) {
    const unsigned char *start = b->at;
    *value = 0;
    if (*b->at == '0' && b->at[1] >= '0' && b->at[1] <= '9')
        return tpd_json_fail(b->scan, TPD_MALFORMED, start, "a number has no leading zero");
    while (*b->at >= '0' && *b->at <= '9') {
        if (__builtin_mul_overflow(*value, 10u, value) || __builtin_add_overflow(*value, (uint64_t)(*b->at - '0'), value))
            return tpd_json_fail(b->scan, TPD_SIZE_OVERFLOW, start, "a dimension is past 2^64 - 1");
        b->at++;
    }
    if (b->at == start || *b->at == '.' || (*b->at | 0x20) == 'e')
        return tpd_json_fail(b->scan, TPD_MALFORMED, start,
                             "a dimension is a whole number that is not negative, in plain digits");
    return TPD_OK;
}

static enum tpd_status read_shape(struct body *b) {
    const unsigned char *start = b->at;
    uint64_t shape[3];
    int rank = 0;
    if (*b->at != '[')
        return tpd_json_fail(b->scan, TPD_MALFORMED, b->at, "shape is an array, [rows, cols] or [batch, rows, cols]");
    do {
        b->at = tpd_json_space(b->at + 1);
        if (rank == 3)
            return tpd_json_fail(b->scan, TPD_MALFORMED, b->at, "shape has more than 3 numbers");
        enum tpd_status status = read_count(b, &shape[rank]);
        if (status != TPD_OK)
            return status;
        rank++;
        b->at = tpd_json_space(b->at);
    } while (*b->at == ',');
    if (*b->at != ']')
        return tpd_json_fail(b->scan, TPD_MALFORMED, b->at, "',' or ']' is expected in shape");
    b->at++;
    if (rank < 2)
        return tpd_json_fail(b->scan, TPD_MALFORMED, start, "shape has 1 number; it takes [rows, cols] or [batch, rows, cols]");
    for (int i = 0; i < rank; i++) {
        b->said[3 - rank + i] = shape[i];
        b->says[3 - rank + i] = true;
    }
    return TPD_OK;
}

static enum tpd_status read_dtype(struct body *b) {
    const unsigned char *start = b->at;
    if (*start != '"')
        return tpd_json_fail(b->scan, TPD_MALFORMED, start, "dtype is a string, such as \"float32\"");
    const unsigned char *end = tpd_json_string(b->scan, start);
    if (end == NULL)
        return b->scan->error->status;
    b->at = end;
    char name[TPD_FORM_DTYPE_BYTES];
    /* One longer than every name is not found, and shown as far as it goes. */
    name[letters(start + 1, end - 1, name, sizeof name - 1)] = '\0';
    enum tpd_dtype dtype;
    enum tpd_status status = tpd_dtype_find(name, &dtype, b->scan->error);
    if (status != TPD_OK)
        return status;
    memcpy(b->dtype, tpd_dtype_name(dtype), strlen(tpd_dtype_name(dtype)) + 1);
    return TPD_OK;
}

static enum tpd_status read_value(struct body *b, unsigned key) {
    switch (key) {
    case KEY_DATA:
        b->data_at = b->at;
        if (*b->at != '[')
            return tpd_json_fail(b->scan, TPD_MALFORMED, b->at, "data is an array, flat or of rows");
        return tpd_json_array(b->scan, &b->at, b->options->memory, &b->array);
    case KEY_SHAPE:
        return read_shape(b);
    case KEY_DTYPE:
        return read_dtype(b);
    default: {
        int i = key == KEY_ROWS ? ROWS : key == KEY_COLS ? COLS : BATCH;
        b->says[i] = true;
        return read_count(b, &b->said[i]);
    }
    }
}

static enum tpd_status read_key(struct body *b, unsigned *key) {
    const unsigned char *start = b->at;
    if (*start == '}' && b->has == 0)
        return tpd_json_fail(b->scan, TPD_MALFORMED, start,
                             "the object is empty, key 'data' is missing; write {\"data\":[[1,2],[3,4]]}");
    if (*start != '"')
        return tpd_json_fail(b->scan, TPD_MALFORMED, start, "a key in double quotes is expected");
    const unsigned char *end = tpd_json_string(b->scan, start);
    if (end == NULL)
        return b->scan->error->status;
    char name[8]; /* longer than every key */
    size_t length = (size_t)(end - start) - 2, count = letters(start + 1, end - 1, name, sizeof name);
    *key = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].name) == count && memcmp(keys[i].name, name, count) == 0)
            *key = keys[i].bit;
    int shown = length < 40 ? (int)length : 40;
    if (*key == 0)
        return tpd_json_fail(b->scan, TPD_MALFORMED, start, "key '%.*s' is none of data, rows, cols, batch, shape, dtype", shown,
                             (const char *)start + 1);
    if ((b->has & *key) != 0)
        return tpd_json_fail(b->scan, TPD_MALFORMED, start, "key '%.*s' is there twice", shown, (const char *)start + 1);
    if ((*key == KEY_SHAPE && (b->has & (KEY_ROWS | KEY_COLS | KEY_BATCH)) != 0) ||
        ((*key & (KEY_ROWS | KEY_COLS | KEY_BATCH)) != 0 && (b->has & KEY_SHAPE) != 0))
        return tpd_json_fail(b->scan, TPD_MALFORMED, start, "shape stands beside rows, cols or batch; give one of the two");
    b->has |= *key;
    b->at = tpd_json_space(end);
    if (*b->at != ':')
        return tpd_json_fail(b->scan, TPD_MALFORMED, b->at, "':' is expected behind a key");
    b->at = tpd_json_space(b->at + 1);
    return TPD_OK;
}

static enum tpd_status read_object(struct body *b) {
    do {
        b->at = tpd_json_space(b->at + 1);
        unsigned key = 0;
        enum tpd_status status = read_key(b, &key);
        if (status == TPD_OK)
            status = read_value(b, key);
        if (status != TPD_OK)
            return status;
        b->at = tpd_json_space(b->at);
    } while (*b->at == ',');
    if (*b->at != '}')
        return tpd_json_fail(b->scan, TPD_MALFORMED, b->at, "',' or '}' is expected");
    b->at++;
    if ((b->has & KEY_DATA) == 0)
        return tpd_json_fail(b->scan, TPD_MALFORMED, b->at - 1, "key 'data' is missing");
    return TPD_OK;
}

/* A flat array: the shape is said elsewhere, in the object or in the request. */
static enum tpd_status flat_shape(struct body *b, struct tpd_matrix *matrix) {
    const struct tpd_decode_options *o = b->options;
    const bool asks[3] = {o->has_batch, o->has_rows, o->has_cols};
    const uint64_t asked[3] = {o->batch, o->rows, o->cols};
    uint64_t shape[3] = {1, 0, 0};
    for (int i = 0; i < 3; i++) {
        if (b->says[i])
            shape[i] = b->said[i];
        else if (asks[i])
            shape[i] = asked[i];
        else if (i != BATCH && (b->has != 0 || b->array.count != 0))
            return tpd_json_fail(b->scan, TPD_SHAPE_MISMATCH, b->data_at,
                                 "data is %s and %s is not given; add rows and cols, or shape",
                                 b->pairs != NULL ? "a flat array of pairs [re, im]" : "flat", i == ROWS ? "rows" : "cols");
    }
    matrix->batch = shape[BATCH];
    matrix->rows = shape[ROWS];
    matrix->cols = shape[COLS];
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(matrix, &bytes, b->scan->error);
    if (status == TPD_OK && bytes / sizeof(struct tpd_cell) != b->array.count)
        return tpd_json_fail(b->scan, TPD_SHAPE_MISMATCH, b->data_at,
                             "data has %" PRIu64 " items; batch %" PRIu64 " x rows %" PRIu64 " x cols %" PRIu64 " are %" PRIu64,
                             b->array.count, matrix->batch, matrix->rows, matrix->cols, bytes / sizeof(struct tpd_cell));
    return status;
}

/* Arrays of rows: they have a shape, which what is said must equal. An empty level hides those below it: then it is said. */
static enum tpd_status nested_shape(struct body *b, struct tpd_matrix *matrix) {
    static const char *const name[3] = {"batch", "rows", "cols"};
    bool deep = b->array.rank == 3 || (b->says[BATCH] && b->array.count == 0);
    int first = deep ? BATCH : ROWS;
    uint64_t shape[3] = {1, 0, 0};
    if (b->says[BATCH] && !deep)
        return tpd_json_fail(b->scan, TPD_SHAPE_MISMATCH, b->data_at,
                             "batch is said, but data has %d levels; nest it as matrices of rows, or leave batch out",
                             b->pairs != NULL ? 3 : 2);
    for (int i = first; i < 3; i++) {
        if (i - first < b->array.rank)
            shape[i] = b->array.extent[i - first];
        else if (b->says[i])
            shape[i] = b->said[i];
        if (b->says[i] && b->said[i] != shape[i])
            return tpd_json_fail(b->scan, TPD_SHAPE_MISMATCH, b->data_at, "%s is %" PRIu64 ", data has %" PRIu64, name[i],
                                 b->said[i], shape[i]);
    }
    matrix->batch = shape[BATCH];
    matrix->rows = shape[ROWS];
    matrix->cols = shape[COLS];
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(matrix, &bytes, b->scan->error);
    /* Nested to 2 levels, with a third said that is not empty: no items, but a shape that would have some. */
    if (status == TPD_OK && bytes / sizeof(struct tpd_cell) != b->array.count)
        return tpd_json_fail(b->scan, TPD_SHAPE_MISMATCH, b->data_at, "data has no items, its shape says %" PRIu64,
                             bytes / sizeof(struct tpd_cell));
    return status;
}

static enum tpd_status read_pairs(struct body *b, const char *dtype) {
    if (b->array.count != 0)
        b->pairs = dtype;
    return tpd_json_pairs(b->scan, &b->array, dtype);
}

/* A matrix has rows. Where pairs became items their level is gone, and what is left is flat without having been written so. */
static enum tpd_status check_levels(const struct body *b) {
    if (b->array.rank > 3) /* no pairs: with them there would be a level too many to read */
        return tpd_json_fail(b->scan, TPD_MALFORMED, b->data_at, "data has %d levels; a matrix has 2, a batch of them 3",
                             b->array.rank);
    if (b->array.rank != 1 || b->has != 0 || b->array.count == 0)
        return TPD_OK;
    if (b->pairs != NULL)
        return tpd_json_fail(b->scan, TPD_MALFORMED, b->data_at,
                             "an item of %s is a pair [re, im], so these are items without rows; a matrix is an array of rows of "
                             "pairs, [[[1,0],[2,0]],[[3,0],[4,0]]], or an object with data and shape",
                             b->pairs);
    return tpd_json_fail(b->scan, TPD_MALFORMED, b->data_at,
                         "the array is flat; a matrix is an array of rows, [[1,2],[3,4]], or an object with data and shape");
}

static enum tpd_status fill_payload(struct body *b, struct tpd_payload *payload) {
    const struct tpd_decode_options *o = b->options;
    struct tpd_matrix *matrix = &payload->matrix;
    matrix->itemsize = sizeof(struct tpd_cell);
    matrix->dtype = TPD_DTYPE_OPAQUE;
    enum tpd_status status = TPD_OK;
    if (o->has_dtype)
        matrix->dtype = o->dtype;
    else if (b->dtype[0] != '\0')
        status = tpd_dtype_find(b->dtype, &matrix->dtype, b->scan->error);
    if (status == TPD_OK && tpd_dtype_kind(matrix->dtype) == TPD_KIND_COMPLEX)
        status = read_pairs(b, tpd_dtype_name(matrix->dtype));
    if (status == TPD_OK)
        status = check_levels(b);
    if (status != TPD_OK)
        return status;
    bool object = b->has != 0, flat = b->array.rank == 1;
    status = flat ? flat_shape(b, matrix) : nested_shape(b, matrix);
    if (status == TPD_OK)
        status = tpd_codec_shape_agrees(o, matrix, b->scan->error);
    if (status != TPD_OK)
        return status;
    payload->cells = true;
    payload->format = TPD_CODEC_JSON;
    payload->form.json = !object ? TPD_JSON_NESTED : flat ? TPD_JSON_OBJECT_FLAT : TPD_JSON_OBJECT_NESTED;
    payload->form.json_has_shape = (b->has & KEY_SHAPE) != 0;
    payload->form.json_has_size = (b->has & (KEY_SHAPE | KEY_ROWS | KEY_COLS | KEY_BATCH)) != 0;
    payload->form.json_has_batch = b->array.rank == 3 || b->says[BATCH];
    memcpy(payload->form.json_dtype, b->dtype, sizeof b->dtype);
    payload->items = b->array.cells;
    memset(&b->array.cells, 0, sizeof b->array.cells);
    return TPD_OK;
}

enum tpd_status tpd_json_parse(const struct tpd_json_scan *scan, const struct tpd_decode_options *options,
                               struct tpd_payload *payload) {
    struct body b = {.scan = scan, .options = options, .at = tpd_json_space(scan->text)};
    if (*b.at == 0xef)
        return tpd_json_fail(scan, TPD_MALFORMED, b.at, "the body begins with a byte-order mark; JSON has none, leave it out");
    enum tpd_status status;
    b.data_at = b.at;
    if (*b.at == '[')
        status = tpd_json_array(scan, &b.at, options->memory, &b.array);
    else if (*b.at == '{')
        status = read_object(&b);
    else
        return tpd_json_fail(scan, TPD_MALFORMED, b.at, "a matrix begins with '[' or '{'");
    if (status == TPD_OK) {
        b.at = tpd_json_space(b.at);
        if (b.at < scan->end)
            status = tpd_json_fail(scan, TPD_TRAILING, b.at, "something follows the matrix; a body holds one");
    }
    if (status == TPD_OK)
        status = fill_payload(&b, payload);
    tpd_block_release(&b.array.cells);
    return status;
}
