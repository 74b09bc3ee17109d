/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/physical.h"

#include "gic/internal.h"
#include "gic/list_register.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

#define SGIS UINT32_C(0xffff)

/* Returns the address of the frame that has the interrupt. */
static uintptr_t frame_of(const struct vcpu *vcpu, uint32_t number)
{
    const struct partition *partition = vcpu->partition;

    return (number < GIC_PRIVATE_COUNT ? gic_private(partition_core(partition, vcpu->number))
                                       : gic_distributor(partition->constant.system))
        .interrupts;
}

/* Returns the address of the word that has the interrupt's bit. */
static uintptr_t word_of(const struct vcpu *vcpu, uint32_t number, uint32_t offset)
{
    return frame_of(vcpu, number) + offset + UINT64_C(4) * (number / 32);
}

static bool is_set(const struct vcpu *vcpu, uint32_t number, uint32_t offset)
{
    return (device_read32(word_of(vcpu, number, offset)) >> number % 32 & 1) != 0;
}

bool physical_is_enabled(const struct vcpu *vcpu, uint32_t number)
{
    return is_set(vcpu, number, GIC_ISENABLER);
}

bool physical_is_active(const struct vcpu *vcpu, uint32_t number)
{
    return is_set(vcpu, number, GIC_ISACTIVER);
}

bool physical_is_edge_triggered(const struct vcpu *vcpu, uint32_t number)
{
    uintptr_t word = frame_of(vcpu, number) + GIC_ICFGR + UINT64_C(4) * (number / 16);

    return (device_read32(word) >> (number % 16 * 2 + 1) & 1) != 0;
}

uint32_t physical_priority(const struct vcpu *vcpu, uint32_t number)
{
    return device_read8(frame_of(vcpu, number) + GIC_IPRIORITYR + number);
}

static void set(const struct vcpu *vcpu, uint32_t number, uint32_t offset)
{
    device_write32(word_of(vcpu, number, offset), UINT32_C(1) << number % 32);
}

void physical_pend_edge(const struct vcpu *vcpu, uint32_t number)
{
    if (physical_is_edge_triggered(vcpu, number)) {
        set(vcpu, number, GIC_ISPENDR);
    }
}

void physical_deactivate(const struct vcpu *vcpu, uint32_t number)
{
    if (number >= GIC_SGI_COUNT) {
        set(vcpu, number, GIC_ICACTIVER);
    }
}

/* Returns those of the interrupts that are edge-triggered. `frame`: address of the frame that has
 * them. GICR_ICFGR<n> and GICD_ICFGR<n> have two bits for each of 16 interrupts. */
static uint32_t edge_triggered(uintptr_t frame, uint32_t word, uint32_t interrupts)
{
    uintptr_t registers = frame + GIC_ICFGR + UINT64_C(8) * word;
    uint64_t settings = device_read32(registers) | (uint64_t)device_read32(registers + 4) << 32;
    uint32_t edges = 0;

    for (; interrupts != 0; interrupts &= interrupts - 1) {
        unsigned bit = (unsigned)__builtin_ctz(interrupts);

        edges |= (uint32_t)(settings >> (2 * bit + 1) & 1) << bit;
    }
    return edges;
}

void physical_pend_edges(const struct vcpu *vcpu, uint32_t word, uint32_t interrupts)
{
    uintptr_t frame = frame_of(vcpu, 32 * word);

    device_write32(frame + GIC_ISPENDR + UINT64_C(4) * word,
                   edge_triggered(frame, word, interrupts));
}

void physical_deactivate_word(const struct vcpu *vcpu, uint32_t word, uint32_t interrupts)
{
    device_write32(frame_of(vcpu, 32 * word) + GIC_ICACTIVER + UINT64_C(4) * word,
                   interrupts & ~(word == 0 ? SGIS : 0));
}

void physical_disable_spi(const struct vcpu *vcpu, uint32_t number)
{
    const struct gic_frame frame = gic_distributor(vcpu->partition->constant.system);

    set(vcpu, number, GIC_ICENABLER);
    /* After RWP reads as 0, no core acknowledges it any more (IHI 0069, GICD_CTLR.RWP). */
    (void)gic_wait_clear(frame.control, frame.write_pending);
}

void physical_enable(const struct vcpu *vcpu, uint32_t number)
{
    set(vcpu, number, GIC_ISENABLER);
}
