/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/interrupts.h"

#include "gic/list_register.h"
#include "gic/listed.h"
#include "gic/muted.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

/* Size of a group of registers with one bit for each of 1024 interrupts. */
#define BIT_REGISTERS_BYTES 0x80u
#define SGIS                0xffffu

unsigned interrupts_field_bits(uint32_t offset, uint32_t *first)
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

/* Writes priorities, and raises values below `least` to it. The bytes are written one by one,
 * because other bytes of the word may belong to other partitions. */
static void write_priorities(uintptr_t address, uint32_t value, uint32_t mask, uint8_t least)
{
    for (; mask != 0; address++, value >>= 8, mask >>= 8) {
        if ((mask & 0xff) != 0) {
            uint8_t priority = (uint8_t)value;

            device_write8(address, priority < least ? least : priority);
        }
    }
}

/* Returns true if the frame's interrupts may be in list registers. */
static bool are_listed(const struct interrupts *interrupts)
{
    return listed_has(interrupts->vcpu->partition);
}

/* Returns true if they may be in the list registers of the VCPU whose guest accesses the frame. */
static bool is_own_list(const struct interrupts *interrupts)
{
    return are_listed(interrupts) && (interrupts->listed_by >> interrupts->vcpu->number & 1) != 0;
}

/* Returns the value that the guest reads. `value`: the value of the GIC's register. An interrupt
 * that waits in a list register is active in the GIC and pending for the guest. In a list register
 * of another VCPU, waiting and active interrupts can't be distinguished, and both read as active. A
 * muted interrupt is disabled in the GIC and enabled for the guest, and it is listed. */
static uint32_t read_bits(const struct interrupts *interrupts, uint32_t offset, uint32_t first,
                          uint32_t value)
{
    struct listed_word listed = {0, 0};
    uint32_t muted;

    if (offset < GIC_ISENABLER || offset >= GIC_IPRIORITYR || !are_listed(interrupts)) {
        return value;
    }
    muted = muted_word(interrupts->vcpu->partition, first);
    if (offset < GIC_ISPENDR) {
        return value | muted;
    }
    if (is_own_list(interrupts)) {
        listed = listed_read(interrupts->vcpu, first);
    }
    if (offset < GIC_ISACTIVER) {
        return value | listed.pending;
    }
    return ((value | muted) & ~(listed.pending & ~listed.active)) | listed.active;
}

/* Returns GIC_ICENABLER, GIC_ICPENDR or GIC_ICACTIVER if the register at `offset` is of this kind,
 * otherwise 0. These registers clear a state that an interrupt in a list register has, too. */
static uint32_t clear_register_kind(uint32_t offset)
{
    uint32_t kind = offset - offset % BIT_REGISTERS_BYTES;

    return kind == GIC_ICENABLER || kind == GIC_ICPENDR || kind == GIC_ICACTIVER ? kind : 0;
}

static uint32_t sgi_bits(uint32_t first)
{
    return first == 0 ? SGIS : 0;
}

/* Returns those of the interrupts `ones` of a word that may be in a list register: PPIs and SPIs
 * that are active in the GIC, SPIs that are in a list register of this VCPU or muted, and all
 * SGIs. */
static uint32_t listable_of(const struct interrupts *interrupts, uint32_t first, uint32_t ones)
{
    uint32_t active = device_read32(interrupts->frame.interrupts + GIC_ISACTIVER + first / 8);

    return ones & (read_bits(interrupts, GIC_ISACTIVER, first, active) | active |
                   read_bits(interrupts, GIC_ISPENDR, first, 0) | sgi_bits(first));
}

/* Returns true if a write to GIC_ICACTIVER has to wait until VCPUs of other cores have followed
 * earlier writes. Otherwise a guest could repeatedly make an SPI pending, clear its active state,
 * and so interrupt another core, whose other VCPUs would pay for the exits. */
static bool must_wait(const struct interrupts *interrupts, uint32_t offset, uint32_t first,
                      uint32_t ones)
{
    return are_listed(interrupts) && clear_register_kind(offset) == GIC_ICACTIVER &&
           listed_is_revising(interrupts->vcpu, interrupts->listed_by) &&
           listable_of(interrupts, first, ones) != 0;
}

/* Writes ones to GIC_ICACTIVER. Returns those interrupts that may be in a list register. Sets
 * *uncalled to the VCPUs that have to be called, if there are such interrupts. */
static uint32_t clear_active(const struct interrupts *interrupts, uint32_t offset, uint32_t first,
                             uint32_t ones, uint32_t *uncalled)
{
    uint32_t held = listable_of(interrupts, first, ones);

    if (is_own_list(interrupts)) {
        struct listed_word listed = listed_read(interrupts->vcpu, first);

        /* They wait in a list register, and so are not active for the guest. */
        ones &= ~(listed.pending & ~listed.active);
    }
    if (held != 0) {
        *uncalled = listed_announce(interrupts->vcpu->partition, interrupts->listed_by);
    }
    device_write32(interrupts->frame.interrupts + offset, ones);
    return held;
}

/* Writes ones to a register with one bit for each interrupt, and makes list registers follow.
 * Zeroes have no effect in these registers, so the bits of other partitions are written as 0. */
static void write_bits(const struct interrupts *interrupts, uint32_t offset, uint32_t first,
                       uint32_t ones)
{
    uint32_t kind = are_listed(interrupts) ? clear_register_kind(offset) : 0, held, uncalled = 0;
    uint32_t muted = 0;

    if (kind == GIC_ICACTIVER) {
        held = clear_active(interrupts, offset, first, ones, &uncalled);
    } else {
        if (are_listed(interrupts) && first >= GIC_PRIVATE_COUNT && offset < GIC_ISPENDR) {
            muted = muted_write_enables(interrupts->vcpu, offset, first, ones);
        } else {
            device_write32(interrupts->frame.interrupts + offset, ones);
        }
        if (kind == GIC_ICENABLER) {
            /* After RWP reads as 0, no core acknowledges these interrupts any more (IHI 0069,
             * GICD_CTLR.RWP). */
            (void)gic_wait_clear(interrupts->frame.control, interrupts->frame.write_pending);
        }
        held = kind != 0 ? listable_of(interrupts, first, ones) | muted : 0;
    }
    if (held != 0) {
        listed_clear(interrupts->vcpu, interrupts->listed_by, uncalled, kind, first, held);
    }
}

enum access_result interrupts_access(const struct interrupts *interrupts, struct access *access)
{
    uint32_t offset = (uint32_t)access->offset, value = (uint32_t)access->value;
    uint32_t first, mask, all;
    unsigned bits = interrupts_field_bits(offset, &first);
    uintptr_t address = interrupts->frame.interrupts + offset;

    if (!access->write) {
        access->value = 0;
    }
    if (bits == 0) {
        return access->write ? ACCESS_REFUSED : ACCESS_DONE;
    }
    /* Registers have word accesses, and priorities byte accesses, too (IHI 0069, 12.1.3). */
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
    if (bits == 1 && must_wait(interrupts, offset, first, value & mask)) {
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
