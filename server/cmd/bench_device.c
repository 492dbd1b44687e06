/* bench_device.c -- see bench_device.h. */
#include "server/cmd/bench_device.h"

#include <inttypes.h>
#include <string.h>

#include "server/config/value.h"
#include "transposed/alloc.h"
#include "transposed/tuning.h"

enum tpd_status tpd_bench_find_device(const char *text, enum tpd_backend_id *id, uint32_t *index, struct tpd_error *error) {
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    uint64_t number = 0;
    if (colon != NULL && (!tpd_value_parse_uint(colon + 1, &number) || number >= TPD_DEVICES_MOST))
        return tpd_fail(error, TPD_UNKNOWN_DEVICE, "there is no device %s here", text);
    *index = (uint32_t)number;
    for (int i = 0; i < TPD_BACKEND_COUNT; i++) {
        const struct tpd_backend *backend = tpd_backend_at((enum tpd_backend_id)i);
        const char *name = tpd_backend_name((enum tpd_backend_id)i);
        struct tpd_error none;
        *id = (enum tpd_backend_id)i;
        if (strcmp(text, "auto") == 0) {
            if (backend != NULL && backend->count(&none) != 0)
                return TPD_OK;
            continue;
        }
        if (strlen(name) != length || memcmp(name, text, length) != 0)
            continue;
        if (backend == NULL)
            return tpd_fail(error, TPD_UNKNOWN_DEVICE, "there is no device %s here: this program was built without it", text);
        uint32_t count = backend->count(error);
        if (count != 0 && number >= count)
            return tpd_fail(error, TPD_UNKNOWN_DEVICE, "there is no device %s here: %s has %" PRIu32 ", numbered from 0", text,
                            name, count);
        return count != 0 ? TPD_OK : TPD_UNKNOWN_DEVICE;
    }
    return tpd_fail(error, TPD_UNKNOWN_DEVICE, "there is no device %s here", text);
}

enum tpd_status tpd_bench_tune(const struct tpd_backend *backend, struct tpd_device *device, struct tpd_tuning **table,
                               struct tpd_error *error) {
    static const uint64_t budget_ns = 1500000000; /* the default of tune_budget */
    *table = NULL;
    if (backend->tune == NULL)
        return TPD_OK;
    struct tpd_tuning *made = tpd_alloc_zero(1, sizeof *made);
    if (made == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for a table of strategies");
    enum tpd_status status = backend->tune(device, budget_ns, made, error);
    if (status == TPD_OK)
        *table = made;
    else
        tpd_free(made);
    return status;
}
