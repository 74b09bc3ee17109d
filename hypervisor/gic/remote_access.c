/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/remote_access.h"

#include "gic/redistributor.h"
#include "gic/sgi.h"
#include "gic/system_registers.h"
#include "scheduler/core.h"
#include "scheduler/mail.h"
#include "scheduler/scheduler.h"

static struct vcpu *find_neighbour(const struct vcpu *vcpu, uint32_t number)
{
    struct vcpu *other = processor_this()->vcpus;

    while (other != NULL && (other->partition != vcpu->partition || other->number != number)) {
        other = other->next;
    }
    return other;
}

/* Handles an access to the SGI frame of another VCPU of this core. That VCPU does not execute, so
 * its interrupts are loaded for the access as if it did. A write may make an interrupt pending, or
 * enable the timer's, so the VCPU is called then. */
static enum access_result access_neighbour(struct vcpu *vcpu, struct vcpu *other,
                                           struct access *access)
{
    const struct interrupt_resources *resources = &processor_this()->shared->interrupts;
    struct saved_interrupts *own = &vcpu->shared->interrupts, *its = &other->shared->interrupts;
    enum access_result result;

    if (!other->shared->has_executed) {
        access->value = 0;
        return ACCESS_REFUSED;
    }
    (void)interrupts_save(resources, vcpu, own);
    interrupts_load(resources, its, &own->settings);
    result = redistributor_access_own(other, access);
    gic_registers_settle_lists();
    (void)interrupts_save(resources, other, its);
    interrupts_load(resources, own, &its->settings);
    if (access->write) {
        gic_send(other->partition, other->number);
    }
    return result;
}

/* Requests the access from a VCPU of another core, or returns the answer to an earlier request. */
static enum access_result request_access(struct vcpu *vcpu, uint32_t number, struct access *access)
{
    struct partition *partition = vcpu->partition;
    uint64_t *word = &partition->atomic.requests[vcpu->number];
    uint64_t request = remote_request(number, access);
    uint64_t found = __atomic_load_n(word, __ATOMIC_ACQUIRE);

    if (remote_is_answer(found, request)) {
        __atomic_store_n(word, 0, __ATOMIC_RELAXED);
        access->value = found & REMOTE_VALUE;
        return ACCESS_DONE;
    }
    if (found != request) {
        __atomic_store_n(word, request, __ATOMIC_RELEASE);
        /* A VCPU that has such mail has been called already, and carries out all requests when it
         * executes. */
        if (mail_add_waiting(&partition->atomic.mail[number], MAIL_REQUEST)) {
            gic_call_core(partition, partition_core(partition, number));
        }
    }
    return ACCESS_AGAIN;
}

enum access_result remote_access_vcpu(struct vcpu *vcpu, uint32_t number, struct access *access)
{
    struct vcpu *neighbour = find_neighbour(vcpu, number);

    /* Accesses that the SGI frame has (IHI 0069, 12.1.3). */
    if (access->bytes != 1 && access->bytes != 4) {
        access->value = 0;
        return ACCESS_REFUSED;
    }
    return neighbour != NULL ? access_neighbour(vcpu, neighbour, access)
                             : request_access(vcpu, number, access);
}

/* Most requests that are carried out at once, so that no exit takes long. */
#define CARRIED_AT_ONCE 2u

/* Carries out the request of VCPU `asking`. If it has given up the request since, the word has
 * another value, and the answer is dropped. */
static void carry_out(struct vcpu *vcpu, uint32_t asking, uint64_t request)
{
    uint64_t *word = &vcpu->partition->atomic.requests[asking];
    struct access access = remote_access(request);

    (void)redistributor_access_own(vcpu, &access);
    (void)__atomic_compare_exchange_n(word, &request, remote_answer(request, &access), false,
                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* Not inline, because requests are rare, and every change between VCPUs checks for one. If there
 * are more than a few, the VCPU calls itself, and carries out the others in another exit. */
__attribute__((noinline)) void remote_carry_out(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    unsigned count = 0;

    for (uint32_t asking = 0; asking < partition->constant.described->vcpu_count; asking++) {
        uint64_t request = __atomic_load_n(&partition->atomic.requests[asking], __ATOMIC_ACQUIRE);

        if (!remote_is_for(request, vcpu->number)) {
            continue;
        }
        if (count == CARRIED_AT_ONCE) {
            mail_add_on_core(mail_of(vcpu), MAIL_REQUEST | MAIL_MESSAGE);
            gic_call_core(partition, partition_core(partition, vcpu->number));
            return;
        }
        carry_out(vcpu, asking, request);
        count++;
    }
}
