/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests hypervisor/partition/fault.c: the error that each fault is, and the request that follows
 * from each action. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "health/health.h"
#include "hypervisor/processor.h"
#include "partition/fault.h"
#include "partition/life.h"
#include "partition/notice.h"
#include "smmu/smmu.h"
#include <string.h>

#define DATA_ABORT UINT64_C(0x93000046) /* ESR_EL2 of a write */
#define SERROR     UINT64_C(0xbe000011)
#define OWN_ABORT  UINT64_C(0x96000010) /* an external abort of the monitor */
#define PC         UINT64_C(0x40200104)
#define ADDRESS    UINT64_C(0x3f000000)
#define CORE       2u

static struct partition partition;
static struct vcpu vcpu;
static struct processor processor;
static enum health_action action;
static struct health_event event;      /* the last one that was raised */
static enum partition_request request; /* the last one; REQUEST_NONE: none */
static enum fault_kind noticed;

uint64_t fake_register(const char *name)
{
    (void)name;
    return (uint64_t)(uintptr_t)&processor;
}

enum health_action health_raise(const struct vcpu *own, const struct health_event *raised)
{
    assert_ptr_equal(own, &vcpu);
    event = *raised;
    return action;
}

void life_request(struct vcpu *own, enum partition_request made)
{
    assert_ptr_equal(own, &vcpu);
    request = made;
}

void notice_fault(struct vcpu *own, enum fault_kind kind)
{
    own->notice.fault = kind;
    noticed = kind;
}

static int setup(void **state)
{
    (void)state;
    vcpu = (struct vcpu){.partition = &partition, .processor = CORE};
    processor = (struct processor){.vcpu = &vcpu, .index = CORE};
    action = HEALTH_ACTION_STOP;
    request = REQUEST_NONE;
    noticed = FAULT_NONE;
    return 0;
}

static void expect_event(enum health_error error, uint32_t source, uint64_t address,
                         uint64_t syndrome, uint64_t pc)
{
    assert_int_equal(event.error, error);
    assert_int_equal(event.source, source);
    assert_int_equal(event.address, address);
    assert_int_equal(event.syndrome, syndrome);
    assert_int_equal(event.pc, pc);
}

static void guest_violates_memory(void **state)
{
    (void)state;
    fault_stop(&vcpu, PC, DATA_ABORT, ADDRESS);
    expect_event(HEALTH_ERROR_MEMORY_VIOLATION, CORE, ADDRESS, DATA_ABORT, PC);
    assert_int_equal(request, REQUEST_STOP);
    assert_int_equal(noticed, FAULT_OF_GUEST);
    assert_int_equal(vcpu.report.exits[EXIT_FAULT], 1);
    assert_true(vcpu.report.syndrome == DATA_ABORT && vcpu.report.address == ADDRESS &&
                vcpu.report.pc == PC);
}

static void guest_gets_a_system_error(void **state)
{
    (void)state;
    action = HEALTH_ACTION_RESTART;
    fault_stop(&vcpu, PC, SERROR, FAULT_ADDRESS_UNKNOWN);
    expect_event(HEALTH_ERROR_SERROR, CORE, UINT64_MAX, SERROR, PC);
    assert_int_equal(request, REQUEST_RECOVER);
}

static void device_does_not_answer(void **state)
{
    (void)state;
    assert_false(fault_of_device(PC));
    processor.device_syndrome = OWN_ABORT;
    processor.device_address = ADDRESS;
    assert_true(fault_of_device(PC));
    expect_event(HEALTH_ERROR_DEVICE_FAILURE, CORE, ADDRESS, OWN_ABORT, PC);
    assert_int_equal(noticed, FAULT_OF_DEVICE);
    assert_false(fault_of_device(PC));
    processor.device_syndrome = SERROR;
    processor.device_address = 0;
    assert_true(fault_of_device(0));
    expect_event(HEALTH_ERROR_SERROR, CORE, 0, SERROR, 0);
}

static void dma_is_refused(void **state)
{
    const struct smmu_event refused = {.stream = 0x10, .type = 0x13, .address = ADDRESS};

    (void)state;
    assert_true(fault_of_dma(&vcpu, &refused));
    expect_event(HEALTH_ERROR_REFUSED_DMA, 0x10, ADDRESS, 0x13, 0);
    assert_int_equal(noticed, FAULT_OF_DMA);
}

static void guest_panics(void **state)
{
    (void)state;
    action = HEALTH_ACTION_RESTART;
    fault_of_panic(&vcpu, PC, 7);
    expect_event(HEALTH_ERROR_PANIC, CORE, 7, 0, PC);
    assert_int_equal(noticed, FAULT_OF_PANIC);
    assert_int_equal(request, REQUEST_RECOVER);
}

static void guest_hangs(void **state)
{
    (void)state;
    fault_of_watchdog(&vcpu, PC);
    expect_event(HEALTH_ERROR_WATCHDOG, CORE, 0, 0, PC);
    assert_int_equal(noticed, FAULT_OF_WATCHDOG);
    assert_int_equal(request, REQUEST_STOP);
    assert_int_equal(vcpu.report.pc, PC);
}

static void heartbeat_stands_still(void **state)
{
    (void)state;
    action = HEALTH_ACTION_RESTART;
    fault_of_heartbeat(&vcpu, PC, 12);
    expect_event(HEALTH_ERROR_HEARTBEAT, CORE, 12, 0, PC);
    assert_int_equal(noticed, FAULT_OF_HEARTBEAT);
    assert_int_equal(request, REQUEST_RECOVER);
}

static void standby_takes_over(void **state)
{
    (void)state;
    action = HEALTH_ACTION_FAILOVER;
    fault_stop(&vcpu, PC, DATA_ABORT, ADDRESS);
    assert_int_equal(request, REQUEST_FAIL_OVER);
}

/* Nothing is requested and nothing printed, and the devices' failure is told all the same. */
static void partition_goes_on(void **state)
{
    static const enum health_action goes_on[] = {HEALTH_ACTION_IGNORE, HEALTH_ACTION_LOG};
    const struct smmu_event refused = {.stream = 0x10};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        action = goes_on[i];
        assert_false(fault_of_dma(&vcpu, &refused));
        fault_of_panic(&vcpu, PC, 7);
        processor.device_syndrome = OWN_ABORT;
        assert_true(fault_of_device(PC));
        assert_int_equal(request, REQUEST_NONE);
        assert_int_equal(noticed, FAULT_NONE);
        assert_int_equal(vcpu.report.exits[EXIT_FAULT], 3 * (i + 1));
    }
}

/* The first fault is reported, and each of them is raised. */
static void second_fault_before_the_report(void **state)
{
    (void)state;
    fault_stop(&vcpu, PC, DATA_ABORT, ADDRESS);
    fault_stop(&vcpu, PC + 4, SERROR, 0);
    assert_int_equal(vcpu.report.pc, PC);
    assert_int_equal(event.pc, PC + 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(guest_violates_memory, setup),
        cmocka_unit_test_setup(guest_gets_a_system_error, setup),
        cmocka_unit_test_setup(device_does_not_answer, setup),
        cmocka_unit_test_setup(dma_is_refused, setup),
        cmocka_unit_test_setup(standby_takes_over, setup),
        cmocka_unit_test_setup(guest_panics, setup),
        cmocka_unit_test_setup(guest_hangs, setup),
        cmocka_unit_test_setup(heartbeat_stands_still, setup),
        cmocka_unit_test_setup(partition_goes_on, setup),
        cmocka_unit_test_setup(second_fault_before_the_report, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
