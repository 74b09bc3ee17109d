/* SPDX-License-Identifier: BSD-2-Clause */
/* See block_discovery.h. */
#include "block_discovery.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include <arch/mmu.h>

/* A PCI function's device id: transitional, modern (VIRTIO 1.3, 4.1.2.1). */
#define PCI_DEVICE_TRANSITIONAL 0x1001u
#define PCI_DEVICE_MODERN       0x1042u

static void mask(struct virtio_block_device *device)
{
    interrupt_state state = interrupts_save();

    device->is_masked = true;
    (void)interrupt_mask(device->number);
    interrupts_restore(state);
}

void virtio_block_unmask(struct virtio_block_device *device)
{
    interrupt_state state = interrupts_save();
    bool was_masked = device->is_masked;

    device->is_masked = false;
    interrupts_restore(state);
    if (was_masked) {
        (void)interrupt_unmask(device->number);
    }
}

static void handle(void *argument)
{
    struct virtio_block_device *device = argument;

    if (device->block != NULL && virtio_block_interrupt(device->block)) {
        mask(device);
    }
}

static bool is_block(const struct virtio_transport *transport)
{
    return transport->device_type == VIRTIO_DEVICE_BLOCK;
}

static bool probe_mmio(struct virtio_block_device *device, const char **reason)
{
    device->transport = &device->on.mmio.transport;
    return virtio_mmio_probe(&device->on.mmio, device->registers, device->register_bytes, reason) &&
           is_block(device->transport);
}

static bool use_pool(int node, struct virtio_block_device *device)
{
    const char *reason = NULL;

    if (!virtio_device_pool_find(node, &device->pool, &reason)) {
        print("virtio: mmio at 0x%llx: %s\n", (unsigned long long)device->registers, reason);
        return false;
    }
    virtio_device_pool_use(&device->pool, device->transport);
    return true;
}

/* Devices of another type, and nodes that can't be used, are no errors here: their drivers report
 * them. */
static bool find_mmio(int node, struct virtio_block_device *device)
{
    const char *reason = NULL;
    uint64_t address = 0;
    uint64_t bytes = 0;

    if (devicetree_reg(node, 0, &address, &bytes) != RESULT_OK ||
        devicetree_interrupt(node, 0, &device->number, &device->trigger) != RESULT_OK) {
        return false;
    }
    device->registers = arch_mmu_map_device(address, (size_t)bytes);
    device->register_bytes = (size_t)bytes;
    return device->registers != 0 && probe_mmio(device, &reason) && use_pool(node, device);
}

/* Routes the first vector, masked until a driver is connected. Returns the number of vectors; 0:
 * the device uses the line. */
static uint16_t route_vector(struct pci_function *function, struct virtio_block_device *device)
{
    (void)pci_msix_detach(function, 0, handle, device);
    device->is_masked = false;
    if (pci_msix_vectors(function) == 0 ||
        pci_msix_number(function, 0, &device->number) != RESULT_OK ||
        pci_msix_attach(function, 0, handle, device) != RESULT_OK) {
        return 0;
    }
    mask(device);
    return 1;
}

static bool probe_pci(struct virtio_block_device *device, const char **reason)
{
    struct pci_function *function = device->function;
    uint16_t vectors = route_vector(function, device);

    if (vectors == 0 && pci_intx(function, &device->number, &device->trigger) != RESULT_OK) {
        *reason = "it has no interrupt";
        return false;
    }
    device->transport = &device->on.pci.transport;
    return virtio_pci_probe(&device->on.pci, (struct virtio_pci_function *)function, vectors,
                            reason) &&
           is_block(device->transport);
}

static bool find_pci(struct pci_function *function, struct virtio_block_device *device)
{
    const char *reason = NULL;
    bool found;

    if (function->vendor_id != VIRTIO_PCI_VENDOR ||
        (function->device_id != PCI_DEVICE_TRANSITIONAL &&
         function->device_id != PCI_DEVICE_MODERN)) {
        return false;
    }
    device->function = function;
    device->pool.exists = false;
    pci_enable(function);
    found = probe_pci(device, &reason);
    if (reason != NULL) {
        print("virtio: pci %02x:%02x.%x: %s\n", function->bus, function->device, function->function,
              reason);
    }
    return found;
}

enum result virtio_find_block(struct virtio_block_device *device)
{
    device->block = NULL;
    device->function = NULL;
    device->is_masked = false;
    for (int node = devicetree_next_compatible(-1, "virtio,mmio"); node >= 0;
         node = devicetree_next_compatible(node, "virtio,mmio")) {
        if (find_mmio(node, device)) {
            return RESULT_OK;
        }
    }
    for (struct pci_function *function = pci_first(); function != NULL; function = function->next) {
        if (find_pci(function, device)) {
            return RESULT_OK;
        }
    }
    return RESULT_NOT_FOUND;
}

static void disconnect(struct virtio_block_device *device)
{
    device->block = NULL;
    if (device->transport->vectors == 0) {
        /* A level-triggered line that no handler acknowledges would interrupt for ever. */
        (void)interrupt_detach(device->number, handle, device);
        virtio_block_unmask(device);
    } else {
        mask(device);
    }
}

bool virtio_block_connect(struct virtio_block_device *device, struct virtio_block *block)
{
    bool attach = device->block == NULL && block != NULL && device->transport->vectors == 0;

    if (block == NULL) {
        disconnect(device);
        return true;
    }
    device->block = block; /* before the line is attached: only this driver acknowledges it */
    if (attach && interrupt_attach(device->number, device->trigger, handle, device) != RESULT_OK) {
        device->block = NULL;
    }
    virtio_block_unmask(device);
    return device->block != NULL;
}

bool virtio_block_restore(struct virtio_block_device *device, const char **reason)
{
    *reason = NULL;
    if (device->function == NULL
            ? probe_mmio(device, reason)
            : pci_restore(device->function) == RESULT_OK && probe_pci(device, reason)) {
        virtio_device_pool_use(&device->pool, device->transport);
        return true;
    }
    *reason = *reason != NULL ? *reason : "it is gone, or no block device any more";
    return false;
}
