/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/recall.h"

#include "gic/listed.h"
#include "gic/setup.h"
#include "gic/sgi.h"
#include "hypervisor/description.h"
#include "hypervisor/registers.h"
#include "memory/withdraw.h"

/* Bit i: the boot VCPU of partition i was called, and has not handled the SGI. */
static uint32_t called __attribute__((section(".bss.monitor_shared")));
uint64_t recall_roots[DESCRIPTION_PARTITIONS_MAX] __attribute__((section(".bss.monitor_shared")));

static const struct description_partition *partition_at(const struct vcpu *vcpu, uint32_t partition)
{
    return &vcpu->partition->constant.system->partitions[partition];
}

static uint64_t *root_of(uint32_t partition)
{
    return (uint64_t *)(uintptr_t)recall_roots[partition];
}

/* Makes the stage 2 entries of a partition invalid, and invalidates the TLB entries of its VMID on
 * all cores. EL2 uses no translation of EL1, so none is made while VTTBR_EL2 holds the other VMID.
 */
static void withdraw_stage2(const struct vcpu *vcpu, uint32_t partition)
{
    uint64_t own = register_read(vttbr_el2);

    if (listed_shares_group1(vcpu->partition) ||
        description_has_listed_interrupts(partition_at(vcpu, partition))) {
        return;
    }
    /* Orders the write of the request or call, which can_continue() reads, before the withdrawal.
     */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    withdraw_set(root_of(partition), partition_at(vcpu, partition), 0);
    register_write(vttbr_el2, (uint64_t)(partition + 1) << VTTBR_VMID_SHIFT);
    __asm__ volatile("dsb ishst\n\tisb\n\ttlbi vmalls12e1is\n\tdsb ish" : : : "memory");
    register_write(vttbr_el2, own);
    instruction_barrier();
}

/* Notes the call. Returns false if the boot VCPU has been called before and has not answered: then
 * it will handle all that is left for it. */
static bool note_call(uint32_t partition)
{
    uint32_t bit = UINT32_C(1) << partition;

    return (__atomic_fetch_or(&called, bit, __ATOMIC_SEQ_CST) & bit) == 0;
}

static void send_call(const struct vcpu *vcpu, uint32_t partition)
{
    const struct description *system = vcpu->partition->constant.system;

    gic_call_core(vcpu->partition,
                  &system->cores[description_boot_core(&system->partitions[partition])]);
}

void recall_call(const struct vcpu *vcpu, uint32_t partition)
{
    if (note_call(partition)) {
        send_call(vcpu, partition);
    }
}

void recall_repeat_calls(const struct vcpu *vcpu)
{
    for (uint32_t left = __atomic_load_n(&called, __ATOMIC_RELAXED); left != 0; left &= left - 1) {
        send_call(vcpu, (uint32_t)__builtin_ctz(left));
    }
}

/* A core that was called before may need the recall all the same: its guest may have blocked the
 * SGI. */
void recall(const struct vcpu *vcpu, uint32_t partition)
{
    bool is_first = note_call(partition);

    withdraw_stage2(vcpu, partition);
    if (is_first) {
        send_call(vcpu, partition);
    }
}

bool recall_is_called(const struct vcpu *vcpu)
{
    return vcpu->number == 0 &&
           (__atomic_load_n(&called, __ATOMIC_ACQUIRE) >> vcpu->partition->constant.index & 1u) !=
               0;
}

void recall_own(const struct vcpu *vcpu)
{
    withdraw_stage2(vcpu, vcpu->partition->constant.index);
}

void recall_begin_answer(const struct vcpu *vcpu)
{
    (void)__atomic_fetch_and(&called, ~(UINT32_C(1) << vcpu->partition->constant.index),
                             __ATOMIC_SEQ_CST);
}

/* Returns true if the partition has no request and its boot VCPU no unanswered call. */
static bool can_continue(const struct partition *partition)
{
    return __atomic_load_n(&partition->atomic.request, __ATOMIC_SEQ_CST) == REQUEST_NONE &&
           (__atomic_load_n(&called, __ATOMIC_SEQ_CST) >> partition->constant.index & 1u) == 0;
}

static void restore_stage2(const struct vcpu *vcpu)
{
    withdraw_set(root_of(vcpu->partition->constant.index), vcpu->partition->constant.described,
                 TABLES_VALID);
    __asm__ volatile("dsb ish\n\tisb" : : : "memory");
}

bool recall_is_in_effect(const struct vcpu *vcpu)
{
    uint32_t index = vcpu->partition->constant.index;

    return !listed_has(vcpu->partition) &&
           withdraw_is_done(root_of(index), vcpu->partition->constant.described);
}

void recall_end_unless_called(const struct vcpu *vcpu)
{
    if (can_continue(vcpu->partition)) {
        restore_stage2(vcpu);
        /* Some of the entries that a recall withdrew meanwhile may be valid again. */
        if (!can_continue(vcpu->partition)) {
            recall_own(vcpu);
        }
    }
}

void recall_end(const struct vcpu *vcpu)
{
    if (!listed_has(vcpu->partition)) {
        restore_stage2(vcpu);
    }
}
