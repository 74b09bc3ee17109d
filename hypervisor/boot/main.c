/* SPDX-License-Identifier: BSD-2-Clause */
/* The boot core, from the first tables to the monitors. */
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

#define AFFINITY_MASK  UINT64_C(0xff00ffffff)
#define PSCI_CPU_OFF   UINT64_C(0x84000002)
#define PSCI_CPU_ON_64 UINT64_C(0xc4000003)
#define MONITOR_PAGES  2u /* stack, and the page below it that stays unmapped */

static struct partition *partitions[DESCRIPTION_PARTITIONS_MAX];
static uint64_t stage2_roots[DESCRIPTION_PARTITIONS_MAX];

static _Noreturn void refuse(const char *text, uint64_t number)
{
    terminal_failed(image_description(), text, number);
    for (;;) {
        __asm__ volatile("wfi");
    }
}

static uint64_t take(uint64_t pages)
{
    uint64_t address = page_pool_take(&boot_state.pool, pages);

    if (address == 0) {
        refuse("the hypervisor's memory is too small for its tables", pages);
    }
    return address;
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

static void map(uint64_t *root, uint64_t start, uint64_t bytes, uint64_t attributes)
{
    bytes = (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    if (!tables_map(root, &boot_state.pool, start, start, bytes, attributes)) {
        refuse("a monitor's tables can't be made", start);
    }
}

static void map_between(uint64_t *root, const char *start, const char *end, uint64_t attributes)
{
    map(root, (uint64_t)(uintptr_t)start, (uint64_t)(end - start), attributes);
}

/* What every monitor has. */
static void map_common(uint64_t *root, const struct description *system)
{
    map_between(root, monitor_text_start, monitor_text_end, MONITOR_CODE);
    map_between(root, monitor_constants_start, monitor_constants_end, MONITOR_CONSTANTS);
    map_between(root, monitor_shared_start, monitor_shared_end, MONITOR_DATA);
    map(root, (uint64_t)(uintptr_t)system, system->payload, MONITOR_CONSTANTS);
    map(root, system->board.distributor, GIC_FRAME_BYTES, MONITOR_DEVICE);
    map(root, system->board.uart, PAGE_BYTES, MONITOR_DEVICE);
}

/* What those of a partition's cores have. */
static void map_partition(uint64_t *root, const struct partition *partition)
{
    const struct description *system = partition->system;
    const struct description_partition *described = partition->described;

    map(root, (uint64_t)(uintptr_t)partition, PAGE_BYTES, MONITOR_DATA);
    for (uint32_t i = 0; i < described->memory_count; i++) {
        map(root, described->memories[i].physical, described->memories[i].bytes, MONITOR_DATA);
    }
    for (uint32_t i = 0; i < system->core_count; i++) {
        if (system->cores[i].partition == partition->index) {
            map(root, system->cores[i].redistributor, REDISTRIBUTOR_BYTES, MONITOR_DEVICE);
        }
    }
    if (described->function_count != 0) {
        map(root, system->board.ecam, system->board.ecam_bytes, MONITOR_DEVICE);
    }
}

static void make_partition(const struct description *system, uint32_t index)
{
    struct partition *partition = (struct partition *)(uintptr_t)take(1);

    partition->system = system;
    partition->described = &system->partitions[index];
    partition->index = index;
    partitions[index] = partition;
    stage2_roots[index] = stage2_build(partition->described, &boot_state.pool);
    if (stage2_roots[index] == 0) {
        refuse("a partition's tables can't be made", index);
    }
    pci_boot(partition);
}

static struct core *core_at(const struct description *system, uint32_t index)
{
    return (struct core *)(uintptr_t)(boot_core_pages(system) + index * PAGE_BYTES);
}

static void make_core(const struct description *system, uint32_t index)
{
    struct core *core = core_at(system, index);
    uint32_t partition = system->cores[index].partition;
    uint64_t root;

    *core = (struct core){.index = index};
    core->report.magic = REPORT_MAGIC;
    core->report.core = index;
    core->report.partition = partition;
    if (partition == DESCRIPTION_NO_PARTITION) {
        return;
    }
    root = take(1);
    core->root = root;
    core->stack = take(MONITOR_PAGES) + MONITOR_PAGES * PAGE_BYTES;
    core->partition = partitions[partition];
    core->stage2 = stage2_roots[partition];
    map_common((uint64_t *)(uintptr_t)root, system);
    map_partition((uint64_t *)(uintptr_t)root, core->partition);
    map((uint64_t *)(uintptr_t)root, (uint64_t)(uintptr_t)core, PAGE_BYTES, MONITOR_DATA);
    map((uint64_t *)(uintptr_t)root, core->stack - PAGE_BYTES, PAGE_BYTES, MONITOR_DATA);
}

/* The other cores look at what was made with their MMU off at first. */
static void clean(uint64_t start, uint64_t end)
{
    uint64_t step = UINT64_C(4) << (register_read(ctr_el0) >> 16 & 0xf);

    for (uint64_t at = start; at < end; at += step) {
        __asm__ volatile("dc cvac, %0" : : "r"(at) : "memory");
    }
    __asm__ volatile("dsb sy" : : : "memory");
}

static void start_core(const struct description_core *described, const struct core *core)
{
    int64_t result = firmware(PSCI_CPU_ON_64, described->affinity,
                              (uint64_t)(uintptr_t)monitor_core_entry, (uint64_t)(uintptr_t)core);

    if (result != 0) {
        refuse("the board does not start the core with affinity", described->affinity);
    }
}

void boot_main(void)
{
    const struct description *system = image_description();
    uint64_t affinity = register_read(mpidr_el1) & AFFINITY_MASK;
    const char *trouble;
    struct core *own;
    uint32_t index;

    terminal_share();
    for (index = 0; index < system->core_count; index++) {
        if (system->cores[index].affinity == affinity) {
            break;
        }
    }
    if (index == system->core_count) {
        refuse("the board begins on a core that is not described, with affinity", affinity);
    }
    trouble = gic_start(system, index);
    if (trouble != NULL) {
        refuse(trouble, system->board.distributor);
    }
    input_start(system);
    for (uint32_t i = 0; i < system->partition_count; i++) {
        make_partition(system, i);
    }
    trouble = smmu_boot(system, &boot_state.pool, stage2_roots);
    if (trouble != NULL) {
        refuse(trouble, system->board.smmu);
    }
    for (uint32_t i = 0; i < system->core_count; i++) {
        make_core(system, i);
    }
    own = core_at(system, index);
    clean(system->board.hypervisor, system->board.hypervisor + system->board.hypervisor_bytes);
    for (uint32_t i = 0; i < system->core_count; i++) {
        struct core *core = core_at(system, i);

        if (core != own && core->partition != NULL) {
            start_core(&system->cores[i], core);
        }
    }
    if (own->partition == NULL) {
        (void)firmware(PSCI_CPU_OFF, 0, 0, 0);
        refuse("the firmware does not stop the core with affinity", affinity);
    }
    monitor_enter(own);
}
