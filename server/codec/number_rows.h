/* number_rows.h -- binary items as lines of numbers: delimited text, and Matrix Market.
 *
 * Pure but for the block that it writes to, which grows as it must, and for the threads that it is allowed.
 */
#ifndef TPD_NUMBER_ROWS_H
#define TPD_NUMBER_ROWS_H

#include "server/codec/number.h"

struct tpd_number_rows {
    enum tpd_spelling spelling;
    enum tpd_nonfinite nonfinite;
    uint64_t each;    /* items a line; at least 1 */
    char between;     /* two items of a line; LF is behind it */
    uint32_t threads; /* that print large tables, 0 is one */
};

/* About how many bytes the lines have, from a sample spread over the items: rather more than fewer. */
uint64_t tpd_number_rows_guess(const struct tpd_number_rows *rows, const struct tpd_payload *payload);

/* Appends every item of the payload, in its order. Fails as blocks do. */
enum tpd_status tpd_number_rows_write(const struct tpd_number_rows *rows, const struct tpd_payload *payload,
                                      struct tpd_block *block, struct tpd_error *error) TPD_CHECKED;

#endif
