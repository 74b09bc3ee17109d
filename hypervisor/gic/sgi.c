/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/sgi.h"

#include "gic/listed.h"
#include "gic/setup.h"
#include "gic/system_registers.h"
#include "scheduler/mail.h"
#include "vcpu/same_core.h"
#include <arch/device_access.h>

/* Fields of ICC_SGI1R_EL1 and ICC_SGI0R_EL1 (IHI 0069). */
#define SGI_TARGETS        UINT64_C(0xffff)
#define SGI_SHIFT          24
#define SGI_ALL_BUT_SELF   (UINT64_C(1) << 40)
#define SGI_RANGE_SELECTOR (UINT64_C(0xf) << 44)
#define SGI_AFFINITY       (UINT64_C(0xff00ff00ff0000)) /* Aff3, Aff2, Aff1 */

/* Returns the fields with which an SGI goes only to the core with this affinity. Each bit of the
 * target list stands for one of 16 values of Aff0, which the range selector selects. */
static uint64_t target_fields(uint64_t affinity)
{
    return (affinity & UINT64_C(0xff00ff0000)) << 16 | (affinity & 0xff00) << 8 |
           (affinity & 0xf0) << 40 | UINT64_C(1) << (affinity & 0xf);
}

struct sgi_targets sgi_targets(const struct partition *partition, uint32_t vcpu, uint64_t value)
{
    uint64_t left = (value & SGI_ALL_BUT_SELF) != 0 ? 0 : value & SGI_TARGETS;
    struct sgi_targets targets = {0, true};

    if (sgi_number(value) == GIC_OWN_SGI) {
        return targets;
    }
    for (uint32_t other = 0; other < partition->constant.described->vcpu_count; other++) {
        uint64_t named = target_fields(other); /* the fields with which the guest names this VCPU */

        if ((value & SGI_ALL_BUT_SELF) != 0
                ? other != vcpu
                : ((named ^ value) & (SGI_AFFINITY | SGI_RANGE_SELECTOR)) == 0 &&
                      (named & left) != 0) {
            left &= ~named;
            targets.vcpus |= UINT32_C(1) << other;
        }
    }
    targets.others = left != 0;
    return targets;
}

void sgi_send_one(const struct partition *partition, uint32_t vcpu, uint32_t number)
{
    gic_registers_send_group1(target_fields(partition_core(partition, vcpu)->affinity) |
                              (uint64_t)number << SGI_SHIFT);
}

/* Each target gets a write of its own, so that a target list and "all but self" take the same
 * path. */
enum access_result sgi_send(const struct partition *partition, uint32_t vcpu, uint64_t value)
{
    struct sgi_targets targets = sgi_targets(partition, vcpu, value);

    for (uint32_t left = targets.vcpus; left != 0; left &= left - 1) {
        sgi_send_one(partition, (uint32_t)__builtin_ctz(left), sgi_number(value));
    }
    return targets.others ? ACCESS_REFUSED : ACCESS_DONE;
}

void gic_call_core(const struct partition *partition, const struct description_core *core)
{
    device_publish();
    if (listed_shares_group1(partition)) {
        gic_make_pending(partition->constant.system, core->message_interrupt);
    } else {
        gic_registers_send_group0(target_fields(core->affinity) | (uint64_t)GIC_OWN_SGI
                                                                      << SGI_SHIFT);
    }
}

/* Notes a message for the VCPU. Returns true if its core has to be called. A VCPU on a shared core
 * that has a message has been called, and sees all that was written before when it takes the
 * message. */
static bool note_message(struct partition *partition, uint32_t vcpu)
{
    return !partition_shares_cores(partition) || mail_add_message(&partition->atomic.mail[vcpu]);
}

void gic_call_vcpus(const struct partition *partition, uint32_t vcpus)
{
    const struct description *system = partition->constant.system;
    uint32_t cores = 0;

    for (uint32_t left = vcpus; left != 0; left &= left - 1) {
        cores |= UINT32_C(1) << partition->constant.described->vcpus[__builtin_ctz(left)].core;
    }
    for (; cores != 0; cores &= cores - 1) {
        gic_call_core(partition, &system->cores[__builtin_ctz(cores)]);
    }
}

void gic_send_many(struct partition *partition, uint32_t vcpus)
{
    uint32_t uncalled = 0;

    for (uint32_t left = vcpus; left != 0; left &= left - 1) {
        uint32_t vcpu = (uint32_t)__builtin_ctz(left);

        uncalled |= note_message(partition, vcpu) ? UINT32_C(1) << vcpu : 0;
    }
    gic_call_vcpus(partition, uncalled);
}

void gic_send(struct partition *partition, uint32_t vcpu)
{
    gic_send_many(partition, UINT32_C(1) << vcpu);
}
