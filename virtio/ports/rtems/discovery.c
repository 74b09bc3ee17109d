/* SPDX-License-Identifier: BSD-2-Clause */
/* See discovery.h. */
#include "discovery.h"
#include "machine.h"

/*
 * The handler may run on one processor while a thread on another one disconnects the driver and
 * frees it. So the handler is counted in the same critical section in which it reads the driver:
 * the disconnection, which takes the same lock, either sees the count or has already removed the
 * driver. The lock also orders the handler's last access to the driver before the driver is freed,
 * on processors with a weak memory model, too. With atomic variables instead of the lock, the order
 * of a store and a later load would matter on both sides.
 */
static struct virtio_net *handler_begin(struct virtio_network_device *device)
{
    virtio_lock_state state = virtio_platform_lock();
    struct virtio_net *net = device->net;

    if (net != NULL) {
        device->handlers++;
    }
    virtio_platform_unlock(state);
    return net;
}

/* Masks the line if the driver requests it, unless the bottom half has run meanwhile on another
 * processor: the line would not be unmasked again. A disconnection on another processor unmasks the
 * line, because it waits for this function. */
static void handler_end(struct virtio_network_device *device, const struct virtio_net *net,
                        bool mask)
{
    virtio_lock_state state = virtio_platform_lock();

    if (mask && virtio_net_mask_requested(net)) {
        device->masked = true;
        (void)rtems_interrupt_vector_disable(device->vector);
    }
    device->handlers--;
    virtio_platform_unlock(state);
}

static void handle(void *argument)
{
    struct virtio_network_device *device = argument;
    struct virtio_net *net = handler_begin(device);

    if (net != NULL) {
        handler_end(device, net, virtio_net_interrupt(net));
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
    if (device->has_pool) {
        device->transport->pool = &device->pool;
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

/* Returns the address of the windows, 0 if there are none or they cannot be mapped. */
static uintptr_t map_windows(const struct virtio_rtems_mmio *mmio)
{
    uintptr_t base;

    if (mmio->count == 0) {
        return 0;
    }
    base = machine_map_registers(mmio->address, mmio->bytes * mmio->count);
    if (base == 0) {
        virtio_platform_log("device at 0x%llx: the registers cannot be mapped",
                            (unsigned long long)mmio->address);
    }
    return base;
}

/* Maps the pool of the windows' devices, if they have one. Returns false if it cannot be mapped. */
static bool map_pool(const struct virtio_rtems_mmio *mmio, struct virtio_network_device *device)
{
    void *memory;

    device->has_pool = mmio->pool_bytes != 0;
    if (!device->has_pool) {
        return true;
    }
    memory = machine_map_memory(mmio->pool, mmio->pool_bytes);
    if (memory == NULL) {
        virtio_platform_log("device at 0x%llx: its pool cannot be mapped",
                            (unsigned long long)mmio->address);
        return false;
    }
    virtio_pool_init(&device->pool, memory, mmio->pool_bytes);
    return true;
}

/* Returns true if network device number *index is in these windows; counts down *index. */
static bool find_in_windows(const struct virtio_rtems_mmio *mmio, unsigned *index,
                            struct virtio_network_device *device)
{
    uintptr_t base = map_windows(mmio);

    if (base == 0 || !map_pool(mmio, device)) {
        return false;
    }
    device->register_bytes = mmio->bytes;
    device->is_edge_triggered = mmio->is_edge_triggered;
    for (unsigned window = 0; window < mmio->count; window++) {
        device->registers = base + window * mmio->bytes;
        device->vector = mmio->first_vector + window;
        if (is_wanted(device, index, device->registers)) {
            return true;
        }
    }
    return false;
}

static bool find_on_pci(const struct virtio_rtems_pci *pci, unsigned *index,
                        struct virtio_network_device *device)
{
    device->is_edge_triggered = false; /* PCI 3.0, 2.2.6 */
    for (unsigned number = 0; ecam_find_network(pci, number, &device->function); number++) {
        device->vector = pci->first_vector + device->function.line;
        if (is_wanted(device, index, device->function.configuration)) {
            return true;
        }
    }
    return false;
}

bool virtio_find_network(const struct virtio_rtems_board *board, unsigned index,
                         struct virtio_network_device *device)
{
    bool found;

    device->net = NULL;
    device->has_pool = false;
    rtems_interrupt_entry_initialize(&device->entry, handle, device, "virtio-net");
    device->handlers = 0;
    device->masked = false;
    found = find_on_pci(&board->pci, &index, device);
    for (unsigned i = 0; !found && i < VIRTIO_RTEMS_MMIO_MAX; i++) {
        found = find_in_windows(&board->mmio[i], &index, device);
    }
    return found;
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

static bool is_handling(const struct virtio_network_device *device)
{
    virtio_lock_state state = virtio_platform_lock();
    bool handling = device->handlers != 0;

    virtio_platform_unlock(state);
    return handling;
}

/* Replaces the driver, and waits for the handlers that still use the old one on other processors.
 * On one processor no handler runs while a thread does, and nothing is waited for. */
static void set_driver(struct virtio_network_device *device, struct virtio_net *net)
{
    virtio_lock_state state = virtio_platform_lock();

    device->net = net;
    virtio_platform_unlock(state);
    while (is_handling(device)) {
        virtio_platform_pause();
    }
}

struct virtio_transport *virtio_network_transport(struct virtio_network_device *device)
{
    return device->transport;
}

/* Installs the handler, which enables the interrupt. It is disabled before, unless the handler of
 * another device shares it; an edge-triggered interrupt has one device. */
static bool install(struct virtio_network_device *device)
{
    if (device->is_edge_triggered && !machine_set_edge_triggered(device->vector)) {
        return false;
    }
    return rtems_interrupt_entry_install(device->vector, RTEMS_INTERRUPT_SHARED, &device->entry) ==
           RTEMS_SUCCESSFUL;
}

bool virtio_network_connect(struct virtio_network_device *device, struct virtio_net *net)
{
    /* A line that no handler acknowledges would interrupt for ever. */
    (void)rtems_interrupt_entry_remove(device->vector, &device->entry);
    set_driver(device, net);
    if (net != NULL && !install(device)) {
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
