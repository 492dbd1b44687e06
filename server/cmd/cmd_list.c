/* cmd_list.c -- `transposed devices`, `strategies` and `version`: what there is, as a table or as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "server/base/compiler.h"
#include "server/cmd/cmd.h"
#include "transposed/buf.h"
#include "transposed/transposed.h"

enum option { JSON };
const struct tpd_option tpd_options_list[] = {
    [JSON] = {"json", 0, NULL, "Print JSON for programs"},
    {NULL, 0, NULL, NULL},
};

/* Answers 0 or 1 for --json, or -1 when the command line was refused. */
static int wants_json(enum tpd_command_id command, int argc, char **argv) {
    struct tpd_args args;
    struct tpd_error error;
    unsigned given;
    tpd_args_init(&args, argc, argv, tpd_options_list, false);
    if (tpd_args_flags(&args, &given, &error) == TPD_OK)
        return (given & 1u << JSON) != 0;
    (void)tpd_cmd_usage(command, &error);
    return -1;
}

static int print_and_free(struct tpd_buf *text) {
    int rc = TPD_EXIT_FAILED;
    if (text->status == TPD_OK) {
        (void)fwrite(text->data, 1, text->bytes, stdout);
        rc = tpd_cmd_finish_output();
    } else {
        (void)fprintf(stderr, "transposed: %s\n", tpd_status_meaning(text->status));
    }
    tpd_buf_fini(text);
    return rc;
}

/* One device, opened with the least of a GPU that it can do with: a daemon may be using the rest. */
static void look(enum tpd_backend_id id, uint32_t index, uint32_t count, const struct tpd_error *none,
                 struct tpd_device_info *info) {
    const struct tpd_backend *backend = tpd_backend_at(id);
    struct tpd_device_options options = {.device_memory_bytes = 16u << 20, .lanes = id == TPD_BACKEND_CUDA ? 1 : 0};
    struct tpd_device *device = NULL;
    struct tpd_error error = {.text = ""};
    *info = (struct tpd_device_info){.kind = tpd_backend_name(id), .state = TPD_STATE_ABSENT};
    (void)snprintf(info->id, sizeof info->id, count != 0 && id == TPD_BACKEND_CUDA ? "%s:%" PRIu32 : "%s", info->kind, index);
    (void)snprintf(info->name, sizeof info->name, "%s", tpd_backend_summary(id));
    if (count == 0)
        (void)snprintf(info->reason, sizeof info->reason, "%s",
                       backend == NULL ? "this program was built without it" : none->text);
    else if (backend->open(index, &options, &device, &error) != TPD_OK)
        (void)snprintf(info->reason, sizeof info->reason, "%s", error.text);
    if (device != NULL) {
        backend->info(device, info);
        backend->close(device);
    }
}

/* Keys and values as `devices` of /stats has them; how much of a GPU this look took is nobody's business. */
static void device_json(struct tpd_buf *out, const struct tpd_device_info *info) {
    (void)tpd_buf_format(out, "{\"id\":\"%s\",\"kind\":\"%s\",\"state\":\"%s\",\"name\":", info->id, info->kind,
                         tpd_device_state_name(info->state));
    (void)tpd_buf_json_string(out, info->name);
    (void)tpd_buf_text(out, ",\"reason\":");
    if (info->reason[0] != '\0')
        (void)tpd_buf_json_string(out, info->reason);
    else
        (void)tpd_buf_text(out, "null");
    (void)tpd_buf_format(out, ",\"memory_total_bytes\":%" PRIu64 ",\"compute_capability\":", info->memory_total_bytes);
    if (info->compute_capability != 0)
        (void)tpd_buf_format(out, "\"%" PRIu32 ".%" PRIu32 "\"", info->compute_capability / 10, info->compute_capability % 10);
    else
        (void)tpd_buf_text(out, "null");
    (void)tpd_buf_format(out, ",\"multiprocessors\":%" PRIu32 ",\"instructions\":", info->multiprocessors);
    if (info->instructions != NULL)
        (void)tpd_buf_format(out, "\"%s\"}", info->instructions);
    else
        (void)tpd_buf_text(out, "null}");
}

int tpd_cmd_devices(int argc, char **argv) {
    int json = wants_json(TPD_COMMAND_DEVICES, argc, argv);
    if (json < 0)
        return TPD_EXIT_USAGE;
    struct tpd_buf out;
    tpd_buf_init(&out, 1 << 20);
    (void)tpd_buf_text(&out, json ? "{\"devices\":[" : "DEVICE     STATE    NAME\n");
    const char *comma = "";
    for (int id = 0; id < TPD_BACKEND_COUNT; id++) {
        const struct tpd_backend *backend = tpd_backend_at((enum tpd_backend_id)id);
        struct tpd_error none = {.text = ""};
        uint32_t count = backend != NULL ? backend->count(&none) : 0;
        for (uint32_t i = 0; i < (count != 0 ? count : 1) && i < TPD_DEVICES_MOST; i++) {
            struct tpd_device_info info;
            look((enum tpd_backend_id)id, i, count, &none, &info);
            if (json) {
                (void)tpd_buf_text(&out, comma);
                device_json(&out, &info);
                comma = ",";
            } else {
                (void)tpd_buf_format(&out, "%-10s %-8s %s%s%s%s%s\n", info.id, tpd_device_state_name(info.state), info.name,
                                     info.instructions != NULL ? ", " : "", info.instructions != NULL ? info.instructions : "",
                                     info.name[0] != '\0' && info.reason[0] != '\0' ? ": " : "", info.reason);
            }
        }
    }
    if (json)
        (void)tpd_buf_text(&out, "]}\n");
    return print_and_free(&out);
}

/* Bank conflicts in 256 x 256 items, or what is most like it that the strategy takes: the worst n-way of loads and stores, "-"
 * where it uses no shared memory. */
static void strategy_row(struct tpd_buf *out, enum tpd_strategy_id id, bool json) {
    static const uint32_t sizes[] = {1, 2, 4, 8, 16};
    const char *comma = "";
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct tpd_matrix square = {.rows = 256, .cols = 256, .batch = 1, .itemsize = sizes[i], .dtype = TPD_DTYPE_OPAQUE};
        const struct tpd_matrix matrix = tpd_strategy_fit(id, square);
        struct tpd_plan plan;
        struct tpd_figures figures;
        if (tpd_strategy_plan(id, &matrix, (struct tpd_tile){0, 0}, UINT64_MAX, &plan, NULL) != TPD_OK ||
            tpd_banks_of_plan(&plan, &figures, NULL) != TPD_OK) {
            if (!json)
                (void)tpd_buf_format(out, "%8s", "-");
            continue;
        }
        if (!json && plan.shared_bytes == 0) {
            (void)tpd_buf_format(out, "%8s", "-");
            continue;
        }
        uint32_t load = figures.shared[TPD_OP_LOAD].degree, store = figures.shared[TPD_OP_STORE].degree;
        if (json) {
            (void)tpd_buf_format(out, "%s\"%" PRIu32 "\":{\"load\":%" PRIu32 ",\"store\":%" PRIu32 "}", comma, sizes[i], load,
                                 store);
            comma = ",";
        } else {
            char both[32];
            (void)snprintf(both, sizeof both, "%" PRIu32 "/%" PRIu32, load, store);
            (void)tpd_buf_format(out, "%8s", both);
        }
    }
}

int tpd_cmd_strategies(int argc, char **argv) {
    int json = wants_json(TPD_COMMAND_STRATEGIES, argc, argv);
    if (json < 0)
        return TPD_EXIT_USAGE;
    struct tpd_buf out;
    tpd_buf_init(&out, 1 << 20);
    (void)tpd_buf_text(
        &out, json ? "{\"strategies\":["
                   : "Worst bank conflict of a warp's load/store (1 = none, - = no shared memory), by item size in bytes.\n"
                     "`transposed banks --strategy NAME` says how often.\n\n"
                     "STRATEGY         1       2       4       8      16  WHAT IT DOES\n");
    for (int i = 0; i < TPD_STRATEGY_COUNT; i++) {
        const struct tpd_strategy *strategy = tpd_strategy_at((enum tpd_strategy_id)i);
        if (json) {
            (void)tpd_buf_format(&out, "%s{\"name\":\"%s\",\"tiled\":%s,\"any_itemsize\":%s,\"summary\":", i == 0 ? "" : ",",
                                 strategy->name, strategy->tiled ? "true" : "false", strategy->any_itemsize ? "true" : "false");
            (void)tpd_buf_json_string(&out, strategy->summary);
            (void)tpd_buf_text(&out, ",\"degree\":{");
            strategy_row(&out, (enum tpd_strategy_id)i, true);
            (void)tpd_buf_text(&out, "}}");
        } else {
            (void)tpd_buf_format(&out, "%-10s", strategy->name);
            strategy_row(&out, (enum tpd_strategy_id)i, false);
            (void)tpd_buf_format(&out, "  %s\n", strategy->summary);
        }
    }
    if (json)
        (void)tpd_buf_text(&out, "]}\n");
    return print_and_free(&out);
}

int tpd_cmd_version(int argc, char **argv) {
    int json = wants_json(TPD_COMMAND_VERSION, argc, argv);
    if (json < 0)
        return TPD_EXIT_USAGE;
#ifdef __OPTIMIZE__
    const char *build = "optimised";
#else
    const char *build = "debug";
#endif
    struct tpd_buf out;
    tpd_buf_init(&out, 4096);
    if (json)
        (void)tpd_buf_format(&out, "{\"version\":\"%s\",\"build\":\"%s\",\"compiler\":\"%s\",\"cuda\":%s,\"cjson\":\"%s\"}\n",
                             tpd_version(), build, TPD_COMPILER, TPD_HAVE_CUDA ? "true" : "false", cJSON_Version());
    else
        (void)tpd_buf_format(&out, "transposed %s (%s, %s, %s CUDA, cJSON %s)\n", tpd_version(), build, TPD_COMPILER,
                             TPD_HAVE_CUDA ? "with" : "without", cJSON_Version());
    return print_and_free(&out);
}
