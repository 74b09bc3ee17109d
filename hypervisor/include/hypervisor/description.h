/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system description. `./bulkhead run` makes it from a system file and its board, checks it,
 * and appends it to the hypervisor's image. It is little-endian and naturally aligned, and every
 * reserved field is 0. The tools write it (hypervisor/layouts.c lists all fields for them), and
 * description_check() validates it.
 *
 * A "physical" address is an address of the machine. A "guest" address is an intermediate physical
 * address of the partition, the input of stage 2. Sizes are in bytes. A list is an array of fixed
 * length with a count.
 */
#ifndef HYPERVISOR_DESCRIPTION_H
#define HYPERVISOR_DESCRIPTION_H

#include <arch/health.h>
#include <arch/hypercalls.h>
#include <stdbool.h>
#include <stdint.h>

#define DESCRIPTION_MAGIC   UINT64_C(0x444145484b4c5542) /* "BULKHEAD" */
#define DESCRIPTION_VERSION 22u

#define DESCRIPTION_CORES_MAX          16u
#define DESCRIPTION_PARTITIONS_MAX     CALL_PARTITIONS_MAX
#define DESCRIPTION_VCPUS_MAX          16u /* VCPUs of a partition */
#define DESCRIPTION_CORE_VCPUS_MAX     32u /* VCPUs of a core */
#define DESCRIPTION_NAME_BYTES         16u /* a name is terminated by 0 */
#define DESCRIPTION_MEMORIES_MAX       4u
#define DESCRIPTION_DEVICES_MAX        16u
#define DESCRIPTION_IMAGES_MAX         4u
#define DESCRIPTION_FUNCTIONS_MAX      8u
#define DESCRIPTION_MOVABLES_MAX       8u
#define DESCRIPTION_CHANNELS_MAX       16u
#define DESCRIPTION_ENDS_MAX           8u /* ends of a channel */
#define DESCRIPTION_SHARED_DEVICES_MAX 16u
#define DESCRIPTION_WINDOWS_MAX        4u  /* windows of a shared device */
#define DESCRIPTION_SPI_WORDS          32u /* bit i % 32 of word i / 32 is INTID i; word 0 is 0 */
#define DESCRIPTION_RESTARTS_MAX       16u /* restarts of a partition within a window */

/* Sizes of the two address ranges of a PCI host for channels: ECAM of one bus, and the window for
 * BARs. */
#define DESCRIPTION_HOST_ECAM_BYTES   UINT64_C(0x100000)
#define DESCRIPTION_HOST_WINDOW_BYTES UINT64_C(0x20000)

#define DESCRIPTION_PAGE_BYTES   UINT64_C(4096)
#define DESCRIPTION_GUEST_BITS   39u /* guest addresses are below 2^39: stage 2 starts at level 1 */
#define DESCRIPTION_NO_PARTITION 0xffffffffu

/* Bounds of a quantum in nanoseconds. */
#define DESCRIPTION_QUANTUM_MIN UINT64_C(10000000)
#define DESCRIPTION_QUANTUM_MAX UINT64_C(50000000)

/* A core of the machine. A core without a VCPU stays off. */
struct description_core {
    uint64_t affinity; /* MPIDR_EL1: Aff3 in bits 39:32, Aff2 to Aff0 in 23:0, all else 0 */
    /* Physical address of the RD frame; the SGI frame follows. A guest sees the frames of its VCPU
     * n at the address of the machine's core n. If it has more VCPUs than the machine has cores,
     * the frames of the others follow those of the last core. */
    uint64_t redistributor;
    /* If VCPUs share the core by weights: the longest turn of a VCPU, in nanoseconds. 0 if they
     * share it by budgets, or if the core is not shared. */
    uint64_t quantum;
    /* INTID of the SPI by which monitors call the core if the interrupt controller has two security
     * states: then the firmware may keep SGIs 8 to 15, and the guests have all others
     * (docs/decisions/0064). 0: none. */
    uint32_t message_interrupt;
    uint32_t reserved;
};

/* Bounds of a period in nanoseconds. */
#define DESCRIPTION_PERIOD_MIN UINT64_C(100000)
#define DESCRIPTION_PERIOD_MAX UINT64_C(1000000000)

#define DESCRIPTION_WEIGHT_MAX 65535u

/* Server of a VCPU on a core that is shared by budgets. */
#define DESCRIPTION_SERVER_SPORADIC 0u
/* An I/O VCPU: it serves the VCPUs of the core that have this period, at their priority and before
 * them. */
#define DESCRIPTION_SERVER_PIBS 1u
/* A VCPU that is aligned: its budget returns at the multiples of the period of the board's counter.
 */
#define DESCRIPTION_SERVER_DEFERRABLE 2u

/* A VCPU: a processor as its guest sees it. The guest reads affinity n (Aff0) in MPIDR_EL1 of VCPU
 * n. */
struct description_vcpu {
    uint32_t core;   /* index of the core on which the VCPU executes */
    uint32_t shared; /* 1: other VCPUs execute on the core, too */
    /* On a core that is shared by budgets: the time that the VCPU may execute in each period, and
     * the period, in nanoseconds. Otherwise 0. */
    uint64_t budget, period;
    uint32_t weight; /* share of a core that is shared by weights, otherwise 0 */
    uint32_t server; /* by which it has its budget, otherwise 0 */
    /* On a core that is shared by weights: the VCPU is aligned with others of its partition, and
     * has the slots n with n % interval == phase. Slot n is the quantum from n * quantum on, by the
     * board's counter. An interval of 0: it is not aligned. */
    uint32_t slot_interval, slot_phase;
};

/* A range of memory, in whole pages. If the partition has trusted DMA, `guest` and `physical` are
 * equal, and the memory has no colours. */
struct description_memory {
    uint64_t guest;
    /* Address at which EL2 maps the memory, without gaps: its physical address, unless it has
     * colours. Then no other memory and no device has this address. */
    uint64_t physical;
    uint64_t bytes;
    /* 1: kept memory. A restart leaves its content as it is. It is zeroed at the first start, and
     * at the first start after the partition was created, or its image replaced, and when the
     * partition is destroyed. No image, no first instruction and no devicetree is in it. */
    uint32_t kept;
    uint32_t reserved;
};

/* Device registers that the guest accesses without a trap: whole pages, whose guest and physical
 * addresses are equal. */
struct description_device {
    uint64_t address;
    uint64_t bytes;
};

/* An image. It is copied into the partition's memory at each start. */
struct description_image {
    /* Offset from the first byte of the description, a multiple of the page size. */
    uint64_t offset;
    uint64_t guest; /* guest address of the copy; the whole image lies in one of the memories */
    uint64_t bytes;
};

/* A PCI function that the partition owns, or may own. */
struct description_function {
    uint16_t address; /* bus << 8 | device << 3 | function */
    uint16_t movable; /* 1 + index in `movables`; 0: the function is always the partition's */
    uint16_t reserved[2];
};

/* A PCI function that moves between partitions while the system runs (partition/ownership.h). Each
 * of these has one VCPU, and the SMMU confines its DMA. */
struct description_movable {
    uint32_t address;    /* bus << 8 | device << 3 | function */
    uint32_t interrupt;  /* INTID of its INTA, which no other function raises */
    uint32_t owner;      /* index of the partition that owns it at boot */
    uint32_t candidates; /* bit n: partition n owns it at times; two bits or more */
};

#define DESCRIPTION_DMA_NONE    0u /* no function of the partition may be a bus master */
#define DESCRIPTION_DMA_SMMU    1u /* the SMMU confines DMA to the partition's memory by stage 2 */
#define DESCRIPTION_DMA_TRUSTED 2u /* DMA is not confined: the partition is trusted */

#define DESCRIPTION_RESTART_AFTER_RESET   0u /* every PCI function is reset before a restart */
#define DESCRIPTION_RESTART_WITHOUT_RESET 1u /* functions without a reset keep their state */
#define DESCRIPTION_RESTART_NEVER         2u /* a partition that stopped stays stopped */

/* Consequence of an access to an address that the partition does not have. */
#define DESCRIPTION_UNMAPPED_STOP  0u /* the partition is stopped */
#define DESCRIPTION_UNMAPPED_ABORT 1u /* the guest gets a synchronous external abort */

/* Effect of a guest's TLB and instruction cache maintenance for all cores of the shareability
 * domain (docs/decisions/0021). */
#define DESCRIPTION_MAINTENANCE_BROADCAST 0u /* the processor broadcasts it, without a trap */
#define DESCRIPTION_MAINTENANCE_LOCAL     1u /* the instruction traps and acts on this core alone */

/* Way of the partition's interrupts (docs/decisions/0013 and 0029). */
#define DESCRIPTION_INTERRUPT_MODE_DIRECT 0u /* the core takes them at EL1 (Group 1) */
#define DESCRIPTION_INTERRUPT_MODE_LISTED 1u /* EL2 takes them and writes list registers */

/* Bounds of a window in milliseconds. */
#define DESCRIPTION_WINDOW_MIN UINT64_C(1000)
#define DESCRIPTION_WINDOW_MAX UINT64_C(86400000)

/* Bounds of a heartbeat's period, and of the time until its first beat, in microseconds. */
#define DESCRIPTION_HEARTBEAT_MIN       UINT64_C(1000)
#define DESCRIPTION_HEARTBEAT_MAX       UINT64_C(60000000)
#define DESCRIPTION_HEARTBEAT_START_MAX UINT64_C(3600000000)

/* Health monitoring of a partition. All zero: the partition is not monitored, and each error stops
 * it. */
struct description_health {
    uint32_t is_monitored; /* 1: errors are recorded, and have these actions */
    /* Restarts after errors that the partition may have within a window of time; then it is
     * stopped. 0 unless HEALTH_ACTION_RESTART is an action. */
    uint32_t restarts;
    uint64_t window;     /* milliseconds; 0 without restarts */
    uint8_t actions[16]; /* by enum health_error: enum health_action; 0 beyond the table's errors */
    /* Guest address of the control frame of the generic watchdog, one page. The refresh frame, one
     * page, follows. 0: no watchdog. */
    uint64_t watchdog;
    /* Guest address of the page with the heartbeats of the VCPUs (arch/heartbeat.h). 0: none. */
    uint64_t heartbeat;
    /* In microseconds: between two looks at a heartbeat; and in which the boot VCPU's first beat
     * has to follow its start, or 0: at any time. */
    uint64_t heartbeat_period, heartbeat_start;
    /* INTID of the watchdog's signal WS0: an SPI that no device uses, one of `interrupts`. */
    uint32_t watchdog_interrupt;
    uint32_t reserved;
};

/* Bounds of a window of a limited bandwidth, in nanoseconds, and of the events in it. */
#define DESCRIPTION_BANDWIDTH_WINDOW_MIN UINT64_C(100000)
#define DESCRIPTION_BANDWIDTH_WINDOW_MAX UINT64_C(1000000000)
#define DESCRIPTION_BANDWIDTH_EVENTS_MIN 100u
#define DESCRIPTION_BANDWIDTH_EVENTS_MAX 0x7fffffffu

/* Limit of the memory bandwidth of each VCPU of a partition, all of whose cores are its own
 * (docs/decisions/0099). All zero: no limit. */
struct description_bandwidth {
    uint64_t window; /* nanoseconds */
    uint32_t events; /* that a VCPU may cause in a window, of the board's bandwidth_event */
    uint32_t reserved;
};

struct description_partition {
    char name[DESCRIPTION_NAME_BYTES];
    uint64_t entry;            /* guest address of the first instruction */
    uint64_t devicetree;       /* guest address of the devicetree: x0 at entry */
    uint64_t console;          /* guest address of the virtual PL011, one page; 0: no console */
    uint64_t pci_memory;       /* guest and physical address of the window for 32-bit memory BARs */
    uint64_t pci_memory_bytes; /* size of the window, in whole pages */
    uint64_t pci_io;           /* physical address of the window for I/O BARs; whole pages */
    uint64_t pci_io_bytes;
    /* The window for memory BARs of 64 bits above 4 GiB, which may also lie in the other one: whole
     * pages. 0 bytes: there is none. PCI and the processor have the same addresses there. */
    uint64_t pci_wide; /* guest address */
    uint64_t pci_wide_physical;
    uint64_t pci_wide_bytes;
    /* Guest address of a page with the times of VCPUs on shared cores (arch/vcpu_times.h). 0: no
     * such page. */
    uint64_t times;
    /* Guest address of the PCI host for channels: below 4 GiB, a multiple of 1 MiB. ECAM of bus 0
     * comes first, then the window for the functions' 32-bit BARs. 0: no such host. */
    uint64_t channel_host;
    uint64_t rtc; /* guest address of the virtual PL031, one page; 0: no real-time clock */
    /* Guest address of the properties `kaslr-seed` and `rng-seed` of its devicetree, which follow
     * each other (hypervisor/tree_seeds.h). The hypervisor fills them in at each start. 0: no such
     * properties. */
    uint64_t tree_seeds;
    /* Guest address at which the partition reads the kept memory of its standby. 0: it does not. */
    uint64_t standby_kept;
    uint32_t vcpu_count;        /* number of VCPUs; VCPU 0 is the boot VCPU */
    uint32_t console_interrupt; /* INTID of an SPI that no device uses, one of `interrupts` */
    uint32_t console_input;     /* 1: the partition has the terminal's input after boot */
    uint32_t dma;
    uint32_t memory_count;
    uint32_t device_count;
    uint32_t image_count;
    uint32_t function_count;
    uint32_t restart;
    uint32_t unmapped;
    uint32_t maintenance;
    uint32_t interrupt_mode;
    uint32_t distribute; /* 1: the hypervisor may route its SPIs to others of its shared cores */
    /* INTID with which the guest sees `console_interrupt`: an SPI that is not one of `interrupts`,
     * with listed interrupts only (gic/renumbered.h). 0: with its own. */
    uint32_t console_shown;
    /* 1 + index of the partition that takes over the movable functions after an error whose action
     * is HEALTH_ACTION_FAILOVER; 0: none. Each of the two names the other. */
    uint32_t standby;
    uint32_t reserved;
    struct description_vcpu vcpus[DESCRIPTION_VCPUS_MAX];
    struct description_memory memories[DESCRIPTION_MEMORIES_MAX];
    struct description_device devices[DESCRIPTION_DEVICES_MAX];
    struct description_image images[DESCRIPTION_IMAGES_MAX];
    struct description_function functions[DESCRIPTION_FUNCTIONS_MAX];
    uint32_t interrupts[DESCRIPTION_SPI_WORDS]; /* SPIs that the partition owns */
    uint32_t edges[DESCRIPTION_SPI_WORDS];      /* edge-triggered SPIs of these */
    struct description_health health;
    struct description_bandwidth bandwidth;
};

/* Returns the core of the partition's boot VCPU. Monitors route the hypervisor's interrupts that
 * concern the partition to this core. */
static inline uint32_t description_boot_core(const struct description_partition *partition)
{
    return partition->vcpus[0].core;
}

/* Returns true if the partition has listed interrupts. Then its guest can't shut its cores against
 * the hypervisor's interrupts. A guest with direct interrupts can (docs/decisions/0039). */
static inline bool description_has_listed_interrupts(const struct description_partition *partition)
{
    return partition->interrupt_mode == DESCRIPTION_INTERRUPT_MODE_LISTED;
}

/* The hypervisor's memory, and devices of the board. Addresses are physical. 0: the board lacks the
 * device, or the system does not use it. */
struct description_board {
    uint64_t hypervisor; /* the hypervisor's memory, which contains its image */
    /* Bytes of this memory. The part behind the payload is for tables, and for the pages of VCPUs
     * and processors. */
    uint64_t hypervisor_bytes;
    uint64_t distributor; /* address of the GIC's Distributor (GICD) */
    uint64_t uart;        /* address of the PL011 */
    uint64_t rtc;         /* address of the PL031, which the boot core reads */
    /* The RAM that has the hypervisor's memory: a devicetree of the loader is looked for only
     * there. 0 bytes: nowhere. */
    uint64_t memory, memory_bytes;
    uint64_t ecam;
    uint64_t ecam_bytes; /* size of ECAM: 1 MiB for each bus, from bus 0 */
    uint64_t pci_io;     /* physical address at which PCI I/O address 0 appears */
    uint64_t smmu;       /* address of the SMMUv3 */
    uint32_t uart_interrupt;
    uint32_t smmu_interrupt; /* INTID of the event queue's interrupt */
    /* 1: no guest can influence branch predictions of another context of its core, although the
     * processor and the firmware may not say so. */
    uint32_t isolates_branches;
    uint32_t reserved;
    /* The event of the performance monitors that counts memory accesses, 1 to 65535 (Arm ARM, "PMU
     * events and event numbers"), and the number of event counters that the hypervisor keeps for
     * it, 1 or 2. Both are 0 if no partition's bandwidth is limited. */
    uint32_t bandwidth_event, bandwidth_counters;
};

/* The manager: the partition that creates, starts, stops, replaces and destroys the others by
 * hypercalls. */
struct description_manager {
    uint32_t partition; /* index of the partition */
    uint32_t absent;    /* bit n: partition n is absent until the manager creates it */
    /* Address at which EL2 maps the staging memory, in which the manager puts images: the end of
     * one of its memories, in whole pages, less than 4 GiB. If `staging_bytes` is 0, the system has
     * no manager, and all fields of this structure are 0. */
    uint64_t staging;
    uint64_t staging_bytes;
};

/* Kinds of PCI function by which a guest sees its end of a channel. The function is on the
 * partition's PCI host for channels; its device number is the index of the channel. It has an
 * interrupt, which INTA signals. */
#define DESCRIPTION_CHANNEL_FUNCTION_NONE    0u
#define DESCRIPTION_CHANNEL_FUNCTION_WHOLE   1u /* registers, interrupt, and the region as BAR 2 */
#define DESCRIPTION_CHANNEL_FUNCTION_CONTROL 2u /* registers and interrupt, without BAR 2 */

/* An end of a channel. */
struct description_channel_end {
    uint32_t partition; /* index of the partition */
    /* INTID of the doorbell: an SPI that no device uses, one of the partition's `interrupts`. 0: no
     * doorbell. */
    uint32_t interrupt;
    uint64_t guest; /* guest address of the region, a multiple of the page size */
    uint32_t function;
    uint32_t reserved;
};

/* A channel: memory that connects two partitions, or a sender and several receivers. Its region
 * begins with the state page, which all guests can read and none can write. The common section
 * follows, which both can write. Then each end has a section, which the guest of this end can write
 * and the guest of the other end can read. If an end is a PCI function with BAR 2, all guests
 * access the region without caches. With further receivers, a page follows in physical memory that
 * no guest has. */
struct description_channel {
    uint64_t physical;      /* address of the region, a multiple of the page size */
    uint64_t section_bytes; /* size of a section, in whole pages */
    uint32_t one_way;       /* 1: a one-way channel, in which end 1 has no section */
    uint32_t common_pages;  /* size of the common section; 0: none, as in every one-way channel */
    /* Number of receivers of a one-way channel besides end 1: they are the ends 2, 3, ... Of
     * another channel 0. */
    uint32_t further_receivers;
    uint32_t reserved;
    struct description_channel_end ends[DESCRIPTION_ENDS_MAX]; /* of different partitions */
};

/* A part of a client's memory that the back-end of its shared device may access: whole pages,
 * inside of one of the client's memories. */
struct description_window {
    uint64_t client;  /* guest address in the client */
    uint64_t backend; /* guest address in the back-end, where nothing else is */
    uint64_t bytes;
};

/* A shared device: a virtio device with the MMIO transport (VIRTIO 1.3, 4.2) in the client, which
 * the back-end serves (docs/decisions/0089). The two are different partitions. */
struct description_shared_device {
    /* Physical address of two pages: the device's page (arch/shared_device.h), then a page that no
     * guest has (shared_device/state.h). */
    uint64_t physical;
    uint64_t registers;   /* guest address of the registers in the client, one page, not mapped */
    uint64_t page;        /* guest address at which the back-end reads the device's page */
    uint64_t features;    /* offered; contains VERSION_1 */
    uint64_t required;    /* of these, those that the driver has to accept */
    uint32_t client;      /* index of the partition */
    uint32_t backend;     /* index of the partition */
    uint32_t interrupt;   /* INTID of the driver's interrupt: an SPI that no device uses, one of the
                             client's `interrupts` */
    uint32_t doorbell;    /* INTID of the back-end's doorbell: the same of the back-end */
    uint32_t device_id;   /* VIRTIO 1.3, 5: 1 network card, 2 block device */
    uint32_t queue_count; /* 1 to SHARED_DEVICE_QUEUES */
    uint32_t queue_size_max; /* a power of two, 256 at most */
    uint32_t config_bytes;   /* 64 at most */
    uint32_t window_count;
    /* 1: the back-end has a PCI function, for a process of its operating system
     * (shared_device/function.h). It is on the partition's PCI host for channels; its device number
     * is DESCRIPTION_CHANNELS_MAX and the index of the shared device. INTA is the doorbell. */
    uint32_t function;
    uint8_t config[64]; /* the configuration space (2.5) at the start of the system */
    struct description_window windows[DESCRIPTION_WINDOWS_MAX];
};

/* The pages of a memory that has colours of the last-level cache (docs/decisions/0098): runs of
 * `run` bytes, which begin `period` bytes apart. The period is the size of a way of the cache, a
 * power of two. The run is smaller, in whole pages, and the same part of each way:
 * first % period + run <= period. If all are 0, the memory has no colours, and its pages follow
 * each other. */
struct description_colours {
    uint64_t first; /* physical address of the first page */
    uint64_t run;
    uint64_t period;
};

/* The colours of a partition's memories, and of the copies of its images, by their indices. Its
 * restarts read the copies: EL2 maps them at the addresses of the images. All have the same run and
 * period, and the same first % period: the partition's colours. */
struct description_partition_colours {
    struct description_colours memories[DESCRIPTION_MEMORIES_MAX];
    struct description_colours images[DESCRIPTION_IMAGES_MAX];
};

struct description {
    uint64_t magic;
    uint32_t version;
    uint32_t bytes;    /* size of this structure */
    uint64_t payload;  /* size from the start of this structure to the end of the mark */
    uint32_t checksum; /* CRC-32 (IEEE 802.3) of this structure with 0 in this field */
    uint32_t core_count;
    uint32_t partition_count;
    /* CRC-32 of all images, in whole pages. The last four bytes of the payload have the same
     * value. */
    uint32_t mark;
    struct description_board board;
    struct description_manager manager;
    uint32_t channel_count;
    uint32_t movable_count;
    uint32_t shared_device_count;
    uint32_t reserved;
    struct description_core cores[DESCRIPTION_CORES_MAX];
    struct description_partition partitions[DESCRIPTION_PARTITIONS_MAX];
    struct description_channel channels[DESCRIPTION_CHANNELS_MAX];
    struct description_movable movables[DESCRIPTION_MOVABLES_MAX];
    struct description_shared_device shared_devices[DESCRIPTION_SHARED_DEVICES_MAX];
    /* By partition. Only the boot reads this, so it is apart from the partitions. */
    struct description_partition_colours colours[DESCRIPTION_PARTITIONS_MAX];
    /* The hypervisor's colours: `first` is the first page of its memory that has one. If the run is
     * 0, nothing has colours. Otherwise all memories have, no two partitions have a common colour,
     * and none has one of the hypervisor's. */
    struct description_colours own_colours;
};

/* Returns true if the memory of partitions, and that of the hypervisor, has colours. */
static inline bool description_has_colours(const struct description *system)
{
    return system->own_colours.run != 0;
}

/* description/lookup.c: returns the index of the first partition with listed interrupts, or
 * DESCRIPTION_NO_PARTITION. */
uint32_t description_first_listed(const struct description *system);

#endif
