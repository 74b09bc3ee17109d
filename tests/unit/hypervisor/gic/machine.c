/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/distributor.h"
#include "gic/redistributor.h"
#include "gic/setup.h"
#include "gic/system_registers.h"
#include "machine.h"
#include "scheduler/scheduler.h"
#include <devices/gic_registers.h>
#include <string.h>

#define PRIVATE_GUEST (~(1u << 15 | 1u << 25 | 1u << 26 | 1u << 28))

struct machine *machine;
struct description machine_system;
struct partition machine_partition;
struct vcpu machine_vcpu;

static const uint64_t affinities[MACHINE_CORES] = {0, 1, 2, MACHINE_FAR_AFFINITY, 0x100};

uint64_t machine_redistributor(unsigned core)
{
    return GIC_MODEL_REDISTRIBUTORS + REDISTRIBUTOR_BYTES * core;
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
    machine_system.board.hypervisor = UINT64_C(0x40000000);
    machine_system.board.hypervisor_bytes = UINT64_C(0x800000);
    machine_system.board.distributor = GIC_MODEL_DISTRIBUTOR;
    machine_system.board.uart_interrupt = MACHINE_UART;
    machine_system.board.smmu_interrupt = MACHINE_SMMU;
    for (uint32_t i = 0; i < MACHINE_CORES; i++) {
        machine_system.cores[i] = (struct description_core){
            .affinity = affinities[i],
            .redistributor = machine_redistributor(i),
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
    partitions[0].vcpu_count = 3; /* its guest sees affinities 0, 1 and 2 */
    partitions[0].vcpus[0].core = 1;
    partitions[0].vcpus[1].core = 0;
    partitions[0].vcpus[2].core = 3;
    partitions[1].vcpu_count = 1;
    partitions[1].vcpus[0].core = 2;
}

static void require(bool holds, const char *rule, const struct gic_access *access)
{
    gic_model_require(holds, rule, access->address);
}

static void guard_bank(const struct gic_access *access, const uint32_t *owned)
{
    uint32_t offset = access->offset;

    if (offset >= GIC_IPRIORITYR && offset < GIC_ICFGR) {
        uint32_t interrupt = offset - GIC_IPRIORITYR;
        uint64_t least = machine_partition.constant.is_listed ? 0x10 : 0x80;

        require((owned[interrupt / 32] >> interrupt % 32 & 1) != 0,
                "others' priorities are not written", access);
        require(access->value >= least, "a guest's priority is below the hypervisor's", access);
        return;
    }
    require(offset < GIC_ICFGR, "triggers stay", access);
    require(offset >= GIC_ISENABLER, "groups stay", access);
    require((access->value & ~owned[offset % 0x80 / 4]) == 0, "others' bits are not written",
            access);
}

static void guard_route(const struct gic_access *access)
{
    uint32_t interrupt = (access->offset - GICD_IROUTER) / 8;

    require(partition_owns_interrupt(&machine_partition, interrupt),
            "others' routes are not written", access);
    require(access->value == affinities[0] || access->value == affinities[1] ||
                access->value == affinities[3],
            "routes lead to the partition's cores", access);
}

static void guard_write(const struct gic_access *access)
{
    static const uint32_t private_owned[32] = {PRIVATE_GUEST};

    require(access->frame != GIC_REDISTRIBUTOR, "a Redistributor's own registers stay", access);
    if (access->frame == GIC_PRIVATE) {
        guard_bank(access, private_owned);
    } else if (access->offset >= GICD_IROUTER) {
        guard_route(access);
    } else {
        require(access->offset != GICD_CTLR, "GICD_CTLR stays", access);
        guard_bank(access, machine_partition.constant.described->interrupts);
    }
}

static void watch(const struct gic *gic, const struct gic_access *access)
{
    bool private = access->frame == GIC_REDISTRIBUTOR || access->frame == GIC_PRIVATE;

    (void)gic;
    require(access->frame != GIC_ITS, "the ITS is not touched", access);
    require(access->frame != GIC_REDISTRIBUTOR || !access->write || access->offset == GICR_WAKER ||
                (access->offset == GICR_CTLR && (access->value & GICR_CTLR_ENABLE_LPIS) == 0),
            "of a Redistributor's own registers WAKER alone is written, and CTLR to stop LPIs",
            access);
    if (!machine->guarded) {
        return;
    }
    require(!private || access->core == 0 || access->core == 1 || access->core == 3,
            "others' Redistributors are not touched", access);
    if (access->write) {
        guard_write(access);
    }
}

void machine_reset(struct machine *made)
{
    struct gic *gic = &made->gic;

    memset(made, 0, sizeof(*made));
    gic_model_reset(gic, MACHINE_CORES);
    gic->type = 31 | 1u << 8 | 1u << 9 | 3u << 11 | 1u << 16 | GICD_TYPER_LPIS | 1u << 18 |
                15u << 19 | 1u << 24 | 7u << 27;
    gic->redistributor_type = 0xff0000ff; /* as a GICv4 with every option */
    gic->watch = watch;
    for (unsigned core = 0; core < MACHINE_CORES; core++) {
        gic->redistributors[core].control = 0x07000006;
    }
    describe();
    memset(&machine_partition, 0, sizeof(machine_partition));
    machine_partition.constant.system = &machine_system;
    machine_partition.constant.described = &machine_system.partitions[0];
    machine_partition.constant.interrupts = machine_system.partitions[0].interrupts;
    machine_vcpu = (struct vcpu){.partition = &machine_partition};
    interface_reset(&made->interface);
    machine = made;
}

/* The GIC, with the affinities that it has now. */
struct gic *gic_model_in_use(void)
{
    for (unsigned core = 0; core < MACHINE_CORES; core++) {
        machine->gic.redistributors[core].affinity =
            affinities[core] ^ (machine->other_affinity ? 0x40 : 0);
    }
    return &machine->gic;
}

void gic_registers_reset(void)
{
    machine->resets++;
}

uint64_t gic_registers_hide_active(void)
{
    uint64_t active = machine->active;

    machine->active = 0;
    return active;
}

void gic_registers_restore_active(uint64_t active)
{
    machine->active = active;
}

bool gic_registers_start(void)
{
    machine->starts++;
    return !machine->legacy;
}

void gic_registers_enable_group0(void)
{
    machine->has_group0 = true;
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
    gic_model_require(machine->group0_count < MACHINE_SENT_MAX, "messages end", 0);
    machine->group0[machine->group0_count++] = value;
}

void gic_registers_send_group1(uint64_t value)
{
    gic_model_require(machine->group1_count < MACHINE_SENT_MAX, "messages end", 0);
    machine->group1[machine->group1_count++] = value;
}

void machine_reset_partition(void)
{
    enum step_outcome outcome;
    uint32_t word = 0;

    do {
        outcome = gic_reset_partition(&machine_partition, &word);
        assert_int_not_equal(outcome, STEP_FAILED);
    } while (outcome != STEP_DONE);
}

uint64_t machine_distributor_access(struct access access, enum access_result result)
{
    interface_synchronize();
    assert_int_equal(distributor_access(&machine_vcpu, &access), result);
    return access.value;
}

uint64_t machine_redistributor_access(unsigned place, struct access access,
                                      enum access_result result)
{
    uint64_t address = machine_redistributor(place) + access.offset;

    interface_synchronize();
    assert_int_equal(redistributor_access(&machine_vcpu, address, &access), result);
    return access.value;
}
