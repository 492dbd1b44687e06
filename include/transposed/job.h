/* job.h -- one request's work, from decoded bytes to encoded answer.
 *
 * A job has exactly one owner at a time: the caller until tpd_engine_submit() succeeds, the engine until it calls done(),
 * then the caller again. Nothing in it is read by anybody else meanwhile.
 */
#ifndef TRANSPOSED_JOB_H
#define TRANSPOSED_JOB_H

#include "transposed/backend.h"
#include "transposed/codec.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TPD_ID_BYTES = 65 }; /* a request id: up to 64 letters, digits, '-', '_', '.' and a NUL */

/* Stages of a request in the order they happen; names as in Server-Timing, /stats and /metrics. */
enum tpd_stage {
    TPD_STAGE_RECEIVE,
    TPD_STAGE_DECODE,
    TPD_STAGE_QUEUE,
    TPD_STAGE_H2D,
    TPD_STAGE_KERNEL,
    TPD_STAGE_D2H,
    TPD_STAGE_ENCODE,
    TPD_STAGE_COUNT
};
const char *tpd_stage_name(enum tpd_stage stage);

struct tpd_slot;  /* the engine's own */
struct tpd_early; /* the engine's own */
struct tpd_engine;

/* The job's share of the host's budget. */
struct tpd_job_memory {
    struct tpd_memory memory;
    struct tpd_engine *engine;           /* NULL: the job has no memory of its own */
    uint64_t reserved_bytes, held_bytes; /* charged to the budget; of these, in blocks */
    uint64_t wanted_bytes;               /* to be charged when the next block is */
};

/* Where a job goes and how. */
struct tpd_choice {
    struct tpd_slot *slot; /* NULL: nothing has to be moved */
    enum tpd_strategy_id strategy;
    struct tpd_tile tile;
    bool may_move; /* neither device nor strategy was asked for: the CPU may redo it */
};

struct tpd_job {
    /* The caller's, before submit. */
    enum tpd_codec_id format_in, format_out;
    struct tpd_decoder *decoder; /* owned by the job from tpd_job_fini()'s point of view */
    struct tpd_encode_options encode;
    enum tpd_strategy_id strategy;
    bool strategy_is_explicit; /* the request named it: then a device that can't is a 422, not passed over */
    struct tpd_tile tile;
    bool tile_is_explicit;             /* the same of the tile: then a strategy named beside it has to take it */
    char device[16];                   /* "auto", a back end's name, or a device id */
    uint64_t deadline_ns;              /* tpd_clock_ns() by which it must be running; 0 = the engine's default */
    void (*done)(struct tpd_job *job); /* called once, from a worker (or from tpd_engine_run itself) */
    void *owner;                       /* the caller's own */

    /* The engine's, valid in done() and after. */
    enum tpd_status status;
    struct tpd_error error;
    struct tpd_matrix matrix;  /* the input's shape, and the item that was moved: of cells that became items, that item */
    bool cells;                /* what was moved is text, cell by cell; the dtype is then TPD_DTYPE_OPAQUE */
    struct tpd_encoded answer; /* owned by the job */
    char device_id[16];        /* what ran it; "" when nothing had to (a relabel, no items) */
    const char *strategy_name; /* what ran: "padded", "blocked", "relabel" */
    struct tpd_tile tile_used;
    uint64_t stage_ns[TPD_STAGE_COUNT]; /* RECEIVE is the caller's */

    /* The engine's own. */
    struct tpd_job_memory memory;
    struct tpd_payload payload;
    struct tpd_choice choice;
    struct tpd_early *early; /* what began while the body was arriving; NULL: nothing */
    bool early_is_decided;
    uint64_t submitted_ns, queued_ns; /* handed over; began its latest wait */
    struct tpd_job *next;
};

void tpd_job_init(struct tpd_job *job);
/* Releases decoder and payload, and gives back what was set aside for more; the answer stays, and is charged by itself. */
void tpd_job_give_back(struct tpd_job *job);
/* Releases decoder, payload and answer; safe at any time the caller owns the job. */
void tpd_job_fini(struct tpd_job *job);

#ifdef __cplusplus
}
#endif

#endif
