/* alloc.c -- the door to the heap. Every request passes through resize(), so a test's allocator sees each one. */
#include "transposed/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *heap_resize(void *self, void *old, size_t bytes) {
    (void)self;
    return realloc(old, bytes);
}

static void heap_release(void *self, void *pointer) {
    (void)self;
    free(pointer);
}

static const struct tpd_allocator heap = {heap_resize, heap_release, NULL};
static const struct tpd_allocator *current = &heap;

void tpd_alloc_use(const struct tpd_allocator *allocator) {
    current = allocator != NULL ? allocator : &heap;
}

/* 0 bytes become 1: realloc(p, 0) may free, and NULL has to mean "no memory". */
void *tpd_realloc(void *pointer, size_t bytes) {
    return current->resize(current->self, pointer, bytes != 0 ? bytes : 1);
}

void *tpd_alloc(size_t bytes) {
    return tpd_realloc(NULL, bytes);
}

void *tpd_alloc_zero(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    void *pointer = tpd_alloc(bytes);
    if (pointer != NULL)
        memset(pointer, 0, bytes);
    return pointer;
}

char *tpd_strdup(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = tpd_alloc(bytes);
    if (copy != NULL)
        memcpy(copy, text, bytes);
    return copy;
}

void tpd_free(void *pointer) {
    if (pointer != NULL)
        current->release(current->self, pointer);
}
