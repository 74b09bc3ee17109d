/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/interrupts.h"

#include "gic/gic_registers.h"
#include "gic/listed.h"
#include <arch/device_access.h>

#define BIT_REGISTERS_BYTES 0x80u /* 1024 interrupts, one bit each */
#define SGIS                0xffffu
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
static void write_priorities(uintptr_t address, uint32_t value, uint32_t mask, uint8_t least)
{
    for (; mask != 0; address++, value >>= 8, mask >>= 8) {
        if ((mask & 0xff) != 0) {
            uint8_t priority = (uint8_t)value;

            device_write8(address, priority < least ? least : priority);
        }
    }
}

/* Returns true if they may be in list registers of a VCPU. */
static bool are_listed(const struct interrupts *interrupts)
{
    return listed_has(interrupts->vcpu->partition);
}

static bool is_own_list(const struct interrupts *interrupts)
{
    return are_listed(interrupts) && (interrupts->listed_by >> interrupts->vcpu->number & 1) != 0;
}

/* Returns the register's value as the guest sees it, where the GIC has `value`. An interrupt that
 * waits in a list register is active in the GIC and pending for the guest. In the list registers of
 * another VCPU the two can't be told apart: there it is active for the guest, too. */
static uint32_t read_bits(const struct interrupts *interrupts, uint32_t offset, uint32_t first,
                          uint32_t value)
{
    struct listed_word listed;

    if (offset < GIC_ISPENDR || offset >= GIC_IPRIORITYR || !is_own_list(interrupts)) {
        return value;
    }
    listed = listed_read(interrupts->vcpu, first);
    return offset < GIC_ISACTIVER ? value | listed.pending
                                  : (value & ~(listed.pending & ~listed.active)) | listed.active;
}

/* Returns the kind of a register that clears a state which a list register may have: its offset for
 * the first interrupts; else 0. */
static uint32_t clear_of(uint32_t offset)
{
    uint32_t kind = offset - offset % BIT_REGISTERS_BYTES;

    return kind == GIC_ICENABLER || kind == GIC_ICPENDR || kind == GIC_ICACTIVER ? kind : 0;
}

static uint32_t sgis(uint32_t first)
{
    return first == 0 ? SGIS : 0;
}

/* Returns those of a word that may be in a list register. */
static uint32_t held_of(const struct interrupts *interrupts, uint32_t first, uint32_t ones)
{
    return ones &
           (device_read32(interrupts->frame.interrupts + GIC_ISACTIVER + first / 8) | sgis(first));
}

/* Returns true if a write to GIC_ICACTIVER has to wait until other cores' VCPUs have followed
 * earlier writes. Otherwise a guest could make an SPI pending, clear its active state, and so
 * interrupt another core again and again, whose other VCPUs pay for it. */
static bool has_to_wait(const struct interrupts *interrupts, uint32_t offset, uint32_t first,
                        uint32_t ones)
{
    return are_listed(interrupts) && clear_of(offset) == GIC_ICACTIVER &&
           listed_is_revising(interrupts->vcpu, interrupts->listed_by) &&
           held_of(interrupts, first, ones) != 0;
}

/* Writes ones to GIC_ICACTIVER. Returns those that may be in a list register. *uncalled: the VCPUs
 * that have to be told. */
static uint32_t clear_active(const struct interrupts *interrupts, uint32_t offset, uint32_t first,
                             uint32_t ones, uint32_t *uncalled)
{
    uint32_t held = held_of(interrupts, first, ones);

    if (is_own_list(interrupts)) {
        struct listed_word listed = listed_read(interrupts->vcpu, first);

        ones &= ~(listed.pending & ~listed.active); /* for the guest it is not active */
    }
    if (held != 0) {
        *uncalled = listed_announce(interrupts->vcpu->partition, interrupts->listed_by);
    }
    device_write32(interrupts->frame.interrupts + offset, ones);
    return held;
}

/* Writes ones. Zeroes have no effect in these registers, so bits of other partitions are written as
 * 0. */
static void write_bits(const struct interrupts *interrupts, uint32_t offset, uint32_t first,
                       uint32_t ones)
{
    uint32_t kind = are_listed(interrupts) ? clear_of(offset) : 0, held, uncalled = 0;

    if (kind == GIC_ICACTIVER) {
        held = clear_active(interrupts, offset, first, ones, &uncalled);
    } else {
        device_write32(interrupts->frame.interrupts + offset, ones);
        if (kind == GIC_ICENABLER) {
            /* None is acknowledged any more once RWP is clear (IHI 0069, GICD_CTLR.RWP). */
            (void)gic_wait_clear(interrupts->frame.control, interrupts->frame.write_pending);
        }
        held = kind != 0 ? held_of(interrupts, first, ones) : 0;
    }
    if (held != 0) {
        listed_clear(interrupts->vcpu, interrupts->listed_by, uncalled, kind, first, held);
    }
}

enum access_result interrupts_access(const struct interrupts *interrupts, struct access *access)
{
    uint32_t offset = (uint32_t)access->offset, value = (uint32_t)access->value;
    uint32_t first, mask, all;
    unsigned bits = field_bits(offset, &first);
    uintptr_t address = interrupts->frame.interrupts + offset;

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
        uint32_t read = access->bytes == 4 ? device_read32(address) : device_read8(address);

        access->value = read_bits(interrupts, offset, first, read) & mask;
        return ACCESS_DONE;
    }
    if (bits == 1 && has_to_wait(interrupts, offset, first, value & mask)) {
        return ACCESS_AGAIN;
    }
    if (bits == 8) {
        write_priorities(address, value, mask,
                         are_listed(interrupts) ? PRIORITY_LISTED_MIN : PRIORITY_DIRECT_MIN);
    } else if (bits == 1 && offset >= GIC_ISENABLER && (value & mask) != 0) {
        write_bits(interrupts, offset, first, value & mask);
    }
    /* Writes to groups and triggers are ignored. */
    return ((bits == 1 ? value : all) & ~mask) == 0 ? ACCESS_DONE : ACCESS_REFUSED;
}
