/* SPDX-License-Identifier: BSD-2-Clause */
#include "devicetree.h"

#include "channel/rtems.h"
#include <libcpu/mmu-vmsav8-64.h>
#include <libfdt.h>

extern uint64_t partition_devicetree_address; /* entry.S; 0: the program has another entry */

rtems_status_code partition_map(uint64_t physical, uint64_t bytes, uint64_t flags)
{
    uintptr_t address = (uintptr_t)physical;

    return address == physical ? aarch64_mmu_map(address, bytes, flags) : RTEMS_INVALID_ADDRESS;
}

/* Returns the tree, NULL if there is none. */
static const void *map_tree(void)
{
    uint64_t address = partition_devicetree_address;
    const void *tree = (const void *)(uintptr_t)address;

    if (address == 0 ||
        partition_map(address, sizeof(struct fdt_header), AARCH64_MMU_DATA_RO_CACHED) !=
            RTEMS_SUCCESSFUL ||
        fdt_check_header(tree) != 0 ||
        partition_map(address, fdt_totalsize(tree), AARCH64_MMU_DATA_RO_CACHED) !=
            RTEMS_SUCCESSFUL) {
        return NULL;
    }
    return tree;
}

/* Mapped once. Two tasks that call it at the same time both map it, which changes nothing. */
const void *partition_devicetree(void)
{
    static const void *mapped;
    const void *tree = __atomic_load_n(&mapped, __ATOMIC_ACQUIRE);

    if (tree == NULL) {
        tree = map_tree();
        __atomic_store_n(&mapped, tree, __ATOMIC_RELEASE);
    }
    return tree;
}

const char *partition_boot_arguments(void)
{
    const void *tree = partition_devicetree();
    const char *arguments = NULL;

    if (tree != NULL) {
        arguments = fdt_stringlist_get(tree, fdt_path_offset(tree, "/chosen"), "bootargs", 0, NULL);
    }
    return arguments != NULL ? arguments : "";
}
