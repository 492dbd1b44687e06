/* bench_copy.h -- copies to measure a CPU's transpose against: with as many threads, past the caches or through them.
 *
 * Written for this alone and sharing nothing with the back end, so that a slow transpose is not excused by a slow copy.
 * Owns: its threads. Threads: one caller at a time.
 */
#ifndef TPD_BENCH_COPY_H
#define TPD_BENCH_COPY_H

#include "transposed/status.h"

struct tpd_copy_crew;

/* threads: the caller and threads - 1 helpers. Returns owned. Fails with TPD_NO_MEMORY. */
enum tpd_status tpd_copy_crew_create(uint32_t threads, struct tpd_copy_crew **crew, struct tpd_error *error) TPD_CHECKED;
void tpd_copy_crew_destroy(struct tpd_copy_crew *crew);
/* Complete and visible when it returns. past_caches: non-temporal stores, where the processor has them; else memcpy. */
void tpd_copy_crew_run(struct tpd_copy_crew *crew, void *to, const void *from, size_t bytes, bool past_caches);

#endif
