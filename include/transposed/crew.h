/* crew.h -- a piece of work in equal steps, shared by a few threads that live no longer than it.
 *
 * Threads: the caller's is one of them. They block every signal but SIGBUS. Fewer than wanted, where the system gives no more, do
 * the same work.
 */
#ifndef TRANSPOSED_CREW_H
#define TRANSPOSED_CREW_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TPD_CREW_MOST = 64 }; /* threads */

/* step(self, 0) .. step(self, count - 1), each once, in no order; returns when all are done. */
void tpd_crew_share(uint32_t threads, uint32_t count, void (*step)(void *self, uint32_t index), void *self);

#ifdef __cplusplus
}
#endif

#endif
