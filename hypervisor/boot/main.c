/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of the boot that executes with the MMU on: sets up devices, partitions and the monitors'
 * tables, and starts the other processors. */
#include "bandwidth/bandwidth.h"
#include "boot/boot.h"
#include "boot/copies.h"
#include "boot/image.h"
#include "channel/channel.h"
#include "console/input.h"
#include "console/terminal.h"
#include "entropy/sources.h"
#include "entry/gate.h"
#include "entry/monitor.h"
#include "gic/listed.h"
#include "gic/redistributor.h"
#include "gic/setup.h"
#include "health/health.h"
#include "hypervisor/description.h"
#include "hypervisor/firmware.h"
#include "hypervisor/registers.h"
#include "manager/manager.h"
#include "memory/stage2.h"
#include "partition/ownership.h"
#include "partition/recall.h"
#include "pci/address.h"
#include "pci/config_space.h"
#include "scheduler/scheduler.h"
#include "shared_device/shared_device.h"
#include "smmu/smmu.h"
#include "vcpu/same_core.h"
#include "watchdog/watchdog.h"
#include <arch/device_access.h>
#include <arch/hypercalls.h>
#include <devices/gic_registers.h>
#include <devices/rtc_registers.h>
#include <string.h>

#define AFFINITY_MASK UINT64_C(0xff00ffffff)
#define STACK_PAGES   2u /* the lower page is a guard page */

static struct partition *boot_partitions[DESCRIPTION_PARTITIONS_MAX];
/* Roots of stage 2 that the SMMU uses, by partition. */
static uint64_t smmu_roots[DESCRIPTION_PARTITIONS_MAX];
static struct smmu_memory smmu_memory;
static uint64_t rtc_start;     /* that of struct partition_constants; 0: the board has no PL031 */
static bool has_shared_group1; /* the firmware owns Group 0 of the GIC */

/* Calls boot_refuse() if `failure` is not NULL. */
static void refuse_failure(const char *failure, uint64_t address)
{
    if (failure != NULL) {
        boot_refuse(failure, address);
    }
}

/* Maps a part of the hypervisor's image or the description. */
static void map_image(uint64_t *root, const struct description *system, const void *start,
                      const void *end, uint64_t attributes)
{
    uint64_t address = (uint64_t)(uintptr_t)start, bytes = (uint64_t)(uintptr_t)end - address;

    if (description_has_colours(system)) {
        copies_map_in_monitor(root, address, bytes, attributes);
    } else {
        boot_map(root, address, bytes, attributes);
    }
}

/* Maps the ranges that the resident and the service tables of a monitor have in common: resident
 * code, processor and VCPU, and the description without the images that follow it. */
static void map_resident(uint64_t *root, const struct processor *processor, const struct vcpu *vcpu)
{
    const struct description *system = vcpu->partition->constant.system;

    map_image(root, system, monitor_text_start, resident_text_end, MONITOR_CODE);
    map_image(root, system, system, system + 1, MONITOR_CONSTANTS);
    boot_map(root, (uint64_t)(uintptr_t)processor, PAGE_BYTES, MONITOR_DATA);
    boot_map(root, (uint64_t)(uintptr_t)vcpu, PAGE_BYTES, MONITOR_DATA);
}

/* Maps the roots of stage 2 of all partitions with direct interrupts, because any monitor may
 * recall their cores. */
static void map_stage2_roots(uint64_t *root, const struct description *system)
{
    for (uint32_t i = 0; i < system->partition_count; i++) {
        if (!description_has_listed_interrupts(&system->partitions[i])) {
            boot_map(root, recall_roots[i], PAGE_BYTES, MONITOR_DATA);
        }
    }
}

/* Maps the ranges that the service tables of all monitors have in common. */
static void map_services(uint64_t *root, const struct description *system)
{
    map_image(root, system, resident_text_end, monitor_text_end, MONITOR_CODE);
    map_image(root, system, monitor_constants_start, monitor_constants_end, MONITOR_CONSTANTS);
    map_image(root, system, monitor_shared_start, monitor_shared_end, MONITOR_DATA);
    boot_map(root, system->board.distributor, GIC_FRAME_BYTES, MONITOR_DEVICE);
    boot_map(root, system->board.uart, system->board.uart != 0 ? PAGE_BYTES : 0, MONITOR_DEVICE);
    map_stage2_roots(root, system);
}

static bool is_mapped(const uint64_t *root, uint64_t address)
{
    uint64_t output, attributes;

    return tables_find(root, address, &output, &attributes);
}

/* Maps a range one to one, unless it is mapped already. */
static void map_once(uint64_t *root, uint64_t start, uint64_t bytes, uint64_t attributes)
{
    if (!is_mapped(root, start)) {
        boot_map(root, start, bytes, attributes);
    }
}

/* Maps the partition's images, or their copies. Two images may have the same bytes. */
static void map_images(uint64_t *root, const struct partition *partition)
{
    const struct description *system = partition->constant.system;
    const struct description_partition *described = partition->constant.described;

    for (uint32_t i = 0; i < described->image_count; i++) {
        uint64_t start = (uint64_t)(uintptr_t)system + described->images[i].offset;

        if (!description_has_colours(system)) {
            map_once(root, start, described->images[i].bytes, MONITOR_CONSTANTS);
        } else if (!is_mapped(root, start)) {
            const struct runs runs = runs_of_image(system, partition->constant.index, i);

            boot_map_runs(root, start, &runs, MONITOR_CONSTANTS);
        }
    }
}

/* Maps the SMMU's event queue, if the partition has access to it (assign_smmu_events()). */
static void map_events(uint64_t *root, const struct partition *partition)
{
    if (partition->constant.smmu.events != 0) {
        map_once(root, partition->constant.smmu.events, PAGE_BYTES, MONITOR_CONSTANTS);
        map_once(root, partition->constant.system->board.smmu + SMMU_EVENT_REGISTERS, PAGE_BYTES,
                 MONITOR_DEVICE);
    }
}

/* Returns the number of pages of a partition's state: that of struct partition, and those that
 * follow it. */
static uint64_t partition_pages(const struct description_partition *described)
{
    return 1 + health_pages() + watchdog_pages(described);
}

/* Maps the ranges that the service tables of all VCPUs of the partition have in common. */
static void map_partition(uint64_t *root, const struct partition *partition)
{
    const struct description *system = partition->constant.system;
    const struct description_partition *described = partition->constant.described;

    boot_map(root, (uint64_t)(uintptr_t)partition, partition_pages(described) * PAGE_BYTES,
             MONITOR_DATA);
    map_images(root, partition);
    for (uint32_t i = 0; i < described->memory_count; i++) {
        const struct runs runs = runs_of(system, partition->constant.index, i);

        boot_map_runs(root, described->memories[i].physical, &runs, MONITOR_DATA);
    }
    for (uint32_t i = 0; i < described->vcpu_count; i++) {
        map_once(root, partition_core(partition, i)->redistributor, REDISTRIBUTOR_BYTES,
                 MONITOR_DEVICE);
    }
    if (described->function_count != 0) {
        boot_map(root, system->board.ecam, system->board.ecam_bytes, MONITOR_DEVICE);
        boot_map(root, described->pci_memory, described->pci_memory_bytes, MONITOR_DEVICE);
    }
    if (smmu_streams(system, described) != 0) {
        boot_map(root, partition->constant.smmu.commands, PAGE_BYTES, MONITOR_DATA);
        boot_map(root, partition->constant.smmu.streams, smmu_memory.stream_bytes, MONITOR_DATA);
        boot_map(root, system->board.smmu, PAGE_BYTES, MONITOR_DEVICE);
    }
    map_events(root, partition);
    manager_map(root, partition);
    channel_map(root, partition);
    shared_device_map(root, partition);
}

/* Maps in the service tables of a VCPU on a shared core the hypervisor's state of the core, of its
 * other VCPUs and of their partitions, and the SMMU's event queue if one of these partitions has
 * access to it. Memory of the other guests is not mapped. */
static void map_sharers(uint64_t *root, const struct processor *processor, const struct vcpu *vcpu)
{
    const struct partition *last = NULL;

    if (!vcpu_shares_core(vcpu)) {
        return;
    }
    boot_map(root, (uint64_t)(uintptr_t)processor->shared, PAGE_BYTES + SCHEDULER_TRACE_BYTES,
             MONITOR_DATA);
    boot_map(root, vcpu->partition->constant.times, PAGE_BYTES, MONITOR_DATA);
    /* VCPUs of the same partition follow each other in the list. */
    for (const struct vcpu *other = processor->vcpus; other != NULL; other = other->next) {
        boot_map(root, (uint64_t)(uintptr_t)other->shared, PAGE_BYTES, MONITOR_DATA);
        if (other != vcpu) {
            boot_map(root, (uint64_t)(uintptr_t)other, PAGE_BYTES, MONITOR_DATA);
        }
        if (other->partition != vcpu->partition && other->partition != last) {
            boot_map(root, (uint64_t)(uintptr_t)other->partition, PAGE_BYTES, MONITOR_DATA);
            map_events(root, other->partition);
        }
        last = other->partition;
    }
}

/* Maps the kept memory of the partition's standby, which its guest can read. */
static bool map_standby(const struct partition *partition, uint64_t root)
{
    const struct description_partition *described = partition->constant.described;
    const struct description *system = partition->constant.system;

    return described->standby == 0 ||
           stage2_map_standby(root, described, &system->partitions[described->standby - 1],
                              boot_pool);
}

/* Builds the partition's stage 2 with two roots, which have the same entries: the SMMU uses one,
 * the processors the other (memory/withdraw.h). */
static void make_stage2(const struct partition *partition)
{
    const struct description *system = partition->constant.system;
    uint32_t index = partition->constant.index;

    smmu_roots[index] = stage2_build(system, index, boot_pool);
    if (smmu_roots[index] == 0 || !map_standby(partition, smmu_roots[index])) {
        boot_refuse("no stage 2 tables can be built for partition", index);
    }
    channel_connect(partition, (uint64_t *)(uintptr_t)smmu_roots[index]);
    shared_device_connect(partition, (uint64_t *)(uintptr_t)smmu_roots[index]);
    watchdog_map(partition, (uint64_t *)(uintptr_t)smmu_roots[index]);
    memcpy((void *)(uintptr_t)recall_roots[index], (const void *)(uintptr_t)smmu_roots[index],
           PAGE_BYTES);
}

/* Gives the partition access to the SMMU's event queue if its functions can cause events, or if it
 * is the first partition with listed interrupts. The SMMU's interrupt is routed to that one,
 * because its guest can't shut its cores; without listed interrupts, to the last partition whose
 * functions can cause events. */
static void assign_smmu_events(struct partition *partition)
{
    const struct description *system = partition->constant.system;
    uint32_t first_listed = description_first_listed(system);

    if (smmu_confined(partition->constant.described) == 0 &&
        partition->constant.index != first_listed) {
        return;
    }
    partition->constant.smmu.events = smmu_memory.events;
    if (partition->constant.smmu.events != 0 &&
        (first_listed == DESCRIPTION_NO_PARTITION || partition->constant.index == first_listed)) {
        gic_route(system, system->board.smmu_interrupt,
                  description_boot_core(partition->constant.described));
    }
}

/* Selects direct or listed interrupts for the partition. */
static void set_interrupt_mode(struct partition *partition)
{
    partition->constant.shares_group1 = has_shared_group1;
    partition->constant.is_listed =
        has_shared_group1 || description_has_listed_interrupts(partition->constant.described);
    if (partition->constant.is_listed && !listed_is_supported()) {
        boot_refuse("the image has no code for listed interrupts: partition",
                    partition->constant.index);
    }
}

/* Names the BARs that no guest can use, because the partition's window is too small. */
static void report_large_bars(struct partition *partition)
{
    const struct description_partition *described = partition->constant.described;

    for (uint32_t i = 0; i < described->function_count; i++) {
        uint32_t address = described->functions[i].address;

        for (unsigned bar = 0; bar < FUNCTION_BARS; bar++) {
            uint64_t bytes = pci_bar_without_room(partition, i, bar);

            if (bytes != 0) {
                terminal_print_event(
                    partition,
                    "can't use BAR %u of device " PCI_ADDRESS_FORMAT ": it has 0x%lx bytes, "
                    "and the window of the partition 0x%lx",
                    bar, PCI_ADDRESS_DIGITS(address), bytes, described->pci_memory_bytes);
            }
        }
    }
}

/* Names the function as the system file does. */
static _Noreturn void refuse_unresettable(const struct partition *partition, uint32_t function)
{
    terminal_print("the system can't start: nothing resets PCI function " PCI_ADDRESS_FORMAT
                   " of %s, which may restart",
                   PCI_ADDRESS_DIGITS(function), partition->constant.described->name);
    terminal_send_all();
    monitor_halt();
}

/* Reads the board's real-time clock. The virtual clocks of all partitions go on from it by the
 * counter. */
static void read_rtc(const struct description *system)
{
    terminal_explain("the board has no PL031 at");
    if (system->board.rtc != 0) {
        rtc_start = device_read32(system->board.rtc + RTCDR) -
                    register_read(cntpct_el0) / register_read(cntfrq_el0);
    }
}

static void make_partition(const struct description *system, uint32_t index)
{
    uint64_t pages = partition_pages(&system->partitions[index]);
    struct partition *partition;
    uint32_t unresettable;

    boot_select_pool_of(system, index);
    recall_roots[index] = boot_take(1);
    partition = (struct partition *)(uintptr_t)boot_take(pages);
    partition->constant.system = system;
    partition->constant.described = &system->partitions[index];
    partition->constant.index = index;
    partition->constant.rtc_start = rtc_start;
    partition->constant.interrupts = partition->constant.described->interrupts;
    health_boot(partition);
    set_interrupt_mode(partition);
    bandwidth_boot(partition);
    boot_partitions[index] = partition;
    make_stage2(partition);
    boot_select_own_pool();
    if (description_has_colours(system)) {
        copies_make_images(system, index);
    }
    unresettable = pci_boot(partition);
    report_large_bars(partition);
    if (unresettable != PCI_NO_FUNCTION &&
        partition->constant.described->restart == DESCRIPTION_RESTART_AFTER_RESET) {
        refuse_unresettable(partition, unresettable);
    }
    assign_smmu_events(partition);
}

static void start_smmu(const struct description *system)
{
    refuse_failure(smmu_boot(system, boot_contiguous_pool(system), smmu_roots, &smmu_memory),
                   system->board.smmu);
    for (uint32_t i = 0; i < system->partition_count; i++) {
        if (smmu_streams(system, &system->partitions[i]) != 0) {
            boot_partitions[i]->constant.smmu.commands = smmu_memory.commands;
            boot_partitions[i]->constant.smmu.streams = smmu_memory.streams;
        }
    }
}

static struct processor *processor_at(const struct description *system, uint32_t index)
{
    return (struct processor *)(uintptr_t)boot_processor_page(system, index);
}

/* Appends the VCPU to the list of its processor. */
static void add_vcpu(struct processor *processor, struct vcpu *vcpu)
{
    struct vcpu **link = &processor->vcpus;

    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = vcpu;
}

/* Fills in all VCPUs. Their pages are zeroed. */
static void make_vcpus(const struct description *system)
{
    for (uint32_t index = 0; index < system->partition_count; index++) {
        const struct description_partition *described = &system->partitions[index];

        for (uint32_t number = 0; number < described->vcpu_count; number++) {
            uint32_t core = described->vcpus[number].core;
            struct vcpu *vcpu = (struct vcpu *)(uintptr_t)boot_vcpu_page(system, index, number);

            vcpu->report.magic = REPORT_MAGIC;
            vcpu->report.processor = core;
            vcpu->report.partition = index;
            vcpu->partition = boot_partitions[index];
            vcpu->stage2 = recall_roots[index];
            vcpu->number = number;
            vcpu->processor = core;
            vcpu->watchdog_due = UINT64_MAX;
            sources_derive(&vcpu->generator);
            add_vcpu(processor_at(system, core), vcpu);
        }
    }
}

/* Allocates the stack of a monitor whose other ranges are mapped, and maps it. Returns its end. The
 * page below it is a guard: the tables do not map it. */
static uint64_t make_stack(const struct description *system, uint64_t *services, uint64_t *resident)
{
    uint64_t page;

    if (description_has_colours(system)) {
        do {
            page = boot_take(1);
        } while (is_mapped(services, page - PAGE_BYTES));
    } else {
        page = boot_take(STACK_PAGES) + PAGE_BYTES;
    }
    boot_map(services, page, PAGE_BYTES, MONITOR_DATA);
    boot_map(resident, page, PAGE_BYTES, MONITOR_DATA);
    return page + PAGE_BYTES;
}

/* Allocates the stack and the tables of a VCPU's monitor, and maps its ranges. */
static void make_monitor(const struct processor *processor, struct vcpu *vcpu)
{
    const struct description *system = vcpu->partition->constant.system;
    uint64_t *services, *resident;

    boot_select_pool_of(system, vcpu->partition->constant.index);
    services = (uint64_t *)(uintptr_t)boot_take(1);
    resident = (uint64_t *)(uintptr_t)boot_take(1);
    vcpu->services = (uint64_t)(uintptr_t)services;
    vcpu->resident = (uint64_t)(uintptr_t)resident;
    map_resident(resident, processor, vcpu);
    boot_map(resident, (uint64_t)(uintptr_t)vcpu->partition, PAGE_BYTES, MONITOR_CONSTANTS);
    map_resident(services, processor, vcpu);
    map_services(services, system);
    map_partition(services, vcpu->partition);
    map_sharers(services, processor, vcpu);
    vcpu->stack = make_stack(system, services, resident);
    boot_select_own_pool();
}

static void make_processor(const struct description *system, uint32_t index)
{
    struct processor *processor = processor_at(system, index);
    struct vcpu *first = processor->vcpus;

    processor->index = index;
    if (first == NULL) {
        return;
    }
    scheduler_boot(processor);
    for (struct vcpu *vcpu = first; vcpu != NULL; vcpu = vcpu->next) {
        make_monitor(processor, vcpu);
    }
    processor_set_vcpu(processor, first);
}

static void start_processor(const struct description_core *described,
                            const struct processor *processor)
{
    int64_t result =
        firmware_call(PSCI_CPU_ON | CALL_64, described->affinity,
                      (uint64_t)(uintptr_t)monitor_processor_entry, (uint64_t)(uintptr_t)processor);

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

/* Returns the cores that have VCPUs: bit i for core i. */
static uint32_t used_cores(const struct description *system)
{
    uint32_t cores = 0;

    for (uint32_t i = 0; i < system->core_count; i++) {
        if (processor_at(system, i)->vcpus != NULL) {
            cores |= UINT32_C(1) << i;
        }
    }
    return cores;
}

/* Starts the other cores, and waits until they have come. Their guests start once this core has
 * come, too, if it has VCPUs. */
static void start_other_processors(const struct description *system, uint32_t boot_core)
{
    uint32_t cores = used_cores(system), missing;

    gate_close(cores);
    /* A processor whose MMU is off reads code, which the loader has cleaned, and its struct
     * processor, which is cleaned here. With the MMU on, the caches are coherent, also for table
     * walks (Arm ARM, TCR_EL2.{IRGN0,SH0}). */
    for (uint32_t i = 0; i < system->core_count; i++) {
        device_publish_uncached(processor_at(system, i), PAGE_BYTES);
    }
    for (uint32_t i = 0; i < system->core_count; i++) {
        if (i != boot_core && (cores >> i & 1) != 0) {
            start_processor(&system->cores[i], processor_at(system, i));
        }
    }
    if (!gate_wait(UINT32_C(1) << boot_core, &missing)) {
        boot_refuse("no answer from the core with affinity", system->cores[missing].affinity);
    }
}

/* The attribute keeps the function, because only entry.S calls it. */
__attribute__((used)) void boot_main(void)
{
    const struct description *system = image_description();
    uint64_t affinity = register_read(mpidr_el1) & AFFINITY_MASK;
    uint32_t boot_core = find_core(system, affinity);
    uint64_t number;
    const char *failure;

    terminal_share();
    terminal_explain("the board has no such GIC or no such core, nothing is at");
    failure = gic_start(system, boot_core, &has_shared_group1, &number);
    refuse_failure(failure, number);
    input_start(system);
    if (system->board.smmu != 0) {
        smmu_memory.events = boot_take(1);
        smmu_memory.commands = boot_take(1);
    }
    sources_collect();
    read_rtc(system);
    terminal_explain("the board has no PCI at");
    if (system->board.ecam != 0) {
        pci_disable_mastering(system);
    }
    for (uint32_t i = 0; i < system->partition_count; i++) {
        make_partition(system, i);
    }
    manager_boot(system, boot_partitions);
    ownership_boot(system, boot_partitions, smmu_roots);
    terminal_explain("the board has no SMMU at");
    start_smmu(system);
    terminal_explain(NULL);
    memset((void *)(uintptr_t)boot_last_pages(system), 0,
           system->board.hypervisor + system->board.hypervisor_bytes - boot_last_pages(system));
    make_vcpus(system);
    sources_wipe();
    for (uint32_t i = 0; i < system->core_count; i++) {
        make_processor(system, i);
    }
    start_other_processors(system, boot_core);
    if (processor_at(system, boot_core)->vcpus == NULL) {
        (void)firmware_call(PSCI_CPU_OFF, 0, 0, 0);
        terminal_print("the firmware does not turn off the core with affinity 0x%lx", affinity);
        monitor_halt();
    }
    monitor_enter(processor_at(system, boot_core));
}
