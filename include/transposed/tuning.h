/* tuning.h -- which strategy `auto` takes on one device, as it was measured: a table by item size and shape, and its text.
 *
 * Pure: no I/O, no device, no clock. Who measures is kernels/cuda/tuner.c; who keeps the text in a file is server/engine.
 * Threads: none of its own; a table that nobody writes any more is read by any.
 * Ceiling: TPD_TUNING_TEXT_MOST bytes of text, TPD_TUNING_SECTIONS_MOST devices in it.
 */
#ifndef TRANSPOSED_TUNING_H
#define TRANSPOSED_TUNING_H

#include "transposed/buf.h"
#include "transposed/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tpd_tuning_shape {
#define X(NAME, name, SIDES, least, most, side, bytes, meaning) TPD_SHAPE_##NAME,
#include "transposed/tbl/tuning.def"
#undef X
    TPD_SHAPE_COUNT
};

enum {
    TPD_TUNING_SIZES = 6,          /* item sizes of 1, 2, 4, 8, 16 bytes, and any other */
    TPD_TUNING_KEY_BYTES = 400,    /* what a table holds for, its end included */
    TPD_TUNING_SECTIONS_MOST = 32, /* devices that a text keeps */
    TPD_TUNING_TEXT_MOST = 1 << 20
};

/* A way to transpose, and how long it took. */
struct tpd_tuning_way {
    enum tpd_strategy_id strategy;
    uint32_t variant; /* tpd_strategy_plan_variant() */
    uint64_t ns;      /* median of a launch; 0: there is none */
};

struct tpd_tuning_cell {
    uint64_t bytes;             /* of the matrix that was measured; 0: nothing was */
    struct tpd_tuning_way best; /* what auto takes */
    struct tpd_tuning_way next; /* the fastest of the others; no ns where there was one way alone */
    struct tpd_tuning_way rule; /* what the rule takes */
};

/* The cells of [item size][aligned][shape]; aligned: rows and columns are whole vectors of 16 bytes. */
struct tpd_tuning {
    char device[TPD_TUNING_KEY_BYTES]; /* which device, driver and build the cells hold for */
    char host[TPD_TUNING_KEY_BYTES];   /* which CPU the crossover holds for; "": it was not measured */
    uint64_t at_unix_s;                /* when it was measured; 0: by nobody */
    uint32_t cells;                    /* that have bytes */
    /* Bytes from which a round trip to the device beats the CPU; 0: none was seen to. */
    uint64_t crossover_bytes[TPD_TUNING_SIZES];
    struct tpd_tuning_cell cell[TPD_TUNING_SIZES][2][TPD_SHAPE_COUNT];
};

const char *tpd_tuning_shape_name(enum tpd_tuning_shape shape);
const char *tpd_tuning_shape_meaning(enum tpd_tuning_shape shape);
uint32_t tpd_tuning_size(uint32_t itemsize);     /* its index; the last: another than the five */
uint32_t tpd_tuning_itemsize(uint32_t size);     /* that is measured for an index */
const char *tpd_tuning_size_name(uint32_t size); /* "1" ... "16", "other" */

/* What the kernels are, for a key: the version, and a hash of their text. */
const char *tpd_tuning_build(void);

/* The shape of a matrix that tpd_matrix_bytes() has passed; TPD_SHAPE_COUNT where there is nothing to choose. */
enum tpd_tuning_shape tpd_tuning_shape_of(const struct tpd_matrix *matrix, bool *aligned);
/* The matrix that is measured for a cell; false where a cell has none. */
bool tpd_tuning_matrix(uint32_t size, bool aligned, enum tpd_tuning_shape shape, struct tpd_matrix *matrix);
/* The cell of a matrix; NULL: not measured, or no table. */
const struct tpd_tuning_cell *tpd_tuning_find(const struct tpd_tuning *table, const struct tpd_matrix *matrix);
/* tpd_strategy_plan(), where AUTO without a tile takes what the table has for the matrix, and the rule elsewhere. table may be
 * NULL. Fails as the rule does: a cell that a matrix can't use is passed over. */
enum tpd_status tpd_tuning_plan(const struct tpd_tuning *table, enum tpd_strategy_id id, const struct tpd_matrix *matrix,
                                struct tpd_tile tile, uint64_t shared_most_bytes, struct tpd_plan *plan,
                                struct tpd_error *error) TPD_CHECKED;

/* The table as the newest section of a text, and behind it those of `old` (a text that tpd_tuning_read() takes, or NULL) that are
 * another device's, as many as there is room for. The answer is out->status. */
enum tpd_status tpd_tuning_write(const struct tpd_tuning *table, const char *old, size_t old_bytes, struct tpd_buf *out);
/* Does it begin as such a text does, or is it empty? */
bool tpd_tuning_is_text(const char *text, size_t bytes);
/* The section whose device is table->device, into the rest of the table. Fails with TPD_UNSUPPORTED (no such text at all: whose
 * it is nobody knows), TPD_TOO_LARGE, TPD_TRUNCATED, TPD_MALFORMED (damaged; names the line), TPD_NOT_FOUND (sound, and says what
 * it holds for); then the table has no cells. */
enum tpd_status tpd_tuning_read(const char *text, size_t bytes, struct tpd_tuning *table, struct tpd_error *error) TPD_CHECKED;

#ifdef __cplusplus
}
#endif

#endif
