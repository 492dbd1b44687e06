/* transpose.c -- the one call for a program that only wants a transpose. */
#include "kernels/cpu/cpu.h"
#include "transposed/transposed.h"

enum tpd_status tpd_transpose(const struct tpd_matrix *matrix, const void *in, void *out, struct tpd_error *error) {
    uint64_t bytes;
    enum tpd_status status = tpd_matrix_bytes(matrix, &bytes, error);
    if (status != TPD_OK || bytes == 0)
        return status;
    struct tpd_cpu_limits limits = tpd_cpu_machine();
    struct tpd_cpu_plan plan;
    struct tpd_cpu_worker worker;
    tpd_cpu_plan(&plan, tpd_cpu_ops(), matrix, in, out, &limits);
    status = tpd_cpu_worker_init(&worker, plan.tile_bytes, error);
    if (status != TPD_OK)
        return status;
    tpd_cpu_run(&plan, &worker);
    tpd_cpu_worker_fini(&worker);
    return TPD_OK;
}

const char *tpd_version(void) {
    return TPD_VERSION;
}
