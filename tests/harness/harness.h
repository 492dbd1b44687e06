/* harness.h -- what every test shares: random bytes, guarded buffers, a heap that fails on purpose, a Check main.
 *
 * Threads: the failing heap counts across threads; the rest belongs to the calling thread.
 */
#ifndef TPD_HARNESS_H
#define TPD_HARNESS_H

#include <check.h>
#include <stddef.h>
#include <stdint.h>

#include "transposed/status.h"

/* Deterministic random bytes: the same seed gives the same bytes on every machine. */
uint64_t tpd_random(uint64_t *state);
void tpd_random_fill(void *memory, size_t bytes, uint64_t seed);

/* bytes of memory between two guards, all poisoned with 0xA5; misalign shifts the start off a 64-byte boundary.
 * Never NULL (aborts). tpd_guarded_check() fails the test when a guard byte changed. */
struct tpd_guarded {
    unsigned char *data;
    size_t bytes;
    unsigned char *origin;
};
struct tpd_guarded tpd_guarded_make(size_t bytes, size_t misalign);
void tpd_guarded_check(const struct tpd_guarded *guarded);
void tpd_guarded_free(struct tpd_guarded *guarded);

/* Makes the nth allocation from now on (1 = the next), and every later one, fail; 0 = none, only count.
 * tpd_heap_end() restores the heap and tells whether one failed; leaks (blocks still held) fail the test. */
void tpd_heap_begin(uint64_t nth);
int tpd_heap_end(void);

/* Runs the suite with CK_NORMAL output; the process's exit code. */
int tpd_harness_main(Suite *suite);

#define ck_assert_ok(call, error)                                                                            \
    do {                                                                                                     \
        enum tpd_status ck_status_ = (call);                                                                 \
        ck_assert_msg(ck_status_ == TPD_OK, "%s: %s: %s", #call, tpd_status_slug(ck_status_), (error).text); \
    } while (0)

#endif
