/* test_engine_formats.c -- the engine over the real codecs and the real CPU: what needs a format to show. */
#include "tests/unit/engine/engine_rig.h"

static struct tpd_error error;
static struct tpd_engine *engine;
static struct tpd_config config;

static void setup(void) {
    config = rig_config();
    (void)snprintf(config.devices, sizeof config.devices, "none");
    ck_assert_ok(tpd_engine_create(&config, &engine, &error), error);
}

static void teardown(void) {
    rig_engine_end(engine);
}

/* Any body through the engine, in this thread. */
static void convert(struct rig_job *rig, enum tpd_codec_id in, enum tpd_codec_id out, const void *body, size_t bytes) {
    struct tpd_decode_options options = {.body_most_bytes = 1 << 30, .memory = tpd_engine_memory(engine)};
    memset(rig, 0, sizeof *rig);
    tpd_job_init(&rig->job);
    rig->job.format_in = in;
    rig->job.format_out = out;
    rig->job.done = rig_done;
    ck_assert_ok(tpd_codec_at(in)->open(&options, &rig->job.decoder, &error), error);
    ck_assert_ok(tpd_codec_at(in)->push(rig->job.decoder, body, bytes, &error), error);
    tpd_engine_run(engine, &rig->job);
    ck_assert_int_eq(atomic_load(&rig->done), 1);
}

static size_t npy(unsigned char *body, const char *header, const void *items, size_t bytes) {
    memcpy(body, "\x93NUMPY\x01\x00\x76\x00", 10);
    ck_assert_int_eq(snprintf((char *)body + 10, 119, "%-117s\n", header), 118);
    memcpy(body + 128, items, bytes);
    return 128 + bytes;
}

/* Fortran order: the transpose is the same bytes under another header. */
START_TEST(column_major_is_a_relabel) {
    unsigned char items[3 * 5 * 8], body[128 + sizeof items];
    struct rig_job rig;
    tpd_random_fill(items, sizeof items, 5);
    size_t bytes = npy(body, "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 5), }", items, sizeof items);
    convert(&rig, TPD_CODEC_NPY, TPD_CODEC_NPY, body, bytes);
    ck_assert_msg(rig.job.status == TPD_OK, "%s", rig.job.error.text);
    ck_assert_str_eq(rig.job.strategy_name, "relabel");
    ck_assert_str_eq(rig.job.device_id, "");
    ck_assert_uint_eq(rig.job.matrix.rows, 3);
    ck_assert_uint_eq(rig.job.answer.bytes, bytes);
    ck_assert_int_eq(memcmp(rig.job.answer.start + 128, items, sizeof items), 0);
    ck_assert_ptr_nonnull(memmem(rig.job.answer.start, 128, "'fortran_order': False", 22));
    ck_assert_ptr_nonnull(memmem(rig.job.answer.start, 128, "(5, 3)", 6));
    tpd_job_fini(&rig.job);
}
END_TEST

START_TEST(cells_move_letter_for_letter) {
    const char body[] = "[[1.10, 9007199254740993, 1e400],[-0, 2.50, 3]]";
    struct rig_job rig;
    convert(&rig, TPD_CODEC_JSON, TPD_CODEC_JSON, body, sizeof body - 1);
    ck_assert_msg(rig.job.status == TPD_OK, "%s", rig.job.error.text);
    ck_assert(rig.job.cells);
    ck_assert_int_eq(rig.job.matrix.dtype, TPD_DTYPE_OPAQUE);
    ck_assert_str_eq(rig.job.device_id, "cpu");
    char text[256] = "";
    size_t length = 0;
    for (size_t i = 0; i < rig.job.answer.bytes && length < sizeof text - 1; i++)
        if (strchr(" \n", rig.job.answer.start[i]) == NULL)
            text[length++] = (char)rig.job.answer.start[i];
    ck_assert_str_eq(text, "[[1.10,-0],[9007199254740993,2.50],[1e400,3]]");
    tpd_job_fini(&rig.job);
}
END_TEST

/* Of cells that become numbers the job says the numbers' dtype and size, also when one of them does not fit. */
START_TEST(cells_that_became_items) {
    const char *const bodies[] = {"[[1,2],[3,4]]", "[[1,2.5],[3,4]]", "[[true,false]]", "{\"dtype\":\"int16\",\"data\":[[1,2]]}"};
    const enum tpd_dtype dtypes[] = {TPD_DTYPE_INT64, TPD_DTYPE_FLOAT64, TPD_DTYPE_BOOL, TPD_DTYPE_INT16};
    const enum tpd_codec_id formats[] = {TPD_CODEC_RAW, TPD_CODEC_NPY};
    struct rig_job rig;
    for (int i = 0; i < 8; i++) {
        convert(&rig, TPD_CODEC_JSON, formats[i % 2], bodies[i / 2], strlen(bodies[i / 2]));
        ck_assert_msg(rig.job.status == TPD_OK, "%s", rig.job.error.text);
        ck_assert(!rig.job.cells);
        ck_assert_int_eq(rig.job.matrix.dtype, dtypes[i / 2]);
        ck_assert_uint_eq(rig.job.matrix.itemsize, tpd_dtype_itemsize(dtypes[i / 2]));
        ck_assert_uint_eq(rig.job.matrix.cols, 2); /* the input's */
        tpd_job_fini(&rig.job);
    }
    convert(&rig, TPD_CODEC_JSON, TPD_CODEC_RAW, "[[1,\"x\"],[3,4]]", 15);
    ck_assert_int_eq(rig.job.status, TPD_OUT_OF_RANGE);
    ck_assert_uint_eq(rig.job.matrix.rows, 2);
    tpd_job_fini(&rig.job);
}
END_TEST

/* A malformed body fails in the worker's part, and gives everything back. */
START_TEST(bad_bodies_end_with_their_own_error) {
    const char *bodies[] = {"[[1,2],[3]]", "[[1,2],[3,4]", "[[1,x]]"};
    for (int i = 0; i < 3; i++) {
        struct rig_job rig;
        convert(&rig, TPD_CODEC_JSON, TPD_CODEC_JSON, bodies[i], strlen(bodies[i]));
        ck_assert_int_eq(tpd_status_http(rig.job.status), 400);
        ck_assert_str_ne(rig.job.error.text, "");
        ck_assert_ptr_null(rig.job.answer.block.data);
        tpd_job_fini(&rig.job);
    }
}
END_TEST

/* Every kind of size, on the real CPU and lane by lane, against the oracle. */
START_TEST(real_devices) {
    const uint64_t shapes[][3] = {{1, 9, 1}, {9, 1, 2}, {33, 65, 1}, {64, 64, 3}, {511, 257, 1}, {2, 3000, 1}, {0, 5, 1}};
    const uint32_t itemsizes[] = {1, 2, 4, 8, 16, 12};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int j = 0; j < 6; j++) {
            struct rig_job rig;
            bool is_relabel = shapes[i][0] <= 1 || shapes[i][1] <= 1;
            rig_job_init(&rig, shapes[i][0], shapes[i][1], shapes[i][2], itemsizes[j], i * 6 + (size_t)j);
            if (shapes[i][0] == 33)
                (void)snprintf(rig.job.device, sizeof rig.job.device, "simt");
            ck_assert_ok(rig_job_receive(&rig, tpd_engine_memory(engine), &error), error);
            tpd_engine_run(engine, &rig.job);
            rig_job_good(&rig, is_relabel ? "" : shapes[i][0] == 33 ? "simt" : "cpu");
            rig_job_fini(&rig);
        }
    struct rig_job rig;
    rig_job_init(&rig, 70, 70, 1, 4, 3);
    (void)snprintf(rig.job.device, sizeof rig.job.device, "simt");
    rig.job.strategy = TPD_STRATEGY_SWIZZLED;
    rig.job.strategy_is_explicit = true;
    ck_assert_ok(rig_job_receive(&rig, tpd_engine_memory(engine), &error), error);
    tpd_engine_run(engine, &rig.job);
    rig_job_good(&rig, "simt");
    ck_assert_str_eq(rig.job.strategy_name, "swizzled");
    rig_job_fini(&rig);
}
END_TEST

static Suite *suite(void) {
    Suite *made = suite_create("engine_formats");
    TCase *tests = tcase_create("engine_formats");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, column_major_is_a_relabel);
    tcase_add_test(tests, cells_move_letter_for_letter);
    tcase_add_test(tests, cells_that_became_items);
    tcase_add_test(tests, bad_bodies_end_with_their_own_error);
    tcase_add_test(tests, real_devices);
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return tpd_harness_main(suite());
}
