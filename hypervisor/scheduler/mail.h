/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mail of VCPUs on shared cores: SGIs, requests and messages wait there for a VCPU that does
 * not execute (docs/decisions/0081). It is a word of bits for each VCPU, in the partition's page.
 * The monitors of the partition's VCPUs, on any core, add mail and call the VCPU's core. Only the
 * monitors of that core remove mail.
 *
 *   - The first SGI or request in the mail calls the core, whether there is a message or not. Each
 *     call takes the SGIs and requests if the VCPU executes, and wakes the VCPU otherwise, which
 *     takes them as soon as it executes. So later ones need no call.
 *   - The first message calls the core. The VCPU is woken, and the message stays until the VCPU
 *     executes and handles it. So later ones need no call, and change nothing.
 *   - A VCPU that is woken for other mail gets a message, too: until it executes, no message
 *     interrupts the core.
 *
 * tests/memory_order/test_mail.c explores this.
 */
#ifndef SCHEDULER_MAIL_H
#define SCHEDULER_MAIL_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

struct processor;

#define MAIL_SGIS    0xffffu  /* bit n: SGI n */
#define MAIL_MESSAGE 0x10000u /* a message of another monitor */
#define MAIL_REQUEST 0x20000u /* a request for an access to its Redistributor (remote_access.h) */
#define MAIL_WAITING (MAIL_SGIS | MAIL_REQUEST)

/* Add SGIs or a request, `bits` of MAIL_WAITING, or a message. Return true if the sender has to
 * call the VCPU's core. Whoever removes the mail sees everything that the sender wrote before. Any
 * core. */
static inline bool mail_add_waiting(uint32_t *mail, uint32_t bits)
{
    return (__atomic_fetch_or(mail, bits, __ATOMIC_RELEASE) & MAIL_WAITING) == 0;
}

static inline bool mail_add_message(uint32_t *mail)
{
    return (__atomic_fetch_or(mail, MAIL_MESSAGE, __ATOMIC_RELEASE) & MAIL_MESSAGE) == 0;
}

/* Adds any mail on the VCPU's own core, which removes it, and then looks (mail_wake_vcpus()) or is
 * called. */
static inline void mail_add_on_core(uint32_t *mail, uint32_t bits)
{
    (void)__atomic_fetch_or(mail, bits, __ATOMIC_RELAXED);
}

/* Removes SGIs and requests, and returns them, with MAIL_MESSAGE if there is a message. On the
 * VCPU's core, while the VCPU's state is in the core. */
static inline uint32_t mail_remove_waiting(uint32_t *mail)
{
    return __atomic_fetch_and(mail, MAIL_MESSAGE, __ATOMIC_ACQUIRE);
}

/* Removes the message, before it is handled. From now on, another one may be sent. */
static inline void mail_remove_message(uint32_t *mail)
{
    (void)__atomic_fetch_and(mail, ~MAIL_MESSAGE, __ATOMIC_ACQUIRE);
}

/* Returns true if there is no mail. Mail may be added at any time. */
static inline bool mail_is_empty(const uint32_t *mail)
{
    return __atomic_load_n(mail, __ATOMIC_RELAXED) == 0;
}

/* The following functions are called on the processor of the VCPU, with interrupts masked. */

/* Returns the word of the VCPU's mail. */
static inline uint32_t *mail_of(const struct vcpu *vcpu)
{
    return &vcpu->partition->atomic.mail[vcpu->number];
}

/* Makes the SGIs pending that were sent to the VCPU, and carries out the requests of other VCPUs.
 * The VCPU's state is in the core. A message stays. */
void mail_deliver(struct vcpu *vcpu);

/* Handles the message for the VCPU, which executes. */
void mail_handle_message(struct vcpu *vcpu);

/* Wakes the VCPUs of a shared processor that have mail, and that were not woken for it before.
 * Returns the number of VCPUs. If there are more than a few, the processor calls itself, and wakes
 * the others in another exit. */
unsigned mail_wake_vcpus(struct processor *processor);

#endif
