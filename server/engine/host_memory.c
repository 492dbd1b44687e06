/* host_memory.c -- how much memory a process may count on: the machine's, or less where a control group (v2) says so. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/engine/host_pool.h"

/* A container sees memory.max at the root of its mount; outside one, every folder above the process's own counts as well. */
static uint64_t limit_of(const char *folder) {
    char path[1200];
    unsigned long long limit;
    int length = snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", folder);
    if (length < 0 || (size_t)length >= sizeof path)
        return UINT64_MAX;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return UINT64_MAX;
    bool is_number = fscanf(file, "%19llu", &limit) == 1; /* the other word is "max" */
    (void)fclose(file);
    return is_number ? limit : UINT64_MAX;
}

static uint64_t group_limit(void) {
    char line[1024], folder[1024] = "";
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file != NULL) {
        while (fgets(line, sizeof line, file) != NULL)
            if (strncmp(line, "0::/", 4) == 0) {
                line[strcspn(line, "\n")] = '\0';
                (void)snprintf(folder, sizeof folder, "%s", line + 3);
            }
        (void)fclose(file);
    }
    uint64_t least = UINT64_MAX;
    for (;;) {
        if (strcmp(folder, "/") == 0)
            folder[0] = '\0';
        uint64_t limit = limit_of(folder);
        least = limit < least ? limit : least;
        char *last = strrchr(folder, '/');
        if (last == NULL)
            return least;
        *last = '\0';
    }
}

uint64_t tpd_host_memory_default(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    /* Where the system does not say, 1 GiB is what any machine that moves matrices has. */
    uint64_t machine = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : (uint64_t)1 << 30;
    uint64_t group = group_limit();
    return (group < machine ? group : machine) / 2;
}
