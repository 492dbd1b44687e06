/* cmd_run.c -- `transposed run`: one file through codec and engine, in this process. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/cmd/cmd.h"
#include "server/cmd/run.h"
#include "server/cmd/words.h"
#include "transposed/alloc.h"
#include "transposed/clock.h"
#include "transposed/log.h"

enum {
    /* Making a GPU ready takes longer than the CPU takes for this much, whatever the GPU. */
    GPU_LEAST_BYTES = 64 << 20
};
static const uint64_t FILE_MOST_BYTES = (uint64_t)1 << 46; /* 64 TiB: above every file, below every overflow */

enum option {
    OUT,
    FROM,
    TO,
    ROWS,
    COLS,
    BATCH,
    DTYPE,
    ITEMSIZE,
    STRATEGY,
    TILE,
    DEVICE,
    NONFINITE,
    TENSOR,
    DELIMITER,
    QUOTES,
    RAGGED,
    FILLER,
    THREADS,
    MEMORY,
    VERBOSE
};
const struct tpd_option tpd_options_run[] = {
    [OUT] = {"output", 'o', "OUT", "Write here, whole or not at all (default -: standard output)"},
    [FROM] = {"from", 0, "FORMAT",
              "Format of IN, one of"
#define X(NAME, name, type, suffixes, summary) " " name
#include "transposed/tbl/codecs.def"
#undef X
              " (default: by its name, else by its first bytes)"},
    [TO] = {"to", 0, "FORMAT", "Format of OUT (default: by its name; that of IN where the name has no suffix)"},
    [ROWS] = {"rows", 0, "N", "Rows of a raw matrix"},
    [COLS] = {"cols", 0, "N", "Columns of a raw matrix"},
    [BATCH] = {"batch", 0, "N", "Matrices back to back in raw input (default 1)"},
    [DTYPE] = {"dtype", 0, "DTYPE", "Item type of raw input, or to make of text (default float32 for raw)"},
    [ITEMSIZE] = {"itemsize", 0, "N", "Bytes of an opaque item, in place of --dtype"},
    [STRATEGY] = {"strategy", 0, "STRATEGY", "Tile strategy (default auto); `transposed strategies` lists them"},
    [TILE] = {"tile", 0, "ROWSxCOLS", "Tile of the strategies that take one (default auto)"},
    [DEVICE] = {"device", 0, "DEVICE", "auto, cpu, cuda, cuda:N or simt (default auto)"},
    [NONFINITE] = {"nonfinite", 0, "error|null|string", "NaN and infinity in JSON output (default error)"},
    [TENSOR] = {"tensor", 0, "NAME", "Which tensor of a safetensors file; what to call the one that is made"},
    [DELIMITER] = {"delimiter", 0, "BYTE",
                   "Between the cells of csv and tsv: a byte, or tab, comma, semicolon, colon, pipe, space"},
    [QUOTES] = {"quotes", 0, "on|off", "off: a quote in csv and tsv is a letter like any other (default on)"},
    [RAGGED] = {"ragged", 0, "error|pad", "Rows of csv and tsv that are too short: refused, or filled up (default error)"},
    [FILLER] = {"filler", 0, "TEXT", "What --ragged pad fills up with (default nothing)"},
    [THREADS] = {"threads", 0, "N", "Threads that work at once (default 0: all cores)"},
    [MEMORY] = {"memory", 0, "BYTES", "Most memory to hold at once, KiB MiB GiB (default: half of the machine's)"},
    [VERBOSE] = {"verbose", 'v', NULL, "Say on standard error what was done and how long each stage took"},
    {NULL, 0, NULL, NULL},
};

static enum tpd_status set_nonfinite(const char *text, enum tpd_nonfinite *nonfinite, struct tpd_error *error) {
    static const char *const words[] = {
        [TPD_NONFINITE_ERROR] = "error", [TPD_NONFINITE_NULL] = "null", [TPD_NONFINITE_STRING] = "string"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i], text) == 0) {
            *nonfinite = (enum tpd_nonfinite)i;
            return TPD_OK;
        }
    }
    return tpd_fail(error, TPD_BAD_PARAMETER, "--nonfinite is %.40s: it takes error, null or string", text);
}

static enum tpd_status set_option(struct tpd_run *run, int option, const char *text, struct tpd_error *error) {
    struct tpd_decode_options *decode = &run->decode;
    enum tpd_status status = TPD_OK;
    uint64_t number = 0;
    switch (option) {
    case OUT:
        run->out = text;
        break;
    case FROM:
        return tpd_run_set_format("from", text, &run->job.format_in, error);
    case TO:
        return tpd_run_set_format("to", text, &run->job.format_out, error);
    case ROWS:
        decode->has_rows = true;
        return tpd_args_uint("rows", text, 0, INT64_MAX, &decode->rows, error);
    case COLS:
        decode->has_cols = true;
        return tpd_args_uint("cols", text, 0, INT64_MAX, &decode->cols, error);
    case BATCH:
        decode->has_batch = true;
        return tpd_args_uint("batch", text, 0, INT64_MAX, &decode->batch, error);
    case DTYPE:
        decode->has_dtype = run->job.encode.has_dtype = true;
        status = tpd_dtype_find(text, &decode->dtype, error);
        run->job.encode.dtype = decode->dtype;
        break;
    case ITEMSIZE:
        decode->has_itemsize = true;
        status = tpd_args_uint("itemsize", text, 1, TPD_ITEMSIZE_MOST, &number, error);
        decode->itemsize = (uint32_t)number;
        break;
    case STRATEGY:
        run->job.strategy_is_explicit = strcmp(text, "auto") != 0;
        return tpd_strategy_find(text, &run->job.strategy, error);
    case TILE:
        run->job.tile_is_explicit = true;
        return tpd_tile_parse(text, &run->job.tile, error);
    case DEVICE:
        if (strlen(text) >= sizeof run->job.device || !tpd_word_is_device(text))
            return tpd_fail(error, TPD_UNKNOWN_DEVICE, "--device is %.40s: it takes auto, or what `transposed devices` lists",
                            text);
        (void)snprintf(run->job.device, sizeof run->job.device, "%s", text);
        run->names_device = strcmp(text, "auto") != 0;
        break;
    case NONFINITE:
        return set_nonfinite(text, &run->job.encode.nonfinite, error);
    case TENSOR:
        status = tpd_tensor_name(text, decode->tensor, error);
        memcpy(run->job.encode.tensor, decode->tensor, sizeof run->job.encode.tensor);
        break;
    case DELIMITER:
    case QUOTES:
    case RAGGED:
    case FILLER:
        status = tpd_table_option_parse(tpd_options_run[option].name, text, &decode->table, error);
        run->job.encode.has_delimiter = decode->table.has_delimiter;
        run->job.encode.delimiter = decode->table.delimiter;
        break;
    case THREADS:
        return tpd_args_uint("threads", text, 0, TPD_RUN_THREADS_MOST, &run->threads, error);
    case MEMORY:
        status = tpd_config_set(&run->config, TPD_KNOB_host_memory_bytes, text, TPD_SOURCE_FLAG, error);
        run->memory_bytes = run->config.host_memory_bytes;
        break;
    default:
        run->verbose = true;
    }
    return status;
}

/* Opens no GPU that this one job would not use. */
static enum tpd_status open_engine(struct tpd_run *run, struct tpd_error *error) {
    const char *device = run->job.device, *use = "none";
    if (strncmp(device, "cuda:", 5) == 0) {
        use = device;
    } else if (strcmp(device, "cuda") == 0 || (!run->names_device && (run->job.strategy_is_explicit || !run->source.has_bytes ||
                                                                      run->source.bytes >= GPU_LEAST_BYTES))) {
        const struct tpd_backend *cuda = tpd_backend_at(TPD_BACKEND_CUDA);
        if (cuda != NULL && cuda->count(NULL) != 0)
            use = "cuda:0";
        else if (run->names_device || run->job.strategy_is_explicit)
            use = "auto"; /* the engine then says why there is none */
    }
    run->config.cpu_threads = run->threads;
    enum tpd_status status = tpd_config_set(&run->config, TPD_KNOB_devices, use, TPD_SOURCE_FLAG, error);
    /* One job is not worth a measurement; what a daemon here has measured is. */
    if (status == TPD_OK)
        status = tpd_config_set(&run->config, TPD_KNOB_tune, "read", TPD_SOURCE_FLAG, error);
    if (status == TPD_OK)
        status = tpd_engine_create(&run->config, &run->engine, error);
    return status;
}

static enum tpd_status push(void *self, const void *bytes, size_t count, struct tpd_error *error) {
    struct tpd_job *job = self;
    return tpd_codec_at(job->format_in)->push(job->decoder, bytes, count, error);
}

static void say(const struct tpd_job *job, uint64_t total_ns) {
    (void)fprintf(stderr, "%" PRIu64 "x%" PRIu64, job->matrix.rows, job->matrix.cols);
    if (job->matrix.batch != 1)
        (void)fprintf(stderr, "x%" PRIu64, job->matrix.batch);
    (void)fprintf(stderr, " %s, %s to %s, %s on %s:", job->cells ? "cells" : tpd_dtype_name(job->matrix.dtype),
                  tpd_codec_name(job->format_in), tpd_codec_name(job->format_out),
                  job->strategy_name != NULL ? job->strategy_name : "nothing to move",
                  job->device_id[0] != '\0' ? job->device_id : "no device");
    for (int i = 0; i < TPD_STAGE_COUNT; i++)
        if (job->stage_ns[i] != 0)
            (void)fprintf(stderr, " %s %.3f ms,", tpd_stage_name((enum tpd_stage)i), (double)job->stage_ns[i] / 1e6);
    (void)fprintf(stderr, " total %.3f ms\n", (double)total_ns / 1e6);
}

static void nothing_to_tell(struct tpd_job *job) {
    (void)job;
}

/* Through codec and engine, as a request does. */
static enum tpd_status run_job(struct tpd_run *run, struct tpd_error *error) {
    uint64_t start = tpd_clock_ns();
    struct tpd_job *job = &run->job;
    enum tpd_status status = open_engine(run, error);
    if (status == TPD_OK)
        status = tpd_engine_check(run->engine, job, NULL, error);
    if (status != TPD_OK)
        return status;
    run->decode.memory = job->encode.memory = tpd_engine_job_memory(run->engine, job);
    run->decode.has_content_bytes = run->source.has_bytes && run->packing_in == TPD_PACKING_NONE;
    run->decode.content_bytes = run->source.bytes;
    run->decode.body_most_bytes = FILE_MOST_BYTES;
    job->encode.threads = tpd_run_threads(run);
    run->decode.has_out = true;
    run->decode.out = job->format_out;
    uint64_t received = tpd_clock_ns();
    bool is_mapped = tpd_codec_at(job->format_in)->text && tpd_run_map(run, job->encode.memory);
    run->decode.given = is_mapped ? &run->mapping.block : NULL;
    status = tpd_codec_at(job->format_in)->open(&run->decode, &job->decoder, error);
    if (status == TPD_OK && !is_mapped)
        status = tpd_run_receive(run, push, job, error);
    if (is_mapped)
        tpd_block_release(&run->mapping.block); /* if nobody took it */
    job->stage_ns[TPD_STAGE_RECEIVE] = tpd_clock_ns() - received;
    if (status != TPD_OK)
        return status;
    job->done = nothing_to_tell;
    tpd_engine_run(run->engine, job);
    if (job->status != TPD_OK) {
        *error = job->error;
        return job->status;
    }
    struct tpd_progress progress;
    status = tpd_run_open_output(run, error);
    tpd_progress_begin(&progress, "writing", job->answer.bytes);
    for (size_t at = 0; at < job->answer.bytes && status == TPD_OK; at += TPD_RUN_CHUNK_BYTES) {
        size_t part = job->answer.bytes - at < TPD_RUN_CHUNK_BYTES ? job->answer.bytes - at : TPD_RUN_CHUNK_BYTES;
        status = tpd_run_put(run, job->answer.start + at, part, error);
        tpd_progress_add(&progress, part);
    }
    tpd_progress_end(&progress);
    status = tpd_run_close_output(run, status, error);
    if (status == TPD_OK && run->verbose)
        say(job, tpd_clock_ns() - start);
    return status;
}

static enum tpd_status work(struct tpd_run *run, struct tpd_error *error) {
    enum tpd_status status = tpd_source_open(run->in, &run->source, error);
    run->chunk = tpd_alloc(TPD_RUN_CHUNK_BYTES);
    if (status == TPD_OK && run->chunk == NULL)
        status = tpd_fail(error, TPD_NO_MEMORY, "the system gave no memory to read with");
    if (status == TPD_OK)
        status = tpd_run_look(run, error);
    if (status != TPD_OK)
        return status;
    return tpd_run_is_table(run) ? tpd_run_table(run, error) : run_job(run, error);
}

static void print_error(const struct tpd_run *run, const struct tpd_error *error) {
    (void)fprintf(stderr, "transposed run: %s (%s)", error->text, tpd_status_slug(error->status));
    if (error->has & TPD_ERROR_HAS_LINE)
        (void)fprintf(stderr, " at line %" PRIu64 ", column %" PRIu64 " of %s", error->line, error->column, run->in);
    else if (error->has & TPD_ERROR_HAS_OFFSET)
        (void)fprintf(stderr, " at byte %" PRIu64 " of %s", error->offset, run->in);
    (void)fputc('\n', stderr);
}

int tpd_cmd_run(int argc, char **argv) {
    struct tpd_run run = {.out = "-", .source = {.fd = -1}, .sink = {.fd = -1}};
    struct tpd_args args;
    struct tpd_error error = {.text = ""};
    tpd_job_init(&run.job);
    tpd_config_defaults(&run.config);
    run.job.format_in = run.job.format_out = TPD_CODEC_COUNT;
    run.job.strategy = TPD_STRATEGY_AUTO;
    (void)snprintf(run.job.device, sizeof run.job.device, "auto");
    tpd_args_init(&args, argc, argv, tpd_options_run, false);
    for (int found; (found = tpd_args_next(&args, &error)) != TPD_ARG_END;) {
        bool good = found >= 0 && set_option(&run, found, args.value, &error) == TPD_OK;
        if (found == TPD_ARG_OPERAND) {
            good = run.in == NULL;
            if (!good)
                (void)tpd_fail(&error, TPD_BAD_PARAMETER, "%.60s is a second input: run takes one", args.value);
            run.in = args.value;
        }
        if (!good)
            return tpd_cmd_usage(TPD_COMMAND_RUN, &error);
    }
    if (run.in == NULL || (run.decode.has_dtype && run.decode.has_itemsize)) {
        (void)tpd_fail(&error, TPD_BAD_PARAMETER,
                       run.in == NULL ? "IN is missing: a file, or - for standard input"
                                      : "--dtype and --itemsize exclude each other");
        return tpd_cmd_usage(TPD_COMMAND_RUN, &error);
    }
    if (tpd_run_check_suffix(&run, &error) != TPD_OK)
        return tpd_cmd_usage(TPD_COMMAND_RUN, &error);
    tpd_log_configure(TPD_LOG_ERROR, TPD_LOG_LOGFMT);
    enum tpd_status status = work(&run, &error);
    if (status != TPD_OK)
        print_error(&run, &error);
    tpd_source_close(&run.source);
    tpd_job_fini(&run.job);
    tpd_engine_destroy(run.engine);
    tpd_free(run.chunk);
    return status == TPD_OK ? TPD_EXIT_GOOD : TPD_EXIT_FAILED;
}
