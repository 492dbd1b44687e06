/* cpu.h -- what the files of the CPU back end share. Private to kernels/.
 *
 * A block of the input is transposed into a small tile in the cache (fill), and leaves the tile for the output in whole
 * 64-byte lines (lines) while the next block is read into another tile: so memory is read in long row pieces and written in
 * whole lines at the same time, and neither meets the few cache sets that a power-of-two pitch would squeeze a column into.
 */
#ifndef TPD_CPU_H
#define TPD_CPU_H

#include "transposed/matrix.h"

enum {
    TPD_CPU_LINE = 64,  /* bytes of a cache line on every machine we run on */
    TPD_CPU_SLACK = 32, /* bytes that fill() may write past the end of the last tile row */
    TPD_CPU_WORDS = 5   /* item sizes 1, 2, 4, 8, 16 */
};

/* One block: `rows` x `cols` items at src (rows src_pitch bytes apart) to cols tile rows at dst, dst_pitch bytes apart. */
struct tpd_cpu_block {
    unsigned char *dst;
    const unsigned char *src, *src_end; /* src_end: end of the whole input; reads stay below it */
    size_t dst_pitch, src_pitch, rows, cols;
    size_t itemsize;
};

/* A block that waits in its tile: `count` runs of `bytes`, pitch apart, that belong pitch_out apart at out. */
struct tpd_cpu_waiting {
    unsigned char *out, *staged;
    size_t pitch_out, pitch, count, bytes;
    ptrdiff_t remain;    /* bytes of each run from here to the end of its strip or panel; those past it only complete a line */
    ptrdiff_t other;     /* bytes from this tile to the one of the next block */
    size_t begins, ends; /* the run whose first, whose last line has bytes of others; or none */
    bool first, last;    /* block of its strip or panel */
    size_t run, at;      /* the next to go: run, and bytes of it that went */
};

/* Columns that wait in a stage: `runs` runs of `bytes` (whole lines), pitch apart, that belong pitch_out apart at out, on lines.
 */
struct tpd_cpu_leaving {
    unsigned char *out;
    const unsigned char *staged;
    size_t pitch_out, pitch, bytes, runs;
    size_t run; /* the next to go */
};

/* The inner loops, in the best form that this processor runs. */
struct tpd_cpu_ops {
    const char *name;
    size_t vector_bytes; /* that one store of fill() writes */
    /* By log2 of the item size. Tile rows may lie back to back (dst_pitch == rows * itemsize). */
    void (*fill[TPD_CPU_WORDS])(const struct tpd_cpu_block *block);
    void (*fill_odd)(const struct tpd_cpu_block *block); /* every other item size */
    /* About `bytes` of what waits go out, past the caches. */
    void (*leave)(struct tpd_cpu_waiting *waiting, size_t bytes);
    /* Copies bytes, a multiple of TPD_CPU_LINE, to a line boundary; stream: past the caches. */
    void (*lines)(unsigned char *dst, const unsigned char *src, size_t bytes, bool stream);
    /* Copies bytes, a multiple of TPD_CPU_LINE, to a line boundary; for every two lines of them a run leaves, past the caches, as
     * long as there is one. */
    void (*trade)(unsigned char *dst, const unsigned char *src, size_t bytes, struct tpd_cpu_leaving *leaving);
    void (*publish)(void); /* streamed lines are visible to other threads afterwards */
};

extern const struct tpd_cpu_ops tpd_cpu_portable;
#if defined(__x86_64__)
extern const struct tpd_cpu_ops tpd_cpu_avx2, tpd_cpu_avx512;
#elif defined(__aarch64__)
extern const struct tpd_cpu_ops tpd_cpu_neon;
#endif
bool tpd_cpu_runs(const struct tpd_cpu_ops *ops); /* this processor does */
/* The best of them that it runs. */
const struct tpd_cpu_ops *tpd_cpu_ops(void);
/* fill() in plain C, for every item size that is no power of two up to 16. */
void tpd_cpu_fill_any(const struct tpd_cpu_block *block);

/* A block whose rows are in the cache, before they are transposed. */
struct tpd_cpu_gathered {
    unsigned char *rows_at, *out;
    size_t rows, cols, turned;      /* turned: its items that are in a stage, or have left */
    unsigned stage;                 /* the free one: behind that tile's rows */
    struct tpd_cpu_leaving leaving; /* what is in the other */
};

/* What a thread has while it does pieces. */
struct tpd_cpu_worker {
    unsigned char *tile[2]; /* each of a plan's tile_bytes, on a line */
    unsigned char *origin;  /* owns: where they lie, when on the heap */
    unsigned next;          /* the tile of the next block */
    struct tpd_cpu_waiting waiting;
    struct tpd_cpu_gathered gathered;
};

/* One transpose, cut in pieces that any thread may do in any order. */
struct tpd_cpu_plan {
    const struct tpd_cpu_ops *ops;
    void (*fill)(const struct tpd_cpu_block *block);
    void (*piece)(const struct tpd_cpu_plan *plan, size_t index, struct tpd_cpu_worker *worker);
    const char *strategy; /* "copy", "blocked", "generic" */
    const unsigned char *in, *in_end;
    unsigned char *out;
    size_t rows, cols, batch, itemsize, bytes;
    size_t block_rows, block_cols, pitch;       /* of one tile */
    size_t step_rows, step_cols;                /* filled between two visits to the block that waits */
    size_t piece_rows, piece_cols, piece_batch; /* of one piece */
    size_t row_pieces, col_pieces, pieces;
    size_t block_batch; /* matrices of one block, where it has whole ones */
    size_t overlap;     /* rows that complete a strip's last lines; 0 where no line is shared */
    size_t ahead;       /* bytes between what a step reads and what it asks for; 0: nothing is asked for */
    size_t gather;      /* bytes of a row copied at a time, where rows are gathered; else 0 */
    size_t stage_pitch; /* there: of a stage's rows, step_cols of them */
    size_t unit_cols;   /* there: columns transposed between two visits to what comes and what leaves */
    size_t tile_bytes;  /* that each of a worker's tiles must have; 0: none is needed */
    bool panels;        /* all rows of some columns leave the tile as one run */
    bool stream;
};

/* What the machine gives. */
struct tpd_cpu_limits {
    size_t stream_from_bytes; /* outputs of that size and more go past the caches */
    size_t tile_bytes;        /* of one tile; TPD_CPU_TILE_LEAST or more */
    uint32_t threads;         /* that may share a matrix in the cache; 0 or 1: it is not cut */
};

enum {
    TPD_CPU_TILE_LEAST = 24 * 1024,
    TPD_CPU_TILE_MOST = 576 * 1024,
    /* Below, a matrix is done by the calling thread: waking another costs more than it saves; one core moves this much in some
     * 20 us. */
    TPD_CPU_ALONE_BYTES = 256 * 1024
};

/* The shape was checked and has items. */
void tpd_cpu_plan(struct tpd_cpu_plan *plan, const struct tpd_cpu_ops *ops, const struct tpd_matrix *matrix, const void *in,
                  void *out, const struct tpd_cpu_limits *limits);
/* The pieces' work. */
void tpd_cpu_piece_staged(const struct tpd_cpu_plan *plan, size_t index, struct tpd_cpu_worker *worker);
void tpd_cpu_piece_direct(const struct tpd_cpu_plan *plan, size_t index, struct tpd_cpu_worker *worker);
void tpd_cpu_piece_straight(const struct tpd_cpu_plan *plan, size_t index, struct tpd_cpu_worker *worker);
void tpd_cpu_piece_copy(const struct tpd_cpu_plan *plan, size_t index, struct tpd_cpu_worker *worker);
void tpd_cpu_piece_gathered(const struct tpd_cpu_plan *plan, size_t index, struct tpd_cpu_worker *worker);
void tpd_cpu_finish_gathered(const struct tpd_cpu_plan *plan, struct tpd_cpu_worker *worker);
/* A piece's matrices and its part of each. */
struct tpd_cpu_part {
    size_t first, end, r, rows, c, cols;
};
struct tpd_cpu_part tpd_cpu_part(const struct tpd_cpu_plan *plan, size_t index);
/* After a thread's last piece: what waits in its tile leaves, and all that it wrote is visible to others. */
void tpd_cpu_finish(const struct tpd_cpu_plan *plan, struct tpd_cpu_worker *worker);
/* The whole plan in the calling thread. The worker may be empty where tile_bytes is 0. */
void tpd_cpu_run(const struct tpd_cpu_plan *plan, struct tpd_cpu_worker *worker);

/* A worker with tiles of its own, on the heap. Fails with TPD_NO_MEMORY. */
enum tpd_status tpd_cpu_worker_init(struct tpd_cpu_worker *worker, size_t tile_bytes, struct tpd_error *error) TPD_CHECKED;
void tpd_cpu_worker_fini(struct tpd_cpu_worker *worker);

/* The process-wide pool: helper threads that do pieces beside the thread that called.
 * At most `threads` work at once, callers included: a helper steps back when callers alone are enough.
 * open() makes sure of threads - 1 helpers, as far as the system gives them; the last close() ends them. */
enum { TPD_CPU_THREADS_MOST = 1024 };
enum tpd_status tpd_cpu_pool_open(uint32_t threads, struct tpd_error *error) TPD_CHECKED;
void tpd_cpu_pool_close(void);
/* The whole plan, complete and published when it returns. At most `threads` at it, the caller with its worker included. */
void tpd_cpu_pool_run(const struct tpd_cpu_plan *plan, uint32_t threads, struct tpd_cpu_worker *worker);

/* The machine: processors this process may use, the processor's name, memory; what its caches are good for. */
uint32_t tpd_cpu_cores(void);
void tpd_cpu_model(char *name, size_t room);
uint64_t tpd_cpu_memory_bytes(void);
struct tpd_cpu_limits tpd_cpu_machine(void);

#endif
