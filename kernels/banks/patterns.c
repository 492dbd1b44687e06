/* patterns.c -- see patterns.h. */
#include "transposed/patterns.h"

struct tpd_request tpd_line_request(const struct tpd_line *line, enum tpd_op op) {
    struct tpd_request request = {.op = op, .width = line->width, .active = UINT32_MAX};
    for (uint32_t lane = 0; lane < TPD_WARP; lane++)
        request.address[lane] = line->offset_bytes + lane / line->group * line->step_bytes;
    return request;
}

struct tpd_request tpd_reduction_request(uint32_t threads, uint32_t stride, bool interleaved, uint32_t width) {
    uint32_t busy = interleaved ? threads / (2 * stride) : stride;
    struct tpd_request request = {.op = TPD_OP_LOAD, .width = width};
    request.active = busy >= TPD_WARP ? UINT32_MAX : (1u << busy) - 1;
    for (uint32_t lane = 0; lane < TPD_WARP; lane++)
        request.address[lane] = (uint64_t)width * lane * (interleaved ? 2 * stride : 1);
    return request;
}

static uint32_t items_of(const struct tpd_bare_tile *tile) {
    return tile->planes * tile->rows * tile->cols;
}

uint32_t tpd_bare_tile_requests(const struct tpd_bare_tile *tile) {
    return (items_of(tile) + TPD_WARP - 1) / TPD_WARP;
}

static uint64_t address_of(const struct tpd_bare_tile *tile, uint32_t plane, uint32_t row, uint32_t col) {
    return ((uint64_t)plane * tile->plane_pitch + (uint64_t)row * tile->pitch + col) * tile->itemsize;
}

struct tpd_request tpd_bare_tile_request(const struct tpd_bare_tile *tile, enum tpd_op op, uint32_t number) {
    struct tpd_request request = {.op = op, .width = tile->itemsize};
    for (uint32_t lane = 0; lane < TPD_WARP; lane++) {
        uint32_t k = number * TPD_WARP + lane;
        if (k >= items_of(tile))
            break;
        request.active |= 1u << lane;
        if (op == TPD_OP_STORE)
            request.address[lane] = address_of(tile, k / tile->cols / tile->rows, k / tile->cols % tile->rows, k % tile->cols);
        else
            request.address[lane] =
                address_of(tile, k % tile->planes, k / tile->planes % tile->rows, k / tile->planes / tile->rows);
    }
    return request;
}

enum tpd_status tpd_bare_tile_sums(const struct tpd_bare_tile *tile, uint32_t bank_bytes, struct tpd_shared_sum shared[2],
                                   struct tpd_global_sum global[2], struct tpd_error *error) {
    enum tpd_status status = TPD_OK;
    for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++) {
        shared[op] = (struct tpd_shared_sum){0};
        global[op] = (struct tpd_global_sum){0};
        for (uint32_t n = 0; n < tpd_bare_tile_requests(tile) && status == TPD_OK; n++) {
            struct tpd_request request = tpd_bare_tile_request(tile, (enum tpd_op)op, n);
            status = tpd_banks_add_shared(&request, bank_bytes, shared, error);
            if (status == TPD_OK)
                status = tpd_banks_add_global(&request, global, error);
        }
    }
    return status;
}

/* Until the first conflict: most pitches show one early. */
static bool is_clean(const struct tpd_bare_tile *tile, uint32_t bank_bytes) {
    for (uint32_t n = 0; n < tpd_bare_tile_requests(tile); n++)
        for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++) {
            struct tpd_request request = tpd_bare_tile_request(tile, (enum tpd_op)op, n);
            struct tpd_bank_result result;
            if (tpd_banks_shared(&request, bank_bytes, &result, NULL) != TPD_OK || result.excess != 0)
                return false;
        }
    return true;
}

bool tpd_bare_tile_pad(struct tpd_bare_tile *tile, uint32_t bank_bytes) {
    struct tpd_bare_tile tried = *tile;
    uint32_t period = TPD_BANKS * bank_bytes / tile->itemsize;
    for (uint32_t pad = 0; pad < period; pad++) {
        tried.pitch = tile->cols + pad;
        for (uint32_t more = 0; more < (tile->planes > 1 ? period : 1); more++) {
            tried.plane_pitch = tile->rows * tried.pitch + more;
            if (is_clean(&tried, bank_bytes)) {
                *tile = tried;
                return true;
            }
        }
    }
    return false;
}
