/* machine_cpu.c -- what the CPU back end asks the system about its processor. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cpu/cpu.h"

/* Best first. */
static const struct tpd_cpu_ops *const every_ops[] = {
#if defined(__x86_64__)
    &tpd_cpu_avx512,
    &tpd_cpu_avx2,
#elif defined(__aarch64__)
    &tpd_cpu_neon,
#endif
    &tpd_cpu_portable,
};

bool tpd_cpu_runs(const struct tpd_cpu_ops *ops) {
#if defined(__x86_64__)
    if (ops == &tpd_cpu_avx512) /* the system saves the large registers as well: the compiler's test asks that too */
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx2");
    if (ops == &tpd_cpu_avx2)
        return __builtin_cpu_supports("avx2");
#endif
    return ops != NULL;
}

const struct tpd_cpu_ops *tpd_cpu_ops(void) {
    const struct tpd_cpu_ops *const *ops = every_ops;
    while (!tpd_cpu_runs(*ops))
        ops++;
    return *ops;
}

uint32_t tpd_cpu_cores(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* more than 1024 processors: the set is too small to be told */
    return online > 0 ? (uint32_t)online : 1;
}

void tpd_cpu_model(char *name, size_t room) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    snprintf(name, room, "%s", "CPU");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "model name", 10) != 0)
            continue;
        const char *value = strchr(line, ':');
        if (value == NULL)
            continue;
        value += 1 + strspn(value + 1, " \t");
        snprintf(name, room, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (file != NULL)
        (void)fclose(file);
}

uint64_t tpd_cpu_memory_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

/* A virtual machine is told the whole socket's cache, of which it gets what the neighbours leave: no more than a slice a core
 * is believed. (On 2 cores of a socket said to have 480 MiB, streaming wins from 8 MiB.) */
static size_t stream_from_bytes(void) {
    const size_t slice = (size_t)4 << 20;
    const size_t slices = slice * tpd_cpu_cores();
    long third = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return third > 0 && (size_t)third < slices ? (size_t)third : slices;
}

/* Two tiles, and as much again for what is read ahead and written, are to fit in a core's own cache. */
static size_t tile_bytes(void) {
    long second = sysconf(_SC_LEVEL2_CACHE_SIZE);
    size_t bytes =
        second > 0 ? (size_t)second * 9 / 32 / TPD_CPU_LINE * TPD_CPU_LINE : TPD_CPU_TILE_MOST / 4 / TPD_CPU_LINE * TPD_CPU_LINE;
    if (bytes > TPD_CPU_TILE_MOST)
        return TPD_CPU_TILE_MOST;
    return bytes < TPD_CPU_TILE_LEAST ? TPD_CPU_TILE_LEAST : bytes;
}

struct tpd_cpu_limits tpd_cpu_machine(void) {
    struct tpd_cpu_limits limits = {.stream_from_bytes = stream_from_bytes(), .tile_bytes = tile_bytes()};
    return limits;
}
