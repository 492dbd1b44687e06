/* panels.h -- cuts a batch of matrices into pieces that go through a device one after the other.
 *
 * A panel is a few whole matrices, or a rectangle of one: as wide or as high as the matrix wherever that fits, so that it is one
 * run of bytes on one side at least. On the other it is rows of a fixed length, which a bus moves well from some KiB on.
 * Pure: no device, no allocation.
 */
#ifndef TPD_PANELS_H
#define TPD_PANELS_H

#include "transposed/matrix.h"

struct tpd_panel {
    uint64_t matrix, matrices;     /* of the batch */
    uint64_t row, col, rows, cols; /* of each of them */
    uint64_t in_end_bytes;         /* where the last byte of input lies, plus one */
};

struct tpd_panels {
    struct tpd_matrix matrix;
    uint64_t group;                       /* matrices a panel; 0: less than one */
    bool by_rows;                         /* the cut: along the input's rows, or along its columns */
    uint64_t along, across;               /* the most of a panel: lines along the cut, and of their items */
    uint64_t least;                       /* lines of the first and last ones, where the pipeline fills and drains */
    uint64_t at_matrix, at_line, at_item; /* what comes next */
    uint64_t made;
};

/* How a matrix is to be cut. */
struct tpd_panels_wish {
    uint64_t most_bytes;   /* of a panel; at least an item */
    uint64_t target_bytes; /* of a panel: more than that only for the rows' sake */
    uint64_t strip_bytes;  /* of a row on the side where a panel is rows, at least, where that is possible */
    uint32_t count;        /* panels, about */
    /* Nearly square matrices are cut along their rows (else along their columns); longer ones along the longer side. */
    bool rows_first;
    bool in_order; /* the input is read from its beginning to its end: along the rows, whatever the shape */
};

void tpd_panels_begin(struct tpd_panels *panels, const struct tpd_matrix *matrix, const struct tpd_panels_wish *wish);
bool tpd_panels_next(struct tpd_panels *panels, struct tpd_panel *panel); /* false: that was all */
uint64_t tpd_panels_most_bytes(const struct tpd_panels *panels);          /* of the largest one */
/* Of a row on the side where a panel is rows; UINT64_MAX: of whole matrices, it is none on either. */
uint64_t tpd_panels_row_bytes(const struct tpd_panels *panels);
bool tpd_panels_is_one(const struct tpd_panels *panels); /* nothing is cut */

#endif
