/* mtx_parse.h -- from the text of a Matrix Market array file to cells and a shape.
 *
 * Fails with TPD_MALFORMED, TPD_TRUNCATED, TPD_TRAILING (more entries than the shape has), TPD_UNSUPPORTED (coordinate files,
 * symmetric ones), TPD_SIZE_OVERFLOW, TPD_TOO_LARGE (an entry past TPD_CELL_BYTES_MOST) and as blocks do.
 */
#ifndef TPD_MTX_PARSE_H
#define TPD_MTX_PARSE_H

#include "server/codec/json_scan.h"

/* "real", "integer", "complex". */
const char *tpd_market_name(enum tpd_market_field field);

/* Fills matrix, cells, items, column_major, comments and form; text stays the caller's. On failure nothing is held. */
enum tpd_status tpd_mtx_parse(const struct tpd_json_scan *scan, const struct tpd_decode_options *options,
                              struct tpd_payload *payload) TPD_CHECKED;

#endif
