/* SPDX-License-Identifier: BSD-2-Clause */
/* See virtio_rtems_read_devicetree() in board.h. */
#include "board.h"
#include "virtio/platform.h"
#include <libfdt.h>
#include <string.h>

#define ROOT            0
#define REGION_CELLS    4 /* address and size */
#define INTERRUPT_CELLS 3 /* type, number, trigger */
#define TYPE_SPI        0u
#define FIRST_SPI       32u
#define SPIS            988u /* INTIDs 32 to 1019 (IHI 0069, 2.2) */
#define TRIGGER_RISING  1u
#define TRIGGER_HIGH    4u
#define PAGE_BYTES      4096u

/* Returns a property of `count` cells, NULL if there is none or if it has another size. */
static const fdt32_t *cells(const void *tree, int node, const char *name, int count)
{
    int bytes;
    const fdt32_t *property = fdt_getprop(tree, node, name, &bytes);

    return property != NULL && bytes == count * (int)sizeof(*property) ? property : NULL;
}

/* Reads the first region of a node. Returns false if it is malformed. */
static bool read_region(const void *tree, int node, uint64_t *address, uint64_t *bytes)
{
    const fdt32_t *reg = cells(tree, node, "reg", REGION_CELLS);

    if (reg == NULL) {
        return false;
    }
    *address = (uint64_t)fdt32_ld(&reg[0]) << 32 | fdt32_ld(&reg[1]);
    *bytes = (uint64_t)fdt32_ld(&reg[2]) << 32 | fdt32_ld(&reg[3]);
    return *bytes != 0 && *address <= UINT64_MAX - *bytes;
}

static bool read_registers(const void *tree, int node, struct virtio_rtems_mmio *mmio)
{
    uint64_t bytes;

    if (!read_region(tree, node, &mmio->address, &bytes)) {
        return false;
    }
    mmio->bytes = (size_t)bytes;
    mmio->count = 1;
    return mmio->bytes == bytes;
}

static bool read_interrupt(const void *tree, int node, struct virtio_rtems_mmio *mmio)
{
    const fdt32_t *specifier = cells(tree, node, "interrupts", INTERRUPT_CELLS);
    uint32_t number, trigger;

    if (specifier == NULL || fdt32_ld(&specifier[0]) != TYPE_SPI) {
        return false;
    }
    number = fdt32_ld(&specifier[1]);
    trigger = fdt32_ld(&specifier[2]);
    mmio->first_vector = FIRST_SPI + number;
    mmio->is_edge_triggered = trigger == TRIGGER_RISING;
    return number < SPIS && (trigger == TRIGGER_RISING || trigger == TRIGGER_HIGH);
}

/* Returns the pool that the device's node names, -1 if there is none in the tree. */
static int find_pool(const void *tree, const fdt32_t *phandle)
{
    int pool = fdt_node_offset_by_phandle(tree, fdt32_ld(phandle));

    return pool >= 0 &&
                   fdt_parent_offset(tree, pool) == fdt_path_offset(tree, "/reserved-memory") &&
                   fdt_node_check_compatible(tree, pool, "restricted-dma-pool") == 0
               ? pool
               : -1;
}

static bool read_pool(const void *tree, int node, struct virtio_rtems_mmio *mmio)
{
    const fdt32_t *phandle = cells(tree, node, "memory-region", 1);
    int pool = phandle == NULL ? -1 : find_pool(tree, phandle);
    uint64_t bytes;

    if (pool < 0 || !read_region(tree, pool, &mmio->pool, &bytes)) {
        return false;
    }
    mmio->pool_bytes = (size_t)bytes;
    return mmio->pool_bytes == bytes && (mmio->pool | bytes) % PAGE_BYTES == 0;
}

/* Returns NULL, or the reason why the node cannot be used. */
static const char *read_node(const void *tree, int node, struct virtio_rtems_mmio *mmio)
{
    if (!read_registers(tree, node, mmio)) {
        return "its registers in the devicetree are malformed";
    }
    if (!read_interrupt(tree, node, mmio)) {
        return "its interrupts in the devicetree are malformed";
    }
    if (fdt_getprop(tree, node, "memory-region", NULL) != NULL && !read_pool(tree, node, mmio)) {
        return "its memory-region in the devicetree is no pool of reserved memory";
    }
    return NULL;
}

static void report(const void *tree, int node, const char *reason)
{
    const char *name = fdt_get_name(tree, node, NULL);

    virtio_platform_log("%s: %s", name != NULL ? name : "a node without a name", reason);
}

/* Returns true if memory of the pool belongs to the pool of another device, too. */
static bool shares_pool(const struct virtio_rtems_board *board,
                        const struct virtio_rtems_mmio *mmio)
{
    for (unsigned i = 0; i < VIRTIO_RTEMS_MMIO_MAX; i++) {
        const struct virtio_rtems_mmio *other = &board->mmio[i];

        if (mmio->pool < other->pool + other->pool_bytes &&
            other->pool < mmio->pool + mmio->pool_bytes) {
            return true;
        }
    }
    return false;
}

static void read_windows(const void *tree, struct virtio_rtems_board *board)
{
    unsigned count = 0;
    int node;

    memset(board->mmio, 0, sizeof(board->mmio));
    fdt_for_each_subnode(node, tree, ROOT)
    {
        struct virtio_rtems_mmio mmio = {0};
        const char *reason;

        if (fdt_node_check_compatible(tree, node, "virtio,mmio") != 0) {
            continue;
        }
        reason = read_node(tree, node, &mmio);
        if (reason == NULL && shares_pool(board, &mmio)) {
            reason = "another device has a part of its pool";
        }
        if (reason == NULL && count == VIRTIO_RTEMS_MMIO_MAX) {
            reason = "there are too many";
        }
        if (reason == NULL) {
            board->mmio[count++] = mmio;
        } else {
            report(tree, node, reason);
        }
    }
}

/* Returns true if the tree has the host bridge at this address: a partition can have a host bridge
 * for channels instead, at another one. */
static bool has_host_bridge(const void *tree, uint64_t configuration)
{
    static const char compatible[] = "pci-host-ecam-generic";

    for (int node = fdt_node_offset_by_compatible(tree, -1, compatible); node >= 0;
         node = fdt_node_offset_by_compatible(tree, node, compatible)) {
        uint64_t address, bytes;

        if (read_region(tree, node, &address, &bytes) && address == configuration) {
            return true;
        }
    }
    return false;
}

void virtio_rtems_read_devicetree(const void *tree, struct virtio_rtems_board *board)
{
    read_windows(tree, board);
    if (!has_host_bridge(tree, board->pci.configuration)) {
        board->pci.buses = 0;
    }
}
