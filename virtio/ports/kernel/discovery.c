/* SPDX-License-Identifier: BSD-2-Clause */
/* See discovery.h. */
#include "discovery.h"
#include "arch/mmu.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"

/* PCI device ids of network devices: transitional and modern (VIRTIO 1.3, 4.1.2.1). */
#define PCI_NETWORK_TRANSITIONAL 0x1000u
#define PCI_NETWORK_MODERN       0x1041u

/* The line, or the one vector for everything. */
static void handle_any(void *argument)
{
    struct virtio_network_device *device = argument;

    if (device->net != NULL) {
        virtio_net_interrupt(device->net);
    }
}

/* Vector 0: for configuration changes alone if there are vectors for the queues (virtio/net.h). */
static void handle_vector_0(void *argument)
{
    struct virtio_network_device *device = argument;

    if (device->net == NULL) {
        return;
    }
    if (device->transport->vectors > 1) {
        virtio_net_configuration_interrupt(device->net);
    } else {
        virtio_net_interrupt(device->net);
    }
}

static bool probe_mmio(int node, struct virtio_network_device *device)
{
    const char *reason = NULL;
    uint64_t address = 0;
    uint64_t bytes = 0;
    uintptr_t base;

    if (devicetree_reg(node, 0, &address, &bytes) != RESULT_OK ||
        devicetree_interrupt(node, 0, &device->line, &device->trigger) != RESULT_OK) {
        print("virtio: a virtio,mmio node without registers or interrupt in the devicetree\n");
        return false;
    }
    base = arch_mmu_map_device(address, (size_t)bytes);
    if (base == 0) {
        print("virtio: mmio at 0x%llx cannot be mapped\n", (unsigned long long)address);
        return false;
    }
    if (!virtio_mmio_probe(&device->on.mmio, base, (size_t)bytes, &reason)) {
        if (reason != NULL) {
            print("virtio: mmio at 0x%llx: %s\n", (unsigned long long)address, reason);
        }
        return false;
    }
    device->transport = &device->on.mmio.transport;
    device->bus = "mmio";
    device->interrupts = "line";
    device->function = NULL;
    return device->transport->device_type == VIRTIO_DEVICE_NETWORK;
}

/* How many vectors could be routed: 2 (configuration, queues), 1, or 0 for the line. */
static uint16_t route_vectors(struct pci_function *function, struct virtio_network_device *device)
{
    unsigned available = pci_msix_vectors(function);

    if (available == 0 || pci_msix_attach(function, 0, handle_vector_0, device) != RESULT_OK) {
        return 0;
    }
    if (available == 1 || pci_msix_attach(function, 1, handle_any, device) != RESULT_OK) {
        return 1;
    }
    return 2;
}

static bool probe_pci(struct pci_function *function, struct virtio_network_device *device)
{
    const char *reason = NULL;
    uint16_t vectors;

    pci_enable(function);
    vectors = route_vectors(function, device);
    if (vectors == 0 && pci_intx(function, &device->line, &device->trigger) != RESULT_OK) {
        print("virtio: pci %02x:%02x.%x has no interrupt\n", function->bus, function->device,
              function->function);
        return false;
    }
    if (!virtio_pci_probe(&device->on.pci, (struct virtio_pci_function *)function, vectors,
                          &reason)) {
        if (reason != NULL) {
            print("virtio: pci %02x:%02x.%x: %s\n", function->bus, function->device,
                  function->function, reason);
        }
        return false;
    }
    device->transport = &device->on.pci.transport;
    device->bus = "pci";
    device->interrupts = vectors == 0 ? "line" : "MSI-X";
    device->function = function;
    return device->transport->device_type == VIRTIO_DEVICE_NETWORK;
}

enum result virtio_find_network(unsigned index, struct virtio_network_device *device)
{
    device->net = NULL;
    for (int node = devicetree_next_compatible(-1, "virtio,mmio"); node >= 0;
         node = devicetree_next_compatible(node, "virtio,mmio")) {
        if (probe_mmio(node, device) && index-- == 0) {
            return RESULT_OK;
        }
    }
    for (struct pci_function *function = pci_first(); function != NULL; function = function->next) {
        if (function->vendor_id != VIRTIO_PCI_VENDOR ||
            (function->device_id != PCI_NETWORK_MODERN &&
             function->device_id != PCI_NETWORK_TRANSITIONAL)) {
            continue;
        }
        if (probe_pci(function, device) && index-- == 0) {
            return RESULT_OK;
        }
    }
    return RESULT_NOT_FOUND;
}

enum result virtio_network_connect(struct virtio_network_device *device, struct virtio_net *net)
{
    bool attach = device->net == NULL && net != NULL && device->transport->vectors == 0;
    bool detach = device->net != NULL && net == NULL && device->transport->vectors == 0;

    /* A level-triggered line that nobody acknowledges would interrupt for ever. */
    if (detach) {
        (void)interrupt_detach(device->line, handle_any, device);
    }
    device->net = net;
    return attach ? interrupt_attach(device->line, device->trigger, handle_any, device) : RESULT_OK;
}
