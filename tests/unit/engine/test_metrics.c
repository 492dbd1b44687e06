/* test_metrics.c -- both text formats: every family of the table, sums that agree, escapes, and promtool's own opinion. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "tests/unit/engine/fake_engine.h"
#include "transposed/stats.h"

static struct tpd_config config;
static struct tpd_stats *stats;
static const char trace[] = "0af7651916cd43dd8448eb211c80319c";

/* Three transposes, a refusal, a page. */
static void make(void) {
    struct tpd_error error;
    tpd_config_defaults(&config);
    ck_assert_ok(tpd_stats_create(&config, &stats, &error), error);
    for (int i = 0; i < 5; i++) {
        struct tpd_record entry = fake_record("secret-id");
        entry.total_ns = i == 0 ? 100000 : i == 1 ? 100001 : UINT64_C(200000000000);
        entry.matrix.itemsize = i == 1 ? 8 : 4;
        entry.bytes_in = i == 0 ? 64 : 65;
        if (i == 1)
            memcpy(entry.trace_id, trace, sizeof trace);
        if (i == 2)
            memcpy(entry.trace_id, "\"}\n", 4); /* no trace id: must not come out */
        if (i == 3) {
            entry.http_status = 503;
            entry.status = TPD_MEMORY_FULL;
        }
        if (i == 4) {
            entry.is_transpose = false;
            entry.endpoint = "a\"b\\c\nd";
        }
        tpd_stats_begin(stats);
        tpd_stats_end(stats, &entry);
    }
    tpd_stats_begin(stats);
    tpd_stats_rejected(stats, "connections-full");
}

static char *text_of(bool openmetrics) {
    struct tpd_buf out;
    tpd_buf_init(&out, 1 << 24);
    ck_assert_int_eq(tpd_stats_prometheus(stats, NULL, &config, openmetrics, &out), TPD_OK);
    char *text = strdup(out.data);
    tpd_buf_fini(&out);
    return text;
}

static void has(const char *text, const char *line) {
    const char *found = strstr(text, line);
    ck_assert_msg(found != NULL && (found == text || found[-1] == '\n'), "no line '%s' in:\n%s", line, text);
}

START_TEST(samples) {
    make();
    char *text = text_of(false);
    has(text, "transposed_requests_total{endpoint=\"/v1/transpose\",format=\"npy\",code=\"200\"} 3\n");
    has(text, "transposed_requests_total{endpoint=\"/v1/transpose\",format=\"npy\",code=\"503\"} 1\n");
    has(text, "transposed_requests_total{endpoint=\"a\\\"b\\\\c\\nd\",format=\"none\",code=\"200\"} 1\n");
    has(text, "transposed_request_duration_seconds_bucket{le=\"0.0001\"} 1\n");
    has(text, "transposed_request_duration_seconds_bucket{le=\"0.00025\"} 2\n");
    has(text, "transposed_request_duration_seconds_bucket{le=\"100.0\"} 2\n");
    has(text, "transposed_request_duration_seconds_bucket{le=\"+Inf\"} 4\n");
    has(text, "transposed_request_duration_seconds_count 4\n");
    has(text, "transposed_request_duration_seconds_sum 400.000200001\n");
    has(text, "transposed_stage_duration_seconds_bucket{stage=\"receive\",le=\"1e-05\"} 4\n");
    has(text, "transposed_stage_duration_seconds_count{stage=\"encode\"} 4\n");
    has(text, "transposed_kernel_duration_seconds_bucket{strategy=\"padded\",device=\"cuda:0\",le=\"1e-06\"} 0\n");
    has(text, "transposed_kernel_duration_seconds_bucket{strategy=\"padded\",device=\"cuda:0\",le=\"2.5e-06\"} 0\n");
    has(text, "transposed_kernel_duration_seconds_bucket{strategy=\"padded\",device=\"cuda:0\",le=\"5e-06\"} 3\n");
    has(text, "transposed_kernel_duration_seconds_bucket{strategy=\"padded\",device=\"cuda:0\",le=\"1.0\"} 3\n");
    has(text, "transposed_kernel_duration_seconds_sum{strategy=\"padded\",device=\"cuda:0\"} 0.000015000\n");
    has(text, "transposed_matrix_bytes_bucket{direction=\"in\",le=\"64.0\"} 1\n");
    has(text, "transposed_matrix_bytes_bucket{direction=\"in\",le=\"256.0\"} 3\n");
    has(text, "transposed_matrix_bytes_bucket{direction=\"out\",le=\"1099511627776.0\"} 3\n");
    has(text, "transposed_matrix_bytes_sum{direction=\"in\"} 194\n");
    has(text, "transposed_inflight_requests 1\n");
    has(text, "transposed_queue_depth 5\n");
    has(text, "transposed_rejected_total{reason=\"memory-full\"} 1\n");
    has(text, "transposed_rejected_total{reason=\"connections-full\"} 1\n");
    has(text, "transposed_device_up{device=\"cuda:0\"} 1\ntransposed_device_up{device=\"cuda:1\"} "
              "0\ntransposed_device_up{device=\"cpu\"} 1\n");
    ck_assert_ptr_null(strstr(text, "cuda:2"));
    has(text, "transposed_device_memory_bytes{device=\"cuda:0\",state=\"used\"} 1024\n");
    has(text, "transposed_device_memory_bytes{device=\"cuda:0\",state=\"free\"} 3072\n");
    ck_assert_ptr_null(strstr(text, "transposed_device_memory_bytes{device=\"cuda:1\""));
    has(text, "transposed_cuda_errors_total{code=\"cudaErrorIllegalAddress\"} 3\n");
    has(text, "transposed_host_memory_bytes{state=\"used\"} 300\n");
    has(text, "transposed_host_memory_bytes{state=\"free\"} 700\n");
    has(text, "transposed_strategy_info{itemsize=\"1\",strategy=\"direct\",tile=\"auto\",device=\"cuda:0\"} 1\n");
    has(text, "transposed_strategy_info{itemsize=\"16\",strategy=\"padded\",tile=\"auto\",device=\"cuda:0\"} 1\n");
    has(text, "transposed_build_info{version=\"" TPD_VERSION "\",compiler=\"");
    ck_assert_ptr_null(strstr(text, "secret-id"));
    ck_assert_ptr_null(strstr(text, trace));
    ck_assert_ptr_null(strstr(text, "# EOF"));
    double value;
    ck_assert_int_eq(sscanf(strstr(text, "\nprocess_cpu_seconds_total ") + 1, "process_cpu_seconds_total %lf", &value), 1);
    ck_assert(value >= 0 && value < 1000);
    ck_assert_int_eq(sscanf(strstr(text, "\nprocess_start_time_seconds ") + 1, "process_start_time_seconds %lf", &value), 1);
    ck_assert(value > (double)time(NULL) - 600 && value < (double)time(NULL) + 2);
    ck_assert_int_eq(sscanf(strstr(text, "\nprocess_resident_memory_bytes ") + 1, "process_resident_memory_bytes %lf", &value),
                     1);
    ck_assert(value > 100000);
    ck_assert_int_eq(sscanf(strstr(text, "\nprocess_open_fds ") + 1, "process_open_fds %lf", &value), 1);
    ck_assert(value >= 3 && value < 100);
    free(text);
    tpd_stats_destroy(stats);
}
END_TEST

START_TEST(every_family_of_the_table_is_there_once) {
    static const struct {
        const char *name, *type;
    } families[] = {
#define X(NAME, name, TYPE, unit, help) {name, #TYPE},
#include "transposed/tbl/metrics.def"
#undef X
    };
    make();
    char *plain = text_of(false), *open = text_of(true);
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        char line[200], lower[16] = "";
        for (size_t j = 0; families[i].type[j] != '\0'; j++)
            lower[j] = (char)(families[i].type[j] + ('a' - 'A'));
        (void)snprintf(line, sizeof line, "# TYPE %s %s\n", families[i].name, lower);
        has(open, line);
        ck_assert_ptr_null(strstr(strstr(open, line) + 1, line));
        const char *tail = strcmp(lower, "counter") == 0 ? "_total" : strcmp(lower, "info") == 0 ? "_info" : "";
        (void)snprintf(line, sizeof line, "# TYPE %s%s %s\n", families[i].name, tail,
                       strcmp(lower, "info") == 0 ? "gauge" : lower);
        has(plain, line);
        ck_assert_ptr_null(strstr(strstr(plain, line) + 1, line));
    }
    free(plain);
    free(open);
    tpd_stats_destroy(stats);
}
END_TEST

START_TEST(openmetrics_has_its_own_marks) {
    make();
    char *text = text_of(true), line[300];
    size_t length = strlen(text);
    ck_assert_str_eq(text + length - 6, "# EOF\n");
    ck_assert_ptr_eq(strstr(text, "# EOF"), text + length - 6);
    ck_assert_ptr_null(strstr(text, "_created"));
    has(text, "# UNIT transposed_stage_duration_seconds seconds\n");
    has(text, "transposed_requests_total{endpoint=\"/v1/transpose\",format=\"npy\",code=\"200\"} 3\n");
    (void)snprintf(
        line, sizeof line,
        "transposed_request_duration_seconds_bucket{le=\"0.00025\"} 2 # {trace_id=\"%s\"} 0.000100001 1700000000.123\n", trace);
    has(text, line);
    has(text, "transposed_request_duration_seconds_bucket{le=\"+Inf\"} 4\n");
    /* An exemplar apart, both formats have the same samples. */
    char *plain = text_of(false), *rest = plain;
    for (char *at = strsep(&rest, "\n"); at != NULL; at = strsep(&rest, "\n"))
        if (at[0] != '#' && strncmp(at, "process_", 8) != 0 && at[0] != '\0')
            has(text, at);
    free(plain);
    free(text);
    tpd_stats_destroy(stats);
}
END_TEST

START_TEST(promtool_has_nothing_to_say) {
    if (system("command -v promtool >/dev/null 2>&1") != 0) {
        printf("waived: promtool is not here (Debian package prometheus), so nobody else has read the page\n");
        return;
    }
    char path[] = "/tmp/tpd-metrics-XXXXXX", command[200], complaint[4000] = "";
    make();
    char *text = text_of(false);
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(file);
    (void)snprintf(command, sizeof command, "promtool check metrics <%s 2>&1", path);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    size_t bytes = fread(complaint, 1, sizeof complaint - 1, pipe);
    int status = pclose(pipe);
    (void)unlink(path);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0 && bytes == 0, "promtool: %s", complaint);
    free(text);
    tpd_stats_destroy(stats);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("metrics");
    TCase *c = tcase_create("text");
    tcase_add_test(c, samples);
    tcase_add_test(c, every_family_of_the_table_is_there_once);
    tcase_add_test(c, openmetrics_has_its_own_marks);
    tcase_add_test(c, promtool_has_nothing_to_say);
    suite_add_tcase(s, c);
    return s;
}

int main(void) {
    return tpd_harness_main(suite());
}
