/* ring.c -- the last requests one by one, in fixed slots that writers take in turn. */
#include <stdio.h>
#include <string.h>

#include "server/stats/stats_internal.h"
#include "transposed/alloc.h"

enum tpd_status tpd_ring_init(struct tpd_ring *ring, uint32_t slots) {
    ring->slots = slots;
    ring->slot = tpd_alloc_zero(slots, sizeof *ring->slot);
    return ring->slot != NULL ? TPD_OK : TPD_NO_MEMORY;
}

void tpd_ring_fini(struct tpd_ring *ring) {
    tpd_free(ring->slot);
}

void tpd_ring_add(struct tpd_ring *ring, const struct tpd_record *record) {
    if (ring->slots == 0)
        return;
    struct tpd_recent recent;
    uint64_t bytes;
    memset(&recent, 0, sizeof recent); /* the padding too: it is copied */
    recent.at_unix_ns = record->at_unix_ns;
    recent.total_ns = record->total_ns;
    recent.matrix = record->matrix;
    if (tpd_matrix_bytes(&record->matrix, &bytes, NULL) == TPD_OK) /* a request that was refused may have no shape yet */
        recent.bytes = bytes;
    memcpy(recent.stage_ns, record->stage_ns, sizeof recent.stage_ns);
    recent.strategy = record->strategy;
    recent.tile = record->tile;
    recent.http_status = record->http_status;
    recent.cells = record->cells;
    recent.format_in = (unsigned char)record->format_in;
    recent.format_out = (unsigned char)record->format_out;
    (void)snprintf(recent.device, sizeof recent.device, "%.15s", record->device != NULL ? record->device : "");
    (void)snprintf(recent.id, sizeof recent.id, "%.*s", TPD_ID_BYTES - 1, record->id);
    uint64_t number = atomic_fetch_add_explicit(&ring->head, 1, memory_order_relaxed);
    struct tpd_slot *slot = &ring->slot[number % ring->slots];
    (void)tpd_words_write(&slot->version, slot->word, 2 * number + 1, &recent, sizeof recent);
}

bool tpd_ring_read(struct tpd_ring *ring, uint64_t number, struct tpd_recent *recent) {
    struct tpd_slot *slot = &ring->slot[number % ring->slots];
    return tpd_words_read(&slot->version, slot->word, recent, sizeof *recent) == 2 * number + 2;
}
