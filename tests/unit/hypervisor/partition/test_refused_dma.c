/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests hypervisor/partition/refused_dma.c on a model of the SMMU's event queue and its interrupt:
 * how often devices whose DMA is refused interrupt the core that gets the interrupt.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "console/terminal.h"
#include "gic/setup.h"
#include "hypervisor/processor.h"
#include "partition/fault.h"
#include "partition/recall.h"
#include "partition/refused_dma.h"
#include "smmu/smmu.h"
#include <string.h>

#define HZ         1000000u /* a tick is a microsecond */
#define PARTITIONS 3u
#define EVENTS     128u
#define ADDRESS    UINT64_C(0x50000000)
#define NOBODY     DESCRIPTION_NO_PARTITION

static struct description description;
static struct partition partitions[PARTITIONS];
static struct vcpu vcpus[PARTITIONS];
static uint64_t now;
/* The SMMU, and its interrupt. */
static uint32_t queue[EVENTS]; /* partitions */
static uint64_t addresses[EVENTS];
static uint32_t first, count;
static uint64_t paused_since;
static bool is_pending;
static unsigned interrupts; /* handled by the core of partition 0 */
static unsigned recalls[PARTITIONS], stops[PARTITIONS], reports[PARTITIONS];
static bool is_tolerated; /* the partition goes on after refused DMA */
static unsigned tolerated;
static bool prints_later;      /* in another exit, as a monitor does */
static uint64_t last_address;  /* of the last event that the devices have caused */
static uint64_t shown_address; /* of the last report */

uint64_t fake_register(const char *name)
{
    return strcmp(name, "cntfrq_el0") == 0 ? HZ : now;
}

bool smmu_event(const struct partition *partition, struct smmu_event *event)
{
    (void)partition;
    if (count == 0) {
        return false;
    }
    *event =
        (struct smmu_event){.partition = queue[first], .type = 0x10, .address = addresses[first]};
    first = (first + 1) % EVENTS;
    count--;
    return true;
}

void smmu_pause_events(const struct partition *partition, uint64_t time)
{
    (void)partition;
    paused_since = time | 1;
}

void smmu_resume_events(const struct partition *partition)
{
    (void)partition;
    if (paused_since != 0) {
        paused_since = 0;
        is_pending = count != 0;
    }
}

uint64_t smmu_paused_since(void)
{
    return paused_since;
}

void gic_route(const struct description *system, uint32_t interrupt, uint32_t core)
{
    (void)system;
    (void)interrupt;
    (void)core;
}

void recall(const struct vcpu *vcpu, uint32_t partition)
{
    (void)vcpu;
    recalls[partition]++;
}

void terminal_add_fault(const struct partition *partition, const char *format, ...)
{
    va_list values;

    assert_non_null(strstr(format, "is stopped: device"));
    va_start(values, format);
    for (unsigned i = 0; i < 5; i++) {
        (void)va_arg(values, unsigned); /* of the device's address */
    }
    (void)va_arg(values, const char *);
    shown_address = va_arg(values, uint64_t);
    va_end(values);
    reports[partition->constant.index]++;
}

bool fault_of_dma(struct vcpu *vcpu, const struct smmu_event *event)
{
    assert_int_equal(event->type, 0x10);
    assert_in_range(event->address, ADDRESS, last_address);
    if (is_tolerated) {
        tolerated++;
        return false;
    }
    vcpu->partition->atomic.request = REQUEST_STOP;
    stops[vcpu->partition->constant.index]++;
    if (!prints_later) {
        refused_dma_print(vcpu);
    }
    return true;
}

/* The core of partition 0 takes the interrupt if it is pending and enabled. */
static void take_interrupts(void)
{
    while (is_pending && paused_since == 0) {
        is_pending = false;
        interrupts++;
        (void)refused_dma_forward(&vcpus[0]);
    }
}

/* The partition's device causes events. QEMU's SMMU signals each of them, others only the first one
 * in the queue. */
static void refuse(uint32_t partition, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        now++;
        if (count < EVENTS) {
            queue[(first + count) % EVENTS] = partition;
            addresses[(first + count) % EVENTS] = ++last_address;
            count++;
            is_pending = true;
        }
        take_interrupts();
    }
}

/* The partition's DMA is blocked, and it discards its events. */
static unsigned discard(uint32_t partition)
{
    uint32_t step = 0;
    unsigned steps = 1;

    partitions[partition].boot_vcpu.transition.phase = TRANSITION_EVENTS;
    while (refused_dma_discard(&vcpus[partition], &step) == STEP_PENDING) {
        steps++;
        take_interrupts();
    }
    partitions[partition].boot_vcpu.transition.phase = TRANSITION_RESET;
    take_interrupts();
    return steps;
}

static void end_stop(uint32_t partition, enum partition_request request)
{
    partitions[partition].boot_vcpu.transition.phase = TRANSITION_NONE;
    partitions[partition].atomic.request = request;
}

static int setup(void **state)
{
    (void)state;
    memset(&description, 0, sizeof(description));
    memset(partitions, 0, sizeof(partitions));
    memset(vcpus, 0, sizeof(vcpus));
    memset(recalls, 0, sizeof(recalls));
    memset(stops, 0, sizeof(stops));
    memset(reports, 0, sizeof(reports));
    description.partition_count = PARTITIONS;
    now = 1;
    first = count = 0;
    paused_since = 0;
    is_pending = false;
    is_tolerated = false;
    tolerated = 0;
    prints_later = false;
    last_address = ADDRESS;
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        partitions[i].constant.system = &description;
        partitions[i].constant.described = &description.partitions[i];
        partitions[i].constant.index = i;
        vcpus[i].partition = &partitions[i];
        description.partitions[i].interrupt_mode = DESCRIPTION_INTERRUPT_MODE_LISTED;
        (void)discard(i); /* each starts, so that the states of earlier tests end */
        end_stop(i, REQUEST_NONE);
    }
    interrupts = 0;
    return 0;
}

/* The interrupt goes to a core once, until the partition has stopped. */
static void storm(void **state)
{
    (void)state;
    refuse(1, 1000);
    assert_int_equal(interrupts, 1);
    assert_int_equal(recalls[1], 1);
    refused_dma_take(&vcpus[1]);
    refuse(1, 1000);
    refused_dma_take(&vcpus[1]);
    assert_int_equal(interrupts, 1);
    assert_int_equal(stops[1], 1);
    assert_int_equal(reports[1], 1);
    assert_int_equal(discard(1), EVENTS + 1);
    end_stop(1, REQUEST_STOPPED);
    assert_int_equal(count, 0);
    assert_int_equal(interrupts, 1);
    assert_int_equal(paused_since, 0);
}

/* A guest restarts itself, so that its request is earlier than each event. */
static void storm_in_each_life(void **state)
{
    (void)state;
    for (unsigned life = 1; life <= 10; life++) {
        partitions[1].atomic.request = REQUEST_RESET;
        refuse(1, 100);
        refused_dma_take(&vcpus[1]);
        refuse(1, 100);
        (void)discard(1);
        end_stop(1, REQUEST_NONE);
        assert_int_equal(interrupts, life);
    }
    assert_int_equal(stops[1], 0);
    refuse(1, 1);
    refused_dma_take(&vcpus[1]);
    assert_int_equal(stops[1], 1);
}

/* The event of another partition waits in the queue, at most until the first one has stopped. */
static void other_partition(void **state)
{
    (void)state;
    refuse(1, 50);
    refuse(2, 1);
    refuse(1, 50);
    assert_int_equal(recalls[2], 0);
    refused_dma_take(&vcpus[1]);
    (void)discard(1);
    assert_int_equal(recalls[2], 1);
    refused_dma_take(&vcpus[2]);
    assert_int_equal(stops[2], 1);
    (void)discard(2);
    assert_int_equal(paused_since, 0);
    assert_int_equal(interrupts, 1);
}

/* A partition that never answers, because its guest has shut its core and sleeps, costs the others
 * an interrupt in a second. They are still reported. */
static void partition_that_does_not_answer(void **state)
{
    (void)state;
    refuse(1, 1000);
    for (unsigned second = 1; second <= 40; second++) {
        for (unsigned look = 0; look < 100; look++) {
            now += HZ / 100;
            refused_dma_watch(&vcpus[2]);
            take_interrupts();
        }
        refuse(second == 1 ? 2 : 1, 1);
    }
    assert_in_range(interrupts, 30, 42);
    assert_int_equal(recalls[1], 1);
    assert_int_equal(recalls[2], 1);
}

/* The partition whose VCPU handles the interrupt is called for its own DMA, too, if its core is
 * shared: no message is taken there without a call. */
static void own_dma_on_a_shared_core(void **state)
{
    struct shared_vcpu *some = (void *)&description; /* not accessed */

    (void)state;
    refuse(0, 1);
    assert_int_equal(recalls[0], 0);
    (void)discard(0);
    vcpus[0].shared = some;
    refuse(0, 1);
    assert_int_equal(recalls[0], 1);
}

/* A core has read the counter before another core begins a pause, and looks for one afterwards. */
static void counter_of_another_core(void **state)
{
    (void)state;
    now = HZ;
    refuse(1, 1);
    now -= 2;
    refused_dma_watch(&vcpus[2]);
    assert_int_not_equal(paused_since, 0);
    now += HZ + 3;
    refused_dma_watch(&vcpus[2]);
    assert_int_equal(paused_since, 0);
}

/* An event is read from the queue, and left only after the partition has blocked its DMA: it does
 * not stop the next life. */
static void late_event(void **state)
{
    (void)state;
    (void)discard(1);
    refuse(1, 1);
    refused_dma_take(&vcpus[1]);
    assert_int_equal(stops[1], 0);
    assert_int_equal(paused_since, 0);
    end_stop(1, REQUEST_STOPPED);
    refuse(1, 1);
    refused_dma_take(&vcpus[1]);
    assert_int_equal(stops[1], 0);
    assert_int_equal(paused_since, 0);
}

/* The SMMU does not block the DMA of a partition: its devices go on. */
static void failed_partition(void **state)
{
    (void)state;
    refuse(1, 1);
    refused_dma_take(&vcpus[1]);
    (void)discard(1);
    end_stop(1, REQUEST_FAILED);
    for (unsigned i = 0; i < 100; i++) {
        refuse(1, 10);
        refused_dma_take(&vcpus[1]);
    }
    assert_int_equal(interrupts, 2);
    (void)discard(1);
    assert_int_equal(paused_since, 0);
}

/* A partition that goes on after refused DMA is handled once in a second, however many events its
 * devices cause, and another one within that time. */
static void tolerated_dma(void **state)
{
    (void)state;
    is_tolerated = true;
    for (unsigned second = 1; second <= 10; second++) {
        refuse(1, 200);
        refused_dma_take(&vcpus[1]);
        refuse(1, 200);
        refused_dma_take(&vcpus[1]);
        assert_int_equal(tolerated, second);
        assert_int_equal(recalls[1], second);
        assert_int_equal(interrupts, second);
        now += HZ;
        refused_dma_watch(&vcpus[2]);
        take_interrupts();
    }
    assert_int_equal(stops[1], 0);
    refused_dma_take(&vcpus[1]);
    is_tolerated = false;
    count = 0; /* an event that finds the queue full is lost */
    now += HZ;
    refused_dma_watch(&vcpus[2]);
    refuse(2, 1);
    refused_dma_take(&vcpus[2]);
    assert_int_equal(stops[2], 1);
}

/* The event of another partition is behind a queue full of events of one that goes on. */
static void other_partition_behind_tolerated_dma(void **state)
{
    unsigned seconds = 0;

    (void)state;
    is_tolerated = true;
    refuse(1, EVENTS);
    refuse(2, 1);
    while (recalls[2] == 0) {
        assert_true(seconds++ < 32);
        refused_dma_take(&vcpus[1]);
        now += HZ;
        refused_dma_watch(&vcpus[2]);
        take_interrupts();
        refuse(1, 1);
    }
    is_tolerated = false;
    refused_dma_take(&vcpus[2]);
    assert_int_equal(stops[2], 1);
}

/* Further events, of the partition and of others, arrive before the report is printed. A monitor
 * prints all that is noted before it takes the next step of the stop. */
static void a_report_is_that_of_the_first_event(void **state)
{
    (void)state;
    prints_later = true;
    for (unsigned life = 0; life < 3; life++) {
        uint64_t address = last_address + 1;

        refuse(1, 10);
        refused_dma_take(&vcpus[1]);
        refuse(1, 10);
        refuse(2, 1);
        refused_dma_take(&vcpus[1]);
        now += HZ;
        refused_dma_watch(&vcpus[2]);
        take_interrupts();
        refused_dma_take(&vcpus[1]);
        refused_dma_print(&vcpus[1]);
        assert_int_equal(shown_address, address);
        (void)discard(1);
        (void)discard(2);
        end_stop(1, REQUEST_NONE);
        end_stop(2, REQUEST_NONE);
        assert_int_equal(count, 0);
    }
}

/* Events of streams that no partition has. */
static void event_of_nobody(void **state)
{
    (void)state;
    refuse(NOBODY, 100);
    assert_int_equal(interrupts, 1);
    refuse(1, 1);
    now += HZ;
    refused_dma_watch(&vcpus[2]);
    take_interrupts();
    assert_int_equal(interrupts, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(storm, setup),
        cmocka_unit_test_setup(storm_in_each_life, setup),
        cmocka_unit_test_setup(other_partition, setup),
        cmocka_unit_test_setup(partition_that_does_not_answer, setup),
        cmocka_unit_test_setup(own_dma_on_a_shared_core, setup),
        cmocka_unit_test_setup(counter_of_another_core, setup),
        cmocka_unit_test_setup(late_event, setup),
        cmocka_unit_test_setup(failed_partition, setup),
        cmocka_unit_test_setup(tolerated_dma, setup),
        cmocka_unit_test_setup(other_partition_behind_tolerated_dma, setup),
        cmocka_unit_test_setup(a_report_is_that_of_the_first_event, setup),
        cmocka_unit_test_setup(event_of_nobody, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
