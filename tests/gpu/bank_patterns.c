/* bank_patterns.c -- see bank_patterns.h. */
#include "bank_patterns.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const uint32_t all_lanes = 0xffffffffu;
static const uint32_t widths[] = {1, 2, 4, 8, 16};
enum { WIDTHS = sizeof widths / sizeof widths[0] };
static const char *const op_names[] = {"load", "store"};

struct patterns {
    struct tpd_pattern *list;
    uint32_t count;
    uint64_t seed;
};

/* xorshift64*, written here so that the list needs no library of tests on the GPU's machine. */
static uint32_t below(struct patterns *to, uint32_t limit) {
    to->seed ^= to->seed >> 12;
    to->seed ^= to->seed << 25;
    to->seed ^= to->seed >> 27;
    return (uint32_t)((to->seed * 0x2545f4914f6cdd1du) >> 33) % limit;
}

static uint32_t random_mask(struct patterns *to) {
    uint32_t mask = 0;
    while (mask == 0)
        mask = below(to, 65536) << 16 | below(to, 65536);
    return mask;
}

__attribute__((format(printf, 5, 6))) static struct tpd_request *add(struct patterns *to, const char *family, enum tpd_op op,
                                                                     uint32_t width, const char *format, ...) {
    if (to->count == TPD_PATTERNS_MOST)
        abort();
    struct tpd_pattern *pattern = &to->list[to->count++];
    *pattern = (struct tpd_pattern){.family = family, .request = {.op = op, .width = width, .active = all_lanes}};
    int at = snprintf(pattern->name, sizeof pattern->name, "%s %u ", op_names[op], width);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(pattern->name + at, sizeof pattern->name - (size_t)at, format, arguments);
    va_end(arguments);
    return &pattern->request;
}

/* Every stride from 1 to 64 words; of the other widths those around powers of two. */
static void add_strides(struct patterns *to) {
    for (int w = 0; w < WIDTHS; w++)
        for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++)
            for (uint32_t stride = 1; stride <= 64; stride++) {
                uint32_t near = stride & (stride - 1), over = (stride - 1) & (stride - 2);
                if (widths[w] != 4 && stride > 9 && near != 0 && over != 0 && stride != 31 && stride != 63)
                    continue;
                struct tpd_request *request = add(to, "stride", (enum tpd_op)op, widths[w], "stride %u", stride);
                for (uint32_t lane = 0; lane < TPD_WARP; lane++)
                    request->address[lane] = (uint64_t)lane * stride * widths[w];
            }
}

/* A warp walks a column: 32 rows of column 5, or 16 rows of columns 5 and 6. */
static void add_columns(struct patterns *to) {
    for (uint32_t pitch = 32; pitch <= 65; pitch++) {
        for (int w = 0; w < WIDTHS; w++) {
            struct tpd_request *request = add(to, "column", TPD_OP_LOAD, widths[w], "pitch %u", pitch);
            for (uint32_t lane = 0; lane < TPD_WARP; lane++)
                request->address[lane] = ((uint64_t)lane * pitch + 5) * widths[w];
        }
        struct tpd_request *request = add(to, "column", TPD_OP_STORE, 4, "pitch %u two columns of 16", pitch);
        for (uint32_t lane = 0; lane < TPD_WARP; lane++)
            request->address[lane] = ((uint64_t)(lane % 16) * pitch + 5 + lane / 16) * 4;
    }
}

/* Lanes `distance` apart ask for the same item: 1 and 2 let loads of 8 and 16 bytes merge phases, 4 and 16 do not. */
static void add_neighbours_of(struct patterns *to, enum tpd_op op, uint32_t width, uint32_t distance) {
    struct tpd_request *request = add(to, "neighbours", op, width, "lane^%u packed", distance);
    for (uint32_t lane = 0; lane < TPD_WARP; lane++)
        request->address[lane] = (uint64_t)((lane & (distance - 1)) + lane / (2 * distance) * distance) * width;
    for (uint32_t round = 0; round < 3; round++) {
        static const uint32_t items[] = {16, 64, 512};
        request = add(to, "neighbours", op, width, "lane^%u random of %u", distance, items[round]);
        for (uint32_t lane = 0; lane < TPD_WARP; lane++)
            request->address[lane] =
                lane & distance ? request->address[lane ^ distance] : (uint64_t)below(to, items[round]) * width;
    }
    struct tpd_request packed = to->list[to->count - 4].request;
    request = add(to, "neighbours", op, width, "lane^%u but lane 31", distance);
    *request = packed;
    request->address[31] += (uint64_t)32 * width;
    request = add(to, "neighbours", op, width, "lane^%u random mask", distance);
    *request = packed;
    request->active = random_mask(to);
    request = add(to, "neighbours", op, width, "lane^%u others inactive", distance);
    for (uint32_t lane = 0; lane < TPD_WARP; lane++) {
        request->address[lane] = (uint64_t)lane * width;
        if (lane & distance)
            request->active &= ~(1u << lane);
    }
}

static void add_neighbours(struct patterns *to) {
    static const uint32_t distances[] = {1, 2, 4, 16};
    for (uint32_t width = 8; width <= 16; width *= 2)
        for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++) {
            for (int n = 0; n < 4; n++)
                add_neighbours_of(to, (enum tpd_op)op, width, distances[n]);
            struct tpd_request *request = add(to, "neighbours", (enum tpd_op)op, width, "lane^1 below 16 and lane^2 above");
            for (uint32_t lane = 0; lane < TPD_WARP; lane++)
                request->address[lane] = (uint64_t)(lane < 16 ? lane & ~1u : lane & ~2u) * width;
        }
}

/* One item for several lanes, and several words of one bank. */
static void add_multicasts(struct patterns *to) {
    for (int w = 0; w < WIDTHS; w++)
        for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++)
            for (uint32_t n = 2; n <= 32; n *= 2) {
                struct tpd_request *request = add(to, "multicast", (enum tpd_op)op, widths[w], "%u lanes an item", n);
                for (uint32_t lane = 0; lane < TPD_WARP; lane++)
                    request->address[lane] = (uint64_t)(lane / n) * widths[w];
                request = add(to, "multicast", (enum tpd_op)op, widths[w], "%u words of a bank in turn", n);
                for (uint32_t lane = 0; lane < TPD_WARP; lane++)
                    request->address[lane] = (uint64_t)(lane % n) * 128;
            }
}

/* Bytes and halves: which lanes meet in a word is what counts. */
static void add_subwords(struct patterns *to) {
    static const uint32_t spans[] = {4, 16, 128, 512, 4096};
    for (uint32_t width = 1; width <= 2; width++)
        for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++)
            for (uint32_t s = 0; s < sizeof spans / sizeof spans[0]; s++)
                for (uint32_t round = 0; round < 2; round++) {
                    struct tpd_request *request =
                        add(to, "sub-word", (enum tpd_op)op, width, "random within %u bytes (%u)", spans[s], round);
                    for (uint32_t lane = 0; lane < TPD_WARP; lane++)
                        request->address[lane] = (uint64_t)below(to, spans[s] / width) * width;
                }
}

static void add_random(struct patterns *to) {
    static const uint32_t spans[] = {256, 1024, 4096, 32768};
    for (int w = 0; w < WIDTHS; w++)
        for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++)
            for (uint32_t s = 0; s < 4; s++)
                for (uint32_t round = 0; round < 4; round++) {
                    bool masked = round >= 2;
                    struct tpd_request *request = add(to, masked ? "random masked" : "random", (enum tpd_op)op, widths[w],
                                                      "within %u bytes (%u)", spans[s], round);
                    for (uint32_t lane = 0; lane < TPD_WARP; lane++)
                        request->address[lane] = (uint64_t)below(to, spans[s] / widths[w]) * widths[w];
                    if (masked)
                        request->active = random_mask(to);
                }
}

/* Half-warps, quarter-warps, every other lane, one lane: whole rows of which a part is asked for. */
static void add_masks(struct patterns *to) {
    static const uint32_t masks[] = {0x0000ffffu, 0xffff0000u, 0x000000ffu, 0x00ff0000u, 0x55555555u, 0x33333333u, 1u};
    for (int w = 0; w < WIDTHS; w++)
        for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++)
            for (uint32_t m = 0; m < sizeof masks / sizeof masks[0]; m++) {
                struct tpd_request *request = add(to, "mask", (enum tpd_op)op, widths[w], "row under %08x", masks[m]);
                for (uint32_t lane = 0; lane < TPD_WARP; lane++)
                    request->address[lane] = (uint64_t)lane * widths[w];
                request->active = masks[m];
            }
}

/* 0: rows a pitch of 128 bytes apart, 1: of 144, 2: of 16 (packed), 3: all the same row, 4: the chunk XORed with the row,
 * 5 and up: random rows of 1, 4 and 32 KiB. */
static void add_matrices_of(struct patterns *to, enum tpd_op op, uint32_t matrices, uint32_t kind) {
    static const char *const kinds[] = {"pitch 128", "pitch 144", "packed", "one row", "swizzled"};
    static const uint32_t spans[] = {1024, 4096, 32768};
    static const char *const families[] = {"ldmatrix", "stmatrix"};
    struct tpd_request *request =
        kind < 5 ? add(to, families[op], op, 16, "x%u %s", matrices, kinds[kind])
                 : add(to, families[op], op, 16, "x%u random of %u (%u)", matrices, spans[(kind - 5) % 3], (kind - 5) / 3);
    to->list[to->count - 1].matrices = matrices;
    request->active = matrices == 4 ? all_lanes : (1u << 8 * matrices) - 1;
    for (uint32_t lane = 0; lane < TPD_WARP; lane++) {
        const uint64_t of_kind[5] = {lane * 128, lane * 144, lane * 16, 16, lane * 128 + (lane / 8 ^ lane % 8) * 16};
        request->address[lane] = kind < 5 ? of_kind[kind] : (uint64_t)below(to, spans[(kind - 5) % 3] / 16) * 16;
    }
}

static void add_matrices(struct patterns *to) {
    for (int op = TPD_OP_LOAD; op <= TPD_OP_STORE; op++)
        for (uint32_t matrices = 1; matrices <= 4; matrices *= 2)
            for (uint32_t kind = 0; kind < 14; kind++)
                add_matrices_of(to, (enum tpd_op)op, matrices, kind);
}

uint32_t tpd_patterns_make(struct tpd_pattern *list) {
    struct patterns to = {.list = list, .seed = 88172645463325252u};
    add_strides(&to);
    add_columns(&to);
    add_neighbours(&to);
    add_multicasts(&to);
    add_subwords(&to);
    add_random(&to);
    add_masks(&to);
    add_matrices(&to);
    return to.count;
}

enum tpd_status tpd_pattern_expect(const struct tpd_pattern *pattern, struct tpd_bank_result *result, struct tpd_error *error) {
    struct tpd_request request = pattern->request;
    if (pattern->matrices != 0)
        request.op = TPD_OP_STORE;
    return tpd_banks_shared(&request, 4, result, error);
}
