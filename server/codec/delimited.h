/* delimited.h -- tables of delimited text as a whole: their form, their cells, their answer. CSV and TSV are rows of one road.
 *
 * Threads: no state.
 */
#ifndef TPD_DELIMITED_H
#define TPD_DELIMITED_H

#include "server/codec/cell_scan.h"
#include "server/codec/codec_internal.h"

/* The form that the options ask for and the first bytes show (the mark at the front, the first line's end), and a scan over the
 * whole text. Fails with TPD_UNSUPPORTED (UTF-16). */
enum tpd_status tpd_table_open(const struct tpd_table_options *options, unsigned char delimiter, const unsigned char *text,
                               size_t bytes, struct tpd_table_form *form, struct tpd_cell_scan *scan,
                               struct tpd_error *error) TPD_CHECKED;

/* How long rows are: told of each batch, in order. */
struct tpd_table_shape {
    uint64_t rows, cols; /* rows that ended; of the first, or of the longest with `pad` */
    uint64_t open;       /* cells of the row that has not ended */
    bool pad, has_cols;
    const unsigned char *row; /* where the open row begins */
};
/* False: row number `rows` has another length than the first; `row` is where it begins. */
bool tpd_table_shape_add(struct tpd_table_shape *shape, const struct tpd_cell_scan *scan, const struct tpd_cell_batch *batch);
/* Fills error for that row: its cells are counted again, from `row`. `at` gets the place. */
enum tpd_status tpd_table_ragged(const struct tpd_cell_scan *scan, const struct tpd_table_shape *shape, const unsigned char **at,
                                 struct tpd_error *error) TPD_CHECKED;

/* What struct tpd_codec_ops of such a format has of its own; `delimiter` is the format's, unless the request says another. */
bool tpd_table_sniff(const unsigned char *head, size_t head_bytes, const struct tpd_decode_options *options);
enum tpd_status tpd_table_finish(struct tpd_decoder *decoder, enum tpd_codec_id format, unsigned char delimiter,
                                 struct tpd_payload *payload, struct tpd_error *error);
/* The whole text as items of the dtype asked for, or float64, where that is what the answer needs: fills matrix and items. Where
 * *done is false nothing is held: there is something in the table that is to be looked at cell by cell, or refused. Fails as
 * blocks do. */
enum tpd_status tpd_table_read_items(const struct tpd_decode_options *options, unsigned char delimiter,
                                     const struct tpd_block *text, struct tpd_cell_batch *batch, struct tpd_payload *payload,
                                     bool *done, struct tpd_error *error) TPD_CHECKED;
bool tpd_table_takes(const struct tpd_payload *payload);
/* `format` is the one that is written: its own text keeps its delimiter. */
enum tpd_status tpd_table_encode(struct tpd_payload *payload, enum tpd_codec_id format, unsigned char delimiter,
                                 const struct tpd_encode_options *options, struct tpd_encoded *encoded, struct tpd_error *error);

#endif
