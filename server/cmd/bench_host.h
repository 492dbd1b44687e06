/* bench_host.h -- measurements on a device that works in the host's memory: what `measure` of a back end's table does for others.
 *
 * Owns: input and output of the largest cell, and the threads that copy. Threads: one at a time.
 */
#ifndef TPD_BENCH_HOST_H
#define TPD_BENCH_HOST_H

#include "server/cmd/bench_copy.h"
#include "transposed/backend.h"
#include "transposed/measure.h"

struct tpd_bench_host {
    unsigned char *in, *out;
    size_t room_bytes, filled_bytes; /* of each */
    struct tpd_copy_crew *crew;
};

/* Half of what this process may still take of the machine's memory, for input and output together. */
uint64_t tpd_bench_host_memory(void);

/* Empty: memory comes with the first measurement. threads: of the copies. */
enum tpd_status tpd_bench_host_init(struct tpd_bench_host *host, uint32_t threads, struct tpd_error *error) TPD_CHECKED;
void tpd_bench_host_fini(struct tpd_bench_host *host);
/* As tpd_backend's measure(). TPD_MEASURED_COPY is a copy with non-temporal stores, TPD_MEASURED_PLAIN memcpy. */
enum tpd_status tpd_bench_host_measure(struct tpd_bench_host *host, const struct tpd_backend *backend, struct tpd_device *device,
                                       const struct tpd_measure *ask, struct tpd_measurement *result,
                                       struct tpd_error *error) TPD_CHECKED;

/* How many items of out are not those of in's transpose, by the oracle, over blocks that stay in the cache. */
uint64_t tpd_bench_count_wrong(const struct tpd_matrix *matrix, const unsigned char *in, const unsigned char *out);

#endif
