/* SPDX-License-Identifier: BSD-2-Clause */
/* SPIs of functions that move between partitions (partition/ownership.h). */
#include "gic/moved.h"

#include "gic/distributor.h"
#include "gic/internal.h"
#include "gic/list_register.h"
#include "gic/setup.h"
#include "hypervisor/processor.h"
#include <devices/gic_registers.h>

static bool silence(const struct partition *partition, uint32_t interrupt)
{
    const struct gic_frame frame = gic_distributor(partition->constant.system);

    return gic_silence_interrupts(&frame, interrupt / 32, UINT32_C(1) << interrupt % 32,
                                  PRIORITY_USUAL);
}

/* Clears the SPI's enable, pending and active states as the guest itself would, so that list
 * registers and what is kept beside them follow. Returns false if a write has to be repeated. */
static bool clear_for_guest(struct vcpu *vcpu, uint32_t interrupt)
{
    static const uint32_t registers[] = {GIC_ICENABLER, GIC_ICPENDR, GIC_ICACTIVER};

    for (unsigned i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
        struct access access = {.offset = registers[i] + interrupt / 32 * UINT64_C(4),
                                .value = UINT32_C(1) << interrupt % 32,
                                .bytes = 4,
                                .write = true};

        if (distributor_access_own(vcpu, &access) == ACCESS_AGAIN) {
            return false;
        }
    }
    return true;
}

enum step_outcome gic_release_interrupt(struct vcpu *vcpu, uint32_t interrupt)
{
    struct partition *partition = vcpu->partition;
    bool is_on = __atomic_load_n(&partition->atomic.power[0].state, __ATOMIC_ACQUIRE) == VCPU_ON;

    if (is_on && (vcpu != processor_this()->vcpu || !clear_for_guest(vcpu, interrupt))) {
        return STEP_PENDING;
    }
    return silence(partition, interrupt) ? STEP_DONE : STEP_FAILED;
}

void gic_lose_interrupt(struct vcpu *vcpu, uint32_t interrupt)
{
    uint32_t bit = UINT32_C(1) << interrupt % 32;

    /* An interrupt that was set aside was inactive after the reset, and may be active for its next
     * owner already when the VCPU would bring it back. */
    vcpu->list.aside[interrupt / 32] &= ~bit;
    /* listed_take() reads this word alone. It has the bits of the partition's SPIs since the reset
     * of the partition, or since the guest's list registers were revised. */
    (void)__atomic_fetch_and(&vcpu->partition->atomic.changes.listable[interrupt / 32], ~bit,
                             __ATOMIC_RELAXED);
}

bool gic_take_interrupt(struct partition *partition, uint32_t interrupt)
{
    uint32_t bit = UINT32_C(1) << interrupt % 32;

    if (!silence(partition, interrupt)) {
        return false;
    }
    gic_route_to_boot_vcpu(partition, interrupt);
    (void)__atomic_fetch_or(&partition->atomic.changes.listable[interrupt / 32], bit,
                            __ATOMIC_RELAXED);
    return true;
}
