/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a partition at run time: one page, mapped only in the monitors of the partition's
 * cores. The comment at each part names the folder that owns it.
 */
#ifndef HYPERVISOR_PARTITION_H
#define HYPERVISOR_PARTITION_H

#include "console/filter.h"
#include "distributor/distribution.h"
#include "hypervisor/description.h"
#include "hypervisor/ticket_lock.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONSOLE_INPUT_BYTES    512u
#define CONSOLE_LINE_BYTES     160u /* a longer line is printed in parts */
#define VIRTUAL_UART_REGISTERS 19u
#define VIRTUAL_UART_FIFO      16u /* bytes to transmit; size in the PL011 revision that is shown */

/* console/: the virtual PL011. The lock protects all of it. */
struct virtual_uart {
    struct ticket_lock lock;
    uint16_t registers[VIRTUAL_UART_REGISTERS]; /* as last written, by offset / 4 */
    bool transmitted;                           /* UARTRIS.TXRIS */
    uint8_t output[VIRTUAL_UART_FIFO]; /* transmit FIFO: empty unless the terminal has no room */
    uint32_t output_first, output_count;
    uint8_t input[CONSOLE_INPUT_BYTES];
    uint32_t input_first, input_count;
    bool input_is_held; /* the input is for the guest that starts next */
    struct filter filter;
    char line[CONSOLE_LINE_BYTES]; /* the current line, as sent to the terminal */
    uint32_t line_bytes;           /* its length */
    uint32_t line_shown;           /* bytes of it that were sent */
};

#define FUNCTION_BARS         6u
#define FUNCTION_CAPABILITIES 48u /* as many as fit between 0x40 and 0xff */

/* pci/: the ways to reset a function, in the order of preference. */
enum function_reset {
    FUNCTION_RESET_NONE,
    FUNCTION_RESET_EXPRESS, /* function-level reset by the PCI Express capability */
    FUNCTION_RESET_VIRTIO,  /* device_status = 0 of a virtio device */
    FUNCTION_RESET_POWER    /* D3hot and back to D0 */
};

/* pci/: the guest's view of a function, where it differs from the hardware. */
struct virtual_function {
    uint32_t bar_mask[FUNCTION_BARS]; /* writable bits, found at boot; 0: there is no such BAR */
    uint32_t bar[FUNCTION_BARS];      /* as last written by the guest, with the read-only bits */
    uint16_t command;                 /* the writable bits, as last written by the guest */
    bool present;                     /* an endpoint; otherwise the function reads as absent */
    bool written;                     /* the guest has written to it since the last reset */
    uint8_t reset;                    /* enum function_reset, found at boot */
    /* The capabilities that the guest sees, in the order of the list; found at boot */
    struct {
        uint8_t offset, id;
    } capabilities[FUNCTION_CAPABILITIES];
    uint8_t capability_count;
};

/*
 * hypercall/psci.c, vcpu/ and partition/: the power state of a VCPU. Another VCPU that calls CPU_ON
 * changes `state` from VCPU_OFF to VCPU_STARTING by compare and exchange, sets entry and context,
 * and changes `state` to VCPU_READY. Only the VCPU itself makes all other changes.
 */
enum vcpu_state { VCPU_OFF, VCPU_STARTING, VCPU_READY, VCPU_ON };

struct vcpu_power {
    uint32_t state;
    uint64_t entry;   /* guest address of its first instruction */
    uint64_t context; /* its x0 there */
};

/* partition/: a request to stop all VCPUs of a partition, and then to leave it stopped or to
 * restart it; or REQUEST_STOPPED, once it is stopped. */
enum partition_request { REQUEST_NONE, REQUEST_STOP, REQUEST_RESET, REQUEST_STOPPED };

/* pci/: what has been reset of a partition's functions. */
struct reset_progress {
    uint32_t function; /* index */
    uint32_t phase;    /* of its reset; the phases are those of reset.c */
    uint32_t polls;    /* of a virtio device */
    bool has_express;  /* a function-level reset has begun, which takes its time without polls */
    bool has_failed;   /* a function did not complete its reset */
    uint64_t status;   /* address of the virtio device's device_status */
};

/* partition/: what has been loaded of a partition. */
struct load_progress {
    uint32_t phase; /* zeroing the memories, copying the images, cleaning the memories */
    uint32_t index; /* of the memory or the image */
    uint64_t done;  /* bytes of it */
};

/* smmu/: a change of the partition's stream table entries, which the SMMU executes. */
struct smmu_change {
    bool has_begun;
    uint32_t end; /* index in the command queue after its last command */
};

/* partition/: how a partition starts or stops, in steps that its boot VCPU takes. */
enum transition_phase {
    TRANSITION_NONE,
    TRANSITION_BLOCK, /* the SMMU aborts DMA */
    TRANSITION_RESET, /* the PCI functions are reset */
    TRANSITION_LOAD,
    TRANSITION_PERMIT /* the SMMU permits DMA */
};

struct transition {
    uint32_t phase;
    bool is_quiet;  /* so far the SMMU and all devices have answered */
    uint64_t due;   /* CNTPCT_EL0 before which no step is to be taken */
    uint64_t limit; /* CNTPCT_EL0 after which the SMMU is not waited for */
    struct smmu_change change;
    struct reset_progress reset;
    struct load_progress load;
};

/*
 * gic/: interrupts in list registers whose enable, pending or active state a guest has cleared in
 * the Distributor or a Redistributor (gic/listed.h). Every VCPU of the partition changes
 * these words, by atomic operations.
 */
struct list_changes {
    uint32_t vcpus; /* bit n: VCPU n has to revise its list registers */
    /* Bit i % 32 of word i / 32: SPI i is the partition's, and its pending state has not been
     * cleared since it was listed. */
    uint32_t listable[DESCRIPTION_SPI_WORDS];
    uint32_t private_listable[DESCRIPTION_VCPUS_MAX]; /* the same of interrupts 0 to 31, by VCPU */
    uint32_t private_deactivated[DESCRIPTION_VCPUS_MAX]; /* SGIs whose active state was cleared */
};

/* manager/: whether the manager has created the partition. */
enum partition_presence {
    PARTITION_PRESENT,
    PARTITION_ENDING, /* it is destroyed as soon as its memory is zeroed */
    PARTITION_ABSENT
};

/* manager/: an image in the manager's staging memory. */
struct staged_image {
    uint64_t physical;
    uint64_t bytes; /* 0: none */
    uint32_t checksum;
};

/* manager/: the manager's orders, as far as the partition has taken them. The boot VCPU's monitor
 * writes it. The manager's monitors map the page read-only. */
struct management {
    struct manager_orders *orders; /* NULL: the system has no manager */
    uint32_t answered;             /* number of the last order that was taken */
    int32_t result;                /* of it: enum manager_result */
    uint32_t presence;             /* enum partition_presence */
    uint32_t copied;               /* checksum of what has been copied of the image */
    struct staged_image image;     /* loaded in place of the image of the description */
};

#define MAIL_SGIS    0xffffu
#define MAIL_MESSAGE 0x10000u /* a message of another monitor */
#define MAIL_REQUEST 0x20000u /* a request in `requests` */
/* SGIs and requests stay in the mail until the VCPU executes. A VCPU that has one of them has been
 * called. */
#define MAIL_WAITING (MAIL_SGIS | MAIL_REQUEST)

struct partition {
    const struct description *system;
    const struct description_partition *described;
    uint32_t index;
    /* partition/: enum partition_request. Any VCPU makes a request, by compare and exchange with
     * REQUEST_NONE. Only the boot VCPU makes other changes: it completes requests, and replaces
     * them by those typed on the terminal. */
    uint32_t request;
    struct transition transition; /* only the boot VCPU uses it */
    struct management management;
    bool is_listed; /* gic/: its interrupts are listed: the system file says so, or the board */
    /* gic/: the firmware has Group 0 (GICD_CTLR.DS is 0): the hypervisor's own interrupts are in
     * Group 1, too. Then all partitions have listed interrupts. */
    bool shares_group1;
    uint32_t distributor_control; /* gic/: GICD_CTLR as the guest wrote it */
    struct list_changes changes;
    uint32_t starts;   /* partition/: how often it has started */
    bool shares_cores; /* shared/: it has a VCPU on a shared core */
    uint64_t times;    /* shared/: then, the page in which its guest reads its VCPUs' times */
    /* shared/: what has come for a VCPU on a shared core: SGI n is bit n. Any VCPU of the partition
     * sets bits, by atomic operations; the VCPU's processor takes them. */
    uint32_t mail[DESCRIPTION_VCPUS_MAX];
    uint64_t events;   /* smmu/: the event queue's page; 0: stage 2 confines no DMA */
    uint64_t commands; /* smmu/: the command queue's page; 0: it has no streams */
    uint64_t streams;  /* smmu/: the stream table; 0: likewise */
    struct virtual_uart uart;
    struct ticket_lock functions_lock; /* pci/: of functions[] and of their registers */
    struct virtual_function functions[DESCRIPTION_FUNCTIONS_MAX]; /* in the description's order */
    struct vcpu_power power[DESCRIPTION_VCPUS_MAX];
    struct distribution distribution; /* shared/ */
    /* shared/: the VCPUs to which SPIs are routed, two in a byte (distributor/route.h). The lock
     * of `distribution` protects writes. */
    uint8_t routes[DESCRIPTION_SPI_WORDS * 32 / 2];
    uint64_t requests[DESCRIPTION_VCPUS_MAX]; /* shared/: by VCPU (gic/remote_access.h) */
};

_Static_assert(sizeof(struct partition) <= DESCRIPTION_PAGE_BYTES, "must fit one page");

/* Returns the core on which a VCPU of the partition executes. */
static inline const struct description_core *partition_core(const struct partition *partition,
                                                            uint32_t vcpu)
{
    return &partition->system->cores[partition->described->vcpus[vcpu].core];
}

static inline bool partition_owns_interrupt(const struct partition *partition, uint32_t intid)
{
    return intid >= 32 && intid < 1020 &&
           (partition->described->interrupts[intid / 32] >> (intid % 32) & 1u) != 0;
}

#endif
