/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/heartbeat.h"

#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/time.h"
#include "kernel/watchdog.h"
#include <arch/heartbeat.h>
#include <arch/mmu.h>
#include <stdbool.h>
#include <stddef.h>

#define BEATS_A_PERIOD 4u

static struct {
    struct heartbeat_count *count; /* that of VCPU 0, on which the kernel runs; NULL: not started */
    struct timer timer;
    bool is_withheld;
} heartbeat;

static void beat(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    if (!__atomic_load_n(&heartbeat.is_withheld, __ATOMIC_RELAXED) && watchdogs_are_fed()) {
        __atomic_store_n(&heartbeat.count->beats, heartbeat.count->beats + 1, __ATOMIC_RELAXED);
    }
}

/* Reads the address of the page, and the time between two beats, from the devicetree. */
static enum result find(uint64_t *address, uint64_t *interval)
{
    int node = devicetree_next_compatible(-1, "bulkhead,heartbeat");
    uint64_t bytes = 0;
    uint32_t period;
    enum result result;

    if (node < 0) {
        return RESULT_NOT_FOUND;
    }
    result = devicetree_reg(node, 0, address, &bytes);
    if (result != RESULT_OK) {
        return result;
    }
    period = devicetree_number(node, "bulkhead,period-us", 0);
    *interval = period * NANOSECONDS_PER_MICROSECOND / BEATS_A_PERIOD;
    return period == 0 || *address % PAGE_BYTES != 0 || bytes < sizeof(struct heartbeat_page)
               ? RESULT_INVALID
               : RESULT_OK;
}

enum result heartbeat_start(void)
{
    uint64_t address = 0, interval = 0;
    enum result result;

    if (heartbeat.count != NULL) {
        return RESULT_OK;
    }
    result = find(&address, &interval);
    if (result == RESULT_OK) {
        result = arch_mmu_map_memory(address, sizeof(struct heartbeat_page));
    }
    if (result == RESULT_OK) {
        heartbeat.count = ((struct heartbeat_page *)(uintptr_t)address)->vcpus;
        timer_init(&heartbeat.timer, beat, NULL);
        timer_arm_periodic(&heartbeat.timer, time_now(), interval, TIMER_SKIP_MISSED);
    }
    return result;
}

void heartbeat_withhold(void)
{
    __atomic_store_n(&heartbeat.is_withheld, true, __ATOMIC_RELAXED);
}
