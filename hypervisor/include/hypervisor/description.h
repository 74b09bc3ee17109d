/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system description. `./bulkhead run` makes it from a system file and its board, checks it,
 * and appends it to the hypervisor's image. It is little-endian and naturally aligned, and every
 * reserved field is 0. The tools write it (hypervisor/layouts.c lists all fields for them);
 * description_check() validates it.
 *
 * A "physical" address is the machine's; a "guest" address is the partition's (intermediate
 * physical, the input of stage 2). Sizes are in bytes. Lists are arrays of fixed length with a
 * count.
 */
#ifndef HYPERVISOR_DESCRIPTION_H
#define HYPERVISOR_DESCRIPTION_H

#include <arch/hypercalls.h>
#include <stdbool.h>
#include <stdint.h>

#define DESCRIPTION_MAGIC   UINT64_C(0x444145484b4c5542) /* "BULKHEAD" */
#define DESCRIPTION_VERSION 11u

#define DESCRIPTION_CORES_MAX      16u
#define DESCRIPTION_PARTITIONS_MAX CALL_PARTITIONS_MAX
#define DESCRIPTION_VCPUS_MAX      16u /* of a partition */
#define DESCRIPTION_CORE_VCPUS_MAX 32u /* of a core */
#define DESCRIPTION_NAME_BYTES     16u /* the last is 0 */
#define DESCRIPTION_MEMORIES_MAX   4u
#define DESCRIPTION_DEVICES_MAX    16u
#define DESCRIPTION_IMAGES_MAX     4u
#define DESCRIPTION_FUNCTIONS_MAX  8u
#define DESCRIPTION_CHANNELS_MAX   16u
#define DESCRIPTION_SPI_WORDS      32u /* bit i % 32 of word i / 32 is INTID i; word 0 is 0 */

/* Of a PCI host for channels. */
#define DESCRIPTION_HOST_ECAM_BYTES   UINT64_C(0x100000)
#define DESCRIPTION_HOST_WINDOW_BYTES UINT64_C(0x10000)

#define DESCRIPTION_PAGE_BYTES   UINT64_C(4096)
#define DESCRIPTION_GUEST_BITS   39u /* guest addresses are below 2^39: stage 2 starts at level 1 */
#define DESCRIPTION_NO_PARTITION 0xffffffffu

/* Nanoseconds. */
#define DESCRIPTION_QUANTUM_MIN UINT64_C(10000000)
#define DESCRIPTION_QUANTUM_MAX UINT64_C(50000000)

/* A core of the machine. A core without a VCPU stays off. */
struct description_core {
    uint64_t affinity; /* MPIDR_EL1: Aff3 in bits 39:32, Aff2 to Aff0 in 23:0, all else 0 */
    /* Physical address of the RD frame; the SGI frame follows. A guest sees the frames of its n-th
     * VCPU at the address of the machine's n-th core. If it has more VCPUs than the machine has
     * cores, the frames of the others follow those of the last core. */
    uint64_t redistributor;
    /* Nanoseconds: the turn of a VCPU if the core is shared by weights. 0: it is shared by budgets,
     * or not shared. */
    uint64_t quantum;
};

/* Nanoseconds. */
#define DESCRIPTION_PERIOD_MIN UINT64_C(100000)
#define DESCRIPTION_PERIOD_MAX UINT64_C(1000000000)

#define DESCRIPTION_WEIGHT_MAX 65535u

/* A guest's processor. Its guest sees VCPU n with affinity n (Aff0) in MPIDR_EL1. */
struct description_vcpu {
    uint32_t core;   /* on which it executes */
    uint32_t shared; /* 1: other VCPUs execute there, too */
    /* Nanoseconds: the time that it may execute in each period on a core that is shared by budgets,
     * otherwise 0. */
    uint64_t budget, period;
    uint32_t weight; /* on a core that is shared by weights, otherwise 0 */
    /* 1: an I/O VCPU. It serves others whose period this is, at their urgency and before them. */
    uint32_t io;
};

/* Memory, in whole pages. If the partition has trusted DMA, guest and physical are the same. */
struct description_memory {
    uint64_t guest;
    uint64_t physical;
    uint64_t bytes;
};

/* Device registers that the partition reaches directly: whole pages, whose guest and physical
 * addresses are the same. */
struct description_device {
    uint64_t address;
    uint64_t bytes;
};

/* An image, which is copied into the partition's memory at each start. */
struct description_image {
    uint64_t offset; /* from the first byte of the description; a multiple of the page size */
    uint64_t guest;  /* destination; the whole image lies in one of the memories */
    uint64_t bytes;
};

/* A PCI function. */
struct description_function {
    uint16_t address; /* bus << 8 | device << 3 | function */
    uint16_t reserved[3];
};

#define DESCRIPTION_DMA_NONE    0u /* no function may be a bus master */
#define DESCRIPTION_DMA_SMMU    1u /* confined to the partition's memory by stage 2 */
#define DESCRIPTION_DMA_TRUSTED 2u /* unconfined: the system file says so */

#define DESCRIPTION_RESTART_AFTER_RESET   0u /* every PCI function is reset before a restart */
#define DESCRIPTION_RESTART_WITHOUT_RESET 1u /* functions without a reset keep their state */
#define DESCRIPTION_RESTART_NEVER         2u /* a partition that stopped stays stopped */

/* An access to an address that the partition does not have: */
#define DESCRIPTION_UNMAPPED_STOP  0u /* the partition is stopped */
#define DESCRIPTION_UNMAPPED_ABORT 1u /* the guest gets a synchronous external abort */

/* TLB and cache maintenance for all cores of the shareability domain: */
#define DESCRIPTION_MAINTENANCE_BROADCAST 0u /* is the processor's, without a trap */
#define DESCRIPTION_MAINTENANCE_LOCAL     1u /* traps, and is done on this core alone */

/* The partition's interrupts: */
#define DESCRIPTION_INTERRUPT_MODE_DIRECT 0u /* go to EL1 without the hypervisor (Group 1) */
#define DESCRIPTION_INTERRUPT_MODE_LISTED 1u /* go to EL2, which lists them for the guest */

struct description_partition {
    char name[DESCRIPTION_NAME_BYTES];
    uint64_t entry;            /* guest address of the first instruction */
    uint64_t devicetree;       /* guest address: x0 at entry */
    uint64_t console;          /* guest address of its virtual PL011, one page; 0: none */
    uint64_t pci_memory;       /* window for 32-bit memory BARs; guest and physical address */
    uint64_t pci_memory_bytes; /* whole pages */
    uint64_t pci_io;           /* window for I/O BARs, as a physical address; whole pages */
    uint64_t pci_io_bytes;
    uint64_t times; /* guest address of a page with the times of VCPUs on shared cores; 0: none */
    /* Guest address of its PCI host for channels: below 4 GiB, a multiple of 1 MiB. 0: none. ECAM
     * of bus 0 comes first, then the window for the functions' 32-bit BARs. */
    uint64_t channel_host;
    uint32_t vcpu_count;        /* VCPU 0 starts first */
    uint32_t console_interrupt; /* INTID of an SPI that no device uses, one of `interrupts` */
    uint32_t console_input;     /* 1: the terminal's input goes to this partition at first */
    uint32_t dma;
    uint32_t memory_count;
    uint32_t device_count;
    uint32_t image_count;
    uint32_t function_count;
    uint32_t restart;
    uint32_t unmapped;
    uint32_t maintenance;
    uint32_t interrupt_mode;
    uint32_t distribute; /* 1: its SPIs may be routed to other VCPUs on shared cores of its own */
    uint32_t reserved;
    struct description_vcpu vcpus[DESCRIPTION_VCPUS_MAX];
    struct description_memory memories[DESCRIPTION_MEMORIES_MAX];
    struct description_device devices[DESCRIPTION_DEVICES_MAX];
    struct description_image images[DESCRIPTION_IMAGES_MAX];
    struct description_function functions[DESCRIPTION_FUNCTIONS_MAX];
    uint32_t interrupts[DESCRIPTION_SPI_WORDS]; /* SPIs of the partition */
    uint32_t edges[DESCRIPTION_SPI_WORDS];      /* those of them that are edge-triggered */
};

/* Returns the core on which the partition starts. Monitors route the interrupts of the hypervisor
 * that concern the partition to it. */
static inline uint32_t description_boot_core(const struct description_partition *partition)
{
    return partition->vcpus[0].core;
}

/* Returns true if the partition has listed interrupts. Its guest can't shut its cores against the
 * hypervisor's interrupts, as one with direct interrupts can (docs/decisions/0039). */
static inline bool description_has_listed_interrupts(const struct description_partition *partition)
{
    return partition->interrupt_mode == DESCRIPTION_INTERRUPT_MODE_LISTED;
}

/* Physical addresses. 0: the board lacks the device, or the system does not use it. */
struct description_board {
    uint64_t hypervisor;       /* the hypervisor's memory, its image included */
    uint64_t hypervisor_bytes; /* the part after the payload is for tables and the cores' pages */
    uint64_t distributor;      /* GICD */
    uint64_t uart;             /* PL011 */
    uint64_t ecam;
    uint64_t ecam_bytes; /* 1 MiB for each bus, from bus 0 */
    uint64_t pci_io;     /* physical address of PCI I/O address 0 */
    uint64_t smmu;       /* SMMUv3 */
    uint32_t uart_interrupt;
    uint32_t smmu_interrupt; /* event queue */
};

/* The manager: the partition that creates, starts, stops, replaces and destroys the others by calls
 * of the hypervisor. */
struct description_manager {
    uint32_t partition; /* index */
    uint32_t absent;    /* bit n: partition n is not created at boot */
    /* Physical address: where the manager puts images. The end of one of its memories, in whole
     * pages, less than 4 GiB. 0 bytes: no partition is the manager, and all else here is 0. */
    uint64_t staging;
    uint64_t staging_bytes;
};

/* An end of a channel as a function of the partition's PCI host for channels, whose device number
 * is the index of the channel. A function has an interrupt, for its INTA. */
#define DESCRIPTION_CHANNEL_FUNCTION_NONE    0u
#define DESCRIPTION_CHANNEL_FUNCTION_WHOLE   1u /* registers, interrupt, and memory as BAR 2 */
#define DESCRIPTION_CHANNEL_FUNCTION_CONTROL 2u /* without BAR 2: the guest maps it otherwise */

/* An end of a channel. */
struct description_channel_end {
    uint32_t partition; /* index */
    uint32_t interrupt; /* INTID of an SPI that no device uses, one of its `interrupts`; 0: none */
    uint64_t guest;     /* guest address of the region, a multiple of the page size */
    uint32_t function;
    uint32_t reserved;
};

/* A channel: memory that connects two partitions. Its region is a page with the states of both
 * ends, which both can read and neither can write, then a section for each end, which this end can
 * write and the other one can read. If an end is a PCI function with BAR 2, the caches hold nothing
 * of the region for both guests. */
struct description_channel {
    uint64_t physical;      /* of the region, a multiple of the page size */
    uint64_t section_bytes; /* whole pages */
    uint32_t one_way;       /* 1: end 1 has no section */
    uint32_t reserved;
    struct description_channel_end ends[2]; /* of different partitions */
};

struct description {
    uint64_t magic;
    uint32_t version;
    uint32_t bytes;    /* of this structure */
    uint64_t payload;  /* bytes from the start of this structure to the end of the mark */
    uint32_t checksum; /* CRC-32 (IEEE 802.3) of this structure with 0 here */
    uint32_t core_count;
    uint32_t partition_count;
    uint32_t mark; /* CRC-32 of all images in whole pages; also the payload's last four bytes */
    struct description_board board;
    struct description_manager manager;
    uint32_t channel_count;
    uint32_t reserved;
    struct description_core cores[DESCRIPTION_CORES_MAX];
    struct description_partition partitions[DESCRIPTION_PARTITIONS_MAX];
    struct description_channel channels[DESCRIPTION_CHANNELS_MAX];
};

/* description/lookup.c: returns the first partition with listed interrupts, or
 * DESCRIPTION_NO_PARTITION. */
uint32_t description_first_listed(const struct description *system);

#endif
