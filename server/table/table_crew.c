/* table_crew.c -- equal steps for a few threads. */
#include <pthread.h>
#include <signal.h>

#include "server/table/table_internal.h"

struct crew {
    struct tpd_table_work *work;
    tpd_crew_step *step;
    uint32_t count;
    atomic_uint next;
};

static void *take_steps(void *self) {
    struct crew *crew = self;
    for (uint32_t i; (i = atomic_fetch_add_explicit(&crew->next, 1, memory_order_relaxed)) < crew->count;)
        crew->step(crew->work, i);
    return NULL;
}

/* Fewer threads than wanted do the same work. */
void tpd_crew_run(struct tpd_table_work *work, uint32_t count, tpd_crew_step *step) {
    struct crew crew = {.work = work, .step = step, .count = count};
    pthread_t helper[TPD_TABLE_THREADS_MOST];
    uint32_t helpers = 0, wanted = work->task->threads < count ? work->task->threads : count;
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's own */
    while (helpers + 1 < wanted && helpers < TPD_TABLE_THREADS_MOST &&
           pthread_create(&helper[helpers], NULL, take_steps, &crew) == 0)
        helpers++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)take_steps(&crew);
    while (helpers > 0)
        (void)pthread_join(helper[--helpers], NULL);
}
