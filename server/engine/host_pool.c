/* host_pool.c -- blocks by size class. A freed block waits for the next request of its class, the one used last first
 * (its pages are warm); the one idle for longest is the first to go when budget is needed. */
#include "server/engine/host_pool.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "transposed/alloc.h"

enum {
    CLASS_COUNT = 8 * 54,       /* up to 2^63 bytes: see class_of() */
    SLAB_OVERHEAD_BYTES = 1024, /* the slab, the headroom, and what alignment may cost */
    MAPPED_LEAST = 2 << 20,     /* from here on a block is its own mapping: huge pages, and given back whole */
    PINNED_LEAST = 64 << 10,    /* below, a device stages a copy itself as fast as it reads page-locked memory */
    HUGE_BYTES = 2 << 20,
    MAP_ROUND_BYTES = 64 << 10 /* a multiple of every page size in use */
};

enum kind { KIND_HEAP, KIND_MAPPED, KIND_PINNED };

/* At the start of its own memory. */
struct slab {
    struct slab *next, *prev;   /* idle blocks of the class */
    struct slab *newer, *older; /* idle blocks of all classes */
    size_t capacity_bytes, whole_bytes;
    size_t charged_bytes; /* what the holder asked for */
    uint32_t class_index;
    enum kind kind;
};
_Static_assert(sizeof(struct slab) + TPD_BLOCK_HEADROOM + TPD_BLOCK_ALIGNMENT <= SLAB_OVERHEAD_BYTES, "a slab fits its overhead");

struct tpd_host_pool {
    struct tpd_memory memory; /* first: a struct tpd_memory * is a struct tpd_host_pool * */
    const struct tpd_backend *pinning;
    uint64_t budget_bytes;
    bool huge_pages;
    pthread_mutex_t lock; /* guards all below */
    uint64_t used_bytes;  /* charged: blocks that are out, and what is set aside for more of them */
    uint64_t given_bytes; /* blocks that are out, by what was asked for */
    uint64_t cached_bytes, pinned_bytes;
    struct slab *idle[CLASS_COUNT];
    struct slab *newest, *oldest;
};

/* Multiples of 256 up to 2048, then eight steps a doubling. */
static uint32_t class_of(size_t bytes, size_t *capacity_bytes) {
    if (bytes <= 2048) {
        uint32_t step = bytes == 0 ? 0 : (uint32_t)(bytes - 1) / 256;
        *capacity_bytes = ((size_t)step + 1) * 256;
        return step;
    }
    uint32_t exponent = 63 - (uint32_t)__builtin_clzll(bytes - 1); /* 11 and up */
    size_t step = (bytes - 1) >> (exponent - 3);                   /* 8 .. 15 */
    *capacity_bytes = (step + 1) << (exponent - 3);
    return 8 * (exponent - 10) + (uint32_t)step - 8;
}

static void *map(size_t whole_bytes, bool huge_pages) {
    unsigned char *wide = mmap(NULL, whole_bytes + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (wide == MAP_FAILED)
        return NULL;
    /* Start on a huge page: older kernels place a mapping on any page and lose the first and last 2 MiB to small ones. */
    size_t head = (HUGE_BYTES - ((uintptr_t)wide & (HUGE_BYTES - 1))) & (HUGE_BYTES - 1);
    if (head != 0)
        (void)munmap(wide, head);
    if (head != HUGE_BYTES)
        (void)munmap(wide + head + whole_bytes, HUGE_BYTES - head);
    /* A kernel without huge pages works, more slowly; one that gives them to everybody is told when they are not wanted. */
    (void)madvise(wide + head, whole_bytes, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return wide + head;
}

static struct slab *slab_make(const struct tpd_host_pool *pool, size_t capacity_bytes) {
    size_t whole_bytes = capacity_bytes + SLAB_OVERHEAD_BYTES;
    struct slab *slab = NULL;
    enum kind kind = KIND_HEAP;
    if (pool->pinning != NULL && capacity_bytes >= PINNED_LEAST) {
        slab = pool->pinning->host_alloc(whole_bytes);
        kind = KIND_PINNED;
    }
    if (slab == NULL && capacity_bytes >= MAPPED_LEAST) {
        whole_bytes = (whole_bytes + MAP_ROUND_BYTES - 1) & ~(size_t)(MAP_ROUND_BYTES - 1);
        slab = map(whole_bytes, pool->huge_pages);
        kind = KIND_MAPPED;
    }
    if (slab == NULL && capacity_bytes < MAPPED_LEAST) {
        slab = tpd_alloc(whole_bytes);
        kind = KIND_HEAP;
    }
    if (slab == NULL)
        return NULL;
    memset(slab, 0, sizeof *slab);
    slab->capacity_bytes = capacity_bytes;
    slab->whole_bytes = whole_bytes;
    slab->kind = kind;
    return slab;
}

/* A list linked by `next`. */
static void slabs_free(const struct tpd_host_pool *pool, struct slab *slab) {
    while (slab != NULL) {
        struct slab *next = slab->next;
        if (slab->kind == KIND_PINNED)
            pool->pinning->host_free(slab, slab->whole_bytes);
        else if (slab->kind == KIND_MAPPED)
            (void)munmap(slab, slab->whole_bytes);
        else
            tpd_free(slab);
        slab = next;
    }
}

static void idle_add(struct tpd_host_pool *pool, struct slab *slab) {
    slab->prev = NULL;
    slab->next = pool->idle[slab->class_index];
    if (slab->next != NULL)
        slab->next->prev = slab;
    pool->idle[slab->class_index] = slab;
    slab->newer = NULL;
    slab->older = pool->newest;
    if (slab->older != NULL)
        slab->older->newer = slab;
    else
        pool->oldest = slab;
    pool->newest = slab;
    pool->cached_bytes += slab->capacity_bytes;
}

static void idle_remove(struct tpd_host_pool *pool, struct slab *slab) {
    if (slab->prev != NULL)
        slab->prev->next = slab->next;
    else
        pool->idle[slab->class_index] = slab->next;
    if (slab->next != NULL)
        slab->next->prev = slab->prev;
    if (slab->newer != NULL)
        slab->newer->older = slab->older;
    else
        pool->newest = slab->older;
    if (slab->older != NULL)
        slab->older->newer = slab->newer;
    else
        pool->oldest = slab->newer;
    pool->cached_bytes -= slab->capacity_bytes;
}

/* Takes idle blocks out until given and idle ones fit in `most`; the caller frees the list once the lock is off. */
static struct slab *trim(struct tpd_host_pool *pool, uint64_t most) {
    struct slab *victims = NULL;
    while (pool->oldest != NULL && pool->given_bytes + pool->cached_bytes > most) {
        struct slab *victim = pool->oldest;
        idle_remove(pool, victim);
        if (victim->kind == KIND_PINNED)
            pool->pinned_bytes -= victim->capacity_bytes;
        victim->next = victims;
        victims = victim;
    }
    return victims;
}

static void give(struct tpd_host_pool *pool, struct slab *slab, size_t bytes, struct tpd_block *block) {
    uintptr_t start = (uintptr_t)slab + sizeof *slab + TPD_BLOCK_HEADROOM;
    size_t offset = (size_t)(((start + TPD_BLOCK_ALIGNMENT - 1) & ~(uintptr_t)(TPD_BLOCK_ALIGNMENT - 1)) - (uintptr_t)slab);
    slab->charged_bytes = bytes;
    block->data = (unsigned char *)slab + offset;
    block->bytes = bytes;
    block->capacity_bytes = slab->capacity_bytes;
    block->pinned = slab->kind == KIND_PINNED;
    block->memory = &pool->memory;
    block->origin = slab;
}

/* A new block for a charge that is already made; once more without the idle ones when the system has no more. */
static struct slab *slab_new(struct tpd_host_pool *pool, size_t capacity_bytes, uint32_t class_index) {
    struct slab *slab = slab_make(pool, capacity_bytes);
    if (slab == NULL) {
        (void)pthread_mutex_lock(&pool->lock);
        struct slab *victims = trim(pool, 0);
        (void)pthread_mutex_unlock(&pool->lock);
        if (victims == NULL)
            return NULL;
        slabs_free(pool, victims);
        slab = slab_make(pool, capacity_bytes);
    }
    if (slab != NULL)
        slab->class_index = class_index;
    return slab;
}

/* Under the lock. */
static bool charge(struct tpd_host_pool *pool, uint64_t charge_bytes, uint64_t *used_bytes) {
    *used_bytes = pool->used_bytes;
    if (charge_bytes > pool->budget_bytes - pool->used_bytes)
        return false;
    pool->used_bytes += charge_bytes;
    return true;
}

static enum tpd_status too_large(const struct tpd_host_pool *pool, uint64_t bytes, struct tpd_error *error) {
    return tpd_fail_limit(error, TPD_TOO_LARGE, pool->budget_bytes, bytes,
                          "the request would hold %" PRIu64 " bytes at once, more than host_memory_bytes=%" PRIu64
                          " could ever give: raise it or send less",
                          bytes, pool->budget_bytes);
}

static enum tpd_status memory_full(const struct tpd_host_pool *pool, uint64_t bytes, uint64_t used_bytes,
                                   struct tpd_error *error) {
    return tpd_fail_limit(error, TPD_MEMORY_FULL, pool->budget_bytes, used_bytes + bytes,
                          "%" PRIu64 " bytes don't fit: %" PRIu64 " of host_memory_bytes=%" PRIu64 " are taken; try again later",
                          bytes, used_bytes, pool->budget_bytes);
}

void tpd_host_pool_unreserve(struct tpd_host_pool *pool, uint64_t charge_bytes) {
    (void)pthread_mutex_lock(&pool->lock);
    pool->used_bytes -= charge_bytes;
    (void)pthread_mutex_unlock(&pool->lock);
}

enum tpd_status tpd_host_pool_take(struct tpd_host_pool *pool, size_t bytes, uint64_t charge_bytes, uint64_t own_bytes,
                                   struct tpd_block *block, struct tpd_error *error) {
    if (bytes > pool->budget_bytes || bytes > (size_t)INT64_MAX / 2)
        return too_large(pool, bytes, error);
    if (charge_bytes > pool->budget_bytes - own_bytes)
        return too_large(pool, charge_bytes + own_bytes, error);
    size_t capacity_bytes;
    uint64_t used_bytes;
    uint32_t class_index = class_of(bytes, &capacity_bytes);
    (void)pthread_mutex_lock(&pool->lock);
    if (!charge(pool, charge_bytes, &used_bytes)) {
        (void)pthread_mutex_unlock(&pool->lock);
        return memory_full(pool, charge_bytes, used_bytes, error);
    }
    pool->given_bytes += bytes;
    struct slab *victims = NULL, *slab = pool->idle[class_index];
    if (slab != NULL)
        idle_remove(pool, slab);
    else
        victims = trim(pool, pool->budget_bytes);
    (void)pthread_mutex_unlock(&pool->lock);
    slabs_free(pool, victims);
    bool is_new = slab == NULL;
    if (is_new)
        slab = slab_new(pool, capacity_bytes, class_index);
    if (slab == NULL || (is_new && slab->kind == KIND_PINNED)) {
        (void)pthread_mutex_lock(&pool->lock);
        if (slab != NULL) {
            pool->pinned_bytes += capacity_bytes;
        } else {
            pool->used_bytes -= charge_bytes;
            pool->given_bytes -= bytes;
        }
        (void)pthread_mutex_unlock(&pool->lock);
    }
    if (slab == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for %zu bytes of matrix; try again later", bytes);
    give(pool, slab, bytes, block);
    return TPD_OK;
}

/* uncharge: the block's bytes are free again, and not its holder's to use once more. */
static size_t put(struct tpd_host_pool *pool, struct tpd_block *block, bool uncharge) {
    struct slab *slab = block->origin;
    size_t bytes = slab->charged_bytes; /* another may have the slab as soon as the lock is off */
    (void)pthread_mutex_lock(&pool->lock);
    pool->given_bytes -= bytes;
    if (uncharge)
        pool->used_bytes -= bytes;
    idle_add(pool, slab);
    struct slab *victims = trim(pool, pool->budget_bytes);
    (void)pthread_mutex_unlock(&pool->lock);
    slabs_free(pool, victims);
    return bytes;
}

size_t tpd_host_pool_put(struct tpd_host_pool *pool, struct tpd_block *block) {
    return put(pool, block, false);
}

static enum tpd_status pool_acquire(struct tpd_memory *self, size_t bytes, struct tpd_block *block, struct tpd_error *error) {
    return tpd_host_pool_take((struct tpd_host_pool *)self, bytes, bytes, 0, block, error);
}

static void pool_release(struct tpd_memory *self, struct tpd_block *block) {
    (void)put((struct tpd_host_pool *)self, block, true);
}

uint64_t tpd_host_pool_budget(const struct tpd_host_pool *pool) {
    return pool->budget_bytes;
}

enum tpd_status tpd_host_pool_create(uint64_t budget_bytes, const struct tpd_backend *pinning, struct tpd_host_pool **pool,
                                     struct tpd_error *error) {
    struct tpd_host_pool *made = tpd_alloc_zero(1, sizeof *made);
    if (made == NULL || pthread_mutex_init(&made->lock, NULL) != 0) {
        tpd_free(made);
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for the host pool");
    }
    made->memory.acquire = pool_acquire;
    made->memory.release = pool_release;
    made->budget_bytes = budget_bytes;
    made->huge_pages = true;
    made->pinning = pinning != NULL && pinning->host_alloc != NULL ? pinning : NULL;
    *pool = made;
    return TPD_OK;
}

void tpd_host_pool_huge_pages(struct tpd_host_pool *pool, bool wanted) {
    pool->huge_pages = wanted;
}

void tpd_host_pool_destroy(struct tpd_host_pool *pool) {
    if (pool == NULL)
        return;
    slabs_free(pool, trim(pool, 0));
    (void)pthread_mutex_destroy(&pool->lock);
    tpd_free(pool);
}

struct tpd_memory *tpd_host_pool_memory(struct tpd_host_pool *pool) {
    return &pool->memory;
}

void tpd_host_pool_counts(struct tpd_host_pool *pool, struct tpd_host_pool_counts *counts) {
    (void)pthread_mutex_lock(&pool->lock);
    *counts = (struct tpd_host_pool_counts){pool->budget_bytes, pool->used_bytes, pool->cached_bytes, pool->pinned_bytes};
    (void)pthread_mutex_unlock(&pool->lock);
}
