/* json_parse.h -- from JSON text to cells and a shape.
 *
 * Fails with TPD_MALFORMED, TPD_TRUNCATED, TPD_TRAILING, TPD_RAGGED, TPD_SHAPE_MISMATCH, TPD_UNKNOWN_DTYPE, TPD_SIZE_OVERFLOW,
 * TPD_TOO_LARGE (a cell past TPD_CELL_BYTES_MOST) and as blocks do.
 */
#ifndef TPD_JSON_PARSE_H
#define TPD_JSON_PARSE_H

#include "server/codec/json_scan.h"

enum { TPD_JSON_DEPTH_MOST = 4 }; /* batch, rows, cols, and the two parts of a complex cell */

/* Nested arrays, each level of one length. */
struct tpd_json_array {
    int rank;
    uint64_t extent[TPD_JSON_DEPTH_MOST];
    uint64_t count;         /* cells */
    struct tpd_block cells; /* struct tpd_cell each; owned */
};

/* The array at *at, which is its '['. Moves *at behind it. */
enum tpd_status tpd_json_array(const struct tpd_json_scan *scan, const unsigned char **at, struct tpd_memory *memory,
                               struct tpd_json_array *array) TPD_CHECKED;
/* Makes one cell of each pair at the last level: dtype's cell is [re, im]. */
enum tpd_status tpd_json_pairs(const struct tpd_json_scan *scan, struct tpd_json_array *array, const char *dtype) TPD_CHECKED;

/* The whole body. Fills matrix, cells, items and form; text stays the caller's. On failure nothing is held. */
enum tpd_status tpd_json_parse(const struct tpd_json_scan *scan, const struct tpd_decode_options *options,
                               struct tpd_payload *payload) TPD_CHECKED;

#endif
