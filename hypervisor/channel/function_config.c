/* SPDX-License-Identifier: BSD-2-Clause */
/* Configuration space of a channel's function (ivshmem, "Configuration Space Registers"). */
#include "channel/function.h"
#include "emulated_function/config.h"
#include <devices/pci_registers.h>

#define IDS        0x4106110au /* device ID 0x4106, vendor ID 0x110a */
#define CLASS      0xff000000u /* undefined protocol, revision 0 */
#define SHARED_BAR 2u

#define VENDOR_BYTES 0x20u
/* Offset of the capability for enhanced allocation. */
#define ENHANCED (FUNCTION_VENDOR + VENDOR_BYTES)

static uint32_t upper(uint64_t value)
{
    return (uint32_t)(value >> 32);
}

static uint32_t enhanced_low(uint64_t value)
{
    return ((uint32_t)value & ~3u) | PCI_ENHANCED_64;
}

/* Writes the vendor-specific capability, of VENDOR_BYTES. */
static void describe_vendor(const struct end *end, bool has_bar, uint32_t dwords[])
{
    const uint64_t longs[] = {
        channel_common_bytes(end->channel),
        end->channel->section_bytes,
        end_described(end)->guest,
    };

    dwords[0] = PCI_CAPABILITY_VENDOR | (has_bar ? FUNCTION_NEXT(ENHANCED) : 0) |
                VENDOR_BYTES << FUNCTION_VENDOR_LENGTH_SHIFT;
    dwords[1] = (uint32_t)DESCRIPTION_PAGE_BYTES; /* the state table */
    for (uint32_t i = 0; i < 3; i++) {
        dwords[2 + 2 * i] = (uint32_t)longs[i];
        dwords[3 + 2 * i] = upper(longs[i]);
    }
}

/* Writes the capability for enhanced allocation, which has one entry of five dwords. */
static void describe_enhanced(const struct end *end, uint32_t dwords[])
{
    uint64_t base = end_described(end)->guest, last = channel_region_bytes(end->channel) - 1;

    dwords[0] = PCI_CAPABILITY_ENHANCED | 1u << PCI_ENHANCED_COUNT_SHIFT;
    dwords[1] = PCI_ENHANCED_DWORDS(4u) | PCI_ENHANCED_BAR(SHARED_BAR) | PCI_ENHANCED_PREFETCHABLE |
                PCI_ENHANCED_ALONE | PCI_ENHANCED_ENABLE;
    dwords[2] = enhanced_low(base);
    dwords[3] = enhanced_low(last);
    dwords[4] = upper(base);
    dwords[5] = upper(last);
}

enum access_result channel_function_config(const struct end *end, struct access *access)
{
    bool has_bar = end_described(end)->function == DESCRIPTION_CHANNEL_FUNCTION_WHOLE;
    struct function_config config = {.ids = IDS, .class_code = CLASS};

    describe_vendor(end, has_bar, config.capabilities);
    if (has_bar) {
        describe_enhanced(end, &config.capabilities[VENDOR_BYTES / sizeof(uint32_t)]);
    }
    return function_config_access(end_function(end), &config, access);
}
