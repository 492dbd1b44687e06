/* test_job_queue.c -- order, bound, deadlines and the end of the queue, without an engine. */
#include "tests/unit/engine/engine_rig.h"

static struct tpd_error error;
static struct tpd_job_queue queue;

static void setup(void) {
    ck_assert_ok(tpd_job_queue_init(&queue, 2, 3, &error), error);
}

static void teardown(void) {
    tpd_job_queue_fini(&queue);
}

static struct tpd_job job_in(uint64_t ms) {
    struct tpd_job job;
    tpd_job_init(&job);
    job.submitted_ns = tpd_clock_ns();
    job.deadline_ns = job.submitted_ns + ms * 1000000;
    return job;
}

START_TEST(first_in_first_out_and_bounded) {
    struct tpd_job jobs[4];
    for (int i = 0; i < 4; i++)
        jobs[i] = job_in(60000);
    for (int i = 0; i < 3; i++)
        ck_assert_ok(tpd_job_queue_push(&queue, &jobs[i], &error), error);
    ck_assert_int_eq(tpd_job_queue_push(&queue, &jobs[3], &error), TPD_QUEUE_FULL);
    ck_assert_uint_eq(error.limit, 3);
    ck_assert_ptr_nonnull(strstr(error.text, "queue_depth=3"));
    ck_assert_uint_eq(tpd_job_queue_count(&queue), 3);
    for (int i = 0; i < 3; i++) {
        struct tpd_job *job = tpd_job_queue_pop(&queue, 0);
        ck_assert_ptr_eq(job, &jobs[i]);
        ck_assert_int_eq(job->status, TPD_OK);
        ck_assert(!tpd_job_queue_is_idle(&queue));
        tpd_job_queue_ended(&queue);
    }
    ck_assert(tpd_job_queue_is_idle(&queue));
}
END_TEST

/* Nobody pops: expire alone ends what is overdue, and leaves the rest in order. */
START_TEST(deadlines_are_kept_without_a_worker) {
    struct tpd_job late = job_in(60000), soon = job_in(30), last = job_in(60000);
    ck_assert_ok(tpd_job_queue_push(&queue, &late, &error), error);
    ck_assert_ok(tpd_job_queue_push(&queue, &last, &error), error);
    ck_assert_ok(tpd_job_queue_push(&queue, &soon, &error), error);
    struct tpd_job *list = tpd_job_queue_expire(&queue, 60000000000u);
    ck_assert_ptr_eq(list, &soon);
    ck_assert_ptr_null(list->next);
    ck_assert_int_eq(soon.status, TPD_DEADLINE);
    ck_assert_uint_ge(tpd_clock_ns(), soon.deadline_ns);
    ck_assert_uint_lt(tpd_clock_ns(), soon.deadline_ns + 2000000000u);
    tpd_job_queue_ended(&queue);
    struct tpd_job again = job_in(60000); /* goes behind what is left, not behind what was taken out */
    ck_assert_ok(tpd_job_queue_push(&queue, &again, &error), error);
    ck_assert_ptr_eq(tpd_job_queue_pop(&queue, 0), &late);
    ck_assert_ptr_eq(tpd_job_queue_pop(&queue, 0), &last);
    ck_assert_ptr_eq(tpd_job_queue_pop(&queue, 0), &again);
}
END_TEST

START_TEST(overdue_at_the_exit) {
    struct tpd_job job = job_in(0);
    ck_assert_ok(tpd_job_queue_push(&queue, &job, &error), error);
    ck_assert_ptr_eq(tpd_job_queue_pop(&queue, 0), &job);
    ck_assert_int_eq(job.status, TPD_DEADLINE);
}
END_TEST

static void *expire_main(void *result) {
    *(struct tpd_job **)result = tpd_job_queue_expire(&queue, 60000000000u);
    return NULL;
}

/* A deadline sooner than expire() meant to look wakes it. */
START_TEST(sooner_deadline_wakes) {
    pthread_t thread;
    struct tpd_job *list = NULL, job;
    ck_assert_int_eq(pthread_create(&thread, NULL, expire_main, &list), 0);
    rig_sleep(20000000);
    job = job_in(20);
    ck_assert_ok(tpd_job_queue_push(&queue, &job, &error), error);
    (void)pthread_join(thread, NULL);
    ck_assert_ptr_eq(list, &job);
    ck_assert_int_eq(job.status, TPD_DEADLINE);
}
END_TEST

START_TEST(refusing_empties_it) {
    struct tpd_job jobs[3], more = job_in(60000);
    for (int i = 0; i < 3; i++) {
        jobs[i] = job_in(60000);
        ck_assert_ok(tpd_job_queue_push(&queue, &jobs[i], &error), error);
    }
    tpd_job_queue_refuse(&queue);
    ck_assert_int_eq(tpd_job_queue_push(&queue, &more, &error), TPD_DRAINING);
    ck_assert(!tpd_job_queue_enter(&queue));
    ck_assert_ptr_eq(tpd_job_queue_pop(&queue, 0), &jobs[0]);
    ck_assert_int_eq(jobs[0].status, TPD_DRAINING);
    struct tpd_job *list = tpd_job_queue_expire(&queue, 1000000);
    ck_assert_ptr_eq(list, &jobs[1]);
    ck_assert_ptr_eq(list->next, &jobs[2]);
    ck_assert_int_eq(jobs[2].status, TPD_DRAINING);
    for (int i = 0; i < 3; i++)
        tpd_job_queue_ended(&queue);
    ck_assert(tpd_job_queue_is_idle(&queue));
    tpd_job_queue_end(&queue);
    ck_assert_ptr_null(tpd_job_queue_pop(&queue, 0));
    ck_assert_ptr_null(tpd_job_queue_expire(&queue, 1000000));
}
END_TEST

/* A job that goes on to another line is counted all the while, needs no place of its own, and is nobody's but that line's. */
START_TEST(forwarded_to_another_line) {
    struct tpd_job jobs[4];
    for (int i = 0; i < 4; i++)
        jobs[i] = job_in(60000);
    ck_assert_ok(tpd_job_queue_push(&queue, &jobs[0], &error), error);
    ck_assert_ptr_eq(tpd_job_queue_pop(&queue, 0), &jobs[0]);
    for (int i = 1; i < 4; i++)
        ck_assert_ok(tpd_job_queue_push(&queue, &jobs[i], &error), error);
    ck_assert_ok(tpd_job_queue_forward(&queue, 1, &jobs[0], &error), error); /* full, and inside already */
    ck_assert_uint_eq(tpd_job_queue_count(&queue), 4);
    ck_assert(!tpd_job_queue_is_idle(&queue));
    ck_assert_ptr_eq(tpd_job_queue_pop(&queue, 1), &jobs[0]);
    for (int i = 1; i < 4; i++)
        ck_assert_ptr_eq(tpd_job_queue_pop(&queue, 0), &jobs[i]);
    tpd_job_queue_refuse(&queue);
    ck_assert_int_eq(tpd_job_queue_forward(&queue, 1, &jobs[1], &error), TPD_DRAINING);
    for (int i = 0; i < 4; i++) {
        ck_assert(!tpd_job_queue_is_idle(&queue));
        tpd_job_queue_ended(&queue);
    }
    ck_assert(tpd_job_queue_is_idle(&queue));
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("job_queue");
    TCase *tests = tcase_create("job_queue");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, first_in_first_out_and_bounded);
    tcase_add_test(tests, forwarded_to_another_line);
    tcase_add_test(tests, deadlines_are_kept_without_a_worker);
    tcase_add_test(tests, overdue_at_the_exit);
    tcase_add_test(tests, sooner_deadline_wakes);
    tcase_add_test(tests, refusing_empties_it);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
