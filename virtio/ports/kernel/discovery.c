/* SPDX-License-Identifier: BSD-2-Clause */
/* See discovery.h. */
#include "discovery.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include <arch/mmu.h>

static void mask(struct virtio_network_device *device, unsigned index)
{
    interrupt_state state = interrupts_save();

    device->masked |= (uint8_t)(1u << index);
    (void)interrupt_mask(device->number[index]);
    interrupts_restore(state);
}

/* Masks the interrupt of a device that interrupts too often, until the bottom half has run. Does
 * nothing if the bottom half has run meanwhile (virtio/net.h). Interrupt context. */
static void mask_if_requested(struct virtio_network_device *device, unsigned index)
{
    virtio_lock_state state = virtio_platform_lock();

    if (virtio_net_mask_requested(device->net)) {
        mask(device, index);
    }
    virtio_platform_unlock(state);
}

/* Handler of the interrupt line, or of the vector of the queues. */
static void handle_queues(void *argument)
{
    struct virtio_network_device *device = argument;

    if (device->net != NULL && virtio_net_interrupt(device->net)) {
        mask_if_requested(device, device->transport->vectors == 0 ? 0 : 1);
    }
}

/* Handler of vector 0: only configuration changes if the queues have a vector (virtio/net.h). */
static void handle_vector_0(void *argument)
{
    struct virtio_network_device *device = argument;

    if (device->net != NULL &&
        (device->transport->vectors > 1 ? virtio_net_configuration_interrupt(device->net)
                                        : virtio_net_interrupt(device->net))) {
        mask_if_requested(device, 0);
    }
}

static const interrupt_handler vector_handlers[2] = {handle_vector_0, handle_queues};

static bool probe_mmio(struct virtio_network_device *device, const char **reason)
{
    if (!virtio_mmio_probe(&device->on.mmio, device->registers, device->register_bytes, reason)) {
        return false;
    }
    device->transport = &device->on.mmio.transport;
    device->bus = "mmio";
    device->interrupts = "line";
    return device->transport->device_type == VIRTIO_DEVICE_NETWORK;
}

static bool find_mmio(int node, struct virtio_network_device *device)
{
    const char *reason = NULL;
    uint64_t address = 0;
    uint64_t bytes = 0;
    bool found;

    if (devicetree_reg(node, 0, &address, &bytes) != RESULT_OK ||
        devicetree_interrupt(node, 0, &device->number[0], &device->trigger) != RESULT_OK) {
        print("virtio: a virtio,mmio node without registers or interrupt in the devicetree\n");
        return false;
    }
    device->function = NULL;
    device->registers = arch_mmu_map_device(address, (size_t)bytes);
    device->register_bytes = (size_t)bytes;
    if (device->registers == 0) {
        print("virtio: mmio at 0x%llx cannot be mapped\n", (unsigned long long)address);
        return false;
    }
    found = probe_mmio(device, &reason) && virtio_device_pool_find(node, &device->pool, &reason);
    if (found) {
        virtio_device_pool_use(&device->pool, device->transport);
    }
    if (reason != NULL) {
        print("virtio: mmio at 0x%llx: %s\n", (unsigned long long)address, reason);
    }
    return found;
}

/* Detaches the vectors that an earlier probe attached. */
static void drop_vectors(struct pci_function *function, struct virtio_network_device *device)
{
    for (unsigned vector = 0; vector < 2; vector++) {
        (void)pci_msix_detach(function, vector, vector_handlers[vector], device);
    }
}

/* Routes up to two vectors (configuration, queues), masked until a driver is connected. Returns
 * their number; 0: the device uses the line. */
static uint16_t route_vectors(struct pci_function *function, struct virtio_network_device *device)
{
    unsigned available = pci_msix_vectors(function);
    uint16_t vector;

    for (vector = 0; vector < 2 && vector < available; vector++) {
        if (pci_msix_number(function, vector, &device->number[vector]) != RESULT_OK ||
            pci_msix_attach(function, vector, vector_handlers[vector], device) != RESULT_OK) {
            break;
        }
        mask(device, vector);
    }
    return vector;
}

static bool probe_pci(struct virtio_network_device *device, const char **reason)
{
    struct pci_function *function = device->function;
    uint16_t vectors;

    *reason = NULL;
    drop_vectors(function, device);
    device->masked = 0;
    vectors = route_vectors(function, device);
    if (vectors == 0 && pci_intx(function, &device->number[0], &device->trigger) != RESULT_OK) {
        *reason = "it has no interrupt";
        return false;
    }
    if (!virtio_pci_probe(&device->on.pci, (struct virtio_pci_function *)function, vectors,
                          reason)) {
        return false;
    }
    device->transport = &device->on.pci.transport;
    device->bus = "pci";
    device->interrupts = vectors == 0 ? "line" : "MSI-X";
    return device->transport->device_type == VIRTIO_DEVICE_NETWORK;
}

static bool find_pci(struct pci_function *function, struct virtio_network_device *device)
{
    const char *reason = NULL;
    bool found;

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

enum result virtio_find_network(unsigned index, struct virtio_network_device *device)
{
    device->net = NULL;
    device->masked = 0;
    for (int node = devicetree_next_compatible(-1, "virtio,mmio"); node >= 0;
         node = devicetree_next_compatible(node, "virtio,mmio")) {
        if (find_mmio(node, device) && index-- == 0) {
            return RESULT_OK;
        }
    }
    for (struct pci_function *function = pci_first(); function != NULL; function = function->next) {
        uint32_t ids = (uint32_t)function->device_id << 16 | function->vendor_id;

        if (virtio_is_network_function(ids) && find_pci(function, device) && index-- == 0) {
            return RESULT_OK;
        }
    }
    return RESULT_NOT_FOUND;
}

static void unmask(struct virtio_network_device *device)
{
    interrupt_state state = interrupts_save();
    uint8_t masked = device->masked;

    device->masked = 0;
    interrupts_restore(state);
    for (unsigned index = 0; index < 2; index++) {
        if ((masked >> index & 1u) != 0) {
            (void)interrupt_unmask(device->number[index]);
        }
    }
}

static void disconnect(struct virtio_network_device *device)
{
    device->net = NULL;
    if (device->transport->vectors == 0) {
        /* A level-triggered line that no handler acknowledges would interrupt for ever. The
         * handlers of other devices on the line need it unmasked. */
        (void)interrupt_detach(device->number[0], handle_queues, device);
        unmask(device);
        return;
    }
    for (unsigned vector = 0; vector < 2 && vector < device->transport->vectors; vector++) {
        mask(device, vector);
    }
}

/* If a handler shares the line with another device's, the line is not deferrable. */
static void set_deferrable(const struct virtio_network_device *device)
{
    for (unsigned i = 0; i == 0 || (i < 2 && i < device->transport->vectors); i++) {
        (void)interrupt_set_deferrable(device->number[i]);
    }
}

struct virtio_transport *virtio_network_transport(struct virtio_network_device *device)
{
    return device->transport;
}

bool virtio_network_connect(struct virtio_network_device *device, struct virtio_net *net)
{
    bool attach = device->net == NULL && net != NULL && device->transport->vectors == 0;

    if (net == NULL) {
        disconnect(device);
        return true;
    }
    device->net = net; /* before the line is attached: only this driver acknowledges it */
    if (attach &&
        interrupt_attach(device->number[0], device->trigger, handle_queues, device) != RESULT_OK) {
        device->net = NULL;
    }
    if (device->net != NULL && device->deferred) {
        set_deferrable(device);
    }
    unmask(device);
    return device->net != NULL;
}

void virtio_network_rearm(struct virtio_network_device *device)
{
    if (device->masked != 0) {
        unmask(device);
    }
}

bool virtio_network_restore(struct virtio_network_device *device)
{
    return device->function == NULL || pci_restore(device->function) == RESULT_OK;
}

bool virtio_network_probe(struct virtio_network_device *device, const char **reason)
{
    if (!(device->function == NULL ? probe_mmio(device, reason) : probe_pci(device, reason))) {
        return false;
    }
    virtio_device_pool_use(&device->pool, device->transport);
    return true;
}
