/* bank_model.c -- from the addresses of a warp's request to phases, wavefronts and sectors. */
#include <inttypes.h>
#include <string.h>

#include "transposed/banks.h"

static bool is_active(const struct tpd_request *request, uint32_t lane) {
    return (request->active >> lane & 1) != 0;
}

static bool is_matrix_op(enum tpd_op op) {
    return op == TPD_OP_LDMATRIX || op == TPD_OP_STMATRIX;
}

static const char *const op_names[TPD_OP_COUNT] = {"load", "store", "ldmatrix", "stmatrix"};

const char *tpd_op_name(enum tpd_op op) {
    return op_names[op];
}

enum tpd_op tpd_op_find(const char *name) {
    int op = 0;
    while (op < TPD_OP_COUNT && strcmp(op_names[op], name) != 0)
        op++;
    return (enum tpd_op)op;
}

static enum tpd_status check_aligned(const struct tpd_request *request, uint32_t width, const char *what,
                                     struct tpd_error *error) {
    for (uint32_t lane = 0; lane < TPD_WARP; lane++)
        if (is_active(request, lane) && request->address[lane] % width != 0)
            return tpd_fail(error, TPD_UNSUPPORTED,
                            "lane %" PRIu32 ": address %" PRIu64 " is no multiple of %s, %" PRIu32 " bytes", lane,
                            request->address[lane], what, width);
    return TPD_OK;
}

static enum tpd_status check_request(const struct tpd_request *request, struct tpd_error *error) {
    uint32_t width = request->width;
    if (width != 1 && width != 2 && width != 4 && width != 8 && width != 16)
        return tpd_fail(error, TPD_UNSUPPORTED, "width %" PRIu32 " is none of 1, 2, 4, 8 and 16 bytes", width);
    return check_aligned(request, width, "the width", error);
}

enum { MATRIX_ROWS = 8, MATRIX_ROW_BYTES = 16 };

static enum tpd_status check_matrices(const struct tpd_request *request, uint32_t bank_bytes, struct tpd_error *error) {
    const char *op = tpd_op_name(request->op);
    uint32_t matrices = request->matrices;
    if (matrices != 1 && matrices != 2 && matrices != 4)
        return tpd_fail(error, TPD_UNSUPPORTED, "%s of %" PRIu32 " matrices: it moves 1, 2 or 4", op, matrices);
    if (bank_bytes != 4)
        return tpd_fail(error, TPD_UNSUPPORTED, "%s and banks of %" PRIu32 " bytes never met in one GPU: take banks of 4", op,
                        bank_bytes);
    for (uint32_t lane = 0; lane < MATRIX_ROWS * matrices; lane++)
        if (!is_active(request, lane))
            return tpd_fail(error, TPD_UNSUPPORTED,
                            "lane %" PRIu32 " has no address: it gives row %" PRIu32 " of matrix %" PRIu32 " to %s", lane,
                            lane % MATRIX_ROWS, lane / MATRIX_ROWS, op);
    return TPD_OK;
}

/* Does every lane ask for what lane ^ distance asks for? A lane that sits out asks for anything. */
static bool are_pairs_equal(const struct tpd_request *request, uint32_t distance) {
    for (uint32_t lane = 0; lane < TPD_WARP; lane++)
        if (is_active(request, lane) && is_active(request, lane ^ distance) &&
            request->address[lane] != request->address[lane ^ distance])
            return false;
    return true;
}

/* A phase moves at most one word a bank: 32 lanes of up to a word, half of them of two words, a quarter of four.
 * Loads whose neighbours agree need half the data, and two phases become one. That was measured with the banks of
 * 4 bytes that every GPU since compute capability 5.0 has, and is assumed of no others. */
static uint32_t lanes_of_phase(const struct tpd_request *request, uint32_t bank_bytes) {
    uint32_t lanes = request->width <= bank_bytes ? TPD_WARP : TPD_WARP * bank_bytes / request->width;
    if (bank_bytes == 4 && request->op == TPD_OP_LOAD && lanes < TPD_WARP &&
        (are_pairs_equal(request, 1) || are_pairs_equal(request, 2)))
        lanes *= 2;
    return lanes;
}

/* How a request is served: so many phases, of so many lanes each, every lane with so many words. */
struct service {
    uint32_t phases, lanes, words;
};

static struct service service_of(const struct tpd_request *request, uint32_t bank_bytes) {
    if (is_matrix_op(request->op))
        return (struct service){request->matrices, MATRIX_ROWS, MATRIX_ROW_BYTES / 4};
    uint32_t lanes = lanes_of_phase(request, bank_bytes);
    return (struct service){TPD_WARP / lanes, lanes, request->width > bank_bytes ? request->width / bank_bytes : 1};
}

/* The distinct words that a phase asks of each bank. A lane's words lie in different banks, so a bank has one a lane at most. */
struct phase {
    uint32_t count[TPD_BANKS];
    uint64_t word[TPD_BANKS][TPD_WARP];
    uint32_t lanes[TPD_BANKS][TPD_WARP]; /* that ask for that word */
};

static void add_word(struct phase *phase, uint64_t word, uint32_t lane) {
    uint32_t bank = (uint32_t)(word % TPD_BANKS);
    uint32_t n = 0;
    while (n < phase->count[bank] && phase->word[bank][n] != word)
        n++;
    if (n == phase->count[bank]) {
        phase->word[bank][n] = word;
        phase->lanes[bank][n] = 0;
        phase->count[bank]++;
    }
    phase->lanes[bank][n] |= 1u << lane;
}

static void fill(struct phase *phase, const struct tpd_request *request, uint32_t bank_bytes, struct service service,
                 uint32_t number) {
    memset(phase->count, 0, sizeof phase->count);
    for (uint32_t lane = number * service.lanes; lane < (number + 1) * service.lanes; lane++)
        if (is_active(request, lane))
            for (uint32_t n = 0; n < service.words; n++)
                add_word(phase, request->address[lane] / bank_bytes + n, lane);
}

static uint32_t busiest_of(const struct phase *phase) {
    uint32_t busiest = 0;
    for (uint32_t bank = 1; bank < TPD_BANKS; bank++)
        if (phase->count[bank] > phase->count[busiest])
            busiest = bank;
    return busiest;
}

static uint32_t lanes_at(const struct phase *phase, uint32_t bank) {
    uint32_t lanes = 0;
    for (uint32_t n = 0; n < phase->count[bank]; n++)
        lanes |= phase->lanes[bank][n];
    return lanes;
}

static void add_phase(struct tpd_bank_result *result, const struct phase *phase) {
    uint32_t busiest = busiest_of(phase), degree = phase->count[busiest];
    result->wavefronts += degree;
    result->ideal += degree != 0;
    if (degree > result->degree) {
        result->degree = degree;
        result->busiest_bank = busiest;
        result->lanes = degree > 1 ? lanes_at(phase, busiest) : 0;
    }
}

static enum tpd_status check_shared(const struct tpd_request *request, uint32_t bank_bytes, struct tpd_error *error) {
    if (bank_bytes != 4 && bank_bytes != 8)
        return tpd_fail(error, TPD_UNSUPPORTED, "bank width %" PRIu32 " is neither 4 nor 8 bytes", bank_bytes);
    if (!is_matrix_op(request->op))
        return check_request(request, error);
    enum tpd_status status = check_matrices(request, bank_bytes, error);
    if (status != TPD_OK)
        return status;
    struct tpd_request rows = *request; /* what other lanes hold is nobody's address */
    rows.active = request->matrices == 4 ? UINT32_MAX : (1u << MATRIX_ROWS * request->matrices) - 1;
    return check_aligned(&rows, MATRIX_ROW_BYTES, "a matrix row", error);
}

enum tpd_status tpd_banks_shared(const struct tpd_request *request, uint32_t bank_bytes, struct tpd_bank_result *result,
                                 struct tpd_error *error) {
    enum tpd_status status = check_shared(request, bank_bytes, error);
    if (status != TPD_OK)
        return status;
    struct service service = service_of(request, bank_bytes);
    struct tpd_bank_result found = {.phases = service.phases};
    struct phase phase;
    for (uint32_t number = 0; number < service.phases; number++) {
        fill(&phase, request, bank_bytes, service, number);
        add_phase(&found, &phase);
    }
    found.excess = found.wavefronts - found.ideal;
    *result = found;
    return TPD_OK;
}

enum tpd_status tpd_banks_schedule(const struct tpd_request *request, uint32_t bank_bytes, struct tpd_bank_schedule *schedule,
                                   struct tpd_error *error) {
    enum tpd_status status = tpd_banks_shared(request, bank_bytes, &schedule->result, error);
    if (status != TPD_OK)
        return status;
    struct service service = service_of(request, bank_bytes);
    struct phase phase;
    uint32_t first = 0;
    for (uint32_t number = 0; number < service.phases; number++) {
        fill(&phase, request, bank_bytes, service, number);
        uint32_t count = phase.count[busiest_of(&phase)];
        for (uint32_t n = 0; n < count; n++) {
            struct tpd_bank_wavefront *wavefront = &schedule->wavefront[first + n];
            wavefront->phase = number;
            for (uint32_t bank = 0; bank < TPD_BANKS; bank++)
                wavefront->lanes[bank] = n < phase.count[bank] ? phase.lanes[bank][n] : 0;
        }
        first += count;
    }
    return TPD_OK;
}

/* Counts `number` in unless it is among the count that are there. */
static uint32_t add_distinct(uint64_t *list, uint32_t count, uint64_t number) {
    /* From the end: neighbouring lanes ask for neighbouring bytes. */
    for (uint32_t n = count; n > 0; n--)
        if (list[n - 1] == number)
            return count;
    list[count] = number;
    return count + 1;
}

enum tpd_status tpd_banks_global(const struct tpd_request *request, uint32_t *sectors, uint32_t *ideal, struct tpd_error *error) {
    if (is_matrix_op(request->op))
        return tpd_fail(error, TPD_UNSUPPORTED, "%s knows shared memory alone: it has no sectors", tpd_op_name(request->op));
    enum tpd_status status = check_request(request, error);
    if (status != TPD_OK)
        return status;
    /* Aligned items of at most 16 bytes: each lies in one sector, and two are the same or apart. */
    uint64_t sector[TPD_WARP], item[TPD_WARP];
    uint32_t sector_count = 0, item_count = 0;
    for (uint32_t lane = 0; lane < TPD_WARP; lane++)
        if (is_active(request, lane)) {
            sector_count = add_distinct(sector, sector_count, request->address[lane] / TPD_SECTOR_BYTES);
            item_count = add_distinct(item, item_count, request->address[lane]);
        }
    *sectors = sector_count;
    *ideal = (item_count * request->width + TPD_SECTOR_BYTES - 1) / TPD_SECTOR_BYTES;
    return TPD_OK;
}

/* A request without an active lane is no request: the hardware skips it. */
enum tpd_status tpd_banks_add_shared(const struct tpd_request *request, uint32_t bank_bytes, struct tpd_shared_sum sums[2],
                                     struct tpd_error *error) {
    struct tpd_bank_result result;
    if (request->active == 0)
        return TPD_OK;
    enum tpd_status status = tpd_banks_shared(request, bank_bytes, &result, error);
    if (status != TPD_OK)
        return status;
    struct tpd_shared_sum *sum = &sums[request->op];
    sum->requests++;
    sum->wavefronts += result.wavefronts;
    sum->ideal += result.ideal;
    sum->excess += result.excess;
    if (result.degree > sum->degree)
        sum->degree = result.degree;
    return TPD_OK;
}

enum tpd_status tpd_banks_add_global(const struct tpd_request *request, struct tpd_global_sum sums[2], struct tpd_error *error) {
    uint32_t sectors, ideal;
    if (request->active == 0)
        return TPD_OK;
    enum tpd_status status = tpd_banks_global(request, &sectors, &ideal, error);
    if (status != TPD_OK)
        return status;
    struct tpd_global_sum *sum = &sums[request->op];
    sum->requests++;
    sum->sectors += sectors;
    sum->ideal += ideal;
    return TPD_OK;
}
