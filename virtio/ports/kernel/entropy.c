/* SPDX-License-Identifier: BSD-2-Clause */
/* See entropy.h. */
#include "entropy.h"
#include "device_pool.h"
#include "kernel/devicetree.h"
#include "kernel/pci.h"
#include "kernel/print.h"
#include "virtio/entropy.h"
#include "virtio/mmio.h"
#include "virtio/pci.h"
#include <arch/mmu.h>

#define PATIENCE UINT64_C(100000000) /* nanoseconds */

/* A PCI function's device and vendor id: transitional, modern (VIRTIO 1.3, 4.1.2.1). */
#define PCI_DEVICE_TRANSITIONAL 0x1005u
#define PCI_DEVICE_MODERN       0x1044u

static bool read_from(struct virtio_transport *transport, void *data, size_t bytes)
{
    const char *reason = NULL;

    if (virtio_entropy_read(transport, data, bytes, virtio_platform_now() + PATIENCE, &reason)) {
        return true;
    }
    print("virtio: the entropy device delivers no random numbers: %s\n",
          reason == NULL ? "it does not start" : reason);
    return false;
}

static bool read_mmio(int node, void *data, size_t bytes)
{
    const char *reason = NULL;
    struct virtio_device_pool pool;
    struct virtio_mmio mmio;
    uint64_t address = 0;
    uint64_t length = 0;
    uintptr_t registers;

    if (devicetree_reg(node, 0, &address, &length) != RESULT_OK) {
        return false;
    }
    registers = arch_mmu_map_device(address, (size_t)length);
    if (registers == 0 || !virtio_mmio_probe(&mmio, registers, (size_t)length, &reason) ||
        mmio.transport.device_type != VIRTIO_DEVICE_ENTROPY) {
        return false;
    }
    if (!virtio_device_pool_find(node, &pool, &reason)) {
        print("virtio: mmio at 0x%llx: %s\n", (unsigned long long)address, reason);
        return false;
    }
    virtio_device_pool_use(&pool, &mmio.transport);
    return read_from(&mmio.transport, data, bytes);
}

static bool read_pci(struct pci_function *function, void *data, size_t bytes)
{
    const char *reason = NULL;
    struct virtio_pci pci;

    if (function->vendor_id != VIRTIO_PCI_VENDOR ||
        (function->device_id != PCI_DEVICE_TRANSITIONAL &&
         function->device_id != PCI_DEVICE_MODERN)) {
        return false;
    }
    pci_enable(function);
    return virtio_pci_probe(&pci, (struct virtio_pci_function *)function, 0, &reason) &&
           pci.transport.device_type == VIRTIO_DEVICE_ENTROPY &&
           read_from(&pci.transport, data, bytes);
}

bool virtio_read_entropy(void *data, size_t bytes)
{
    for (int node = devicetree_next_compatible(-1, "virtio,mmio"); node >= 0;
         node = devicetree_next_compatible(node, "virtio,mmio")) {
        if (read_mmio(node, data, bytes)) {
            return true;
        }
    }
    for (struct pci_function *function = pci_first(); function != NULL; function = function->next) {
        if (read_pci(function, data, bytes)) {
            return true;
        }
    }
    return false;
}
