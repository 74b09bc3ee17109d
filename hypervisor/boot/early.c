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

static _Noreturn void refuse(void)
{
    for (;;) {
        __asm__ volatile("wfi");
    }
}

static uint64_t round_up(uint64_t value)
{
    return (value + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

static bool map(uint64_t start, uint64_t bytes, uint64_t attributes)
{
    return bytes == 0 ||
           tables_map(boot_state.root, &boot_state.pool, start, start, round_up(bytes), attributes);
}

static bool map_between(const char *start, const char *end, uint64_t attributes)
{
    return map((uint64_t)(uintptr_t)start, (uint64_t)(end - start), attributes);
}

/* The image with its permissions, and the rest of the hypervisor's memory as data. */
static bool map_own(const struct description_board *board)
{
    uint64_t start = (uint64_t)(uintptr_t)image_start;

    return map(board->hypervisor, start - board->hypervisor, MONITOR_DATA) &&
           map_between(image_start, monitor_text_end, MONITOR_CODE) &&
           map_between(monitor_text_end, monitor_constants_end, MONITOR_CONSTANTS) &&
           map((uint64_t)(uintptr_t)monitor_constants_end,
               board->hypervisor + board->hypervisor_bytes -
                   (uint64_t)(uintptr_t)monitor_constants_end,
               MONITOR_DATA);
}

static bool map_devices(const struct description *system)
{
    const struct description_board *board = &system->board;
    bool mapped = map(board->distributor, GIC_FRAME_BYTES, MONITOR_DEVICE) &&
                  map(board->uart, PAGE_BYTES, MONITOR_DEVICE) &&
                  map(board->ecam, board->ecam_bytes, MONITOR_DEVICE) &&
                  map(board->smmu, board->smmu != 0 ? SMMU_REGISTER_BYTES : 0, MONITOR_DEVICE);

    for (uint32_t i = 0; i < system->core_count && mapped; i++) {
        mapped = map(system->cores[i].redistributor, REDISTRIBUTOR_BYTES, MONITOR_DEVICE);
    }
    return mapped;
}

uint64_t boot_early(void)
{
    const struct description *system = image_description();
    uint64_t start = (uint64_t)(uintptr_t)image_start;
    uint64_t whole = *(const uint64_t *)(uintptr_t)(start + IMAGE_HEADER_BYTES);
    struct description_problem problem;

    if (!description_check(system, whole - (uint64_t)(image_end - image_start), &problem)) {
        terminal_refuse(system->board.uart, &problem);
        refuse();
    }
    terminal_init(system->board.uart);
    if (start < system->board.hypervisor ||
        whole > system->board.hypervisor + system->board.hypervisor_bytes - start) {
        terminal_failed(system, "the image was not loaded where the board keeps memory for it",
                        start);
        refuse();
    }
    boot_state.pool.next = round_up((uint64_t)(uintptr_t)system + system->payload);
    boot_state.pool.end = boot_core_pages(system);
    boot_state.root = (uint64_t *)(uintptr_t)page_pool_take(&boot_state.pool, 1);
    if (boot_state.root == NULL || !map_own(&system->board) || !map_devices(system)) {
        terminal_failed(system, "the hypervisor's memory is too small for its tables", start);
        refuse();
    }
    return (uint64_t)(uintptr_t)boot_state.root;
}
