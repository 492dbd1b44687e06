/* strategy.h -- the tile strategies: which there are, what a launch of one looks like, which to take.
 *
 * Pure: no allocation, no I/O, no device. The kernels themselves are kernels/strategies/strategy_*.h.
 */
#ifndef TRANSPOSED_STRATEGY_H
#define TRANSPOSED_STRATEGY_H

#include "transposed/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tpd_strategy_id {
#define X(NAME, name, TILES, ITEMSIZES, summary) TPD_STRATEGY_##NAME,
#include "transposed/tbl/strategies.def"
#undef X
    TPD_STRATEGY_COUNT,
    TPD_STRATEGY_AUTO = TPD_STRATEGY_COUNT /* `auto`: tpd_strategy_choose() decides */
};

enum {
    TPD_STRATEGY_THREADS = 256, /* a block, the most; strategies with tiles of their own may take fewer */
    TPD_KERNELS_MOST = 4,       /* of one strategy and item size */
    TPD_TILE_LEAST = 16,        /* items a side; sides are powers of two */
    TPD_TILE_MOST = 128,
    TPD_TILE_DEFAULT = 32,
    TPD_SHARED_OWN_MOST = 65536,   /* bytes of it that strategies with tiles of their own ask for, the most (since 7.5) */
    TPD_SHARED_STATIC_MOST = 49152 /* bytes of shared memory a block has without opting in (CUDA, every architecture) */
};

struct tpd_tile {
    uint32_t rows, cols; /* items of the input; 0 x 0 = the strategy's default */
};

struct tpd_strategy {
    const char *name;
    const char *summary;
    bool tiled;     /* takes the `tile` knob; others ignore it */
    bool own_tiles; /* stages tiles of its own */
    bool any_itemsize;
};

/* One launch, described without a device. */
struct tpd_plan {
    enum tpd_strategy_id strategy;
    struct tpd_matrix matrix; /* the input's */
    struct tpd_tile tile;     /* 0 x 0 when nothing is staged in tiles */
    bool tile_is_default;     /* the kernel with the tile compiled in */
    uint32_t variant;         /* of the strategy's ways to cut; 0: its own choice */
    uint32_t kernel;          /* which of the strategy's */
    uint32_t threads;         /* a block */
    uint32_t word_bytes;      /* what one access moves: 1, 2, 4, 8, 16; `vector` moves 16 bytes of such items */
    uint32_t words;           /* accesses an item: itemsize / word_bytes */
    uint32_t pitch;           /* items from one tile row to the next; 0 when nothing is staged in tiles */
    uint64_t shared_bytes;    /* a block */
    uint64_t tiles_down;      /* of one matrix; 0 when nothing is staged in tiles */
    uint64_t tiles_across;
    bool goes_down;      /* blocks walk a matrix's tiles from top to bottom first, and not from left to right */
    bool from_right;     /* then its columns of tiles from right to left */
    uint32_t band;       /* else of a band of so many columns of tiles after the other, each row by row; 0: none */
    uint32_t chunk;      /* `narrow`: of each long row, in words, that a block has; `packed`: matrices; 0: another */
    uint32_t turns_log2; /* how often its threads pass over one */
    uint64_t blocks;     /* in the whole batch; may exceed one grid's 2^31 - 1 */
};

const struct tpd_strategy *tpd_strategy_at(enum tpd_strategy_id id);
/* "auto" gives TPD_STRATEGY_AUTO. Fails with TPD_UNKNOWN_STRATEGY and a text that lists the names. */
enum tpd_status tpd_strategy_find(const char *name, enum tpd_strategy_id *id, struct tpd_error *error) TPD_CHECKED;
/* "32x32" or "auto" (0 x 0). Fails with TPD_BAD_PARAMETER (text) and TPD_UNSUPPORTED (a side out of range), naming value and
 * limit. */
enum tpd_status tpd_tile_parse(const char *text, struct tpd_tile *tile, struct tpd_error *error) TPD_CHECKED;

/* Of a tile that somebody named beside a strategy; 0 x 0 and AUTO go with anything. Fails with TPD_UNSUPPORTED where the strategy
 * takes none, and would pass it over. */
enum tpd_status tpd_tile_suits(struct tpd_tile tile, enum tpd_strategy_id id, struct tpd_error *error) TPD_CHECKED;

/* What `auto` takes by rule, from shape and item size alone. Never TPD_STRATEGY_AUTO. */
enum tpd_strategy_id tpd_strategy_choose(const struct tpd_matrix *matrix);

/* matrix, or a shape of about as many items that the strategy takes: `vector` wants whole vectors, `narrow` few rows or columns,
 * `packed` small matrices. For who shows or tries every strategy. */
struct tpd_matrix tpd_strategy_fit(enum tpd_strategy_id id, struct tpd_matrix matrix);

/* Fails with TPD_UNSUPPORTED (an item size, a shape or a tile the strategy does not take, or shared_bytes > shared_most_bytes;
 * names both), TPD_SIZE_OVERFLOW. AUTO is chosen first. A matrix without items gives 0 blocks. */
enum tpd_status tpd_strategy_plan(enum tpd_strategy_id id, const struct tpd_matrix *matrix, struct tpd_tile tile,
                                  uint64_t shared_most_bytes, struct tpd_plan *plan, struct tpd_error *error) TPD_CHECKED;

/* Ways in which a strategy cuts matrices: 0 is its own choice, matrix by matrix; 1 and up are fixed ones, for who measures which
 * is best (tuning.h). At least 1. */
uint32_t tpd_strategy_variants(enum tpd_strategy_id id);
/* tpd_strategy_plan() for one of them; id is no AUTO, and variant below the number. */
enum tpd_status tpd_strategy_plan_variant(enum tpd_strategy_id id, uint32_t variant, const struct tpd_matrix *matrix,
                                          uint64_t shared_most_bytes, struct tpd_plan *plan, struct tpd_error *error) TPD_CHECKED;

#ifdef __cplusplus
}
#endif

#endif
