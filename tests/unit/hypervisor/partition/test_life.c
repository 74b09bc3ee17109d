/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests hypervisor/partition/life.c: what a partition's start or stop does, in which order, and
 * what it tells, if the SMMU, a PCI function or the interrupt controller fails.
 *
 * Each step that life.c calls appends a letter to a record: B blocks DMA, R resets functions, I
 * resets SPIs, C ends a channel, E discards an event, L loads, P permits DMA. Steps that are not
 * the last are in lower case. O hands functions to the standby, S waits for a change of one. D ends
 * a shared device, w waits for a back-end, U ends a link, all only if the system has a shared
 * device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "channel/channel.h"
#include "console/terminal.h"
#include "console/uart.h"
#include "gic/setup.h"
#include "gic/sgi.h"
#include "health/health.h"
#include "hypervisor/processor.h"
#include "partition/fault.h"
#include "partition/life.h"
#include "partition/load.h"
#include "partition/notice.h"
#include "partition/ownership.h"
#include "partition/recall.h"
#include "partition/refused_dma.h"
#include "pci/config_space.h"
#include "shared_device/shared_device.h"
#include "smmu/smmu.h"
#include <arch/hypercalls.h>
#include <string.h>

#define HZ        1000000u /* a tick is a microsecond */
#define STEPS_MAX 100000u

static struct description description;
static struct partition partition;
static struct vcpu vcpus[2];
static struct processor processor;
static uint64_t now;
static char record[64];
static const char *event; /* the last one on the terminal */
/* The outcome of each step of a stop or a start, and the state that the steps change. */
static enum step_outcome smmu_block, smmu_permit, reset, interrupts;
static bool has_failed;           /* a function did not answer; otherwise it has no reset */
static bool smmu_fails;           /* it has a fault, which is taken next */
static bool smmu_fails_to_permit; /* it has one when it permits DMA next */
static bool is_absent_after_load;
static enum partition_request request_during_load;
static unsigned woken;  /* SGIs to VCPU 0 */
static uint32_t called; /* bit n: the core of VCPU n was called without a message */
/* The partition's account of restarts. */
static unsigned restarts_left, accounts, watchdogs_reset;
static uint64_t restart_waits, earliest; /* microseconds; time */
static const char *noticed;              /* the last event */
static bool can_fail_over, executes;
static uint64_t backend_stops; /* when the back-end of the partition's shared device has stopped */
static bool was_isolated;      /* when its shared devices ended */
static enum partition_request request_during_links;
static unsigned settles; /* steps of the change of a function that moves, before its last one */

static void note(char step)
{
    size_t length = strlen(record);

    assert_true(length + 1 < sizeof(record));
    record[length] = step;
}

uint64_t fake_register(const char *name)
{
    return strcmp(name, "cntpct_el0") == 0   ? now++
           : strcmp(name, "cntfrq_el0") == 0 ? HZ
                                             : (uint64_t)(uintptr_t)&processor;
}

void uart_reset(struct partition *own)
{
    (void)own;
}

void watchdog_reset(struct partition *own)
{
    assert_ptr_equal(own, &partition);
    watchdogs_reset++;
}

void uart_hold_input(struct partition *own)
{
    (void)own;
}

void uart_release_input(struct partition *own)
{
    (void)own;
}

void terminal_print_event(const struct partition *own, const char *format, ...)
{
    (void)own;
    event = format;
}

void notice_event(struct vcpu *vcpu, const char *text)
{
    (void)vcpu;
    noticed = text;
}

bool health_admit_restart(const struct vcpu *vcpu)
{
    assert_ptr_equal(vcpu, &vcpus[0]);
    if (restarts_left == 0) {
        return false;
    }
    restarts_left--;
    earliest = now + restart_waits;
    return true;
}

bool health_has_to_wait(const struct partition *own)
{
    (void)own;
    return now < earliest;
}

void health_begin_account(struct partition *own)
{
    (void)own;
    accounts++;
    earliest = 0;
}

void gic_send(struct partition *own, uint32_t vcpu)
{
    (void)own;
    woken += vcpu == 0;
}

void gic_send_many(struct partition *own, uint32_t targets)
{
    (void)own;
    woken += targets & 1;
}

void gic_call_vcpus(const struct partition *own, uint32_t targets)
{
    (void)own;
    called |= targets;
}

void recall_own(const struct vcpu *vcpu)
{
    (void)vcpu;
}

void recall_end(const struct vcpu *vcpu)
{
    (void)vcpu;
}

bool fault_of_device(uint64_t pc)
{
    bool has_failed_now = smmu_fails;

    (void)pc;
    smmu_fails = false;
    if (has_failed_now) {
        life_request(&vcpus[0], REQUEST_RECOVER);
    }
    return has_failed_now;
}

void smmu_end_change(const struct partition *own, struct smmu_change *change)
{
    (void)own;
    change->has_begun = false;
}

enum step_outcome smmu_settle(const struct partition *own, struct smmu_change *change)
{
    (void)own;
    assert_true(change->has_begun);
    note(settles != 0 ? 's' : 'S');
    change->has_begun = settles != 0;
    return settles-- != 0 ? STEP_PENDING : STEP_DONE;
}

bool ownership_can_fail_over(const struct partition *own)
{
    (void)own;
    return can_fail_over;
}

void ownership_hand_over(struct vcpu *vcpu)
{
    assert_int_equal(vcpu->number, 0);
    note('O');
}

void ownership_begin_life(const struct partition *own)
{
    assert_false(executes);
    executes = own == &partition;
}

void ownership_begin_transition(struct partition *own)
{
    executes = own != &partition;
}

enum step_outcome smmu_block_dma(const struct partition *own, struct smmu_change *change)
{
    (void)own;
    (void)change;
    if (smmu_block != STEP_PENDING) {
        note('B');
    }
    return smmu_block;
}

enum step_outcome smmu_permit_dma(const struct partition *own, struct smmu_change *change)
{
    (void)own;
    (void)change;
    note('P');
    smmu_fails = smmu_fails_to_permit;
    smmu_fails_to_permit = false;
    return smmu_permit;
}

enum step_outcome pci_reset_continue(struct partition *own, struct reset_progress *progress,
                                     uint32_t *microseconds)
{
    *microseconds = 5;
    note(progress->polls == 0 ? 'r' : 'R');
    if (progress->polls++ == 0) {
        return STEP_PENDING;
    }
    progress->has_failed = reset == STEP_FAILED && has_failed;
    return own->constant.described->restart == DESCRIPTION_RESTART_WITHOUT_RESET ? STEP_DONE
                                                                                 : reset;
}

enum step_outcome gic_reset_partition(struct partition *own, uint32_t *word)
{
    (void)own;
    note(*word < 2 ? 'i' : 'I');
    return (*word)++ == 2 ? STEP_DONE : *word == 1 ? interrupts : STEP_PENDING;
}

enum step_outcome channel_end(const struct partition *own, uint32_t *index)
{
    (void)own;
    note(*index < 2 ? 'c' : 'C');
    return (*index)++ == 2 ? STEP_DONE : STEP_PENDING;
}

enum step_outcome shared_device_end(const struct partition *own, bool is_isolated, uint32_t *index)
{
    if (own->constant.system->shared_device_count == 0) {
        return STEP_DONE;
    }
    was_isolated = is_isolated;
    switch (*index) {
    case 0:
        note('d');
        *index = 1;
        return STEP_PENDING;
    case 1:
        if (now >= backend_stops) {
            *index = 2;
        } else if (record[strlen(record) - 1] != 'w') {
            note('w');
        }
        return STEP_PENDING;
    default:
        note('D');
        return STEP_DONE;
    }
}

enum step_outcome shared_device_end_link(const struct partition *own, uint32_t *index)
{
    if (own->constant.system->shared_device_count == 0) {
        return STEP_DONE;
    }
    note(*index == 0 ? 'u' : 'U');
    if (request_during_links != REQUEST_NONE) {
        partition.atomic.request = request_during_links;
        request_during_links = REQUEST_NONE;
    }
    return (*index)++ == 0 ? STEP_PENDING : STEP_DONE;
}

enum step_outcome refused_dma_discard(const struct vcpu *vcpu, uint32_t *number)
{
    (void)vcpu;
    note(*number < 1 ? 'e' : 'E');
    return (*number)++ == 1 ? STEP_DONE : STEP_PENDING;
}

enum step_outcome load_continue(struct vcpu *boot_vcpu, struct load_progress *progress)
{
    struct partition *own = boot_vcpu->partition;

    note(progress->done == 0 ? 'l' : 'L');
    if (progress->done++ == 0) {
        return STEP_PENDING;
    }
    /* The partition has no memory with content: as manager/manager.c ends a start. */
    if (is_absent_after_load) {
        own->atomic.request = REQUEST_STOP;
        own->boot_vcpu.management.presence = PARTITION_ABSENT;
        return STEP_PENDING;
    }
    if (request_during_load != REQUEST_NONE) {
        own->atomic.request = request_during_load;
        request_during_load = REQUEST_NONE;
        return STEP_PENDING;
    }
    return STEP_DONE;
}

static int setup(void **state)
{
    (void)state;
    memset(&description, 0, sizeof(description));
    memset(&partition, 0, sizeof(partition));
    memset(vcpus, 0, sizeof(vcpus));
    now = 0;
    description.board.smmu = 0x9050000;
    description.partitions[0].vcpu_count = 1;
    description.partitions[0].function_count = 1;
    description.partitions[0].dma = DESCRIPTION_DMA_SMMU;
    partition.constant.system = &description;
    partition.constant.described = &description.partitions[0];
    for (uint32_t i = 0; i < 2; i++) {
        vcpus[i].partition = &partition;
        vcpus[i].number = i;
    }
    processor = (struct processor){.vcpu = &vcpus[0]};
    smmu_block = smmu_permit = reset = STEP_DONE;
    interrupts = STEP_PENDING;
    has_failed = true;
    is_absent_after_load = false;
    request_during_load = REQUEST_NONE;
    smmu_fails = smmu_fails_to_permit = false;
    restarts_left = accounts = watchdogs_reset = 0;
    restart_waits = earliest = 0;
    noticed = NULL;
    can_fail_over = executes = false;
    settles = 0;
    backend_stops = 0;
    request_during_links = REQUEST_NONE;
    return 0;
}

/* Takes steps until the boot VCPU sleeps or executes. Returns true if it executes. */
static bool run(enum life_step next)
{
    memset(record, 0, sizeof(record));
    event = NULL;
    for (unsigned step = 0; next == LIFE_POLL; step++) {
        assert_true(step < STEPS_MAX);
        now += HZ / 1000;
        next = life_continue(&vcpus[0]);
    }
    return next == LIFE_EXECUTE;
}

static bool is_started(void)
{
    partition.atomic.request = REQUEST_RESET;
    return run(life_continue(&vcpus[0]));
}

static void stop(void)
{
    partition.atomic.request = REQUEST_STOP;
    assert_false(run(life_continue(&vcpus[0])));
}

static void expect_stopped(enum partition_request request, int32_t result, const char *steps)
{
    assert_int_equal(partition.atomic.request, request);
    assert_int_equal(partition.boot_vcpu.management.result, result);
    assert_int_equal(partition.boot_vcpu.transition.phase, TRANSITION_NONE);
    assert_string_equal(record, steps);
    assert_int_equal(event != NULL, request == REQUEST_FAILED);
}

static void start_and_stop(void **state)
{
    (void)state;
    assert_true(run(life_begin(&vcpus[0])));
    assert_string_equal(record, "BeErRiiIccClLP");
    assert_int_equal(watchdogs_reset, 1);
    assert_int_equal(partition.boot_vcpu.starts, 1);
    assert_true(partition.boot_vcpu.has_kept);
    stop();
    assert_int_equal(watchdogs_reset, 2);
    expect_stopped(REQUEST_STOPPED, 0, "BeErRiiIccC");
    assert_true(partition.boot_vcpu.has_kept);
    assert_true(is_started());
    assert_int_equal(partition.atomic.request, REQUEST_NONE);
}

/* Shared devices end before the SPIs are reset, so that no back-end interrupts the next life. Links
 * end only if the partition stays stopped. */
static void shared_devices(void **state)
{
    (void)state;
    description.shared_device_count = 1;
    assert_true(run(life_begin(&vcpus[0])));
    assert_string_equal(record, "BeErRdDiiIccClLP");
    assert_true(was_isolated);
    stop();
    expect_stopped(REQUEST_STOPPED, 0, "BeErRdDiiIccCuU");
    assert_true(is_started());
    assert_string_equal(record, "BeErRdDiiIccClLP");
    request_during_load = REQUEST_STOP;
    assert_false(is_started());
    expect_stopped(REQUEST_STOPPED, 0, "BeErRdDiiIccClLuU");
}

/* A back-end that takes its time is waited for; one that never stops, for a second. Then the
 * partition has failed, because the back-end may write to its memory. Channels end all the same. */
static void backend_is_slow(void **state)
{
    (void)state;
    description.shared_device_count = 1;
    backend_stops = HZ / 2;
    assert_true(run(life_begin(&vcpus[0])));
    assert_string_equal(record, "BeErRdwDiiIccClLP");
    backend_stops = UINT64_MAX;
    stop();
    expect_stopped(REQUEST_FAILED, MANAGER_NOT_ISOLATED, "BeErRdwiiIccCuU");
    assert_string_equal(
        event, "executes no more, but the back-end of a shared device may access its memory");
    assert_false(is_started());
    expect_stopped(REQUEST_FAILED, MANAGER_NOT_ISOLATED, "BeErRdwiiIccCuU");
    assert_string_equal(event, "can't start: the back-end of a shared device does not answer");
    backend_stops = 0;
    partition.boot_vcpu.management.result = 0;
    assert_true(is_started());
}

/* The limit begins when all devices have ended, however long the core executed others until then.
 */
static void shared_core_is_slow(void **state)
{
    (void)state;
    description.shared_device_count = 1;
    assert_int_equal(life_begin(&vcpus[0]), LIFE_POLL);
    memset(record, 0, sizeof(record));
    while (partition.boot_vcpu.transition.phase != TRANSITION_SHARED_DEVICES) {
        assert_int_equal(life_continue(&vcpus[0]), LIFE_POLL);
    }
    now += 2 * HZ;
    assert_true(run(LIFE_POLL));
    assert_string_equal(record, "dDiiIccClLP");
}

/* A core that was paused for longer than the limit has not waited for a back-end that has stopped.
 */
static void paused_core_does_not_fail(void **state)
{
    struct transition *transition = &partition.boot_vcpu.transition;

    (void)state;
    description.shared_device_count = 1;
    assert_int_equal(life_begin(&vcpus[0]), LIFE_POLL);
    memset(record, 0, sizeof(record));
    while (transition->phase != TRANSITION_SHARED_DEVICES || transition->index == 0) {
        assert_int_equal(life_continue(&vcpus[0]), LIFE_POLL);
    }
    now += 2 * HZ;
    assert_true(run(LIFE_POLL));
    assert_string_equal(record, "DiiIccClLP");
}

/* Of a partition whose DMA is not blocked no device ends as that of a back-end. */
static void backend_is_not_isolated(void **state)
{
    (void)state;
    description.shared_device_count = 1;
    smmu_block = STEP_FAILED;
    stop();
    expect_stopped(REQUEST_FAILED, MANAGER_NOT_ISOLATED, "BeErRdDiiIuU");
    assert_false(was_isolated);
    assert_string_equal(event, "executes no more, but its DMA is not blocked");
}

/* A start that is requested while the clients are told that the partition stays stopped. */
static void start_during_links(void **state)
{
    (void)state;
    description.shared_device_count = 1;
    request_during_links = REQUEST_RESET;
    partition.atomic.request = REQUEST_STOP;
    assert_true(run(life_continue(&vcpus[0])));
    assert_string_equal(record, "BeErRdDiiIccCuUBeErRdDiiIccClLP");
}

/* The other ends of channels are told only once DMA is blocked. The stop may be repeated. */
static void dma_is_not_blocked(void **state)
{
    (void)state;
    smmu_block = STEP_FAILED;
    stop();
    expect_stopped(REQUEST_FAILED, MANAGER_NOT_ISOLATED, "BeErRiiI");
    assert_false(is_started());
    expect_stopped(REQUEST_FAILED, MANAGER_NOT_ISOLATED, "BeErRiiI");
    smmu_block = STEP_PENDING; /* for ever */
    stop();
    expect_stopped(REQUEST_FAILED, MANAGER_NOT_ISOLATED, "eErRiiI");
    smmu_block = STEP_DONE;
    partition.boot_vcpu.management.result = 0;
    stop();
    expect_stopped(REQUEST_STOPPED, 0, "BeErRiiIccC");
}

static void function_is_not_reset(void **state)
{
    (void)state;
    reset = STEP_FAILED;
    stop();
    expect_stopped(REQUEST_FAILED, MANAGER_RESET_FAILED, "BeErRiiIccC");
    assert_false(is_started());
    expect_stopped(REQUEST_FAILED, MANAGER_RESET_FAILED, "BeErRiiIccC");
    smmu_block = STEP_FAILED;
    stop();
    expect_stopped(REQUEST_FAILED, MANAGER_NOT_ISOLATED, "BeErRiiI");
    smmu_block = STEP_DONE;
    description.partitions[0].restart = DESCRIPTION_RESTART_WITHOUT_RESET;
    assert_true(is_started());
}

/* Without an SMMU a function that is not reset may go on with its DMA, unless it has none. */
static void function_is_not_reset_without_an_smmu(void **state)
{
    (void)state;
    description.board.smmu = 0;
    description.partitions[0].dma = DESCRIPTION_DMA_TRUSTED;
    reset = STEP_FAILED;
    stop();
    expect_stopped(REQUEST_FAILED, MANAGER_NOT_ISOLATED, "BeErRiiI");
    description.partitions[0].dma = DESCRIPTION_DMA_NONE;
    stop();
    expect_stopped(REQUEST_FAILED, MANAGER_RESET_FAILED, "BeErRiiIccC");
}

/* A function without a reset is no obstacle to a stop: it has no bus mastering any more. */
static void function_has_no_reset(void **state)
{
    (void)state;
    reset = STEP_FAILED;
    has_failed = false;
    stop();
    expect_stopped(REQUEST_STOPPED, 0, "BeErRiiIccC");
    assert_false(is_started());
    expect_stopped(REQUEST_FAILED, MANAGER_RESET_FAILED, "BeErRiiIccC");
}

static void interrupt_controller_does_not_settle(void **state)
{
    (void)state;
    interrupts = STEP_FAILED;
    stop();
    expect_stopped(REQUEST_FAILED, MANAGER_RESET_FAILED, "BeErRiiIccC");
}

static void dma_is_not_permitted(void **state)
{
    (void)state;
    smmu_permit = STEP_FAILED;
    assert_false(is_started());
    expect_stopped(REQUEST_FAILED, MANAGER_NOT_ISOLATED, "BeErRiiIccClLP");
}

/* A partition that is to be destroyed is not stopped before its memory is zeroed: neither by a
 * failure nor by a stop that is typed meanwhile. */
static void destroyed_partition_is_zeroed(void **state)
{
    (void)state;
    is_absent_after_load = true;
    partition.boot_vcpu.management.presence = PARTITION_ENDING;
    reset = STEP_FAILED;
    assert_false(is_started());
    expect_stopped(REQUEST_FAILED, MANAGER_RESET_FAILED, "BeErRiiIccC");
    assert_int_equal(partition.boot_vcpu.management.presence, PARTITION_ENDING);
    reset = STEP_DONE;
    partition.boot_vcpu.management.result = 0;
    stop();
    expect_stopped(REQUEST_STOPPED, 0, "BeErRiiIccClL");
    assert_int_equal(partition.boot_vcpu.management.presence, PARTITION_ABSENT);
}

/* A VCPU whose core has halted does not hold up a stop. The partition may start without it. */
static void halted_vcpu_counts_as_stopped(void **state)
{
    (void)state;
    description.partitions[0].vcpu_count = 2;
    assert_true(run(life_begin(&vcpus[0])));
    partition.atomic.power[0].state = partition.atomic.power[1].state = VCPU_ON;
    processor.vcpu = &vcpus[1];
    woken = called = 0;
    life_halt(&vcpus[1]);
    assert_int_equal(partition.atomic.request, REQUEST_STOP);
    assert_int_equal(woken, 1);
    assert_int_equal(called, 3); /* whatever messages there are */
    life_halt(&vcpus[1]);        /* an exception while it halts */
    assert_int_equal(woken, 1);
    processor.vcpu = &vcpus[0];
    life_leave(&vcpus[0]);
    assert_false(run(life_continue(&vcpus[0])));
    expect_stopped(REQUEST_STOPPED, 0, "BeErRiiIccC");
    assert_true(is_started());
    assert_int_equal(partition.atomic.power[1].state, VCPU_HALTED);
}

/* Nobody can complete the stop of a partition whose boot VCPU has halted. The other VCPUs stop. */
static void halted_boot_vcpu_is_a_failure(void **state)
{
    (void)state;
    description.partitions[0].vcpu_count = 2;
    vcpus[0].next = NULL;
    assert_true(run(life_begin(&vcpus[0])));
    partition.atomic.power[0].state = partition.atomic.power[1].state = VCPU_ON;
    life_halt(&vcpus[0]);
    assert_int_equal(partition.atomic.power[0].state, VCPU_HALTED);
    assert_int_equal(partition.boot_vcpu.management.result, MANAGER_NOT_ISOLATED);
    processor.vcpu = &vcpus[1];
    life_leave(&vcpus[1]);
    assert_int_equal(life_continue(&vcpus[1]), LIFE_SLEEP);
    assert_int_equal(partition.atomic.request, REQUEST_STOP);
}

/* A VCPU halts while its partition restarts. The restart goes on without it. */
static void halt_during_a_restart(void **state)
{
    static const enum partition_request requests[] = {REQUEST_RESET, REQUEST_RECOVER,
                                                      REQUEST_FAIL_OVER};

    (void)state;
    for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        setup(NULL);
        description.partitions[0].vcpu_count = 2;
        restarts_left = 1;
        assert_true(run(life_begin(&vcpus[0])));
        partition.atomic.power[0].state = partition.atomic.power[1].state = VCPU_ON;
        processor.vcpu = &vcpus[0];
        life_request(&vcpus[0], requests[i]);
        life_leave(&vcpus[0]);
        assert_int_equal(life_continue(&vcpus[0]), LIFE_POLL); /* waits for the other VCPU */
        processor.vcpu = &vcpus[1];
        woken = called = 0;
        life_halt(&vcpus[1]);
        assert_int_equal(called, 3); /* the boot VCPU, too, looks again */
        processor.vcpu = &vcpus[0];
        assert_true(run(life_continue(&vcpus[0])));
        assert_int_equal(partition.boot_vcpu.starts, 2);
        assert_int_equal(partition.atomic.power[1].state, VCPU_HALTED);
        assert_int_equal(partition.boot_vcpu.management.result, MANAGER_DONE);
    }
}

/* The boot VCPU halts while it restarts its partition. The others stop, and nothing starts them. */
static void boot_vcpu_halts_during_a_restart(void **state)
{
    (void)state;
    description.partitions[0].vcpu_count = 2;
    vcpus[0].next = NULL;
    assert_true(run(life_begin(&vcpus[0])));
    partition.atomic.power[0].state = partition.atomic.power[1].state = VCPU_ON;
    life_request(&vcpus[0], REQUEST_RESET);
    processor.vcpu = &vcpus[1];
    life_leave(&vcpus[1]);
    assert_int_equal(life_continue(&vcpus[1]), LIFE_POLL);
    processor.vcpu = &vcpus[0];
    life_leave(&vcpus[0]);
    assert_int_equal(life_continue(&vcpus[0]), LIFE_POLL); /* a phase of the transition */
    life_halt(&vcpus[0]);
    processor.vcpu = &vcpus[1];
    assert_int_equal(life_continue(&vcpus[1]), LIFE_SLEEP);
    assert_int_equal(partition.boot_vcpu.starts, 1);
    assert_int_equal(partition.boot_vcpu.management.result, MANAGER_NOT_ISOLATED);
}

static void stop_ends_a_start(void **state)
{
    (void)state;
    request_during_load = REQUEST_STOP;
    assert_false(is_started());
    expect_stopped(REQUEST_STOPPED, 0, "BeErRiiIccClL");
    request_during_load = REQUEST_STOP;
    smmu_permit = STEP_DONE;
    assert_false(run(life_begin(&vcpus[0])));
}

/* An error of one VCPU restarts the partition, once all VCPUs have stopped. */
static void partition_recovers(void **state)
{
    (void)state;
    description.partitions[0].vcpu_count = 2;
    restarts_left = 1;
    assert_true(run(life_begin(&vcpus[0])));
    partition.atomic.power[0].state = partition.atomic.power[1].state = VCPU_ON;
    processor.vcpu = &vcpus[1];
    life_request(&vcpus[1], REQUEST_RECOVER);
    life_leave(&vcpus[1]);
    assert_int_equal(life_continue(&vcpus[1]), LIFE_POLL);
    assert_int_equal(partition.atomic.request, REQUEST_RECOVER);
    processor.vcpu = &vcpus[0];
    life_leave(&vcpus[0]);
    assert_true(run(life_continue(&vcpus[0])));
    assert_string_equal(record, "BeErRiiIccClLP");
    assert_int_equal(partition.atomic.request, REQUEST_NONE);
    assert_int_equal(partition.boot_vcpu.starts, 2);
    assert_string_equal(noticed, "restarts");
    assert_int_equal(accounts, 0);
}

/* The standby gets the functions once all has been reset, also if the partition stays stopped. */
static void partition_fails_over(void **state)
{
    for (unsigned left = 0; left < 2; left++) {
        (void)setup(state);
        can_fail_over = true;
        restarts_left = left;
        assert_true(run(life_begin(&vcpus[0])));
        life_request(&vcpus[0], REQUEST_FAIL_OVER);
        assert_int_equal(run(life_continue(&vcpus[0])), left == 1);
        assert_string_equal(record, left == 1 ? "BeErRiiIccCOlLP" : "BeErRiiIccCO");
        assert_string_equal(
            noticed, left == 1 ? "restarts: its standby gets its devices"
                               : "stays stopped: it has used up its restarts. Its standby gets its "
                                 "devices");
    }
}

/* A function that was not reset does not move, and neither does any without a standby. */
static void nobody_takes_over(void **state)
{
    (void)state;
    restarts_left = 2;
    assert_true(run(life_begin(&vcpus[0])));
    life_request(&vcpus[0], REQUEST_FAIL_OVER);
    assert_true(run(life_continue(&vcpus[0])));
    assert_string_equal(record, "BeErRiiIccClLP");
    can_fail_over = true;
    reset = STEP_FAILED;
    life_request(&vcpus[0], REQUEST_FAIL_OVER);
    assert_false(run(life_continue(&vcpus[0])));
    expect_stopped(REQUEST_FAILED, MANAGER_RESET_FAILED, "BeErRiiIccC");
}

/* A change of the SMMU that a stop interrupts ends first. */
static void stop_waits_for_a_change_of_a_function_that_moves(void **state)
{
    (void)state;
    assert_true(run(life_begin(&vcpus[0])));
    partition.boot_vcpu.transition.change.has_begun = true;
    settles = 2;
    stop();
    expect_stopped(REQUEST_STOPPED, 0, "ssSBeErRiiIccC");
}

/* The boot VCPU is off when another VCPU has the error, and is woken. */
static void boot_vcpu_is_off(void **state)
{
    (void)state;
    description.partitions[0].vcpu_count = 2;
    restarts_left = 1;
    assert_true(run(life_begin(&vcpus[0])));
    partition.atomic.power[0].state = VCPU_OFF;
    partition.atomic.power[1].state = VCPU_ON;
    assert_int_equal(life_continue(&vcpus[0]), LIFE_SLEEP);
    processor.vcpu = &vcpus[1];
    woken = 0;
    life_request(&vcpus[1], REQUEST_RECOVER);
    assert_int_equal(woken, 1);
    life_leave(&vcpus[1]);
    assert_int_equal(life_continue(&vcpus[1]), LIFE_SLEEP);
    assert_int_equal(woken, 2);
    processor.vcpu = &vcpus[0];
    assert_true(run(life_continue(&vcpus[0])));
    assert_int_equal(partition.boot_vcpu.starts, 2);
}

static void restarts_are_used_up(void **state)
{
    (void)state;
    assert_true(run(life_begin(&vcpus[0])));
    life_request(&vcpus[0], REQUEST_RECOVER);
    assert_false(run(life_continue(&vcpus[0])));
    expect_stopped(REQUEST_STOPPED, MANAGER_RESTARTS_USED_UP, "BeErRiiIccC");
    assert_string_equal(noticed, "stays stopped: it has used up its restarts");
    /* An order starts it all the same. */
    life_replace_request(&vcpus[0], REQUEST_RESET, "restarts");
    assert_int_equal(accounts, 1);
    assert_int_equal(partition.boot_vcpu.management.result, MANAGER_DONE);
    assert_true(run(life_continue(&vcpus[0])));
}

/* Devices are blocked and reset before the wait, and memory is loaded after it. */
static void restart_waits_before_it_loads(void **state)
{
    (void)state;
    restarts_left = 1;
    restart_waits = HZ;
    assert_true(run(life_begin(&vcpus[0])));
    life_request(&vcpus[0], REQUEST_RECOVER);
    memset(record, 0, sizeof(record));
    while (earliest == 0 || now + 10 < earliest) { /* each step reads the time */
        assert_int_equal(life_continue(&vcpus[0]), LIFE_POLL);
    }
    assert_string_equal(record, "BeErRiiIccC");
    assert_true(run(LIFE_POLL));
    assert_string_equal(record, "lLP");
}

static void wait_for_a_restart(void)
{
    restarts_left = 1;
    restart_waits = UINT64_C(10) * HZ;
    assert_true(run(life_begin(&vcpus[0])));
    life_request(&vcpus[0], REQUEST_RECOVER);
    memset(record, 0, sizeof(record));
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(life_continue(&vcpus[0]), LIFE_POLL);
    }
    assert_int_equal(partition.boot_vcpu.transition.phase, TRANSITION_LOAD);
}

/* A stop that is ordered during the wait ends it, and a restart is not delayed any more. */
static void orders_end_the_wait(void **state)
{
    (void)state;
    wait_for_a_restart();
    life_replace_request(&vcpus[0], REQUEST_STOP, "is stopped");
    assert_int_equal(life_continue(&vcpus[0]), LIFE_POLL);
    assert_int_equal(life_continue(&vcpus[0]), LIFE_SLEEP);
    assert_int_equal(partition.atomic.request, REQUEST_STOPPED);
    wait_for_a_restart();
    life_replace_request(&vcpus[0], REQUEST_RESET, "restarts");
    assert_int_equal(life_continue(&vcpus[0]), LIFE_POLL);
    assert_string_equal(record, "BeErRiiIccCl");
    assert_true(run(LIFE_POLL));
    assert_string_equal(record, "LP");
    assert_true(now < UINT64_C(10) * HZ);
}

/* A stop of the terminal replaces a restart for an error, and an error does not replace a stop. */
static void stop_replaces_a_recovery(void **state)
{
    (void)state;
    restarts_left = 1;
    assert_true(run(life_begin(&vcpus[0])));
    life_request(&vcpus[0], REQUEST_RECOVER);
    life_replace_request(&vcpus[0], REQUEST_STOP, "is stopped");
    assert_false(run(life_continue(&vcpus[0])));
    expect_stopped(REQUEST_STOPPED, 0, "BeErRiiIccC");
    assert_true(is_started());
    life_request(&vcpus[0], REQUEST_STOP);
    life_request(&vcpus[0], REQUEST_RECOVER);
    assert_false(run(life_continue(&vcpus[0])));
    expect_stopped(REQUEST_STOPPED, 0, "BeErRiiIccC");
    life_request(&vcpus[0], REQUEST_RECOVER); /* an SError that comes late */
    assert_int_equal(life_continue(&vcpus[0]), LIFE_SLEEP);
    assert_int_equal(restarts_left, 1);
}

/* A device does not answer while the partition starts at boot: it starts again. Devices that are
 * not reset then make it fail, as in any start. */
static void error_while_it_starts(void **state)
{
    (void)state;
    restarts_left = 1;
    request_during_load = REQUEST_RECOVER;
    assert_true(run(life_begin(&vcpus[0])));
    assert_string_equal(record, "BeErRiiIccClLBeErRiiIccClLP");
    assert_int_equal(partition.boot_vcpu.starts, 1);
    setup(NULL);
    restarts_left = 1;
    smmu_fails_to_permit = true;
    assert_true(run(life_begin(&vcpus[0])));
    assert_string_equal(record, "BeErRiiIccClLPBeErRiiIccClLP");
    restarts_left = 1;
    reset = STEP_FAILED;
    life_request(&vcpus[0], REQUEST_RECOVER);
    assert_false(run(life_continue(&vcpus[0])));
    expect_stopped(REQUEST_FAILED, MANAGER_RESET_FAILED, "BeErRiiIccC");
}

/* A partition whose boot VCPU has halted can't restart by itself. */
static void halted_partition_does_not_recover(void **state)
{
    (void)state;
    description.partitions[0].vcpu_count = 2;
    restarts_left = 1;
    assert_true(run(life_begin(&vcpus[0])));
    partition.atomic.power[0].state = partition.atomic.power[1].state = VCPU_ON;
    processor.vcpu = &vcpus[1];
    life_request(&vcpus[1], REQUEST_RECOVER);
    processor.vcpu = &vcpus[0];
    life_halt(&vcpus[0]);
    processor.vcpu = &vcpus[1];
    life_leave(&vcpus[1]);
    assert_int_equal(life_continue(&vcpus[1]), LIFE_SLEEP);
    assert_int_equal(partition.boot_vcpu.management.result, MANAGER_NOT_ISOLATED);
    assert_int_equal(restarts_left, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(start_and_stop, setup),
        cmocka_unit_test_setup(shared_devices, setup),
        cmocka_unit_test_setup(backend_is_slow, setup),
        cmocka_unit_test_setup(paused_core_does_not_fail, setup),
        cmocka_unit_test_setup(shared_core_is_slow, setup),
        cmocka_unit_test_setup(backend_is_not_isolated, setup),
        cmocka_unit_test_setup(start_during_links, setup),
        cmocka_unit_test_setup(dma_is_not_blocked, setup),
        cmocka_unit_test_setup(function_is_not_reset, setup),
        cmocka_unit_test_setup(function_is_not_reset_without_an_smmu, setup),
        cmocka_unit_test_setup(function_has_no_reset, setup),
        cmocka_unit_test_setup(interrupt_controller_does_not_settle, setup),
        cmocka_unit_test_setup(dma_is_not_permitted, setup),
        cmocka_unit_test_setup(destroyed_partition_is_zeroed, setup),
        cmocka_unit_test_setup(halted_vcpu_counts_as_stopped, setup),
        cmocka_unit_test_setup(halted_boot_vcpu_is_a_failure, setup),
        cmocka_unit_test_setup(halt_during_a_restart, setup),
        cmocka_unit_test_setup(boot_vcpu_halts_during_a_restart, setup),
        cmocka_unit_test_setup(stop_ends_a_start, setup),
        cmocka_unit_test(partition_fails_over),
        cmocka_unit_test_setup(nobody_takes_over, setup),
        cmocka_unit_test_setup(stop_waits_for_a_change_of_a_function_that_moves, setup),
        cmocka_unit_test_setup(partition_recovers, setup),
        cmocka_unit_test_setup(boot_vcpu_is_off, setup),
        cmocka_unit_test_setup(restarts_are_used_up, setup),
        cmocka_unit_test_setup(restart_waits_before_it_loads, setup),
        cmocka_unit_test_setup(orders_end_the_wait, setup),
        cmocka_unit_test_setup(stop_replaces_a_recovery, setup),
        cmocka_unit_test_setup(error_while_it_starts, setup),
        cmocka_unit_test_setup(halted_partition_does_not_recover, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
