/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of the boot that executes with the MMU off: checks the description and the board's
 * memory, and makes tables for the boot core. All memory is Device memory meanwhile, so every
 * access is naturally aligned, and no code here calls memcpy() or memset().
 */
#include "boot/boot.h"
#include "boot/copies.h"
#include "boot/image.h"
#include "channel/channel.h"
#include "console/terminal.h"
#include "description/check.h"
#include "entropy/sources.h"
#include "entry/monitor.h"
#include "gic/redistributor.h"
#include "hypervisor/registers.h"
#include "memory/runs.h"
#include "partition/load.h"
#include "shared_device/shared_device.h"
#include "smmu/smmu.h"
#include "vcpu/controls.h"
#include "vcpu/features.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

/* Indices of doublewords in the arm64 Image header: image_size, and two reserved ones in which the
 * tools store the PL011's address and its bitwise inverse. With these two the boot core can report
 * an invalid description on the terminal. */
#define HEADER_BYTES         2u
#define HEADER_UART          4u
#define HEADER_UART_INVERTED 5u

/* Maps each part of the image with its permissions, and the rest of the hypervisor's memory as
 * data. */
static void map_hypervisor(uint64_t *root, const struct description *system)
{
    const struct description_board *board = &system->board;
    uint64_t data = (uint64_t)(uintptr_t)monitor_constants_end;

    boot_map(root, board->hypervisor, (uint64_t)(uintptr_t)image_start - board->hypervisor,
             MONITOR_DATA);
    if (description_has_colours(system)) {
        data = copies_map_own(root, system);
    } else {
        boot_map_between(root, image_start, monitor_text_end, MONITOR_CODE);
        boot_map_between(root, monitor_text_end, monitor_constants_end, MONITOR_CONSTANTS);
    }
    boot_map(root, data, board->hypervisor + board->hypervisor_bytes - data, MONITOR_DATA);
}

static void map_devices(uint64_t *root, const struct description *system)
{
    const struct description_board *board = &system->board;

    boot_map(root, board->uart, board->uart != 0 ? PAGE_BYTES : 0, MONITOR_DEVICE);
    boot_map(root, board->rtc, board->rtc != 0 ? PAGE_BYTES : 0, MONITOR_DEVICE);
    boot_map(root, board->distributor, GIC_FRAME_BYTES, MONITOR_DEVICE);
    boot_map(root, board->ecam, board->ecam_bytes, MONITOR_DEVICE);
    boot_map(root, board->smmu, board->smmu != 0 ? SMMU_REGISTER_BYTES : 0, MONITOR_DEVICE);
    for (uint32_t i = 0; i < system->core_count; i++) {
        boot_map(root, system->cores[i].redistributor, REDISTRIBUTOR_BYTES, MONITOR_DEVICE);
    }
}

/* Reads one word of the processors' pages, and the last word of each memory of every partition. A
 * read of absent memory raises an exception, which ends the boot. */
static void probe_memory(const struct description *system)
{
    terminal_explain("the board has no memory at");
    (void)device_read32(boot_last_pages(system));
    for (uint32_t i = 0; i < system->partition_count; i++) {
        const struct description_partition *partition = &system->partitions[i];

        for (uint32_t j = 0; j < partition->memory_count; j++) {
            const struct runs runs = runs_of(system, i, j);

            (void)device_read32(runs_address(&runs, runs.bytes - 4));
        }
    }
}

/* Returns true if the image is in the hypervisor's memory. `whole`: its size in bytes. */
static bool is_inside(uint64_t start, uint64_t whole, const struct description_board *board)
{
    uint64_t offset = start - board->hypervisor; /* huge if it starts before the memory */

    return offset < board->hypervisor_bytes && whole <= board->hypervisor_bytes - offset;
}

/* The attribute keeps the function, because only entry.S calls it. */
__attribute__((used)) uint64_t boot_early(uint64_t devicetree)
{
    const struct description *system = image_description();
    uint64_t start = (uint64_t)(uintptr_t)image_start;
    const uint64_t *header = (const uint64_t *)(uintptr_t)start;
    uint64_t whole = header[HEADER_BYTES];
    struct description_problem problem;
    uint64_t free, *root;

    if (!description_check(system, whole - (uint64_t)(image_end - image_start), &problem)) {
        terminal_report_problem(
            header[HEADER_UART] == ~header[HEADER_UART_INVERTED] ? header[HEADER_UART] : 0,
            &problem);
        monitor_halt();
    }
    terminal_init(system->board.uart);
    if ((register_read(hcr_el2) & HCR_E2H) != 0) {
        boot_refuse("EL2 has VHE only (E2H is RES1): HCR_EL2 is", register_read(hcr_el2));
    }
    if (ID_FIELD(register_read(id_aa64pfr0_el1), PFR0_GIC) == 0) {
        boot_refuse("the interrupt controller is no GICv3: ID_AA64PFR0_EL1 is",
                    register_read(id_aa64pfr0_el1));
    }
    if (!is_inside(start, whole, &system->board)) {
        boot_refuse("the image was loaded outside the hypervisor's memory, at", start);
    }
    probe_memory(system);
    sources_read_loader_tree(&system->board, devicetree);
    /* The loader may have read a truncated file. A complete file ends with the mark. */
    if (device_read32((uintptr_t)system + (system->payload & ~UINT64_C(3)) - 4) != system->mark) {
        boot_refuse("the image's file is cut off, it has fewer bytes than", whole);
    }
    free = page_up((uint64_t)(uintptr_t)system + system->payload);
    boot_make_pools(system, free);
    /* The MMU is off, so the tables are written to memory past the cache. A dirty line that the
     * loader left there must not be evicted over them later. */
    load_clean(free, boot_pool->end);
    root = (uint64_t *)(uintptr_t)boot_take(1);
    map_hypervisor(root, system);
    map_devices(root, system);
    channel_prepare(system, root);
    shared_device_prepare(system, root);
    if (description_has_colours(system)) {
        copies_prepare_images(system, root);
        copies_make_own(root, system);
        sources_wipe(); /* the original of the loader's seeds; the copy is used */
    }
    /* Cache lines that were fetched while the tables were written hold old content. */
    load_clean((uint64_t)(uintptr_t)root, boot_pool->next);
    return (uint64_t)(uintptr_t)root;
}
