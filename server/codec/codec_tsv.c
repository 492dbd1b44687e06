/* codec_tsv.c -- tables of text with a tab between cells, or with the delimiter that the request names. See delimited.h. */
#include "server/codec/delimited.h"
#include "server/codec/text_decoder.h"

enum { DELIMITER = '\t' };

static enum tpd_status tsv_finish(struct tpd_decoder *decoder, struct tpd_payload *payload, struct tpd_error *error) {
    return tpd_table_finish(decoder, TPD_CODEC_TSV, DELIMITER, payload, error);
}

static enum tpd_status tsv_encode(struct tpd_payload *payload, const struct tpd_encode_options *options,
                                  struct tpd_encoded *encoded, struct tpd_error *error) {
    return tpd_table_encode(payload, TPD_CODEC_TSV, DELIMITER, options, encoded, error);
}

const struct tpd_codec_ops tpd_codec_ops_TSV = {
    .one_matrix = true,
    .text = true,
    .sniff = tpd_table_sniff,
    .open = tpd_text_decoder_open,
    .push = tpd_text_decoder_push,
    .finish = tsv_finish,
    .close = tpd_text_decoder_close,
    .takes = tpd_table_takes,
    .encode = tsv_encode,
};
