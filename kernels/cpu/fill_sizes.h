/* fill_sizes.h -- fill(block, size), inlined with each item size that is a power of two: one function each, and their list. */
static void fill_bytes_1(const struct tpd_cpu_block *block) {
    fill(block, 1);
}
static void fill_bytes_2(const struct tpd_cpu_block *block) {
    fill(block, 2);
}
static void fill_bytes_4(const struct tpd_cpu_block *block) {
    fill(block, 4);
}
static void fill_bytes_8(const struct tpd_cpu_block *block) {
    fill(block, 8);
}
static void fill_bytes_16(const struct tpd_cpu_block *block) {
    fill(block, 16);
}
#define FILL_SIZES \
    { fill_bytes_1, fill_bytes_2, fill_bytes_4, fill_bytes_8, fill_bytes_16 }
