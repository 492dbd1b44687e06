/* bank_report.h -- the bank model asked and answered: from parameters, or from somebody's own addresses, to JSON, a table or a
 * picture. What GET and POST /v1/banks and `transposed banks` share.
 *
 * Threads: any; nothing is kept between calls.
 * Fails with: TPD_BAD_PARAMETER, TPD_UNSUPPORTED, TPD_UNKNOWN_STRATEGY for what is asked; TPD_MALFORMED, TPD_TRUNCATED,
 * TPD_TRAILING, TPD_TOO_LARGE, TPD_UNSUPPORTED, TPD_OUT_OF_RANGE for addresses; TPD_NO_MEMORY.
 */
#ifndef TRANSPOSED_BANK_REPORT_H
#define TRANSPOSED_BANK_REPORT_H

#include "transposed/buf.h"
#include "transposed/occupancy.h"
#include "transposed/patterns.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tpd_banks_parameter {
#define X(NAME, name, flag, value, least, most, help) TPD_BANKS_##NAME,
#include "transposed/tbl/banks.def"
#undef X
    TPD_BANKS_PARAMETERS
};

enum {
    TPD_BANKS_REPORT_BYTES_MOST = 4 << 20, /* of an answer: the picture of the largest tile takes 3 MB */
    TPD_BANKS_BODY_BYTES_MOST = 1 << 20,   /* of a body of addresses: cJSON's tree takes forty times that */
    TPD_BANKS_REQUESTS_MOST = 1024,        /* in a body of addresses */
    TPD_BANKS_STRIDES_MOST = 1024,         /* rows of a range */
    TPD_BANKS_STRIDE_MOST = 65536
};

enum tpd_banks_kind { TPD_BANKS_OF_STRATEGY, TPD_BANKS_OF_TILE, TPD_BANKS_OF_LINE, TPD_BANKS_OF_REDUCTION };

struct tpd_banks_ask {
    unsigned given;                      /* bit n: parameter n */
    enum tpd_banks_kind kind;            /* tpd_banks_ask_check() finds it */
    bool every_strategy, every_itemsize; /* describe all, a row each */
    enum tpd_strategy_id strategy;
    struct tpd_tile tile;
    uint64_t number[TPD_BANKS_PARAMETERS]; /* by parameter; defaults where nothing was given */
    uint64_t stride_last;                  /* number[TPD_BANKS_STRIDE] to this */
    enum tpd_op side;
    /* NULL, or who can ask a driver about the kernel that a plan launches (false: it can't); not asked when `arch` was given. */
    bool (*driver)(void *context, const struct tpd_plan *plan, uint32_t *registers, uint32_t *blocks);
    void *driver_context; /* borrows */
};

const char *tpd_banks_parameter_name(enum tpd_banks_parameter parameter);
void tpd_banks_ask_init(struct tpd_banks_ask *ask);
/* Names the parameter, the value and what it takes. */
enum tpd_status tpd_banks_ask_set(struct tpd_banks_ask *ask, enum tpd_banks_parameter parameter, const char *text,
                                  struct tpd_error *error) TPD_CHECKED;
/* Once all are set: which kind of question it is, and that no parameter belongs to another kind. */
enum tpd_status tpd_banks_ask_check(struct tpd_banks_ask *ask, struct tpd_error *error) TPD_CHECKED;

/* One line of an answer. */
struct tpd_banks_row {
    enum tpd_banks_kind kind;
    enum tpd_status status; /* TPD_OK, or why the model has no word on it: error */
    struct tpd_error error;
    const char *strategy; /* NULL: none */
    uint32_t itemsize, bank_bytes, pitch;
    struct tpd_bare_tile tile; /* rows 0: none */
    uint64_t rows, cols, blocks, shared_bytes;
    struct tpd_shared_sum shared[2];
    struct tpd_global_sum global[2];
    bool has_occupancy;
    uint32_t capability;
    struct tpd_occupancy occupancy;
    struct tpd_line line;           /* of a line */
    uint64_t stride;                /* of a line that is one, in items; of a reduction's step */
    uint32_t columns, by_column[8]; /* wavefronts of a line that begins so many items further on, as far as that differs */
    uint32_t active, sequential;    /* of a reduction's step: lanes, and the sequential order's wavefronts */
    char advice[TPD_ADVICE_BYTES];
};
/* Calls each() for every row of the answer, until one fails. */
typedef enum tpd_status tpd_banks_each(void *context, const struct tpd_banks_row *row);
enum tpd_status tpd_banks_answer(const struct tpd_banks_ask *ask, tpd_banks_each *each, void *context,
                                 struct tpd_error *error) TPD_CHECKED;

/* Writers: out keeps its own failure. One row is an object, several are {"rows": [...]}. */
enum tpd_status tpd_banks_json(const struct tpd_banks_ask *ask, struct tpd_buf *out, struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_banks_table(const struct tpd_banks_ask *ask, bool colour, struct tpd_buf *out,
                                struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_banks_svg(const struct tpd_banks_ask *ask, struct tpd_buf *out, struct tpd_error *error) TPD_CHECKED;

/* Anybody's addresses: a JSON body as POST /v1/banks takes it. Errors name request and lane. */
enum tpd_status tpd_banks_addresses_json(const char *body, size_t bytes, struct tpd_buf *out,
                                         struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_banks_addresses_table(const char *body, size_t bytes, bool colour, struct tpd_buf *out,
                                          struct tpd_error *error) TPD_CHECKED;

#ifdef __cplusplus
}
#endif

#endif
