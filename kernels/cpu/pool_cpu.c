/* pool_cpu.c -- one pool of helper threads for every run of the process. See cpu.h.
 *
 * A run puts its work, which lives on its own stack, on a list; helpers take pieces of it by an atomic counter; so does the
 * caller. The caller leaves once the counter is past the end and no helper is inside. One mutex guards list and counts; it is
 * taken when somebody enters or leaves a work, never for a piece.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "kernels/cpu/cpu.h"
#include "transposed/alloc.h"

struct work {
    const struct tpd_cpu_plan *plan;
    atomic_size_t next; /* the first piece that nobody took */
    uint32_t helpers;   /* inside */
    uint32_t helpers_most;
    struct work *follows; /* on the list */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* helpers wait here for work */
    pthread_cond_t left; /* callers wait here for helpers to leave */
    struct work *works;
    uint32_t users, helpers; /* opens; threads started */
    atomic_uint threads;     /* the most that work at once */
    atomic_uint active;      /* callers and helpers at work */
    bool stop;
    pthread_t helper[TPD_CPU_THREADS_MOST];
    struct tpd_cpu_worker worker[TPD_CPU_THREADS_MOST];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

/* Opening, growing and ending are one at a time; apart from pool.lock, which the threads being joined need. */
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;

/* No room for one more, or, for a helper that is counted already, for itself. */
static bool crowded(uint32_t self) {
    return atomic_load_explicit(&pool.active, memory_order_relaxed) - self >=
           atomic_load_explicit(&pool.threads, memory_order_relaxed);
}

/* Pieces until there are none, or until callers need the core that this helper keeps busy. */
static void take_pieces(struct work *work, bool helper, struct tpd_cpu_worker *worker) {
    const struct tpd_cpu_plan *plan = work->plan;
    while (!helper || !crowded(1)) {
        size_t piece = atomic_fetch_add_explicit(&work->next, 1, memory_order_relaxed);
        if (piece >= plan->pieces)
            break;
        plan->piece(plan, piece, worker);
    }
    tpd_cpu_finish(plan, worker);
}

/* With the lock: a work that has pieces left and takes one more helper. */
static struct work *open_work(void) {
    if (crowded(0))
        return NULL;
    for (struct work *work = pool.works; work != NULL; work = work->follows)
        if (work->helpers < work->helpers_most && atomic_load_explicit(&work->next, memory_order_relaxed) < work->plan->pieces)
            return work;
    return NULL;
}

static void *helper_main(void *own) {
    struct tpd_cpu_worker *worker = own;
    pthread_mutex_lock(&pool.lock);
    while (!pool.stop) {
        struct work *work = open_work();
        if (work == NULL) {
            pthread_cond_wait(&pool.wake, &pool.lock);
            continue;
        }
        work->helpers++;
        atomic_fetch_add_explicit(&pool.active, 1, memory_order_relaxed);
        pthread_mutex_unlock(&pool.lock);
        take_pieces(work, true, worker);
        pthread_mutex_lock(&pool.lock);
        atomic_fetch_sub_explicit(&pool.active, 1, memory_order_relaxed);
        if (--work->helpers == 0)
            pthread_cond_broadcast(&pool.left);
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

void tpd_cpu_pool_run(const struct tpd_cpu_plan *plan, uint32_t threads, struct tpd_cpu_worker *worker) {
    struct work work = {.plan = plan, .helpers_most = threads - 1};
    pthread_mutex_lock(&pool.lock);
    atomic_fetch_add_explicit(&pool.active, 1, memory_order_relaxed);
    work.follows = pool.works;
    pool.works = &work;
    for (uint32_t i = 0; i < work.helpers_most && i + 1 < plan->pieces; i++)
        pthread_cond_signal(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    take_pieces(&work, false, worker);
    pthread_mutex_lock(&pool.lock);
    struct work **at = &pool.works;
    while (*at != &work)
        at = &(*at)->follows;
    *at = work.follows;
    while (work.helpers != 0)
        pthread_cond_wait(&pool.left, &pool.lock);
    atomic_fetch_sub_explicit(&pool.active, 1, memory_order_relaxed);
    if (pool.works != NULL)
        pthread_cond_signal(&pool.wake); /* this core is free for the others' pieces */
    pthread_mutex_unlock(&pool.lock);
}

/* Signals are the program's own: a helper takes none. */
static bool start_helper(uint32_t index) {
    sigset_t all, before;
    if (tpd_cpu_worker_init(&pool.worker[index], tpd_cpu_machine().tile_bytes, NULL) != TPD_OK)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&pool.helper[index], NULL, helper_main, &pool.worker[index]) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started)
        tpd_cpu_worker_fini(&pool.worker[index]);
    return started;
}

enum tpd_status tpd_cpu_pool_open(uint32_t threads, struct tpd_error *error) {
    enum tpd_status status = TPD_OK;
    pthread_mutex_lock(&door);
    while (pool.helpers + 1 < threads) {
        if (!start_helper(pool.helpers)) {
            status = tpd_fail(error, TPD_NO_MEMORY,
                              "the system gives only %u of %u threads: lower cpu_threads or raise the limit on threads",
                              pool.helpers + 1, threads);
            break;
        }
        pool.helpers++;
    }
    if (threads > atomic_load_explicit(&pool.threads, memory_order_relaxed))
        atomic_store_explicit(&pool.threads, threads, memory_order_relaxed); /* the door is the only writer */
    pool.users++;
    pthread_mutex_unlock(&door);
    if (status != TPD_OK)
        tpd_cpu_pool_close();
    return status;
}

void tpd_cpu_pool_close(void) {
    pthread_mutex_lock(&door);
    if (--pool.users == 0) {
        pthread_mutex_lock(&pool.lock);
        pool.stop = true;
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.lock);
        for (uint32_t i = 0; i < pool.helpers; i++) {
            pthread_join(pool.helper[i], NULL);
            tpd_cpu_worker_fini(&pool.worker[i]);
        }
        pool.helpers = 0;
        atomic_store_explicit(&pool.threads, 0, memory_order_relaxed);
        pool.stop = false;
    }
    pthread_mutex_unlock(&door);
}
