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
 *   an interrupt, timer or message of a VCPU    this VCPU, from the exception to EL2 until the next
 *                                               choice, and for the way back to the guest that was
 *                                               interrupted: ledger_interrupt(), ledger_return()
 *   a change to a VCPU that preempts another    the VCPU that preempts: ledger_next_pays() is true
 *   a change from a VCPU that has blocked, or   the payer before, until the next VCPU executes its
 *   has used its budget                         guest: ledger_next_pays() is false, ledger_return()
 *   no VCPU can execute                         the payer before, for as long as its change to
 *                                               another VCPU would take longer, and the change to
 * it would have; then nobody: ledger_idle()
 *
 * So a VCPU that wakes and blocks often pays for both changes, and a VCPU that is interrupted for
 * another one pays nothing. A VCPU gets no more time for its guest if the others have no work: what
 * it pays for changes does not depend on them.
 *
 * ledger_charge() moves the time since the last charge to the payer's account. The payer may be
 * named after the time for which it pays has begun: it pays from the last charge on. So each
 * exception that may be for another VCPU begins with a charge for the time until the exception.
 *
 * The clock cannot be read after the last instruction of the hypervisor. So ledger_return() charges
 * in advance for the way from its call to the guest's first instruction.
 */
#ifndef SCHEDULER_LEDGER_H
#define SCHEDULER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

struct shared_core;
struct vcpu;

/* Durations in ticks that are charged in advance. */
struct ledger_costs {
    uint64_t way_back; /* the most from ledger_return() to the guest's first instruction */
    /* By how much a change to another VCPU takes longer than one to an idle core, and a change from
     * another VCPU longer than the end of an idle time after which the same VCPU executes. */
    uint64_t leave, enter;
};

struct ledger {
    uint64_t charged; /* until then all time is charged; it may be a way back ahead of the clock */
    struct vcpu *payer; /* of the time from then on; NULL: nobody, because the core is idle */
    uint64_t idle;      /* ticks for which nobody paid */
    struct ledger_costs costs;
    const struct vcpu *resumed; /* executed before and after the last idle time, or NULL */
    uint64_t resumed_switches;  /* its report's number of switches then */
};

/* Begins with a core for which nobody pays. */
void ledger_init(struct shared_core *core, uint64_t now, const struct ledger_costs *costs);

/* Charges the payer for the time until `now`: its report, its budget or its account of weights, and
 * its stolen time. Charges no time if all time until `now` is charged already. A payer that has
 * blocked falls asleep. Returns ledger.charged. */
uint64_t ledger_charge(struct shared_core *core, uint64_t now);

/* Charges the payer for the time until `now`, and in advance for the way back to the guest of
 * another VCPU. Called right before ledger_execute() for that VCPU. */
void ledger_return(struct shared_core *core, uint64_t now);

/* The VCPU has been chosen to execute, and pays from the last charge on. Writes a record. */
void ledger_execute(struct shared_core *core, struct vcpu *vcpu);

/* The hypervisor handles an interrupt, an expired timer or a message of the VCPU, which pays from
 * the last charge on, until the next choice. Writes a record unless the VCPU has paid before. */
void ledger_interrupt(struct shared_core *core, struct vcpu *vcpu);

/* No VCPU can execute. Charges the payer, if there is one, for the time until `now` and in advance
 * for as long as changes to and from another VCPU would take longer. Nobody pays from then on. */
void ledger_idle(struct shared_core *core, uint64_t now);

/* The core is not idle any more. `current`: the VCPU that executed before. `next`: the one that
 * executes now. If they are one, it pays with the next call of ledger_idle() for a change to it. It
 * does not pay at once, because its server cannot be charged for time that has not passed. */
void ledger_end_idle(struct shared_core *core, const struct vcpu *current, const struct vcpu *next);

/* Returns true if `next` pays for the change from `current`, because it preempts `current`, or the
 * core was idle, or `next` pays already. Returns false if the payer so far pays until `next`
 * executes: `current` has blocked or has no budget, or continues after an interrupt of the payer.
 */
bool ledger_next_pays(const struct shared_core *core, const struct vcpu *current,
                      const struct vcpu *next);

#endif
