/* SPDX-License-Identifier: BSD-2-Clause */
#include "pci.h"
#include <string.h>

#define COMMAND_BITS     0x7FFu
#define STATUS_ONCE      0xF900u
#define FIRST_CAPABILITY 0x40u
#define POWER_BITS       0x0103u /* the state, and whether the function may wake the system */
#define POWER_ONCE       0x8000u
#define EXPRESS_BITS     0xFFFFu
#define EXPRESS_ONCE     0x000F0000u
#define BAR_COUNT        6u

static void put(uint8_t *bits, unsigned offset, unsigned bytes, uint64_t value)
{
    for (unsigned index = 0; index < bytes; index++) {
        bits[offset + index] = (uint8_t)(value >> 8 * index);
    }
}

static uint64_t get(const uint8_t *bits, unsigned offset, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned index = bytes; index > 0; index--) {
        value = value << 8 | bits[offset + index - 1];
    }
    return value;
}

void pci_model_set(struct pci_model *function, unsigned offset, unsigned bytes, uint64_t value)
{
    put(function->config, offset, bytes, value);
}

uint64_t pci_model_get(const struct pci_model *function, unsigned offset, unsigned bytes)
{
    return get(function->config, offset, bytes);
}

void pci_model_writable(struct pci_model *function, unsigned offset, unsigned bytes, uint64_t mask)
{
    put(function->writable, offset, bytes, mask);
}

void pci_model_reset(struct pci_model *function, uint32_t id)
{
    memset(function, 0, sizeof(*function));
    function->link = PCI_CAPABILITIES;
    function->free = FIRST_CAPABILITY;
    pci_model_set(function, PCI_VENDOR_ID, 4, id);
    pci_model_writable(function, PCI_COMMAND, 2, COMMAND_BITS);
    put(function->once, PCI_STATUS, 2, STATUS_ONCE);
}

void pci_model_bridge(struct pci_model *function, bool wide)
{
    pci_model_set(function, PCI_HEADER_TYPE, 1, PCI_HEADER_BRIDGE);
    pci_model_writable(function, PCI_BRIDGE_BUSES, 4, UINT32_MAX);
    pci_model_writable(function, PCI_BRIDGE_IO, 2, 0xF0F0);
    pci_model_writable(function, PCI_BRIDGE_MEMORY, 4, 0xFFF0FFF0);
    pci_model_writable(function, PCI_BRIDGE_PREFETCH, 4, 0xFFF0FFF0);
    if (wide) {
        pci_model_set(function, PCI_BRIDGE_PREFETCH, 4, 0x00010001);
        pci_model_writable(function, PCI_BRIDGE_PREFETCH_BASE, 8, UINT64_MAX);
    }
}

static bool is_io(uint64_t bar)
{
    return (bar & PCI_BAR_IO) != 0;
}

static bool is_wide(uint64_t bar)
{
    return !is_io(bar) && (bar & PCI_BAR_TYPE) == PCI_BAR_TYPE_64;
}

void pci_model_bar(struct pci_model *function, unsigned index, uint64_t bytes, uint32_t flags)
{
    unsigned offset = PCI_BAR + 4 * index;

    pci_model_writable(function, offset, is_wide(flags) ? 8 : 4,
                       -bytes & ~(uint64_t)(is_io(flags) ? 0x3 : 0xF));
    pci_model_set(function, offset, 4, flags);
}

uint64_t pci_model_bar_address(const struct pci_model *function, unsigned index)
{
    unsigned offset = PCI_BAR + 4 * index;
    uint64_t low = pci_model_get(function, offset, 4);

    if (is_wide(low) && index + 1 < BAR_COUNT) {
        low |= pci_model_get(function, offset + 4, 4) << 32;
    }
    return low & ~(uint64_t)(is_io(low) ? 0x3 : 0xF);
}

uint64_t pci_model_bar_mask(const struct pci_model *function, unsigned index)
{
    unsigned offset = PCI_BAR + 4 * index;
    uint64_t bar = pci_model_get(function, offset, 4);
    uint64_t mask = get(function->writable, offset, 4);

    if (is_wide(bar) && index + 1 < BAR_COUNT) {
        return mask | get(function->writable, offset + 4, 4) << 32;
    }
    /* Of an I/O BAR the upper half may be fixed. */
    return is_io(bar) && mask != 0 && mask >> 16 == 0 ? mask | 0xFFFF0000 : mask;
}

void pci_model_place_capability(struct pci_model *function, uint8_t offset, uint8_t id,
                                unsigned bytes)
{
    pci_model_set(function, PCI_STATUS, 2,
                  pci_model_get(function, PCI_STATUS, 2) | PCI_STATUS_CAPABILITIES);
    function->config[function->link] = offset;
    function->link = (uint8_t)(offset + 1);
    function->free = (uint8_t)(offset + bytes);
    function->config[offset] = id;
    if (id == PCI_CAPABILITY_POWER) {
        function->power = offset;
        pci_model_writable(function, offset + PCI_POWER_CONTROL, 4, POWER_BITS);
        put(function->once, offset + PCI_POWER_CONTROL, 4, POWER_ONCE);
    } else if (id == PCI_CAPABILITY_EXPRESS) {
        function->express = offset;
        pci_model_writable(function, offset + PCI_EXPRESS_ABILITIES, 4, 0);
        pci_model_writable(function, offset + PCI_EXPRESS_CONTROL, 4, EXPRESS_BITS);
        put(function->once, offset + PCI_EXPRESS_CONTROL, 4, EXPRESS_ONCE);
    }
}

uint8_t pci_model_capability(struct pci_model *function, uint8_t id, unsigned bytes)
{
    uint8_t offset = function->free;

    pci_model_place_capability(function, offset, id, bytes);
    return offset;
}

void pci_model_express(struct pci_model *function, unsigned type)
{
    uint8_t offset = pci_model_capability(function, PCI_CAPABILITY_EXPRESS, 0x3C);

    pci_model_set(function, offset + PCI_EXPRESS_FLAGS, 2, type << 4 | 2);
}

void pci_model_msix(struct pci_model *function, unsigned vectors, unsigned bar, uint32_t offset)
{
    uint8_t at = pci_model_capability(function, PCI_CAPABILITY_MSIX, 12);

    pci_model_set(function, at + PCI_MSIX_CONTROL, 2, vectors - 1);
    pci_model_writable(function, at + PCI_MSIX_CONTROL, 2,
                       PCI_MSIX_CONTROL_ENABLE | PCI_MSIX_CONTROL_MASK);
    pci_model_set(function, at + PCI_MSIX_TABLE, 4, offset | bar);
}

void pci_model_virtio(struct pci_model *function, uint8_t offset,
                      const struct pci_model_virtio *structure)
{
    pci_model_set(function, offset + 2u, 1, structure->length);
    pci_model_set(function, offset + 3u, 1, structure->type);
    pci_model_set(function, offset + 4u, 1, structure->bar);
    pci_model_set(function, offset + 8u, 4, structure->offset);
    pci_model_set(function, offset + 12u, 4, structure->bytes);
}

uint32_t pci_model_read(const struct pci_model *function, unsigned offset, unsigned bytes)
{
    return (uint32_t)pci_model_get(function, offset, bytes);
}

void pci_model_forget(struct pci_model *function)
{
    function->resets++;
    pci_model_set(function, PCI_COMMAND, 2, 0);
    for (unsigned offset = PCI_BAR; offset < PCI_BAR + 4 * BAR_COUNT; offset++) {
        function->config[offset] &= (uint8_t)~function->writable[offset];
    }
}

/* A function-level reset, and the one between D3hot and D0. */
static void act(struct pci_model *function, const uint8_t *before)
{
    unsigned control = function->express + PCI_EXPRESS_CONTROL;
    unsigned power = function->power + PCI_POWER_CONTROL;

    if (function->express != 0 && (pci_model_get(function, control, 2) & PCI_EXPRESS_RESET) != 0) {
        pci_model_set(function, control, 2, 0);
        if ((pci_model_get(function, function->express + PCI_EXPRESS_ABILITIES, 4) &
             PCI_EXPRESS_CAN_RESET) != 0) {
            pci_model_forget(function);
        }
    }
    if (function->power != 0 && (before[power] & PCI_POWER_STATE) == PCI_POWER_STATE &&
        (function->config[power] & (PCI_POWER_STATE | PCI_POWER_NO_RESET)) == 0) {
        pci_model_forget(function);
    }
}

void pci_model_write(struct pci_model *function, unsigned offset, unsigned bytes, uint32_t value)
{
    uint8_t before[PCI_CONFIG_BYTES];

    memcpy(before, function->config, sizeof(before));
    for (unsigned index = 0; index < bytes; index++) {
        uint8_t *byte = &function->config[offset + index];
        uint8_t written = (uint8_t)(value >> 8 * index);
        uint8_t once = function->once[offset + index];
        uint8_t mask = function->writable[offset + index] & (uint8_t)~once;

        *byte = (uint8_t)((*byte & ~mask) | (written & mask));
        *byte &= (uint8_t) ~(written & once);
    }
    if (function->watch != NULL) {
        function->watch(function, before, offset, bytes);
    }
    act(function, before);
}
