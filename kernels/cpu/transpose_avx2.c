/* transpose_avx2.c -- the inner loops in AVX2 registers. Compiled with -mavx2, called only where the processor has it. */
#include "kernels/cpu/cpu.h"

#if defined(__x86_64__)

#include "kernels/cpu/registers_x86.h"

INLINE void fill(const struct tpd_cpu_block *block, size_t size) {
    if (size <= 4 && fill_narrow(block, size))
        return;
    if (block->rows <= 16 / size)
        fill_1(block, size);
    else
        fill_2(block, size);
}

#include "kernels/cpu/fill_sizes.h"

#include "kernels/cpu/fill_odd.h"

INLINE void line_out(unsigned char *dst, const unsigned char *src, bool stream) {
    const __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)src);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(src + 32));
    if (stream) {
        _mm256_stream_si256((__m256i *)(void *)dst, low);
        _mm256_stream_si256((__m256i *)(void *)(dst + 32), high);
    } else {
        _mm256_store_si256((__m256i *)(void *)dst, low);
        _mm256_store_si256((__m256i *)(void *)(dst + 32), high);
    }
}

#include "kernels/cpu/leave.h"

static void publish(void) {
    _mm_sfence();
}

const struct tpd_cpu_ops tpd_cpu_avx2 = {"avx2", 32, FILL_SIZES, fill_odd, leave, copy_lines, trade, publish};

#endif
