/* cell_respell.h -- cells of JSON as cells of delimited text, and back: numbers keep their letters, strings their characters.
 *
 * JSON null is an empty cell, "" is a quoted one; true and false are themselves. A quoted cell is a string, whatever is in it; so
 * is one without quotes that is neither a number nor true or false. NaN and infinities follow `nonfinite`.
 */
#ifndef TPD_CELL_RESPELL_H
#define TPD_CELL_RESPELL_H

#include "transposed/codec.h"

/* Between those formats, where nobody asks for a dtype. */
bool tpd_cells_can_respell(const struct tpd_payload *payload, enum tpd_codec_id out, const struct tpd_encode_options *options);

/* Fails with TPD_NONFINITE, TPD_UNSUPPORTED (a string that the other format can't hold), TPD_TOO_LARGE and as blocks do; names
 * the cell. Some cells are then respelled and others are not: the payload is of no use. */
enum tpd_status tpd_cells_respell(struct tpd_payload *payload, enum tpd_codec_id out, const struct tpd_encode_options *options,
                                  struct tpd_error *error) TPD_CHECKED;

/* Names the cell: its row, column, text and place. `what` is the rest of the sentence. */
enum tpd_status tpd_cell_fail(const struct tpd_payload *payload, uint64_t index, enum tpd_status status, const char *what,
                              struct tpd_error *error) TPD_CHECKED;

#endif
