/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ledger of a shared core: who pays for each tick of its time. Pure logic: no clock, no
 * register. All times are ticks of CNTPCT_EL0.
 *
 * Each tick has one payer, a VCPU, or nobody while no VCPU can execute. The cause of the tick
 * decides who pays:
 *
 *   cause                                       payer
 *   a guest executes, or the hypervisor for it  the guest's VCPU: ledger_execute()
 *   an interrupt, timer or message of a VCPU    this VCPU, from when the hypervisor knows it until
 *                                               the next choice: ledger_interrupt()
 *   a change to a VCPU that preempts another    the VCPU that preempts: ledger_next_pays() is true
 *   a change from a VCPU that has blocked, or   the payer before, until the next VCPU executes:
 *   has used its budget                         ledger_next_pays() is false
 *   no VCPU can execute                         nobody: ledger_idle()
 *
 * So a VCPU that wakes and blocks often pays for both changes. The VCPU that an interrupt
 * interrupts pays for the entry to EL2 until the hypervisor has acknowledged the interrupt.
 *
 * ledger_charge() moves the time since the last charge to the payer's account. A new payer is named
 * right after a charge, so no time is charged twice or to nobody.
 */
#ifndef SCHEDULER_LEDGER_H
#define SCHEDULER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

struct shared_core;
struct vcpu;

struct ledger {
    uint64_t charged;   /* until then all time is charged */
    struct vcpu *payer; /* of the time from then on; NULL: nobody, because the core is idle */
    uint64_t idle;      /* ticks for which nobody paid */
};

/* Begins with a core for which nobody pays. */
void ledger_init(struct shared_core *core, uint64_t now);

/* Charges the payer for the time until `now`: its report, its budget or its account of weights, and
 * its stolen time. Returns `now`. */
uint64_t ledger_charge(struct shared_core *core, uint64_t now);

/* The VCPU has been chosen to execute, and pays from the last charge on. Writes a record with the
 * time `now`, which is the time of the last charge or later. */
void ledger_execute(struct shared_core *core, struct vcpu *vcpu, uint64_t now);

/* The hypervisor handles an interrupt, an expired timer or a message of the VCPU, which pays from
 * the last charge on, until the next choice. `now`: the time of the last charge. Writes a record
 * unless the VCPU has paid before. */
void ledger_interrupt(struct shared_core *core, struct vcpu *vcpu, uint64_t now);

/* No VCPU can execute: nobody pays from the last charge on. */
void ledger_idle(struct shared_core *core);

/* Returns true if `next` pays for the change from `current`, because it preempts `current`, or the
 * core was idle, or `next` pays already. Returns false if the payer so far pays until `next`
 * executes. */
bool ledger_next_pays(const struct shared_core *core, const struct vcpu *current,
                      const struct vcpu *next);

#endif
