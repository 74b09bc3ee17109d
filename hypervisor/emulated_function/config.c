/* SPDX-License-Identifier: BSD-2-Clause */
#include "emulated_function/config.h"

#include "emulated_function/interrupt.h"
#include <devices/pci_registers.h>
#include <stdbool.h>

#define DWORD    4u
#define PIN_A    (1u << 8)   /* Interrupt Pin in the dword PCI_INTERRUPT: INTA */
#define BAR_MASK 0xfffff000u /* BAR 0 has the size of a page */

void function_config_reset(struct emulated_function *function)
{
    function->bar = 0;
    function->command = 0;
    function_interrupt_change(function, UINT32_MAX, 0);
}

static uint32_t command_and_status(const struct emulated_function *function)
{
    uint32_t interrupt = function_interrupt_bits(function);
    uint32_t status = PCI_STATUS_CAPABILITIES, command = function->command;

    status |= (interrupt & FUNCTION_STATUS) != 0 ? PCI_STATUS_INTERRUPT : 0;
    command |= (interrupt & FUNCTION_INTX_DISABLE) != 0 ? PCI_COMMAND_INTX_DISABLE : 0;
    return status << 16 | command;
}

static uint32_t read_capability(const struct emulated_function *function,
                                const struct function_config *config, uint32_t at)
{
    uint32_t index = (at - FUNCTION_VENDOR) / DWORD;
    bool is_one_shot = (function_interrupt_bits(function) & FUNCTION_ONE_SHOT) != 0;

    if (index >= FUNCTION_CAPABILITY_DWORDS) {
        return 0;
    }
    return config->capabilities[index] | (index == 0 && is_one_shot ? FUNCTION_VENDOR_ONE_SHOT : 0);
}

/* Returns the dword at offset `at`. */
static uint32_t read_dword(const struct emulated_function *function,
                           const struct function_config *config, uint32_t at)
{
    switch (at) {
    case PCI_VENDOR_ID:
    case PCI_SUBSYSTEM:
        return config->ids;
    case PCI_COMMAND:
        return command_and_status(function);
    case PCI_CLASS:
        return config->class_code;
    case PCI_BAR:
        return function->bar;
    case PCI_CAPABILITIES:
        return FUNCTION_VENDOR;
    case PCI_INTERRUPT:
        return PIN_A;
    default:
        return at < FUNCTION_VENDOR ? 0 : read_capability(function, config, at);
    }
}

static void write_command(struct emulated_function *function, uint32_t value, uint32_t mask)
{
    mask &= PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE;
    if ((mask & PCI_COMMAND_INTX_DISABLE) != 0) {
        bool is_disabled = (value & PCI_COMMAND_INTX_DISABLE) != 0;

        function_interrupt_change(function,
                                  FUNCTION_INTX_DISABLE | (is_disabled ? FUNCTION_STATUS : 0),
                                  is_disabled ? FUNCTION_INTX_DISABLE : 0);
        mask &= ~PCI_COMMAND_INTX_DISABLE;
    }
    function->command = (function->command & ~mask) | (value & mask);
}

/* Writes those bits of the dword at offset `at` that are set in `mask`. */
static enum access_result write_dword(struct emulated_function *function, uint32_t at,
                                      uint32_t value, uint32_t mask)
{
    switch (at) {
    case PCI_COMMAND:
        write_command(function, value, mask);
        return ACCESS_DONE;
    case PCI_BAR:
        mask &= BAR_MASK;
        function->bar = (function->bar & ~mask) | (value & mask);
        return ACCESS_DONE;
    case FUNCTION_VENDOR:
        if ((mask & FUNCTION_VENDOR_ONE_SHOT) != 0) {
            function_interrupt_change(function, FUNCTION_ONE_SHOT,
                                      (value & FUNCTION_VENDOR_ONE_SHOT) != 0 ? FUNCTION_ONE_SHOT
                                                                              : 0);
        }
        return ACCESS_DONE;
    default:
        return ACCESS_REFUSED;
    }
}

enum access_result function_config_access(struct emulated_function *function,
                                          const struct function_config *config,
                                          struct access *access)
{
    uint32_t offset = (uint32_t)access->offset, at = offset - offset % DWORD;
    uint32_t shift = 8 * (offset % DWORD), mask = UINT32_MAX >> (32 - 8 * access->bytes);

    if (access->write) {
        return write_dword(function, at, (uint32_t)access->value << shift, mask << shift);
    }
    access->value = read_dword(function, config, at) >> shift & mask;
    return ACCESS_DONE;
}
