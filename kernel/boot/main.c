/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The boot sequence: from the first C code with the MMU enabled to the start of the program.
 */
#include "boot/memory_map.h"
#include "boot/vcpus.h"
#include "console/console.h"
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/panic.h"
#include "kernel/pci.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "kernel/trace.h"
#include "machine/machine.h"
#include "sched/scheduler.h"
#include "time/clock.h"
#include <arch/boot.h>
#include <arch/clock.h>
#include <arch/machine.h>

#define INIT_PRIORITY    32u
#define INIT_STACK_BYTES ((size_t)16384)

static void require(enum result result, const char *what)
{
    if (result != RESULT_OK) {
        panic("%s: %s", what, result_text(result));
    }
}

/* Reads the devicetree and starts the console that it names. Errors before that cannot be printed,
 * so they halt the processor. */
static void start_console(const void *devicetree)
{
    if (!memory_map_devicetree(devicetree) || devicetree_init(devicetree) != RESULT_OK) {
        arch_halt();
    }
    machine_init();
    console_init();
    print("Bulkhead %s\n%s\n", BULKHEAD_VERSION, machine_model());
}

/* Turns the trace on if the boot argument `trace` requests it. */
static void start_trace(void)
{
    uint64_t events = boot_argument_number("trace", 0, 0, TRACE_EVENTS_MAX);
    enum result result = events == 0 ? RESULT_OK : trace_start((size_t)events);

    if (result != RESULT_OK) {
        print("boot: no trace: %s\n", result_text(result));
    }
}

static void run_application(void *argument)
{
    uint64_t now = time_now();
    enum result result;

    (void)argument;
    print("boot: first thread after %llu ns\n", (unsigned long long)now);
    vcpus_start();
    console_start_thread();
    result = pci_init();
    if (result != RESULT_OK && result != RESULT_NOT_FOUND) {
        print("boot: no PCI: %s\n", result_text(result));
    }
    machine_exit(application_main());
}

void arch_main(const void *devicetree, uint64_t first_ticks)
{
    const struct thread_attributes init = {
        .name = "init", .priority = INIT_PRIORITY, .stack_bytes = INIT_STACK_BYTES};
    struct thread *thread;

    scheduler_init();
    start_console(devicetree);
    clock_init(first_ticks);
    memory_map_init();
    require(interrupt_init(), "interrupt controller");
    require(arch_clock_init(), "timer");
    console_start();
    start_trace();
    require(thread_create(&thread, &init, run_application, NULL), "first thread");
    scheduler_start();
}
