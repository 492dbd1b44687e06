/* simt.h -- runs one block of a plan at a time, lane by lane, and shows every warp's requests.
 *
 * The kernels are kernels/strategies/strategy_*.h, the very text that nvcc compiles. Between two barriers thread after
 * thread runs to its end; the n-th accesses of a warp's lanes are one request, shown to `watch` when the phase ends.
 * in and out may be NULL: loads then give zeros and stores go nowhere, so that a shape can be described that no
 * memory could hold.
 * Owns: its tile and its record. Threads: one at a time.
 * Fails with: TPD_NO_MEMORY; TPD_INTERNAL for a kernel that breaks the rules of kernel.h.
 * Ceiling: TPD_SIMT_ACCESSES_MOST accesses a thread between two barriers.
 */
#ifndef TPD_SIMT_H
#define TPD_SIMT_H

#include "kernels/strategies/geometry.h"
#include "transposed/banks.h"

enum tpd_simt_kind { TPD_SIMT_GLOBAL_LOAD, TPD_SIMT_GLOBAL_STORE, TPD_SIMT_SHARED_LOAD, TPD_SIMT_SHARED_STORE };

enum {
    TPD_SIMT_WARPS = TPD_STRATEGY_THREADS / TPD_WARP,
    /* Twice a load and a store for each item of the largest tile: `narrow` moves 31 units of up to 5 accesses, and edges. */
    TPD_SIMT_ACCESSES_MOST = 4 * TPD_TILE_MOST * TPD_TILE_MOST / TPD_STRATEGY_THREADS
};

/* One request; global addresses count from the first item of the input or the output, which lies on a 256-byte boundary. */
typedef void tpd_simt_watch(void *context, enum tpd_simt_kind kind, const struct tpd_request *request);

/* The n-th access of every thread of a block. */
struct tpd_simt_access {
    enum tpd_simt_kind kind;
    uint32_t width;
    uint32_t active[TPD_SIMT_WARPS];
    uint64_t address[TPD_STRATEGY_THREADS];
};

struct tpd_simt {
    const unsigned char *in; /* borrows */
    unsigned char *out;      /* borrows */
    unsigned char *shared;
    uint64_t bytes; /* of the input, and of the output */
    uint64_t block;
    struct tpd_plan plan;
    struct tpd_geometry grid;
    uint32_t thread;
    bool barrier_due;  /* a phase has ended, and no barrier since */
    const char *fault; /* the first rule that the kernel broke */
    /* The record; NULL when nobody watches. */
    struct tpd_simt_access *accesses;
    uint32_t at, count; /* the running thread's next access; the most that a thread of this phase has made */
    tpd_simt_watch *watch;
    void *context;
};

/* Owned by the caller until tpd_simt_fini(). watch == NULL: nothing is recorded. */
enum tpd_status tpd_simt_init(struct tpd_simt *simt, const struct tpd_plan *plan, const void *in, void *out,
                              tpd_simt_watch *watch, void *context, struct tpd_error *error) TPD_CHECKED;
void tpd_simt_fini(struct tpd_simt *simt);
/* block < plan->blocks. */
enum tpd_status tpd_simt_run(struct tpd_simt *simt, uint64_t block, struct tpd_error *error) TPD_CHECKED;

/* The rest is for dialect_c.h. */
uint32_t tpd_simt_phase(struct tpd_simt *simt);
uint32_t tpd_simt_next(struct tpd_simt *simt);
void tpd_simt_barrier(struct tpd_simt *simt);
void tpd_simt_record(struct tpd_simt *simt, enum tpd_simt_kind kind, uint32_t width, bool active, uint64_t address);

void tpd_simt_reach(struct tpd_simt *simt);

/* Of an access of global memory: does it stay inside the matrix? One that doesn't is a fault, and isn't made. */
static inline bool tpd_simt_inside(struct tpd_simt *simt, uint64_t address, uint32_t width) {
    if (address <= simt->bytes && simt->bytes - address >= width)
        return true;
    tpd_simt_reach(simt);
    return false;
}

static inline void tpd_simt_touch(struct tpd_simt *simt, enum tpd_simt_kind kind, uint32_t width, bool active, uint64_t address) {
    if (simt->accesses != NULL)
        tpd_simt_record(simt, kind, width, active, address);
}

#endif
