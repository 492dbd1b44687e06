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

/* The first byte names the parameter, the rest is its value; what is taken is answered. */
static void parameter(const uint8_t *data, size_t bytes) {
    struct tpd_banks_ask ask;
    struct tpd_error error;
    struct tpd_buf out;
    char text[64];
    size_t length = bytes - 1 < sizeof text - 1 ? bytes - 1 : sizeof text - 1;
    memcpy(text, data + 1, length);
    text[length] = '\0';
    tpd_banks_ask_init(&ask);
    if (tpd_banks_ask_set(&ask, (enum tpd_banks_parameter)(data[0] % TPD_BANKS_PARAMETERS), text, &error) != TPD_OK ||
        tpd_banks_ask_check(&ask, &error) != TPD_OK) {
        check(error.text[0] != '\0', "refused without words");
        return;
    }
    tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
    if (tpd_banks_json(&ask, &out, &error) == TPD_OK) {
        cJSON *answer = cJSON_Parse(out.data);
        check(answer != NULL, "the answer is no JSON");
        cJSON_Delete(answer);
    }
    tpd_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    body(data, bytes);
    if (bytes != 0)
        parameter(data, bytes);
    return 0;
}
