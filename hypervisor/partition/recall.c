/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/recall.h"

#include "entry/interrupt.h"
#include "gic/listed.h"
#include "gic/setup.h"
#include "gic/sgi.h"
#include "hypervisor/description.h"
#include "hypervisor/registers.h"
#include "memory/withdraw.h"

/* Interrupts of the hypervisor: SGI, terminal, SMMU, timer. */
#define OWN_INTERRUPTS 4u
/* Arm ARM, ISR_EL1. */
#define PENDING_FIQ UINT64_C(0x40)

/* Bit i: the boot VCPU of partition i was called, and has not answered. */
static uint32_t called __attribute__((section(".bss.monitor_shared")));

static const struct description_partition *partition_at(const struct vcpu *vcpu, uint32_t partition)
{
    return &vcpu->partition->system->partitions[partition];
}

/* The roots of all partitions are adjacent pages. */
static uint64_t *root_of(const struct vcpu *vcpu, uint32_t partition)
{
    uint64_t first = vcpu->stage2 - vcpu->partition->index * PAGE_BYTES;

    return (uint64_t *)(uintptr_t)(first + partition * PAGE_BYTES);
}

/* Takes stage 2 away. The TLB entries are those of the partition's VMID, on all cores. At EL2 no
 * translation of EL1 is in context, so none is made with the other VMID meanwhile. */
static void withdraw(const struct vcpu *vcpu, uint32_t partition)
{
    uint64_t own = register_read(vttbr_el2);

    if (listed_shares_group1(vcpu->partition) ||
        description_has_listed_interrupts(partition_at(vcpu, partition))) {
        return;
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* after what give_back_unless_called() looks at */
    withdraw_set(root_of(vcpu, partition), partition_at(vcpu, partition), 0);
    register_write(vttbr_el2, (uint64_t)(partition + 1) << VTTBR_VMID_SHIFT);
    __asm__ volatile("dsb ishst\n\tisb\n\ttlbi vmalls12e1is\n\tdsb ish" : : : "memory");
    register_write(vttbr_el2, own);
    instruction_barrier();
}

void recall(const struct vcpu *vcpu, uint32_t partition)
{
    const struct description *system = vcpu->partition->system;
    uint32_t core = description_boot_core(&system->partitions[partition]);

    (void)__atomic_fetch_or(&called, UINT32_C(1) << partition, __ATOMIC_SEQ_CST);
    withdraw(vcpu, partition);
    gic_call_core(vcpu->partition, &system->cores[core]);
}

void recall_own(const struct vcpu *vcpu)
{
    withdraw(vcpu, vcpu->partition->index);
}

void recall_begin_answer(const struct vcpu *vcpu)
{
    (void)__atomic_fetch_and(&called, ~(UINT32_C(1) << vcpu->partition->index), __ATOMIC_SEQ_CST);
}

/* Returns true if nothing is requested of the partition. */
static bool may_go_on(const struct partition *partition)
{
    return __atomic_load_n(&partition->request, __ATOMIC_SEQ_CST) == REQUEST_NONE &&
           (__atomic_load_n(&called, __ATOMIC_SEQ_CST) >> partition->index & 1u) == 0;
}

static void give_back(const struct vcpu *vcpu)
{
    withdraw_set(root_of(vcpu, vcpu->partition->index), vcpu->partition->described, TABLES_VALID);
    __asm__ volatile("dsb ish\n\tisb" : : : "memory");
}

/* Another core may recall this one again meanwhile: what it does after its call is not undone. */
static void give_back_unless_called(const struct vcpu *vcpu)
{
    if (may_go_on(vcpu->partition)) {
        give_back(vcpu);
        if (!may_go_on(vcpu->partition)) {
            recall_own(vcpu);
        }
    }
}

bool recall_answer(struct vcpu *vcpu)
{
    uint32_t index = vcpu->partition->index;

    if (listed_has(vcpu->partition) ||
        !withdraw_is_done(root_of(vcpu, index), vcpu->partition->described)) {
        return false;
    }
    (void)gic_hide_active();
    for (unsigned i = 0; i < OWN_INTERRUPTS && (register_read(isr_el1) & PENDING_FIQ) != 0; i++) {
        interrupt_handle(vcpu);
    }
    give_back_unless_called(vcpu);
    return true;
}

void recall_end(const struct vcpu *vcpu)
{
    if (!listed_has(vcpu->partition)) {
        give_back(vcpu);
    }
}
