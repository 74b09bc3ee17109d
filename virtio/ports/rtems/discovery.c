/* SPDX-License-Identifier: BSD-2-Clause */
/* See discovery.h. */
#include "discovery.h"
#include "machine.h"
#include <rtems/irq-extension.h>

/* Masks the line, unless the bottom half has run or the driver was disconnected meanwhile on
 * another processor: the line would not be unmasked again. */
static void mask_line(struct virtio_network_device *device, const struct virtio_net *net)
{
    virtio_lock_state state = virtio_platform_lock();

    if (device->net == net && virtio_net_mask_requested(net)) {
        device->masked = true;
        (void)rtems_interrupt_vector_disable(device->vector);
    }
    virtio_platform_unlock(state);
}

static void handle(void *argument)
{
    struct virtio_network_device *device = argument;
    struct virtio_net *net = device->net;

    if (net != NULL && virtio_net_interrupt(net)) {
        mask_line(device, net);
    }
}

bool virtio_network_probe(struct virtio_network_device *device, const char **reason)
{
    bool found;

    if (device->function.configuration == 0) {
        device->transport = &device->on.mmio.transport;
        found =
            virtio_mmio_probe(&device->on.mmio, device->registers, device->register_bytes, reason);
    } else if (!device->function.has_line) {
        *reason = "it has no interrupt line";
        return false;
    } else {
        device->transport = &device->on.pci.transport;
        found = virtio_pci_probe(&device->on.pci, &device->function, 0, reason);
    }
    return found && device->transport->device_type == VIRTIO_DEVICE_NETWORK;
}

/* Returns true if the device is a network device and number *index of them; counts down *index. */
static bool is_wanted(struct virtio_network_device *device, unsigned *index, uintptr_t address)
{
    const char *reason;

    if (virtio_network_probe(device, &reason)) {
        return (*index)-- == 0;
    }
    if (reason != NULL) {
        virtio_platform_log("device at 0x%llx: %s", (unsigned long long)address, reason);
    }
    return false;
}

bool virtio_find_network(const struct virtio_rtems_board *board, unsigned index,
                         struct virtio_network_device *device)
{
    const struct virtio_rtems_mmio *mmio = &board->mmio;
    uintptr_t base;

    device->net = NULL;
    device->masked = false;
    for (unsigned number = 0; ecam_find_network(&board->pci, number, &device->function); number++) {
        device->vector = board->pci.first_vector + device->function.line;
        if (is_wanted(device, &index, device->function.configuration)) {
            return true;
        }
    }
    base = mmio->count == 0 ? 0 : machine_map_registers(mmio->address, mmio->bytes * mmio->count);
    device->register_bytes = mmio->bytes;
    for (unsigned window = 0; base != 0 && window < mmio->count; window++) {
        device->registers = base + window * mmio->bytes;
        device->vector = mmio->first_vector + window;
        if (is_wanted(device, &index, device->registers)) {
            return true;
        }
    }
    return false;
}

void virtio_network_rearm(struct virtio_network_device *device)
{
    virtio_lock_state state = virtio_platform_lock();

    if (device->masked) {
        device->masked = false;
        (void)rtems_interrupt_vector_enable(device->vector);
    }
    virtio_platform_unlock(state);
}

/* Called for each handler of the line. */
static void unmask_for_handler(void *device, const char *information, rtems_option options,
                               rtems_interrupt_handler handler, void *argument)
{
    (void)information;
    (void)options;
    (void)handler;
    (void)argument;
    virtio_network_rearm(device);
}

/* Takes the lock, so that mask_line() does not mask for a driver that was disconnected. */
static void set_driver(struct virtio_network_device *device, struct virtio_net *net)
{
    virtio_lock_state state = virtio_platform_lock();

    device->net = net;
    virtio_platform_unlock(state);
}

bool virtio_network_connect(struct virtio_network_device *device, struct virtio_net *net)
{
    /* A line that no handler acknowledges would interrupt for ever. */
    (void)rtems_interrupt_handler_remove(device->vector, handle, device);
    set_driver(device, net);
    if (net != NULL &&
        rtems_interrupt_handler_install(device->vector, "virtio-net", RTEMS_INTERRUPT_SHARED,
                                        handle, device) != RTEMS_SUCCESSFUL) {
        set_driver(device, NULL);
    }
    /* Unmask only if the line has a handler: RTEMS stops at an interrupt without one. */
    (void)rtems_interrupt_handler_iterate(device->vector, unmask_for_handler, device);
    return device->net == net;
}

bool virtio_network_restore(struct virtio_network_device *device)
{
    return device->function.configuration == 0 || ecam_restore(&device->function);
}
