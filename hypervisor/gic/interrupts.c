/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/interrupts.h"

#include "gic/gic_registers.h"
#include "gic/internal.h"
#include <arch/device_access.h>

#define BIT_REGISTERS_BYTES 0x80u /* 1024 interrupts, one bit each */

/* Returns the number of bits that each interrupt has in the register at `offset`, and sets *first
 * to the register's first interrupt. Returns 0 if there is no such register. */
static unsigned field_bits(uint32_t offset, uint32_t *first)
{
    if (offset >= GIC_IGROUPR && offset < GIC_IPRIORITYR) {
        *first = offset % BIT_REGISTERS_BYTES * 8;
        return 1;
    }
    if (offset >= GIC_IPRIORITYR && offset < GIC_IPRIORITYR + 8 * BIT_REGISTERS_BYTES) {
        *first = offset - GIC_IPRIORITYR;
        return 8;
    }
    if (offset >= GIC_ICFGR && offset < GIC_ICFGR + 2 * BIT_REGISTERS_BYTES) {
        *first = (offset - GIC_ICFGR) * 4;
        return 2;
    }
    return 0;
}

static uint32_t owned_fields(const struct interrupts *interrupts, uint32_t first, unsigned bits,
                             unsigned width)
{
    uint32_t mask = 0;

    for (unsigned shift = 0; shift < width; shift += bits, first++) {
        if (first / 32 < interrupts->words && (interrupts->owned[first / 32] >> first % 32 & 1)) {
            mask |= ((UINT32_C(1) << bits) - 1) << shift;
        }
    }
    return mask;
}

/* Writes the bytes one by one, because others in the word may belong to other partitions. */
static void write_priorities(uintptr_t address, uint32_t value, uint32_t mask)
{
    for (; mask != 0; address++, value >>= 8, mask >>= 8) {
        if ((mask & 0xff) != 0) {
            uint8_t priority = (uint8_t)value;

            device_write8(address, priority < PRIORITY_GUEST_MIN ? PRIORITY_GUEST_MIN : priority);
        }
    }
}

enum access_result interrupts_access(const struct interrupts *interrupts, struct access *access)
{
    uint32_t offset = (uint32_t)access->offset, value = (uint32_t)access->value;
    uint32_t first, mask, all;
    unsigned bits = field_bits(offset, &first);
    uintptr_t address = interrupts->frame + offset;

    if (!access->write) {
        access->value = 0;
    }
    if (bits == 0) {
        return access->write ? ACCESS_REFUSED : ACCESS_DONE;
    }
    /* IHI 0069, 12.1.3: word accesses; byte accesses to priorities, too. */
    if (access->bytes != 4 && (access->bytes != 1 || bits != 8)) {
        return ACCESS_REFUSED;
    }
    all = access->bytes == 4 ? UINT32_MAX : 0xff;
    mask = owned_fields(interrupts, first, bits, access->bytes * 8u);
    if (!access->write) {
        access->value =
            (access->bytes == 4 ? device_read32(address) : device_read8(address)) & mask;
        return ACCESS_DONE;
    }
    if (bits == 8) {
        write_priorities(address, value, mask);
    } else if (bits == 1 && offset >= GIC_ISENABLER && (value & mask) != 0) {
        /* Writing 0 has no effect in these registers, so bits of other partitions are written as
         * 0. */
        device_write32(address, value & mask);
    }
    /* Writes to groups and triggers are ignored. */
    return ((bits == 1 ? value : all) & ~mask) == 0 ? ACCESS_DONE : ACCESS_REFUSED;
}
