/* harness.c -- see harness.h. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "transposed/alloc.h"

enum { GUARD_BYTES = 256, GUARD = 0x5c, POISON = 0xa5 };

/* splitmix64 (Steele, Lea, Flood 2014): passes BigCrush and needs one word of state. */
uint64_t tpd_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void tpd_random_fill(void *memory, size_t bytes, uint64_t seed) {
    unsigned char *at = memory;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word = tpd_random(&seed);
        memcpy(at, &word, 8);
    }
    uint64_t word = tpd_random(&seed);
    if (bytes != 0)
        memcpy(at, &word, bytes);
}

struct tpd_guarded tpd_guarded_make(size_t bytes, size_t misalign) {
    struct tpd_guarded guarded = {.bytes = bytes};
    guarded.origin = malloc(bytes + 2 * GUARD_BYTES + 64 + misalign);
    if (guarded.origin == NULL)
        abort();
    uintptr_t start = ((uintptr_t)guarded.origin + GUARD_BYTES + 63) & ~(uintptr_t)63;
    guarded.data = guarded.origin + (start - (uintptr_t)guarded.origin) + misalign;
    memset(guarded.data - GUARD_BYTES, GUARD, GUARD_BYTES);
    memset(guarded.data, POISON, bytes);
    memset(guarded.data + bytes, GUARD, GUARD_BYTES - 64);
    return guarded;
}

void tpd_guarded_check(const struct tpd_guarded *guarded) {
    for (size_t i = 1; i <= GUARD_BYTES; i++)
        if (guarded->data[-(ptrdiff_t)i] != GUARD) /* an assert per byte would cost a system call each */
            ck_abort_msg("byte %zu before the buffer was written", i);
    for (size_t i = 0; i < GUARD_BYTES - 64; i++)
        if (guarded->data[guarded->bytes + i] != GUARD)
            ck_abort_msg("byte %zu after the buffer was written", i);
}

void tpd_guarded_free(struct tpd_guarded *guarded) {
    free(guarded->origin);
    memset(guarded, 0, sizeof *guarded);
}

static uint64_t heap_nth, heap_count;
static int64_t heap_held;
static int heap_failed;

static void *counting_resize(void *self, void *old, size_t bytes) {
    (void)self;
    uint64_t at = __atomic_add_fetch(&heap_count, 1, __ATOMIC_RELAXED);
    if (heap_nth != 0 && at >= heap_nth) {
        __atomic_store_n(&heap_failed, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    void *pointer = realloc(old, bytes);
    if (pointer != NULL && old == NULL)
        __atomic_add_fetch(&heap_held, 1, __ATOMIC_RELAXED);
    return pointer;
}

static void counting_release(void *self, void *pointer) {
    (void)self;
    free(pointer);
    __atomic_sub_fetch(&heap_held, 1, __ATOMIC_RELAXED);
}

static const struct tpd_allocator counting = {counting_resize, counting_release, NULL};

void tpd_heap_begin(uint64_t nth) {
    heap_nth = nth;
    heap_count = 0;
    heap_held = 0;
    heap_failed = 0;
    tpd_alloc_use(&counting);
}

int tpd_heap_end(void) {
    tpd_alloc_use(NULL);
    ck_assert_msg(heap_held == 0, "%lld blocks are still held", (long long)heap_held);
    return heap_failed;
}

int tpd_harness_main(Suite *suite) {
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
