/* SPDX-License-Identifier: BSD-2-Clause */
#include "scheduler/mail.h"

#include "entry/interrupt.h"
#include "gic/listed.h"
#include "gic/remote_access.h"
#include "gic/sgi.h"
#include "partition/recall.h"
#include "scheduler/core.h"
#include "scheduler/scheduler.h"

void mail_deliver(struct vcpu *vcpu)
{
    uint32_t mail = mail_remove_waiting(mail_of(vcpu));

    listed_set_sgis_aside(vcpu, mail & MAIL_SGIS);
    if ((mail & MAIL_REQUEST) != 0) {
        remote_carry_out(vcpu);
        if (vcpu->shared != NULL) {
            scheduler_note_change(processor_this()->shared);
        }
    }
    listed_bring_back(vcpu);
}

void mail_handle_message(struct vcpu *vcpu)
{
    mail_remove_message(mail_of(vcpu));
    if (vcpu->shared != NULL) {
        vcpu->shared->is_called = false;
    }
    interrupt_handle_messages(vcpu);
}

/* Returns true if there is mail for the VCPU for which it has not been woken. */
static bool has_new_mail(const struct vcpu *vcpu)
{
    return !vcpu->shared->is_called && (!mail_is_empty(mail_of(vcpu)) || recall_is_called(vcpu));
}

/* Wakes a VCPU that has mail. It has a message from now on until it executes: whoever sends another
 * one finds it there, and does not interrupt this core again. */
static void wake_for_mail(struct processor *processor, struct vcpu *vcpu)
{
    mail_add_on_core(mail_of(vcpu), MAIL_MESSAGE);
    vcpu->shared->is_called = true;
    vcpu->shared->has_message = true;
    processor->shared->last_called = vcpu;
    scheduler_wake(processor, vcpu);
}

void scheduler_call(struct vcpu *vcpu)
{
    if (!vcpu->shared->is_called) {
        wake_for_mail(processor_this(), vcpu);
    }
}

/* Most VCPUs that are woken in one exit, so that no exit takes long. */
#define WOKEN_AT_ONCE 4u

unsigned mail_wake_vcpus(struct processor *processor)
{
    unsigned count = 0;

    for (struct vcpu *vcpu = processor->vcpus; vcpu != NULL; vcpu = vcpu->next) {
        if (!has_new_mail(vcpu)) {
            continue;
        }
        if (count == WOKEN_AT_ONCE) {
            gic_call_core(vcpu->partition, partition_core(vcpu->partition, vcpu->number));
            break;
        }
        wake_for_mail(processor, vcpu);
        count++;
    }
    return count;
}

/* Wakes the VCPUs that have mail or, if there are none, the VCPU for which the last message was. On
 * a processor that is not shared, handles the message for `vcpu`. */
static void wake_called(struct vcpu *vcpu)
{
    struct processor *processor = processor_this();
    struct shared_core *core = processor->shared;

    if (core == NULL) {
        mail_handle_message(vcpu);
    } else if (mail_wake_vcpus(processor) == 0 && core->last_called != NULL) {
        scheduler_wake(processor, core->last_called);
    }
}

void scheduler_device_interrupt(struct vcpu *vcpu, uint32_t partition)
{
    const struct processor *processor = processor_this();

    if (processor->shared != NULL) {
        processor->shared->last_called = NULL;
        for (struct vcpu *other = processor->vcpus; other != NULL; other = other->next) {
            if (other->number == 0 && other->partition->constant.index == partition) {
                processor->shared->last_called = other;
            }
        }
    }
    wake_called(vcpu);
}

void scheduler_message(struct vcpu *vcpu)
{
    wake_called(vcpu);
    mail_deliver(vcpu);
}

/* Sends the SGI by mail, because another VCPU may execute on the target's core. Each core is called
 * once for all of its targets, unless it is this one. So a partition interrupts the other VCPU once
 * until the target has executed, however many SGIs it sends. */
enum access_result scheduler_send_sgi(struct vcpu *vcpu, uint64_t value)
{
    struct partition *partition = vcpu->partition;
    struct sgi_targets targets = sgi_targets(partition, vcpu->number, value);
    uint32_t bit = UINT32_C(1) << sgi_number(value);
    uint32_t called = 0;
    bool is_for_this_core = false;

    for (uint32_t left = targets.vcpus; left != 0; left &= left - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(left);
        const struct description_vcpu *described = &partition->constant.described->vcpus[other];

        if (described->shared == 0) {
            sgi_send_one(partition, other, sgi_number(value));
        } else if (described->core == vcpu->processor) {
            mail_add_on_core(&partition->atomic.mail[other],
                             bit | (other != vcpu->number ? MAIL_MESSAGE : 0));
            is_for_this_core = true;
        } else if (mail_add_waiting(&partition->atomic.mail[other], bit)) {
            called |= UINT32_C(1) << other;
        }
    }
    gic_call_vcpus(partition, called);
    if (is_for_this_core) {
        (void)scheduler_charge(
            processor_this()->shared); /* the VCPU pays for this call until now */
        /* First, because another core may send this VCPU an SGI now. */
        (void)mail_wake_vcpus(processor_this());
        mail_deliver(vcpu); /* the SGI that it sent to itself */
    }
    return targets.others ? ACCESS_REFUSED : ACCESS_DONE;
}
