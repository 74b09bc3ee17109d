/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's memory, a shared file, as QEMU has mapped it in this process. */
#ifndef BENCH_PLUGIN_MEMORY_H
#define BENCH_PLUGIN_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLUGIN_MEMORY_LINE_BYTES_MAX 512u

struct plugin_memory {
    const char *name;    /* of the file, as in /proc/self/maps */
    uint64_t base;       /* physical address of the memory */
    uintptr_t mapped;    /* where it is mapped in this process; 0: not known yet */
    size_t mapped_bytes; /* of it */
};

/* Finds the mapping. QEMU makes it after it has loaded the plugin. */
static inline void plugin_memory_find(struct plugin_memory *memory)
{
    char line[PLUGIN_MEMORY_LINE_BYTES_MAX];
    FILE *maps = fopen("/proc/self/maps", "re");

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        char *rest;
        uintptr_t start = strtoul(line, &rest, 16);

        if (strstr(line, memory->name) != NULL) {
            uintptr_t end = strtoul(rest + 1, NULL, 16);

            if (memory->mapped == 0) {
                memory->mapped = start;
            }
            memory->mapped_bytes = end - memory->mapped;
        }
    }
    if (maps != NULL) {
        (void)fclose(maps);
    }
}

/* Returns the physical address of a pointer of QEMU, 0 if it is not into the machine's memory. */
static inline uint64_t plugin_memory_address(struct plugin_memory *memory, const void *pointer)
{
    uintptr_t host = (uintptr_t)pointer;

    if (memory->mapped == 0) {
        plugin_memory_find(memory);
    }
    if (memory->mapped == 0 || host - memory->mapped >= memory->mapped_bytes) {
        return 0;
    }
    return memory->base + (host - memory->mapped);
}

/* Returns where `bytes` from a physical address on are mapped, NULL if they are not in memory. */
static inline const void *plugin_memory_at(const struct plugin_memory *memory, uint64_t address,
                                           size_t bytes)
{
    uint64_t offset = address - memory->base;

    if (memory->mapped_bytes < bytes || offset > memory->mapped_bytes - bytes) {
        return NULL;
    }
    return (const void *)(memory->mapped + (uintptr_t)offset);
}

#endif
