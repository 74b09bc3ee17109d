/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocation and mapping of memory for both parts of the boot. Each failure ends the boot. */
#include "boot/boot.h"
#include "console/terminal.h"
#include "entry/monitor.h"

void boot_refuse(const char *text, uint64_t number)
{
    terminal_failed(text, number);
    monitor_halt();
}

uint64_t boot_take(uint64_t pages)
{
    uint64_t address = page_pool_take(boot_pool, pages);

    if (address == 0) {
        boot_refuse("the hypervisor's memory is too small for its tables: pages", pages);
    }
    return address;
}

void boot_map_to(uint64_t *root, uint64_t start, uint64_t output, uint64_t bytes,
                 uint64_t attributes)
{
    if (!tables_map(root, boot_pool, start, output, page_up(bytes), attributes)) {
        boot_refuse("the hypervisor's tables can't map the range at", start);
    }
}

void boot_map(uint64_t *root, uint64_t start, uint64_t bytes, uint64_t attributes)
{
    boot_map_to(root, start, start, bytes, attributes);
}

void boot_map_runs(uint64_t *root, uint64_t start, const struct runs *runs, uint64_t attributes)
{
    if (!runs_map(root, boot_pool, start, runs, attributes)) {
        boot_refuse("the hypervisor's tables can't map the range at", start);
    }
}

void boot_map_between(uint64_t *root, const char *start, const char *end, uint64_t attributes)
{
    boot_map(root, (uint64_t)(uintptr_t)start, (uint64_t)(end - start), attributes);
}
