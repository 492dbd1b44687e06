/* table_pipe.c -- a table's panels on several threads: one is written while the next is made, and nobody waits for a panel's end.
 *
 * All steps lie in one row: each panel's chunks, and behind the first chunk of the next panel the writing of it. They are begun
 * in that order, and one that needs another to be over needs an earlier one; so some step can always go on, on one thread too.
 */
#include <pthread.h>

#include "server/table/table_internal.h"

struct pipe {
    const struct tpd_panel *panels;
    uint64_t count;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t *made;   /* a chunk: how many panels have its cells */
    uint64_t written; /* panels */
    enum tpd_status status;
    struct tpd_error error;
};

/* What step number `index` is: the writing of a panel, or a chunk of it. */
static void find_step(const struct pipe *pipe, uint32_t chunks, uint32_t index, uint64_t *panel, uint32_t *chunk, bool *writes) {
    const uint32_t each = chunks + 1;
    if (index < chunks) {
        *panel = 0;
        *chunk = index;
        *writes = false;
        return;
    }
    uint32_t turn = (index - chunks) / each, step = (index - chunks) % each;
    bool is_last = turn + 1 == pipe->count; /* no panel follows, and the writing is all there is */
    *writes = step == 1 || is_last;
    *panel = *writes ? turn : turn + 1;
    *chunk = step == 0 ? 0 : step - 1;
}

static bool is_made(const struct pipe *pipe, uint32_t chunks, uint64_t panel) {
    uint32_t i = 0;
    while (i < chunks && pipe->made[i] > panel)
        i++;
    return i == chunks;
}

static void step(struct tpd_table_work *work, void *self, uint32_t index) {
    struct pipe *pipe = self;
    uint64_t number;
    uint32_t i;
    bool writes;
    find_step(pipe, work->chunk_count, index, &number, &i, &writes);
    const struct tpd_panel *panel = &pipe->panels[number];
    struct tpd_chunk *chunk = &work->chunks[i];
    struct tpd_error error = {.text = ""};
    (void)pthread_mutex_lock(&pipe->lock);
    /* A chunk goes on in its rows where it stopped, in the place of the panel before the last one. */
    while (writes ? pipe->written != number || !is_made(pipe, work->chunk_count, number)
                  : pipe->made[i] != number || pipe->written + 1 < number)
        (void)pthread_cond_wait(&pipe->moved, &pipe->lock);
    enum tpd_status status = pipe->status;
    (void)pthread_mutex_unlock(&pipe->lock);
    if (status == TPD_OK && writes) {
        status = tpd_table_write(work, panel->out, panel->bytes, &error);
    } else if (status == TPD_OK) {
        tpd_table_fill(work, panel, i);
        status = chunk->status;
        error = chunk->error;
    }
    (void)pthread_mutex_lock(&pipe->lock);
    if (pipe->status == TPD_OK && status != TPD_OK) {
        pipe->status = status;
        pipe->error = error;
    }
    pipe->written += writes;
    pipe->made[i] += !writes;
    (void)pthread_cond_broadcast(&pipe->moved);
    (void)pthread_mutex_unlock(&pipe->lock);
}

enum tpd_status tpd_table_pipe(struct tpd_table_work *work, const struct tpd_panel *panels, uint64_t count, uint64_t *made,
                               struct tpd_error *error) {
    struct pipe pipe = {
        .panels = panels, .count = count, .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER, .made = made};
    for (uint32_t i = 0; i < work->chunk_count; i++)
        made[i] = 0;
    tpd_crew_run(work, (uint32_t)(count * (work->chunk_count + 1)), step, &pipe);
    (void)pthread_cond_destroy(&pipe.moved);
    (void)pthread_mutex_destroy(&pipe.lock);
    if (pipe.status != TPD_OK && error != NULL)
        *error = pipe.error;
    return pipe.status;
}
