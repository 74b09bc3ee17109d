/* SPDX-License-Identifier: BSD-2-Clause */
/* The usual way of an interrupt into a list register, on the resident tables. */
#include "distributor/route.h"
#include "gic/list_register.h"
#include "gic/listed.h"
#include "gic/system_registers.h"
#include "vcpu/same_core.h"
#include <devices/gic_registers.h>

/* Returns true if the interrupt is routed to the VCPU. Cores that are not shared have one VCPU of a
 * partition, to which the hardware's route leads. `shares_cores`: partition_shares_cores(). */
static bool is_routed_here(const struct vcpu *vcpu, const struct partition *partition,
                           bool shares_cores, uint32_t number)
{
    if (!shares_cores) {
        return true;
    }
    return number < GIC_PRIVATE_COUNT || route_vcpu(partition, number) == vcpu->number;
}

/* Returns true if the interrupt is enabled for the VCPU, and no guest has changed its state in the
 * GIC since it was listed last. */
static bool can_list(const struct vcpu *vcpu, const struct partition *partition, uint32_t number)
{
    const struct list_changes *changes = &partition->atomic.changes;
    const uint32_t *word = number < GIC_PRIVATE_COUNT ? &changes->private_listable[vcpu->number]
                                                      : &changes->listable[number / 32];

    return (__atomic_load_n(word, __ATOMIC_RELAXED) >> number % 32 & 1) != 0 &&
           (__atomic_load_n(&changes->vcpus, __ATOMIC_RELAXED) >> vcpu->number & 1) == 0;
}

/* Returns true if the interrupt may be in a list register, or active without one. A PPI or SPI is
 * signalled again then only if another partition's guest has ended it, which has direct interrupts
 * (docs/decisions/0013). Two list registers must not have one number (IHI 0069, ICH_LR<n>_EL2). */
static bool may_be_listed(const struct interrupt_list *list, uint32_t number, uint32_t free)
{
    for (uint32_t used = list->registers & ~free; used != 0; used &= used - 1) {
        if (list->numbers[__builtin_ctz(used)] == number) {
            return true;
        }
    }
    return list->evicted_count != 0;
}

bool listed_take(struct vcpu *vcpu)
{
    struct interrupt_list *list = &vcpu->list;
    const struct partition *partition = vcpu->partition;
    const bool shares_cores = partition_shares_cores(partition);
    uint32_t number = gic_registers_acknowledge_group1(), free;
    unsigned index;

    if (number > GIC_SPI_LAST) { /* IHI 0069, "Special INTIDs" */
        return true;
    }
    if (shares_cores) {
        profile_count(&vcpu->profile, number);
    }
    list->number = number;
    list->priority = gic_registers_running_priority();
    if (list->is_raw) {
        list->priority = list->priority << 1 & 0xff;
    }
    gic_registers_drop_group1(number);
    free = gic_registers_free_lists();
    if (free == 0 || list->has_aside || !can_list(vcpu, partition, number) ||
        !is_routed_here(vcpu, partition, shares_cores, number) ||
        may_be_listed(list, number, free)) {
        return false;
    }
    if (number < GIC_SGI_COUNT) {
        gic_registers_deactivate(number);
    }
    index = (unsigned)__builtin_ctz(free);
    list->numbers[index] = (uint16_t)number;
    gic_registers_list(index, list_register(number, list->priority, LIST_PENDING));
    vcpu->report.exits[EXIT_LISTED]++;
    return true;
}
