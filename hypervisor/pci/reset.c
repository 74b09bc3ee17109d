/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions before a partition begins, for the first time and again. */
#include "pci/config_space.h"
#include "pci/function.h"

#define NO_VENDOR 0xffffu
/* PCI Power Management 1.2, 5.6.1; PCI Express Base 4.0, 6.6.2. */
#define POWER_MICROSECONDS 10000u
#define RESET_MICROSECONDS 100000u

/* Neither decodes nor masters the bus. The expansion ROM decodes with memory (PCI 3.0, 6.2.5.2). */
static void quiesce(const struct function *function)
{
    uint32_t power = pci_capability_find(function->view, PCI_CAPABILITY_POWER);

    pci_write(function, PCI_COMMAND, 2, 0);
    pci_write(function, PCI_ROM, PCI_DWORD, 0);
    if (power != 0 && (pci_read(function, power + PCI_POWER_CONTROL, 1) & PCI_POWER_STATE) != 0) {
        pci_write(function, power + PCI_POWER_CONTROL, 2, 0);
        pci_delay(POWER_MICROSECONDS);
    }
}

/* Endpoints only: a bridge passes on what is not its own. And all of what they decode is in BARs:
 * enhanced allocation is addresses that nobody can move (PCI Express Base 4.0, 7.8.5). */
static bool is_usable(const struct function *function)
{
    uint64_t offset = function->registers - function->partition->system->board.ecam;

    if (offset >= function->partition->system->board.ecam_bytes ||
        pci_read(function, PCI_VENDOR_ID, 2) == NO_VENDOR ||
        (pci_read(function, PCI_HEADER_TYPE, 1) & ~PCI_HEADER_MULTI_FUNCTION) !=
            PCI_HEADER_DEVICE) {
        return false;
    }
    pci_write(function, PCI_COMMAND, 2, 0);
    pci_capabilities_find(function);
    return pci_capability_find(function->view, PCI_CAPABILITY_ENHANCED) == 0;
}

void pci_boot(struct partition *partition)
{
    partition->functions_lock = 0;
    for (uint32_t i = 0; i < partition->described->function_count; i++) {
        struct function function = pci_function(partition, i);

        *function.view = (struct virtual_function){0};
        if (is_usable(&function)) {
            quiesce(&function);
            pci_bars_find(&function);
            pci_bars_forget(&function);
            function.view->present = true;
        }
    }
}

/* Begins a function-level reset, if there is one. */
static bool begin_reset(const struct function *function)
{
    uint32_t at = pci_express_reset(function);

    quiesce(function);
    pci_bars_forget(function);
    function->view->written = false;
    if (at != 0) {
        pci_write(function, at, 2, PCI_EXPRESS_RESET);
    }
    return at != 0;
}

void pci_reset(struct partition *partition)
{
    bool wait = false;

    for (uint32_t i = 0; i < partition->described->function_count; i++) {
        struct function function = pci_function(partition, i);

        if (function.view->present && function.view->written) {
            wait |= begin_reset(&function);
        }
    }
    if (wait) {
        pci_delay(RESET_MICROSECONDS);
    }
}
