/* SPDX-License-Identifier: BSD-2-Clause */
/* Initialises functions at boot, and resets them before each start of the partition. */
#include "pci/config_space.h"
#include "pci/function.h"

#define NO_VENDOR 0xffffu
/* PCI Power Management 1.2, 5.6.1; PCI Express Base 4.0, 6.6.2. */
#define POWER_MICROSECONDS 10000u
#define RESET_MICROSECONDS 100000u

/* Disables decoding and bus mastering, and leaves a low-power state. The expansion ROM has an
 * enable bit of its own (PCI 3.0, 6.2.5.2). */
static void quiesce(const struct function *function)
{
    uint32_t power = pci_capability_find(function->view, PCI_CAPABILITY_POWER);

    pci_write(function, PCI_COMMAND, 2, 0);
    pci_write(function, PCI_ROM, PCI_DWORD, 0);
    /* The completion of a read does not pass the function's posted writes (PCI Express Base 4.0,
     * 2.4.1): once it is here, no DMA write is on its way. */
    (void)pci_read(function, PCI_COMMAND, 2);
    if (power != 0 && (pci_read(function, power + PCI_POWER_CONTROL, 1) & PCI_POWER_STATE) != 0) {
        pci_write(function, power + PCI_POWER_CONTROL, 2, 0);
        pci_delay(POWER_MICROSECONDS);
    }
}

/* Returns true for an endpoint whose addresses are all in BARs. A bridge forwards the traffic of
 * other functions. Enhanced allocation has addresses that cannot be moved (PCI Express Base 4.0,
 * 7.8.5). */
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

/* Returns the preferred way to reset the function. A function-level reset needs no access to the
 * device's own registers. D3hot comes last, because it leaves the registers' content less defined
 * than a reset of the device. */
static enum function_reset find_reset(const struct function *function)
{
    uint32_t power = pci_capability_find(function->view, PCI_CAPABILITY_POWER);

    if (pci_express_reset(function) != 0) {
        return FUNCTION_RESET_EXPRESS;
    }
    if (pci_virtio_can_reset(function)) {
        return FUNCTION_RESET_VIRTIO;
    }
    if (power != 0 &&
        (pci_read(function, power + PCI_POWER_CONTROL, 2) & PCI_POWER_NO_RESET) == 0) {
        return FUNCTION_RESET_POWER;
    }
    return FUNCTION_RESET_NONE;
}

uint32_t pci_boot(struct partition *partition)
{
    uint32_t unresettable = PCI_NO_FUNCTION;

    partition->functions_lock = 0;
    for (uint32_t i = 0; i < partition->described->function_count; i++) {
        struct function function = pci_function(partition, i);

        *function.view = (struct virtual_function){0};
        if (is_usable(&function)) {
            quiesce(&function);
            pci_bars_find(&function);
            pci_bars_clear(&function);
            function.view->reset = (uint8_t)find_reset(&function);
            function.view->present = true;
            if (function.view->reset == FUNCTION_RESET_NONE) {
                unresettable = partition->described->functions[i].address;
            }
        }
    }
    return unresettable;
}

static void reset_by_power(const struct function *function)
{
    uint32_t at = pci_capability_find(function->view, PCI_CAPABILITY_POWER) + PCI_POWER_CONTROL;

    pci_write(function, at, 2, PCI_POWER_STATE); /* D3hot */
    pci_delay(POWER_MICROSECONDS);
    pci_write(function, at, 2, 0);
    pci_delay(POWER_MICROSECONDS);
}

/* Starts the reset of a function; some resets are complete when it returns. Returns false if the
 * function does not complete its reset, or has none. */
static bool start_reset(const struct function *function)
{
    switch ((enum function_reset)function->view->reset) {
    case FUNCTION_RESET_EXPRESS:
        pci_write(function, pci_express_reset(function), 2, PCI_EXPRESS_RESET);
        return true;
    case FUNCTION_RESET_VIRTIO:
        return pci_virtio_reset(function);
    case FUNCTION_RESET_POWER:
        reset_by_power(function);
        return true;
    case FUNCTION_RESET_NONE:
        break;
    }
    return false;
}

bool pci_reset(struct partition *partition)
{
    bool wait = false, done = true;

    for (uint32_t i = 0; i < partition->described->function_count; i++) {
        struct function function = pci_function(partition, i);
        struct virtual_function *view = function.view;

        if (!view->present || !view->written) {
            continue;
        }
        quiesce(&function);
        pci_bars_clear(&function);
        /* A function that did not complete its reset is reset again before the next start. */
        view->written = !start_reset(&function);
        done = done && !view->written;
        wait = wait || view->reset == FUNCTION_RESET_EXPRESS;
    }
    if (wait) {
        pci_delay(RESET_MICROSECONDS);
    }
    return done || partition->described->restart == DESCRIPTION_RESTART_WITHOUT_RESET;
}
