/* test_block.c -- big memory: alignment, headroom, growth, and what a failure leaves. */
#include <string.h>

#include "harness.h"
#include "transposed/block.h"

START_TEST(acquire_and_release) {
    struct tpd_error error;
    struct tpd_block block;
    tpd_heap_begin(0);
    for (size_t bytes = 0; bytes < 1000; bytes += 37) {
        memset(&block, 0xa5, sizeof block);
        ck_assert_ok(tpd_block_acquire(tpd_memory_heap(), bytes, &block, &error), error);
        ck_assert_uint_eq((uintptr_t)block.data % TPD_BLOCK_ALIGNMENT, 0);
        ck_assert_uint_eq(block.bytes, bytes);
        ck_assert_uint_ge(block.capacity_bytes, bytes);
        ck_assert(!block.pinned);
        memset(block.data - TPD_BLOCK_HEADROOM, 1, TPD_BLOCK_HEADROOM + block.capacity_bytes); /* the sanitizer watches */
        tpd_block_release(&block);
        ck_assert_ptr_null(block.data);
        ck_assert_uint_eq(block.bytes, 0);
        tpd_block_release(&block);
    }
    ck_assert_int_eq(tpd_heap_end(), 0);
}
END_TEST

START_TEST(grow_keeps) {
    struct tpd_error error;
    struct tpd_block block;
    tpd_heap_begin(0);
    ck_assert_ok(tpd_block_acquire(tpd_memory_heap(), 300, &block, &error), error);
    tpd_random_fill(block.data - TPD_BLOCK_HEADROOM, TPD_BLOCK_HEADROOM + 300, 5);
    unsigned char before[TPD_BLOCK_HEADROOM + 300];
    memcpy(before, block.data - TPD_BLOCK_HEADROOM, sizeof before);
    unsigned char *data = block.data;
    ck_assert_ok(tpd_block_grow(&block, 10, &error), error);
    ck_assert_ptr_eq(block.data, data);
    ck_assert_ok(tpd_block_grow(&block, 100000, &error), error);
    ck_assert_uint_ge(block.capacity_bytes, 100000);
    ck_assert_uint_eq(block.bytes, 300); /* in use: what it held */
    ck_assert_uint_eq((uintptr_t)block.data % TPD_BLOCK_ALIGNMENT, 0);
    ck_assert_int_eq(memcmp(before, block.data - TPD_BLOCK_HEADROOM, sizeof before), 0);
    tpd_block_release(&block);
    ck_assert_int_eq(tpd_heap_end(), 0);
}
END_TEST

START_TEST(failures) {
    struct tpd_error error;
    struct tpd_block block;
    ck_assert_int_eq(tpd_block_acquire(tpd_memory_heap(), SIZE_MAX, &block, &error), TPD_NO_MEMORY); /* wraps */
    ck_assert_ptr_null(block.data);
    tpd_heap_begin(2);
    ck_assert_ok(tpd_block_acquire(tpd_memory_heap(), 64, &block, &error), error);
    memset(block.data, 9, 64);
    struct tpd_block before = block;
    ck_assert_int_eq(tpd_block_grow(&block, 5000, &error), TPD_NO_MEMORY);
    ck_assert_int_eq(error.status, TPD_NO_MEMORY);
    ck_assert_ptr_eq(block.data, before.data);
    ck_assert_uint_eq(block.capacity_bytes, before.capacity_bytes);
    for (int i = 0; i < 64; i++)
        ck_assert_int_eq(block.data[i], 9);
    tpd_block_release(&block);
    ck_assert_int_eq(tpd_heap_end(), 1);
}
END_TEST

static Suite *suite(void) {
    Suite *all = suite_create("block");
    TCase *core = tcase_create("core");
    tcase_add_test(core, acquire_and_release);
    tcase_add_test(core, grow_keeps);
    tcase_add_test(core, failures);
    suite_add_tcase(all, core);
    return all;
}

int main(void) {
    return tpd_harness_main(suite());
}
