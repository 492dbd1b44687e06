/* tile_map.c -- a tile as its kernel fills it, found by sending numbered items through the lane-by-lane runner.
 *
 * No layout is written a second time: an item's number goes in at its place of the input and is looked for in shared memory
 * when the kernel first reads from there. One byte of the number at a time, in every byte of the item, so that items of
 * any size and kernels that move several at once tell where they are.
 */
#include <string.h>

#include "kernels/banks/simt.h"
#include "transposed/alloc.h"
#include "transposed/patterns.h"

struct looking {
    struct tpd_simt *simt;
    struct tpd_tile_map *map;
    unsigned char *snapshot; /* of shared memory, when the kernel first loads from it */
    bool taken;
    uint32_t number, shared_seen[2], global_seen[2];
};

static void look(void *context, enum tpd_simt_kind kind, const struct tpd_request *request) {
    struct looking *looking = context;
    bool shared = kind == TPD_SIMT_SHARED_LOAD || kind == TPD_SIMT_SHARED_STORE;
    uint32_t *seen = shared ? &looking->shared_seen[request->op] : &looking->global_seen[request->op];
    if (request->active != 0 && (*seen)++ == looking->number)
        *(shared ? &looking->map->shared[request->op] : &looking->map->global[request->op]) = *request;
    if (kind == TPD_SIMT_SHARED_LOAD && !looking->taken) {
        memcpy(looking->snapshot, looking->simt->shared, looking->simt->plan.shared_bytes);
        looking->taken = true;
    }
}

enum { PASSES = 3 }; /* bytes of an item's number: a tile has 65536 items at most */

static enum tpd_status run(const struct tpd_plan *plan, const unsigned char *in, struct looking *looking,
                           struct tpd_error *error) {
    struct tpd_simt simt;
    enum tpd_status status = tpd_simt_init(&simt, plan, in, NULL, look, looking, error);
    if (status != TPD_OK)
        return status;
    looking->simt = &simt;
    looking->taken = false;
    memset(looking->shared_seen, 0, sizeof looking->shared_seen);
    memset(looking->global_seen, 0, sizeof looking->global_seen);
    /* The block that has the first tile. */
    status = tpd_simt_run(&simt, plan->from_right ? (plan->tiles_across - 1) * plan->tiles_down : 0, error);
    tpd_simt_fini(&simt);
    return status;
}

/* Numbers begin at 1: bytes that no item was put into say 0. */
static void read_places(const struct tpd_plan *plan, const unsigned char *snapshot, uint32_t *place) {
    uint32_t items = plan->tile.rows * plan->tile.cols, itemsize = plan->matrix.itemsize;
    memset(place, 0xff, items * sizeof *place);
    for (uint64_t at = 0; at < plan->shared_bytes; at += itemsize) {
        uint32_t number = 0;
        for (unsigned pass = 0; pass < PASSES; pass++)
            number |= (uint32_t)snapshot[pass * plan->shared_bytes + at] << 8 * pass;
        if (number != 0 && number <= items && place[number - 1] == UINT32_MAX)
            place[number - 1] = (uint32_t)at;
    }
}

enum tpd_status tpd_tile_map(const struct tpd_plan *plan, uint32_t number, struct tpd_tile_map *map, struct tpd_error *error) {
    size_t items = (size_t)tpd_matrix_items(&plan->matrix), itemsize = plan->matrix.itemsize, cols = (size_t)plan->matrix.cols;
    struct looking looking = {.map = map, .number = number};
    unsigned char *in = tpd_alloc(items * itemsize), *snapshot = tpd_alloc_zero(PASSES, plan->shared_bytes + 1);
    enum tpd_status status = TPD_OK;
    if (in == NULL || snapshot == NULL)
        status = tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory to follow the items of a tile");
    memset(map->shared, 0, sizeof map->shared);
    memset(map->global, 0, sizeof map->global);
    for (unsigned pass = 0; pass < PASSES && status == TPD_OK; pass++) {
        memset(in, 0, items * itemsize);
        for (uint32_t row = 0; row < plan->tile.rows; row++)
            for (uint32_t col = 0; col < plan->tile.cols; col++)
                memset(in + (row * cols + col) * itemsize, (row * plan->tile.cols + col + 1) >> 8 * pass & 0xff, itemsize);
        looking.snapshot = snapshot + pass * plan->shared_bytes;
        status = run(plan, in, &looking, error);
    }
    if (status == TPD_OK) {
        map->shared_requests = looking.shared_seen[TPD_OP_LOAD];
        map->global_requests = looking.global_seen[TPD_OP_LOAD];
        if (plan->shared_bytes != 0)
            read_places(plan, snapshot, map->place);
    }
    tpd_free(in);
    tpd_free(snapshot);
    return status;
}
