/* transpose_direct.c -- a piece whose output the cache holds: from registers to where it belongs. */
#include "kernels/cpu/cpu.h"

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Small matrices need no tile: everything is in the cache. fill() may write past its rows, into the next column's first ones:
 * it does these after, but another thread may have done them. So where rows are cut, those that are no whole vector go item by
 * item; where they are not, the last columns do, behind which comes the output's end. */
void tpd_cpu_piece_direct(const struct tpd_cpu_plan *plan, size_t index, struct tpd_cpu_worker *worker) {
    const struct tpd_cpu_part part = tpd_cpu_part(plan, index);
    const size_t size = plan->itemsize, pitch_out = plan->rows * size, pitch_in = plan->cols * size;
    const size_t exact = least(part.cols, (TPD_CPU_SLACK - 1) / pitch_out + 1), vector = plan->ops->vector_bytes / size;
    const size_t careful = plan->row_pieces == 1 && pitch_out % TPD_CPU_LINE != 0 ? exact : 0;
    const size_t loose = plan->row_pieces > 1 && vector > 1 ? part.rows % vector : 0;
    (void)worker;
    for (size_t matrix = part.first; matrix < part.end; matrix++) {
        struct tpd_cpu_block block = {
            .dst_pitch = pitch_out, .src_end = plan->in_end, .src_pitch = pitch_in, .rows = part.rows - loose, .itemsize = size};
        const unsigned char *in = plan->in + matrix * plan->cols * pitch_out + part.r * pitch_in;
        unsigned char *out = plan->out + matrix * plan->cols * pitch_out + part.r * size;
        const size_t end = part.c + part.cols - careful;
        for (size_t c = part.c; block.rows != 0 && c < end; c += plan->block_cols) {
            block.cols = least(plan->block_cols, end - c);
            block.src = in + c * size;
            block.dst = out + c * pitch_out;
            plan->fill(&block);
        }
        block.cols = careful != 0 ? careful : part.cols;
        block.src = in + (part.c + part.cols - block.cols) * size + (loose != 0 ? block.rows * pitch_in : 0);
        block.dst = out + (part.c + part.cols - block.cols) * pitch_out + (loose != 0 ? block.rows * size : 0);
        block.rows = loose != 0 ? loose : part.rows;
        if (careful != 0 || loose != 0)
            tpd_cpu_fill_any(&block);
    }
}
