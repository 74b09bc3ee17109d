/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a partition's PCI functions: the guest's view of each, and the progress of their
 * reset (pci/config_space.h). */
#ifndef PCI_STATE_H
#define PCI_STATE_H

#include "hypervisor/description.h"
#include "hypervisor/ticket_lock.h"
#include <stdbool.h>
#include <stdint.h>

#define FUNCTION_BARS         6u
#define FUNCTION_CAPABILITIES 48u /* as many as fit between 0x40 and 0xff */

/* The ways to reset a function, in the order of preference. */
enum function_reset {
    FUNCTION_RESET_NONE,
    FUNCTION_RESET_EXPRESS, /* function-level reset by the PCI Express capability */
    FUNCTION_RESET_VIRTIO,  /* device_status = 0 of a virtio device */
    FUNCTION_RESET_POWER    /* D3hot and back to D0 */
};

/* The guest's view of a function, where it differs from the hardware. The boot core finds
 * bar_mask, present, reset and the capabilities; they are constant afterwards. */
struct virtual_function {
    uint32_t bar_mask[FUNCTION_BARS]; /* writable bits; 0 if the function has no such BAR */
    uint32_t bar[FUNCTION_BARS];      /* as last written by the guest, with the read-only bits */
    uint16_t command;                 /* the writable bits, as last written by the guest */
    bool present;                     /* an endpoint; otherwise the function reads as absent */
    bool written;                     /* the guest has written to it since the last reset */
    uint8_t reset;                    /* enum function_reset */
    /* Of a function that moves (partition/ownership.h). Only the monitor of a partition with one
     * VCPU changes them. */
    bool foreign; /* another partition's now: this one's monitors leave it alone */
    bool hidden;  /* the guest sees no function */
    /* The capabilities that the guest sees, in the order of the list */
    struct {
        uint8_t offset, id;
    } capabilities[FUNCTION_CAPABILITIES];
    uint8_t capability_count;
};

/* The monitors of the partition's VCPUs hold `lock` while they write to a function's configuration
 * space or to the guest's view of it; channel/function.c holds it for the configuration space of
 * channels, too. While no VCPU executes, the boot VCPU's monitor resets the functions without the
 * lock. */
struct partition_functions {
    struct ticket_lock lock;
    struct virtual_function views[DESCRIPTION_FUNCTIONS_MAX]; /* in the description's order */
};

/* The progress of the reset of all functions. Only the boot VCPU's monitor uses it. */
struct reset_progress {
    uint32_t function; /* index of the function that is being reset */
    uint32_t phase;    /* phase of its reset: enum phase of pci/reset.c */
    uint32_t polls;    /* looks since the reset of the virtio device, or all function-level resets,
                        * began */
    uint32_t express;  /* bit i: a function-level reset of function i has begun, and is not over */
    bool has_failed;   /* a function does not answer, or did not complete its reset */
    bool has_unresettable; /* nothing resets a function that the guest has used; it has no bus
                            * mastering any more */
    bool needs_time;       /* a function-level reset that has begun takes its time */
    uint64_t status;       /* address of the virtio device's device_status */
};

#endif
