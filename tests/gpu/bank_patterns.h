/* bank_patterns.h -- several hundred warp requests that bank_probe puts to the hardware and to the model.
 *
 * Nothing here knows a strategy: strides, columns, equal neighbours, shared words, random addresses and masks, matrices.
 * The list is the same on every machine. Pure: no allocation, no I/O.
 */
#ifndef TPD_BANK_PATTERNS_H
#define TPD_BANK_PATTERNS_H

#include "transposed/banks.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TPD_PATTERNS_MOST = 1280,
    TPD_PATTERN_BYTES = TPD_SHARED_STATIC_MOST /* of shared memory: no address reaches past them */
};

struct tpd_pattern {
    const char *family;
    char name[48];              /* no comma */
    uint32_t matrices;          /* 1, 2, 4: an ldmatrix or stmatrix of so many; 0: an access a lane */
    struct tpd_request request; /* a row of a matrix is 16 bytes a lane, and 8 lanes a matrix are active */
};

/* Answers how many there are; list has room for TPD_PATTERNS_MOST. */
uint32_t tpd_patterns_make(struct tpd_pattern *list);
/* What the model says of one. A matrix is a phase of its own and never merges, as are the quarter-warps of a 16-byte store. */
enum tpd_status tpd_pattern_expect(const struct tpd_pattern *pattern, struct tpd_bank_result *result,
                                   struct tpd_error *error) TPD_CHECKED;

#ifdef __cplusplus
}
#endif

#endif
