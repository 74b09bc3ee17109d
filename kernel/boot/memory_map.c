/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Free memory: the devicetree's memory nodes without the image, the devicetree itself, its memory
 * reservation block and /reserved-memory (Devicetree Specification, "/memory node", "Memory
 * Reservation Block", "/reserved-memory Node"). Reserved memory is not mapped.
 */
#include "boot/memory_map.h"

#include "boot/memory_ranges.h"
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "mm/memory_boot.h"
#include <arch/image.h>
#include <arch/mmu.h>
#include <libfdt.h>

#define MEBIBYTE UINT64_C(1048576)

/* Returns the size of the devicetree's used part: QEMU's header says 1 MiB, of which 8 KiB are
 * used.
 */
static uint32_t devicetree_bytes;

static void grow(uint64_t *bytes, uint32_t offset, uint32_t size)
{
    if ((uint64_t)offset + size > *bytes) {
        *bytes = (uint64_t)offset + size;
    }
}

bool memory_map_devicetree(const void *blob)
{
    uint64_t bytes = sizeof(struct fdt_header);

    if (!arch_mmu_is_mapped((uintptr_t)blob) || fdt_check_header(blob) != 0) {
        return false;
    }
    grow(&bytes, fdt_off_mem_rsvmap(blob), sizeof(struct fdt_reserve_entry));
    grow(&bytes, fdt_off_dt_struct(blob), fdt_size_dt_struct(blob));
    grow(&bytes, fdt_off_dt_strings(blob), fdt_size_dt_strings(blob));
    if (bytes > fdt_totalsize(blob)) {
        return false;
    }
    devicetree_bytes = (uint32_t)bytes;
    return arch_mmu_map_constants((uintptr_t)blob, devicetree_bytes) == RESULT_OK;
}

static void report(bool fits)
{
    if (!fits) {
        print("boot: memory is in more than %u pieces: some of it is not used\n",
              MEMORY_RANGES_MAX);
    }
}

static void add_memory_nodes(struct memory_ranges *ranges)
{
    int node = devicetree_next_with(-1, "device_type", "memory");
    uint64_t address;
    uint64_t bytes;

    while (node >= 0) {
        for (unsigned i = 0; devicetree_reg(node, i, &address, &bytes) == RESULT_OK; i++) {
            report(memory_ranges_add(ranges, address, bytes));
        }
        node = devicetree_next_with(node, "device_type", "memory");
    }
}

static void remove_reservation_block(struct memory_ranges *ranges)
{
    const void *blob = devicetree_blob();
    uint32_t entries =
        (devicetree_bytes - fdt_off_mem_rsvmap(blob)) / (uint32_t)sizeof(struct fdt_reserve_entry);
    uint64_t address;
    uint64_t bytes;

    /* An entry of size 0 ends the block; the terminator may be missing. */
    for (uint32_t i = 0;
         i < entries && fdt_get_mem_rsv(blob, (int)i, &address, &bytes) == 0 && bytes != 0; i++) {
        report(memory_ranges_remove(ranges, address, bytes));
    }
}

static void remove_reserved_nodes(struct memory_ranges *ranges)
{
    static const char path[] = "/reserved-memory";
    int parent = devicetree_find(path, sizeof path - 1);
    int node = parent < 0 ? -1 : devicetree_next_child(parent, -1);
    uint64_t address;
    uint64_t bytes;

    while (node >= 0) {
        for (unsigned i = 0; devicetree_reg(node, i, &address, &bytes) == RESULT_OK; i++) {
            report(memory_ranges_remove(ranges, address, bytes));
        }
        node = devicetree_next_child(parent, node);
    }
}

/* Removes the pages of the image and of the devicetree, which are already mapped. */
static void remove_own(struct memory_ranges *ranges)
{
    uint64_t start = (uintptr_t)image_start;
    uint64_t blob = (uintptr_t)devicetree_blob();
    uint64_t blob_start = blob & ~(uint64_t)(PAGE_BYTES - 1);
    uint64_t limit = arch_mmu_address_limit();

    report(memory_ranges_remove(ranges, start, (uintptr_t)image_end - start));
    report(memory_ranges_remove(ranges, blob_start, blob + devicetree_bytes - blob_start));
    report(memory_ranges_remove(ranges, 0, PAGE_BYTES)); /* page 0 contains NULL */
    report(memory_ranges_remove(ranges, limit, UINT64_MAX));
}

static void use(const struct memory_range *range)
{
    size_t bytes = (size_t)(range->end - range->start);
    enum result result = arch_mmu_map_memory(range->start, bytes);

    if (result != RESULT_OK) {
        print("boot: memory at 0x%llx (%llu KiB) is not used: %s\n",
              (unsigned long long)range->start, (unsigned long long)bytes / 1024,
              result_text(result));
        return;
    }
    page_add_range((uintptr_t)range->start, bytes);
}

void memory_map_init(void)
{
    static struct memory_ranges ranges;
    uint64_t total;

    add_memory_nodes(&ranges);
    total = memory_ranges_bytes(&ranges);
    remove_reservation_block(&ranges);
    remove_reserved_nodes(&ranges);
    remove_own(&ranges);
    memory_ranges_align(&ranges, PAGE_BYTES);
    memory_init((size_t)total, (size_t)(image_end - image_start));
    for (unsigned i = 0; i < ranges.count; i++) {
        use(&ranges.range[i]);
    }
    print("memory: %llu MiB, %llu KiB free in %u pieces\n", (unsigned long long)(total / MEBIBYTE),
          (unsigned long long)(memory_ranges_bytes(&ranges) / 1024), ranges.count);
}
