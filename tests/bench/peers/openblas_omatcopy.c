/* openblas_omatcopy.c -- OpenBLAS's omatcopy as rows of `transposed bench`.
 *
 * It works on one thread whatever it is given: a row with more says what it makes of them, and its copy has that many. Items of
 * 4, 8 and 16 bytes go as float, double and complex double; there is none of 1 or 2 bytes, and a batch is a loop. It computes
 * with items: data are finite numbers.
 */
#include <cblas.h>
#include <string.h>
#include <sys/mman.h>

#include "peer_rows.h"
#include "server/cmd/bench_host.h"
#include "transposed/clock.h"

static struct {
    struct peer_cell cell;
    unsigned char *in, *out;
    struct tpd_copy_crew *crew;
} blas;

static const char *open_blas(char *device_name) {
    (void)strncat(device_name, openblas_get_config(), 100);
    return NULL;
}

static const char *prepare(const struct peer_cell *cell) {
    if (cell->itemsize < 4)
        return "omatcopy has nothing for items of 1 and 2 bytes";
    void *memory = mmap(NULL, 2 * cell->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return "the system gave no memory";
    (void)madvise(memory, 2 * cell->bytes, MADV_HUGEPAGE);
    blas.cell = *cell;
    blas.in = memory;
    blas.out = blas.in + cell->bytes;
    if (tpd_copy_crew_create(cell->threads, &blas.crew, NULL) != TPD_OK)
        return "the system gave no threads";
    /* Sign and fraction free, the exponent such that floats as doubles are neither zero nor subnormal, infinite or NaN. */
    for (uint64_t at = 0; at < cell->bytes; at += sizeof(uint32_t)) {
        uint32_t word = (uint32_t)((at + 1) * 0x9e3779b97f4a7c15u >> 32);
        word = (word & ~0x40000000u) | 0x20000000u;
        memcpy(blas.in + at, &word, sizeof word);
    }
    memset(blas.out, 0xa5, cell->bytes);
    return NULL;
}

static void transpose_once(void) {
    const blasint rows = (blasint)blas.cell.rows, cols = (blasint)blas.cell.cols;
    const double one[2] = {1, 0};
    const size_t bytes = (size_t)(blas.cell.bytes / blas.cell.batch);
    for (uint64_t n = 0; n < blas.cell.batch; n++) {
        void *in = blas.in + n * bytes, *out = blas.out + n * bytes;
        if (blas.cell.itemsize == 4)
            cblas_somatcopy(CblasRowMajor, CblasTrans, rows, cols, 1, in, cols, out, rows);
        else if (blas.cell.itemsize == 8)
            cblas_domatcopy(CblasRowMajor, CblasTrans, rows, cols, 1, in, cols, out, rows);
        else
            cblas_zomatcopy(CblasRowMajor, CblasTrans, rows, cols, one, in, cols, out, rows);
    }
}

static bool is_right(void) {
    const struct tpd_matrix matrix = {blas.cell.rows, blas.cell.cols, blas.cell.batch, blas.cell.itemsize, TPD_DTYPE_OPAQUE};
    transpose_once();
    return tpd_bench_count_wrong(&matrix, blas.in, blas.out) == 0;
}

static double transpose(void) {
    uint64_t begin = tpd_clock_ns();
    for (uint32_t i = 0; i < blas.cell.burst; i++)
        transpose_once();
    return (double)(tpd_clock_ns() - begin) / 1e9 / blas.cell.burst;
}

static double copy(void) {
    uint64_t begin = tpd_clock_ns();
    for (uint32_t i = 0; i < blas.cell.burst; i++)
        tpd_copy_crew_run(blas.crew, blas.out, blas.in, blas.cell.bytes, true);
    return (double)(tpd_clock_ns() - begin) / 1e9 / blas.cell.burst;
}

static void release(void) {
    if (blas.in != NULL)
        (void)munmap(blas.in, 2 * blas.cell.bytes);
    tpd_copy_crew_destroy(blas.crew);
    blas.in = NULL;
    blas.crew = NULL;
}

int main(int argc, char **argv) {
    const struct peer omatcopy = {
        .name = "openblas",
        .reference = "non-temporal stores, as many threads, in turns with the transpose",
        .device = "cpu",
        .open = open_blas,
        .prepare = prepare,
        .is_right = is_right,
        .transpose = transpose,
        .copy = copy,
        .release = release,
    };
    return peer_main(argc, argv, &omatcopy);
}
