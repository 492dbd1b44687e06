/* prove_cpu.c -- the CPU back end's inner loops against the oracle, without Check: for a processor that this machine only
 * emulates, where nothing but a C library is to be had. Answers 0 when all is right; prints what is not.
 *
 * Random bytes, every remainder of a register block, several blocks, pieces and batches; bases and outputs off every boundary;
 * 64 bytes round the output must stay as they were.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "transposed/transposed.h"

enum { ROOM = 3 << 20, GUARD = 64 };

static unsigned char in[ROOM + 2 * GUARD], expected[ROOM];
static _Alignas(TPD_CPU_LINE) unsigned char out[ROOM + 3 * GUARD];
static _Alignas(TPD_CPU_LINE) unsigned char tiles[2][TPD_CPU_TILE_MOST];
static unsigned long proofs, failures;

static void prove(const struct tpd_cpu_ops *ops, struct tpd_matrix matrix, size_t in_at, size_t out_at, size_t stream_from_bytes,
                  size_t tile_bytes) {
    const struct tpd_cpu_limits limits = {stream_from_bytes, tile_bytes, 2};
    const size_t bytes = (size_t)(matrix.rows * matrix.cols * matrix.batch * matrix.itemsize);
    const size_t from = GUARD + out_at, to = from + bytes;
    struct tpd_cpu_worker worker = {.tile = {tiles[0], tiles[1]}};
    struct tpd_cpu_plan plan;
    if (bytes > ROOM)
        return;
    tpd_transpose_ref(&matrix, in + in_at, expected);
    memset(out, 0xa5, to + GUARD);
    tpd_cpu_plan(&plan, ops, &matrix, in + in_at, out + from, &limits);
    tpd_cpu_run(&plan, &worker);
    bool right = memcmp(out + from, expected, bytes) == 0;
    for (size_t i = 0; i < from; i++)
        right = right && out[i] == 0xa5;
    for (size_t i = to; i < to + GUARD; i++)
        right = right && out[i] == 0xa5;
    proofs++;
    failures += !right;
    if (!right && failures < 20)
        printf("%s: %lu x %lu x %lu of %u bytes, in + %zu, out + %zu, stream %zu, tile %zu: wrong\n", ops->name,
               (unsigned long)matrix.batch, (unsigned long)matrix.rows, (unsigned long)matrix.cols, (unsigned)matrix.itemsize,
               in_at, out_at, stream_from_bytes, tile_bytes);
}

static void prove_all(const struct tpd_cpu_ops *ops, struct tpd_matrix matrix, size_t in_at, size_t out_at) {
    prove(ops, matrix, in_at, out_at, SIZE_MAX, TPD_CPU_TILE_LEAST);
    prove(ops, matrix, in_at, out_at, 0, TPD_CPU_TILE_LEAST);
    prove(ops, matrix, in_at, out_at, 0, TPD_CPU_TILE_MOST);
}

int main(void) {
    static const uint32_t sizes[] = {1, 2, 4, 8, 16, 3, 5, 7, 12, 15, 24};
    const struct tpd_cpu_ops *const list[] = {tpd_cpu_ops(), &tpd_cpu_portable};
    uint64_t word = 88172645463325252u;
    for (size_t i = 0; i < sizeof in; i++) {
        word ^= word << 13, word ^= word >> 7, word ^= word << 17;
        in[i] = (unsigned char)word;
    }
    for (size_t k = 0; k < sizeof list / sizeof *list; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct tpd_matrix matrix = {.batch = 1, .itemsize = sizes[s]};
            for (matrix.rows = 1; matrix.rows <= 35; matrix.rows += matrix.rows < 20 ? 1 : 5)
                for (matrix.cols = 1; matrix.cols <= 35; matrix.cols += matrix.cols < 20 ? 1 : 5)
                    prove_all(list[k], matrix, matrix.rows % 17, matrix.cols % 13);
            prove_all(list[k], (struct tpd_matrix){700, 97, 1, sizes[s], TPD_DTYPE_OPAQUE}, 0, 0);
            prove_all(list[k], (struct tpd_matrix){1088, 1100, 1, sizes[s], TPD_DTYPE_OPAQUE}, 3, 0); /* gathered, if small */
            prove_all(list[k], (struct tpd_matrix){1301, 33, 1, sizes[s], TPD_DTYPE_OPAQUE}, 3, 5);
            prove_all(list[k], (struct tpd_matrix){3, 5003, 1, sizes[s], TPD_DTYPE_OPAQUE}, 1, 0);
            prove_all(list[k], (struct tpd_matrix){5003, 3, 1, sizes[s], TPD_DTYPE_OPAQUE}, 0, 1);
            prove_all(list[k], (struct tpd_matrix){9, 11, 101, sizes[s], TPD_DTYPE_OPAQUE}, 2, 7);
            prove_all(list[k], (struct tpd_matrix){1, 4097, 3, sizes[s], TPD_DTYPE_OPAQUE}, 2, 7);
        }
    printf("%s: %lu proofs, %lu wrong\n", list[0]->name, proofs, failures);
    return failures != 0;
}
