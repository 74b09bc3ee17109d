/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/distributor.h"

#include "distributor/distributor.h"
#include "gic/affinity.h"
#include "gic/interrupts.h"
#include "gic/listed.h"
#include "gic/renumbered.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

#define TYPER_HIDDEN                                                                     \
    (GICD_TYPER_SECURITY | GICD_TYPER_EXTENDED | GICD_TYPER_NMI | GICD_TYPER_LPI_COUNT | \
     GICD_TYPER_MESSAGES | GICD_TYPER_LPIS | GICD_TYPER_VIRTUAL_LPIS | GICD_TYPER_EXTENDED_LAST)

/* Handles an access to the registers of the Distributor as a whole: GICD_CTLR, GICD_TYPER,
 * GICD_IIDR and the identification registers. */
static enum access_result access_global_register(const struct vcpu *vcpu, struct access *access)
{
    struct partition *partition = vcpu->partition;
    uintptr_t address = (uintptr_t)(partition->constant.system->board.distributor + access->offset);
    uint32_t value;

    if (access->bytes != 4) {
        access->value = 0;
        return ACCESS_REFUSED;
    }
    if (access->write) {
        if (access->offset != GICD_CTLR) {
            return ACCESS_REFUSED;
        }
        /* The hardware's groups stay enabled, because other partitions' interrupts need them. */
        partition->atomic.distributor_control = (uint32_t)access->value & GICD_CTLR_GROUP1;
        return ACCESS_DONE;
    }
    value = device_read32(address);
    if (access->offset == GICD_CTLR) {
        value = (value & GICD_CTLR_WRITE_PENDING) | GICD_CTLR_AFFINITY_ROUTING |
                GICD_CTLR_ONE_SECURITY | partition->atomic.distributor_control;
        if (listed_is_revising(vcpu, UINT32_MAX)) {
            value |= GICD_CTLR_WRITE_PENDING;
        }
    } else if (access->offset == GICD_TYPER) {
        value = (value & ~TYPER_HIDDEN) | GICD_TYPER_ONE_TARGET;
    }
    access->value = value;
    return ACCESS_DONE;
}

/* Handles an access to GICD_IROUTER<n> (IHI 0069). The guest reads and writes affinities of its
 * VCPUs, and the hardware has those of their cores. While the distributor has moved an interrupt to
 * another VCPU, the guest reads the affinity that it has written. A write takes effect only if the
 * whole register is then the affinity of one of the partition's VCPUs. So IRM ("any core") is
 * refused, which GICD_TYPER.No1N announces to the guest. */
static enum access_result access_route(struct vcpu *accessing, struct access *access)
{
    struct partition *partition = accessing->partition;
    uint32_t interrupt = (uint32_t)(access->offset - GICD_IROUTER) / 8;
    uintptr_t address = (uintptr_t)(partition->constant.system->board.distributor + GICD_IROUTER +
                                    UINT64_C(8) * interrupt);
    unsigned shift = (unsigned)access->offset % 8 * 8;
    uint64_t field = (access->bytes == 8 ? UINT64_MAX : UINT32_MAX) << shift;
    uint64_t route;
    uint32_t vcpu;

    /* Accesses to a half of the register are allowed, for guests without 64-bit accesses (IHI 0069,
     * 12.1.3). */
    if (access->bytes < 4 || !partition_owns_interrupt(partition, interrupt)) {
        enum access_result result =
            access->write || access->bytes < 4 ? ACCESS_REFUSED : ACCESS_DONE;

        access->value = 0;
        return result;
    }
    /* The interrupt has a route, because gic_reset_partition() has routed it to a VCPU. */
    route = distributor_home_vcpu(partition, interrupt);
    if (!access->write) {
        access->value = (route & field) >> shift;
        return ACCESS_DONE;
    }
    route = (route & ~field) | (access->value << shift & field);
    vcpu = affinity_vcpu(partition, route);
    if (vcpu == AFFINITY_NO_VCPU) {
        return ACCESS_REFUSED;
    }
    distributor_begin_route(partition, interrupt, vcpu);
    device_write64(address, partition_core(partition, vcpu)->affinity);
    distributor_end_route(partition);
    distributor_follow_route(accessing, interrupt);
    return ACCESS_DONE;
}

enum access_result distributor_access_own(struct vcpu *vcpu, struct access *access)
{
    struct partition *partition = vcpu->partition;
    const struct interrupts interrupts = {
        .frame = gic_distributor(partition->constant.system),
        .owned = partition->constant.interrupts,
        .words = DESCRIPTION_SPI_WORDS,
        .vcpu = vcpu,
        .listed_by = listed_has(partition)
                         ? (UINT32_C(1) << partition->constant.described->vcpu_count) - 1
                         : 0,
    };

    if (access->offset <= GICD_IIDR + 3 || access->offset >= GIC_PIDR) {
        return access_global_register(vcpu, access);
    }
    if (access->offset >= GICD_IROUTER &&
        access->offset < GICD_IROUTER + UINT64_C(8) * (GIC_SPI_LAST + 1)) {
        return access_route(vcpu, access);
    }
    return interrupts_access(&interrupts, access);
}

enum access_result distributor_access(struct vcpu *vcpu, struct access *access)
{
    return listed_is_supported() && vcpu->partition->constant.described->console_shown != 0
               ? renumbered_access(vcpu, access)
               : distributor_access_own(vcpu, access);
}
