/* bank_model.c -- from the addresses of a warp's request to wavefronts and sectors; from a plan to their sums. */
#include <inttypes.h>
#include <string.h>

#include "kernels/banks/simt.h"

static bool is_active(const struct tpd_request *request, uint32_t lane) {
    return (request->active >> lane & 1) != 0;
}

static enum tpd_status check_request(const struct tpd_request *request, struct tpd_error *error) {
    uint32_t width = request->width;
    if (width != 1 && width != 2 && width != 4 && width != 8 && width != 16)
        return tpd_fail(error, TPD_UNSUPPORTED, "width %" PRIu32 " is none of 1, 2, 4, 8 and 16 bytes", width);
    for (uint32_t lane = 0; lane < TPD_WARP; lane++)
        if (is_active(request, lane) && request->address[lane] % width != 0)
            return tpd_fail(error, TPD_UNSUPPORTED,
                            "lane %" PRIu32 ": address %" PRIu64 " is no multiple of the width, %" PRIu32 " bytes", lane,
                            request->address[lane], width);
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

/* The distinct words that a phase asks of each bank. A lane's words lie in different banks, so a bank has one a lane at most. */
struct phase {
    uint32_t count[TPD_BANKS];
    uint32_t lanes[TPD_BANKS];
    uint64_t word[TPD_BANKS][TPD_WARP];
};

static void add_word(struct phase *phase, uint64_t word, uint32_t lane) {
    uint32_t bank = (uint32_t)(word % TPD_BANKS);
    uint32_t n = 0;
    while (n < phase->count[bank] && phase->word[bank][n] != word)
        n++;
    if (n == phase->count[bank])
        phase->word[bank][phase->count[bank]++] = word;
    phase->lanes[bank] |= 1u << lane;
}

static uint32_t busiest_of(const struct phase *phase) {
    uint32_t busiest = 0;
    for (uint32_t bank = 1; bank < TPD_BANKS; bank++)
        if (phase->count[bank] > phase->count[busiest])
            busiest = bank;
    return busiest;
}

enum tpd_status tpd_banks_shared(const struct tpd_request *request, uint32_t bank_bytes, struct tpd_bank_result *result,
                                 struct tpd_error *error) {
    if (bank_bytes != 4 && bank_bytes != 8)
        return tpd_fail(error, TPD_UNSUPPORTED, "bank width %" PRIu32 " is neither 4 nor 8 bytes", bank_bytes);
    enum tpd_status status = check_request(request, error);
    if (status != TPD_OK)
        return status;
    uint32_t lanes = lanes_of_phase(request, bank_bytes);
    uint32_t words = request->width > bank_bytes ? request->width / bank_bytes : 1;
    struct tpd_bank_result found = {.phases = TPD_WARP / lanes};
    struct phase phase;
    for (uint32_t first = 0; first < TPD_WARP; first += lanes) {
        memset(phase.count, 0, sizeof phase.count);
        memset(phase.lanes, 0, sizeof phase.lanes);
        for (uint32_t lane = first; lane < first + lanes; lane++)
            if (is_active(request, lane))
                for (uint32_t n = 0; n < words; n++)
                    add_word(&phase, request->address[lane] / bank_bytes + n, lane);
        uint32_t busiest = busiest_of(&phase), degree = phase.count[busiest];
        found.wavefronts += degree;
        found.ideal += degree != 0;
        if (degree > found.degree) {
            found.degree = degree;
            found.busiest_bank = busiest;
            found.lanes = degree > 1 ? phase.lanes[busiest] : 0;
        }
    }
    found.excess = found.wavefronts - found.ideal;
    *result = found;
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
struct sums {
    struct tpd_figures figures;
    enum tpd_status status;
    struct tpd_error *error;
};

static void add_shared(struct sums *sums, const struct tpd_request *request) {
    struct tpd_bank_result result;
    enum tpd_status status = tpd_banks_shared(request, 4, &result, sums->error);
    if (status != TPD_OK) {
        sums->status = status;
        return;
    }
    struct tpd_shared_sum *sum = &sums->figures.shared[request->op];
    sum->requests++;
    sum->wavefronts += result.wavefronts;
    sum->ideal += result.ideal;
    sum->excess += result.excess;
    if (result.degree > sum->degree)
        sum->degree = result.degree;
}

static void add_global(struct sums *sums, const struct tpd_request *request) {
    uint32_t sectors, ideal;
    enum tpd_status status = tpd_banks_global(request, &sectors, &ideal, sums->error);
    if (status != TPD_OK) {
        sums->status = status;
        return;
    }
    struct tpd_global_sum *sum = &sums->figures.global[request->op];
    sum->requests++;
    sum->sectors += sectors;
    sum->ideal += ideal;
}

static void add_request(void *context, enum tpd_simt_kind kind, const struct tpd_request *request) {
    if (request->active == 0)
        return;
    if (kind == TPD_SIMT_SHARED_LOAD || kind == TPD_SIMT_SHARED_STORE)
        add_shared(context, request);
    else
        add_global(context, request);
}

enum tpd_status tpd_banks_of_plan(const struct tpd_plan *plan, struct tpd_figures *figures, struct tpd_error *error) {
    return tpd_banks_of_sample(plan, TPD_BANKS_BLOCKS_MOST, figures, error);
}

enum tpd_status tpd_banks_of_sample(const struct tpd_plan *plan, uint64_t blocks_most, struct tpd_figures *figures,
                                    struct tpd_error *error) {
    struct sums sums = {.figures = {.plan = *plan}, .status = TPD_OK, .error = error};
    struct tpd_simt simt;
    enum tpd_status status = tpd_simt_init(&simt, plan, NULL, NULL, add_request, &sums, error);
    if (status != TPD_OK)
        return status;
    uint64_t blocks = plan->blocks < blocks_most ? plan->blocks : blocks_most;
    uint64_t last = plan->blocks - 1; /* not looked at when there is none */
    for (uint64_t n = 0; n < blocks && status == TPD_OK; n++) {
        /* From first to last in even steps; every block when there are no more. Nothing here can pass 2^64. */
        uint64_t block = blocks == 1 ? 0 : n * (last / (blocks - 1)) + n * (last % (blocks - 1)) / (blocks - 1);
        status = tpd_simt_run(&simt, block, error);
        if (status == TPD_OK)
            status = sums.status;
    }
    tpd_simt_fini(&simt);
    if (status != TPD_OK)
        return status;
    sums.figures.blocks = blocks;
    *figures = sums.figures;
    return TPD_OK;
}
