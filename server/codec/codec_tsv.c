/* codec_tsv.c -- tables of text with a tab between cells, or with the delimiter that the request names. See delimited.h. */
#include "server/codec/delimited.h"

enum { DELIMITER = '\t' };

static enum tpd_status tsv_open(const struct tpd_decode_options *options, struct tpd_decoder **decoder, struct tpd_error *error) {
    return tpd_table_decoder_open(options, DELIMITER, decoder, error);
}

static enum tpd_status tsv_finish(struct tpd_decoder *decoder, struct tpd_payload *payload, struct tpd_error *error) {
    enum tpd_status status = tpd_table_finish(decoder, payload, error);
    payload->format = TPD_CODEC_TSV;
    return status;
}

static enum tpd_status tsv_encode(struct tpd_payload *payload, const struct tpd_encode_options *options,
                                  struct tpd_encoded *encoded, struct tpd_error *error) {
    return tpd_table_encode(payload, TPD_CODEC_TSV, DELIMITER, options, encoded, error);
}

const struct tpd_codec_ops tpd_codec_ops_TSV = {
    .one_matrix = true,
    .text = true,
    .sniff = tpd_table_sniff,
    .open = tsv_open,
    .push = tpd_table_push,
    .finish = tsv_finish,
    .close = tpd_table_close,
    .takes = tpd_table_takes,
    .encode = tsv_encode,
};
