/* SPDX-License-Identifier: BSD-2-Clause */
/* The places of records in the partition's kept memory. */
#include "kept/places.h"
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/kept.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include <arch/mmu.h>
#include <string.h>

static size_t taken; /* bytes of the kept memory; changed with interrupts masked */

/* Takes `bytes`, rounded up to KEPT_ALIGNMENT, of a memory of `all` bytes. Returns their offset, or
 * SIZE_MAX if less is left. */
static size_t reserve(size_t bytes, size_t all)
{
    interrupt_state state = interrupts_save();
    size_t offset = SIZE_MAX;
    size_t left = taken < all ? all - taken : 0;

    if (bytes <= left) {
        offset = taken;
        taken += (bytes + KEPT_ALIGNMENT - 1) & ~(KEPT_ALIGNMENT - 1);
    }
    interrupts_restore(state);
    return offset;
}

void kept_forget_places(void)
{
    taken = 0;
}

enum result kept_find_region(const char *compatible, struct kept_region *region)
{
    int node = devicetree_next_compatible(-1, compatible);
    enum result result = RESULT_NOT_FOUND;

    *region = (struct kept_region){.bytes = 0};
    if (node >= 0) {
        result = devicetree_reg(node, 0, &region->address, &region->bytes);
    }
    if (result == RESULT_OK) {
        result = (region->address | region->bytes) % PAGE_BYTES != 0
                     ? RESULT_INVALID
                     : arch_mmu_map_memory(region->address, (size_t)region->bytes);
    }
    return result;
}

enum result kept_take(size_t bytes, void **place)
{
    struct kept_region region;
    enum result result = kept_find_region("bulkhead,kept", &region);
    size_t offset;

    if (result != RESULT_OK) {
        return result;
    }
    offset = reserve(bytes, (size_t)region.bytes);
    if (offset == SIZE_MAX) {
        return RESULT_OVERFLOW;
    }
    *place = (void *)((uintptr_t)region.address + offset);
    return RESULT_OK;
}

enum kept_start kept_open(struct kept_record *record, const struct kept_format *format,
                          void *content, size_t *bytes)
{
    enum kept_start start = KEPT_NOWHERE;
    void *place = NULL;
    enum result result = kept_take(kept_record_bytes(format->bytes_max), &place);

    if (result == RESULT_OK) {
        start = kept_open_at(record, place, format, content, bytes);
    } else {
        *record = (struct kept_record){.newest = 1};
        *bytes = 0;
        memset(content, 0, format->bytes_max);
    }
    if (start == KEPT_NOWHERE) {
        print("kept: %s: cold start: %s (%s)\n", format->name, kept_start_text(start),
              result_text(result));
    } else if (start != KEPT_RESTORED && start != KEPT_EMPTY) {
        print("kept: %s: %s%s\n", format->name,
              kept_is_restored(start) ? "" : "cold start: ", kept_start_text(start));
    }
    return start;
}
