/* table.h -- one big file of delimited text, transposed: mapped, cut in chunks for threads, written in pieces.
 *
 * Two readings of the text. The survey finds the shape and how many bytes each column has, chunk by chunk; so every cell's place
 * in the answer is known before one is moved. The second reading makes an index of each band of rows, has the CPU's back end
 * transpose it, and gathers the cells to their places. Where the answer is larger than the memory allowed, it is made in panels
 * of columns; each reads on where the one before stopped in a row, or, where rows are short, reads all of them again. A few long
 * rows may be made into the answer without knowing the columns' lengths. Owns:
 * nothing beyond a call. Threads: makes and joins its own. Ceiling: memory_bytes for the answer's panel, windows and tables.
 */
#ifndef TPD_TABLE_H
#define TPD_TABLE_H

#include "server/codec/delimited.h"

/* What is about to happen, once the shape is known. */
struct tpd_table_plan {
    uint64_t bytes;  /* of the text */
    uint32_t passes; /* over it, the survey not counted */
    double seconds;  /* by its own estimate, what is past included */
};

struct tpd_table_task {
    /* The text: a mapped part of a file, or (fd -1) bytes in memory, behind which lie TPD_TEXT_PAD zeros and then the filler. */
    int fd;
    uint64_t file_offset;
    const unsigned char *memory;
    uint64_t bytes;
    const struct tpd_table_options *options;
    unsigned char delimiter; /* unless the options say another */
    uint32_t threads;        /* TPD_CREW_MOST at most */
    uint64_t memory_bytes;
    uint64_t space_bytes;  /* the limit of address space that left no more than memory_bytes; 0: none did */
    uint64_t window_bytes; /* of the file, mapped at a time by each thread; no cell may be larger. 0: all of it, once */
    uint64_t chunk_bytes;  /* a thread's share of the text is cut no smaller */
    uint64_t panel_bytes;  /* of the answer of a wide table, made and written at a time. 0: all that the memory holds */
    uint64_t flow_bytes;   /* rows that long, and few of them, one thread makes into the answer without knowing how long its
                              rows are. 0: never */
    /* The answer's bytes, in order, from one thread at a time. */
    enum tpd_status (*write)(void *self, const void *bytes, size_t count, struct tpd_error *error);
    /* NULL: nobody wants to know. expect: before the first reading, when the answer does not fit in memory at once. progress:
     * of all readings together, from any thread. */
    void (*expect)(void *self, const struct tpd_table_plan *plan);
    void (*progress)(void *self, uint64_t done_bytes, uint64_t all_bytes);
    void *self;

    /* Filled. */
    uint64_t rows, cols; /* of the text */
    uint64_t answer_bytes;
    uint32_t passes;
    uint64_t survey_ns, fill_ns, write_ns;
};

enum tpd_status tpd_table_transpose(struct tpd_table_task *task, struct tpd_error *error) TPD_CHECKED;

#endif
