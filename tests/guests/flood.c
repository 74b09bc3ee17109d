/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread wakes every millisecond while the host floods the network. It prints its greatest
 * lateness. A busy thread below all others uses the remaining time, so that the processor is never
 * idle: where time counts instructions (QEMU's -icount), lateness is a number of instructions. The
 * busy thread also requests the demo's status again and again, as the demo's HTTP server does.
 *
 * Boot arguments: priority=N of the thread (default 60, above the network's bottom half),
 * periods=N, until_late=NANOSECONDS: the thread ends early once it was later than this.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/network.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "lwip/tcpip.h"
#include "status.h"
#include "virtio_netif.h"

#define PERIOD        NANOSECONDS_PER_MILLISECOND
#define FLOOD_FRAMES  200u /* received before the measurement starts */
#define START_LIMIT   (60 * NANOSECONDS_PER_SECOND)
#define HOLD          (20 * PERIOD)
#define STACK_BYTES   4096u
#define BURNER_STACK  16384u
#define BURN_TURNS    20000u /* between two requests for the status */
#define ABOVE_NETWORK 60u
#define PERIODS       300u

static struct {
    unsigned periods;
    uint64_t until_late;
    unsigned activations;
    unsigned missed; /* woken late by a whole period or more */
    uint64_t late_max;
    uint64_t held_interrupts;   /* interrupts while the thread kept the processor for itself */
    volatile unsigned statuses; /* statuses requested since the flood began */
} watch;

static struct virtio_net_statistics driver_now(void)
{
    struct virtio_netif_statistics statistics;

    LOCK_TCPIP_CORE();
    virtio_netif_statistics(network_interface(), &statistics);
    UNLOCK_TCPIP_CORE();
    return statistics.driver;
}

/* Keeps the processor busy, so that the bottom half can't run, and counts interrupts. */
static void hold_the_processor(void)
{
    uint64_t before = driver_now().interrupts;
    uint64_t end = time_after(HOLD);

    while (time_now() < end) {
    }
    watch.held_interrupts = driver_now().interrupts - before;
}

static void wake_up(void *argument)
{
    uint64_t due = time_now();

    (void)argument;
    while (watch.activations < watch.periods && watch.late_max <= watch.until_late) {
        uint64_t late;

        due += PERIOD;
        thread_sleep_until(due);
        late = time_now() - due;
        watch.activations++;
        watch.missed += late >= PERIOD;
        watch.late_max = late > watch.late_max ? late : watch.late_max;
    }
    hold_the_processor();
}

static void burn(void *argument)
{
    static char status[STATUS_BYTES];
    volatile uint64_t *count = argument;

    for (;;) {
        for (unsigned i = 0; i < BURN_TURNS; i++) {
            *count += 1;
        }
        LOCK_TCPIP_CORE();
        watch.statuses += status_write(status, sizeof(status)) != 0;
        UNLOCK_TCPIP_CORE();
    }
}

static bool wait_for_flood(void)
{
    uint64_t limit = time_after(START_LIMIT);

    print("flood: ready\n");
    while (driver_now().rx_frames < FLOOD_FRAMES) {
        if (time_now() > limit) {
            return false;
        }
        thread_sleep_until(time_after(10 * PERIOD));
    }
    return true;
}

static bool measure(void)
{
    const struct thread_attributes below = {
        .name = "burn", .priority = THREAD_PRIORITY_LOWEST, .stack_bytes = BURNER_STACK};
    const struct thread_attributes above = {
        .name = "wake-up",
        .priority = (unsigned)boot_argument_number("priority", ABOVE_NETWORK, 2, 63),
        .stack_bytes = STACK_BYTES};
    static volatile uint64_t burned;
    struct thread *burner;
    struct thread *watcher;

    watch.periods = (unsigned)boot_argument_number("periods", PERIODS, 1, 1000000);
    watch.until_late = boot_argument_number("until_late", UINT64_MAX, 1, UINT64_MAX);
    if (thread_create(&burner, &below, burn, (void *)&burned) != RESULT_OK || !wait_for_flood()) {
        return false;
    }
    watch.statuses = 0;
    return thread_create(&watcher, &above, wake_up, NULL) == RESULT_OK &&
           thread_join(watcher, DEADLINE_NONE) == RESULT_OK;
}

int application_main(void)
{
    struct virtio_net_statistics before;
    struct virtio_net_statistics after;

    if (network_start() != RESULT_OK) {
        return 1;
    }
    before = driver_now();
    if (!measure()) {
        print("FAIL: no flood\n");
        return 1;
    }
    after = driver_now();
    print("flood: %llu frames, %llu interrupts, %llu signals, at most %llu descriptors and %llu "
          "instructions in one\n",
          (unsigned long long)(after.rx_frames - before.rx_frames),
          (unsigned long long)(after.interrupts - before.interrupts),
          (unsigned long long)(after.signals - before.signals),
          (unsigned long long)after.descriptors_moved_max,
          (unsigned long long)after.handler_instructions_max);
    print(
        "flood: %u activations, %u missed, at most %llu ns late; %llu interrupts while it held the "
        "processor; status written %u times\n",
        watch.activations, watch.missed, (unsigned long long)watch.late_max,
        (unsigned long long)watch.held_interrupts, watch.statuses);
    print("PASS\n");
    return 0;
}
