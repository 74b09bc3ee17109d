/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest of ./bulkhead bench irq-latency, the same bare and under a hypervisor. It measures the
 * ticks of the counter between an interrupt and the first statement of its handler. In the bench's
 * machine the counter counts instructions.
 *
 * Each measurement lies between two firmware calls, which mark it in QEMU's log of exceptions:
 *   timer       the kernel's timer expires while a thread runs; from its deadline
 *   timer_idle  the same while the core sleeps
 *   device      the real-time clock (PL031) raises its line; from the store that causes it
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/print.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include <arch/cpu.h>
#include <arch/device_access.h>
#include <arch/hypercalls.h>
#include <arch/machine.h>
#include <arch/mmu.h>
#include <string.h>

#define SAMPLES_MAX  4096u
#define DELAY        UINT64_C(3000) /* nanoseconds: longer than arming a timer and going to sleep take */
#define DELAY_SPREAD 1024u
#define QUIET        (10 * NANOSECONDS_PER_MILLISECOND) /* time for the console to send everything */

/* PrimeCell Real Time Clock (PL031), Arm DDI 0224, "Summary of registers". */
#define RTCMR   0x004u
#define RTCLR   0x008u
#define RTCIMSC 0x010u
#define RTCICR  0x01Cu
#define ALARM   1000u /* seconds */

static struct {
    uint64_t ticks[SAMPLES_MAX];
    uint32_t wanted;
    volatile uint32_t count;
    uint64_t from;
    uintptr_t clock;
    struct semaphore arrived;
} measure;

static void record(uint64_t ticks)
{
    if (measure.count < SAMPLES_MAX) {
        measure.ticks[measure.count] = ticks;
        measure.count++;
    }
    (void)semaphore_post(&measure.arrived);
}

static void on_timer(struct timer *timer, void *argument)
{
    uint64_t now = time_now();

    (void)argument;
    record(now - timer->deadline);
}

static void on_clock(void *argument)
{
    uint64_t now = arch_clock_ticks();

    (void)argument;
    device_write32(measure.clock + RTCICR, 1);
    record(now - measure.from);
}

/* Returns a different delay each time, so that each interrupt comes at another instruction. */
static uint64_t next_delay(void)
{
    static uint32_t state = 1;

    state = state * 1664525u + 1013904223u;
    return DELAY + (state >> 16) % DELAY_SPREAD;
}

static void one_timer(bool idle)
{
    uint32_t before = measure.count;
    struct timer timer;

    timer_init(&timer, on_timer, NULL);
    timer_arm(&timer, time_after(next_delay()));
    while (!idle && measure.count == before) {
    }
    (void)semaphore_wait(&measure.arrived, DEADLINE_NONE);
}

static void running(void)
{
    one_timer(false);
}

static void idle(void)
{
    one_timer(true);
}

/* Sets the clock to the time of its alarm. */
static void device(void)
{
    measure.from = arch_clock_ticks();
    device_write32(measure.clock + RTCLR, ALARM);
    (void)semaphore_wait(&measure.arrived, DEADLINE_NONE);
}

static void sort(uint64_t *values, uint32_t count)
{
    for (uint32_t end = 1; end < count; end++) {
        uint64_t value = values[end];
        uint32_t place = end;

        for (; place > 0 && values[place - 1] > value; place--) {
            values[place] = values[place - 1];
        }
        values[place] = value;
    }
}

static void report(const char *kind)
{
    uint32_t first = 0;

    sort(measure.ticks, measure.count);
    for (uint32_t end = 1; end <= measure.count; end++) {
        if (end == measure.count || measure.ticks[end] != measure.ticks[first]) {
            print("irq-latency: %s %llu x %u\n", kind, (unsigned long long)measure.ticks[first],
                  end - first);
            first = end;
            thread_sleep_until(time_after(NANOSECONDS_PER_MILLISECOND));
        }
    }
}

static bool firmware_by_hypervisor_call(void)
{
    unsigned bytes = 0;
    int node = devicetree_next_compatible(-1, "arm,psci-0.2");
    const char *method = devicetree_property(node, "method", &bytes);

    return method != NULL && bytes == sizeof("hvc") && memcmp(method, "hvc", bytes) == 0;
}

static void run(const char *kind, void (*one)(void))
{
    bool by_hypervisor_call = firmware_by_hypervisor_call();

    measure.count = 0;
    thread_sleep_until(time_after(QUIET));
    (void)arch_firmware_call(by_hypervisor_call, PSCI_VERSION);
    while (measure.count < measure.wanted) {
        one();
    }
    (void)arch_firmware_call(by_hypervisor_call, PSCI_VERSION);
    report(kind);
}

static enum result clock_start(void)
{
    int node = devicetree_next_compatible(-1, "arm,pl031");
    enum interrupt_trigger trigger;
    uint64_t address;
    uint64_t bytes;
    uint32_t number;
    enum result result = devicetree_reg(node, 0, &address, &bytes);

    if (result == RESULT_OK) {
        result = devicetree_interrupt(node, 0, &number, &trigger);
    }
    if (result != RESULT_OK) {
        return result;
    }
    measure.clock = arch_mmu_map_device(address, bytes);
    if (measure.clock == 0) {
        return RESULT_NO_MEMORY;
    }
    device_write32(measure.clock + RTCICR, 1);
    device_write32(measure.clock + RTCMR, ALARM);
    device_write32(measure.clock + RTCIMSC, 1);
    return interrupt_attach(number, trigger, on_clock, NULL);
}

int application_main(void)
{
    enum result result;

    measure.wanted = (uint32_t)boot_argument_number("samples", 1000, 1, SAMPLES_MAX);
    semaphore_init(&measure.arrived, 0, 1);
    result = clock_start();
    if (result != RESULT_OK) {
        print("FAIL: irq-latency: no clock: %s\n", result_text(result));
        return 1;
    }
    print("irq-latency: frequency %llu\n", (unsigned long long)arch_clock_frequency());
    run("timer", running);
    run("timer_idle", idle);
    run("device", device);
    print("irq-latency: end\n");
    return 0;
}
