/* SPDX-License-Identifier: BSD-2-Clause */
#include "tree.h"

#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/print.h"
#include <libfdt.h>
#include <stdarg.h>
#include <stdio.h>

char tree_printed[256];

void print(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    /* va_start() is just above. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vsnprintf(tree_printed, sizeof(tree_printed), format, arguments);
    va_end(arguments);
}

interrupt_state interrupts_save(void)
{
    return 0;
}

void interrupts_restore(interrupt_state state)
{
    (void)state;
}

static void exercise_node(int node)
{
    uint64_t address, size;
    uint32_t number;
    uint32_t specifier[5] = {0x800, 0, 0, 1, 0};
    enum interrupt_trigger trigger;
    unsigned count;

    for (unsigned index = 0; index < 6; index++) {
        (void)devicetree_reg(node, index, &address, &size);
        (void)devicetree_interrupt(node, index, &number, &trigger);
    }
    for (unsigned cells = 0; cells <= 5; cells++) {
        (void)devicetree_mapped_interrupt(node, specifier, cells, &number, &trigger);
    }
    address = 0x100;
    (void)devicetree_translate(node, &address, 0x10);
    (void)devicetree_parent(node);
    (void)devicetree_next_child(node, -1);
    (void)devicetree_cells(node, "reg", &count);
    (void)devicetree_number(node, "interrupt-parent", 0);
}

void tree_exercise(const void *blob, size_t bytes)
{
    static const char *const compatibles[] = {"arm,gic-v3",  "arm,armv8-timer",
                                              "virtio,mmio", "test,deep",
                                              "test,direct", "pci-host-ecam-generic"};
    char value[8];

    if (bytes < sizeof(struct fdt_header) || fdt_check_header(blob) != 0 ||
        fdt_totalsize(blob) > bytes || devicetree_init(blob) != RESULT_OK) {
        return;
    }
    for (size_t index = 0; index < sizeof(compatibles) / sizeof(compatibles[0]); index++) {
        for (int node = devicetree_next_compatible(-1, compatibles[index]); node >= 0;
             node = devicetree_next_compatible(node, compatibles[index])) {
            exercise_node(node);
        }
    }
    for (int node = -8; node < (int)fdt_size_dt_struct(blob) + 8; node += 2) {
        exercise_node(node);
    }
    (void)devicetree_find("/soc@80000000/bus/deep", 22);
    (void)devicetree_find("/pl011@9000000", 14);
    (void)boot_argument("name", value, sizeof(value));
    (void)boot_argument_number("count", 1, 0, 10);
    for (uint32_t phandle = 0; phandle < 8; phandle++) {
        (void)devicetree_by_phandle(phandle);
    }
}
