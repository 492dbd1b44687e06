/* test_job_memory.c -- what a job sets aside: with the input, for the output, and back in one piece. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/engine/engine_rig.h"

static struct tpd_error error;

static uint64_t used(struct tpd_engine *engine) {
    struct tpd_engine_counts counts;
    tpd_engine_counts(engine, &counts);
    return counts.host_used_bytes;
}

static struct tpd_engine *make(uint64_t budget_bytes) {
    static struct tpd_config config;
    config = rig_config();
    config.host_memory_bytes = budget_bytes;
    return rig_engine(&config);
}

/* 40 x 100 items of 4 bytes: 16 000 in, 16 000 out. */
static enum tpd_status begin(struct rig_job *rig, struct tpd_engine *engine, uint64_t seed) {
    rig_job_init(rig, 40, 100, 1, 4, seed);
    return rig_job_receive(rig, tpd_engine_job_memory(engine, &rig->job), &error);
}

START_TEST(output_is_set_aside_with_the_input) {
    struct tpd_engine *engine = make(70000);
    struct rig_job rigs[3];
    ck_assert_ok(begin(&rigs[0], engine, 1), error);
    ck_assert_uint_eq(used(engine), 32000);
    ck_assert_ok(begin(&rigs[1], engine, 2), error);
    ck_assert_uint_eq(used(engine), 64000);
    ck_assert_int_eq(begin(&rigs[2], engine, 3), TPD_MEMORY_FULL); /* 6 000 are left: refused before a byte of it came */
    ck_assert_uint_eq(error.limit, 70000);
    ck_assert_uint_eq(error.actual, 96000);
    ck_assert_ptr_null(rigs[2].job.decoder);
    struct tpd_block other;
    ck_assert_int_eq(tpd_block_acquire(tpd_engine_memory(engine), 6001, &other, &error), TPD_MEMORY_FULL);
    ck_assert_ok(tpd_block_acquire(tpd_engine_memory(engine), 6000, &other, &error), error);
    for (int i = 0; i < 2; i++) { /* what was accepted is finished, with nothing left for anybody else */
        tpd_engine_run(engine, &rigs[i].job);
        rig_job_good(&rigs[i], "cpu");
    }
    ck_assert_uint_eq(used(engine), 2 * 16000 + 6000); /* two answers */
    tpd_block_release(&other);
    for (int i = 0; i < 3; i++)
        rig_job_fini(&rigs[i]);
    ck_assert_uint_eq(used(engine), 0);
    rig_engine_end(engine);
}
END_TEST

/* A job that is dropped at any point leaves nothing behind. */
START_TEST(given_back_once) {
    struct tpd_engine *engine = make(70000);
    struct rig_job rig;
    ck_assert_ok(begin(&rig, engine, 1), error);
    tpd_job_give_back(&rig.job);
    ck_assert_ptr_null(rig.job.decoder);
    ck_assert_uint_eq(used(engine), 0);
    tpd_job_give_back(&rig.job);
    rig_job_fini(&rig);
    ck_assert_uint_eq(used(engine), 0);
    ck_assert_ok(begin(&rig, engine, 2), error);
    rig_job_fini(&rig);
    ck_assert_uint_eq(used(engine), 0);
    ck_assert_ok(begin(&rig, engine, 3), error);
    atomic_store(&rig_cpu.fail_with, TPD_INTERNAL);
    atomic_store(&rig_cpu.fail_at, 1);
    tpd_engine_run(engine, &rig.job);
    ck_assert_int_eq(rig.job.status, TPD_INTERNAL);
    ck_assert_uint_eq(used(engine), 0);
    rig_job_fini(&rig);
    tpd_engine_refuse(engine);
    ck_assert_ok(begin(&rig, engine, 4), error);
    tpd_engine_run(engine, &rig.job);
    ck_assert_int_eq(rig.job.status, TPD_DRAINING);
    rig_job_fini(&rig);
    rig_engine_end(engine);
}
END_TEST

START_TEST(never_and_not_now) {
    struct tpd_engine *engine = make(31999);
    struct rig_job rig;
    ck_assert_int_eq(begin(&rig, engine, 1), TPD_TOO_LARGE);
    ck_assert_uint_eq(error.limit, 31999);
    ck_assert_uint_eq(error.actual, 32000);
    rig_job_fini(&rig);
    /* A job's own bytes are no other's: what it holds and asks for is more than there could ever be. */
    struct tpd_job job;
    struct tpd_block one, two;
    tpd_job_init(&job);
    struct tpd_memory *memory = tpd_engine_job_memory(engine, &job);
    ck_assert_ok(tpd_block_acquire(memory, 20000, &one, &error), error);
    ck_assert_int_eq(tpd_block_acquire(memory, 12000, &two, &error), TPD_TOO_LARGE);
    ck_assert_uint_eq(error.actual, 32000);
    ck_assert_int_eq(tpd_block_acquire(memory, SIZE_MAX, &two, &error), TPD_TOO_LARGE);
    ck_assert_ok(tpd_block_acquire(tpd_engine_memory(engine), 1000, &two, &error), error);
    struct tpd_block three;
    ck_assert_int_eq(tpd_block_acquire(memory, 11500, &three, &error), TPD_MEMORY_FULL);
    ck_assert_ok(tpd_block_acquire(memory, 10000, &three, &error), error);
    /* What it releases stays its own until it is over. */
    tpd_block_release(&one);
    tpd_block_release(&three);
    ck_assert_uint_eq(used(engine), 31000);
    ck_assert_ok(tpd_block_acquire(memory, 30000, &one, &error), error);
    tpd_block_release(&one);
    tpd_block_release(&two);
    tpd_job_fini(&job);
    ck_assert_uint_eq(used(engine), 0);
    rig_engine_end(engine);
}
END_TEST

/* Text of which only the size is known: four times as much, or all there is; and column-major items need no second block. */
START_TEST(what_is_expected) {
    struct tpd_engine *engine = make(100000);
    struct tpd_job job;
    const struct tpd_matrix matrix = {100, 150, 1, 4, TPD_DTYPE_FLOAT32};
    tpd_job_init(&job);
    job.format_in = job.format_out = TPD_CODEC_NPY;
    struct tpd_memory *memory = tpd_engine_job_memory(engine, &job);
    ck_assert_int_eq(tpd_block_expect(memory, 60000, &matrix, false, &error), TPD_TOO_LARGE);
    ck_assert_uint_eq(error.actual, 120000);
    struct tpd_block block;
    ck_assert_ok(tpd_block_expect(memory, 60000, &matrix, true, &error), error);
    ck_assert_ok(tpd_block_acquire(memory, 100, &block, &error), error);
    ck_assert_uint_eq(used(engine), 60000);
    tpd_block_release(&block);
    tpd_job_give_back(&job);
    ck_assert_uint_eq(used(engine), 0);
    memory = tpd_engine_job_memory(engine, &job);
    ck_assert_ok(tpd_block_expect(memory, 10000, NULL, false, &error), error);
    ck_assert_ok(tpd_block_acquire(memory, 100, &block, &error), error);
    ck_assert_uint_eq(used(engine), 40000);
    tpd_block_release(&block);
    ck_assert_ok(tpd_block_expect(memory, 50000, NULL, false, &error), error);
    ck_assert_ok(tpd_block_acquire(memory, 100, &block, &error), error);
    ck_assert_uint_eq(used(engine), 100000);
    tpd_block_release(&block);
    tpd_job_fini(&job);
    tpd_job_init(&job);
    job.format_out = TPD_CODEC_NPY;
    job.strategy = TPD_STRATEGY_AUTO;
    (void)snprintf(job.device, sizeof job.device, "none-such");
    memory = tpd_engine_job_memory(engine, &job);
    ck_assert_int_eq(tpd_block_expect(memory, 60000, &matrix, true, &error), TPD_UNKNOWN_DEVICE);
    ck_assert_uint_eq(used(engine), 0);
    tpd_job_fini(&job);
    rig_engine_end(engine);
}
END_TEST

/* Cells are counted before anything is parsed: what can't be held then is refused there. */
START_TEST(cells_are_counted_first) {
    struct tpd_engine *engine = make(100000);
    static char text[20004];
    text[0] = '[';
    for (size_t i = 1; i < 20001; i += 8)
        memcpy(text + i, "[1,2,3],", 8);
    memcpy(text + 20000, "]", 2);
    for (int round = 0; round < 2; round++) { /* 7 501 cells of 8 bytes beside 20 001 of text: twice is too much */
        struct tpd_job job;
        tpd_job_init(&job);
        job.format_in = TPD_CODEC_JSON;
        job.format_out = round == 0 ? TPD_CODEC_JSON : TPD_CODEC_RAW;
        job.encode.has_dtype = round == 1;
        job.encode.dtype = TPD_DTYPE_UINT8;
        job.done = rig_done;
        struct rig_job rig = {.job = job};
        rig.job.owner = &rig;
        struct tpd_decode_options options = {.body_most_bytes = 1 << 20,
                                             .has_content_bytes = true,
                                             .content_bytes = 20001,
                                             .memory = tpd_engine_job_memory(engine, &rig.job),
                                             .has_dtype = job.encode.has_dtype};
        options.dtype = job.encode.dtype;
        rig.job.encode.memory = options.memory;
        const struct tpd_codec_ops *json = tpd_codec_at(TPD_CODEC_JSON);
        ck_assert_ok(json->open(&options, &rig.job.decoder, &error), error);
        ck_assert_ok(json->push(rig.job.decoder, text, 20001, &error), error);
        tpd_engine_run(engine, &rig.job);
        if (round == 0) {
            ck_assert_int_eq(rig.job.status, TPD_TOO_LARGE);
            ck_assert_uint_gt(rig.job.error.actual, 100000);
        } else {
            ck_assert_msg(rig.job.status == TPD_OK, "%s", rig.job.error.text);
            ck_assert_uint_eq(rig.job.answer.bytes, 7500);
        }
        tpd_job_fini(&rig.job);
        ck_assert_uint_eq(used(engine), 0);
    }
    rig_engine_end(engine);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("job_memory");
    TCase *tests = tcase_create("job_memory");
    tcase_add_checked_fixture(tests, rig_reset, NULL);
    tcase_add_test(tests, output_is_set_aside_with_the_input);
    tcase_add_test(tests, given_back_once);
    tcase_add_test(tests, never_and_not_now);
    tcase_add_test(tests, what_is_expected);
    tcase_add_test(tests, cells_are_counted_first);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
