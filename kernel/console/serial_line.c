/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the serial line by /chosen/stdout-path (Devicetree Specification, "/chosen Node"): a path
 * or an alias, and after a colon the parameters of the line, which the firmware has already set.
 */
#include "console/serial_line.h"

#include "kernel/devicetree.h"
#include <arch/mmu.h>
#include <stddef.h>

#define COMPATIBLE "arm,pl011"

static int console_node = -1;

static int standard_output(void)
{
    static const char chosen[] = "/chosen";
    unsigned bytes = 0;
    const char *path =
        devicetree_property(devicetree_find(chosen, sizeof chosen - 1), "stdout-path", &bytes);
    size_t length = 0;
    int node;

    if (path == NULL) {
        return -1;
    }
    while (length < bytes && path[length] != ':' && path[length] != '\0') {
        length++;
    }
    node = devicetree_find(path, length);
    /* The node must be among the PL011s whose status is okay. */
    for (int line = devicetree_next_compatible(-1, COMPATIBLE); line >= 0;
         line = devicetree_next_compatible(line, COMPATIBLE)) {
        if (line == node) {
            return node;
        }
    }
    return -1;
}

uintptr_t serial_line_find(void)
{
    uint64_t address;
    uint64_t bytes;

    console_node = standard_output();
    if (console_node < 0) {
        console_node = devicetree_next_compatible(-1, COMPATIBLE);
    }
    if (console_node < 0 || devicetree_reg(console_node, 0, &address, &bytes) != RESULT_OK) {
        return 0;
    }
    return arch_mmu_map_device(address, (size_t)bytes);
}

bool serial_line_interrupt(uint32_t *number, enum interrupt_trigger *trigger)
{
    return devicetree_interrupt(console_node, 0, number, trigger) == RESULT_OK;
}
