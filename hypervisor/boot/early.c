/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Before the MMU: is the description right, and tables for the boot core. All memory is Device:
 * natural alignment, no call of memcpy or memset.
 */
#include "boot/boot.h"
#include "boot/image.h"
#include "console/terminal.h"
#include "description/check.h"
#include "gic/gic_registers.h"
#include "gic/redistributor.h"
#include "smmu/smmu.h"

#define IMAGE_HEADER_BYTES 16u /* where the arm64 Image header says how long the image is */

struct boot_state boot_state;

/* The image with its permissions, and the rest of the hypervisor's memory as data. */
static void map_own(uint64_t *root, const struct description_board *board)
{
    uint64_t start = (uint64_t)(uintptr_t)image_start;
    uint64_t data = (uint64_t)(uintptr_t)monitor_constants_end;

    boot_map(root, board->hypervisor, start - board->hypervisor, MONITOR_DATA);
    boot_map_between(root, image_start, monitor_text_end, MONITOR_CODE);
    boot_map_between(root, monitor_text_end, monitor_constants_end, MONITOR_CONSTANTS);
    boot_map(root, data, board->hypervisor + board->hypervisor_bytes - data, MONITOR_DATA);
}

static void map_devices(uint64_t *root, const struct description *system)
{
    const struct description_board *board = &system->board;

    boot_map_terminal(root, board);
    boot_map(root, board->distributor, GIC_FRAME_BYTES, MONITOR_DEVICE);
    boot_map(root, board->ecam, board->ecam_bytes, MONITOR_DEVICE);
    boot_map(root, board->smmu, board->smmu != 0 ? SMMU_REGISTER_BYTES : 0, MONITOR_DEVICE);
    for (uint32_t i = 0; i < system->core_count; i++) {
        boot_map(root, system->cores[i].redistributor, REDISTRIBUTOR_BYTES, MONITOR_DEVICE);
    }
}

uint64_t boot_early(void)
{
    const struct description *system = image_description();
    uint64_t start = (uint64_t)(uintptr_t)image_start;
    uint64_t whole = *(const uint64_t *)(uintptr_t)(start + IMAGE_HEADER_BYTES);
    struct description_problem problem;
    uint64_t *root;

    if (!description_check(system, whole - (uint64_t)(image_end - image_start), &problem)) {
        terminal_refuse(system->board.uart, &problem);
        boot_end();
    }
    terminal_init(system->board.uart);
    if (start < system->board.hypervisor ||
        whole > system->board.hypervisor + system->board.hypervisor_bytes - start) {
        boot_refuse("the image was not loaded where the board keeps memory for it", start);
    }
    boot_state.pool.next = page_up((uint64_t)(uintptr_t)system + system->payload);
    boot_state.pool.end = boot_core_pages(system);
    root = (uint64_t *)(uintptr_t)boot_take(1);
    map_own(root, &system->board);
    map_devices(root, system);
    return (uint64_t)(uintptr_t)root;
}
