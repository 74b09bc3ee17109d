/* SPDX-License-Identifier: BSD-2-Clause */
/* Configuration space of a channel's function (ivshmem, "Configuration Space Registers"). Registers
 * that are not listed here read as 0. */
#include "channel/function.h"
#include "channel/function_interrupt.h"
#include <devices/pci_registers.h>

#define DWORD      4u
#define IDS        0x4106110au /* device ID 0x4106, vendor ID 0x110a */
#define CLASS      0xff000000u /* undefined protocol, revision 0 */
#define PIN_A      (1u << 8)   /* Interrupt Pin in the dword PCI_INTERRUPT: INTA */
#define BAR_MASK   0xfffff000u /* BAR 0 has the size of a page */
#define SHARED_BAR 2u

/* Offsets and fields of the vendor-specific capability. */
#define VENDOR              0x40u
#define VENDOR_TABLE_BYTES  (VENDOR + 0x4u)
#define VENDOR_COMMON_BYTES (VENDOR + 0x8u)
#define VENDOR_OUTPUT_BYTES (VENDOR + 0x10u)
#define VENDOR_ADDRESS      (VENDOR + 0x18u)
#define VENDOR_BYTES        0x20u
#define VENDOR_LENGTH_SHIFT 16u
#define VENDOR_ONE_SHOT     (1u << 24)
#define NEXT(capability)    ((capability) << 8)

/* Offsets of the capability for enhanced allocation, which has one entry of five dwords. */
#define ENHANCED        (VENDOR + VENDOR_BYTES)
#define ENHANCED_ENTRY  (ENHANCED + PCI_ENHANCED_ENTRIES)
#define ENHANCED_BASE   (ENHANCED_ENTRY + DWORD)
#define ENHANCED_OFFSET (ENHANCED_BASE + DWORD)

static uint32_t upper(uint64_t value)
{
    return (uint32_t)(value >> 32);
}

static uint32_t enhanced_low(uint64_t value)
{
    return ((uint32_t)value & ~(DWORD - 1)) | PCI_ENHANCED_64;
}

static uint32_t command_and_status(const struct end *end, uint32_t interrupt)
{
    uint32_t status = PCI_STATUS_CAPABILITIES, command = end_function(end)->command;

    status |= (interrupt & FUNCTION_STATUS) != 0 ? PCI_STATUS_INTERRUPT : 0;
    command |= (interrupt & FUNCTION_INTX_DISABLE) != 0 ? PCI_COMMAND_INTX_DISABLE : 0;
    return status << 16 | command;
}

/* Returns the first dword of the vendor-specific capability. Without BAR 2 there is no capability
 * for enhanced allocation, and the list ends here. */
static uint32_t vendor_header(const struct end *end, uint32_t interrupt)
{
    bool has_bar = end_described(end)->function == DESCRIPTION_CHANNEL_FUNCTION_WHOLE;

    return PCI_CAPABILITY_VENDOR | (has_bar ? NEXT(ENHANCED) : 0) |
           VENDOR_BYTES << VENDOR_LENGTH_SHIFT |
           ((interrupt & FUNCTION_ONE_SHOT) != 0 ? VENDOR_ONE_SHOT : 0);
}

/* Returns the dword at offset `at`. */
static uint32_t read_dword(const struct end *end, uint32_t at)
{
    uint32_t interrupt = function_interrupt_bits(end);
    uint64_t base = end_described(end)->guest, output = end->channel->section_bytes;
    uint64_t last = channel_region_bytes(end->channel) - 1;

    switch (at) {
    case PCI_VENDOR_ID:
    case PCI_SUBSYSTEM:
        return IDS;
    case PCI_COMMAND:
        return command_and_status(end, interrupt);
    case PCI_CLASS:
        return CLASS;
    case PCI_BAR:
        return end_function(end)->bar;
    case PCI_CAPABILITIES:
        return VENDOR;
    case PCI_INTERRUPT:
        return PIN_A;
    case VENDOR:
        return vendor_header(end, interrupt);
    case VENDOR_TABLE_BYTES:
        return (uint32_t)DESCRIPTION_PAGE_BYTES;
    case VENDOR_COMMON_BYTES:
        return (uint32_t)channel_common_bytes(end->channel);
    case VENDOR_COMMON_BYTES + DWORD:
        return upper(channel_common_bytes(end->channel));
    case VENDOR_OUTPUT_BYTES:
        return (uint32_t)output;
    case VENDOR_OUTPUT_BYTES + DWORD:
        return upper(output);
    case VENDOR_ADDRESS:
        return (uint32_t)base;
    case VENDOR_ADDRESS + DWORD:
        return upper(base);
    case ENHANCED:
        return PCI_CAPABILITY_ENHANCED | 1u << PCI_ENHANCED_COUNT_SHIFT;
    case ENHANCED_ENTRY:
        return PCI_ENHANCED_DWORDS(4u) | PCI_ENHANCED_BAR(SHARED_BAR) | PCI_ENHANCED_PREFETCHABLE |
               PCI_ENHANCED_ALONE | PCI_ENHANCED_ENABLE;
    case ENHANCED_BASE:
        return enhanced_low(base);
    case ENHANCED_OFFSET:
        return enhanced_low(last);
    case ENHANCED_BASE + 2 * DWORD:
        return upper(base);
    case ENHANCED_OFFSET + 2 * DWORD:
        return upper(last);
    default:
        return 0;
    }
}

static void write_command(const struct end *end, uint32_t value, uint32_t mask)
{
    struct channel_function *function = end_function(end);

    mask &= PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE;
    if ((mask & PCI_COMMAND_INTX_DISABLE) != 0) {
        bool is_disabled = (value & PCI_COMMAND_INTX_DISABLE) != 0;

        function_interrupt_change(end, FUNCTION_INTX_DISABLE | (is_disabled ? FUNCTION_STATUS : 0),
                                  is_disabled ? FUNCTION_INTX_DISABLE : 0);
        mask &= ~PCI_COMMAND_INTX_DISABLE;
    }
    function->command = (function->command & ~mask) | (value & mask);
}

/* Writes those bits of the dword at offset `at` that are set in `mask`. */
static enum access_result write_dword(const struct end *end, uint32_t at, uint32_t value,
                                      uint32_t mask)
{
    struct channel_function *function = end_function(end);

    switch (at) {
    case PCI_COMMAND:
        write_command(end, value, mask);
        return ACCESS_DONE;
    case PCI_BAR:
        mask &= BAR_MASK;
        function->bar = (function->bar & ~mask) | (value & mask);
        return ACCESS_DONE;
    case VENDOR:
        if ((mask & VENDOR_ONE_SHOT) != 0) {
            function_interrupt_change(end, FUNCTION_ONE_SHOT,
                                      (value & VENDOR_ONE_SHOT) != 0 ? FUNCTION_ONE_SHOT : 0);
        }
        return ACCESS_DONE;
    default:
        return ACCESS_REFUSED;
    }
}

enum access_result function_config_access(const struct end *end, struct access *access)
{
    uint32_t offset = (uint32_t)access->offset, at = offset - offset % DWORD;
    uint32_t shift = 8 * (offset % DWORD), mask = UINT32_MAX >> (32 - 8 * access->bytes);

    if (access->write) {
        return write_dword(end, at, (uint32_t)access->value << shift, mask << shift);
    }
    access->value = read_dword(end, at) >> shift & mask;
    return ACCESS_DONE;
}
