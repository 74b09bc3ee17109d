/* SPDX-License-Identifier: BSD-2-Clause */
/* The boot core's work with the MMU on: devices, partitions, the monitors' tables, the other
 * cores. */
#include "boot/boot.h"
#include "boot/image.h"
#include "console/input.h"
#include "console/terminal.h"
#include "gic/gic_registers.h"
#include "gic/redistributor.h"
#include "gic/setup.h"
#include "memory/stage2.h"
#include "monitor/core.h"
#include "monitor/registers.h"
#include "pci/config_space.h"
#include "smmu/smmu.h"
#include <arch/device_access.h>

#define AFFINITY_MASK  UINT64_C(0xff00ffffff)
#define PSCI_CPU_OFF   UINT64_C(0x84000002)
#define PSCI_CPU_ON_64 UINT64_C(0xc4000003)
#define STACK_PAGES    2u /* a stack, and an unmapped guard page below it */

static struct partition *partitions[DESCRIPTION_PARTITIONS_MAX];
static uint64_t stage2_roots[DESCRIPTION_PARTITIONS_MAX];
static struct smmu_memory smmu_memory;

/* Ends the boot if `failure` is not NULL. */
static void refuse_failure(const char *failure, uint64_t address)
{
    if (failure != NULL) {
        boot_refuse(failure, address);
    }
}

static int64_t firmware(uint64_t function, uint64_t first, uint64_t second, uint64_t third)
{
    register uint64_t x0 __asm__("x0") = function;
    register uint64_t x1 __asm__("x1") = first;
    register uint64_t x2 __asm__("x2") = second;
    register uint64_t x3 __asm__("x3") = third;

    __asm__ volatile("smc #0"
                     : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
                     :
                     : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                       "x16", "x17", "memory");
    return (int64_t)x0;
}

/* Mappings of both tables of a core: code and data of its monitor, and the description without the
 * images that follow it. */
static void map_resident(uint64_t *root, const struct core *core)
{
    const struct description *system = core->partition->system;

    boot_map_between(root, monitor_text_start, resident_text_end, MONITOR_CODE);
    boot_map(root, (uint64_t)(uintptr_t)system, sizeof(*system), MONITOR_CONSTANTS);
    boot_map(root, (uint64_t)(uintptr_t)core, PAGE_BYTES, MONITOR_DATA);
    boot_map(root, core->stack - PAGE_BYTES, PAGE_BYTES, MONITOR_DATA);
}

/* Mappings common to all monitors' service tables. */
static void map_services(uint64_t *root, const struct description *system)
{
    boot_map_between(root, resident_text_end, monitor_text_end, MONITOR_CODE);
    boot_map_between(root, monitor_constants_start, monitor_constants_end, MONITOR_CONSTANTS);
    boot_map_between(root, monitor_shared_start, monitor_shared_end, MONITOR_DATA);
    boot_map(root, system->board.distributor, GIC_FRAME_BYTES, MONITOR_DEVICE);
    boot_map(root, system->board.uart, system->board.uart != 0 ? PAGE_BYTES : 0, MONITOR_DEVICE);
}

/* Maps the partition's images. Two of them may be the same bytes, which are then mapped once. */
static void map_images(uint64_t *root, const struct partition *partition)
{
    const struct description_partition *described = partition->described;

    for (uint32_t i = 0; i < described->image_count; i++) {
        const struct description_image *image = &described->images[i];
        uint64_t start = (uint64_t)(uintptr_t)partition->system + image->offset;
        uint64_t output, attributes;

        if (!tables_find(root, start, &output, &attributes)) {
            boot_map(root, start, image->bytes, MONITOR_CONSTANTS);
        }
    }
}

/* Mappings of the service tables of a partition's cores. */
static void map_partition(uint64_t *root, const struct partition *partition)
{
    const struct description *system = partition->system;
    const struct description_partition *described = partition->described;

    boot_map(root, (uint64_t)(uintptr_t)partition, PAGE_BYTES, MONITOR_DATA);
    map_images(root, partition);
    for (uint32_t i = 0; i < described->memory_count; i++) {
        boot_map(root, described->memories[i].physical, described->memories[i].bytes, MONITOR_DATA);
    }
    for (uint32_t i = 0; i < system->core_count; i++) {
        if (system->cores[i].partition == partition->index) {
            boot_map(root, system->cores[i].redistributor, REDISTRIBUTOR_BYTES, MONITOR_DEVICE);
        }
    }
    if (described->function_count != 0) {
        boot_map(root, system->board.ecam, system->board.ecam_bytes, MONITOR_DEVICE);
        boot_map(root, described->pci_memory, described->pci_memory_bytes, MONITOR_DEVICE);
    }
    if (smmu_streams(system, described) != 0) {
        boot_map(root, partition->commands, PAGE_BYTES, MONITOR_DATA);
        boot_map(root, partition->streams, smmu_memory.stream_bytes, MONITOR_DATA);
        boot_map(root, system->board.smmu, PAGE_BYTES, MONITOR_DEVICE);
    }
    if (smmu_confined(described) != 0) {
        boot_map(root, partition->events, PAGE_BYTES, MONITOR_CONSTANTS);
        boot_map(root, system->board.smmu + SMMU_EVENT_REGISTERS, PAGE_BYTES, MONITOR_DEVICE);
    }
}

static void make_partition(const struct description *system, uint32_t index)
{
    struct partition *partition = (struct partition *)(uintptr_t)boot_take(1);
    uint32_t unresettable;

    partition->system = system;
    partition->described = &system->partitions[index];
    partition->index = index;
    partitions[index] = partition;
    stage2_roots[index] = stage2_build(partition->described, &boot_pool);
    if (stage2_roots[index] == 0) {
        boot_refuse("no stage 2 tables can be built for partition", index);
    }
    unresettable = pci_boot(partition);
    if (unresettable != PCI_NO_FUNCTION &&
        partition->described->restart == DESCRIPTION_RESTART_AFTER_RESET) {
        boot_refuse("a partition may restart, and nothing resets its PCI function", unresettable);
    }
    /* The SMMU's interrupt is first routed to a partition whose functions can cause events. */
    if (smmu_confined(partition->described) != 0) {
        partition->events = smmu_memory.events;
        gic_route(system, system->board.smmu_interrupt, partition->described->boot_core);
    }
}

static void start_smmu(const struct description *system)
{
    refuse_failure(smmu_boot(system, &boot_pool, stage2_roots, &smmu_memory), system->board.smmu);
    for (uint32_t i = 0; i < system->partition_count; i++) {
        if (smmu_streams(system, &system->partitions[i]) != 0) {
            partitions[i]->commands = smmu_memory.commands;
            partitions[i]->streams = smmu_memory.streams;
        }
    }
}

static struct core *core_at(const struct description *system, uint32_t index)
{
    return (struct core *)(uintptr_t)(boot_core_pages(system) + index * PAGE_BYTES);
}

static void make_core(const struct description *system, uint32_t index)
{
    struct core *core = core_at(system, index);
    uint32_t partition = system->cores[index].partition;
    uint64_t *services, *resident;

    *core = (struct core){.index = index};
    core->report.magic = REPORT_MAGIC;
    core->report.core = index;
    core->report.partition = partition;
    if (partition == DESCRIPTION_NO_PARTITION) {
        return;
    }
    core->services = boot_take(1);
    core->resident = boot_take(1);
    core->stack = boot_take(STACK_PAGES) + STACK_PAGES * PAGE_BYTES;
    core->partition = partitions[partition];
    core->stage2 = stage2_roots[partition];
    resident = (uint64_t *)(uintptr_t)core->resident;
    map_resident(resident, core);
    boot_map(resident, (uint64_t)(uintptr_t)core->partition, PAGE_BYTES, MONITOR_CONSTANTS);
    services = (uint64_t *)(uintptr_t)core->services;
    map_resident(services, core);
    map_services(services, system);
    map_partition(services, core->partition);
}

static void start_core(const struct description_core *described, const struct core *core)
{
    int64_t result = firmware(PSCI_CPU_ON_64, described->affinity,
                              (uint64_t)(uintptr_t)monitor_core_entry, (uint64_t)(uintptr_t)core);

    if (result != 0) {
        boot_refuse("the firmware does not start the core with affinity", described->affinity);
    }
}

static uint32_t find_core(const struct description *system, uint64_t affinity)
{
    for (uint32_t index = 0; index < system->core_count; index++) {
        if (system->cores[index].affinity == affinity) {
            return index;
        }
    }
    boot_refuse("the boot core is not in the description: affinity", affinity);
}

static void start_others(const struct description *system, uint32_t own)
{
    /* With its MMU off a core reads code, which the loader has cleaned, and its struct core. With
     * the MMU on, the caches are coherent, also for table walks (Arm ARM, TCR_EL2.{IRGN0,SH0}). */
    device_publish_uncached(core_at(system, 0), system->core_count * PAGE_BYTES);
    for (uint32_t i = 0; i < system->core_count; i++) {
        if (i != own && system->cores[i].partition != DESCRIPTION_NO_PARTITION) {
            start_core(&system->cores[i], core_at(system, i));
        }
    }
}

void boot_main(void)
{
    const struct description *system = image_description();
    uint64_t affinity = register_read(mpidr_el1) & AFFINITY_MASK;
    uint32_t own = find_core(system, affinity);

    terminal_share();
    terminal_explain("the board has no such GIC or no such core, nothing is at");
    refuse_failure(gic_start(system, own), system->board.distributor);
    input_start(system);
    if (system->board.smmu != 0) {
        smmu_memory.events = boot_take(1);
        smmu_memory.commands = boot_take(1);
    }
    terminal_explain("the board has no PCI at");
    if (system->board.ecam != 0) {
        pci_disable_mastering(system);
    }
    for (uint32_t i = 0; i < system->partition_count; i++) {
        make_partition(system, i);
    }
    terminal_explain("the board has no SMMU at");
    start_smmu(system);
    terminal_explain(NULL);
    for (uint32_t i = 0; i < system->core_count; i++) {
        make_core(system, i);
    }
    start_others(system, own);
    if (system->cores[own].partition == DESCRIPTION_NO_PARTITION) {
        (void)firmware(PSCI_CPU_OFF, 0, 0, 0);
        boot_refuse("the firmware does not stop the core with affinity", affinity);
    }
    monitor_enter(core_at(system, own));
}
