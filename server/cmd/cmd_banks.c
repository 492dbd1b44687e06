/* cmd_banks.c -- `transposed banks`: the bank model asked on a terminal. Its parameters are tbl/banks.def's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/cmd/cmd.h"
#include "server/cmd/files.h"
#include "transposed/alloc.h"
#include "transposed/bank_report.h"

enum option { JSON = TPD_BANKS_PARAMETERS, SVG, OUT, ADDRESSES };
const struct tpd_option tpd_options_banks[] = {
#define X(NAME, name, flag, value, least, most, help) [TPD_BANKS_##NAME] = {flag, 0, value, help},
#include "transposed/tbl/banks.def"
#undef X
    [JSON] = {"json", 0, NULL, "Print JSON for programs"},
    [SVG] = {"svg", 0, NULL, "Print a picture: which item lies in which bank, and how one request is served"},
    [OUT] = {"output", 'o', "OUT", "Write here, whole or not at all (default -: standard output)"},
    [ADDRESSES] = {"addresses", 0, "FILE",
                   "Describe the warp requests in this file, as POST /v1/banks takes them (-: standard input)"},
    {NULL, 0, NULL, NULL},
};

struct asking {
    struct tpd_banks_ask ask;
    bool json, svg;
    const char *out, *addresses;
};

static enum tpd_status read_line(struct asking *asking, int argc, char **argv, struct tpd_error *error) {
    struct tpd_args args;
    enum tpd_status status = TPD_OK;
    tpd_args_init(&args, argc, argv, tpd_options_banks, false);
    for (int found; status == TPD_OK && (found = tpd_args_next(&args, error)) != TPD_ARG_END;) {
        if (found == TPD_ARG_OPERAND)
            status = tpd_fail(error, TPD_BAD_PARAMETER, "%.60s is one word too many", args.value);
        else if (found < 0)
            status = TPD_BAD_PARAMETER;
        else if (found == JSON)
            asking->json = true;
        else if (found == SVG)
            asking->svg = true;
        else if (found == OUT)
            asking->out = args.value;
        else if (found == ADDRESSES)
            asking->addresses = args.value;
        else
            status = tpd_banks_ask_set(&asking->ask, (enum tpd_banks_parameter)found, args.value, error);
    }
    if (status == TPD_OK && asking->json && asking->svg)
        status = tpd_fail(error, TPD_BAD_PARAMETER, "--json and --svg are both there: give one of them");
    if (status == TPD_OK && asking->addresses != NULL && (asking->svg || asking->ask.given != 0))
        status = tpd_fail(error, TPD_BAD_PARAMETER, "--addresses says all by itself: beside it --json and --output are taken");
    return status != TPD_OK ? status : tpd_banks_ask_check(&asking->ask, error);
}

/* A terminal that does not refuse it: https://no-color.org. */
static bool wants_colour(const struct asking *asking) {
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return strcmp(asking->out, "-") == 0 && isatty(STDOUT_FILENO) && (no == NULL || no[0] == '\0') && terminal != NULL &&
           strcmp(terminal, "dumb") != 0;
}

static enum tpd_status answer_addresses(const struct asking *asking, struct tpd_buf *out, struct tpd_error *error) {
    struct tpd_source source;
    size_t most = TPD_BANKS_BODY_BYTES_MOST + 1, bytes = 0, got = 1; /* one more shows that there is more */
    char *body = tpd_alloc(most);
    if (body == NULL)
        return tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory to read %.120s", asking->addresses);
    enum tpd_status status = tpd_source_open(asking->addresses, &source, error);
    if (status == TPD_OK) {
        for (; status == TPD_OK && got != 0 && bytes < most; bytes += got)
            status = tpd_source_read(&source, body + bytes, most - bytes, &got, error);
        tpd_source_close(&source);
    }
    if (status == TPD_OK)
        status = asking->json ? tpd_banks_addresses_json(body, bytes, out, error)
                              : tpd_banks_addresses_table(body, bytes, wants_colour(asking), out, error);
    tpd_free(body);
    return status;
}

static enum tpd_status answer(const struct asking *asking, struct tpd_buf *out, struct tpd_error *error) {
    if (asking->addresses != NULL)
        return answer_addresses(asking, out, error);
    if (asking->svg)
        return tpd_banks_svg(&asking->ask, out, error);
    return asking->json ? tpd_banks_json(&asking->ask, out, error)
                        : tpd_banks_table(&asking->ask, wants_colour(asking), out, error);
}

int tpd_cmd_banks(int argc, char **argv) {
    struct asking asking = {.out = "-"};
    struct tpd_error error;
    struct tpd_buf out;
    tpd_banks_ask_init(&asking.ask);
    enum tpd_status status = read_line(&asking, argc, argv, &error);
    if (status != TPD_OK)
        return tpd_cmd_usage(TPD_COMMAND_BANKS, &error);
    /* A table has room for all of them, a picture for one. */
    if (asking.ask.kind == TPD_BANKS_OF_STRATEGY && !asking.svg) {
        asking.ask.every_strategy = !(asking.ask.given & 1u << TPD_BANKS_STRATEGY);
        asking.ask.every_itemsize = !(asking.ask.given & 1u << TPD_BANKS_ITEMSIZE);
    }
    tpd_buf_init(&out, TPD_BANKS_REPORT_BYTES_MOST);
    status = answer(&asking, &out, &error);
    if (status == TPD_OK && out.status != TPD_OK)
        status = tpd_fail(&error, out.status, "the answer could not be written: %s", tpd_status_meaning(out.status));
    if (status == TPD_OK)
        status = tpd_file_write(asking.out, out.data, out.bytes, &error);
    tpd_buf_fini(&out);
    if (status == TPD_OK)
        return TPD_EXIT_GOOD;
    if (asking.addresses == NULL && (tpd_status_http(status) == 400 || tpd_status_http(status) == 422))
        return tpd_cmd_usage(TPD_COMMAND_BANKS, &error);
    (void)fprintf(stderr, "transposed banks: %s\n", error.text);
    return TPD_EXIT_FAILED;
}
