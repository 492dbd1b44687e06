/* job.c -- a job's beginning and end, and the names of what happens between. */
#include "transposed/job.h"

#include <string.h>

#include "server/engine/engine_internal.h"

const char *tpd_stage_name(enum tpd_stage stage) {
    static const char *const names[TPD_STAGE_COUNT] = {"receive", "decode", "queue", "h2d", "kernel", "d2h", "encode"};
    return names[stage];
}

void tpd_job_init(struct tpd_job *job) {
    memset(job, 0, sizeof *job);
    job->strategy = TPD_STRATEGY_AUTO;
    memcpy(job->device, "auto", sizeof "auto");
    job->strategy_name = "";
}

void tpd_job_give_back(struct tpd_job *job) {
    tpd_early_abandon(job);
    if (job->decoder != NULL)
        tpd_codec_at(job->format_in)->close(job->decoder);
    job->decoder = NULL;
    tpd_payload_release(&job->payload);
    struct tpd_job_memory *memory = &job->memory;
    if (memory->engine == NULL)
        return;
    /* All that is held now is the answer, which is sent when the job is gone. */
    struct tpd_host_pool *pool = memory->engine->pool;
    if (job->answer.block.memory == &memory->memory)
        job->answer.block.memory = tpd_host_pool_memory(pool);
    if (memory->reserved_bytes > memory->held_bytes)
        tpd_host_pool_unreserve(pool, memory->reserved_bytes - memory->held_bytes);
    memset(memory, 0, sizeof *memory);
}

void tpd_job_fini(struct tpd_job *job) {
    tpd_job_give_back(job);
    tpd_encoded_release(&job->answer);
}
