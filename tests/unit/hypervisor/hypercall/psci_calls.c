/* SPDX-License-Identifier: BSD-2-Clause */
#include "psci_calls.h"

#include "hypercall/psci.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct partition calls_partition;
static struct description calls_system;

void calls_reset(void)
{
    static const uint32_t cores[CALLS_VCPUS] = {0, 1, 3};
    struct description_partition *described = &calls_system.partitions[0];

    calls_system.core_count = CALLS_CORES;
    calls_system.partition_count = 2;
    described->vcpu_count = CALLS_VCPUS;
    for (unsigned i = 0; i < CALLS_VCPUS; i++) {
        described->vcpus[i].core = cores[i];
    }
    described->memory_count = 2;
    described->memories[0] = (struct description_memory){
        .guest = CALLS_MEMORY, .physical = 0x50000000, .bytes = CALLS_MEMORY_BYTES};
    described->memories[1] = (struct description_memory){
        .guest = CALLS_SECOND_MEMORY, .physical = 0x60000000, .bytes = CALLS_MEMORY_BYTES};
    described->device_count = 1;
    described->devices[0] = (struct description_device){CALLS_DEVICE, 0x1000};
    memset(&calls_partition, 0, sizeof(calls_partition));
    calls_partition.constant.system = &calls_system;
    calls_partition.constant.described = described;
    calls_partition.atomic.power[0].state = VCPU_ON;
}

static void require(bool holds, const char *rule, uint64_t function)
{
    if (!holds) {
        (void)fprintf(stderr, "rule broken: %s (%#lx)\n", rule, (unsigned long)function);
        abort();
    }
}

static bool in_memory(uint64_t address)
{
    return (address >= CALLS_MEMORY && address < CALLS_MEMORY + CALLS_MEMORY_BYTES) ||
           (address >= CALLS_SECOND_MEMORY && address < CALLS_SECOND_MEMORY + CALLS_MEMORY_BYTES);
}

static uint64_t word(const uint8_t *data, unsigned bytes)
{
    uint64_t value = 0;

    memcpy(&value, data, bytes);
    return value;
}

/* Makes a call; half of them are to existing functions with meaningful arguments. */
static void make(const uint8_t *data, uint64_t *registers)
{
    static const uint64_t affinities[] = {0, 1, 2, 2, 0x100, 1u << 24, 3, 1};

    registers[0] = word(data + 1, 4);
    registers[1] = word(data + 4, 8);
    registers[2] = word(data + 7, 8);
    registers[3] = word(data + 8, 8);
    if ((data[0] & 0x80) != 0) {
        registers[0] = 0x84000000 | (uint64_t)(data[1] & 0x40) << 24 | data[1] % 20;
        registers[1] = (data[0] & 0x40) != 0 ? affinities[data[2] % 8] : registers[1] & 0x8001ffff;
        registers[2] = (data[0] & 0x20) != 0 ? 0 : word(data + 3, 4);
    }
}

/* Carries out the monitors' part of a call. */
static void obey(enum psci_action action, unsigned vcpu, uint32_t target, uint64_t function)
{
    switch (action) {
    case ACTION_CORE_START:
        require(target < CALLS_VCPUS, "its own VCPUs are started", function);
        require(in_memory(calls_partition.atomic.power[target].entry), "VCPUs start in memory",
                function);
        break;
    case ACTION_CORE_OFF:
        require(calls_partition.atomic.power[vcpu].state == VCPU_OFF, "off is off", function);
        break;
    case ACTION_SYSTEM_OFF:
    case ACTION_SYSTEM_RESET:
        calls_reset();
        break;
    default:
        break;
    }
    /* VCPUs start a while later; one that makes a call is on. */
    if (target % 2 == 0) {
        for (unsigned i = 0; i < CALLS_VCPUS; i++) {
            if (calls_partition.atomic.power[i].state == VCPU_STARTING) {
                calls_partition.atomic.power[i].state = VCPU_ON;
            }
        }
    }
}

static bool same_power(const struct partition *a, const struct partition *b)
{
    for (unsigned i = 0; i < DESCRIPTION_VCPUS_MAX; i++) {
        if (a->atomic.power[i].state != b->atomic.power[i].state ||
            a->atomic.power[i].entry != b->atomic.power[i].entry ||
            a->atomic.power[i].context != b->atomic.power[i].context) {
            return false;
        }
    }
    return true;
}

static void step(const uint8_t *data)
{
    uint32_t vcpu = data[0] % 4 % CALLS_VCPUS, target = 98;
    uint64_t registers[4], result, function;
    struct partition before;
    enum psci_action action;

    make(data, registers);
    function = registers[0];
    calls_partition.atomic.power[vcpu].state = VCPU_ON;
    before = calls_partition;
    action = psci_call(&calls_partition, vcpu, registers, &target);
    result = registers[0];
    if (action == ACTION_RETURN || action == ACTION_SUSPEND) {
        require(same_power(&before, &calls_partition), "what only answers changes nothing",
                function);
        require(result == 0x10001 || result <= 2 || (int64_t)result >= -9, "answers are known",
                function);
    } else if (action == ACTION_CORE_START) {
        require(target < CALLS_VCPUS && before.atomic.power[target].state == VCPU_OFF &&
                    result == 0,
                "what is off is started", function);
    }
    for (unsigned i = CALLS_VCPUS; i < DESCRIPTION_VCPUS_MAX; i++) {
        require(calls_partition.atomic.power[i].state == VCPU_OFF, "there are no other VCPUs",
                function);
    }
    obey(action, vcpu, target, function);
}

void calls_run(const uint8_t *data, size_t bytes)
{
    calls_reset();
    for (size_t at = 0; bytes - at >= CALLS_STEP_BYTES; at += CALLS_STEP_BYTES) {
        step(data + at);
    }
}
