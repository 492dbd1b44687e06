/* codec.h -- formats: bytes to matrix and back. One road for every format, over HTTP and for files.
 *
 *     open(options)  ->  push(bytes) ... push(bytes)  ->  finish(payload)  ->  [transpose]  ->  encode(payload, ...)
 *
 * open and push run while the body arrives (an HTTP thread): they only place bytes, and refuse as early as they can.
 * finish and encode may be long (parsing, printing) and run on a worker.
 * Owns: a decoder owns its blocks until finish() moves them into the payload. close() is always due, in any state.
 * Threads: one decoder in one thread at a time. Cells and binary items are the two kinds of payload:
 *   binary  items of matrix.itemsize bytes
 *   cells   items are struct tpd_cell (itemsize 8): where each cell's text lies in `text`; nobody parses it. What a cell's
 *           letters mean is its format's: JSON values, or delimited text with the quotes that it came with (form.table)
 */
#ifndef TRANSPOSED_CODEC_H
#define TRANSPOSED_CODEC_H

#include "transposed/block.h"
#include "transposed/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tpd_codec_id {
#define X(NAME, name, type, suffixes, summary) TPD_CODEC_##NAME,
#include "transposed/tbl/codecs.def"
#undef X
    TPD_CODEC_COUNT
};

enum tpd_nonfinite { TPD_NONFINITE_ERROR, TPD_NONFINITE_NULL, TPD_NONFINITE_STRING };

enum { TPD_TENSOR_NAME_BYTES = 256 };    /* with its NUL */
enum { TPD_CELL_BYTES_MOST = 0xffffff }; /* a cell's text: 24 bits of length, 40 of offset */
struct tpd_cell {
    uint64_t place; /* offset << 24 | length */
};

/* Delimited text (CSV, TSV and their kin): all zero is what the format's name says. */
enum tpd_ragged { TPD_RAGGED_ERROR, TPD_RAGGED_PAD };
enum { TPD_FILLER_MOST = 64 };
struct tpd_table_options {
    bool has_delimiter;
    unsigned char delimiter; /* any byte but CR, LF and the quote; of the text that comes in, or else of the one that is made */
    bool quotes_off;         /* '"' is a letter like any other */
    enum tpd_ragged ragged;  /* PAD: short rows are filled up to the longest with `filler` */
    char filler[TPD_FILLER_MOST];
    uint64_t cells_most; /* ceiling of cells, filled ones too; 0: none of its own */
};

/* One of `delimiter`, `quotes` (on, off), `ragged` (error, pad) and `filler` by its name. Fails with TPD_BAD_PARAMETER. */
enum tpd_status tpd_table_option_parse(const char *name, const char *text, struct tpd_table_options *options,
                                       struct tpd_error *error) TPD_CHECKED;

enum { TPD_TEXT_PAD = 16 }; /* zero bytes behind a text that is kept whole */

/* What the caller knows before the first byte: the query, or flags. */
struct tpd_decode_options {
    bool has_rows, has_cols, has_batch, has_dtype, has_itemsize;
    uint64_t rows, cols, batch;
    enum tpd_dtype dtype;
    uint32_t itemsize;
    bool has_content_bytes;
    uint64_t content_bytes;   /* the body's size when it is known */
    uint64_t body_most_bytes; /* ceiling of the body */
    struct tpd_table_options table;
    struct tpd_memory *memory; /* borrows: where blocks come from */
    /* NULL, or the whole body, with TPD_TEXT_PAD zero bytes behind it: a text format takes it in open(), and no push() follows.
     */
    struct tpd_block *given;
    bool has_out;
    enum tpd_codec_id out; /* what the answer will be: where that has no cells, a text may be read as numbers right away */
    char tensor[TPD_TENSOR_NAME_BYTES]; /* which of a safetensors file's; "": it has one */
};

/* How a table of delimited text is written. Cells are moved with their quotes; the line end is the first line's. */
struct tpd_table_form {
    unsigned char delimiter;
    bool quotes;        /* a cell that begins with '"' ends at the next one that is not doubled */
    bool crlf;          /* lines end in CR LF */
    bool final_newline; /* the last one too */
    bool bom;           /* a byte-order mark stands at the front */
};

/* How the body was written, so that an answer in the same format has the same form. */
enum tpd_json_form { TPD_JSON_NESTED, TPD_JSON_OBJECT_NESTED, TPD_JSON_OBJECT_FLAT };
/* What a Matrix Market file says its entries are. */
enum tpd_market_field { TPD_MARKET_NONE, TPD_MARKET_REAL, TPD_MARKET_INTEGER, TPD_MARKET_COMPLEX };
enum { TPD_FORM_DTYPE_BYTES = 24 };
struct tpd_form {
    enum tpd_json_form json;
    bool json_has_size;                    /* an object that says its shape besides its data */
    bool json_has_shape;                   /* `shape` rather than `rows` and `cols` */
    bool json_has_batch;                   /* three dimensions */
    char json_dtype[TPD_FORM_DTYPE_BYTES]; /* what `dtype` said; "" when it was absent */
    char npy_descr[TPD_FORM_DTYPE_BYTES];  /* numpy's type string as it came, e.g. ">f4"; "" when not from npy */
    bool npy_has_batch;                    /* rank 3; safetensors too */
    enum tpd_market_field market;
    char tensor[TPD_TENSOR_NAME_BYTES]; /* its name in a safetensors file, as that spells it; "" when from elsewhere */
    struct tpd_table_form table;        /* of delimited text; `delimiter` 0 when it came from another format */
};

struct tpd_payload {
    struct tpd_matrix matrix; /* for cells: itemsize 8, dtype of the wish or TPD_DTYPE_OPAQUE */
    bool column_major;        /* items lie in Fortran order: the transpose is a relabel */
    bool big_endian;          /* items are byte-swapped against what matrix.dtype says */
    bool cells;
    struct tpd_block items;
    struct tpd_block text;                /* what cells point into; a safetensors file's __metadata__ */
    uint64_t comments_at, comments_bytes; /* in the text: a Matrix Market file's lines of comment */
    enum tpd_codec_id format;
    struct tpd_form form;
};
void tpd_payload_release(struct tpd_payload *payload);

struct tpd_decoder; /* each codec's own */

/* Of a body that is still coming: what its items will be and where they lie, from the first one on. */
struct tpd_arriving {
    struct tpd_matrix matrix;
    bool column_major;
    struct tpd_block *items; /* the decoder's; its data stays where it is, in the payload as well */
    uint64_t have_bytes;
};

struct tpd_encode_options {
    enum tpd_nonfinite nonfinite;
    bool has_dtype; /* an explicit dtype for text that becomes binary */
    enum tpd_dtype dtype;
    bool has_delimiter; /* of delimited text that is made from another format; else the format's own */
    unsigned char delimiter;
    uint32_t threads;                   /* that may print at once; 0 is one, the caller's */
    char tensor[TPD_TENSOR_NAME_BYTES]; /* what a safetensors file calls a matrix that had no name; "": a word of ours */
    struct tpd_memory *memory;          /* borrows */
};

/* An answer: bytes [start, start + bytes) of the block, headroom included. */
struct tpd_encoded {
    struct tpd_block block;
    const unsigned char *start;
    size_t bytes;
};
void tpd_encoded_release(struct tpd_encoded *encoded);

struct tpd_codec_ops {
    bool column_major; /* encode wants items in Fortran order: the transpose of row-major ones is a relabel */
    bool one_matrix;   /* a batch has no place in this format */
    bool text;         /* encode prints items: their text lies beside them */
    /* Does a body without a type begin like this format? head holds the first bytes (at most 64; white space is not skipped). */
    bool (*sniff)(const unsigned char *head, size_t head_bytes, const struct tpd_decode_options *options);
    enum tpd_status (*open)(const struct tpd_decode_options *options, struct tpd_decoder **decoder, struct tpd_error *error);
    enum tpd_status (*push)(struct tpd_decoder *decoder, const void *bytes, size_t count, struct tpd_error *error);
    /* NULL: items are not the body's bytes. False: the matrix isn't known yet. */
    bool (*arriving)(struct tpd_decoder *decoder, struct tpd_arriving *arriving);
    enum tpd_status (*finish)(struct tpd_decoder *decoder, struct tpd_payload *payload, struct tpd_error *error);
    void (*close)(struct tpd_decoder *decoder); /* NULL is ignored */
    /* True when this codec can write that payload's items as they are (same bytes or the same cells). */
    bool (*takes)(const struct tpd_payload *payload);
    /* Writes the (already transposed) payload. Takes payload->items and text when it needs them; releases nothing of the
     * caller's. A binary format writes its header into items' headroom and answers with the very block. */
    enum tpd_status (*encode)(struct tpd_payload *payload, const struct tpd_encode_options *options, struct tpd_encoded *encoded,
                              struct tpd_error *error);
};

const struct tpd_codec_ops *tpd_codec_at(enum tpd_codec_id id);
const char *tpd_codec_name(enum tpd_codec_id id);
const char *tpd_codec_type(enum tpd_codec_id id);
/* By name, media type (parameters ignored, any case) or file name. TPD_CODEC_COUNT when there is none. */
enum tpd_codec_id tpd_codec_by_name(const char *name);
enum tpd_codec_id tpd_codec_by_type(const char *type);
enum tpd_codec_id tpd_codec_by_path(const char *path);
/* By the body's first bytes; TPD_CODEC_COUNT when none knows it. */
enum tpd_codec_id tpd_codec_sniff(const unsigned char *head, size_t head_bytes, const struct tpd_decode_options *options);
/* Of a body that no format knows: half a sentence on what it seems to be and what to do, static; "" when nothing is known. */
const char *tpd_codec_guess(const unsigned char *head, size_t head_bytes);
/* What Accept allows, best first by q and then by table order; `same` (the input's) is preferred among equals.
 * NULL or "" means anything. TPD_CODEC_COUNT when it allows nothing that is made here. */
enum tpd_codec_id tpd_codec_accept(const char *accept, enum tpd_codec_id same);

/* Changes a payload's kind so that `out` can write it: cells become binary items of dtype (or of the least type that holds
 * them all: bool, int64, uint64, float64), big-endian items are swapped for formats that have only one order, and so on.
 * A no-op when out takes the payload. Before or after the transpose: it keeps the order of items.
 * Fails with TPD_OUT_OF_RANGE (a cell that is no value of the dtype, or no number at all: names row, column and text),
 * TPD_BAD_PARAMETER (a dtype where cells stay cells; the body's own and the complex ones may be named), TPD_UNSUPPORTED (opaque
 * items to text). */
enum tpd_status tpd_payload_convert(struct tpd_payload *payload, enum tpd_codec_id out, const struct tpd_encode_options *options,
                                    struct tpd_error *error) TPD_CHECKED;

/* A name for a tensor, from a client, into an option's room for it. Fails with TPD_BAD_PARAMETER (too long; not what JSON could
 * hold between quotes). */
enum tpd_status tpd_tensor_name(const char *text, char name[TPD_TENSOR_NAME_BYTES], struct tpd_error *error) TPD_CHECKED;

#ifdef __cplusplus
}
#endif

#endif
