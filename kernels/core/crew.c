/* crew.c -- see crew.h. */
#include "transposed/crew.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

struct crew {
    void (*step)(void *self, uint32_t index);
    void *self;
    uint32_t count;
    atomic_uint next;
};

static void *take_steps(void *self) {
    struct crew *crew = self;
    for (uint32_t i; (i = atomic_fetch_add_explicit(&crew->next, 1, memory_order_relaxed)) < crew->count;)
        crew->step(crew->self, i);
    return NULL;
}

void tpd_crew_share(uint32_t threads, uint32_t count, void (*step)(void *self, uint32_t index), void *self) {
    struct crew crew = {.step = step, .self = self, .count = count};
    pthread_t helper[TPD_CREW_MOST];
    uint32_t helpers = 0, wanted = threads < count ? threads : count;
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGBUS); /* a mapped file that shrank: blocked, it would end the program without its handler */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's own */
    while (helpers + 1 < wanted && helpers + 1 < TPD_CREW_MOST && pthread_create(&helper[helpers], NULL, take_steps, &crew) == 0)
        helpers++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)take_steps(&crew);
    while (helpers > 0)
        (void)pthread_join(helper[--helpers], NULL);
}
