/* job_queue.h -- jobs that wait for a worker: lines of first in, first out, bounded together, each job with a deadline.
 *
 * A line a device, so that whoever waits for a slow one stands in nobody's way; line 0 is where every job begins.
 * Owns: the jobs in it, from push to pop or expire. Threads: any; one thread calls expire.
 * Ceiling: depth, over all lines, for what is pushed; what is forwarded was inside already. A job leaves with status TPD_OK (do
 * it), TPD_DEADLINE or TPD_DRAINING (end it); whoever gets it calls tpd_job_queue_ended() after its done(), so that `running`
 * counts what is under way in any thread.
 */
#ifndef TPD_ENGINE_JOB_QUEUE_H
#define TPD_ENGINE_JOB_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>

#include "transposed/job.h"

enum { TPD_JOB_LINES_MOST = 48 };

struct tpd_job_line {
    pthread_cond_t work; /* a job came, or the end */
    struct tpd_job *head, *tail;
    atomic_uint_fast64_t count; /* changed under the lock */
};

struct tpd_job_queue {
    pthread_mutex_t lock;   /* guards all but the atomics */
    pthread_cond_t overdue; /* something for expire() */
    struct tpd_job_line lines[TPD_JOB_LINES_MOST];
    uint32_t line_count;
    uint64_t count, depth; /* over all lines */
    uint64_t look_ns;      /* when expire() will look next */
    bool ending;
    atomic_bool refusing; /* set under the lock; read without it by enter() */
    atomic_uint_fast64_t running;
};

/* lines: 1 .. TPD_JOB_LINES_MOST. */
enum tpd_status tpd_job_queue_init(struct tpd_job_queue *queue, uint32_t lines, uint64_t depth,
                                   struct tpd_error *error) TPD_CHECKED;
void tpd_job_queue_fini(struct tpd_job_queue *queue); /* must be empty */
/* Into line 0; job->deadline_ns is set. Fails with TPD_QUEUE_FULL, TPD_DRAINING: the caller keeps the job. */
enum tpd_status tpd_job_queue_push(struct tpd_job_queue *queue, struct tpd_job *job, struct tpd_error *error) TPD_CHECKED;
/* Waits for a job of that line. NULL: the end came and nothing is left. */
struct tpd_job *tpd_job_queue_pop(struct tpd_job_queue *queue, uint32_t line);
/* A job that was popped waits again, in another line. Fails with TPD_DRAINING: the caller keeps the job. */
enum tpd_status tpd_job_queue_forward(struct tpd_job_queue *queue, uint32_t line, struct tpd_job *job,
                                      struct tpd_error *error) TPD_CHECKED;
/* Waits for jobs that can't be done any more: past their deadline, or refused. A list by `next`, in order; NULL: the end.
 * Looks at least every idle_ns, which bounds how late a deadline is noticed that was set without a wake-up. */
struct tpd_job *tpd_job_queue_expire(struct tpd_job_queue *queue, uint64_t idle_ns);
void tpd_job_queue_ended(struct tpd_job_queue *queue);
/* False when jobs are refused; else the caller is counted as running until tpd_job_queue_ended(). */
bool tpd_job_queue_enter(struct tpd_job_queue *queue);
void tpd_job_queue_refuse(struct tpd_job_queue *queue);
void tpd_job_queue_end(struct tpd_job_queue *queue); /* refuse, and pop and expire return NULL */
uint64_t tpd_job_queue_count(struct tpd_job_queue *queue);
bool tpd_job_queue_is_idle(struct tpd_job_queue *queue);

#endif
