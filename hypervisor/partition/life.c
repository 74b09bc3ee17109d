/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/life.h"

#include "channel/channel.h"
#include "console/terminal.h"
#include "console/uart.h"
#include "gic/setup.h"
#include "gic/sgi.h"
#include "health/health.h"
#include "hypervisor/processor.h"
#include "hypervisor/registers.h"
#include "partition/fault.h"
#include "partition/load.h"
#include "partition/notice.h"
#include "partition/ownership.h"
#include "partition/recall.h"
#include "partition/refused_dma.h"
#include "pci/config_space.h"
#include "shared_device/shared_device.h"
#include "smmu/smmu.h"
#include "vcpu/same_core.h"
#include "watchdog/watchdog.h"
#include <arch/hypercalls.h>

/*
 * The boot VCPU moves a partition through the phases of enum transition_phase, at boot and when all
 * VCPUs have stopped for a request. It takes steps of a phase until one has another outcome than
 * STEP_PENDING. That outcome is written at the arrow to the next phase. A stop, which may be
 * requested in any phase, cancels the start.
 *
 *   boot, or all VCPUs have stopped
 *        |
 *        v
 *      BLOCK <---------------------------------------- cancelled -----+
 *        | done, failed                                               |
 *        v                                                            |
 *      EVENTS, RESET, SHARED_DEVICES, INTERRUPTS, CHANNELS            |
 *        |      | done, and nothing has failed                        |
 *        |      +-------> LOAD -- done --------------------------> PERMIT -- done ----+
 *        | failed,                |                                   |               |
 *        | cancelled              | cancelled                         | failed        |
 *        v                        v                                   |               v
 *      LINKS <--------------------------------------------------------+         NONE, REQUEST_NONE:
 *        | done                                                           the boot VCPU executes
 *        v
 *      NONE, REQUEST_STOPPED or REQUEST_FAILED
 *
 * All of the first six phases are taken, whatever fails in one, so that as much as possible is
 * blocked and reset. LOAD begins once a restart after an error need not wait any more. The other
 * ends of channels are told only if DMA is blocked: until then a device may still write to a
 * channel. So may a device of a back-end to memory of its clients. A partition that is to be
 * destroyed goes on to LOAD, also if a stop is requested: its start ends there, once its memory is
 * zeroed (manager/manager.c).
 */

static struct vcpu_power *power_of(const struct vcpu *vcpu)
{
    return &vcpu->partition->atomic.power[vcpu->number];
}

/* Returns true if the VCPU does not execute. The load is sequentially consistent, so that of two
 * VCPUs that stop at once one sees the other. */
static bool has_stopped(const struct partition *partition, uint32_t vcpu)
{
    uint32_t state = __atomic_load_n(&partition->atomic.power[vcpu].state, __ATOMIC_SEQ_CST);

    return state == VCPU_OFF || state == VCPU_HALTED;
}

/* Returns the first VCPU of the partition that has not stopped, or vcpu_count if all have. */
static uint32_t first_running(const struct partition *partition)
{
    uint32_t vcpu = 0;

    while (vcpu < partition->constant.described->vcpu_count && has_stopped(partition, vcpu)) {
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
    uint32_t before = REQUEST_NONE, called = 0;

    (void)__atomic_compare_exchange_n(&partition->atomic.request, &before, (uint32_t)request, false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
    recall_own(vcpu);
    for (uint32_t i = 0; i < partition->constant.described->vcpu_count; i++) {
        /* On a shared core `vcpu` is called, too, because it may not execute or may have blocked.
         */
        if (i != vcpu->number || vcpu != processor_this()->vcpu ||
            partition_shares_cores(partition)) {
            called |= UINT32_C(1) << i;
        }
    }
    gic_send_many(partition, called);
}

/* Makes the partition stop whose VCPU has halted. This core may have halted between a message to
 * another VCPU and the call of its core (scheduler/mail.h): then the message of the request calls
 * nobody. So all cores are called. */
static void stop_for_halt(struct vcpu *vcpu)
{
    const struct partition *partition = vcpu->partition;

    life_request(vcpu, REQUEST_STOP);
    gic_call_vcpus(partition, (UINT32_C(1) << partition->constant.described->vcpu_count) - 1);
}

void life_halt(struct vcpu *vcpus)
{
    uint32_t before = VCPU_HALTED;

    /* All are marked first: a request may cause another exception, which comes here again. */
    for (struct vcpu *vcpu = vcpus; vcpu != NULL; vcpu = vcpu->next) {
        if (is_boot_vcpu(vcpu)) {
            vcpu->partition->boot_vcpu.management.result = MANAGER_NOT_ISOLATED;
        }
        before = __atomic_exchange_n(&power_of(vcpu)->state, VCPU_HALTED, __ATOMIC_SEQ_CST);
    }
    for (struct vcpu *vcpu = vcpus; vcpu != NULL && before != VCPU_HALTED; vcpu = vcpu->next) {
        stop_for_halt(vcpu);
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
    notice_event(vcpu, event);
    life_request(vcpu, request);
}

void life_replace_request(struct vcpu *vcpu, enum partition_request request, const char *event)
{
    struct partition *partition = vcpu->partition;

    health_begin_account(partition);
    if (partition->boot_vcpu.management.result == MANAGER_RESTARTS_USED_UP) {
        partition->boot_vcpu.management.result = MANAGER_DONE;
    }
    uart_hold_input(partition); /* what is typed from now on is for the guest that starts */
    notice_event(vcpu, event);
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

#define SMMU_LIMIT_US    1000000u
#define BACKEND_LIMIT_US 1000000u

static uint64_t time_after(uint64_t microseconds)
{
    return register_read(cntpct_el0) + register_read(cntfrq_el0) * microseconds / 1000000;
}

static enum life_step begin_phase(struct transition *transition, enum transition_phase phase)
{
    transition->phase = phase;
    transition->index = 0;
    return LIFE_POLL;
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
    const struct smmu_change pending = transition->change;

    uart_reset(partition);
    watchdog_reset(partition);
    ownership_begin_transition(partition);
    *transition = (struct transition){
        .failure = MANAGER_DONE, .change = pending, .settles = pending.has_begun};
    begin_smmu_phase(transition, TRANSITION_BLOCK);
    return LIFE_POLL;
}

static bool is_destroyed(const struct partition *partition)
{
    return partition->boot_vcpu.management.presence == PARTITION_ENDING;
}

/* Returns true if the partition is to start: at boot, for a restart, and to be destroyed. What was
 * requested last counts, also while the partition starts or stops. */
static bool is_to_start(const struct vcpu *vcpu)
{
    return vcpu->watch.request != REQUEST_STOP || is_destroyed(vcpu->partition);
}

/* Records that the partition's devices may still act for it. The first reason is kept. */
static void fail(struct partition *partition, enum manager_result reason)
{
    struct transition *transition = &partition->boot_vcpu.transition;

    if (transition->failure == MANAGER_DONE) {
        transition->failure = reason;
    }
}

/* Prints what the transition has not achieved. */
static void report_failure(const struct vcpu *vcpu)
{
    const struct partition *partition = vcpu->partition;
    const struct transition *transition = &partition->boot_vcpu.transition;

    if (transition->is_served) {
        terminal_print_event(
            partition,
            is_to_start(vcpu)
                ? "can't start: the back-end of a shared device does not answer"
                : "executes no more, but the back-end of a shared device may access its memory");
        return;
    }
    terminal_print_event(partition, is_to_start(vcpu)
                                        ? "can't start: a PCI function or the SMMU does not answer"
                                    : transition->failure == MANAGER_NOT_ISOLATED
                                        ? "executes no more, but its DMA is not blocked"
                                        : "executes no more, but its devices are not reset");
}

/* Ends the transition: the partition stays stopped. The manager reads the reason of a failure after
 * the request that says that the partition has failed. */
static enum life_step end_stopped(const struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    int32_t failure = partition->boot_vcpu.transition.failure;

    if (failure != MANAGER_DONE) {
        partition->boot_vcpu.management.result = failure;
        report_failure(vcpu);
    }
    partition->boot_vcpu.transition.phase = TRANSITION_NONE;
    __atomic_store_n(&partition->atomic.request,
                     failure == MANAGER_DONE ? REQUEST_STOPPED : REQUEST_FAILED, __ATOMIC_RELEASE);
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
    partition->boot_vcpu.has_kept = true;
    ownership_begin_life(partition);
    uart_release_input(partition);
    power->entry = partition->constant.described->entry;
    power->context = partition->constant.described->devicetree;
    __atomic_store_n(&partition->atomic.request, REQUEST_NONE, __ATOMIC_RELEASE);
    return LIFE_EXECUTE;
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

/* Waits for the end of a change of the SMMU that the stop interrupted. Then blocks DMA. */
static enum step_outcome settle_and_block(struct partition *partition)
{
    struct transition *transition = &partition->boot_vcpu.transition;

    if (transition->settles) {
        transition->settles = smmu_settle(partition, &transition->change) == STEP_PENDING;
        return STEP_PENDING;
    }
    return smmu_block_dma(partition, &transition->change);
}

static enum life_step block_dma(struct partition *partition)
{
    struct transition *transition = &partition->boot_vcpu.transition;
    enum step_outcome outcome = limit_smmu_step(partition, settle_and_block(partition));

    if (outcome == STEP_PENDING) {
        return LIFE_POLL;
    }
    if (outcome == STEP_FAILED) {
        fail(partition, MANAGER_NOT_ISOLATED);
    }
    return begin_phase(transition, TRANSITION_EVENTS);
}

static enum life_step discard_events(const struct vcpu *vcpu)
{
    struct transition *transition = &vcpu->partition->boot_vcpu.transition;

    return refused_dma_discard(vcpu, &transition->index) == STEP_PENDING
               ? LIFE_POLL
               : begin_phase(transition, TRANSITION_RESET);
}

/* Returns true if only the reset of the partition's functions ends their DMA. */
static bool is_isolated_by_reset(const struct partition *partition)
{
    return smmu_streams(partition->constant.system, partition->constant.described) == 0 &&
           partition->constant.described->dma != DESCRIPTION_DMA_NONE;
}

/* Resets the functions, as far as they answer. A function without a reset prevents only a start:
 * its bus mastering is disabled. */
static enum life_step reset_functions(struct partition *partition)
{
    struct transition *transition = &partition->boot_vcpu.transition;
    uint32_t microseconds;
    enum step_outcome outcome = pci_reset_continue(partition, &transition->reset, &microseconds);

    if (fault_of_device(0) || (outcome == STEP_FAILED && transition->reset.has_failed)) {
        fail(partition,
             is_isolated_by_reset(partition) ? MANAGER_NOT_ISOLATED : MANAGER_RESET_FAILED);
    }
    if (outcome == STEP_PENDING) {
        transition->due = time_after(microseconds);
        return LIFE_POLL;
    }
    transition->can_start = outcome == STEP_DONE;
    return begin_phase(transition, TRANSITION_SHARED_DEVICES);
}

/* Returns true if no device of the partition writes to memory any more. */
static bool is_isolated(const struct transition *transition)
{
    return transition->failure != MANAGER_NOT_ISOLATED || transition->is_served;
}

/* Ends the partition's part in shared devices. Its back-ends may write to its memory until they
 * have stopped, so a start needs that, like the end of its DMA. */
static enum life_step end_shared_devices(struct partition *partition)
{
    struct transition *transition = &partition->boot_vcpu.transition;
    uint32_t before;

    if (transition->index < partition->constant.system->shared_device_count) {
        transition->limit = time_after(BACKEND_LIMIT_US); /* the waits follow the ends of all */
    }
    before = transition->index;
    if (shared_device_end(partition, is_isolated(transition), &transition->index) == STEP_PENDING) {
        /* The time counts only if a back-end does not answer: an emulator may pause the core. */
        if (transition->index != before || register_read(cntpct_el0) < transition->limit) {
            return LIFE_POLL;
        }
        transition->is_served = transition->failure == MANAGER_DONE;
        fail(partition, MANAGER_NOT_ISOLATED);
    }
    return begin_phase(transition, TRANSITION_INTERRUPTS);
}

static enum life_step reset_interrupts(struct partition *partition)
{
    struct transition *transition = &partition->boot_vcpu.transition;
    enum step_outcome outcome = gic_reset_partition(partition, &transition->index);

    if (fault_of_device(0) || outcome == STEP_FAILED) {
        fail(partition, MANAGER_RESET_FAILED);
    }
    return outcome == STEP_DONE ? begin_phase(transition, TRANSITION_CHANNELS) : LIFE_POLL;
}

/* Tells the other ends of the partition's channels, and decides whether the partition starts. */
static enum life_step end_channels(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    struct transition *transition = &partition->boot_vcpu.transition;

    if (is_isolated(transition) && channel_end(partition, &transition->index) == STEP_PENDING) {
        return LIFE_POLL;
    }
    if (is_to_start(vcpu) && !transition->can_start) {
        fail(partition, MANAGER_RESET_FAILED);
    }
    if (transition->hands_over && transition->can_start && transition->failure == MANAGER_DONE) {
        ownership_hand_over(vcpu);
    }
    return is_to_start(vcpu) && transition->failure == MANAGER_DONE
               ? begin_phase(transition, TRANSITION_LOAD)
               : begin_phase(transition, TRANSITION_LINKS);
}

static enum life_step load(struct vcpu *vcpu)
{
    struct transition *transition = &vcpu->partition->boot_vcpu.transition;

    if (!is_to_start(vcpu)) {
        return begin_phase(transition, TRANSITION_LINKS);
    }
    if (health_has_to_wait(vcpu->partition)) {
        return LIFE_POLL;
    }
    if (load_continue(vcpu, &transition->load) == STEP_DONE) {
        begin_smmu_phase(transition, TRANSITION_PERMIT);
    }
    return LIFE_POLL;
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

/* If the SMMU permits DMA, but the partition is not to start any more, begins again: DMA has to be
 * blocked. */
static enum life_step permit_dma(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    enum step_outcome outcome = limit_smmu_step(
        partition, smmu_permit_dma(partition, &partition->boot_vcpu.transition.change));

    if (outcome == STEP_PENDING) {
        return LIFE_POLL;
    }
    if (outcome == STEP_FAILED) {
        fail(partition, MANAGER_NOT_ISOLATED);
        /* At boot the fault of the SMMU may be an error that restarts the partition. */
        read_request(vcpu);
        return vcpu->watch.request == REQUEST_RECOVER
                   ? LIFE_POLL
                   : begin_phase(&partition->boot_vcpu.transition, TRANSITION_LINKS);
    }
    return is_to_start(vcpu) ? end_started(vcpu) : begin(partition);
}

/* Tells the clients of the partition's shared devices that it stays stopped. A start that was
 * requested meanwhile begins. */
static enum life_step end_links(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    struct transition *transition = &partition->boot_vcpu.transition;

    if (shared_device_end_link(partition, &transition->index) == STEP_PENDING) {
        return LIFE_POLL;
    }
    return is_to_start(vcpu) && transition->failure == MANAGER_DONE ? begin(partition)
                                                                    : end_stopped(vcpu);
}

/* Takes the next step of the partition's start or stop. */
static enum life_step continue_transition(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    const struct transition *transition = &partition->boot_vcpu.transition;

    if (register_read(cntpct_el0) < transition->due) {
        return LIFE_POLL;
    }
    switch ((enum transition_phase)transition->phase) {
    case TRANSITION_BLOCK:
        return block_dma(partition);
    case TRANSITION_EVENTS:
        return discard_events(vcpu);
    case TRANSITION_RESET:
        return reset_functions(partition);
    case TRANSITION_SHARED_DEVICES:
        return end_shared_devices(partition);
    case TRANSITION_INTERRUPTS:
        return reset_interrupts(partition);
    case TRANSITION_CHANNELS:
        return end_channels(vcpu);
    case TRANSITION_LOAD:
        return load(vcpu);
    case TRANSITION_LINKS:
        return end_links(vcpu);
    default: /* TRANSITION_PERMIT */
        return permit_dma(vcpu);
    }
}

/* Returns the report of what follows from an error that restarts the partition. One report, because
 * a third one that is left would be dropped (partition/notice.h). */
static const char *recovery_report(uint32_t request, bool restarts, bool fails_over)
{
    if (!restarts) {
        return fails_over
                   ? "stays stopped: it has used up its restarts. Its standby gets its devices"
                   : "stays stopped: it has used up its restarts";
    }
    if (request == REQUEST_RECOVER) {
        return "restarts";
    }
    return fails_over ? "restarts: its standby gets its devices"
                      : "restarts with its devices: its standby does not execute, or has them";
}

/* Returns true for a request that follows from an error. */
static bool is_recovery(uint32_t request)
{
    return request == REQUEST_RECOVER || request == REQUEST_FAIL_OVER;
}

/* Decides whether the partition restarts after an error, and begins to do so, or to stop it. On its
 * boot VCPU, which alone replaces requests, so that no order of the terminal or the manager is
 * lost. */
static enum life_step begin_recovery(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    bool fails_over =
        vcpu->watch.request == REQUEST_FAIL_OVER && ownership_can_fail_over(partition);
    bool restarts = health_admit_restart(vcpu);

    notice_event(vcpu, recovery_report(vcpu->watch.request, restarts, fails_over));
    if (!restarts) {
        partition->boot_vcpu.management.result = MANAGER_RESTARTS_USED_UP;
    }
    vcpu->watch.request = restarts ? REQUEST_RESET : REQUEST_STOP;
    __atomic_store_n(&partition->atomic.request, vcpu->watch.request, __ATOMIC_RELEASE);
    (void)begin(partition);
    partition->boot_vcpu.transition.hands_over = fails_over;
    return LIFE_POLL;
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
    return is_recovery(vcpu->watch.request) ? begin_recovery(vcpu) : begin(partition);
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

    if (watch->request == REQUEST_NONE || watch->request > REQUEST_FAIL_OVER) {
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
        /* An error while the partition starts at boot. Later starts have a request, which is kept.
         */
        return is_recovery(vcpu->watch.request) ? begin_recovery(vcpu) : continue_transition(vcpu);
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
