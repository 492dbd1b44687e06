/* job_queue.c -- linked lists, a lock held for a few instructions, and a clock. Deadlines are kept by a thread of their own
 * (expire) as well as at the exit (pop): with every worker busy nobody else would look at them. */
#include "server/engine/job_queue.h"

#include <inttypes.h>
#include <string.h>

#include "transposed/clock.h"
#include "transposed/condition.h"

/* Least pause between two scans of the list, so that many deadlines in a row cost one scan and not one each. */
enum { SCAN_PAUSE_NS = 5000000 };

enum tpd_status tpd_job_queue_init(struct tpd_job_queue *queue, uint32_t lines, uint64_t depth, struct tpd_error *error) {
    memset(queue, 0, sizeof *queue);
    queue->depth = depth;
    atomic_init(&queue->running, 0);
    atomic_init(&queue->refusing, false);
    enum tpd_status status = tpd_condition_init(&queue->lock, &queue->overdue, error);
    if (status != TPD_OK)
        return status;
    while (queue->line_count < lines && pthread_cond_init(&queue->lines[queue->line_count].work, NULL) == 0)
        atomic_init(&queue->lines[queue->line_count++].count, 0);
    if (queue->line_count == lines)
        return TPD_OK;
    tpd_job_queue_fini(queue);
    return tpd_fail(error, TPD_NO_MEMORY, "the system gave no condition variable for the queue");
}

void tpd_job_queue_fini(struct tpd_job_queue *queue) {
    while (queue->line_count > 0)
        (void)pthread_cond_destroy(&queue->lines[--queue->line_count].work);
    tpd_condition_fini(&queue->lock, &queue->overdue);
}

static enum tpd_status draining(struct tpd_error *error) {
    return tpd_fail(error, TPD_DRAINING, "the daemon is stopping and takes no more jobs; send it again elsewhere or later");
}

static enum tpd_status overdue(const struct tpd_job *job, uint64_t now_ns, struct tpd_error *error) {
    return tpd_fail(error, TPD_DEADLINE,
                    "the job waited %" PRIu64 " ms for its turn, past its deadline (queue_timeout); try again later",
                    (now_ns - job->submitted_ns) / 1000000);
}

/* Under the lock. */
static void append(struct tpd_job_queue *queue, uint32_t at, struct tpd_job *job) {
    struct tpd_job_line *line = &queue->lines[at];
    job->next = NULL;
    job->queued_ns = tpd_clock_ns();
    if (line->tail != NULL)
        line->tail->next = job;
    else
        line->head = job;
    line->tail = job;
    (void)atomic_fetch_add(&line->count, 1);
    queue->count++;
    if (job->deadline_ns < queue->look_ns)
        (void)pthread_cond_signal(&queue->overdue);
    (void)pthread_cond_signal(&line->work);
}

/* Under the lock. A job is counted as running before it is no longer counted as waiting, and the other way round in
 * forward(): nobody sees an idle queue in between. */
static void leave(struct tpd_job_queue *queue, struct tpd_job_line *line) {
    (void)atomic_fetch_add(&queue->running, 1);
    (void)atomic_fetch_sub(&line->count, 1);
    queue->count--;
}

enum tpd_status tpd_job_queue_push(struct tpd_job_queue *queue, struct tpd_job *job, struct tpd_error *error) {
    enum tpd_status status = TPD_OK;
    (void)pthread_mutex_lock(&queue->lock);
    if (queue->refusing)
        status = draining(error);
    else if (queue->count >= queue->depth)
        status = tpd_fail_limit(error, TPD_QUEUE_FULL, queue->depth, queue->count + 1,
                                "%" PRIu64 " jobs wait already, as many as queue_depth=%" PRIu64 " allows; try again later",
                                queue->count, queue->depth);
    if (status == TPD_OK)
        append(queue, 0, job);
    (void)pthread_mutex_unlock(&queue->lock);
    return status;
}

enum tpd_status tpd_job_queue_forward(struct tpd_job_queue *queue, uint32_t line, struct tpd_job *job, struct tpd_error *error) {
    (void)pthread_mutex_lock(&queue->lock);
    bool refusing = queue->refusing;
    if (!refusing) {
        append(queue, line, job);
        (void)atomic_fetch_sub(&queue->running, 1);
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return refusing ? draining(error) : TPD_OK;
}

struct tpd_job *tpd_job_queue_pop(struct tpd_job_queue *queue, uint32_t at) {
    struct tpd_job_line *line = &queue->lines[at];
    (void)pthread_mutex_lock(&queue->lock);
    while (line->head == NULL && !queue->ending)
        (void)pthread_cond_wait(&line->work, &queue->lock);
    struct tpd_job *job = line->head;
    bool refusing = queue->refusing;
    if (job != NULL) {
        line->head = job->next;
        if (line->head == NULL)
            line->tail = NULL;
        leave(queue, line);
    }
    (void)pthread_mutex_unlock(&queue->lock);
    if (job == NULL)
        return NULL;
    job->next = NULL;
    uint64_t now_ns = tpd_clock_ns();
    if (refusing)
        job->status = draining(&job->error);
    else if (now_ns >= job->deadline_ns)
        job->status = overdue(job, now_ns, &job->error);
    else
        job->status = TPD_OK;
    return job;
}

/* Moves what can't be done any more to the end of a list. Under the lock. */
static struct tpd_job **take_lapsed(struct tpd_job_queue *queue, struct tpd_job_line *line, uint64_t now_ns, struct tpd_job **end,
                                    uint64_t *next_ns) {
    struct tpd_job *kept_tail = NULL;
    for (struct tpd_job **at = &line->head; *at != NULL;) {
        struct tpd_job *job = *at;
        if (queue->refusing || now_ns >= job->deadline_ns) {
            *at = job->next;
            job->next = NULL;
            *end = job;
            end = &job->next;
            leave(queue, line);
            continue;
        }
        *next_ns = job->deadline_ns < *next_ns ? job->deadline_ns : *next_ns;
        kept_tail = job;
        at = &job->next;
    }
    line->tail = kept_tail;
    return end;
}

struct tpd_job *tpd_job_queue_expire(struct tpd_job_queue *queue, uint64_t idle_ns) {
    struct tpd_job *list = NULL;
    uint64_t now_ns;
    (void)pthread_mutex_lock(&queue->lock);
    for (;;) {
        now_ns = tpd_clock_ns();
        uint64_t look_ns = now_ns + idle_ns;
        struct tpd_job **end = &list;
        for (uint32_t i = 0; i < queue->line_count; i++)
            end = take_lapsed(queue, &queue->lines[i], now_ns, end, &look_ns);
        if (list != NULL || queue->ending)
            break;
        if (look_ns < now_ns + SCAN_PAUSE_NS)
            look_ns = now_ns + SCAN_PAUSE_NS;
        queue->look_ns = look_ns;
        (void)tpd_condition_wait(&queue->lock, &queue->overdue, look_ns);
    }
    bool refusing = queue->refusing;
    (void)pthread_mutex_unlock(&queue->lock);
    for (struct tpd_job *job = list; job != NULL; job = job->next)
        job->status = refusing ? draining(&job->error) : overdue(job, now_ns, &job->error);
    return list;
}

void tpd_job_queue_ended(struct tpd_job_queue *queue) {
    (void)atomic_fetch_sub(&queue->running, 1);
}

/* Counted first and asked then: refuse() followed by is_idle() either sees the count or is seen here. */
bool tpd_job_queue_enter(struct tpd_job_queue *queue) {
    (void)atomic_fetch_add(&queue->running, 1);
    bool refusing = atomic_load(&queue->refusing);
    if (refusing)
        tpd_job_queue_ended(queue);
    return !refusing;
}

static void close_queue(struct tpd_job_queue *queue, bool ending) {
    (void)pthread_mutex_lock(&queue->lock);
    queue->refusing = true;
    queue->ending = queue->ending || ending;
    (void)pthread_cond_signal(&queue->overdue);
    for (uint32_t i = 0; ending && i < queue->line_count; i++)
        (void)pthread_cond_broadcast(&queue->lines[i].work);
    (void)pthread_mutex_unlock(&queue->lock);
}

void tpd_job_queue_refuse(struct tpd_job_queue *queue) {
    close_queue(queue, false);
}

void tpd_job_queue_end(struct tpd_job_queue *queue) {
    close_queue(queue, true);
}

uint64_t tpd_job_queue_count(struct tpd_job_queue *queue) {
    (void)pthread_mutex_lock(&queue->lock);
    uint64_t count = queue->count;
    (void)pthread_mutex_unlock(&queue->lock);
    return count;
}

bool tpd_job_queue_is_idle(struct tpd_job_queue *queue) {
    (void)pthread_mutex_lock(&queue->lock);
    bool is_idle = queue->count == 0 && atomic_load(&queue->running) == 0;
    (void)pthread_mutex_unlock(&queue->lock);
    return is_idle;
}
