/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_gic.h"

#include "arch/mmu.h"
#include "gic/cpu_interface.h"
#include "gic/gic_registers.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "kernel/sync.h"
#include <arch/device_access.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISTRIBUTOR    0x08000000u
#define ITS            0x08080000u
#define REDISTRIBUTORS 0x080a0000u

#define COMMAND_MAPD    0x08u
#define ITT_ENTRY_BYTES 12u

struct fake_gic fake;

static _Noreturn void broken(const char *rule, uintptr_t address)
{
    (void)fprintf(stderr, "rule broken: %s (%#lx)\n", rule, (unsigned long)address);
    abort();
}

static void require(bool holds, const char *rule, uintptr_t address)
{
    if (!holds) {
        broken(rule, address);
    }
}

void fake_reset(void)
{
    memset(&fake, 0, sizeof(fake));
    fake.page_size = 3;
    fake.pages_left = SIZE_MAX;
    fake.distributor_control = GICD_CTLR_AFFINITY_ROUTING;
    fake.sleeping = GICR_WAKER_PROCESSOR_SLEEP | GICR_WAKER_CHILDREN_ASLEEP;
    fake.its_control = GITS_CTLR_QUIESCENT;
}

/* The registers that Distributor and SGI frame have alike; `first` is the frame's first register
 * number. */
static uint32_t *bits_at(uint32_t offset, unsigned *kind)
{
    static uint32_t *const files[] = {fake.groups,  fake.enabled, fake.enabled, fake.pending,
                                      fake.pending, fake.active,  fake.active};

    if (offset < GIC_IGROUPR || offset >= GIC_IPRIORITYR) {
        return NULL;
    }
    *kind = (offset - GIC_IGROUPR) / 0x80;
    return &files[*kind][offset % 0x80 / 4];
}

static bool write_interrupt(uint32_t offset, uint32_t value)
{
    unsigned kind;
    uint32_t *bits = bits_at(offset, &kind);

    if (offset >= GIC_ICFGR && offset < GIC_ICFGR + 0x100) {
        uint32_t *trigger = &fake.triggers[(offset - GIC_ICFGR) / 4];

        for (unsigned index = 0; index < 16; index++) {
            unsigned number = (offset - GIC_ICFGR) * 4 + index;

            require(((*trigger ^ value) >> 2 * index & 3) == 0 ||
                        (fake.enabled[number / 32] >> number % 32 & 1) == 0,
                    "the trigger of an enabled interrupt is not changed", offset);
        }
        *trigger = value;
        return true;
    }
    if (bits == NULL) {
        return false;
    }
    if (kind == 0) {
        *bits = value;
    } else if (kind % 2 == 1) {
        *bits |= value;
    } else {
        *bits &= ~value;
    }
    return true;
}

static bool read_interrupt(uint32_t offset, uint32_t *value)
{
    unsigned kind;
    uint32_t *bits = bits_at(offset, &kind);

    if (offset >= GIC_ICFGR && offset < GIC_ICFGR + 0x100) {
        *value = fake.triggers[(offset - GIC_ICFGR) / 4];
        return true;
    }
    if (bits != NULL) {
        *value = *bits;
    }
    return bits != NULL;
}

static uint32_t read_distributor(uint32_t offset)
{
    uint32_t value;

    if (offset == GICD_CTLR) {
        return fake.distributor_control | (fake.never_settles ? GICD_CTLR_WRITE_PENDING : 0);
    }
    if (offset == GICD_TYPER) {
        return 8 | (fake.no_lpis ? 0 : GICD_TYPER_LPIS) | 15u << 19; /* 288 numbers, 16 bits */
    }
    if (!read_interrupt(offset, &value)) {
        broken("an unknown register is read", DISTRIBUTOR + offset);
    }
    return value;
}

static void write_distributor(uint32_t offset, uint32_t value)
{
    if (offset == GICD_CTLR) {
        bool routing = (value & GICD_CTLR_AFFINITY_ROUTING) != 0;

        require(routing == ((fake.distributor_control & GICD_CTLR_AFFINITY_ROUTING) != 0) ||
                    ((fake.distributor_control | value) & 3) == 0,
                "affinity routing is changed only while all groups are off", offset);
        fake.distributor_control_before = fake.distributor_control;
        fake.distributor_control = value;
    } else if (!write_interrupt(offset, value)) {
        broken("an unknown register is written", DISTRIBUTOR + offset);
    }
}

static unsigned redistributor_bytes(void)
{
    return fake.virtual_lpis ? 0x40000 : 0x20000;
}

static uint32_t read_redistributor(uint32_t offset)
{
    unsigned position = offset / redistributor_bytes();
    uint32_t value;

    offset %= redistributor_bytes();
    if (offset == GICR_TYPER) {
        return (fake.no_lpis ? 0 : GICR_TYPER_PHYSICAL_LPIS) |
               (fake.virtual_lpis ? GICR_TYPER_VIRTUAL_LPIS : 0) | position << 8 |
               (position == FAKE_CORES - 1 ? GICR_TYPER_LAST : 0);
    }
    if (offset == GICR_TYPER + 4) {
        uint32_t own = (uint32_t)(fake.affinity >> 8 & 0xFF000000) | (fake.affinity & 0xFFFFFF);

        return position == fake.position ? own : 0xEE0000 + position;
    }
    require(position == fake.position, "other cores' frames are not touched", offset);
    switch (offset) {
    case GICR_CTLR:
        return fake.redistributor_control | (fake.never_settles ? GICR_CTLR_WRITE_PENDING : 0);
    case GICR_WAKER:
        return fake.sleeping;
    default:
        break;
    }
    if (offset < GIC_FRAME_BYTES || !read_interrupt(offset - GIC_FRAME_BYTES, &value)) {
        broken("an unknown register is read", REDISTRIBUTORS + offset);
    }
    return value;
}

static void write_redistributor(uint32_t offset, uint32_t value)
{
    require(offset / redistributor_bytes() == fake.position, "other cores' frames are not touched",
            offset);
    offset %= redistributor_bytes();
    if (offset == GICR_CTLR) {
        if (fake.lpis_stay_enabled) {
            value |= GICR_CTLR_ENABLE_LPIS;
        }
        fake.redistributor_control = value;
    } else if (offset == GICR_WAKER) {
        fake.sleeping = value & ~(fake.never_wakes ? 0 : GICR_WAKER_CHILDREN_ASLEEP);
    } else if (offset < GIC_FRAME_BYTES || !write_interrupt(offset - GIC_FRAME_BYTES, value)) {
        broken("an unknown register is written", REDISTRIBUTORS + offset);
    }
}

/* MAPD with its valid bit: the ITS owns the interrupt translation table from now on, and writes to
 * it. */
static void map_device(const uint64_t *command)
{
    uint8_t *table = (uint8_t *)(uintptr_t)(command[2] & 0xFFFFFFFFFFF00);
    size_t entries = (size_t)1 << ((command[1] & 0x1F) + 1);

    if (command[2] >> 63 != 0) {
        memset(table, 0, entries * ITT_ENTRY_BYTES);
    }
}

/* Carries out what stands in the queue between reader and writer, `most` commands of it. */
static void run_commands(bool retry, unsigned most)
{
    const uint64_t *queue = (const uint64_t *)(uintptr_t)(fake.its_queue & 0xFFFFFFFFFF000);
    uint64_t bytes = ((fake.its_queue & 0xFF) + 1) * 4096;

    if ((fake.its_control & GITS_CTLR_ENABLED) == 0 || fake.its_deaf) {
        return;
    }
    if (retry) {
        fake.its_reader &= ~GITS_CREADR_STALLED;
    }
    for (unsigned count = 0; count < most && (fake.its_reader & GITS_CREADR_STALLED) == 0 &&
                             fake.its_reader != fake.its_writer;
         count++) {
        const uint64_t *command = queue + fake.its_reader / 8;

        if ((command[0] & 0xFF) == fake.stalls_on && fake.stalls_on != 0) {
            fake.its_reader |= GITS_CREADR_STALLED;
            return;
        }
        require(fake.command_count < FAKE_COMMANDS_MAX, "commands end", 0);
        memcpy(fake.commands[fake.command_count++], command, 32);
        if ((command[0] & 0xFF) == COMMAND_MAPD) {
            map_device(command);
        }
        fake.its_reader = (fake.its_reader + 32) % bytes;
    }
}

static uint64_t table_value(uint64_t old, uint64_t value)
{
    if (fake.not_coherent) {
        value &= ~GIC_SHAREABILITY;
    }
    if (fake.page_size != 3) {
        value = (value & ~UINT64_C(0x300)) | (uint64_t)fake.page_size << 8;
    }
    /* Type and entry size are the ITS's own. */
    return (value & ~UINT64_C(0x071F000000000000)) | (old & UINT64_C(0x071F000000000000));
}

static uint64_t its_type(void)
{
    return 1 | (fake.target_is_address ? GITS_TYPER_PTA : 0) | (ITT_ENTRY_BYTES - 1) << 4 |
           15u << 8 | 15u << 13 | (uint64_t)fake.held_collections << 24;
}

static uint64_t its_table(unsigned index)
{
    uint64_t type = index == 0 ? GITS_BASER_DEVICES : index == 1 ? GITS_BASER_COLLECTIONS : 0;

    return fake.its_tables[index] | type << 56 | UINT64_C(7) << 48;
}

static uint64_t read_its(uint32_t offset)
{
    switch (offset) {
    case GITS_CTLR:
        return fake.its_control;
    case GITS_TYPER:
        return its_type();
    case GITS_CBASER:
        return fake.its_queue;
    case GITS_CREADR:
        fake.its_waited++;
        if (fake.its_delay != 0 && fake.its_waited >= fake.its_delay) {
            fake.its_waited = 0;
            run_commands(false, 1);
        }
        return fake.its_reader;
    default:
        require(offset >= GITS_BASER && offset < GITS_BASER + 64, "an unknown register is read",
                ITS + offset);
        return its_table((offset - GITS_BASER) / 8);
    }
}

static void write_its(uint32_t offset, uint64_t value)
{
    if (offset == GITS_CTLR) {
        fake.its_control = (uint32_t)value & GITS_CTLR_ENABLED;
        fake.its_control |= fake.its_control == 0 ? GITS_CTLR_QUIESCENT : 0;
    } else if (offset == GITS_CWRITER) {
        fake.its_writer = value & ~GITS_CWRITER_RETRY;
        run_commands((value & GITS_CWRITER_RETRY) != 0, fake.its_delay == 0 ? UINT32_MAX : 0);
    } else {
        require(fake.its_control == GITS_CTLR_QUIESCENT, "tables change while the ITS is at rest",
                ITS + offset);
        if (offset == GITS_CBASER) {
            require((value & 0xF000) == 0, "the queue is aligned to 64 KiB", offset);
            fake.its_queue = fake.not_coherent ? value & ~GIC_SHAREABILITY : value;
            fake.its_reader = 0;
        } else {
            unsigned index = (offset - GITS_BASER) / 8;

            require(offset >= GITS_BASER && index < 8, "an unknown register is written",
                    ITS + offset);
            fake.its_tables[index] = table_value(0, value);
        }
    }
}

uint32_t device_read32(uintptr_t address)
{
    fake.accesses++;
    if (address >= REDISTRIBUTORS) {
        return read_redistributor((uint32_t)(address - REDISTRIBUTORS));
    }
    return address >= ITS ? (uint32_t)read_its((uint32_t)(address - ITS))
                          : read_distributor((uint32_t)(address - DISTRIBUTOR));
}

void device_write32(uintptr_t address, uint32_t value)
{
    fake.accesses++;
    if (fake.ignores_writes) {
        return;
    }
    if (address >= REDISTRIBUTORS) {
        write_redistributor((uint32_t)(address - REDISTRIBUTORS), value);
    } else if (address >= ITS) {
        write_its((uint32_t)(address - ITS), value);
    } else {
        write_distributor((uint32_t)(address - DISTRIBUTOR), value);
    }
}

static uint64_t *table_register(uintptr_t address)
{
    uintptr_t frame = REDISTRIBUTORS + (uintptr_t)fake.position * redistributor_bytes();

    return address == frame + GICR_PROPBASER   ? &fake.configuration_table
           : address == frame + GICR_PENDBASER ? &fake.pending_table
                                               : NULL;
}

uint64_t device_read64(uintptr_t address)
{
    const uint64_t *table = table_register(address);

    fake.accesses++;
    return table != NULL ? *table : read_its((uint32_t)(address - ITS));
}

void device_write64(uintptr_t address, uint64_t value)
{
    uint64_t *table = table_register(address);

    fake.accesses++;
    if (fake.ignores_writes) {
        return;
    }
    if (table != NULL) {
        require((fake.redistributor_control & GICR_CTLR_ENABLE_LPIS) == 0,
                "table registers change while LPIs are off", address);
        *table = fake.not_coherent ? value & ~GIC_SHAREABILITY : value;
    } else if (address >= ITS) {
        write_its((uint32_t)(address - ITS), value);
    } else {
        require(address >= DISTRIBUTOR + GICD_IROUTER + 32 * 8, "an unknown register is written",
                address);
        fake.routes[(address - DISTRIBUTOR - GICD_IROUTER) / 8] = value;
    }
}

void device_write8(uintptr_t address, uint8_t value)
{
    uintptr_t own =
        REDISTRIBUTORS + (uintptr_t)fake.position * redistributor_bytes() + GIC_FRAME_BYTES;
    uintptr_t frame = address >= REDISTRIBUTORS ? own : DISTRIBUTOR;

    fake.accesses++;
    require(address - frame >= GIC_IPRIORITYR && address - frame < GIC_IPRIORITYR + 1020,
            "an unknown register is written", address);
    if (!fake.ignores_writes) {
        fake.priorities[address - frame - GIC_IPRIORITYR] = value;
    }
}

void device_publish(void)
{
}

void device_publish_uncached(const void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
    fake.cleaned++;
}

bool gic_cpu_use_system_registers(void)
{
    return !fake.legacy;
}

void gic_cpu_start(uint8_t priority_mask)
{
    fake.started = priority_mask;
}

uint32_t gic_cpu_acknowledge(void)
{
    return fake.to_acknowledge;
}

void gic_cpu_end(uint32_t number)
{
    fake.ended = number;
}

uint64_t gic_cpu_affinity(void)
{
    return fake.affinity;
}

uintptr_t arch_mmu_map_device(uint64_t address, size_t bytes)
{
    (void)bytes;
    return (uintptr_t)address;
}

void *page_allocate(size_t count, size_t alignment)
{
    if (count > fake.pages_left) {
        return NULL;
    }
    fake.pages_left -= fake.pages_left == SIZE_MAX ? 0 : count;
    return aligned_alloc(alignment, count * PAGE_BYTES +
                                        (alignment - count * PAGE_BYTES % alignment) % alignment);
}

void page_free(void *memory, size_t count)
{
    fake.pages_left += fake.pages_left == SIZE_MAX ? 0 : count;
    free(memory);
}

void *heap_allocate(size_t bytes)
{
    return malloc(bytes);
}

void *heap_allocate_aligned(size_t bytes, size_t alignment)
{
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void heap_free(void *memory)
{
    free(memory);
}

struct thread {
    int unused;
};

static struct thread holder;

void mutex_init(struct mutex *mutex)
{
    mutex->owner = NULL;
}

enum result mutex_lock(struct mutex *mutex, uint64_t deadline)
{
    (void)deadline;
    require(mutex->owner == NULL, "the mutex is free", 0);
    mutex->owner = &holder;
    return RESULT_OK;
}

enum result mutex_unlock(struct mutex *mutex)
{
    mutex->owner = NULL;
    return RESULT_OK;
}

interrupt_state interrupts_save(void)
{
    interrupt_state state = fake.masked ? 1 : 0;

    if (!fake.masked) {
        fake.masked = true;
        fake.masked_before = fake.accesses;
    }
    return state;
}

void interrupts_restore(interrupt_state state)
{
    unsigned count = fake.accesses - fake.masked_before;

    if (state == 0 && fake.masked) {
        fake.masked = false;
        fake.masked_accesses = count > fake.masked_accesses ? count : fake.masked_accesses;
    }
}

void print(const char *format, ...)
{
    (void)format;
    fake.messages++;
}
