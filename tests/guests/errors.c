/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The demo's web server, which makes an error of its partition when a test orders one. It reads the
 * orders from the console, one per line. A partition with a watchdog or a heartbeat is watched by
 * it from the start.
 */
#include "http.h"
#include "kernel/application.h"
#include "kernel/console.h"
#include "kernel/devicetree.h"
#include "kernel/heartbeat.h"
#include "kernel/interrupt.h"
#include "kernel/network.h"
#include "kernel/panic.h"
#include "kernel/pci.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include <arch/device_access.h>
#include <arch/mmu.h>
#include <devices/watchdog_registers.h>
#include <string.h>

#define LINE_BYTES   16u
#define WATCH_PERIOD NANOSECONDS_PER_SECOND /* the counter's frequency is its number of ticks */
#define REFRESHES    4u                     /* in a watch period */

/* No board in the tree has anything there. */
#define NOWHERE UINT64_C(0x3000000000)

static uintptr_t refresh_frame;

static uint32_t counter_frequency(void)
{
    uint64_t value;

    __asm__("mrs %0, cntfrq_el0" : "=r"(value));
    return (uint32_t)value;
}

static void refresh(struct timer *timer, void *argument)
{
    (void)timer;
    (void)argument;
    device_write32(refresh_frame + WRR, 0);
}

/* Enables the partition's generic watchdog, if it has one, and begins to refresh it. */
static void start_watchdog(void)
{
    static struct timer timer;
    int node = devicetree_next_compatible(-1, "arm,sbsa-gwdt");
    uint64_t control, refresh_address, bytes;
    uintptr_t frame;

    if (node < 0 || devicetree_reg(node, 0, &control, &bytes) != RESULT_OK ||
        devicetree_reg(node, 1, &refresh_address, &bytes) != RESULT_OK) {
        return;
    }
    frame = arch_mmu_map_device(control, WATCHDOG_FRAME_BYTES);
    refresh_frame = arch_mmu_map_device(refresh_address, WATCHDOG_FRAME_BYTES);
    device_write32(frame + WOR, counter_frequency());
    device_write32(frame + WCS, WCS_ENABLE);
    timer_init(&timer, refresh, NULL);
    timer_arm_periodic(&timer, time_now(), WATCH_PERIOD / REFRESHES, TIMER_SKIP_MISSED);
}

static void violate(void)
{
    uintptr_t nowhere = arch_mmu_map_device(NOWHERE, sizeof(uint32_t));

    device_write32(nowhere, 0);
}

static void panic_plainly(void)
{
    panic("by order");
}

/* Masks all interrupts for ever. */
static void hang(void)
{
    (void)interrupts_save();
    for (;;) {
        __asm__ volatile("" : : : "memory");
    }
}

/* Reads a register of the network function, for which the hypervisor accesses it. */
static void look(void)
{
    const struct pci_function *function = pci_first();

    if (function != NULL) {
        (void)pci_config_read(function, 0, 4);
    }
}

static const struct {
    const char *name;
    void (*make)(void);
} orders[] = {{"violate", violate}, {"panic", panic_plainly}, {"hang", hang}, {"look", look}};

static void carry_out(const char *name)
{
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        if (strcmp(name, orders[i].name) == 0) {
            orders[i].make();
            print("errors: %s survived\n", name);
            return;
        }
    }
    print("errors: unknown order %s\n", name);
}

int application_main(void)
{
    char line[LINE_BYTES];
    size_t length = 0;
    char byte;

    (void)heartbeat_start();
    start_watchdog();
    network_at_start(http_serve);
    if (network_start() != RESULT_OK) {
        return 1;
    }
    print("demo: http on 80, and errors by order\n");
    while (console_read(&byte, DEADLINE_NONE) == RESULT_OK) {
        if (byte == '\n') {
            line[length] = '\0';
            length = 0;
            carry_out(line);
        } else if (length < LINE_BYTES - 1) {
            line[length++] = byte;
        }
    }
    return 1;
}
