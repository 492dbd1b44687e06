/* bench_copy.c -- see bench_copy.h. */
#include "server/cmd/bench_copy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "transposed/alloc.h"

enum {
    PIECE_BYTES = 1 << 20,   /* what a thread takes at a time: a slow one does not keep the others waiting long */
    ALONE_BYTES = 256 << 10, /* below, waking a thread takes longer than the copy, as the back end has it too */
    LINE = 64
};

struct tpd_copy_crew {
    uint32_t helpers;
    pthread_t *thread;
    pthread_mutex_t lock;
    pthread_cond_t begin, done;
    uint64_t round; /* of the work below; under lock */
    uint32_t busy;
    bool ends;
    unsigned char *to;
    const unsigned char *from;
    size_t bytes;
    bool past_caches;
    atomic_size_t next; /* piece that nobody has */
};

#if defined(__SSE2__)
/* Whole lines; what lies before the first and behind the last goes the ordinary way. */
static void stream(unsigned char *to, const unsigned char *from, size_t bytes) {
    size_t head = (LINE - ((uintptr_t)to & (LINE - 1))) & (LINE - 1);
    head = head < bytes ? head : bytes;
    memcpy(to, from, head);
    size_t at = head;
    for (; bytes - at >= LINE; at += LINE) {
        const __m128i *source = (const __m128i *)(const void *)(from + at);
        const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
        const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        __m128i *target = (__m128i *)(void *)(to + at);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
    memcpy(to + at, from + at, bytes - at);
    _mm_sfence();
}
#else
static void stream(unsigned char *to, const unsigned char *from, size_t bytes) {
    memcpy(to, from, bytes);
}
#endif

static void copy(unsigned char *to, const unsigned char *from, size_t bytes, bool past_caches) {
    if (past_caches)
        stream(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

static void take_pieces(struct tpd_copy_crew *crew) {
    for (size_t at; (at = atomic_fetch_add(&crew->next, 1) * PIECE_BYTES) < crew->bytes;) {
        size_t left = crew->bytes - at;
        copy(crew->to + at, crew->from + at, left < PIECE_BYTES ? left : PIECE_BYTES, crew->past_caches);
    }
}

static void *help(void *context) {
    struct tpd_copy_crew *crew = context;
    uint64_t seen = 0;
    (void)pthread_mutex_lock(&crew->lock);
    for (;;) {
        while (crew->round == seen && !crew->ends)
            (void)pthread_cond_wait(&crew->begin, &crew->lock);
        if (crew->ends)
            break;
        seen = crew->round;
        (void)pthread_mutex_unlock(&crew->lock);
        take_pieces(crew);
        (void)pthread_mutex_lock(&crew->lock);
        if (--crew->busy == 0)
            (void)pthread_cond_signal(&crew->done);
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return NULL;
}

enum tpd_status tpd_copy_crew_create(uint32_t threads, struct tpd_copy_crew **result, struct tpd_error *error) {
    struct tpd_copy_crew *crew = tpd_alloc_zero(1, sizeof *crew);
    *result = NULL;
    if (crew != NULL)
        crew->thread = tpd_alloc_zero(threads, sizeof *crew->thread);
    if (crew == NULL || crew->thread == NULL) {
        tpd_free(crew);
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory for the threads that copy");
    }
    (void)pthread_mutex_init(&crew->lock, NULL);
    (void)pthread_cond_init(&crew->begin, NULL);
    (void)pthread_cond_init(&crew->done, NULL);
    while (crew->helpers + 1 < threads) {
        if (pthread_create(&crew->thread[crew->helpers], NULL, help, crew) != 0) {
            tpd_copy_crew_destroy(crew);
            return tpd_fail(error, TPD_NO_MEMORY, "the system gave no thread to copy with");
        }
        crew->helpers++;
    }
    *result = crew;
    return TPD_OK;
}

void tpd_copy_crew_destroy(struct tpd_copy_crew *crew) {
    if (crew == NULL)
        return;
    (void)pthread_mutex_lock(&crew->lock);
    crew->ends = true;
    (void)pthread_cond_broadcast(&crew->begin);
    (void)pthread_mutex_unlock(&crew->lock);
    for (uint32_t i = 0; i < crew->helpers; i++)
        (void)pthread_join(crew->thread[i], NULL);
    (void)pthread_cond_destroy(&crew->done);
    (void)pthread_cond_destroy(&crew->begin);
    (void)pthread_mutex_destroy(&crew->lock);
    tpd_free(crew->thread);
    tpd_free(crew);
}

void tpd_copy_crew_run(struct tpd_copy_crew *crew, void *to, const void *from, size_t bytes, bool past_caches) {
    if (crew->helpers == 0 || bytes < ALONE_BYTES) {
        copy(to, from, bytes, past_caches);
        return;
    }
    (void)pthread_mutex_lock(&crew->lock);
    crew->to = to;
    crew->from = from;
    crew->bytes = bytes;
    crew->past_caches = past_caches;
    atomic_store(&crew->next, 0);
    crew->busy = crew->helpers;
    crew->round++;
    (void)pthread_cond_broadcast(&crew->begin);
    (void)pthread_mutex_unlock(&crew->lock);
    take_pieces(crew);
    (void)pthread_mutex_lock(&crew->lock);
    while (crew->busy != 0)
        (void)pthread_cond_wait(&crew->done, &crew->lock);
    (void)pthread_mutex_unlock(&crew->lock);
}
