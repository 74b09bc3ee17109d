/* SPDX-License-Identifier: BSD-2-Clause */
/* Initialization and statistics of memory management. */
#include "kernel/memory.h"
#include "mm/heap.h"
#include "mm/memory_boot.h"
#include "mm/pages.h"

static struct {
    size_t ram_bytes;
    size_t image_bytes;
} machine;

void memory_init(size_t ram_bytes, size_t image_bytes)
{
    machine.ram_bytes = ram_bytes;
    machine.image_bytes = image_bytes;
    pages_init();
    heap_init();
}

void memory_statistics(struct memory_statistics *statistics)
{
    *statistics = (struct memory_statistics){.ram_bytes = machine.ram_bytes,
                                             .image_bytes = machine.image_bytes};
    pages_count(&statistics->page_used_bytes, &statistics->page_free_bytes);
    heap_count(statistics);
}
