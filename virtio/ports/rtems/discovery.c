/* SPDX-License-Identifier: BSD-2-Clause */
/* See discovery.h. */
#include "discovery.h"
#include "machine.h"
#include <rtems/bspIo.h>
#include <rtems/irq-extension.h>

static void handle(void *argument)
{
    struct virtio_network_device *device = argument;

    if (device->net != NULL && virtio_net_interrupt(device->net)) {
        device->masked = true;
        (void)rtems_interrupt_vector_disable(device->vector);
    }
}

static bool probe_mmio(struct virtio_network_device *device, const char **reason)
{
    if (!virtio_mmio_probe(&device->on.mmio, device->registers, device->register_bytes, reason)) {
        return false;
    }
    device->transport = &device->on.mmio.transport;
    device->bus = "mmio";
    return device->transport->device_type == VIRTIO_DEVICE_NETWORK;
}

static bool probe_pci(struct virtio_network_device *device, const char **reason)
{
    *reason = NULL;
    if (!device->function.has_line) {
        *reason = "it has no interrupt line";
        return false;
    }
    if (!virtio_pci_probe(&device->on.pci, &device->function, 0, reason)) {
        return false;
    }
    device->transport = &device->on.pci.transport;
    device->bus = "pci";
    return device->transport->device_type == VIRTIO_DEVICE_NETWORK;
}

static bool find_mmio(const struct virtio_rtems_mmio *mmio, unsigned *index,
                      struct virtio_network_device *device)
{
    uintptr_t base =
        mmio->count == 0 ? 0 : machine_map_registers(mmio->address, mmio->bytes * mmio->count);

    device->is_pci = false;
    device->register_bytes = mmio->bytes;
    for (unsigned window = 0; base != 0 && window < mmio->count; window++) {
        const char *reason = NULL;

        device->registers = base + window * mmio->bytes;
        device->vector = mmio->first_vector + window;
        if (probe_mmio(device, &reason) && (*index)-- == 0) {
            return true;
        }
        if (reason != NULL) {
            printk("virtio: mmio at 0x%llx: %s\n",
                   (unsigned long long)(mmio->address + window * mmio->bytes), reason);
        }
    }
    return false;
}

static bool find_pci(const struct virtio_rtems_pci *pci, unsigned *index,
                     struct virtio_network_device *device)
{
    device->is_pci = true;
    for (unsigned number = 0; ecam_find_network(pci, number, &device->function); number++) {
        const char *reason = NULL;

        device->vector = pci->first_vector + device->function.line;
        if (probe_pci(device, &reason) && (*index)-- == 0) {
            return true;
        }
        if (reason != NULL) {
            printk("virtio: pci %02x:%02x.%x: %s\n", device->function.bus, device->function.device,
                   device->function.function, reason);
        }
    }
    return false;
}

enum result virtio_find_network(const struct virtio_rtems_board *board, unsigned index,
                                struct virtio_network_device *device)
{
    device->net = NULL;
    device->masked = false;
    device->interrupts = "line";
    return find_pci(&board->pci, &index, device) || find_mmio(&board->mmio, &index, device)
               ? RESULT_OK
               : RESULT_NOT_FOUND;
}

static void unmask(struct virtio_network_device *device)
{
    if (device->masked) {
        device->masked = false;
        (void)rtems_interrupt_vector_enable(device->vector);
    }
}

enum result virtio_network_connect(struct virtio_network_device *device, struct virtio_net *net)
{
    bool attached = device->net != NULL;

    device->net = net;
    if (net != NULL && !attached &&
        rtems_interrupt_handler_install(device->vector, "virtio-net", RTEMS_INTERRUPT_SHARED,
                                        handle, device) != RTEMS_SUCCESSFUL) {
        device->net = NULL;
        return RESULT_INVALID;
    }
    if (net == NULL && attached) {
        /* A line that nobody acknowledges would interrupt for ever. */
        (void)rtems_interrupt_handler_remove(device->vector, handle, device);
    }
    unmask(device); /* others may share the line */
    return RESULT_OK;
}

void virtio_network_attend(struct virtio_network_device *device)
{
    unmask(device);
}

enum result virtio_network_restore(struct virtio_network_device *device)
{
    return !device->is_pci || ecam_restore(&device->function) ? RESULT_OK : RESULT_NOT_FOUND;
}

bool virtio_network_probe(struct virtio_network_device *device, const char **reason)
{
    return device->is_pci ? probe_pci(device, reason) : probe_mmio(device, reason);
}
