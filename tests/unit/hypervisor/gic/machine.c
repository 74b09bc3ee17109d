/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/distributor.h"
#include "gic/gic_registers.h"
#include "gic/redistributor.h"
#include "gic/system_registers.h"
#include "machine.h"
#include <arch/device_access.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRIVATE_GUEST (~(1u << 15 | 1u << 25 | 1u << 26 | 1u << 28))

struct machine *machine;
struct description machine_system;
struct partition machine_partition;

static const uint64_t affinities[MACHINE_CORES] = {0, 1, 2, MACHINE_FAR_AFFINITY, 0x100};
static const uint32_t owners[MACHINE_CORES] = {0, 0, 1, 0, DESCRIPTION_NO_PARTITION};

static void require(bool holds, const char *rule, uintptr_t address)
{
    if (!holds) {
        (void)fprintf(stderr, "rule broken: %s (%#lx)\n", rule, (unsigned long)address);
        abort();
    }
}

uint64_t machine_redistributor(unsigned core)
{
    return MACHINE_REDISTRIBUTORS + REDISTRIBUTOR_BYTES * core;
}

uint64_t machine_sgi_target(unsigned core)
{
    uint64_t affinity = affinities[core];

    return (affinity >> 32) << 48 | (affinity >> 16 & 0xff) << 32 | (affinity >> 8 & 0xff) << 16 |
           (affinity >> 4 & 0xf) << 44 | UINT64_C(1) << (affinity & 0xf);
}

static void give(uint32_t *words, uint32_t interrupt)
{
    words[interrupt / 32] |= UINT32_C(1) << interrupt % 32;
}

static void describe(void)
{
    static const uint32_t first[] = {33, 40, 63, 64, 1019}, second[] = {34, 41, 65};
    struct description_partition *partitions = machine_system.partitions;

    memset(&machine_system, 0, sizeof(machine_system));
    machine_system.core_count = MACHINE_CORES;
    machine_system.partition_count = 2;
    machine_system.board.distributor = MACHINE_DISTRIBUTOR;
    machine_system.board.uart_interrupt = MACHINE_UART;
    machine_system.board.smmu_interrupt = MACHINE_SMMU;
    for (uint32_t i = 0; i < MACHINE_CORES; i++) {
        machine_system.cores[i] = (struct description_core){
            .affinity = affinities[i],
            .redistributor = machine_redistributor(i),
            .partition = owners[i],
        };
    }
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
        give(partitions[0].interrupts, first[i]);
    }
    for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++) {
        give(partitions[1].interrupts, second[i]);
    }
    give(partitions[0].edges, 40);
    give(partitions[1].edges, 41);
    partitions[0].boot_core = 1;
    partitions[1].boot_core = 2;
}

void machine_reset(struct machine *made)
{
    memset(made, 0, sizeof(*made));
    made->type = 31 | 1u << 8 | 1u << 9 | 3u << 11 | 1u << 16 | GICD_TYPER_LPIS | 1u << 18 |
                 15u << 19 | 1u << 24 | 7u << 27;
    for (unsigned core = 0; core < MACHINE_CORES; core++) {
        made->waker[core] = GICR_WAKER_PROCESSOR_SLEEP | GICR_WAKER_CHILDREN_ASLEEP;
    }
    describe();
    memset(&machine_partition, 0, sizeof(machine_partition));
    machine_partition.system = &machine_system;
    machine_partition.described = &machine_system.partitions[0];
    machine = made;
}

/* The bank, and the register's place in it; NULL: neither Distributor nor SGI frame. */
static struct machine_bank *bank_at(uintptr_t address, uint32_t *offset, const uint32_t **owned)
{
    static const uint32_t private_owned[32] = {PRIVATE_GUEST};

    if (address < MACHINE_REDISTRIBUTORS) {
        *offset = (uint32_t)(address - MACHINE_DISTRIBUTOR);
        *owned = machine_partition.described->interrupts;
        return &machine->distributor;
    }
    *offset = (uint32_t)((address - MACHINE_REDISTRIBUTORS) % REDISTRIBUTOR_BYTES);
    *owned = private_owned;
    if (*offset < GIC_FRAME_BYTES) {
        return NULL;
    }
    *offset -= GIC_FRAME_BYTES;
    return &machine->private[(address - MACHINE_REDISTRIBUTORS) / REDISTRIBUTOR_BYTES];
}

static uint32_t *bits_at(struct machine_bank *bank, uint32_t offset, unsigned *kind)
{
    uint32_t *const files[] = {bank->groups,  bank->enabled, bank->enabled, bank->pending,
                               bank->pending, bank->active,  bank->active};

    if (offset < GIC_IGROUPR || offset >= GIC_IPRIORITYR) {
        return NULL;
    }
    *kind = (offset - GIC_IGROUPR) / 0x80;
    return &files[*kind][offset % 0x80 / 4];
}

static void check_address(uintptr_t address, unsigned bytes)
{
    require(address % bytes == 0, "accesses are aligned", address);
    require(
        (address >= MACHINE_DISTRIBUTOR && address < MACHINE_DISTRIBUTOR + GIC_FRAME_BYTES) ||
            (address >= MACHINE_REDISTRIBUTORS && address < machine_redistributor(MACHINE_CORES)),
        "accesses are to the GIC", address);
    if (machine->guarded && address >= MACHINE_REDISTRIBUTORS) {
        require(owners[(address - MACHINE_REDISTRIBUTORS) / REDISTRIBUTOR_BYTES] == 0,
                "others' Redistributors are not touched", address);
    }
}

static uint32_t read_bank(struct machine_bank *bank, uint32_t offset, uintptr_t address)
{
    unsigned kind;
    uint32_t value;
    const uint32_t *bits = bits_at(bank, offset, &kind);

    if (bits != NULL) {
        return *bits;
    }
    if (offset >= GIC_ICFGR && offset < GIC_ICFGR + 0x100) {
        return bank->triggers[(offset - GIC_ICFGR) / 4];
    }
    require(offset >= GIC_IPRIORITYR && offset < GIC_IPRIORITYR + 0x400, "known registers are read",
            address);
    memcpy(&value, &bank->priorities[offset - GIC_IPRIORITYR], sizeof(value));
    return value;
}

static uint32_t read_frame(uintptr_t address)
{
    uint32_t core = (uint32_t)((address - MACHINE_REDISTRIBUTORS) / REDISTRIBUTOR_BYTES);
    uint64_t affinity = affinities[core] ^ (machine->other_affinity ? 0x40 : 0);

    switch (address % GIC_FRAME_BYTES) {
    case GICR_CTLR:
        return 0x07000006 | (machine->busy_redistributors ? GICR_CTLR_WRITE_PENDING : 0);
    case GICR_IIDR:
        return 0x43b;
    case GICR_TYPER:
        /* As a GICv4 with every option. */
        return 0xff0000ff | core << 8;
    case GICR_TYPER + 4:
        return (uint32_t)(affinity >> 32 << 24) | (uint32_t)affinity;
    case GICR_WAKER:
        return machine->waker[core];
    default:
        require(address % GIC_FRAME_BYTES >= 0xffd0, "known registers are read", address);
        return 0x3b;
    }
}

uint32_t device_read32(uintptr_t address)
{
    uint32_t offset;
    const uint32_t *owned;
    struct machine_bank *bank = bank_at(address, &offset, &owned);

    check_address(address, 4);
    machine->reads++;
    if (bank == NULL) {
        return read_frame(address);
    }
    if (bank == &machine->distributor) {
        switch (offset) {
        case GICD_CTLR:
            return machine->control | (machine->two_securities ? 0 : GICD_CTLR_ONE_SECURITY) |
                   (machine->never_settles ? GICD_CTLR_WRITE_PENDING : 0);
        case GICD_TYPER:
            return machine->type;
        case GICD_IIDR:
            return 0x43b;
        case GICD_IIDR + 4:
            return 0; /* TYPER2 */
        default:
            break;
        }
        if (offset >= GIC_PIDR) {
            return 0x3b;
        }
    }
    return read_bank(bank, offset, address);
}

uint8_t device_read8(uintptr_t address)
{
    return (uint8_t)(device_read32(address & ~(uintptr_t)3) >> address % 4 * 8);
}

uint64_t device_read64(uintptr_t address)
{
    uintptr_t interrupt = (address - MACHINE_DISTRIBUTOR - GICD_IROUTER) / 8;

    check_address(address, 8);
    require(interrupt >= 32 && interrupt < 1020, "known registers are read", address);
    machine->reads++;
    return machine->routes[interrupt];
}

static void write_bank(struct machine_bank *bank, uint32_t offset, uint32_t value,
                       const uint32_t *owned, uintptr_t address)
{
    unsigned kind;
    uint32_t *bits = bits_at(bank, offset, &kind);

    if (bits == NULL) {
        require(offset >= GIC_ICFGR && offset < GIC_ICFGR + 0x100, "known registers are written",
                address);
        require(!machine->guarded, "triggers stay", address);
        bank->triggers[(offset - GIC_ICFGR) / 4] = value;
        return;
    }
    require(!machine->guarded || kind > 0, "groups stay", address);
    require(!machine->guarded || (value & ~owned[offset % 0x80 / 4]) == 0,
            "others' bits are not written", address);
    if (kind == 0) {
        *bits = value;
    } else if (kind % 2 == 1) {
        *bits |= value;
    } else {
        *bits &= ~value;
    }
}

static void write_control(uint32_t value, uintptr_t address)
{
    uint32_t old = machine->control;

    require(!machine->guarded, "GICD_CTLR stays", address);
    if (machine->no_routing) {
        value &= ~GICD_CTLR_AFFINITY_ROUTING;
    }
    require(((old ^ value) & GICD_CTLR_AFFINITY_ROUTING) == 0 || ((old | value) & 3) == 0,
            "affinity routing is changed only while both groups are off", address);
    require((old & ~value & GICD_CTLR_AFFINITY_ROUTING) == 0, "affinity routing stays on", address);
    machine->control = value & (3 | GICD_CTLR_AFFINITY_ROUTING);
}

void device_write32(uintptr_t address, uint32_t value)
{
    uint32_t offset;
    const uint32_t *owned;
    struct machine_bank *bank = bank_at(address, &offset, &owned);

    check_address(address, 4);
    machine->writes++;
    if (bank == NULL) {
        require(offset == GICR_WAKER && !machine->guarded, "known registers are written", address);
        machine->waker[(address - MACHINE_REDISTRIBUTORS) / REDISTRIBUTOR_BYTES] =
            value | (machine->never_wakes ? GICR_WAKER_CHILDREN_ASLEEP : 0);
    } else if (bank == &machine->distributor && offset == GICD_CTLR) {
        write_control(value, address);
    } else {
        write_bank(bank, offset, value, owned, address);
    }
}

void device_write8(uintptr_t address, uint8_t value)
{
    uint32_t offset, interrupt;
    const uint32_t *owned;
    struct machine_bank *bank = bank_at(address, &offset, &owned);

    check_address(address, 1);
    require(bank != NULL && offset >= GIC_IPRIORITYR && offset < GIC_IPRIORITYR + 0x400,
            "known registers are written", address);
    interrupt = offset - GIC_IPRIORITYR;
    if (machine->guarded) {
        require((owned[interrupt / 32] >> interrupt % 32 & 1) != 0,
                "others' priorities are not written", address);
        require(value >= 0x80, "a guest's priority is below the hypervisor's", address);
    }
    machine->writes++;
    bank->priorities[interrupt] = value;
}

void device_write64(uintptr_t address, uint64_t value)
{
    uintptr_t interrupt = (address - MACHINE_DISTRIBUTOR - GICD_IROUTER) / 8;

    check_address(address, 8);
    require(interrupt >= 32 && interrupt < 1020, "known registers are written", address);
    if (machine->guarded) {
        require(partition_owns_interrupt(&machine_partition, (uint32_t)interrupt),
                "others' routes are not written", address);
        require(value == affinities[0] || value == affinities[1] || value == affinities[3],
                "routes lead to the partition's cores", address);
    }
    machine->writes++;
    machine->routes[interrupt] = value;
}

void device_publish(void)
{
}

void gic_registers_reset(void)
{
    machine->resets++;
}

bool gic_registers_start(void)
{
    machine->starts++;
    return !machine->legacy;
}

uint32_t gic_registers_acknowledge_group0(void)
{
    return machine->to_acknowledge;
}

void gic_registers_end_group0(uint32_t number)
{
    machine->ended = number;
}

void gic_registers_send_group0(uint64_t value)
{
    require(machine->group0_count < MACHINE_SENT_MAX, "messages end", 0);
    machine->group0[machine->group0_count++] = value;
}

void gic_registers_send_group1(uint64_t value)
{
    require(machine->group1_count < MACHINE_SENT_MAX, "messages end", 0);
    machine->group1[machine->group1_count++] = value;
}

uint64_t machine_distributor_access(struct access access, enum access_result result)
{
    assert_int_equal(distributor_access(&machine_partition, &access), result);
    return access.value;
}

uint64_t machine_redistributor_access(unsigned place, struct access access,
                                      enum access_result result)
{
    uint64_t address = machine_redistributor(place) + access.offset;

    assert_int_equal(redistributor_access(&machine_partition, address, &access), result);
    return access.value;
}
