/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GICv3 and 4 at Non-secure EL1 (IHI 0069): private and shared peripheral interrupts; its.c adds
 * LPIs.
 *
 * All interrupts are Group 1: with one security state, Group 0 belongs to a hypervisor. The driver
 * writes only the register bits of interrupts that the kernel attaches, and does not rely on the
 * effect of a write, because a hypervisor may own the rest.
 */
#include "gic/gic_private.h"
#include "interrupt/controller.h"
#include "kernel/devicetree.h"
#include <arch/device_access.h>
#include <arch/gic_cpu_interface.h>
#include <arch/mmu.h>
#include <devices/gic_registers.h>

static struct {
    uintptr_t distributor;
    uint32_t distributor_type;
    uint32_t spi_limit; /* first number above the shared ones */
    uint64_t affinity;
    struct redistributor redistributor;
} gic;

uint32_t gic_distributor_type(void)
{
    return gic.distributor_type;
}

const struct redistributor *gic_redistributor(void)
{
    return &gic.redistributor;
}

/* Returns the address of the frame with the interrupt's registers. */
static uintptr_t frame_of(uint32_t number)
{
    return number < GIC_SPI_FIRST ? gic.redistributor.base + GIC_FRAME_BYTES : gic.distributor;
}

/* Returns the address of the interrupt's register in the bank of one bit each at `offset`. */
static uintptr_t bit_register(uint32_t offset, uint32_t number)
{
    return frame_of(number) + offset + (uintptr_t)(number / 32 * 4);
}

static void write_bit(uint32_t offset, uint32_t number)
{
    device_write32(bit_register(offset, number), UINT32_C(1) << number % 32);
}

/* Waits until the disabling of an interrupt has taken effect everywhere (IHI 0069, GICD_CTLR.RWP
 * and GICR_CTLR.RWP). Returns false if that takes too long. */
static bool wait_until_disabled(uint32_t number)
{
    if (number < GIC_SPI_FIRST) {
        return redistributor_settle(&gic.redistributor, GIC_POLLS_MASKED);
    }
    return gic_wait(gic.distributor + GICD_CTLR, GICD_CTLR_WRITE_PENDING, 0, GIC_POLLS_MASKED);
}

bool arch_interrupt_exists(uint32_t number)
{
    return (number >= 16 && number < gic.spi_limit) || its_has(number);
}

static void set_group_1(uint32_t number)
{
    uintptr_t address = bit_register(GIC_IGROUPR, number);
    uint32_t groups = device_read32(address);
    uint32_t bit = UINT32_C(1) << number % 32;

    if ((groups & bit) == 0) {
        device_write32(address, groups | bit);
    }
}

/* Sets the trigger of a disabled interrupt. GICD_ICFGR has two bits for each interrupt; the upper
 * one is set for edge-triggered interrupts. The trigger of private interrupts may be fixed (IHI
 * 0069). */
static void set_trigger(uint32_t number, enum interrupt_trigger trigger)
{
    uintptr_t address = frame_of(number) + GIC_ICFGR + (uintptr_t)(number / 16 * 4);
    uint32_t edge = UINT32_C(2) << number % 16 * 2;
    uint32_t old = device_read32(address);
    uint32_t new = trigger == INTERRUPT_EDGE ? old | edge : old & ~edge;

    if (new != old) {
        device_write32(address, new);
    }
}

enum result arch_interrupt_configure(uint32_t number, enum interrupt_trigger trigger)
{
    if (number >= GIC_LPI_FIRST) {
        /* LPIs are always edge-triggered and in Group 1 (IHI 0069, chapter 5). */
        if (trigger != INTERRUPT_EDGE) {
            return RESULT_INVALID;
        }
        if (its_has(number)) {
            /* An earlier owner may have made it deferrable. The INV follows at enabling. */
            lpi_set_priority(number, GIC_PRIORITY);
        }
        its_set_pending(number, false);
        return RESULT_OK;
    }
    arch_interrupt_disable(number);
    set_group_1(number);
    set_trigger(number, trigger);
    device_write8(frame_of(number) + GIC_IPRIORITYR + number, GIC_PRIORITY);
    if (number >= GIC_SPI_FIRST) {
        device_write64(gic.distributor + GICD_IROUTER + (uintptr_t)number * 8, gic.affinity);
    }
    /* If an earlier owner has left the interrupt active, it would never be signalled. If it was
     * left pending, it would be signalled at once. */
    write_bit(GIC_ICACTIVER, number);
    write_bit(GIC_ICPENDR, number);
    return RESULT_OK;
}

void arch_interrupt_enable(uint32_t number)
{
    if (number >= GIC_LPI_FIRST) {
        its_set_enabled(number, true);
    } else {
        write_bit(GIC_ISENABLER, number);
    }
}

void arch_interrupt_disable(uint32_t number)
{
    if (number >= GIC_LPI_FIRST) {
        its_set_enabled(number, false);
    } else {
        write_bit(GIC_ICENABLER, number);
        (void)wait_until_disabled(number);
    }
}

void arch_interrupt_set_deferrable(uint32_t number, bool deferrable)
{
    uint8_t priority = deferrable ? GIC_PRIORITY_DEFERRABLE : GIC_PRIORITY;

    if (number >= GIC_LPI_FIRST) {
        its_set_priority(number, priority);
    } else {
        device_write8(frame_of(number) + GIC_IPRIORITYR + number, priority);
    }
}

void arch_interrupt_defer(bool defer)
{
    gic_cpu_set_priority_mask(defer ? GIC_PRIORITY_MASK_DEFER : GIC_PRIORITY_MASK);
}

void arch_interrupt_raise(uint32_t number)
{
    if (number >= GIC_LPI_FIRST) {
        its_set_pending(number, true);
    } else {
        write_bit(GIC_ISPENDR, number);
    }
}

uint32_t arch_interrupt_acknowledge(void)
{
    uint32_t number = gic_cpu_acknowledge();

    /* INTIDs 1020 to 1023 are not interrupts (IHI 0069, "Special INTIDs"). */
    return number > GIC_SPI_LAST && number < GIC_SPI_LAST + 5 ? ARCH_INTERRUPT_NONE : number;
}

void arch_interrupt_end(uint32_t number)
{
    gic_cpu_end(number);
}

static enum result init_distributor(int node)
{
    uint64_t address, size;
    enum result result = devicetree_reg(node, 0, &address, &size);
    uintptr_t control;

    if (result != RESULT_OK) {
        return result;
    }
    if (size < GIC_FRAME_BYTES) {
        return RESULT_INVALID;
    }
    gic.distributor = arch_mmu_map_device(address, GIC_FRAME_BYTES);
    if (gic.distributor == 0) {
        return RESULT_NO_MEMORY;
    }
    control = gic.distributor + GICD_CTLR;
    /* IHI 0069, GICD_CTLR: affinity routing may be enabled only while all groups are disabled. If
     * it is already enabled, no group is disabled, because a hypervisor may use one. */
    if ((device_read32(control) & GICD_CTLR_AFFINITY_ROUTING) == 0) {
        device_write32(control, 0);
        (void)gic_wait(control, GICD_CTLR_WRITE_PENDING, 0, GIC_POLLS_MAX);
        device_write32(control, GICD_CTLR_AFFINITY_ROUTING);
        (void)gic_wait(control, GICD_CTLR_WRITE_PENDING, 0, GIC_POLLS_MAX);
        if ((device_read32(control) & GICD_CTLR_AFFINITY_ROUTING) == 0) {
            return RESULT_UNSUPPORTED;
        }
    }
    device_write32(control, (device_read32(control) & ~GICD_CTLR_WRITE_PENDING) | GICD_CTLR_GROUP1);
    (void)gic_wait(control, GICD_CTLR_WRITE_PENDING, 0, GIC_POLLS_MAX);
    gic.distributor_type = device_read32(gic.distributor + GICD_TYPER);
    /* IHI 0069, GICD_TYPER.ITLinesNumber: 32 * (N + 1) numbers, of which 1020 and up are special.
     */
    gic.spi_limit = 32 * ((gic.distributor_type & 0x1F) + 1);
    if (gic.spi_limit > GIC_SPI_LAST + 1) {
        gic.spi_limit = GIC_SPI_LAST + 1;
    }
    return RESULT_OK;
}

/* Disables and deactivates all private interrupts that an earlier owner may have left enabled or
 * active. Returns false if the Redistributor does not respond. */
static bool quiet_private_interrupts(void)
{
    uintptr_t frame = gic.redistributor.base + GIC_FRAME_BYTES;

    device_write32(frame + GIC_ICENABLER, UINT32_MAX);
    if (!redistributor_settle(&gic.redistributor, GIC_POLLS_MAX)) {
        return false;
    }
    device_write32(frame + GIC_ICACTIVER, UINT32_MAX);
    return true;
}

enum result arch_interrupt_controller_init(void)
{
    int node = devicetree_next_compatible(-1, "arm,gic-v3");
    enum result result;

    if (node < 0) {
        return RESULT_NOT_FOUND;
    }
    if (!gic_cpu_use_system_registers()) {
        return RESULT_UNSUPPORTED;
    }
    result = init_distributor(node);
    if (result != RESULT_OK) {
        return result;
    }
    gic.affinity = gic_cpu_affinity();
    result = redistributor_init(node, gic.affinity, &gic.redistributor);
    if (result != RESULT_OK) {
        return result;
    }
    if (!quiet_private_interrupts()) {
        return RESULT_TIMED_OUT;
    }
    its_init();
    gic_cpu_start(GIC_PRIORITY_MASK);
    return RESULT_OK;
}
