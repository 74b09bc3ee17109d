/* SPDX-License-Identifier: BSD-2-Clause */
#include "shared_device/registers.h"

#include <devices/virtio_mmio_registers.h>
#include <stdbool.h>
#include <stddef.h>

#define REGISTER_BYTES 4u
#define HIGH_WORD      4u /* offset of the upper half of a register of 64 bits */
#define VENDOR_ID      0x62686b64u

/* Bits of the device status that a driver sets. It clears none but by a reset (2.1.1). */
#define DRIVERS_STATUS                                                                           \
    (VIRTIO_MMIO_STATUS_ACKNOWLEDGE | VIRTIO_MMIO_STATUS_DRIVER | VIRTIO_MMIO_STATUS_DRIVER_OK | \
     VIRTIO_MMIO_STATUS_FEATURES_OK | VIRTIO_MMIO_STATUS_FAILED)

/* The back-end reads the page at any time, so each word is stored once. What it finds in a later
 * store it may rely on with all earlier ones. */
/* NOLINTBEGIN(readability-non-const-parameter): the builtin writes to it */
static void store(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void store_long(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
/* NOLINTEND(readability-non-const-parameter) */

static bool has_status(const struct shared_device *device, uint32_t bits)
{
    return (device->page->status & bits) == bits;
}

/* Returns the queue that the driver has selected, NULL if there is none. */
static struct shared_device_queue *selected(const struct shared_device *device)
{
    uint32_t number = device->registers->queue_select;

    return number < device->kind->queue_count ? &device->page->queues[number] : NULL;
}

/* Returns the selected queue if the driver may set it up: after the features have been negotiated
 * (3.1.1), and while it is not ready (4.2.2.2). */
static struct shared_device_queue *selected_for_setup(const struct shared_device *device)
{
    struct shared_device_queue *queue = selected(device);

    return queue != NULL && queue->ready == 0 && has_status(device, VIRTIO_MMIO_STATUS_FEATURES_OK)
               ? queue
               : NULL;
}

/* Stops a queue. Returns true if it was ready: then the back-end may be serving it. */
static bool stop_queue(struct shared_device_queue *queue)
{
    bool was_ready = queue->ready != 0;

    if (was_ready) {
        store(&queue->generation, queue->generation + 1);
        store(&queue->ready, 0);
    }
    return was_ready;
}

static void clear_queue(struct shared_device_queue *queue)
{
    store(&queue->size, 0);
    store_long(&queue->descriptors, 0);
    store_long(&queue->driver_area, 0);
    store_long(&queue->device_area, 0);
}

bool shared_device_reset(const struct shared_device *device)
{
    struct shared_device_registers *registers = device->registers;
    struct shared_device_page *page = device->page;
    bool was_in_use = page->status != 0; /* otherwise no queue can be ready */

    for (uint32_t i = 0; i < device->kind->queue_count; i++) {
        (void)stop_queue(&page->queues[i]);
        clear_queue(&page->queues[i]);
    }
    store(&page->status, 0);
    store_long(&page->accepted, 0);
    registers->features_select = 0;
    registers->accepted_select = 0;
    registers->queue_select = 0;
    registers->interrupt_status = 0;
    if (was_in_use) {
        store(&page->generation, page->generation + 1);
    }
    return was_in_use;
}

/* Returns true if the device works with the features that the driver has accepted (2.2.2). */
static bool can_work(const struct shared_device *device)
{
    const struct shared_device_kind *kind = device->kind;
    uint64_t accepted = device->page->accepted;

    return (accepted & ~kind->features) == 0 && (accepted & kind->required) == kind->required;
}

static enum shared_device_effect write_status(const struct shared_device *device, uint32_t value)
{
    uint32_t status = device->page->status;

    if (value == 0) {
        return shared_device_reset(device) ? SHARED_DEVICE_STOP : SHARED_DEVICE_WAIT;
    }
    value &= DRIVERS_STATUS & ~status;
    if ((value & VIRTIO_MMIO_STATUS_FEATURES_OK) != 0 && !can_work(device)) {
        value &= ~VIRTIO_MMIO_STATUS_FEATURES_OK;
    }
    if (((status | value) & VIRTIO_MMIO_STATUS_FEATURES_OK) == 0) {
        value &= ~VIRTIO_MMIO_STATUS_DRIVER_OK; /* 3.1.1: not before the features are negotiated */
    }
    store(&device->page->status, status | value);
    return (value & (VIRTIO_MMIO_STATUS_DRIVER_OK | VIRTIO_MMIO_STATUS_FAILED)) != 0
               ? SHARED_DEVICE_RING
               : SHARED_DEVICE_NONE;
}

/* Sets 32 of 64 bits: the upper ones if `half` is not 0. */
static void write_half(uint64_t *word, uint64_t half, uint32_t value)
{
    uint64_t before = *word;

    store_long(word, half != 0 ? (before & UINT32_MAX) | (uint64_t)value << 32
                               : (before & ~(uint64_t)UINT32_MAX) | value);
}

static uint32_t read_half(uint64_t value, uint64_t half)
{
    return (uint32_t)(half != 0 ? value >> 32 : value);
}

static void write_accepted(const struct shared_device *device, uint32_t value)
{
    uint32_t select = device->registers->accepted_select;

    /* 3.1.1: the driver accepts no new features once it has set FEATURES_OK. */
    if (select <= 1 && !has_status(device, VIRTIO_MMIO_STATUS_FEATURES_OK)) {
        write_half(&device->page->accepted, select, value);
    }
}

static enum shared_device_effect write_ready(const struct shared_device *device, uint32_t value)
{
    struct shared_device_queue *queue = selected(device);
    struct shared_device_queue *setup = selected_for_setup(device);

    if (queue != NULL && value == 0) {
        if (!stop_queue(queue)) {
            return SHARED_DEVICE_WAIT;
        }
        store(&device->page->generation, device->page->generation + 1);
        return SHARED_DEVICE_STOP;
    }
    /* 2.7: the size is a power of two. */
    if (value == 1 && setup != NULL && setup->size != 0 && (setup->size & (setup->size - 1)) == 0) {
        store(&setup->ready, 1);
        return SHARED_DEVICE_RING;
    }
    return SHARED_DEVICE_NONE;
}

static void write_size(const struct shared_device *device, uint32_t value)
{
    struct shared_device_queue *queue = selected_for_setup(device);

    if (queue != NULL && value <= device->kind->queue_size_max) {
        store(&queue->size, value);
    }
}

/* Returns the address of the queue that a register, or the second one for its upper half, contains;
 * NULL: the register is no such one. */
static uint64_t *address_at(struct shared_device_queue *queue, uint64_t offset)
{
    switch (offset & ~(uint64_t)HIGH_WORD) {
    case VIRTIO_MMIO_QUEUE_DESCRIPTORS:
        return &queue->descriptors;
    case VIRTIO_MMIO_QUEUE_DRIVER_AREA:
        return &queue->driver_area;
    case VIRTIO_MMIO_QUEUE_DEVICE_AREA:
        return &queue->device_area;
    default:
        return NULL;
    }
}

/* Writes to an address of the selected queue. Returns false if the register is no such one. */
static bool write_queue_address(const struct shared_device *device, uint64_t offset, uint32_t value)
{
    struct shared_device_queue ignored;
    struct shared_device_queue *queue = selected_for_setup(device);
    uint64_t *address = address_at(queue == NULL ? &ignored : queue, offset);

    if (address != NULL && queue != NULL) {
        write_half(address, offset & HIGH_WORD, value);
    }
    return address != NULL;
}

static enum access_result write_register(const struct shared_device *device, uint64_t offset,
                                         uint32_t value, enum shared_device_effect *effect)
{
    struct shared_device_registers *registers = device->registers;

    switch (offset) {
    case VIRTIO_MMIO_FEATURES_SELECT:
        registers->features_select = value;
        break;
    case VIRTIO_MMIO_ACCEPTED_SELECT:
        registers->accepted_select = value;
        break;
    case VIRTIO_MMIO_ACCEPTED:
        write_accepted(device, value);
        break;
    case VIRTIO_MMIO_QUEUE_SELECT:
        registers->queue_select = value;
        break;
    case VIRTIO_MMIO_QUEUE_SIZE:
        write_size(device, value);
        break;
    case VIRTIO_MMIO_QUEUE_READY:
        *effect = write_ready(device, value);
        break;
    case VIRTIO_MMIO_QUEUE_NOTIFY:
        /* 3.1.1: no notification before DRIVER_OK. */
        *effect = has_status(device, VIRTIO_MMIO_STATUS_DRIVER_OK) ? SHARED_DEVICE_RING
                                                                   : SHARED_DEVICE_NONE;
        break;
    case VIRTIO_MMIO_INTERRUPT_ACK:
        registers->interrupt_status &= ~value;
        break;
    case VIRTIO_MMIO_STATUS:
        *effect = write_status(device, value);
        break;
    default:
        return write_queue_address(device, offset, value) ? ACCESS_DONE : ACCESS_REFUSED;
    }
    return ACCESS_DONE;
}

static enum access_result read_register(const struct shared_device *device, uint64_t offset,
                                        uint64_t *value)
{
    const struct shared_device_registers *registers = device->registers;
    const struct shared_device_queue *queue = selected(device);

    switch (offset) {
    case VIRTIO_MMIO_MAGIC:
        *value = VIRTIO_MMIO_MAGIC_VALUE;
        break;
    case VIRTIO_MMIO_VERSION:
        *value = VIRTIO_MMIO_VERSION_VALUE;
        break;
    case VIRTIO_MMIO_DEVICE_ID:
        *value = device->kind->device_id;
        break;
    case VIRTIO_MMIO_VENDOR_ID:
        *value = VENDOR_ID;
        break;
    case VIRTIO_MMIO_FEATURES:
        *value = registers->features_select <= 1
                     ? read_half(device->kind->features, registers->features_select)
                     : 0;
        break;
    case VIRTIO_MMIO_QUEUE_SIZE_MAX:
        *value = queue == NULL ? 0 : device->kind->queue_size_max;
        break;
    case VIRTIO_MMIO_QUEUE_READY:
        *value = queue == NULL ? 0 : queue->ready;
        break;
    case VIRTIO_MMIO_INTERRUPT_STATUS:
        *value = registers->interrupt_status;
        break;
    case VIRTIO_MMIO_STATUS:
        *value = device->page->status;
        break;
    case VIRTIO_MMIO_SHARED_LENGTH: /* 4.2.2: there is no such region */
    case VIRTIO_MMIO_SHARED_LENGTH + HIGH_WORD:
    case VIRTIO_MMIO_SHARED_BASE:
    case VIRTIO_MMIO_SHARED_BASE + HIGH_WORD:
        *value = UINT32_MAX;
        break;
    case VIRTIO_MMIO_CONFIG_GENERATION:
        *value = registers->config_generation;
        break;
    default:
        return ACCESS_REFUSED;
    }
    return ACCESS_DONE;
}

/* Reads the configuration space, of any size (4.2.2.2). No field of it is the driver's to write. */
static enum access_result access_config(const struct shared_device *device, struct access *access)
{
    uint64_t offset = access->offset - VIRTIO_MMIO_CONFIG;

    if (offset >= device->kind->config_bytes ||
        access->bytes > device->kind->config_bytes - offset || access->write) {
        return ACCESS_REFUSED;
    }
    for (unsigned i = 0; i < access->bytes; i++) {
        access->value |= (uint64_t)device->registers->config[offset + i] << 8 * i;
    }
    return ACCESS_DONE;
}

enum access_result shared_device_access(const struct shared_device *device, struct access *access,
                                        enum shared_device_effect *effect)
{
    *effect = SHARED_DEVICE_NONE;
    if (!access->write) {
        access->value = 0;
    }
    if (access->offset >= VIRTIO_MMIO_CONFIG) {
        return access_config(device, access);
    }
    if (access->bytes != REGISTER_BYTES) {
        return ACCESS_REFUSED;
    }
    return access->write ? write_register(device, access->offset, (uint32_t)access->value, effect)
                         : read_register(device, access->offset, &access->value);
}

bool shared_device_interrupt(const struct shared_device *device, uint32_t causes)
{
    causes &= VIRTIO_MMIO_INTERRUPT_USED | VIRTIO_MMIO_INTERRUPT_CONFIG;
    /* 3.1.2: the device sends no interrupt before DRIVER_OK. */
    if (causes == 0 || !has_status(device, VIRTIO_MMIO_STATUS_DRIVER_OK)) {
        return false;
    }
    device->registers->interrupt_status |= causes;
    return true;
}

bool shared_device_configure(const struct shared_device *device, uint32_t offset,
                             const uint8_t *bytes, uint32_t count)
{
    bool has_changed = false;

    if (offset > device->kind->config_bytes) {
        return false;
    }
    for (uint32_t i = 0; i < count && i < device->kind->config_bytes - offset; i++) {
        has_changed = has_changed || device->registers->config[offset + i] != bytes[i];
        device->registers->config[offset + i] = bytes[i];
    }
    if (!has_changed) {
        return false;
    }
    device->registers->config_generation++; /* 2.5.2 */
    return shared_device_interrupt(device, VIRTIO_MMIO_INTERRUPT_CONFIG);
}

bool shared_device_fail(const struct shared_device *device)
{
    if (device->page->status == 0) { /* the driver has reset it meanwhile */
        return false;
    }
    store(&device->page->status, device->page->status | VIRTIO_MMIO_STATUS_NEEDS_RESET);
    return shared_device_interrupt(device, VIRTIO_MMIO_INTERRUPT_CONFIG);
}
