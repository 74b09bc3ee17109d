/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/fault.h"

#include "health/health.h"
#include "hypervisor/processor.h"
#include "hypervisor/registers.h"
#include "partition/life.h"
#include "partition/notice.h"

/* Exception class of an SError (Arm ARM, ESR_EL2.EC). */
#define CLASS_SERROR 0x2fu

/* Returns the error that an exception is: an SError, or else `other`. */
static enum health_error error_of(uint64_t syndrome, enum health_error other)
{
    return (syndrome >> 26 & 0x3f) == CLASS_SERROR ? HEALTH_ERROR_SERROR : other;
}

static enum partition_request request_for(enum health_action action)
{
    return action == HEALTH_ACTION_FAILOVER  ? REQUEST_FAIL_OVER
           : action == HEALTH_ACTION_RESTART ? REQUEST_RECOVER
                                             : REQUEST_STOP;
}

/* Handles the error as the table of its partition says. Returns false if the partition goes on. A
 * later fault of the VCPU, before the first one is reported on the terminal, is not reported. */
static bool handle(struct vcpu *vcpu, enum fault_kind kind, const struct health_event *event)
{
    enum health_action action = health_raise(vcpu, event);

    vcpu->report.exits[EXIT_FAULT]++;
    if (action == HEALTH_ACTION_IGNORE || action == HEALTH_ACTION_LOG) {
        return false;
    }
    if (vcpu->notice.fault == FAULT_NONE) {
        vcpu->report.syndrome = event->syndrome;
        vcpu->report.address = event->address;
        vcpu->report.pc = event->pc;
        notice_fault(vcpu, kind);
    }
    life_request(vcpu, request_for(action));
    return true;
}

void fault_stop(struct vcpu *vcpu, uint64_t pc, uint64_t syndrome, uint64_t address)
{
    (void)handle(vcpu, FAULT_OF_GUEST,
                 &(struct health_event){
                     .error = error_of(syndrome, HEALTH_ERROR_MEMORY_VIOLATION),
                     .source = vcpu->processor,
                     .address = address,
                     .syndrome = syndrome,
                     .pc = pc,
                 });
}

bool fault_of_dma(struct vcpu *vcpu, const struct smmu_event *event)
{
    return handle(vcpu, FAULT_OF_DMA,
                  &(struct health_event){
                      .error = HEALTH_ERROR_REFUSED_DMA,
                      .source = event->stream,
                      .address = event->address,
                      .syndrome = event->type,
                  });
}

/* Handles an error that the guest's own report shows, or its silence. `value`: the record's
 * address. */
static void handle_guest(struct vcpu *vcpu, enum fault_kind kind, enum health_error error,
                         uint64_t pc, uint64_t value)
{
    (void)handle(vcpu, kind,
                 &(struct health_event){
                     .error = error, .source = vcpu->processor, .address = value, .pc = pc});
}

void fault_of_panic(struct vcpu *vcpu, uint64_t pc, uint64_t value)
{
    handle_guest(vcpu, FAULT_OF_PANIC, HEALTH_ERROR_PANIC, pc, value);
}

void fault_of_watchdog(struct vcpu *vcpu, uint64_t pc)
{
    handle_guest(vcpu, FAULT_OF_WATCHDOG, HEALTH_ERROR_WATCHDOG, pc, 0);
}

void fault_of_heartbeat(struct vcpu *vcpu, uint64_t pc, uint64_t beats)
{
    handle_guest(vcpu, FAULT_OF_HEARTBEAT, HEALTH_ERROR_HEARTBEAT, pc, beats);
}

/* Not inline, because every exit asks for it and finds none. Returns true. */
static __attribute__((noinline)) bool handle_device(uint64_t pc)
{
    struct processor *processor = processor_this();
    uint64_t syndrome = processor->device_syndrome;

    processor->device_syndrome = 0;
    (void)handle(processor->vcpu, FAULT_OF_DEVICE,
                 &(struct health_event){
                     .error = error_of(syndrome, HEALTH_ERROR_DEVICE_FAILURE),
                     .source = processor->index,
                     .address = processor->device_address,
                     .syndrome = syndrome,
                     .pc = pc,
                 });
    return true;
}

/* Not inline, so that errors are taken in one place. */
__attribute__((noinline)) bool fault_of_device(uint64_t pc)
{
    take_pending_errors();
    if (processor_this()->device_syndrome == 0) {
        return false;
    }
    return handle_device(pc);
}
