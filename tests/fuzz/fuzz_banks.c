/* fuzz_banks.c -- bodies of POST /v1/banks, and parameters of GET: any bytes end in an answer or in words. fuzz floor: banks
 *
 * A body that is accepted has an answer that is JSON, as many results as requests, and keeps the model's bounds.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transposed/bank_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(int holds, const char *what) {
    if (holds)
        return;
    (void)fprintf(stderr, "%s\n", what);
    abort();
}

static void body(const uint8_t *data, size_t bytes) {
    struct tpd_buf out;
    struct tpd_error error = {.status = TPD_OK};
    tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
    enum tpd_status status = tpd_banks_addresses_json((const char *)data, bytes, &out, &error);
    if (status != TPD_OK) {
        check(error.status == status && error.text[0] != '\0', "refused without words");
    } else {
        cJSON *answer = cJSON_Parse(out.data), *asked = cJSON_ParseWithLength((const char *)data, bytes), *one;
        check(answer != NULL && asked != NULL, "no JSON");
        cJSON *results = cJSON_GetObjectItem(answer, "requests");
        check(cJSON_GetArraySize(results) == cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(asked, "requests")),
              "results are missing");
        cJSON_ArrayForEach(one, results) {
            double wavefronts = cJSON_GetObjectItem(one, "wavefronts")->valuedouble,
                   ideal = cJSON_GetObjectItem(one, "ideal")->valuedouble;
            check(wavefronts >= ideal && wavefronts <= 32, "wavefronts out of bounds");
            check(cJSON_GetObjectItem(one, "excess")->valuedouble == wavefronts - ideal, "excess is another");
        }
        cJSON_Delete(answer);
        cJSON_Delete(asked);
    }
    tpd_buf_fini(&out);
}

typedef enum tpd_status writer(const struct tpd_banks_ask *ask, struct tpd_buf *out, struct tpd_error *error);

static enum tpd_status table(const struct tpd_banks_ask *ask, struct tpd_buf *out, struct tpd_error *error) {
    return tpd_banks_table(ask, true, out, error);
}

static void write(const struct tpd_banks_ask *ask, writer *write_it, bool is_json) {
    struct tpd_error error = {.status = TPD_OK};
    struct tpd_buf out;
    tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
    enum tpd_status status = write_it(ask, &out, &error);
    check(status == TPD_OK || error.text[0] != '\0', "refused without words");
    if (status == TPD_OK && is_json) {
        cJSON *answer = cJSON_Parse(out.data);
        check(answer != NULL, "the answer is no JSON");
        cJSON_Delete(answer);
    }
    tpd_buf_fini(&out);
}

/* Lines: the first byte names a parameter, the rest is its value. What is taken together is answered in every form. */
static void parameters(const uint8_t *data, size_t bytes) {
    struct tpd_banks_ask ask;
    struct tpd_error error;
    tpd_banks_ask_init(&ask);
    while (bytes != 0) {
        const uint8_t *end = memchr(data, '\n', bytes);
        size_t length = end != NULL ? (size_t)(end - data) : bytes, rest = bytes - length - (end != NULL);
        char text[64] = "";
        if (length > 1)
            (void)snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length - 1 : sizeof text - 1),
                           (const char *)data + 1);
        if (length != 0 &&
            tpd_banks_ask_set(&ask, (enum tpd_banks_parameter)(data[0] % TPD_BANKS_PARAMETERS), text, &error) != TPD_OK) {
            check(error.text[0] != '\0', "refused without words");
            return;
        }
        data += bytes - rest;
        bytes = rest;
    }
    if (tpd_banks_ask_check(&ask, &error) != TPD_OK)
        return;
    write(&ask, tpd_banks_json, true);
    write(&ask, table, false);
    write(&ask, tpd_banks_svg, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    body(data, bytes);
    parameters(data, bytes);
    return 0;
}
