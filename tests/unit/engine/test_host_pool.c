/* test_host_pool.c -- the budget, the recycling and the shape of blocks. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/engine/engine_rig.h"
#include "transposed/alloc.h"

static struct tpd_error error;

static struct tpd_host_pool *make(uint64_t budget_bytes, const struct tpd_backend *pinning) {
    struct tpd_host_pool *pool;
    ck_assert_ok(tpd_host_pool_create(budget_bytes, pinning, &pool, &error), error);
    return pool;
}

static struct tpd_block take(struct tpd_host_pool *pool, size_t bytes) {
    struct tpd_block block;
    ck_assert_ok(tpd_block_acquire(tpd_host_pool_memory(pool), bytes, &block, &error), error);
    return block;
}

static struct tpd_host_pool_counts counts_of(struct tpd_host_pool *pool) {
    struct tpd_host_pool_counts counts;
    tpd_host_pool_counts(pool, &counts);
    return counts;
}

/* Every byte from the headroom to the capacity is the holder's, at every size round a class's ends. */
START_TEST(blocks_are_whole) {
    struct tpd_host_pool *pool = make((uint64_t)1 << 30, NULL);
    for (size_t power = 1; power <= (size_t)8 << 20; power *= 2)
        for (size_t bytes = power - 1; bytes <= power + 1; bytes++) {
            struct tpd_block block = take(pool, bytes);
            ck_assert_uint_eq(block.bytes, bytes);
            ck_assert_uint_ge(block.capacity_bytes, bytes);
            ck_assert_uint_le(block.capacity_bytes, bytes <= 2048 ? 2048 + 256 : bytes + bytes / 8 + 1);
            ck_assert_uint_eq((uintptr_t)block.data % TPD_BLOCK_ALIGNMENT, 0);
            memset(block.data - TPD_BLOCK_HEADROOM, 0xff, TPD_BLOCK_HEADROOM);
            memset(block.data, 0xff, block.capacity_bytes);
            ck_assert_uint_eq(counts_of(pool).used_bytes, bytes);
            tpd_block_release(&block);
        }
    ck_assert_uint_eq(counts_of(pool).used_bytes, 0);
    tpd_host_pool_destroy(pool);
}
END_TEST

START_TEST(last_freed_comes_first) {
    struct tpd_host_pool *pool = make(64 << 20, NULL);
    const size_t sizes[] = {4096, 100000, 3 << 20};
    for (int i = 0; i < 3; i++) {
        struct tpd_block a = take(pool, sizes[i]), b = take(pool, sizes[i] - 1);
        unsigned char *first = a.data, *second = b.data;
        ck_assert_ptr_ne(first, second);
        tpd_block_release(&a);
        tpd_block_release(&b);
        a = take(pool, sizes[i] - 5);
        b = take(pool, sizes[i]);
        ck_assert_ptr_eq(a.data, second);
        ck_assert_ptr_eq(b.data, first);
        tpd_block_release(&a);
        tpd_block_release(&b);
    }
    tpd_host_pool_destroy(pool);
}
END_TEST

START_TEST(budget_is_kept) {
    struct tpd_host_pool *pool = make(1000000, NULL);
    struct tpd_block a = take(pool, 600000), b;
    ck_assert_int_eq(tpd_block_acquire(tpd_host_pool_memory(pool), 400001, &b, &error), TPD_MEMORY_FULL);
    ck_assert_ptr_null(b.data);
    ck_assert_uint_eq(error.limit, 1000000);
    ck_assert_uint_eq(error.actual, 1000001);
    ck_assert_ptr_nonnull(strstr(error.text, "host_memory_bytes=1000000"));
    ck_assert_ptr_nonnull(strstr(error.text, "600000 of"));
    b = take(pool, 400000);
    tpd_block_release(&a);
    tpd_block_release(&b);
    ck_assert_int_eq(tpd_block_acquire(tpd_host_pool_memory(pool), 1000001, &b, &error), TPD_TOO_LARGE);
    ck_assert_uint_eq(error.limit, 1000000);
    ck_assert_uint_eq(error.actual, 1000001);
    ck_assert_int_eq(tpd_block_acquire(tpd_host_pool_memory(pool), SIZE_MAX - 3, &b, &error), TPD_TOO_LARGE);
    a = take(pool, 1000000);
    tpd_block_release(&a);
    tpd_host_pool_destroy(pool);
    pool = make(UINT64_MAX, NULL);
    ck_assert_int_eq(tpd_block_acquire(tpd_host_pool_memory(pool), SIZE_MAX - 3, &b, &error), TPD_TOO_LARGE);
    ck_assert_int_eq(tpd_block_acquire(tpd_host_pool_memory(pool), (size_t)1 << 61, &b, &error), TPD_NO_MEMORY);
    ck_assert_uint_eq(counts_of(pool).used_bytes, 0);
    tpd_host_pool_destroy(pool);
}
END_TEST

/* Idle blocks make room, the one idle for longest first, and together with the used ones never exceed the budget. */
START_TEST(oldest_idle_goes_first) {
    struct tpd_host_pool *pool = make(1 << 20, NULL);
    struct tpd_block a = take(pool, 256 << 10), b = take(pool, 320 << 10), c;
    unsigned char *kept = b.data;
    tpd_block_release(&a);
    tpd_block_release(&b);
    ck_assert_uint_eq(counts_of(pool).cached_bytes, 576 << 10);
    c = take(pool, 512 << 10);
    ck_assert_uint_eq(counts_of(pool).cached_bytes, 320 << 10); /* a is gone, b is enough */
    b = take(pool, 320 << 10);
    ck_assert_ptr_eq(b.data, kept);
    ck_assert_uint_eq(counts_of(pool).cached_bytes, 0);
    tpd_block_release(&b);
    tpd_block_release(&c);
    ck_assert_uint_eq(counts_of(pool).cached_bytes, 832 << 10);
    uint64_t state = 7;
    for (int i = 0; i < 2000; i++) {
        struct tpd_block held = take(pool, (size_t)(tpd_random(&state) % (1 << 20)));
        struct tpd_host_pool_counts counts = counts_of(pool);
        ck_assert_uint_le(counts.used_bytes + counts.cached_bytes, 1 << 20);
        tpd_block_release(&held);
        counts = counts_of(pool);
        ck_assert_uint_le(counts.used_bytes + counts.cached_bytes, 1 << 20);
    }
    tpd_host_pool_destroy(pool);
}
END_TEST

START_TEST(no_memory_gives_the_charge_back) {
    struct tpd_host_pool *pool = make(1 << 20, NULL);
    struct tpd_block a = take(pool, 1000), b;
    tpd_block_release(&a);
    ck_assert_uint_ne(counts_of(pool).cached_bytes, 0);
    tpd_heap_begin(1);
    ck_assert_int_eq(tpd_block_acquire(tpd_host_pool_memory(pool), 5000, &b, &error), TPD_NO_MEMORY);
    tpd_alloc_use(NULL);
    ck_assert_uint_eq(counts_of(pool).used_bytes, 0);
    ck_assert_uint_eq(counts_of(pool).cached_bytes, 0); /* the idle ones were given up before it failed */
    tpd_host_pool_destroy(pool);
}
END_TEST

START_TEST(pinned_where_there_is_a_gpu) {
    struct tpd_host_pool *pool = make(16 << 20, &rig_gpu_table);
    struct tpd_block small = take(pool, 4096), large = take(pool, 4 << 20);
    ck_assert(!small.pinned);
    ck_assert(large.pinned);
    ck_assert_int_eq(atomic_load(&rig_pinned), 1);
    ck_assert_uint_eq(counts_of(pool).pinned_bytes, 4 << 20);
    tpd_block_release(&large);
    ck_assert_uint_eq(counts_of(pool).pinned_bytes, 4 << 20);
    large = take(pool, 14 << 20); /* pushes the idle one out */
    ck_assert_uint_eq(counts_of(pool).pinned_bytes, 14 << 20);
    ck_assert_int_eq(atomic_load(&rig_pinned), 1);
    tpd_block_release(&large);
    tpd_block_release(&small);
    tpd_host_pool_destroy(pool);
    ck_assert_int_eq(atomic_load(&rig_pinned), 0);
}
END_TEST

/* Growing keeps what was there and leaves one charge. */
START_TEST(grow_moves) {
    struct tpd_host_pool *pool = make(64 << 20, NULL);
    struct tpd_block block = take(pool, 1000);
    unsigned char expected[1000];
    tpd_random_fill(expected, sizeof expected, 3);
    memcpy(block.data, expected, sizeof expected);
    ck_assert_ok(tpd_block_grow(&block, 3 << 20, &error), error);
    ck_assert_int_eq(memcmp(block.data, expected, sizeof expected), 0);
    ck_assert_uint_eq(counts_of(pool).used_bytes, 3 << 20);
    tpd_block_release(&block);
    tpd_host_pool_destroy(pool);
}
END_TEST

struct hammer {
    struct tpd_memory *memory;
    uint64_t seed;
    int refused;
};

static void *hammer_main(void *argument) {
    struct hammer *hammer = argument;
    for (int i = 0; i < 400; i++) {
        size_t bytes = (size_t)(tpd_random(&hammer->seed) % (i % 16 == 0 ? 3 << 20 : 70000));
        struct tpd_block block;
        enum tpd_status status = tpd_block_acquire(hammer->memory, bytes, &block, NULL);
        if (status != TPD_OK) {
            hammer->refused += status != TPD_MEMORY_FULL ? 1000000 : 1;
            continue;
        }
        unsigned char mark = (unsigned char)hammer->seed;
        memset(block.data, mark, bytes);
        for (size_t at = 0; at < bytes; at += 997)
            hammer->refused += block.data[at] != mark ? 1000000 : 0;
        tpd_block_release(&block);
    }
    return NULL;
}

START_TEST(threads_share_it) {
    enum { THREADS = 8 };
    struct tpd_host_pool *pool = make(8 << 20, NULL);
    pthread_t threads[THREADS];
    struct hammer hammers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        hammers[i] = (struct hammer){tpd_host_pool_memory(pool), (uint64_t)i + 1, 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer_main, &hammers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        ck_assert_int_lt(hammers[i].refused, 1000000);
    }
    ck_assert_uint_eq(counts_of(pool).used_bytes, 0);
    ck_assert_uint_le(counts_of(pool).cached_bytes, 8 << 20);
    tpd_host_pool_destroy(pool);
}
END_TEST

START_TEST(default_is_part_of_the_machine) {
    uint64_t bytes = tpd_host_memory_default();
    ck_assert_uint_gt(bytes, 1 << 20);
    ck_assert_uint_le(bytes, (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2);
}
END_TEST

/* What the kernel was told of the mapping that holds data: "hg" huge pages wanted, "nh" not; false where it does not say. */
static bool flags_of(const unsigned char *data, char *flags, size_t room) {
    char line[512];
    bool inside = false, found = false;
    FILE *file = fopen("/proc/self/smaps", "re");
    while (!found && file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            inside = (uintptr_t)data >= from && (uintptr_t)data < to;
        found = inside && strncmp(line, "VmFlags:", 8) == 0;
    }
    if (found)
        (void)snprintf(flags, room, "%s", line);
    if (file != NULL)
        (void)fclose(file);
    return found;
}

START_TEST(huge_pages_are_asked_for) {
    char flags[512];
    struct tpd_host_pool *pool = make(64 << 20, NULL);
    struct tpd_block with = take(pool, 8 << 20), without;
    tpd_host_pool_huge_pages(pool, false);
    without = take(pool, 8 << 20);
    memset(without.data, 1, without.bytes);
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) == 0 && flags_of(with.data, flags, sizeof flags)) {
        ck_assert_msg(strstr(flags, " hg") != NULL && strstr(flags, " nh") == NULL, "%s", flags);
        ck_assert(flags_of(without.data, flags, sizeof flags));
        ck_assert_msg(strstr(flags, " hg") == NULL && strstr(flags, " nh") != NULL, "%s", flags);
    }
    tpd_block_release(&with);
    tpd_block_release(&without);
    tpd_host_pool_destroy(pool);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("host_pool");
    TCase *tests = tcase_create("host_pool");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, rig_reset, NULL);
    tcase_add_test(tests, blocks_are_whole);
    tcase_add_test(tests, last_freed_comes_first);
    tcase_add_test(tests, budget_is_kept);
    tcase_add_test(tests, oldest_idle_goes_first);
    tcase_add_test(tests, no_memory_gives_the_charge_back);
    tcase_add_test(tests, pinned_where_there_is_a_gpu);
    tcase_add_test(tests, grow_moves);
    tcase_add_test(tests, huge_pages_are_asked_for);
    tcase_add_test(tests, threads_share_it);
    tcase_add_test(tests, default_is_part_of_the_machine);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
