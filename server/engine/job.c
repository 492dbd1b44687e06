/* job.c -- a job's beginning and end, and the names of what happens between. */
#include "transposed/job.h"

#include <string.h>

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

void tpd_job_fini(struct tpd_job *job) {
    if (job->decoder != NULL)
        tpd_codec_at(job->format_in)->close(job->decoder);
    job->decoder = NULL;
    tpd_payload_release(&job->payload);
    tpd_encoded_release(&job->answer);
}
