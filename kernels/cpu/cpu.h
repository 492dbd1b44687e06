/* cpu.h -- what the files of the CPU back end share. Private to kernels/.
 *
 * A transpose goes through a small staging tile. A block of the input is transposed into the tile in cache (fill), and
 * the tile leaves for the output in whole 64-byte lines (lines). So the input is read in long row pieces, the output is
 * written in whole lines, and neither meets the few cache sets that a power-of-two pitch would squeeze a column into.
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

/* The inner loops, in the best form that this processor runs. */
struct tpd_cpu_ops {
    const char *name;
    /* By log2 of the item size. Tile rows may lie back to back (dst_pitch == rows * itemsize). */
    void (*fill[TPD_CPU_WORDS])(const struct tpd_cpu_block *block);
    /* Copies bytes, a multiple of TPD_CPU_LINE, to a line boundary; stream: past the caches. */
    void (*lines)(unsigned char *dst, const unsigned char *src, size_t bytes, bool stream);
    void (*publish)(void); /* streamed lines are visible to other threads afterwards */
};

extern const struct tpd_cpu_ops tpd_cpu_portable;
#if defined(__x86_64__)
extern const struct tpd_cpu_ops tpd_cpu_avx2;
#endif
const struct tpd_cpu_ops *tpd_cpu_ops(void);
/* fill() for every other item size. */
void tpd_cpu_fill_any(const struct tpd_cpu_block *block);

/* One transpose, cut in pieces that any thread may do in any order. */
struct tpd_cpu_plan {
    const struct tpd_cpu_ops *ops;
    void (*fill)(const struct tpd_cpu_block *block);
    void (*piece)(const struct tpd_cpu_plan *plan, size_t index, unsigned char *tile);
    const char *strategy; /* "copy", "blocked", "generic" */
    const unsigned char *in, *in_end;
    unsigned char *out;
    size_t rows, cols, batch, itemsize, bytes;
    size_t block_rows, block_cols;              /* of one tile */
    size_t piece_rows, piece_cols, piece_batch; /* of one piece */
    size_t row_pieces, col_pieces, pieces;
    bool panels; /* all rows of some columns leave the tile as one run */
    bool stream;
};

enum {
    /* Bytes of staging tile that a piece needs, on a TPD_CPU_LINE boundary; on the stack of the thread that does it.
     * Measured: 48 KiB and 256 KiB are slower, the first by a third on 8192 x 8192 float32. */
    TPD_CPU_TILE_BYTES = 128 * 1024
};

/* The shape was checked and has items. stream_from_bytes: outputs of that size and more go past the caches. */
void tpd_cpu_plan(struct tpd_cpu_plan *plan, const struct tpd_cpu_ops *ops, const struct tpd_matrix *matrix, const void *in,
                  void *out, size_t stream_from_bytes);
/* The process-wide pool: helper threads that do pieces beside the thread that called.
 * At most `threads` work at once, callers included: a helper steps back when callers alone are enough.
 * open() makes sure of threads - 1 helpers, as far as the system gives them; the last close() ends them. */
enum { TPD_CPU_THREADS_MOST = 1024 };
enum tpd_status tpd_cpu_pool_open(uint32_t threads, struct tpd_error *error) TPD_CHECKED;
void tpd_cpu_pool_close(void);
/* The whole plan, complete and published when it returns. At most `threads` at it, the caller included. */
void tpd_cpu_pool_run(const struct tpd_cpu_plan *plan, uint32_t threads);

/* The machine: processors this process may use, the processor's name, memory. */
uint32_t tpd_cpu_cores(void);
void tpd_cpu_model(char *name, size_t room);
uint64_t tpd_cpu_memory_bytes(void);
/* Bytes past which an output is streamed: what the last-level cache can be expected to hold. Asked once. */
size_t tpd_cpu_stream_from_bytes(void);
/* The whole plan in the calling thread. */
void tpd_cpu_run(const struct tpd_cpu_plan *plan);

#endif
