/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/redistributor.h"
#include "gic/remote_access.h"

#include "gic/counter_interrupt.h"
#include "gic/interrupts.h"
#include "gic/listed.h"
#include "scheduler/scheduler.h"
#include "vcpu/same_core.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

/* The Redistributor that a guest accesses. */
struct target {
    struct vcpu *accessing;              /* the VCPU whose guest makes the access */
    const struct description_core *core; /* the core of the Redistributor's VCPU */
    uint32_t vcpu;                       /* number of the Redistributor's VCPU */
    bool last;                           /* GICR_TYPER.Last: no further Redistributor follows */
};

/* Returns a word of the RD frame. Registers of LPIs read as zero. So does GICR_WAKER: the
 * Redistributor is awake. */
static uint32_t read_word(const struct target *target, uint64_t offset)
{
    uint32_t kept = 0, set = 0;

    if (offset == GICR_TYPER) {
        return target->vcpu << GICR_TYPER_PROCESSOR_SHIFT | (target->last ? GICR_TYPER_LAST : 0);
    }
    if (offset == GICR_TYPER + 4) { /* Affinity_Value: the affinity of the VCPU (gic/affinity.h) */
        return target->vcpu;
    }
    if (offset == GICR_CTLR) {
        kept = GICR_CTLR_WRITE_PENDING | GICR_CTLR_UPSTREAM_PENDING;
    } else if (offset == GICR_IIDR || offset >= GIC_PIDR) {
        kept = UINT32_MAX;
    }
    if (offset == GICR_CTLR && listed_is_revising(target->accessing, UINT32_C(1) << target->vcpu)) {
        set = GICR_CTLR_WRITE_PENDING;
    }
    return kept == 0
               ? 0
               : (device_read32((uintptr_t)(target->core->redistributor + offset)) & kept) | set;
}

static enum access_result access_rd_frame(const struct target *target, struct access *access)
{
    uint64_t offset = access->offset;

    if (access->write) {
        return access->bytes == 4 && (offset == GICR_WAKER || offset == GICR_CTLR) ? ACCESS_DONE
                                                                                   : ACCESS_REFUSED;
    }
    access->value = 0;
    /* Registers have word accesses, and 64-bit registers 64-bit accesses, too (IHI 0069,
     * 12.1.3). */
    if (access->bytes < 4 || (access->bytes == 8 && offset != GICR_TYPER)) {
        return ACCESS_REFUSED;
    }
    access->value = read_word(target, offset);
    if (access->bytes == 8) {
        access->value |= (uint64_t)read_word(target, offset + 4) << 32;
    }
    return ACCESS_DONE;
}

/* Handles an access to the SGI frame of VCPU `number`, whose core has its private interrupts. */
static enum access_result access_sgi_frame(struct vcpu *accessing, uint32_t number,
                                           struct access *access)
{
    const struct interrupts interrupts = {
        .frame = gic_private(partition_core(accessing->partition, number)),
        .owned = gic_guest_interrupts(accessing->partition),
        .words = 1,
        .vcpu = accessing,
        .listed_by = listed_has(accessing->partition) ? UINT32_C(1) << number : 0,
    };

    listed_note_settings_change(accessing);
    return interrupts_access(&interrupts, access);
}

enum access_result redistributor_access_own(struct vcpu *vcpu, struct access *access)
{
    return access_sgi_frame(vcpu, vcpu->number, access);
}

static enum access_result access_target(const struct target *target, struct access *access)
{
    struct vcpu *accessing = target->accessing;

    if (access->offset < GIC_FRAME_BYTES) {
        return access_rd_frame(target, access);
    }
    access->offset -= GIC_FRAME_BYTES;
    if (partition_shares_cores(accessing->partition) && accessing->number != target->vcpu) {
        return remote_access_vcpu(accessing, target->vcpu, access);
    }
    return access_sgi_frame(accessing, target->vcpu, access);
}

enum access_result redistributor_access(struct vcpu *accessing, uint64_t address,
                                        struct access *access)
{
    const struct partition *partition = accessing->partition;
    const struct description *system = partition->constant.system;
    uint32_t count = partition->constant.described->vcpu_count;

    for (uint32_t vcpu = 0; vcpu < count; vcpu++) {
        uint64_t start = redistributor_guest_address(system, vcpu),
                 end = start + REDISTRIBUTOR_BYTES;
        const struct target target = {
            .accessing = accessing,
            .core = partition_core(partition, vcpu),
            .vcpu = vcpu,
            .last = vcpu + 1 == count || redistributor_guest_address(system, vcpu + 1) != end,
        };

        if (address - start < REDISTRIBUTOR_BYTES) {
            access->offset = address - start;
            return access_target(&target, access);
        }
    }
    return ACCESS_FORBIDDEN;
}
