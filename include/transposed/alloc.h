/* alloc.h -- the one door to the heap for every floor.
 *
 * Replaceable, so that a test can make the Nth allocation fail and an embedder can count bytes.
 * Matrix data does not come from here: see struct tpd_memory in block.h.
 * Threads: tpd_alloc_use() before the first allocation; the rest from any thread.
 * Every function that allocates answers NULL when the system has no memory, or for a size whose
 * product overflows; the caller turns that into TPD_NO_MEMORY.
 */
#ifndef TRANSPOSED_ALLOC_H
#define TRANSPOSED_ALLOC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tpd_allocator {
    void *(*resize)(void *self, void *old, size_t bytes); /* old == NULL: a new one */
    void (*release)(void *self, void *pointer);           /* NULL is ignored */
    void *self;
};

/* Borrows allocator until the next call; NULL brings back malloc's family. */
void tpd_alloc_use(const struct tpd_allocator *allocator);

void *tpd_alloc(size_t bytes);                   /* returns owned; 0 bytes is a valid pointer */
void *tpd_alloc_zero(size_t count, size_t size); /* returns owned */
void *tpd_realloc(void *pointer, size_t bytes);  /* takes pointer when it succeeds */
char *tpd_strdup(const char *text);              /* returns owned */
void tpd_free(void *pointer);

#ifdef __cplusplus
}
#endif

#endif
