/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends the machine by semihosting if the boot arguments request it, otherwise by the firmware's
 * PSCI (Arm DEN 0022, "SYSTEM_OFF", "SYSTEM_RESET"), otherwise by halting the processor. A panic is
 * first reported to a hypervisor that monitors the partition: it may restart it.
 */
#include "machine/machine.h"

#include "console/console.h"
#include "kernel/devicetree.h"
#include "kernel/panic.h"
#include "panic/panic_private.h"
#include <arch/cpu.h>
#include <arch/hypercalls.h>
#include <arch/machine.h>
#include <string.h>

enum firmware { FIRMWARE_NONE, FIRMWARE_BY_HYPERVISOR_CALL, FIRMWARE_BY_MONITOR_CALL };

static struct {
    enum firmware firmware;
    bool semihosting;
    bool has_reported; /* a panic, or has begun to */
} machine;

static bool property_is(int node, const char *name, const char *wanted)
{
    unsigned bytes = 0;
    const char *value = devicetree_property(node, name, &bytes);

    return value != NULL && bytes == strlen(wanted) + 1 && memcmp(value, wanted, bytes) == 0;
}

void machine_init(void)
{
    char exit[16];
    /* PSCI 0.1 (only "arm,psci") has neither function. The node of a PSCI 1.0 usually names
     * "arm,psci-0.2" as well. */
    int node = devicetree_next_compatible(-1, "arm,psci-0.2");

    if (node < 0) {
        node = devicetree_next_compatible(-1, "arm,psci-1.0");
    }
    if (node >= 0 && property_is(node, "method", "hvc")) {
        machine.firmware = FIRMWARE_BY_HYPERVISOR_CALL;
    } else if (node >= 0 && property_is(node, "method", "smc")) {
        machine.firmware = FIRMWARE_BY_MONITOR_CALL;
    }
    machine.semihosting =
        boot_argument("exit", exit, sizeof exit) && strcmp(exit, "semihosting") == 0;
}

const char *machine_model(void)
{
    unsigned bytes = 0;
    const char *model = devicetree_property(0, "model", &bytes);

    return model != NULL && memchr(model, '\0', bytes) != NULL ? model : "unknown board";
}

uint64_t machine_call(uint32_t function)
{
    return machine.firmware != FIRMWARE_NONE
               ? arch_firmware_call(machine.firmware == FIRMWARE_BY_HYPERVISOR_CALL, function)
               : UINT64_MAX;
}

/* Reports a panic to a hypervisor that monitors the partition. Once, because a failure of the
 * search for its node comes here again. */
static void report_panic(void)
{
    if (machine.has_reported) {
        return;
    }
    machine.has_reported = true;
    if (devicetree_next_compatible(-1, "bulkhead,health") >= 0) {
        (void)machine_call(CALL_HEALTH_REPORT); /* W1 is 0: HEALTH_REPORT_PANIC */
    }
}

void machine_stop(int status)
{
    if (machine.semihosting) {
        arch_semihosting_exit(status);
    }
    if (status == PANIC_STATUS) {
        report_panic();
    }
    (void)machine_call(PSCI_SYSTEM_OFF);
    arch_halt();
}

void machine_exit(int status)
{
    (void)arch_interrupts_save();
    console_poll();
    machine_stop(status);
}

void machine_restart(void)
{
    (void)arch_interrupts_save();
    console_poll();
    (void)machine_call(PSCI_SYSTEM_RESET);
    arch_halt();
}
