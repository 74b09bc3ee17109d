/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes one field of a valid description at a time and checks the result of description_check().
 */
#include "description_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOONE DESCRIPTION_NO_PARTITION
#define FIRST DESCRIPTION_FIRST_IMAGE

struct change {
    size_t offset;
    size_t bytes;
    uint64_t value;
};

#define CHANGES_MAX 5u

struct fault {
    const char *text; /* NULL: the description is valid */
    uint32_t partition;
    uint64_t value;
    struct change changes[CHANGES_MAX];
};

#define SET(field, new_value) \
    {offsetof(struct description, field), sizeof(((struct description *)0)->field), new_value}
#define CONTROL(field, new_value) SET(partitions[0].field, new_value)
#define LINUX(field, new_value)   SET(partitions[1].field, new_value)

/* A table of errors of `control`, and an error that restarts it. */
#define WATCHED    CONTROL(health.is_monitored, 1)
#define RESTARTING CONTROL(health.actions[0], HEALTH_ACTION_RESTART)

/* A watchdog and a heartbeat of `control`. */
#define GUARDED(guest, intid) \
    WATCHED, CONTROL(health.watchdog, guest), CONTROL(health.watchdog_interrupt, intid)
#define BEATING(period, start)                                                                 \
    WATCHED, CONTROL(health.heartbeat, 0x140000000), CONTROL(health.heartbeat_period, period), \
        CONTROL(health.heartbeat_start, start)

/* The board's event for limits of bandwidth, and a limit of `control`. */
#define COUNTED(event, counters) \
    SET(board.bandwidth_event, event), SET(board.bandwidth_counters, counters)
#define LIMITS(most, time) CONTROL(bandwidth.events, most), CONTROL(bandwidth.window, time)

#define WIDE(guest, physical, bytes) \
    LINUX(pci_wide, guest), LINUX(pci_wide_physical, physical), LINUX(pci_wide_bytes, bytes)

#define DAMAGED   "a damaged description: checksum"
#define HEADER    "unsupported description version:"
#define PAYLOAD   "incomplete payload: bytes"
#define CORES     "too few or too many cores:"
#define MANY      "too few or too many partitions:"
#define SURPLUS   "cores or partitions beyond the count:"
#define CHANNELS  "too many channels, or channels beyond the count:"
#define MOVABLES  "too many movable functions, or some beyond the count:"
#define MOVED     "no such movable function of the partition:"
#define PASSED_ON "partitions can't pass on the movable function"
#define STANDBY   "no other partition that names this one, as standby:"
#define NOBODY    "nobody takes over after the error:"
#define AFFINITY  "invalid or duplicate affinity: core"
#define FRAME     "Redistributor not aligned to 64 KiB: core"
#define ROOM_FOR  "payload larger than the hypervisor's memory at"
#define GICD      "GICD not aligned to 64 KiB:"
#define BUSES     "ECAM not whole buses:"
#define MESSAGES  "messages need an SPI of their own: core"
#define OWN_SPI   "UART and SMMU need an SPI each: the UART has"
#define PAGES     "not whole pages below the address limit:"
#define PHYSICAL  "two ranges overlap: physical address"
#define GUEST     "two ranges overlap: guest address"
#define NAME      "invalid or duplicate name: partition"
#define LISTS     "list too long, or no memory, or no VCPU: memories"
#define UNUSED    "list entries beyond the count: memories"
#define MEMORY    "trusted DMA needs guest = physical: memory at"
#define KEPT      "unknown value of kept: memory at"
#define VCPU      "a VCPU has no core that it may use: core"
#define TIMES     "budget or period out of range: a VCPU on core"
#define SLOTS     "slots out of range: a VCPU on core"
#define WEIGHT    "weight out of range: a VCPU on core"
#define SERVER    "unknown server, or a server without a budget: a VCPU on core"
#define QUANTUM   "quantum out of range: core"
#define UNSHARED  "a quantum of a core that is not shared:"
#define DIRECT    "direct interrupts on a shared core:"
#define IMAGE     "image outside the payload: offset"
#define LOAD      "image outside the partition's memory: guest address"
#define ENTRY     "entry unaligned or outside memory: guest address"
#define TREE      "devicetree unaligned or outside memory: guest address"
#define FUNCTION  "PCI function outside the board's ECAM:"
#define FUNCTIONS "PCI function assigned twice:"
#define WINDOW    "PCI memory window ends above 4 GiB:"
#define IO        "PCI I/O window outside the board's I/O space:"
#define DMA       "DMA kind not supported by the board:"
#define SPIS      "no SPI, or assigned twice: among the 32 INTIDs from"
#define EDGES     "edge-triggered, but not owned: among the 32 INTIDs from"
#define CONSOLE   "console interrupt not owned by the partition: INTID"
#define SHOWN     "the console's interrupt can't have another number for the guest: INTID"
#define RTC       "a real-time clock, and the board has none: guest address"
#define SEEDS     "seeds of the devicetree outside of the memory: guest address"
#define PL031     "PL031 not at a page:"
#define RAM       "RAM beyond the address limit:"
#define CHOICES \
    "unknown value of restart, unmapped, maintenance, interrupt_mode or distribute: restart"
#define ACTION    "no such action for the error:"
#define BEYOND    "actions beyond the errors:"
#define UNWATCHED "actions without health monitoring:"
#define RESTARTS  "restarts or their window out of range: restarts"
#define NEVER     "an error restarts a partition that never restarts: restarts"
#define RESERVED  "a reserved field is not 0:"
#define SIGNAL    "watchdog's interrupt not owned by the partition: INTID"
#define BEAT      "period or start of the heartbeat out of range: microseconds"
#define LIMIT     "bandwidth or its window out of range: events"
#define LIMITED   "the bandwidth of a VCPU on a shared core can't be limited: VCPU"
#define NO_EVENT  "bandwidth, and the board has no event for it: events"
#define BEHIND    "not 0 behind bandwidth:"
#define COUNTER   "unknown event or counters of bandwidth:"
#define BRANCHES  "unknown value of isolates_branches:"
#define INPUT     "terminal input without console, or assigned twice:"

static const struct fault faults[] = {
    {"no description: its magic is", NOONE, 1, {SET(magic, 1)}},
    {HEADER, NOONE, 1, {SET(version, 1)}},
    {HEADER, NOONE, DESCRIPTION_VERSION, {SET(bytes, 8)}},
    {PAYLOAD, NOONE, DESCRIPTION_ROOM + 1, {SET(payload, DESCRIPTION_ROOM + 1)}},
    {PAYLOAD, NOONE, 64, {SET(payload, 64)}},
    {CORES, NOONE, 0, {SET(core_count, 0)}},
    {CORES, NOONE, 17, {SET(core_count, 17)}},
    {CORES, NOONE, UINT32_MAX, {SET(core_count, UINT32_MAX)}},
    {MANY, NOONE, 0, {SET(partition_count, 0)}},
    {MANY, NOONE, 9, {SET(partition_count, 9)}},
    {NULL, 0, 0, {SET(mark, 1)}},
    {SURPLUS, NOONE, 2, {SET(cores[15].affinity, 5)}},
    {SURPLUS, NOONE, 2, {SET(cores[4].affinity, 1)}},
    {SURPLUS, NOONE, 2, {SET(partitions[7].edges[31], 1)}},
    {SURPLUS, NOONE, 1, {SET(partition_count, 1)}},
    {CHANNELS, NOONE, 17, {SET(channel_count, 17)}},
    {MOVABLES, NOONE, 9, {SET(movable_count, 9)}},
    {MOVABLES, NOONE, 0, {SET(movables[7].owner, 1)}},
    {CHANNELS, NOONE, 0, {SET(channels[0].physical, 0x1000)}},
    {CHANNELS, NOONE, 1, {SET(channel_count, 1), SET(channels[15].ends[1].guest, 1)}},
    {NULL, 0, 0, {SET(channel_count, 16), SET(channels[15].ends[1].guest, 1)}},

    {AFFINITY, NOONE, 2, {SET(cores[2].affinity, 1)}},
    {AFFINITY, NOONE, 3, {SET(cores[3].affinity, 1u << 24)}},
    {AFFINITY, NOONE, 1, {SET(cores[1].affinity, UINT64_C(1) << 40)}},
    {FRAME, NOONE, 2, {SET(cores[2].redistributor, 0x8210000 + 0x1000)}},
    {FRAME, NOONE, 2, {SET(cores[2].redistributor, 0)}},
    {PHYSICAL, NOONE, 0x80b0000, {SET(cores[3].redistributor, 0x80b0000)}},

    {MESSAGES, NOONE, 1, {SET(cores[1].message_interrupt, 31)}},
    {MESSAGES, NOONE, 1, {SET(cores[1].message_interrupt, 1020)}},
    {MESSAGES, NOONE, 1, {SET(cores[1].message_interrupt, 33)}},
    {MESSAGES, NOONE, 1, {SET(cores[1].message_interrupt, 106)}},
    {MESSAGES,
     NOONE,
     3,
     {SET(cores[1].message_interrupt, 200), SET(cores[3].message_interrupt, 200)}},
    {MESSAGES, NOONE, 0, {SET(cores[0].reserved, 1)}},
    {NULL, 0, 0, {SET(cores[1].message_interrupt, 200), SET(cores[3].message_interrupt, 201)}},
    {SPIS, 1, 992, {SET(cores[2].message_interrupt, 1019)}},

    {ROOM_FOR, NOONE, 0x40000000, {SET(board.hypervisor_bytes, 0x18000)}},
    {NULL, 0, 0, {SET(board.hypervisor_bytes, DESCRIPTION_ROOM)}},
    {GICD, NOONE, 0, {SET(board.distributor, 0)}},
    {GICD, NOONE, 0x8001000, {SET(board.distributor, 0x8001000)}},
    {BUSES, NOONE, 0, {SET(board.ecam, 0)}},
    {BUSES, NOONE, 0x4010080000, {SET(board.ecam, 0x4010080000)}},
    {BUSES, NOONE, 0x4010000000, {SET(board.ecam_bytes, 0x80000)}},
    {BUSES, NOONE, 0x4010000000, {SET(board.ecam_bytes, 0x10100000)}},
    {NULL, 0, 0, {SET(board.ecam_bytes, 0x10000000)}},
    {PAGES, NOONE, 0x4010000000, {SET(board.ecam_bytes, 0)}},
    {OWN_SPI, NOONE, 106, {SET(board.uart_interrupt, 106)}},
    {OWN_SPI, NOONE, 1020, {SET(board.uart_interrupt, 1020)}},
    {OWN_SPI, NOONE, 33, {SET(board.smmu_interrupt, 31)}},
    {NULL, 0, 0, {SET(board.uart_interrupt, 0), SET(board.smmu_interrupt, 0)}},
    {NULL, 0, 0, {SET(board.uart, 0), SET(board.smmu, 0)}},
    {NULL, 0, 0, {SET(board.uart_interrupt, 32)}},
    {NULL, 0, 0, {SET(board.isolates_branches, 1)}},
    {BRANCHES, NOONE, 2, {SET(board.isolates_branches, 2)}},
    {BRANCHES, NOONE, 0, {SET(board.reserved, 1)}},
    {PAGES, NOONE, 0x40000800, {SET(board.hypervisor, 0x40000800)}},
    {PAGES, NOONE, 0x9000100, {SET(board.uart, 0x9000100)}},
    {PHYSICAL, NOONE, 0x9000000, {SET(board.smmu, 0x9000000)}},
    {PHYSICAL, NOONE, 0x40fff000, {SET(board.uart, 0x40fff000)}},
    {PHYSICAL, NOONE, 0x80a0000, {SET(board.distributor, 0x80a0000)}},

    {NAME, NOONE, 1, {LINUX(name[0], 0)}},
    {NAME, NOONE, 1, {LINUX(name[2], ' ')}},
    {NAME, NOONE, 1, {LINUX(name[2], 0x7f)}},
    {NAME, NOONE, 1, {LINUX(name[15], 'x')}},
    {NULL, 0, 0, {LINUX(name[2], '~')}},
    {LISTS, 0, 0, {CONTROL(memory_count, 0)}},
    {LISTS, 0, 5, {CONTROL(memory_count, 5)}},
    {LISTS, 0, 2, {CONTROL(vcpu_count, 0)}},
    {LISTS, 1, 1, {LINUX(vcpu_count, 17)}},
    {LISTS, 1, 1, {LINUX(device_count, 17)}},
    {LISTS, 1, 1, {LINUX(image_count, 5)}},
    {LISTS, 1, 1, {LINUX(function_count, 9)}},
    {UNUSED, 0, 1, {CONTROL(memory_count, 1)}},
    {UNUSED, 0, 2, {CONTROL(device_count, 0)}},
    {UNUSED, 0, 2, {CONTROL(image_count, 1)}},
    {UNUSED, 1, 1, {LINUX(function_count, 1)}},
    {UNUSED, 1, 1, {LINUX(functions[7].reserved[1], 1)}},

    {PAGES, 0, 0x43000000, {CONTROL(memories[1].bytes, 0)}},
    {MEMORY, 1, 0x50001000, {LINUX(memories[0].physical, 0x50001000)}},
    {NULL, 0, 0, {LINUX(memories[0].physical, 0x50001000), LINUX(dma, DESCRIPTION_DMA_NONE)}},
    {PAGES, 0, 0x43000001, {CONTROL(memories[1].physical, 0x43000001)}},
    {PAGES, 0, 0x43000000, {CONTROL(memories[1].bytes, 4097)}},
    {PAGES, 0, 0x4000010, {CONTROL(memories[1].guest, 0x4000010)}},
    {PAGES, 0, 0x43000000, {CONTROL(memories[1].bytes, 0xfffffffffffff000)}},
    {PAGES,
     0,
     0xfffffffff000,
     {CONTROL(memories[1].physical, 0xfffffffff000), CONTROL(memories[1].bytes, 0x2000)}},
    {PAGES, 0, UINT64_C(1) << 48, {CONTROL(memories[1].physical, UINT64_C(1) << 48)}},
    {NULL, 0, 0, {CONTROL(memories[1].physical, 0xfffffffff000)}},
    {PAGES, 0, UINT64_C(1) << 39, {CONTROL(memories[1].guest, UINT64_C(1) << 39)}},
    {PAGES,
     0,
     0x7ffffff000,
     {CONTROL(memories[1].guest, 0x7ffffff000), CONTROL(memories[1].bytes, 0x2000)}},
    {NULL,
     0,
     0,
     {CONTROL(memories[1].guest, 0x7ffffff000), CONTROL(devicetree, 0x80000),
      CONTROL(images[1].guest, 0x7ffffffff8)}},
    {KEPT, 0, 0x43000000, {CONTROL(memories[1].kept, 2)}},
    {KEPT, 0, 0x43000000, {CONTROL(memories[1].reserved, 1)}},
    {KEPT, 0, 0x41000000, {CONTROL(memories[0].kept, UINT32_MAX)}},
    {NULL, 0, 0, {CONTROL(memories[1].kept, 1)}},
    {LOAD, 0, 0x80000, {CONTROL(memories[0].kept, 1)}},
    {LOAD, 0, 0x4000000, {CONTROL(memories[1].kept, 1), CONTROL(images[1].guest, 0x4000000)}},
    {ENTRY, 0, 0x4000000, {CONTROL(memories[1].kept, 1), CONTROL(entry, 0x4000000)}},
    {TREE, 0, 0x4000000, {CONTROL(memories[1].kept, 1), CONTROL(devicetree, 0x4000000)}},
    {SEEDS, 0, 0x4000000, {CONTROL(memories[1].kept, 1), CONTROL(tree_seeds, 0x4000000)}},
    {PHYSICAL, 0, 0x42fff000, {CONTROL(memories[1].physical, 0x42fff000)}},
    {PHYSICAL, 0, 0x40fff000, {CONTROL(memories[1].physical, 0x40fff000)}},
    {NULL, 0, 0, {CONTROL(memories[1].physical, 0x3ffff000)}},
    {PHYSICAL,
     1,
     0x42f00000,
     {LINUX(memories[0].guest, 0x42f00000), LINUX(memories[0].physical, 0x42f00000),
      LINUX(dma, 0)}},
    {PHYSICAL, 0, 0x9000000, {CONTROL(devices[0].address, 0x9000000)}},
    {PHYSICAL, 0, 0x9050000, {CONTROL(devices[0].bytes, 0x41000)}},
    {PHYSICAL, 0, 0x8000000, {CONTROL(devices[0].address, 0x8000000)}},
    {PHYSICAL, 0, 0x8110000, {CONTROL(devices[0].address, 0x8110000)}},
    {PHYSICAL, 0, 0x4010000000, {CONTROL(devices[0].address, 0x4010000000)}},
    {PHYSICAL, 1, 0x9050000, {LINUX(pci_memory, 0x9010000)}},
    {PHYSICAL, 1, 0x10000000, {LINUX(pci_io, 0x10000000), SET(board.pci_io, 0x10000000)}},
    {PHYSICAL,
     1,
     0x9010000,
     {LINUX(device_count, 1), LINUX(devices[0].address, 0x9010000), LINUX(devices[0].bytes, 4096)}},
    {PAGES, 1, 0x9020000, {LINUX(device_count, 1), LINUX(devices[0].address, 0x9020000)}},
    {PAGES, 1, 0x10000000, {LINUX(pci_memory_bytes, 0)}},
    {NULL, 0, 0, {LINUX(pci_memory_bytes, 0), LINUX(pci_memory, 0)}},

    {GUEST, 0, 0x1fff000, {CONTROL(memories[1].guest, 0x1fff000)}},
    {GUEST, 0, 0x9010000, {CONTROL(memories[1].guest, 0x9010000)}},
    {GUEST, 0, 0x8000000, {CONTROL(memories[1].guest, 0x8000000)}},
    {GUEST, 0, 0x80e0000, {CONTROL(memories[1].guest, 0x80e0000)}},
    {GUEST, 0, 0x4010fff000, {CONTROL(memories[1].guest, 0x4010fff000)}},
    {GUEST, 0, 0x9010000, {CONTROL(console, 0x9010000)}},
    {GUEST, 0, 0x1000, {CONTROL(console, 0x1000)}},
    {GUEST, 1, 0x10001000, {LINUX(console, 0x10001000)}},
    {PAGES, 1, 0x9100800, {LINUX(console, 0x9100800)}},

    {RTC, 1, 0x9020000, {LINUX(rtc, 0x9020000)}},
    {NULL, 0, 0, {SET(board.rtc, 0x9010000), LINUX(rtc, 0x9020000)}},
    {GUEST, 1, 0x9100000, {SET(board.rtc, 0x9010000), LINUX(rtc, 0x9100000)}},
    {PAGES, 1, 0x9020004, {SET(board.rtc, 0x9010000), LINUX(rtc, 0x9020004)}},
    {PL031, NOONE, 0x9010004, {SET(board.rtc, 0x9010004)}},
    {PL031, NOONE, UINT64_C(1) << 48, {SET(board.rtc, UINT64_C(1) << 48)}},
    {RAM, NOONE, UINT64_C(1) << 48, {SET(board.memory, UINT64_C(1) << 48)}},
    {RAM, NOONE, 0x1000, {SET(board.memory, 0x1000), SET(board.memory_bytes, UINT64_MAX)}},
    {NULL, 0, 0, {SET(board.memory, 0x40000000), SET(board.memory_bytes, 1u << 30)}},
    {SEEDS, 0, 0x1000102, {CONTROL(tree_seeds, 0x1000102)}},
    {SEEDS, 0, 0x1ffffc4, {CONTROL(tree_seeds, 0x1ffffc4)}},
    {NULL, 0, 0, {CONTROL(tree_seeds, 0x1ffffc0)}},
    {SEEDS, 0, 0xfffffffffffffffc, {CONTROL(tree_seeds, 0xfffffffffffffffc)}},

    {VCPU, 1, 1, {CONTROL(vcpus[0].core, 1)}},
    {VCPU, 1, 0, {LINUX(vcpus[0].core, 0)}},
    {VCPU, 1, 4, {LINUX(vcpus[0].core, 4)}},
    {VCPU, 0, 4, {CONTROL(vcpus[0].core, 4)}},
    {VCPU, 1, 1, {LINUX(vcpus[1].core, 1)}},
    {VCPU, 1, 2, {LINUX(vcpus[1].shared, 2)}},
    {TIMES, 1, 2, {LINUX(vcpus[1].shared, 1)}},
    {TIMES, 1, 2, {LINUX(vcpus[1].budget, 1)}},
    {TIMES, 1, 2, {LINUX(vcpus[1].period, 1)}},
    {WEIGHT, 1, 2, {LINUX(vcpus[1].weight, 1)}},
    {SERVER, 1, 2, {LINUX(vcpus[1].server, 1)}},
    {SLOTS, 1, 2, {LINUX(vcpus[1].slot_interval, 1)}},

    {IMAGE, 0, FIRST + 1, {CONTROL(images[0].offset, FIRST + 1)}},
    {IMAGE, 0, FIRST - 0x1000, {CONTROL(images[0].offset, FIRST - 0x1000)}},
    {IMAGE, 0, FIRST, {CONTROL(images[0].bytes, 0)}},
    {IMAGE, 0, FIRST, {CONTROL(images[0].bytes, DESCRIPTION_ROOM - FIRST + 1)}},
    {IMAGE, 0, FIRST, {CONTROL(images[0].bytes, UINT64_MAX)}},
    {IMAGE, 1, DESCRIPTION_ROOM, {LINUX(images[0].offset, DESCRIPTION_ROOM)}},
    {IMAGE, 1, 0xfffffffffffff000, {LINUX(images[0].offset, 0xfffffffffffff000)}},
    {LOAD, 1, 0x5ffff001, {LINUX(images[0].guest, 0x5ffff001)}},
    {NULL, 0, 0, {LINUX(images[0].guest, 0x5ffff000)}},
    {LOAD, 1, 0x4ffff000, {LINUX(images[0].guest, 0x4ffff000)}},
    {LOAD, 1, UINT64_MAX, {LINUX(images[0].guest, UINT64_MAX)}},
    {LOAD, 0, 0x1ff0000, {CONTROL(images[0].guest, 0x1ff0000)}},
    {ENTRY, 0, 0x2000000, {CONTROL(entry, 0x2000000)}},
    {ENTRY, 0, 0x80002, {CONTROL(entry, 0x80002)}},
    {TREE, 1, 0x60000000, {LINUX(devicetree, 0x60000000)}},
    {TREE, 1, 0x50200004, {LINUX(devicetree, 0x50200004)}},

    {FUNCTIONS, 1, 8, {LINUX(functions[1].address, 8)}},
    {NULL, 0, 0, {LINUX(functions[1].address, 0)}},
    {FUNCTIONS, 1, 0xf10, {CONTROL(function_count, 1), CONTROL(functions[0].address, 0xf10)}},
    {FUNCTION, 1, 0x1000, {LINUX(functions[0].address, 0x1000)}},
    {FUNCTION, 1, 8, {LINUX(functions[0].reserved[1], 1)}},
    {FUNCTION, 1, 8, {SET(board.ecam, 0), SET(board.ecam_bytes, 0)}},
    {WINDOW, 1, 0xfff00000, {LINUX(pci_memory, 0xfff00000)}},
    {NULL, 0, 0, {LINUX(pci_memory, 0xffe00000)}},
    {NULL, 0, 0, {WIDE(0x100000000, 0x8000000000, 0x40000000)}},
    {GUEST, 1, 0x50000000, {WIDE(0x50000000, 0x8000000000, 0x40000000)}},
    {PHYSICAL, 1, 0x50000000, {WIDE(0x100000000, 0x50000000, 0x1000)}},
    {PAGES, 1, 0x8000000000, {WIDE(0x8000000000, 0x8000000000, 0x40000000)}},
    {PAGES, 1, 0x8000000000, {WIDE(0x100000000, 0x8000000000, 0x40000001)}},
    {PAGES, 1, 0x1000000000000, {WIDE(0x100000000, 0x1000000000000, 0x40000000)}},
    {IO, 1, 0x3eff1000, {SET(board.pci_io, 0)}},
    {IO, 1, 0x3eff1000, {SET(board.pci_io, 0x3eff2000)}},
    {IO, 1, 0x13efef000, {LINUX(pci_io, 0x13efef000), LINUX(pci_io_bytes, 0x2000)}},
    {NULL, 0, 0, {LINUX(pci_io, 0x13efef000)}},
    {DMA, 1, 3, {LINUX(dma, 3)}},
    {DMA, 1, DESCRIPTION_DMA_SMMU, {LINUX(dma, DESCRIPTION_DMA_SMMU), SET(board.smmu, 0)}},
    {NULL, 0, 0, {LINUX(dma, DESCRIPTION_DMA_SMMU)}},

    {SPIS, 0, 0, {CONTROL(interrupts[0], 1u << 27)}},
    {SPIS, 1, 992, {LINUX(interrupts[31], 1u << 28 | 1u << 27)}},
    {SPIS, 1, 32, {LINUX(interrupts[1], 1u << 9 | 1u << 8)}},
    {SPIS, 0, 32, {CONTROL(interrupts[1], 1u << 8 | 1u << 1)}},
    {SPIS, 1, 96, {LINUX(interrupts[3], 1u << 10)}},
    {SPIS, 1, 992, {SET(board.uart_interrupt, 1019)}},
    {EDGES, 0, 32, {CONTROL(edges[1], 1u << 9)}},
    {CONSOLE, 0, 41, {CONTROL(console_interrupt, 41)}},
    {CONSOLE, 0, 0, {CONTROL(console_interrupt, 0)}},
    {CONSOLE, 0, UINT32_MAX, {CONTROL(console_interrupt, UINT32_MAX)}},
    {CONSOLE, 0, 40, {CONTROL(console, 0)}},
    {NULL, 0, 0, {CONTROL(console, 0), CONTROL(console_interrupt, 0)}},
    {CHOICES, 1, 3, {LINUX(restart, 3)}},
    {CHOICES, 1, 0, {LINUX(unmapped, 2)}},
    {CHOICES, 0, 0, {CONTROL(maintenance, 2)}},
    {CHOICES, 0, 0, {CONTROL(distribute, 2)}},
    {SHOWN, 0, 33, {CONTROL(console_shown, 33)}},
    {NULL, 0, 0, {CONTROL(console_shown, 33), CONTROL(interrupt_mode, 1)}},
    {SHOWN, 0, 40, {CONTROL(console_shown, 40), CONTROL(interrupt_mode, 1)}},
    {SHOWN, 0, 31, {CONTROL(console_shown, 31), CONTROL(interrupt_mode, 1)}},
    {SHOWN, 0, 1020, {CONTROL(console_shown, 1020), CONTROL(interrupt_mode, 1)}},
    {SHOWN, 0, UINT32_MAX, {CONTROL(console_shown, UINT32_MAX), CONTROL(interrupt_mode, 1)}},
    {CHOICES, 0, 0, {CONTROL(channel_host, 0xc000000)}}, /* no channel */
    {CHOICES, 0, 2, {CONTROL(restart, 2), CONTROL(interrupt_mode, 2)}},
    {NULL, 0, 0, {CONTROL(restart, 2), CONTROL(unmapped, 1), CONTROL(maintenance, 1)}},
    {NULL, 0, 0, {CONTROL(distribute, 1)}},
    {NULL, 0, 0, {CONTROL(interrupt_mode, 1)}},
    {UNWATCHED, 0, 2, {CONTROL(health.is_monitored, 2)}},
    {NOBODY, 0, 0, {WATCHED, CONTROL(health.actions[0], HEALTH_ACTION_FAILOVER)}},
    {UNWATCHED, 0, 0, {CONTROL(health.restarts, 1)}},
    {UNWATCHED, 1, 0, {LINUX(health.actions[HEALTH_ERROR_PANIC], HEALTH_ACTION_LOG)}},
    {NULL, 0, 0, {WATCHED, CONTROL(health.actions[HEALTH_ERROR_PANIC], HEALTH_ACTION_LOG)}},
    {NULL,
     0,
     0,
     {WATCHED, CONTROL(health.actions[HEALTH_ERROR_REFUSED_DMA], HEALTH_ACTION_IGNORE)}},
    {ACTION, 0, 4, {WATCHED, CONTROL(health.actions[HEALTH_ERROR_PANIC], HEALTH_ACTIONS)}},
    {ACTION, 0, 0, {WATCHED, CONTROL(health.actions[0], HEALTH_ACTION_LOG)}},
    {ACTION, 0, 0, {WATCHED, CONTROL(health.actions[0], HEALTH_ACTION_IGNORE)}},
    {ACTION, 0, 2, {WATCHED, CONTROL(health.actions[HEALTH_ERROR_SERROR], HEALTH_ACTION_LOG)}},
    {BEYOND, 0, 7, {WATCHED, CONTROL(health.actions[HEALTH_TABLE_ERRORS], HEALTH_ACTION_RESTART)}},
    {BEYOND, 0, 7, {WATCHED, CONTROL(health.actions[15], 255)}},
    {RESTARTS, 0, 1, {WATCHED, CONTROL(health.restarts, 1)}},
    {RESTARTS, 0, 0, {WATCHED, CONTROL(health.window, 1000)}},
    {RESTARTS, 0, 0, {WATCHED, RESTARTING, CONTROL(health.window, 1000)}},
    {RESTARTS,
     0,
     17,
     {WATCHED, RESTARTING, CONTROL(health.restarts, 17), CONTROL(health.window, 1000)}},
    {RESTARTS,
     0,
     16,
     {WATCHED, RESTARTING, CONTROL(health.restarts, 16), CONTROL(health.window, 999)}},
    {RESTARTS,
     0,
     1,
     {WATCHED, RESTARTING, CONTROL(health.restarts, 1), CONTROL(health.window, 86400001)}},
    {NULL, 0, 0, {WATCHED, RESTARTING, CONTROL(health.restarts, 16), CONTROL(health.window, 1000)}},
    {NULL,
     0,
     0,
     {WATCHED, RESTARTING, CONTROL(health.restarts, 1), CONTROL(health.window, 86400000)}},
    {NEVER,
     0,
     1,
     {WATCHED, RESTARTING, CONTROL(health.restarts, 1), CONTROL(health.window, 1000),
      CONTROL(restart, DESCRIPTION_RESTART_NEVER)}},
    {NULL, 0, 0, {GUARDED(0x140000000, 63), CONTROL(interrupts[1], 0x80000100)}},
    {SIGNAL, 0, 0, {GUARDED(0x140000000, 0)}},
    {SIGNAL, 0, 41, {GUARDED(0x140000000, 41)}},
    {SIGNAL, 0, 40, {GUARDED(0x140000000, 40)}}, /* the console's */
    {SIGNAL, 0, 1020, {GUARDED(0x140000000, 1020)}},
    {SIGNAL, 0, UINT32_MAX, {GUARDED(0x140000000, UINT32_MAX)}},
    {SIGNAL, 0, 40, {GUARDED(0, 40)}},
    {PAGES, 0, 0x140000800, {GUARDED(0x140000800, 41)}},
    {GUEST, 0, 0x8000000, {GUARDED(0x8000000 - 0x1000, 63), CONTROL(interrupts[1], 0x80000100)}},
    {UNWATCHED, 0, 0, {CONTROL(health.watchdog, 0x140000000)}},
    {UNWATCHED, 0, 0, {CONTROL(health.reserved, 1)}},
    {RESERVED, 0, 1, {WATCHED, CONTROL(health.reserved, 1)}},
    {NULL, 0, 0, {BEATING(1000, 0)}},
    {NULL, 0, 0, {BEATING(60000000, 3600000000)}},
    {BEAT, 0, 0, {BEATING(0, 0)}},
    {BEAT, 0, 999, {BEATING(999, 0)}},
    {BEAT, 0, 60000001, {BEATING(60000001, 0)}},
    {BEAT, 0, 1000, {BEATING(1000, UINT64_C(3600000001))}},
    {BEAT, 0, 1000, {WATCHED, CONTROL(health.heartbeat_period, 1000)}},
    {BEAT, 0, 0, {WATCHED, CONTROL(health.heartbeat_start, 1000)}},
    {PAGES, 0, 8, {BEATING(1000, 0), CONTROL(health.heartbeat, 8)}},
    {NULL, 0, 0, {COUNTED(0x19, 1)}},
    {NULL, 0, 0, {COUNTED(UINT16_MAX, 2)}},
    {COUNTER, NOONE, 65536, {COUNTED(65536, 1)}},
    {COUNTER, NOONE, 0x19, {COUNTED(0x19, 0)}},
    {COUNTER, NOONE, 0x19, {COUNTED(0x19, 3)}},
    {COUNTER, NOONE, 0, {COUNTED(0, 1)}},
    {NULL, 0, 0, {COUNTED(0x19, 1), LIMITS(100, 100000)}},
    {NULL, 0, 0, {COUNTED(0x19, 1), LIMITS(INT32_MAX, 1000000000)}},
    {LIMIT, 0, 99, {COUNTED(0x19, 1), LIMITS(99, 100000)}},
    {LIMIT, 0, 0x80000000, {COUNTED(0x19, 1), LIMITS(0x80000000, 100000)}},
    {LIMIT, 0, 100, {COUNTED(0x19, 1), LIMITS(100, 99999)}},
    {LIMIT, 0, 100, {COUNTED(0x19, 1), LIMITS(100, 1000000001)}},
    {LIMIT, 0, 100, {COUNTED(0x19, 1), LIMITS(100, 0)}},
    {LIMIT, 0, 0, {COUNTED(0x19, 1), LIMITS(0, 100000)}},
    {NO_EVENT, 0, 100, {LIMITS(100, 100000)}},
    {BEHIND, 0, 1, {COUNTED(0x19, 1), LIMITS(100, 100000), CONTROL(bandwidth.reserved, 1)}},
    {BEHIND, 1, 1, {LINUX(bandwidth.reserved, 1)}},
    {INPUT, 1, 2, {LINUX(console_input, 2)}},
    {INPUT, 1, 1, {CONTROL(console_input, 1)}},
    {INPUT, 0, 1, {CONTROL(console, 0), CONTROL(console_interrupt, 0), CONTROL(console_input, 1)}},
    {NULL, 0, 0, {LINUX(console_input, 0)}},
};

static void apply(struct description *description, const struct change *change)
{
    memcpy((char *)description + change->offset, &change->value, change->bytes);
}

static void check(const struct description *description, const struct fault *fault, size_t number)
{
    struct description_problem problem = {"none", 0, 0};
    bool right = description_check(description, DESCRIPTION_ROOM, &problem);

    if (right != (fault->text == NULL) ||
        (!right && (strcmp(problem.text, fault->text) != 0 ||
                    problem.partition != fault->partition || problem.value != fault->value))) {
        fail_msg("case %zu: %s, expected: %s (partition %#x, 0x%llx): %s (%#x, 0x%llx)", number,
                 right ? "accepted" : "refused", fault->text, fault->partition,
                 (unsigned long long)fault->value, problem.text, problem.partition,
                 (unsigned long long)problem.value);
    }
}

static void test_each_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        /* The exact size lets the sanitizer report an access to the images. */
        struct description *description = malloc(sizeof(*description));

        assert_non_null(description);
        description_make(description);
        for (unsigned j = 0; j < CHANGES_MAX; j++) {
            apply(description, &faults[i].changes[j]);
        }
        description_seal(description);
        check(description, &faults[i], i);
        free(description);
    }
}

#define MOVED_SPI 37u

/* Two partitions between which a function moves. */
static void make_moving(struct description *description)
{
    description_make(description);
    description->movable_count = 1;
    description->movables[0] = (struct description_movable){0x10, MOVED_SPI, 0, 3};
    for (uint32_t i = 0; i < 2; i++) {
        struct description_partition *partition = &description->partitions[i];

        partition->vcpu_count = 1;
        partition->vcpus[1] = (struct description_vcpu){.core = 0};
        partition->dma = DESCRIPTION_DMA_SMMU;
        partition->standby = 2 - i;
        partition->functions[partition->function_count++] =
            (struct description_function){.address = 0x10, .movable = 1};
        partition->interrupts[1] |= 1u << MOVED_SPI % 32;
    }
    description->partitions[1].memories[0].kept = 0;
    description->partitions[0].memories[1].kept = 1;
    description->partitions[0].images[1].guest = 0x1000008;
    description->partitions[1].standby_kept = 0x70000000;
}

static const struct fault moving_faults[] = {
    {NULL, 0, 0, {CONTROL(health.is_monitored, 0)}},
    {NULL,
     0,
     0,
     {WATCHED, CONTROL(health.actions[0], HEALTH_ACTION_FAILOVER), CONTROL(health.restarts, 1),
      CONTROL(health.window, 1000)}},
    {RESTARTS, 0, 0, {WATCHED, CONTROL(health.actions[0], HEALTH_ACTION_FAILOVER)}},
    {PASSED_ON, NOONE, 0x10, {SET(movables[0].owner, 2)}},
    {SPIS, 1, 32, {SET(movables[0].interrupt, 38)}},
    {PASSED_ON, NOONE, 0x10, {LINUX(dma, DESCRIPTION_DMA_NONE)}},
    {SPIS, 1, 32, {SET(movables[0].interrupt, 31)}},
    {MOVED, 1, 0x10, {SET(movables[0].candidates, 1)}},
    {MOVED, 0, 0x10, {SET(movables[0].candidates, 2)}},
    {MOVED, 0, 0x10, {SET(movables[0].address, 0x18)}},
    {MOVED, 0, 0x10, {CONTROL(functions[0].movable, 2)}},
    {FUNCTIONS, 1, 0x10, {LINUX(functions[2].movable, 0)}},
    {STANDBY, 0, 1, {CONTROL(standby, 1)}},
    {STANDBY, 1, 1, {CONTROL(standby, 0)}},
    {STANDBY, 0, 3, {CONTROL(standby, 3)}},
    {GUEST, 1, 0x50000000, {LINUX(standby_kept, 0x50000000)}},
    {PAGES, 0, 0x70000000, {CONTROL(standby_kept, 0x70000000)}}, /* the other one keeps nothing */
};

static void test_each_rule_of_moves(void **state)
{
    struct description description;

    (void)state;
    for (size_t i = 0; i < sizeof(moving_faults) / sizeof(moving_faults[0]); i++) {
        make_moving(&description);
        for (unsigned j = 0; j < CHANGES_MAX; j++) {
            apply(&description, &moving_faults[i].changes[j]);
        }
        description_seal(&description);
        check(&description, &moving_faults[i], i);
    }
}

static void test_names_differ(void **state)
{
    struct description description;
    struct description_problem problem = {NULL, 0, 0};

    (void)state;
    description_make(&description);
    description.partitions[1].entry += 4; /* bytes after the name do not matter */
    memcpy(description.partitions[1].name, description.partitions[0].name, DESCRIPTION_NAME_BYTES);
    description_seal(&description);
    assert_false(description_check(&description, DESCRIPTION_ROOM, &problem));
    assert_string_equal(problem.text, NAME);
    memset(description.partitions[1].name, 0, DESCRIPTION_NAME_BYTES);
    description_seal(&description);
    assert_false(description_check(&description, DESCRIPTION_ROOM, &problem));
    assert_string_equal(problem.text, NAME);
    memset(description.partitions[1].name, 'x', DESCRIPTION_NAME_BYTES);
    description_seal(&description);
    assert_false(description_check(&description, DESCRIPTION_ROOM, &problem));
    assert_string_equal(problem.text, NAME);
    assert_int_equal(problem.partition, NOONE);
}

static void test_valid_description(void **state)
{
    struct description description;
    struct description_problem problem = {NULL, 0, 0};

    (void)state;
    description_make(&description);
    assert_true(description_check(&description, DESCRIPTION_ROOM, &problem));
    assert_true(description_check(&description, UINT64_MAX, &problem));
    assert_null(problem.text);
}

static void expect_sharing(struct description *description, const char *text, uint32_t partition,
                           uint64_t value)
{
    const struct fault fault = {text, partition, value, {{0, 0, 0}}};

    description_seal(description);
    check(description, &fault, 0);
}

static void test_shared_cores(void **state)
{
    struct description description;
    struct description_vcpu *vcpu = &description.partitions[1].vcpus[0];

    (void)state;
    description_make_shared(&description);
    expect_sharing(&description, NULL, 0, 0);
    vcpu->budget = vcpu->period = DESCRIPTION_PERIOD_MAX;
    expect_sharing(&description, NULL, 0, 0);
    vcpu->period++;
    expect_sharing(&description, TIMES, 1, 0);
    description_make_shared(&description);
    vcpu->period--;
    expect_sharing(&description, TIMES, 1, 0);
    description_make_shared(&description);
    vcpu->budget = 0;
    expect_sharing(&description, TIMES, 1, 0);
    vcpu->budget = vcpu->period + 1;
    expect_sharing(&description, TIMES, 1, 0);
    description_make_shared(&description);
    description.partitions[1].interrupt_mode = DESCRIPTION_INTERRUPT_MODE_DIRECT;
    expect_sharing(&description, DIRECT, 1, 0);
    description_make_shared(&description);
    *vcpu = (struct description_vcpu){.core = 0}; /* one of the two does not say so */
    expect_sharing(&description, VCPU, 1, 0);
    description_make_shared(&description);
    vcpu->server = DESCRIPTION_SERVER_PIBS;
    expect_sharing(&description, NULL, 0, 0);
    vcpu->server = DESCRIPTION_SERVER_DEFERRABLE;
    expect_sharing(&description, NULL, 0, 0);
    vcpu->server = DESCRIPTION_SERVER_DEFERRABLE + 1;
    expect_sharing(&description, SERVER, 1, 0);
    description_make_shared(&description);
    description.board.bandwidth_event = 0x19;
    description.board.bandwidth_counters = 1;
    description.partitions[1].bandwidth =
        (struct description_bandwidth){.events = 100, .window = 100000};
    expect_sharing(&description, LIMITED, 1, 0);
    description_make_weighted(&description);
    vcpu->server = DESCRIPTION_SERVER_PIBS;
    expect_sharing(&description, SERVER, 1, 0);
    description_make_shared(&description);
    description.partitions[0].vcpus[0] = (struct description_vcpu){.core = 0};
    expect_sharing(&description, VCPU, 1, 0);
}

static void give_vcpus(struct description_partition *partition, uint32_t count)
{
    partition->vcpu_count = count;
    for (uint32_t i = 1; i < count; i++) {
        partition->vcpus[i] = partition->vcpus[0];
    }
}

static void test_several_vcpus_on_a_core(void **state)
{
    struct description description;
    struct description_partition *partition = &description.partitions[1];

    (void)state;
    description_make_shared(&description);
    give_vcpus(partition, 2);
    expect_sharing(&description, NULL, 0, 0);
    partition->vcpus[1].shared = 0; /* the core would be its own, too */
    partition->vcpus[1].budget = partition->vcpus[1].period = 0;
    expect_sharing(&description, VCPU, 1, 0);
    description_make(&description);
    partition->vcpus[1].core = partition->vcpus[0].core;
    expect_sharing(&description, VCPU, 1, 1);
}

static void test_vcpus_of_a_core_are_limited(void **state)
{
    struct description description;
    struct description_partition *third = &description.partitions[2];

    (void)state;
    description_make_shared(&description);
    give_vcpus(&description.partitions[0], DESCRIPTION_VCPUS_MAX);
    give_vcpus(&description.partitions[1], DESCRIPTION_VCPUS_MAX);
    expect_sharing(&description, NULL, 0, 0);
    description.partition_count = 3;
    *third = (struct description_partition){
        .name = "third",
        .entry = 0x70000000,
        .devicetree = 0x70000000,
        .interrupt_mode = DESCRIPTION_INTERRUPT_MODE_LISTED,
        .vcpu_count = 1,
        .vcpus = {{.core = 0, .shared = 1, .budget = 1000, .period = 100000}},
        .memory_count = 1,
        .memories = {{0x70000000, 0x70000000, 0x1000, 0, 0}},
    };
    expect_sharing(&description, "too many VCPUs on core", 2, 0);
    third->vcpus[0].core = 3;
    expect_sharing(&description, NULL, 0, 0);
}

/* The machine has four cores. */
static void test_redistributors_of_more_vcpus_than_cores(void **state)
{
    struct description description;
    struct description_partition *partition = &description.partitions[0];
    uint64_t behind;

    (void)state;
    description_make_shared(&description);
    behind = description.cores[3].redistributor + 0x20000;
    partition->devices[0].address = behind;
    give_vcpus(partition, 4);
    expect_sharing(&description, NULL, 0, 0);
    give_vcpus(partition, 5);
    expect_sharing(&description, "two ranges overlap: guest address", 0, behind);
    partition->devices[0].address = behind + 0x20000;
    expect_sharing(&description, NULL, 0, 0);
    give_vcpus(partition, 6);
    expect_sharing(&description, "two ranges overlap: guest address", 0, behind + 0x20000);
}

static void test_cores_shared_by_weights(void **state)
{
    struct description description;
    struct description_vcpu *vcpu = &description.partitions[1].vcpus[0];

    (void)state;
    description_make_weighted(&description);
    expect_sharing(&description, NULL, 0, 0);
    vcpu->weight = DESCRIPTION_WEIGHT_MAX;
    expect_sharing(&description, NULL, 0, 0);
    vcpu->weight++;
    expect_sharing(&description, WEIGHT, 1, 0);
    vcpu->weight = 0;
    expect_sharing(&description, WEIGHT, 1, 0);
    vcpu->weight = UINT32_MAX;
    expect_sharing(&description, WEIGHT, 1, 0);
    description_make_weighted(&description);
    vcpu->slot_interval = 3;
    vcpu->slot_phase = 2;
    expect_sharing(&description, NULL, 0, 0);
    vcpu->slot_phase = 3;
    expect_sharing(&description, SLOTS, 1, 0);
    vcpu->slot_interval = 0;
    expect_sharing(&description, SLOTS, 1, 0);
    description_make_shared(&description);
    vcpu->slot_interval = 1;
    expect_sharing(&description, SLOTS, 1, 0);
    description_make_weighted(&description);
    vcpu->budget = vcpu->period = DESCRIPTION_PERIOD_MAX;
    expect_sharing(&description, TIMES, 1, 0);
    description_make_weighted(&description);
    description.cores[0].quantum = DESCRIPTION_QUANTUM_MAX;
    expect_sharing(&description, NULL, 0, 0);
    description.cores[0].quantum++;
    expect_sharing(&description, QUANTUM, DESCRIPTION_NO_PARTITION, 0);
    description.cores[0].quantum = DESCRIPTION_QUANTUM_MIN - 1;
    expect_sharing(&description, QUANTUM, DESCRIPTION_NO_PARTITION, 0);
    description_make_weighted(&description);
    description.cores[2].quantum = DESCRIPTION_QUANTUM_MIN; /* one partition has it alone */
    description.partitions[1].vcpus[1].weight = 1;
    expect_sharing(&description, UNSHARED, 1, 2);
    description_make_weighted(&description);
    description.cores[3].quantum = DESCRIPTION_QUANTUM_MIN; /* nobody has it */
    expect_sharing(&description, NULL, 0, 0);
}

static void test_room_is_checked_first(void **state)
{
    struct description_problem problem;

    (void)state;
    for (uint64_t room = 0; room < sizeof(struct description); room += 8) {
        struct description *description = malloc(room + 1);

        assert_non_null(description);
        assert_false(description_check(description, room, &problem));
        assert_string_equal(problem.text, "no description: bytes");
        assert_int_equal(problem.value, room);
        free(description);
    }
}

static void test_no_images(void **state)
{
    struct description description;
    struct description_problem problem = {NULL, 0, 0};

    (void)state;
    description_make(&description);
    description.payload = sizeof(description);
    for (uint32_t i = 0; i < description.partition_count; i++) {
        description.partitions[i].image_count = 0;
        memset(description.partitions[i].images, 0, sizeof(description.partitions[i].images));
    }
    description_seal(&description);
    assert_true(description_check(&description, sizeof(description), &problem));
}

static void test_each_damaged_bit_is_detected(void **state)
{
    struct description description;
    struct description_problem problem = {NULL, 0, 0};

    (void)state;
    assert_int_equal(description_crc("123456789", 9), 0xcbf43926);
    description_make(&description);
    for (size_t i = 0; i < sizeof(description); i++) {
        uint8_t *byte = (uint8_t *)&description + i;

        *byte ^= (uint8_t)(1u << i % 8);
        assert_false(description_check(&description, DESCRIPTION_ROOM, &problem));
        if (i >= offsetof(struct description, payload)) {
            assert_string_equal(problem.text, DAMAGED);
        }
        *byte ^= (uint8_t)(1u << i % 8);
    }
    assert_true(description_check(&description, DESCRIPTION_ROOM, &problem));
}

static void fill(struct description_partition *partition, uint32_t index, uint64_t page)
{
    memset(partition, 0, sizeof(*partition));
    partition->name[0] = (char)('a' + index);
    partition->vcpu_count = DESCRIPTION_CORES_MAX / DESCRIPTION_PARTITIONS_MAX;
    for (uint32_t i = 0; i < partition->vcpu_count; i++) {
        partition->vcpus[i].core = index + i * DESCRIPTION_PARTITIONS_MAX;
    }
    partition->memory_count = DESCRIPTION_MEMORIES_MAX;
    partition->device_count = DESCRIPTION_DEVICES_MAX;
    partition->image_count = DESCRIPTION_IMAGES_MAX;
    partition->function_count = DESCRIPTION_FUNCTIONS_MAX;
    for (uint32_t i = 0; i < DESCRIPTION_MEMORIES_MAX; i++, page += 0x1000) {
        partition->memories[i] = (struct description_memory){page, page, 0x1000, 0, 0};
        partition->images[i] = (struct description_image){DESCRIPTION_FIRST_IMAGE, page, 1};
    }
    for (uint32_t i = 0; i < DESCRIPTION_DEVICES_MAX; i++, page += 0x1000) {
        partition->devices[i] = (struct description_device){page, 0x1000};
    }
    for (uint32_t i = 0; i < DESCRIPTION_FUNCTIONS_MAX; i++) {
        partition->functions[i].address = (uint16_t)(8 * index + i);
    }
    partition->entry = partition->memories[0].guest;
    partition->devicetree = partition->memories[DESCRIPTION_MEMORIES_MAX - 1].guest;
    partition->pci_memory = page;
    partition->pci_memory_bytes = 0x1000;
    partition->pci_io = 0x3eff0000 + index * UINT64_C(0x1000);
    partition->pci_io_bytes = 0x1000;
}

/* If every list is full, the checker's own lists must have room too. */
static void test_all_lists_full(void **state)
{
    struct description description;
    struct description_problem problem = {NULL, 0, 0};

    (void)state;
    description_make(&description);
    description.core_count = DESCRIPTION_CORES_MAX;
    description.partition_count = DESCRIPTION_PARTITIONS_MAX;
    for (uint32_t i = 0; i < DESCRIPTION_CORES_MAX; i++) {
        description.cores[i] = (struct description_core){
            .affinity = i, .redistributor = 0x80a0000 + i * UINT64_C(0x20000)};
    }
    for (uint32_t i = 0; i < DESCRIPTION_PARTITIONS_MAX; i++) {
        fill(&description.partitions[i], i, (i + 1) * UINT64_C(0x100000));
    }
    description_seal(&description);
    assert_true(description_check(&description, DESCRIPTION_ROOM, &problem));
    description.partitions[7].devicetree = 0x10;
    description_seal(&description);
    assert_false(description_check(&description, DESCRIPTION_ROOM, &problem));
    assert_string_equal(problem.text, TREE);
    description.partitions[7].pci_io = description.partitions[0].pci_io;
    description_seal(&description);
    assert_false(description_check(&description, DESCRIPTION_ROOM, &problem));
    assert_string_equal(problem.text, PHYSICAL);
    assert_int_equal(problem.partition, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_description),
        cmocka_unit_test(test_each_rule),
        cmocka_unit_test(test_each_rule_of_moves),
        cmocka_unit_test(test_names_differ),
        cmocka_unit_test(test_shared_cores),
        cmocka_unit_test(test_several_vcpus_on_a_core),
        cmocka_unit_test(test_vcpus_of_a_core_are_limited),
        cmocka_unit_test(test_redistributors_of_more_vcpus_than_cores),
        cmocka_unit_test(test_cores_shared_by_weights),
        cmocka_unit_test(test_room_is_checked_first),
        cmocka_unit_test(test_no_images),
        cmocka_unit_test(test_each_damaged_bit_is_detected),
        cmocka_unit_test(test_all_lists_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
