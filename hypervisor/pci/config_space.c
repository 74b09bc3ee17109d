/* SPDX-License-Identifier: BSD-2-Clause */
#include "pci/config_space.h"

#include "partition/ownership.h"
#include "pci/function.h"
#include "pci/lock.h"
#include <stddef.h>

#define BAR_BYTES   (PCI_DWORD * FUNCTION_BARS)
#define STATUS_RW1C 0xf900u /* bits that a write of 1 clears (PCI 3.0, 6.2.3) */
#define HEADER      0xffu   /* marks a register of the header: no capability has this ID */

/*
 * The registers, of one dword each, whose writes go to the hardware. `writable`: bits that a guest
 * may change. `rw1c`: bits that a write of 1 clears. The table omits fields that affect traffic
 * with other functions (payload size, tags, links, error messages), fields that enable decoding
 * (expansion ROM, virtual functions, sizes of BARs), vendor-specific registers, and all extended
 * capabilities. The virtio PCI configuration access capability (VIRTIO 1.3, 4.1.4.9) reaches
 * nothing that BARs do not reach. It is omitted, too, because drivers do not use it and QEMU 10.0
 * terminates at the first access through it.
 */
static const struct rule {
    uint8_t capability, at;
    uint32_t writable, rw1c;
} rules[] = {
    {HEADER, PCI_CACHE_LINE, 0x0000ffff, 0},
    {HEADER, PCI_INTERRUPT, 0x000000ff, 0},
    {PCI_CAPABILITY_POWER, PCI_POWER_CONTROL, PCI_POWER_STATE, 0x8000},
    /* Writable: relaxed ordering, no snoop, read request size. Cleared by 1: detected errors. */
    {PCI_CAPABILITY_EXPRESS, PCI_EXPRESS_CONTROL, 0x00007810, 0x000f0000},
};

/* A guest's write, extended to the dword that contains it. */
struct change {
    uint32_t at, mask, value;
};

static uint32_t byte_mask(unsigned bytes)
{
    return UINT32_MAX >> (32 - 8 * bytes);
}

static uint32_t replace_bits(uint32_t old, uint32_t wanted, uint32_t mask)
{
    return (old & ~mask) | (wanted & mask);
}

/* Returns the bits of a dword that the guest reads instead of the hardware's bits, and sets *mask
 * to the bits that are replaced. */
static uint32_t virtual_bits(const struct virtual_function *view, uint32_t at, uint32_t *mask)
{
    int position = pci_capability_at(view, at);

    *mask = 0;
    if (position >= 0) {
        *mask = 0xff00;
        return (uint32_t)pci_capability_next(view, position) << 8;
    }
    if (at >= PCI_BAR && at < PCI_BAR + BAR_BYTES) {
        *mask = UINT32_MAX;
        return view->bar[(at - PCI_BAR) / PCI_DWORD];
    }
    if (at == PCI_COMMAND) {
        *mask = PCI_COMMAND_DECODE;
        return view->command;
    }
    if (at == PCI_ROM) {
        *mask = UINT32_MAX;
    } else if (at == PCI_CAPABILITIES) {
        *mask = 0xff;
        return pci_capability_next(view, -1);
    }
    return 0;
}

static void read(const struct function *function, struct access *access)
{
    uint32_t offset = access->offset % PCI_CONFIG_BYTES, at = offset - offset % PCI_DWORD, mask;
    unsigned shift = 8 * (offset % PCI_DWORD);
    uint32_t bits = virtual_bits(function->view, at, &mask);
    uint32_t value = pci_read(function, offset, access->bytes) << shift;

    access->value = replace_bits(value, bits, mask) >> shift & byte_mask(access->bytes);
}

static const struct rule *find_rule(const struct virtual_function *view, uint32_t at)
{
    for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        bool header = rules[i].capability == HEADER;
        uint32_t base = header ? 0 : pci_capability_find(view, rules[i].capability);

        if (base + rules[i].at == at && (base != 0 || header)) {
            return &rules[i];
        }
    }
    return NULL;
}

/* Returns the bits of the register that the guest may write. They include Initiate Function Level
 * Reset only if the function has such a reset. */
static uint32_t writable_bits(const struct function *function, const struct rule *rule)
{
    uint32_t mask = rule->writable | rule->rw1c;

    if (rule->capability == PCI_CAPABILITY_EXPRESS && pci_express_reset(function) != 0) {
        mask |= PCI_EXPRESS_RESET;
    }
    return mask;
}

/* Returns true if the write resets the function, which clears its command and BARs (PCI Express
 * Base 4.0, 5.3.1.4 and 6.6.2). */
static bool is_reset(const struct rule *rule, uint32_t before, uint32_t after)
{
    if (rule->capability == PCI_CAPABILITY_POWER) {
        return (before & PCI_POWER_STATE) == PCI_POWER_STATE && (after & PCI_POWER_STATE) == 0 &&
               (before & PCI_POWER_NO_RESET) == 0;
    }
    return rule->capability == PCI_CAPABILITY_EXPRESS && (after & PCI_EXPRESS_RESET) != 0;
}

static enum access_result write_by_rule(const struct function *function,
                                        const struct access *access, const struct change *change)
{
    const struct rule *rule = find_rule(function->view, change->at);
    uint32_t mask = rule != NULL ? change->mask & writable_bits(function, rule) : 0, before, after;

    if (mask == 0) {
        return ACCESS_REFUSED;
    }
    /* Written with the guest's size, because the effect may depend on it. */
    if (mask == change->mask) {
        pci_write(function, access->offset % PCI_CONFIG_BYTES, access->bytes,
                  (uint32_t)access->value);
        return ACCESS_DONE;
    }
    before = pci_read(function, change->at, PCI_DWORD);
    if (before == UINT32_MAX) { /* the function does not respond */
        return ACCESS_REFUSED;
    }
    after = replace_bits(before & ~rule->rw1c, change->value, mask);
    if (is_reset(rule, before, after)) {
        pci_write(function, PCI_COMMAND, 2, 0);
        pci_bars_clear(function);
    }
    pci_write(function, change->at, PCI_DWORD, after);
    return ACCESS_DONE;
}

static void write_command(const struct function *function, const struct change *change)
{
    struct virtual_function *view = function->view;
    uint32_t before = view->command, rw1c = (change->value & change->mask) >> 16 & STATUS_RW1C,
             mask = PCI_COMMAND_DECODE | PCI_COMMAND_PARITY | PCI_COMMAND_INTX_DISABLE;

    if (function->partition->constant.described->dma != DESCRIPTION_DMA_NONE) {
        mask |= PCI_COMMAND_MASTER;
    }
    view->command = (uint16_t)replace_bits(before, change->value, change->mask & mask);
    if (((before ^ view->command) & PCI_COMMAND_DECODE) != 0) {
        pci_bars_apply(function);
    } else if (before != view->command) { /* decoding stays enabled meanwhile */
        uint32_t decode = pci_read(function, PCI_COMMAND, 2);

        decode = decode == UINT16_MAX ? 0 : decode & PCI_COMMAND_DECODE;
        pci_write(function, PCI_COMMAND, 2, (view->command & ~PCI_COMMAND_DECODE) | decode);
    }
    if (rw1c != 0) {
        pci_write(function, PCI_STATUS, 2, rw1c);
    }
}

static enum access_result write(const struct function *function, const struct access *access)
{
    uint32_t offset = access->offset % PCI_CONFIG_BYTES;
    unsigned shift = 8 * (offset % PCI_DWORD);
    struct change change = {.at = offset - offset % PCI_DWORD,
                            .mask = byte_mask(access->bytes) << shift,
                            .value = (uint32_t)access->value << shift};
    struct virtual_function *view = function->view;

    view->written = true;
    if (change.at == PCI_COMMAND) {
        write_command(function, &change);
        return ACCESS_DONE;
    }
    if (change.at >= PCI_BAR && change.at < PCI_BAR + BAR_BYTES) {
        unsigned i = (change.at - PCI_BAR) / PCI_DWORD;

        view->bar[i] = replace_bits(view->bar[i], change.value, change.mask & view->bar_mask[i]);
        if ((view->command & PCI_COMMAND_DECODE) != 0) {
            pci_bars_apply(function);
        }
        return ACCESS_DONE;
    }
    return write_by_rule(function, access, &change);
}

/* Lets one core write at a time. Two cores that write at once could make a combination of BARs and
 * command that neither core wrote. */
static enum access_result write_locked(struct partition *partition, const struct function *function,
                                       const struct access *access)
{
    enum access_result result;

    if (!pci_lock(partition)) {
        return ACCESS_AGAIN;
    }
    result = write(function, access);
    pci_unlock(partition);
    return result;
}

/* Returns true if the function is not the partition's now. The access may complete its arrival. */
static bool is_hidden(struct partition *partition, uint32_t index)
{
    return partition->functions.views[index].hidden && !ownership_arrive(partition, index);
}

enum access_result pci_access(struct partition *partition, struct access *access)
{
    const struct description_partition *described = partition->constant.described;

    for (uint32_t i = 0; i < described->function_count && access->bytes <= PCI_DWORD; i++) {
        struct function function = pci_function(partition, i);

        if (access->offset >> PCI_FUNCTION_SHIFT != described->functions[i].address ||
            !function.view->present || is_hidden(partition, i)) {
            continue;
        }
        if (access->write) {
            return write_locked(partition, &function, access);
        }
        read(&function, access);
        return ACCESS_DONE;
    }
    if (!access->write) {
        access->value = UINT64_MAX >> (64 - 8 * access->bytes);
    }
    return ACCESS_REFUSED;
}
