/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Base address registers (PCI 3.0, 6.2.5.1). virtual_function.bar keeps the values that the guest
 * writes. They are written to the hardware when the guest enables decoding, and only if they lie in
 * the partition's windows.
 */
#include "pci/function.h"

/* A BAR whose address and mask are extended to 64 bits. */
struct bar {
    uint64_t address, mask;
    unsigned registers; /* number of registers of the BAR: 1 or 2 */
    /* Bit of the command that enables decoding of the BAR; 0: there is no such BAR. */
    uint16_t decode;
};

static uint32_t register_of(unsigned index)
{
    return PCI_BAR + PCI_DWORD * index;
}

static bool is_wide(uint32_t low, unsigned index)
{
    return (low & (PCI_BAR_TYPE | PCI_BAR_IO)) == PCI_BAR_TYPE_64 && index + 1 < FUNCTION_BARS;
}

/* Finds the size of a BAR by writing ones. Returns its writable bits and its fixed bits. The
 * register is 0 afterwards. */
static uint32_t probe_bar(const struct function *function, unsigned index)
{
    uint32_t value;

    pci_write(function, register_of(index), PCI_DWORD, UINT32_MAX);
    value = pci_read(function, register_of(index), PCI_DWORD);
    pci_write(function, register_of(index), PCI_DWORD, 0);
    return value;
}

void pci_bars_find(const struct function *function)
{
    struct virtual_function *view = function->view;

    for (unsigned i = 0; i < FUNCTION_BARS; i++) {
        uint32_t value = probe_bar(function, i);

        view->bar[i] = value & ((value & PCI_BAR_IO) != 0 ? 0x3 : 0xf);
        view->bar_mask[i] = value & ~view->bar[i];
        if (is_wide(value, i)) {
            i++;
            view->bar[i] = 0;
            view->bar_mask[i] = probe_bar(function, i);
        }
    }
}

static struct bar bar_of(const struct virtual_function *view, unsigned index)
{
    uint32_t low = view->bar[index];
    struct bar bar = {.address = low & view->bar_mask[index],
                      .mask = view->bar_mask[index],
                      .registers = 1,
                      .decode = PCI_COMMAND_MEMORY};

    if (is_wide(low, index)) {
        bar.address |= (uint64_t)view->bar[index + 1] << 32;
        bar.mask |= (uint64_t)view->bar_mask[index + 1] << 32;
        bar.registers = 2;
        return bar;
    }
    if (bar.mask == 0) {
        bar.decode = 0;
    } else if ((low & PCI_BAR_IO) != 0) {
        bar.decode = PCI_COMMAND_IO;
        /* The upper half of an I/O BAR may be fixed at 0. */
        bar.mask |= bar.mask <= UINT16_MAX ? UINT64_C(0xffff0000) : 0;
    }
    bar.mask |= UINT64_C(0xffffffff00000000);
    return bar;
}

/* Returns true if the BAR lies in a window, which begins at PCI address `start`. BAR sizes are
 * powers of two (PCI 3.0, 6.2.5.1). */
static bool is_in_window(const struct bar *bar, uint64_t start, uint64_t room)
{
    uint64_t bytes = -bar->mask;

    /* An address below the window wraps to a huge offset. */
    return bytes != 0 && (bytes & (bytes - 1)) == 0 && bytes <= room &&
           bar->address - start <= room - bytes;
}

static bool is_inside(const struct function *function, const struct bar *bar)
{
    const struct description_partition *described = function->partition->constant.described;

    if (bar->decode == PCI_COMMAND_IO) {
        return is_in_window(bar,
                            described->pci_io - function->partition->constant.system->board.pci_io,
                            described->pci_io_bytes);
    }
    return is_in_window(bar, described->pci_memory, described->pci_memory_bytes) ||
           (bar->registers == 2 &&
            is_in_window(bar, described->pci_wide_physical, described->pci_wide_bytes));
}

bool pci_bars_assign(const struct function *function)
{
    const struct description_partition *described = function->partition->constant.described;
    struct virtual_function *view = function->view;
    uint64_t next = described->pci_memory;
    struct bar bar;

    for (unsigned i = 0; i < FUNCTION_BARS; i += bar.registers) {
        bar = bar_of(view, i);
        if (bar.decode != PCI_COMMAND_MEMORY) {
            continue;
        }
        next = (next + ~bar.mask) & bar.mask; /* -bar.mask is the BAR's size */
        bar.address = next;
        if (!is_inside(function, &bar)) {
            return false;
        }
        next += -bar.mask;
        view->bar[i] = (view->bar[i] & ~view->bar_mask[i]) | (uint32_t)bar.address;
        if (bar.registers == 2) {
            view->bar[i + 1] = (uint32_t)(bar.address >> 32);
        }
    }
    return true;
}

uint64_t pci_bar_address(const struct function *function, unsigned index, uint64_t bytes)
{
    struct bar bar;

    for (unsigned i = 0; i < FUNCTION_BARS; i += bar.registers) {
        bar = bar_of(function->view, i);
        if (i == index && bar.decode == PCI_COMMAND_MEMORY && bytes <= -bar.mask) {
            return bar.address;
        }
    }
    return 0;
}

uint64_t pci_bar_without_room(struct partition *partition, uint32_t index, unsigned bar)
{
    const struct description_partition *described = partition->constant.described;
    struct function function = pci_function(partition, index);
    struct bar found;

    for (unsigned i = 0; i < FUNCTION_BARS; i += found.registers) {
        found = bar_of(function.view, i);
        if (i == bar && found.decode == PCI_COMMAND_MEMORY &&
            -found.mask > described->pci_memory_bytes &&
            (found.registers == 1 || -found.mask > described->pci_wide_bytes)) {
            return -found.mask;
        }
    }
    return 0;
}

/* Writes a register of a BAR to the hardware. Returns false if its writable bits are not those
 * found at boot: the function may be in a reset, in which writes are lost, or a reset may have
 * changed the sizes of BARs (PCI Express Base 4.0, 6.6.2 and 7.8.6). Returns false, too, if the
 * register does not read as it was written, first 0 and then the address: a faulty device with an
 * address bit fixed at 1 would respond outside the window. */
static bool write_bar(const struct function *function, unsigned index)
{
    const struct virtual_function *view = function->view;
    uint32_t fixed = view->bar[index] & ~view->bar_mask[index];

    if (probe_bar(function, index) != (view->bar_mask[index] | fixed) ||
        pci_read(function, register_of(index), PCI_DWORD) != fixed) {
        return false;
    }
    pci_write(function, register_of(index), PCI_DWORD, view->bar[index]);
    return pci_read(function, register_of(index), PCI_DWORD) == view->bar[index];
}

/* Writes the BARs to the hardware whose decoding is wanted. `wanted`: bits of the command. Returns
 * those of the bits for which the function has BARs, all inside the windows and written to the
 * hardware. */
static uint16_t write_bars(const struct function *function, uint16_t wanted)
{
    uint16_t used = 0, outside = 0;
    struct bar bar;

    for (unsigned i = 0; i < FUNCTION_BARS; i += bar.registers) {
        bar = bar_of(function->view, i);
        if ((bar.decode & wanted) == 0) {
            continue;
        }
        used |= bar.decode;
        if (!is_inside(function, &bar) || !write_bar(function, i) ||
            (bar.registers == 2 && !write_bar(function, i + 1))) {
            outside |= bar.decode;
        }
    }
    return used & (uint16_t)~outside;
}

void pci_bars_apply(const struct function *function)
{
    uint16_t command = function->view->command, decode = command & PCI_COMMAND_DECODE;

    command &= (uint16_t)~PCI_COMMAND_DECODE;
    pci_write(function, PCI_COMMAND, 2, command);
    pci_write(function, PCI_COMMAND, 2, command | write_bars(function, decode));
}

void pci_bars_clear(const struct function *function)
{
    struct virtual_function *view = function->view;

    view->command = 0;
    for (unsigned i = 0; i < FUNCTION_BARS; i++) {
        view->bar[i] &= ~view->bar_mask[i];
    }
}
