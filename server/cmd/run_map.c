/* run_map.c -- a file of text that becomes something else is looked at where the system has it: no copy of it is made. */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/cmd/run.h"

static enum tpd_status acquire(struct tpd_memory *self, size_t bytes, struct tpd_block *block, struct tpd_error *error) {
    return tpd_block_acquire(((struct tpd_run_mapping *)(void *)self)->behind, bytes, block, error);
}

static void release(struct tpd_memory *self, struct tpd_block *block) {
    (void)munmap(block->origin, ((struct tpd_run_mapping *)(void *)self)->whole_bytes);
}

/* A page of nothing, the file's pages, and one more of nothing: what a file's last page has left reads as zeros too. */
bool tpd_run_map(struct tpd_run *run, struct tpd_memory *behind) {
    struct tpd_run_mapping *mapping = &run->mapping;
    struct stat about;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *mapping = (struct tpd_run_mapping){.memory = {acquire, release, NULL}, .behind = behind};
    if (run->packing_in != TPD_PACKING_NONE || !run->source.has_bytes || run->source.start != 0 || run->source.bytes == 0 ||
        fstat(run->source.fd, &about) != 0 || !S_ISREG(about.st_mode) || (uint64_t)about.st_size != run->source.bytes)
        return false;
    size_t bytes = (size_t)run->source.bytes, whole = (bytes + page - 1) / page * page + 2 * page;
    unsigned char *place = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED)
        return false;
    if (mmap(place + page, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, run->source.fd, 0) == MAP_FAILED) {
        (void)munmap(place, whole);
        return false;
    }
    mapping->whole_bytes = whole;
    mapping->block = (struct tpd_block){.data = place + page,
                                        .bytes = bytes,
                                        .capacity_bytes = bytes + TPD_TEXT_PAD,
                                        .memory = &mapping->memory,
                                        .origin = place};
    return true;
}
