/* cases.h -- the one list of cases: shapes x item sizes x strategies x tiles, for every back end.
 *
 * A walk sees each case once. TPD_CASES_QUICK is a subset for slow devices and sanitizers; every kind of edge stays in it.
 */
#ifndef TPD_CASES_H
#define TPD_CASES_H

#include "transposed/backend.h"

enum tpd_cases_which {
    TPD_CASES_ALL = 0,
    TPD_CASES_QUICK = 1, /* or-ed */
    TPD_CASES_AUTO = 2   /* `auto` and the default tile alone: for a back end without strategies */
};

struct tpd_case {
    struct tpd_matrix matrix;
    enum tpd_strategy_id strategy; /* or TPD_STRATEGY_AUTO; takes the item size */
    struct tpd_tile tile;          /* 0 x 0: the default */
};

struct tpd_cases {
    unsigned which;
    uint32_t shape, itemsize, strategy, tile;
};

/* unsigned which: enum tpd_cases_which. */
struct tpd_cases tpd_cases_begin(unsigned which);
/* false when there are no more. */
bool tpd_cases_next(struct tpd_cases *cases, struct tpd_case *next);
/* "padded 32x32, 3 x 40 x 7 of 4 bytes" */
void tpd_case_name(const struct tpd_case *one, char *name, size_t bytes);

/* Runs the case on the device with random bytes at any alignment and a guarded, poisoned output, and fails the running Check
 * test unless the output is the oracle's to the byte and the input is untouched. A case with a tile that the device's shared
 * memory can't hold must be refused for that very reason. A matrix without items is not run: no device ever sees one. */
void tpd_case_prove(const struct tpd_backend *backend, struct tpd_device *device, const struct tpd_case *one);

#endif
