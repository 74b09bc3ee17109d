/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/life.h"

#include "channel/channel.h"
#include "console/terminal.h"
#include "console/uart.h"
#include "gic/setup.h"
#include "gic/sgi.h"
#include "hypervisor/processor.h"
#include "hypervisor/registers.h"
#include "partition/fault.h"
#include "partition/load.h"
#include "partition/recall.h"
#include "pci/config_space.h"
#include "smmu/smmu.h"
#include "vcpu/same_core.h"

/*
 * The boot VCPU moves a partition through the phases of enum transition_phase, at boot and when all
 * VCPUs have stopped for a request. It takes steps of a phase until one has another outcome than
 * STEP_PENDING. That outcome is written at the arrow to the next phase. A stop, which may be
 * requested in any phase, cancels the start.
 *
 *   boot, or all VCPUs have stopped
 *        |
 *        v
 *      BLOCK <-------------------------- cancelled -----+
 *        | done, failed                                 |
 *        v                                              |
 *      RESET -- done ----> LOAD -- done ----------> PERMIT -- done ----+
 *        | failed,          |                           |              |
 *        | cancelled        | cancelled                 | failed       |
 *        v                  v                           v              v
 *      NONE, REQUEST_STOPPED <--------------------------+        NONE, REQUEST_NONE:
 *                                                                the boot VCPU executes
 */

static struct vcpu_power *power_of(const struct vcpu *vcpu)
{
    return &vcpu->partition->atomic.power[vcpu->number];
}

/* Returns the first VCPU of the partition that has not stopped, or vcpu_count if all have. The
 * loads are sequentially consistent, so that of two VCPUs that stop at once one sees the other. */
static uint32_t first_running(const struct partition *partition)
{
    uint32_t vcpu = 0;

    while (vcpu < partition->constant.described->vcpu_count &&
           __atomic_load_n(&partition->atomic.power[vcpu].state, __ATOMIC_SEQ_CST) == VCPU_OFF) {
        vcpu++;
    }
    return vcpu;
}

static bool is_boot_vcpu(const struct vcpu *vcpu)
{
    return vcpu->number == 0;
}

void life_request(struct vcpu *vcpu, enum partition_request request)
{
    struct partition *partition = vcpu->partition;
    uint32_t before = REQUEST_NONE;

    (void)__atomic_compare_exchange_n(&partition->atomic.request, &before, (uint32_t)request, false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
    recall_own(vcpu);
    for (uint32_t i = 0; i < partition->constant.described->vcpu_count; i++) {
        /* On a shared core `vcpu` is called, too, because it may not execute or may have blocked.
         */
        if (i != vcpu->number || vcpu != processor_this()->vcpu ||
            partition_shares_cores(partition)) {
            gic_send(partition, i);
        }
    }
}

static bool never_restarts(const struct partition *partition)
{
    return partition->constant.described->restart == DESCRIPTION_RESTART_NEVER;
}

void life_request_by_guest(struct vcpu *vcpu, enum partition_request request)
{
    const char *event = "is off";

    if (request == REQUEST_RESET) {
        event = "restarts";
        if (never_restarts(vcpu->partition)) {
            event = "is off: it never restarts";
            request = REQUEST_STOP;
        }
    }
    uart_flush(vcpu->partition, true);
    terminal_print_event(vcpu->partition, "%s", event);
    life_request(vcpu, request);
}

void life_replace_request(struct vcpu *vcpu, enum partition_request request, const char *event)
{
    struct partition *partition = vcpu->partition;

    uart_flush(partition, true);
    uart_hold_input(partition); /* what is typed from now on is for the guest that starts */
    terminal_print_event(partition, "%s", event);
    /* Other VCPUs may still handle an earlier request; only the boot VCPU completes requests. */
    __atomic_store_n(&partition->atomic.request, (uint32_t)request, __ATOMIC_RELEASE);
    life_request(vcpu, request);
}

void life_request_by_terminal(struct vcpu *vcpu, enum partition_request request)
{
    if (request == REQUEST_RESET && never_restarts(vcpu->partition)) {
        terminal_print_event(vcpu->partition, "never restarts");
        return;
    }
    life_replace_request(vcpu, request, request == REQUEST_STOP ? "is stopped" : "restarts");
}

#define SMMU_LIMIT_US 1000000u

static uint64_t time_after(uint64_t microseconds)
{
    return register_read(cntpct_el0) + register_read(cntfrq_el0) * microseconds / 1000000;
}

/* Begins a phase in which the SMMU carries out a change. */
static void begin_smmu_phase(struct transition *transition, enum transition_phase phase)
{
    transition->phase = phase;
    transition->limit = time_after(SMMU_LIMIT_US);
}

/* Begins to start or to stop the partition, on its boot VCPU: its devices are reset first. From
 * then on they reach no memory and raise no interrupt. The SMMU comes first: it aborts DMA whatever
 * a device does. */
static enum life_step begin(struct partition *partition)
{
    struct transition *transition = &partition->boot_vcpu.transition;

    uart_reset(partition);
    *transition = (struct transition){.phase = TRANSITION_NONE};
    begin_smmu_phase(transition, TRANSITION_BLOCK);
    return LIFE_POLL;
}

/* Ends the transition: the partition stays stopped. `outcome`: of the last phase. */
static enum life_step end_stopped(struct partition *partition, enum step_outcome outcome)
{
    if (outcome == STEP_FAILED) {
        terminal_print_event(partition, "can't start: a PCI function or the SMMU does not answer");
    }
    partition->boot_vcpu.transition.phase = TRANSITION_NONE;
    __atomic_store_n(&partition->atomic.request, REQUEST_STOPPED, __ATOMIC_RELEASE);
    return LIFE_SLEEP;
}

/* Ends the transition: the partition starts on its boot VCPU. */
static enum life_step end_started(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    struct vcpu_power *power = power_of(vcpu);

    partition->boot_vcpu.transition.phase = TRANSITION_NONE;
    recall_end(vcpu);
    partition->boot_vcpu.starts++;
    uart_release_input(partition);
    power->entry = partition->constant.described->entry;
    power->context = partition->constant.described->devicetree;
    __atomic_store_n(&partition->atomic.request, REQUEST_NONE, __ATOMIC_RELEASE);
    return LIFE_EXECUTE;
}

/* Returns true if the partition is to start: at boot, and for a restart. What was requested last
 * counts, also while the partition starts or stops. */
static bool is_to_start(const struct vcpu *vcpu)
{
    return vcpu->watch.request != REQUEST_STOP;
}

/* Returns the outcome of a step of the SMMU. A step that the SMMU has not done fails at the time
 * limit, and any step for a fault of the device. A failed change is ended. */
static enum step_outcome limit_smmu_step(struct partition *partition, enum step_outcome outcome)
{
    struct transition *transition = &partition->boot_vcpu.transition;

    if (fault_of_device(0) ||
        (outcome == STEP_PENDING && register_read(cntpct_el0) >= transition->limit)) {
        outcome = STEP_FAILED;
    }
    if (outcome == STEP_FAILED) {
        smmu_end_change(partition, &transition->change);
    }
    return outcome;
}

static enum step_outcome block_dma(struct partition *partition)
{
    return limit_smmu_step(partition,
                           smmu_block_dma(partition, &partition->boot_vcpu.transition.change));
}

/* Resets the functions, as far as they answer, and then the partition's interrupts and channels.
 * Fails if a device may still reach the partition's memory, which is not written to then. */
static enum step_outcome reset_devices(const struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    struct transition *transition = &partition->boot_vcpu.transition;
    uint32_t microseconds;
    enum step_outcome outcome = pci_reset_continue(partition, &transition->reset, &microseconds);

    if (outcome == STEP_PENDING) {
        transition->due = time_after(microseconds);
    } else {
        gic_reset_partition(partition);
        channel_end(partition);
    }
    if (fault_of_device(0) || outcome == STEP_FAILED) {
        transition->isolation = STEP_FAILED;
    }
    if (outcome == STEP_PENDING) {
        return STEP_PENDING;
    }
    return is_to_start(vcpu) ? (enum step_outcome)transition->isolation : STEP_CANCELLED;
}

static enum step_outcome load(const struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;

    return is_to_start(vcpu) ? load_continue(partition, &partition->boot_vcpu.transition.load)
                             : STEP_CANCELLED;
}

/* Returns STEP_CANCELLED if the SMMU permits DMA, but the partition is not to start any more. */
static enum step_outcome permit_dma(const struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    enum step_outcome outcome = limit_smmu_step(
        partition, smmu_permit_dma(partition, &partition->boot_vcpu.transition.change));

    return outcome == STEP_DONE && !is_to_start(vcpu) ? STEP_CANCELLED : outcome;
}

/* Takes the next step of the partition's start or stop. */
static enum life_step continue_transition(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    struct transition *transition = &partition->boot_vcpu.transition;
    enum step_outcome outcome;

    if (register_read(cntpct_el0) < transition->due) {
        return LIFE_POLL;
    }
    switch ((enum transition_phase)transition->phase) {
    case TRANSITION_BLOCK:
        outcome = block_dma(partition);
        if (outcome != STEP_PENDING) {
            transition->isolation = outcome;
            transition->phase = TRANSITION_RESET;
        }
        return LIFE_POLL;
    case TRANSITION_RESET:
        outcome = reset_devices(vcpu);
        if (outcome == STEP_DONE) {
            fault_discard_dma(vcpu);
            transition->phase = TRANSITION_LOAD;
            return LIFE_POLL;
        }
        break;
    case TRANSITION_LOAD:
        outcome = load(vcpu);
        if (outcome == STEP_DONE) {
            begin_smmu_phase(transition, TRANSITION_PERMIT);
            return LIFE_POLL;
        }
        break;
    default: /* TRANSITION_PERMIT */
        outcome = permit_dma(vcpu);
        if (outcome == STEP_DONE) {
            return end_started(vcpu);
        }
        if (outcome == STEP_CANCELLED) {
            return begin(partition);
        }
        break;
    }
    return outcome == STEP_PENDING ? LIFE_POLL : end_stopped(partition, outcome);
}

/* Begins to complete the request, once all VCPUs have stopped. Only the boot VCPU does; the last of
 * the other VCPUs that stops wakes it. */
static enum life_step complete_request(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;

    if (!is_boot_vcpu(vcpu)) {
        gic_send(partition, 0);
        return LIFE_SLEEP;
    }
    return begin(partition);
}

static bool is_time_over(const struct request_watch *watch)
{
    return register_read(cntpct_el0) - watch->requested >= register_read(cntfrq_el0); /* 1 s */
}

/* Reports a core that has not stopped within a second. The boot VCPU reports the other cores; if
 * the boot VCPU itself is missing, the other VCPUs report it. */
static void report_missing(const struct vcpu *vcpu, uint32_t missing)
{
    const struct partition *partition = vcpu->partition;

    if (is_boot_vcpu(vcpu) || missing == 0) {
        terminal_print_event(partition, "waits: core %u does not answer",
                             partition->constant.described->vcpus[missing].core);
    }
}

/* Completes a stop or a restart once all VCPUs have stopped. */
static enum life_step handle_request(struct vcpu *vcpu)
{
    struct request_watch *watch = &vcpu->watch;
    uint32_t missing = first_running(vcpu->partition);

    if (watch->request != REQUEST_RESET && watch->request != REQUEST_STOP) {
        return LIFE_SLEEP;
    }
    if (missing == vcpu->partition->constant.described->vcpu_count) {
        return complete_request(vcpu);
    }
    /* VCPUs on shared cores always answer, and may need this core to do so. */
    if (partition_shares_cores(vcpu->partition)) {
        return LIFE_SLEEP;
    }
    if (watch->is_timed && !is_time_over(watch)) {
        return LIFE_POLL;
    }
    if (watch->is_timed) {
        report_missing(vcpu, missing);
    }
    return LIFE_SLEEP;
}

/* Reads the partition's request. A new request starts the time limit. */
static void read_request(struct vcpu *vcpu)
{
    struct request_watch *watch = &vcpu->watch;
    uint32_t request = __atomic_load_n(&vcpu->partition->atomic.request, __ATOMIC_ACQUIRE);

    if (request != watch->request) {
        watch->is_timed = true;
        watch->requested = register_read(cntpct_el0);
    }
    watch->request = request;
}

enum life_step life_begin(struct vcpu *vcpu)
{
    return is_boot_vcpu(vcpu) ? begin(vcpu->partition) : LIFE_POLL;
}

void life_leave(struct vcpu *vcpu)
{
    uint32_t on = VCPU_ON;

    vcpu->watch = (struct request_watch){.request = REQUEST_NONE};
    /* CPU_OFF has set VCPU_OFF already, and since then another VCPU may have asked for a start. */
    (void)__atomic_compare_exchange_n(&power_of(vcpu)->state, &on, VCPU_OFF, false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
}

enum life_step life_continue(struct vcpu *vcpu)
{
    struct vcpu_power *power = power_of(vcpu);
    bool is_ready = __atomic_load_n(&power->state, __ATOMIC_ACQUIRE) == VCPU_READY;
    enum life_step next;

    read_request(vcpu);
    if (is_boot_vcpu(vcpu) && vcpu->partition->boot_vcpu.transition.phase != TRANSITION_NONE) {
        return continue_transition(vcpu);
    }
    if (is_ready) {
        if (vcpu->watch.request == REQUEST_NONE) {
            return LIFE_EXECUTE;
        }
        /* The partition has to stop: the VCPU is off again without a start. */
        __atomic_store_n(&power->state, VCPU_OFF, __ATOMIC_SEQ_CST);
    }
    next = handle_request(vcpu);
    if (next == LIFE_SLEEP) {
        vcpu->watch.is_timed = false;
    }
    return next;
}
