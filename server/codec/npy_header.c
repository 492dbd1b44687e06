/* npy_header.c -- a reader for the one Python literal a NumPy header may hold, and its writer. */
#include "server/codec/npy_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct reader {
    const char *text, *at, *end;
    size_t body_at; /* of text */
    struct tpd_error *error;
};

static enum tpd_status malformed(const struct reader *r, const char *what) {
    return tpd_fail_at(r->error, TPD_MALFORMED, r->body_at + (size_t)(r->at - r->text), "npy header: %s", what);
}

static void skip_space(struct reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

/* Passes over one punctuation mark, with the space before it; false when another byte is there. */
static bool take(struct reader *r, char mark) {
    skip_space(r);
    if (r->at == r->end || *r->at != mark)
        return false;
    r->at++;
    return true;
}

/* A quoted string without escapes, copied with its NUL. */
static enum tpd_status read_string(struct reader *r, char *out, size_t out_bytes) {
    skip_space(r);
    if (r->at == r->end || (*r->at != '\'' && *r->at != '"'))
        return malformed(r, "a quoted string is expected");
    char quote = *r->at;
    const char *start = r->at + 1, *stop = memchr(start, quote, (size_t)(r->end - start));
    if (stop == NULL)
        return malformed(r, "a string does not end");
    for (const char *c = start; c < stop; c++)
        if (*c == '\\' || (unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e)
            return malformed(r, "a string has an escape, or a character that is not plain ASCII");
    if ((size_t)(stop - start) >= out_bytes)
        return malformed(r, "a string is longer than any key or type string known here");
    memcpy(out, start, (size_t)(stop - start));
    out[stop - start] = '\0';
    r->at = stop + 1;
    return TPD_OK;
}

static bool take_word(struct reader *r, const char *word) {
    size_t bytes = strlen(word);
    if ((size_t)(r->end - r->at) < bytes || memcmp(r->at, word, bytes) != 0)
        return false;
    r->at += bytes;
    return true;
}

static enum tpd_status read_bool(struct reader *r, bool *value) {
    skip_space(r);
    *value = take_word(r, "True");
    return *value || take_word(r, "False") ? TPD_OK : malformed(r, "fortran_order is True or False");
}

static enum tpd_status read_dimension(struct reader *r, uint64_t *value) {
    skip_space(r);
    const char *start = r->at;
    *value = 0;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        if (__builtin_mul_overflow(*value, 10u, value) || __builtin_add_overflow(*value, (uint64_t)(*r->at - '0'), value))
            return tpd_fail_at(r->error, TPD_SIZE_OVERFLOW, r->body_at + (size_t)(start - r->text),
                               "npy header: a dimension is past 2^64 - 1");
        r->at++;
    }
    if (r->at == start)
        return malformed(r, "a dimension of shape is a whole number that is not negative");
    if (*start == '0' && r->at - start > 1)
        return malformed(r, "a dimension of shape begins with 0");
    if (r->at < r->end && *r->at == 'L') /* Python 2's long */
        r->at++;
    return TPD_OK;
}

/* (), (3,), (3, 4), (2, 3, 4): a tuple of one needs its comma. Dimensions past the third are counted, not kept. */
static enum tpd_status read_shape(struct reader *r, uint64_t shape[TPD_NPY_RANK_MOST], int *rank) {
    *rank = 0;
    if (!take(r, '('))
        return malformed(r, "shape is a tuple, such as (3, 4)");
    while (!take(r, ')')) {
        uint64_t value;
        enum tpd_status status = read_dimension(r, &value);
        if (status != TPD_OK)
            return status;
        if (*rank < TPD_NPY_RANK_MOST)
            shape[*rank] = value;
        ++*rank;
        bool comma = take(r, ',');
        if (!comma && *rank == 1)
            return malformed(r, "a tuple of one dimension needs a comma");
        if (!comma && (r->at == r->end || *r->at != ')'))
            return malformed(r, "',' or ')' is expected in shape");
    }
    return TPD_OK;
}

static enum tpd_status read_descr(struct reader *r, struct tpd_npy_header *header) {
    skip_space(r);
    if (r->at < r->end && (*r->at == '[' || *r->at == '('))
        return tpd_fail_at(r->error, TPD_UNSUPPORTED, r->body_at + (size_t)(r->at - r->text),
                           "npy header: structured types are not read; view the array as one type first, e.g. a.view('V%%d' %% "
                           "a.itemsize)");
    enum tpd_status status = read_string(r, header->descr, sizeof header->descr);
    if (status != TPD_OK)
        return status;
    return tpd_npy_descr(header->descr, &header->matrix.dtype, &header->matrix.itemsize, &header->big_endian, r->error);
}

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

static enum tpd_status read_entry(struct reader *r, struct tpd_npy_header *header, uint64_t shape[TPD_NPY_RANK_MOST], int *rank,
                                  unsigned *has) {
    char key[16];
    const char *start = r->at;
    enum tpd_status status = read_string(r, key, sizeof key);
    if (status != TPD_OK)
        return status;
    unsigned bit = strcmp(key, "descr") == 0           ? HAS_DESCR
                   : strcmp(key, "fortran_order") == 0 ? HAS_ORDER
                   : strcmp(key, "shape") == 0         ? HAS_SHAPE
                                                       : 0;
    if (bit == 0 || (*has & bit) != 0)
        return tpd_fail_at(r->error, TPD_MALFORMED, r->body_at + (size_t)(start - r->text), "npy header: key '%s' %s", key,
                           bit == 0 ? "is none of descr, fortran_order, shape" : "is there twice");
    *has |= bit;
    if (!take(r, ':'))
        return malformed(r, "':' is expected behind a key");
    return bit == HAS_DESCR   ? read_descr(r, header)
           : bit == HAS_ORDER ? read_bool(r, &header->fortran)
                              : read_shape(r, shape, rank);
}

/* In Fortran order, items of a batch are interleaved: only a batch of one is a matrix in that order. */
static enum tpd_status fill_shape(const struct reader *r, struct tpd_npy_header *header, const uint64_t *shape, int rank) {
    if (rank < 2 || rank > TPD_NPY_RANK_MOST)
        return tpd_fail(r->error, TPD_UNSUPPORTED, "the array has %d dimension%s; a matrix has 2 and a batch of them 3: %s", rank,
                        rank == 1 ? "" : "s",
                        rank == 0   ? "a.reshape(1, 1) makes a matrix of this one number"
                        : rank == 1 ? "a.reshape(1, -1) makes a row of it, a.reshape(-1, 1) a column"
                                    : "a.reshape(-1, *a.shape[-2:]) makes a batch of its matrices");
    header->has_batch = rank == 3;
    header->matrix.batch = rank == 3 ? shape[0] : 1;
    header->matrix.rows = shape[rank - 2];
    header->matrix.cols = shape[rank - 1];
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(&header->matrix, &bytes, r->error);
    if (status == TPD_OK && header->fortran && header->matrix.batch > 1 && bytes != 0)
        return tpd_fail(r->error, TPD_UNSUPPORTED,
                        "fortran_order with 3 dimensions interleaves the batch of %" PRIu64 "; save numpy.ascontiguousarray(a)",
                        header->matrix.batch);
    return status;
}

enum tpd_status tpd_npy_dict(const char *dict, size_t bytes, size_t at, struct tpd_npy_header *header, struct tpd_error *error) {
    struct reader r = {dict, dict, dict + bytes, at, error};
    uint64_t shape[TPD_NPY_RANK_MOST] = {0};
    int rank = 0;
    unsigned has = 0;
    memset(header, 0, sizeof *header);
    if (!take(&r, '{'))
        return malformed(&r, "it is no dict: '{' is expected");
    while (!take(&r, '}')) {
        enum tpd_status status = read_entry(&r, header, shape, &rank, &has);
        if (status != TPD_OK)
            return status;
        if (!take(&r, ',') && (r.at == r.end || *r.at != '}'))
            return malformed(&r, "',' or '}' is expected behind a value");
    }
    if (has != HAS_ALL)
        return malformed(&r, (has & HAS_DESCR) == 0   ? "descr is missing"
                             : (has & HAS_ORDER) == 0 ? "fortran_order is missing"
                                                      : "shape is missing");
    skip_space(&r);
    if (r.at != r.end)
        return malformed(&r, "something other than space follows the dict");
    return fill_shape(&r, header, shape, rank);
}

enum tpd_status tpd_npy_prefix(const unsigned char *head, size_t head_bytes, size_t *dict_at, size_t *data_at,
                               struct tpd_error *error) {
    static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    *data_at = 0;
    for (size_t i = 0; i < sizeof magic && i < head_bytes; i++)
        if (head[i] != magic[i])
            return tpd_fail_at(error, TPD_MALFORMED, i, "the body does not begin with \\x93NUMPY: it is no .npy file");
    if (head_bytes < 8)
        return TPD_OK;
    if (head[6] < 1 || head[6] > 3 || head[7] != 0)
        return tpd_fail_at(error, TPD_UNSUPPORTED, 6,
                           "npy version %d.%d is not read; 1.0, 2.0 and 3.0 are. Was the file changed on its way? curl sends one "
                           "as it is with --data-binary @FILE; with -d it leaves bytes out",
                           head[6], head[7]);
    size_t length_bytes = head[6] == 1 ? 2 : 4, bytes = 0;
    *dict_at = 8 + length_bytes;
    if (head_bytes < *dict_at)
        return TPD_OK;
    for (size_t i = 0; i < length_bytes; i++)
        bytes |= (size_t)head[8 + i] << (8 * i);
    if (bytes > TPD_NPY_DICT_MOST) {
        enum tpd_status status =
            tpd_fail_limit(error, TPD_MALFORMED, TPD_NPY_DICT_MOST, bytes,
                           "npy header: it says it has %zu characters, the most is %d", bytes, TPD_NPY_DICT_MOST);
        if (error != NULL) {
            error->has |= TPD_ERROR_HAS_OFFSET;
            error->offset = 8;
        }
        return status;
    }
    *data_at = *dict_at + bytes;
    return TPD_OK;
}

/* numpy.save leaves room for the first dimension to grow to 21 digits, so that it can be appended to in place; then pads
 * so that the data lies on 64 bytes, by 1 to 64 spaces. The same here: the files are equal byte for byte. */
size_t tpd_npy_write(const struct tpd_matrix *matrix, bool has_batch, const char *descr, unsigned char *end) {
    enum { GROWTH_DIGITS = 21, ALIGNMENT = 64, PREFIX = 10 };
    char first[24], dict[TPD_BLOCK_HEADROOM];
    snprintf(first, sizeof first, "%" PRIu64, has_batch ? matrix->batch : matrix->rows);
    int length = snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (%s, ", descr, first);
    if (has_batch)
        length += snprintf(dict + length, sizeof dict - (size_t)length, "%" PRIu64 ", ", matrix->rows);
    length += snprintf(dict + length, sizeof dict - (size_t)length, "%" PRIu64 "), }", matrix->cols);
    size_t used = PREFIX + (size_t)length + (GROWTH_DIGITS - strlen(first)) + 1;
    size_t bytes = used + ALIGNMENT - used % ALIGNMENT;
    unsigned char *at = end - bytes;
    memcpy(at, "\x93NUMPY\x01\x00", 8);
    at[8] = (unsigned char)((bytes - PREFIX) & 0xff);
    at[9] = (unsigned char)((bytes - PREFIX) >> 8);
    memcpy(at + PREFIX, dict, (size_t)length);
    memset(at + PREFIX + length, ' ', bytes - PREFIX - (size_t)length);
    end[-1] = '\n';
    return bytes;
}
