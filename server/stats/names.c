/* names.c -- gives every name a small number, once, without a lock: a place in a fixed table belongs to who fills it first.
 *
 * All names come from tables in the source or are cut down to a fixed set here, so a client can't fill a table; should one fill
 * up all the same, what comes later is counted as `other`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/stats/stats_internal.h"

uint32_t tpd_names_place(struct tpd_names *names, const char *text) {
    for (uint32_t i = 0; text != NULL && i < TPD_NAMES_MOST - 1; i++) {
        const char *there = atomic_load_explicit(&names->text[i], memory_order_acquire);
        if (there == NULL &&
            atomic_compare_exchange_strong_explicit(&names->text[i], &there, text, memory_order_acq_rel, memory_order_acquire))
            return i;
        if (there == text || strcmp(there, text) == 0)
            return i;
    }
    return TPD_NAMES_MOST - 1;
}

/* A reader may see a count a moment before the name it belongs to: that moment is `other` too. */
const char *tpd_names_text(struct tpd_names *names, uint32_t place) {
    const char *text = place == TPD_NAMES_MOST - 1 ? NULL : atomic_load_explicit(&names->text[place], memory_order_acquire);
    return text != NULL ? text : "other";
}

uint32_t tpd_codes_place(struct tpd_stats *stats, int code) {
    for (uint32_t i = 0; i < TPD_CODES_MOST - 1; i++) {
        int there = atomic_load_explicit(&stats->codes[i], memory_order_relaxed);
        if (there == 0 &&
            atomic_compare_exchange_strong_explicit(&stats->codes[i], &there, code, memory_order_relaxed, memory_order_relaxed))
            return i;
        if (there == code)
            return i;
    }
    return TPD_CODES_MOST - 1;
}

int tpd_codes_number(struct tpd_stats *stats, uint32_t place) {
    return place == TPD_CODES_MOST - 1 ? 0 : atomic_load_explicit(&stats->codes[place], memory_order_relaxed);
}

const char *tpd_codes_text(struct tpd_stats *stats, uint32_t place, char text[16]) {
    int code = tpd_codes_number(stats, place);
    if (code == 0)
        return "other";
    (void)snprintf(text, 16, "%d", code);
    return text;
}

const char *tpd_format_name(uint32_t format) {
    return format < TPD_CODEC_COUNT ? tpd_codec_name((enum tpd_codec_id)format) : "none";
}

static const uint32_t class_sizes[TPD_ITEM_CLASSES] = {1, 2, 4, 8, 16, 0};

uint32_t tpd_item_class(uint32_t itemsize) {
    uint32_t i = 0;
    while (i < TPD_ITEM_CLASSES - 1 && class_sizes[i] != itemsize)
        i++;
    return i;
}

uint32_t tpd_item_class_size(uint32_t item_class) {
    return class_sizes[item_class];
}

/* A device id as a number: a back end has one place for its plain name and one for each ":N". */
enum { PLACES = TPD_DEVICES_MOST + 1, DEVICE_OTHER = TPD_BACKEND_COUNT * PLACES };

static uint32_t device_place(const char *device) {
    for (uint32_t i = 0; i < TPD_BACKEND_COUNT; i++) {
        const char *name = tpd_backend_name((enum tpd_backend_id)i);
        size_t length = strlen(name);
        if (strncmp(device, name, length) != 0)
            continue;
        if (device[length] == '\0')
            return i * PLACES + TPD_DEVICES_MOST;
        char *end;
        unsigned long number = device[length] == ':' ? strtoul(device + length + 1, &end, 10) : TPD_DEVICES_MOST;
        if (number < TPD_DEVICES_MOST && *end == '\0' && end != device + length + 1)
            return i * PLACES + (uint32_t)number;
    }
    return DEVICE_OTHER;
}

uint32_t tpd_rows_place(struct tpd_stats *stats, const char *strategy, uint32_t itemsize, const char *device) {
    uint32_t name = tpd_names_place(&stats->strategies, strategy);
    uint32_t key = 1 + (name * TPD_ITEM_CLASSES + tpd_item_class(itemsize)) * (DEVICE_OTHER + 1) + device_place(device);
    for (uint32_t i = 0; i < TPD_ROWS_MOST - 1; i++) {
        uint32_t there = atomic_load_explicit(&stats->row_keys[i], memory_order_relaxed);
        if (there == 0 &&
            atomic_compare_exchange_strong_explicit(&stats->row_keys[i], &there, key, memory_order_relaxed, memory_order_relaxed))
            return i;
        if (there == key)
            return i;
    }
    return TPD_ROWS_MOST - 1;
}

void tpd_rows_name(struct tpd_stats *stats, uint32_t place, struct tpd_row_name *name) {
    uint32_t key = place == TPD_ROWS_MOST - 1 ? 0 : atomic_load_explicit(&stats->row_keys[place], memory_order_relaxed);
    if (key == 0) {
        *name = (struct tpd_row_name){.strategy = "other", .device = "other", .item_class = TPD_ITEM_CLASSES - 1};
        return;
    }
    uint32_t device = (key - 1) % (DEVICE_OTHER + 1), rest = (key - 1) / (DEVICE_OTHER + 1);
    name->item_class = rest % TPD_ITEM_CLASSES;
    name->strategy = tpd_names_text(&stats->strategies, rest / TPD_ITEM_CLASSES);
    const char *kind = device == DEVICE_OTHER ? "other" : tpd_backend_name((enum tpd_backend_id)(device / PLACES));
    if (device == DEVICE_OTHER || device % PLACES == TPD_DEVICES_MOST)
        (void)snprintf(name->device, sizeof name->device, "%s", kind);
    else
        (void)snprintf(name->device, sizeof name->device, "%.8s:%u", kind, (unsigned)(device % PLACES));
}
