/* SPDX-License-Identifier: BSD-2-Clause */
/* Initialisation of functions at boot, and their resets when the partition starts or stops. */
#include "pci/config_space.h"
#include "pci/function.h"
#include <arch/device_access.h>

/* Vendor IDs that no function has. A read of an absent function is all ones. If the function asks
 * for more time after a reset, the root complex may answer a read of the vendor ID with 0x0001, or
 * with all ones (PCI Express Base 4.0, 2.3.1 and 2.3.2). */
#define NO_VENDOR    0xffffu
#define RETRY_VENDOR 0x0001u
/* Times that a function needs (PCI Power Management 1.2, 5.6.1; PCI Express Base 4.0, 6.6.2). */
#define POWER_MICROSECONDS   10000u
#define EXPRESS_MICROSECONDS 100000u
/* A function that does not answer a second after its function-level reset counts as lost. */
#define EXPRESS_POLLS_MAX 10u
/* A virtio device that has not completed its reset after a second counts as not responding. */
#define VIRTIO_MICROSECONDS 1000u
#define VIRTIO_POLLS_MAX    1000u

/* Disables decoding and bus mastering. The expansion ROM has an enable bit of its own (PCI 3.0,
 * 6.2.5.2). Returns true if the function was in a low-power state, which it leaves now. */
static bool disable_function(const struct function *function)
{
    uint32_t power = pci_capability_find(function->view, PCI_CAPABILITY_POWER);

    pci_write(function, PCI_COMMAND, 2, 0);
    pci_write(function, PCI_ROM, PCI_DWORD, 0);
    /* The completion of a read does not pass the function's posted writes (PCI Express Base 4.0,
     * 2.4.1). So no DMA write is in flight once the read has completed. */
    (void)pci_read(function, PCI_COMMAND, 2);
    if (power == 0 || (pci_read(function, power + PCI_POWER_CONTROL, 1) & PCI_POWER_STATE) == 0) {
        return false;
    }
    pci_write(function, power + PCI_POWER_CONTROL, 2, 0);
    return true;
}

/* Returns true if the function answers. One that is lost can neither be reset nor be known to be
 * reset. */
static bool is_answering(const struct function *function)
{
    uint32_t vendor = pci_read(function, PCI_VENDOR_ID, 2);

    return vendor != NO_VENDOR && vendor != RETRY_VENDOR;
}

/* Returns true for an endpoint whose addresses are all in BARs. A bridge is not usable, because it
 * forwards the traffic of other functions. Enhanced allocation is not usable, because its addresses
 * cannot be moved (PCI Express Base 4.0, 7.8.5). */
static bool is_usable(const struct function *function)
{
    uint64_t offset = function->registers - function->partition->constant.system->board.ecam;

    if (offset >= function->partition->constant.system->board.ecam_bytes ||
        !is_answering(function) ||
        (pci_read(function, PCI_HEADER_TYPE, 1) & ~PCI_HEADER_MULTI_FUNCTION) !=
            PCI_HEADER_DEVICE) {
        return false;
    }
    pci_write(function, PCI_COMMAND, 2, 0);
    pci_capabilities_find(function);
    return pci_capability_find(function->view, PCI_CAPABILITY_ENHANCED) == 0;
}

/* Returns the preferred way to reset the function. A function-level reset is the first choice,
 * because it needs no access to the device's own registers. D3hot is the last, because it leaves
 * the registers' content less defined than a reset of the device. */
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

    for (uint32_t i = 0; i < partition->constant.described->function_count; i++) {
        struct function function = pci_function(partition, i);

        *function.view = (struct virtual_function){0};
        if (is_usable(&function)) {
            if (disable_function(&function)) {
                pci_delay(POWER_MICROSECONDS);
            }
            pci_bars_find(&function);
            pci_bars_clear(&function);
            function.view->reset = (uint8_t)find_reset(&function);
            function.view->present = true;
            if (function.view->reset == FUNCTION_RESET_NONE) {
                unresettable = partition->constant.described->functions[i].address;
            }
        }
    }
    return unresettable;
}

/* The phases of a function's reset. The last one is for all functions together. */
enum phase {
    PHASE_BEGIN,  /* the function has to be disabled */
    PHASE_AWAKE,  /* the function is in D0 */
    PHASE_VIRTIO, /* the virtio device resets itself; device_status reads as 0 when it is done */
    PHASE_D3,     /* the function is in D3hot */
    PHASE_D0,     /* the function is in D0 again, and reset */
    PHASE_EXPRESS /* time passes for all function-level resets */
};

static void go_on(struct reset_progress *progress)
{
    progress->function++;
    progress->phase = PHASE_BEGIN;
}

/* Ends the reset of a function, and goes on to the next one. A function that did not complete its
 * reset is reset again before the next start. */
static void end_function(const struct function *function, struct reset_progress *progress,
                         bool done)
{
    function->view->written = !done;
    progress->has_failed = progress->has_failed || !done;
    go_on(progress);
}

static void write_power(const struct function *function, uint32_t state)
{
    uint32_t power = pci_capability_find(function->view, PCI_CAPABILITY_POWER);

    pci_write(function, power + PCI_POWER_CONTROL, 2, state);
}

/* Returns true if the function answers, and is in this power state. */
static bool has_power(const struct function *function, uint32_t state)
{
    uint32_t power = pci_capability_find(function->view, PCI_CAPABILITY_POWER);

    return is_answering(function) &&
           (pci_read(function, power + PCI_POWER_CONTROL, 2) & PCI_POWER_STATE) == state;
}

/* Returns true if the function answers as soon as it is reset, whatever the reset, which is
 * complete by then (PCI Express Base 4.0, 7.5.1.1.4). */
static bool is_ready_at_once(const struct function *function)
{
    return (pci_read(function, PCI_STATUS, 2) & PCI_STATUS_READY) != 0;
}

/* Starts the reset of a function in D0. Returns the microseconds until the next step. */
static uint32_t start_reset(const struct function *function, struct reset_progress *progress)
{
    pci_bars_clear(function);
    switch ((enum function_reset)function->view->reset) {
    case FUNCTION_RESET_EXPRESS:
        progress->needs_time = progress->needs_time || !is_ready_at_once(function);
        pci_write(function, pci_express_reset(function), 2, PCI_EXPRESS_RESET);
        progress->express |= UINT32_C(1) << progress->function;
        go_on(progress);
        return 0;
    case FUNCTION_RESET_VIRTIO:
        progress->status = pci_virtio_start_reset(function);
        progress->polls = 0;
        progress->phase = PHASE_VIRTIO;
        return 0;
    case FUNCTION_RESET_POWER:
        write_power(function, PCI_POWER_D3HOT);
        progress->phase = PHASE_D3;
        return POWER_MICROSECONDS;
    case FUNCTION_RESET_NONE:
        progress->has_unresettable = true;
        /* Of a function that is lost, bus mastering reads as 1. */
        progress->has_failed =
            progress->has_failed || (pci_read(function, PCI_COMMAND, 2) & PCI_COMMAND_MASTER) != 0;
        break;
    }
    go_on(progress);
    return 0;
}

/* Checks whether the virtio device has completed its reset: after writing 0, the driver waits until
 * device_status reads as 0 (VIRTIO 1.3, 4.1.4.3.2). Returns the microseconds until the next
 * step. */
static uint32_t poll_virtio(const struct function *function, struct reset_progress *progress)
{
    bool done = progress->status != 0 && device_read8((uintptr_t)progress->status) == 0;

    progress->polls++;
    if (!done && progress->status != 0 && progress->polls <= VIRTIO_POLLS_MAX) {
        return VIRTIO_MICROSECONDS;
    }
    pci_virtio_end_reset(function);
    end_function(function, progress, done);
    return 0;
}

/* Carries out the next step of a function's reset. Returns the microseconds until the step after
 * it. */
static uint32_t run_reset_step(const struct function *function, struct reset_progress *progress)
{
    switch ((enum phase)progress->phase) {
    case PHASE_BEGIN:
        if (!function->view->present || !function->view->written || function->view->foreign) {
            progress->function++;
            return 0;
        }
        if (!is_answering(function)) {
            end_function(function, progress, false);
            return 0;
        }
        progress->phase = PHASE_AWAKE;
        return disable_function(function) ? POWER_MICROSECONDS : 0;
    case PHASE_AWAKE:
        return start_reset(function, progress);
    case PHASE_VIRTIO:
        return poll_virtio(function, progress);
    case PHASE_D3:
        /* Only a function that was in D3hot is reset on its way to D0. */
        if (!has_power(function, PCI_POWER_D3HOT)) {
            break;
        }
        write_power(function, 0);
        progress->phase = PHASE_D0;
        return POWER_MICROSECONDS;
    case PHASE_D0:
        end_function(function, progress, has_power(function, 0));
        return 0;
    case PHASE_EXPRESS:
        break;
    }
    end_function(function, progress, false);
    return 0;
}

/* Waits for the function-level resets, which take their time together, unless all functions are
 * ready at once. A function that has
 * completed its reset answers (PCI Express Base 4.0, 6.6.2). Returns the microseconds until the
 * next step. */
static uint32_t poll_express(struct partition *partition, struct reset_progress *progress)
{
    if (progress->phase != PHASE_EXPRESS) {
        progress->phase = PHASE_EXPRESS;
        progress->polls = 0;
        return progress->needs_time ? EXPRESS_MICROSECONDS : 0;
    }
    for (uint32_t left = progress->express; left != 0; left &= left - 1) {
        struct function function = pci_function(partition, (uint32_t)__builtin_ctz(left));

        if (is_answering(&function)) {
            function.view->written = false;
            progress->express &= ~(left & -left);
        }
    }
    progress->polls++;
    if (progress->express != 0 && progress->polls == EXPRESS_POLLS_MAX) {
        progress->express = 0;
        progress->has_failed = true;
    }
    return progress->express != 0 ? EXPRESS_MICROSECONDS : 0;
}

enum step_outcome pci_reset_one(struct partition *partition, uint32_t index,
                                struct reset_progress *progress, uint32_t *microseconds)
{
    *microseconds = 0;
    if (progress->function < index) {
        progress->function = index;
    }
    if (progress->function == index) {
        struct function function = pci_function(partition, index);

        *microseconds = run_reset_step(&function, progress);
        return STEP_PENDING;
    }
    if (progress->express != 0) {
        *microseconds = poll_express(partition, progress);
        return STEP_PENDING;
    }
    return progress->has_failed || progress->has_unresettable ? STEP_FAILED : STEP_DONE;
}

enum step_outcome pci_reset_continue(struct partition *partition, struct reset_progress *progress,
                                     uint32_t *microseconds)
{
    *microseconds = 0;
    if (progress->function < partition->constant.described->function_count) {
        struct function function = pci_function(partition, progress->function);

        *microseconds = run_reset_step(&function, progress);
        return STEP_PENDING;
    }
    if (progress->express != 0) {
        *microseconds = poll_express(partition, progress);
        return STEP_PENDING;
    }
    if (partition->constant.described->restart == DESCRIPTION_RESTART_WITHOUT_RESET) {
        return STEP_DONE;
    }
    return progress->has_failed || progress->has_unresettable ? STEP_FAILED : STEP_DONE;
}
