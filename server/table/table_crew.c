/* table_crew.c -- equal steps of a table's work, for its threads. */
#include "server/table/table_internal.h"
#include "transposed/crew.h"

struct share {
    struct tpd_table_work *work;
    tpd_crew_step *step;
    void *self;
};

static void one_step(void *self, uint32_t index) {
    const struct share *share = self;
    share->step(share->work, share->self, index);
}

void tpd_crew_run(struct tpd_table_work *work, uint32_t count, tpd_crew_step *step, void *self) {
    struct share share = {work, step, self};
    tpd_crew_share(work->task->threads, count, one_step, &share);
}
