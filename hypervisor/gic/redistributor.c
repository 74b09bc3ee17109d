/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/redistributor.h"
#include "gic/remote_access.h"

#include "gic/gic_registers.h"
#include "gic/interrupts.h"
#include "gic/listed.h"
#include "scheduler/scheduler.h"
#include "vcpu/same_core.h"
#include <arch/device_access.h>

/* The Redistributor of a VCPU. */
struct place {
    struct vcpu *accessing; /* the VCPU whose guest accesses it */
    const struct description_core *core;
    uint32_t vcpu;
    bool last; /* GICR_TYPER.Last is set: a guest looks for no further Redistributors */
};

/* Returns a word of the RD frame. Registers of LPIs read as zero, and so does GICR_WAKER, which
 * then says that the Redistributor is awake. */
static uint32_t read_word(const struct place *place, uint64_t offset)
{
    uint32_t kept = 0, set = 0;

    if (offset == GICR_TYPER) {
        return place->vcpu << GICR_TYPER_PROCESSOR_SHIFT | (place->last ? GICR_TYPER_LAST : 0);
    }
    if (offset == GICR_TYPER + 4) { /* its affinity (gic/affinity.h) */
        return place->vcpu;
    }
    if (offset == GICR_CTLR) {
        kept = GICR_CTLR_WRITE_PENDING | GICR_CTLR_UPSTREAM_PENDING;
    } else if (offset == GICR_IIDR || offset >= GIC_PIDR) {
        kept = UINT32_MAX;
    }
    if (offset == GICR_CTLR && listed_is_revising(place->accessing, UINT32_C(1) << place->vcpu)) {
        set = GICR_CTLR_WRITE_PENDING;
    }
    return kept == 0
               ? 0
               : (device_read32((uintptr_t)(place->core->redistributor + offset)) & kept) | set;
}

static enum access_result access_frame(const struct place *place, struct access *access)
{
    uint64_t offset = access->offset;

    if (access->write) {
        return access->bytes == 4 && (offset == GICR_WAKER || offset == GICR_CTLR) ? ACCESS_DONE
                                                                                   : ACCESS_REFUSED;
    }
    access->value = 0;
    /* IHI 0069, 12.1.3: word accesses, and 64-bit accesses to 64-bit registers. */
    if (access->bytes < 4 || (access->bytes == 8 && offset != GICR_TYPER)) {
        return ACCESS_REFUSED;
    }
    access->value = read_word(place, offset);
    if (access->bytes == 8) {
        access->value |= (uint64_t)read_word(place, offset + 4) << 32;
    }
    return ACCESS_DONE;
}

/* Handles an access to the SGI frame of VCPU `number`, whose private interrupts are in its core. */
static enum access_result access_private(struct vcpu *accessing, uint32_t number,
                                         struct access *access)
{
    static const uint32_t owned = PRIVATE_GUEST;
    const struct interrupts interrupts = {
        .frame = gic_private(partition_core(accessing->partition, number)),
        .owned = &owned,
        .words = 1,
        .vcpu = accessing,
        .listed_by = listed_has(accessing->partition) ? UINT32_C(1) << number : 0,
    };

    listed_note_settings_change(accessing);
    return interrupts_access(&interrupts, access);
}

enum access_result redistributor_access_own(struct vcpu *vcpu, struct access *access)
{
    return access_private(vcpu, vcpu->number, access);
}

static enum access_result access_place(const struct place *place, struct access *access)
{
    struct vcpu *accessing = place->accessing;

    if (access->offset < GIC_FRAME_BYTES) {
        return access_frame(place, access);
    }
    access->offset -= GIC_FRAME_BYTES;
    if (partition_shares_cores(accessing->partition) && accessing->number != place->vcpu) {
        return remote_access_vcpu(accessing, place->vcpu, access);
    }
    return access_private(accessing, place->vcpu, access);
}

enum access_result redistributor_access(struct vcpu *accessing, uint64_t address,
                                        struct access *access)
{
    const struct partition *partition = accessing->partition;
    const struct description *system = partition->system;
    uint32_t count = partition->described->vcpu_count;

    for (uint32_t vcpu = 0; vcpu < count; vcpu++) {
        uint64_t start = redistributor_guest_address(system, vcpu),
                 end = start + REDISTRIBUTOR_BYTES;
        const struct place place = {
            .accessing = accessing,
            .core = partition_core(partition, vcpu),
            .vcpu = vcpu,
            .last = vcpu + 1 == count || redistributor_guest_address(system, vcpu + 1) != end,
        };

        if (address - start < REDISTRIBUTOR_BYTES) {
            access->offset = address - start;
            return access_place(&place, access);
        }
    }
    return ACCESS_FORBIDDEN;
}
