/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A partition at run time: a page that the monitors of its cores share and nobody else has.
 * Monitors of other partitions never see it. Owner of each part: the folder named beside it.
 */
#ifndef HYPERVISOR_PARTITION_H
#define HYPERVISOR_PARTITION_H

#include "console/filter.h"
#include "hypervisor/description.h"
#include "hypervisor/ticket_lock.h"
#include <stdbool.h>
#include <stdint.h>

#define CONSOLE_INPUT_BYTES    512u
#define CONSOLE_LINE_BYTES     160u /* a longer line is printed in parts */
#define VIRTUAL_UART_REGISTERS 19u
#define VIRTUAL_UART_FIFO      16u /* bytes to transmit; of the revision that it says it is */

/* console/: the virtual PL011. The lock is for all of it. */
struct virtual_uart {
    struct ticket_lock lock;
    uint16_t registers[VIRTUAL_UART_REGISTERS]; /* as last written, by offset / 4 */
    bool transmitted;                           /* UARTRIS.TXRIS */
    bool commanded; /* the last key was Ctrl-^: its boot core's monitor alone looks at this */
    uint8_t output[VIRTUAL_UART_FIFO]; /* transmit FIFO: empty unless the terminal has no room */
    uint32_t output_first, output_count;
    uint8_t input[CONSOLE_INPUT_BYTES];
    uint32_t input_first, input_count;
    struct filter filter;
    char line[CONSOLE_LINE_BYTES]; /* the current line, as it is sent to the terminal, */
    uint32_t line_bytes;           /* its length, */
    uint32_t line_shown;           /* and the part that was sent */
};

#define FUNCTION_BARS         6u
#define FUNCTION_CAPABILITIES 48u /* as many as have room between 0x40 and 0xff */

/* pci/: the ways to reset a function, in the order of preference. */
enum function_reset {
    FUNCTION_RESET_NONE,
    FUNCTION_RESET_EXPRESS, /* function-level reset by the PCI Express capability */
    FUNCTION_RESET_VIRTIO,  /* device_status = 0 of a virtio device */
    FUNCTION_RESET_POWER    /* D3hot and back to D0 */
};

/* pci/: what a function's owner sees of it where that is not what it is. */
struct virtual_function {
    uint32_t
        bar_mask[FUNCTION_BARS]; /* writable bits; 0: the function has no such BAR. Found at boot */
    uint32_t bar[FUNCTION_BARS]; /* as last written by the guest, with the read-only bits */
    uint16_t command;            /* as last written: the writable bits */
    bool present;                /* an endpoint; else nothing is there */
    bool written;                /* by the guest, since it was last reset */
    uint8_t reset;               /* enum function_reset. Found at boot */
    /* The list that the guest sees, in order. Found at boot */
    struct {
        uint8_t offset, id;
    } capabilities[FUNCTION_CAPABILITIES];
    uint8_t capability_count;
};

/*
 * psci/ and monitor/: one of the partition's cores. Who changes `state` from CORE_OFF to
 * CORE_STARTING, by compare and exchange, sets entry and context and then CORE_READY; all other
 * changes are the core's own.
 */
enum core_state { CORE_OFF, CORE_STARTING, CORE_READY, CORE_ON };

struct partition_core {
    uint32_t state;
    uint64_t entry; /* where it begins, as a guest address, and its x0 */
    uint64_t context;
};

/* monitor/: what a partition's cores shall do once all of them have stopped; or that it is done. */
enum partition_request { REQUEST_NONE, REQUEST_STOP, REQUEST_RESET, REQUEST_STOPPED };

struct partition {
    const struct description *system;
    const struct description_partition *described;
    uint32_t index;
    uint32_t request; /* monitor/: enum partition_request. Who asks does it by compare and exchange
                         with REQUEST_NONE; all else is the boot core's: it ends what was asked for,
                         and the terminal asks through it */
    uint32_t distributor_control; /* gic/: GICD_CTLR as the guest wrote it */
    uint64_t events;   /* smmu/: the page with the event queue; 0: it has no part in it */
    uint64_t commands; /* smmu/: the page with the command queue; 0: no stream is the partition's */
    uint64_t streams;  /* smmu/: the stream table, likewise */
    struct virtual_uart uart;
    uint32_t functions_lock; /* pci/: 1 while a core changes functions[] or their registers */
    struct virtual_function functions[DESCRIPTION_FUNCTIONS_MAX]; /* as the description has them */
    struct partition_core cores[DESCRIPTION_CORES_MAX];           /* by the description's index */
};

static inline bool partition_owns_interrupt(const struct partition *partition, uint32_t intid)
{
    return intid >= 32 && intid < 1020 &&
           (partition->described->interrupts[intid / 32] >> (intid % 32) & 1u) != 0;
}

#endif
