/* test_alloc.c -- the door to the heap, and that it can be replaced. */
#include <stdint.h>
#include <string.h>

#include "harness.h"
#include "transposed/alloc.h"

START_TEST(gives_and_takes) {
    tpd_heap_begin(0);
    unsigned char *bytes = tpd_alloc(100);
    ck_assert_ptr_nonnull(bytes);
    memset(bytes, 7, 100);
    bytes = tpd_realloc(bytes, 100000);
    ck_assert_ptr_nonnull(bytes);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(bytes[i], 7);
    tpd_free(bytes);
    uint32_t *words = tpd_alloc_zero(33, 4);
    ck_assert_ptr_nonnull(words);
    for (int i = 0; i < 33; i++)
        ck_assert_uint_eq(words[i], 0);
    tpd_free(words);
    char *text = tpd_strdup("text");
    ck_assert_str_eq(text, "text");
    tpd_free(text);
    tpd_free(NULL);
    ck_assert_int_eq(tpd_heap_end(), 0);
}
END_TEST

START_TEST(nothing_is_something) {
    void *none = tpd_alloc(0);
    ck_assert_ptr_nonnull(none);
    none = tpd_realloc(none, 0);
    ck_assert_ptr_nonnull(none);
    tpd_free(none);
    void *zero = tpd_alloc_zero(0, 8);
    ck_assert_ptr_nonnull(zero);
    tpd_free(zero);
}
END_TEST

START_TEST(overflow_is_no_memory) {
    ck_assert_ptr_null(tpd_alloc_zero(SIZE_MAX / 2 + 1, 2));
    ck_assert_ptr_null(tpd_alloc_zero(2, SIZE_MAX / 2 + 1));
    ck_assert_ptr_null(tpd_alloc_zero(SIZE_MAX, SIZE_MAX));
}
END_TEST

START_TEST(failure_is_null) {
    tpd_heap_begin(1);
    ck_assert_ptr_null(tpd_alloc(1));
    ck_assert_ptr_null(tpd_alloc_zero(1, 1));
    ck_assert_ptr_null(tpd_strdup("x"));
    ck_assert_int_eq(tpd_heap_end(), 1);
    tpd_heap_begin(2);
    char *kept = tpd_strdup("kept");
    ck_assert_ptr_null(tpd_realloc(kept, 5000));
    ck_assert_str_eq(kept, "kept"); /* a realloc that fails leaves what there was */
    tpd_free(kept);
    ck_assert_int_eq(tpd_heap_end(), 1);
}
END_TEST

static Suite *suite(void) {
    Suite *all = suite_create("alloc");
    TCase *core = tcase_create("core");
    tcase_add_test(core, gives_and_takes);
    tcase_add_test(core, nothing_is_something);
    tcase_add_test(core, overflow_is_no_memory);
    tcase_add_test(core, failure_is_null);
    suite_add_tcase(all, core);
    return all;
}

int main(void) {
    return tpd_harness_main(suite());
}
